/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What memory a process uses, from /proc/PID/smaps_rollup, or where a kernel has
 * none from the sum over /proc/PID/smaps.
 */
#ifndef _SMAPS_H
#define _SMAPS_H

#include <stdbool.h>
#include <sys/types.h>

enum smaps_id {
	SMAPS_RSS,
	SMAPS_PSS,
	SMAPS_PSS_DIRTY,
	SMAPS_PSS_ANON,
	SMAPS_PSS_FILE,
	SMAPS_PSS_SHMEM,
	SMAPS_SHARED_CLEAN,
	SMAPS_SHARED_DIRTY,
	SMAPS_PRIVATE_CLEAN,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_REFERENCED,
	SMAPS_ANONYMOUS,
	SMAPS_KSM,
	SMAPS_LAZY_FREE,
	SMAPS_ANON_HUGE_PAGES,
	SMAPS_SHMEM_PMD_MAPPED,
	SMAPS_FILE_PMD_MAPPED,
	SMAPS_SHARED_HUGETLB,
	SMAPS_PRIVATE_HUGETLB,
	SMAPS_SWAP,
	SMAPS_SWAP_PSS,
	SMAPS_LOCKED,
	SMAPS_NR_FIELDS
};

/**
 * struct smaps_field - a field of either file
 * @name:	as it stands in the file
 * @column:	its head in the table of "asapctl meminfo"; NULL: not shown there
 */
struct smaps_field {
	const char *name;
	const char *column;
};

extern const struct smaps_field smaps_fields[SMAPS_NR_FIELDS];

/**
 * struct smaps - one sample of a process
 * @pid:	whose, set by the caller
 * @comm:	its name
 * @source:	the file that was read
 * @kb:		the fields, in kB
 * @have:	which of them the kernel has
 */
struct smaps {
	pid_t pid;
	char comm[64];
	const char *source;
	unsigned long long kb[SMAPS_NR_FIELDS];
	bool have[SMAPS_NR_FIELDS];
};

/**
 * smaps_read - take a sample
 * @s:	@s->pid says of which process
 *
 * Return: 0 or an errno value; ESRCH also for a process without memory.
 */
int smaps_read(struct smaps *s);

/**
 * smaps_reason - say why a sample could not be taken
 * @error:	what smaps_read() returned
 *
 * Return: a text
 */
const char *smaps_reason(int error);

#endif
