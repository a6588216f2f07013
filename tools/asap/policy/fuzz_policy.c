// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz policy: the input is a script of windows over a few address spaces. Each
 * must keep what check.c asks for, whatever was seen, faulted or learned.
 */
#include <string.h>

#include "check.h"

#define NR_TABLES	3
#define MAX_TOUCHES	64

struct input {
	const unsigned char *at;
	size_t left;
};

static unsigned int take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct input in = { data, size };
	struct asap_table tables[NR_TABLES] = {};
	struct asap_model model = {};
	struct asap_params params;
	struct asap_outcome out;
	u32 i, t;
	u8 phase;

	memset(&params, 0, sizeof(params));
	params.policy = take(&in) % ASAP_NR_POLICIES;
	params.ttl = take(&in);
	params.file = take(&in) & 1;
	params.min_hits = take(&in) % 16;
	params.phase = &phase;
	params.nr_phase = take(&in) & 1;
	while (in.left) {
		unsigned int batch = 1 + take(&in) % 32;
		u32 nr = 0, max = 0, targets;
		u64 *plan;

		memset(&out, 0, sizeof(out));
		phase = batch % (ASAP_PROFILE_ENDS + 1);
		for (t = 0; t < NR_TABLES; t++) {
			struct asap_touch touch[MAX_TOUCHES];
			u32 n = take(&in) % MAX_TOUCHES;

			for (i = 0; i < n; i++) {
				touch[i].vpn = take(&in);
				/* Far apart and near the end as well. */
				if (touch[i].vpn & 0x80)
					touch[i].vpn = ~touch[i].vpn;
				touch[i].order = i;
				touch[i].found = take(&in) & 1;
			}
			for (i = 0; i < tables[t].nr; i++)
				tables[t].ent[i].seen =
					take(&in) & ~ASAP_SEEN_FAULTED;
			window(&params, &model, &tables[t], touch, n, &out);
			max += tables[t].nr;
		}
		plan = malloc((max ? max : 1) * sizeof(*plan));
		CHECK(plan);
		for (t = 0; t < NR_TABLES; t++)
			nr = asap_policy_plan_add(plan, nr, max, t, &tables[t]);
		targets = asap_policy_plan_sort(plan, nr, batch);
		CHECK(targets == out.targets);
		check_plan(plan, nr, targets, batch, tables, NR_TABLES);
		free(plan);
		for (t = 0; t < NR_TABLES; t++)
			check_extents(&tables[t], take(&in), 1 + take(&in));
	}
	for (t = 0; t < NR_TABLES; t++)
		free(tables[t].ent);
	return 0;
}
