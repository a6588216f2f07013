/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What must hold of policy whatever it is fed. Shared by the tests and the
 * fuzzer; a check that fails prints itself and aborts.
 */
#ifndef _ASAP_POLICY_CHECK_H
#define _ASAP_POLICY_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#include "policy.h"

#define CHECK(cond)							\
	do {								\
		if (!(cond)) {						\
			fprintf(stderr, "%s:%d: %s\n", __FILE__,	\
				__LINE__, #cond);			\
			abort();					\
		}							\
	} while (0)

void check_table(const struct asap_table *table);
void check_plan(const u64 *plan, u32 nr, u32 targets, u32 batch,
		const struct asap_table *tables, u32 nr_tables);
void check_extents(const struct asap_table *table, u32 gap, u32 max);

/**
 * window - one harvest of one table, with everything checked that must hold
 * @params: knobs
 * @model: the app's
 * @table: the table; replaced by what the window makes of it
 * @touch: faults in any order, with repetitions
 * @nr: how many
 * @out: figures, added to what is there
 */
void window(const struct asap_params *params, struct asap_model *model,
	    struct asap_table *table, struct asap_touch *touch, u32 nr,
	    struct asap_outcome *out);

#endif
