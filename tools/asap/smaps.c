// SPDX-License-Identifier: GPL-2.0
/*
 * What memory a process uses, from /proc/PID/smaps_rollup or smaps.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "smaps.h"
#include "sysfs.h"

const struct smaps_field smaps_fields[SMAPS_NR_FIELDS] = {
	[SMAPS_RSS] = { "Rss", "RSS" },
	[SMAPS_PSS] = { "Pss", "PSS" },
	[SMAPS_PSS_DIRTY] = { "Pss_Dirty", NULL },
	[SMAPS_PSS_ANON] = { "Pss_Anon", NULL },
	[SMAPS_PSS_FILE] = { "Pss_File", NULL },
	[SMAPS_PSS_SHMEM] = { "Pss_Shmem", NULL },
	[SMAPS_SHARED_CLEAN] = { "Shared_Clean", NULL },
	[SMAPS_SHARED_DIRTY] = { "Shared_Dirty", NULL },
	[SMAPS_PRIVATE_CLEAN] = { "Private_Clean", NULL },
	[SMAPS_PRIVATE_DIRTY] = { "Private_Dirty", "PRIV-DIRTY" },
	[SMAPS_REFERENCED] = { "Referenced", "REFERENCED" },
	[SMAPS_ANONYMOUS] = { "Anonymous", "ANON" },
	[SMAPS_KSM] = { "KSM", NULL },
	[SMAPS_LAZY_FREE] = { "LazyFree", NULL },
	[SMAPS_ANON_HUGE_PAGES] = { "AnonHugePages", NULL },
	[SMAPS_SHMEM_PMD_MAPPED] = { "ShmemPmdMapped", NULL },
	[SMAPS_FILE_PMD_MAPPED] = { "FilePmdMapped", NULL },
	[SMAPS_SHARED_HUGETLB] = { "Shared_Hugetlb", NULL },
	[SMAPS_PRIVATE_HUGETLB] = { "Private_Hugetlb", NULL },
	[SMAPS_SWAP] = { "Swap", "SWAP" },
	[SMAPS_SWAP_PSS] = { "SwapPss", "SWAP-PSS" },
	[SMAPS_LOCKED] = { "Locked", "LOCKED" },
};

/* Add the value of a line "Name:   123 kB" to its field. */
static void add_line(struct smaps *s, const char *line)
{
	const char *colon = strchr(line, ':');
	unsigned long long kb;
	size_t i;

	if (!colon || sscanf(colon + 1, "%llu kB", &kb) != 1)
		return;
	for (i = 0; i < SMAPS_NR_FIELDS; i++) {
		size_t len = strlen(smaps_fields[i].name);

		if (len == (size_t)(colon - line) && !memcmp(line, smaps_fields[i].name, len)) {
			s->kb[i] += kb;
			s->have[i] = true;
			return;
		}
	}
}

/* Returns 0 or an errno value. */
static int add_file(struct smaps *s, const char *name)
{
	char path[PATH_MAX], line[PATH_MAX + 256];
	int error = 0;
	FILE *f;

	root_path(path, "/proc/%d/%s", s->pid, name);
	f = fopen(path, "re");
	if (!f)
		return errno;
	memset(s->kb, 0, sizeof(s->kb));
	memset(s->have, 0, sizeof(s->have));
	s->source = name;
	errno = 0;
	while (fgets(line, sizeof(line), f))
		add_line(s, line);
	if (ferror(f))
		error = errno;
	fclose(f);
	/* A process that has just died has an empty smaps. */
	if (!error && !s->have[SMAPS_RSS])
		error = ESRCH;
	return error;
}

static void read_comm(struct smaps *s)
{
	char path[PATH_MAX];
	FILE *f;

	root_path(path, "/proc/%d/comm", s->pid);
	s->comm[0] = 0;
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(s->comm, sizeof(s->comm), f))
		s->comm[strcspn(s->comm, "\n")] = 0;
	fclose(f);
}

/*
 * ENOENT for smaps_rollup means that the kernel has none or that the process is
 * gone; smaps, which is older, tells one from the other.
 */
int smaps_read(struct smaps *s)
{
	int error = add_file(s, "smaps_rollup");

	if (error == ENOENT) {
		error = add_file(s, "smaps");
		if (error == ENOENT)
			error = ESRCH;
	}
	if (!error)
		read_comm(s);
	return error;
}

const char *smaps_reason(int error)
{
	switch (error) {
	case ESRCH:
		return "no such process, or one without memory of its own";
	case EACCES:
		return "not allowed; it belongs to another user or is protected";
	default:
		return strerror(error);
	}
}
