/* SPDX-License-Identifier: GPL-2.0 */
/* Read smaps and smaps_rollup into numbers, for the tests beside this file. */
#ifndef _SMAPS_UTIL_H
#define _SMAPS_UTIL_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/swap.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../kselftest.h"

/* In the order in which a rollup prints them. */
static const char *const smaps_fields[] = {
	"Rss", "Pss", "Pss_Dirty", "Pss_Anon", "Pss_File", "Pss_Shmem",
	"Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty",
	"Referenced", "Anonymous", "KSM", "LazyFree", "AnonHugePages",
	"ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb", "Private_Hugetlb",
	"Swap", "SwapPss", "Locked",
};

#define NR_SMAPS_FIELDS ARRAY_SIZE(smaps_fields)

enum {
	F_RSS, F_PSS, F_PSS_DIRTY, F_PSS_ANON, F_PSS_FILE, F_PSS_SHMEM,
	F_SHARED_CLEAN, F_SHARED_DIRTY, F_PRIVATE_CLEAN, F_PRIVATE_DIRTY,
	F_REFERENCED, F_ANONYMOUS, F_KSM, F_LAZYFREE, F_ANON_THP,
	F_SHMEM_THP, F_FILE_THP, F_SHARED_HUGETLB, F_PRIVATE_HUGETLB,
	F_SWAP, F_SWAP_PSS, F_LOCKED,
};

struct smaps {
	unsigned long kb[NR_SMAPS_FIELDS];
	unsigned int seen[NR_SMAPS_FIELDS];	/* times that the field was there */
	unsigned long start, end;		/* of the first and the last header */
	unsigned int vmas;			/* headers */
	unsigned int unknown;			/* lines that a rollup does not have */
};

static inline void smaps_path(char *path, size_t size, pid_t pid, const char *name)
{
	snprintf(path, size, "/proc/%d/%s", pid, name);
}

/* Add up the text of one or more records. */
static inline void smaps_parse(char *text, struct smaps *s)
{
	char *line, *save;

	memset(s, 0, sizeof(*s));
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		unsigned long start, end, kb;
		char name[32];
		size_t i;

		if (sscanf(line, "%lx-%lx ", &start, &end) == 2) {
			if (!s->vmas++)
				s->start = start;
			s->end = end;
			continue;
		}
		for (i = 0; i < NR_SMAPS_FIELDS; i++) {
			if (sscanf(line, "%31[^:]: %lu kB", name, &kb) == 2 &&
			    !strcmp(name, smaps_fields[i])) {
				s->kb[i] += kb;
				s->seen[i]++;
				break;
			}
		}
		if (i == NR_SMAPS_FIELDS)
			s->unknown++;
	}
}

/* The whole of an open file, from where it stands. Ends the test on an error. */
static inline char *smaps_slurp(int fd, size_t chunk)
{
	size_t size = 1 << 16, have = 0;
	char *text = malloc(size);
	ssize_t n;

	while (text) {
		if (size - have <= chunk) {
			size *= 2;
			text = realloc(text, size);
			continue;
		}
		n = read(fd, text + have, chunk);
		if (n < 0)
			ksft_exit_fail_msg("read: %s\n", strerror(errno));
		if (!n) {
			text[have] = 0;
			return text;
		}
		have += n;
	}
	ksft_exit_fail_msg("out of memory\n");
}

static inline int smaps_open(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	smaps_path(path, sizeof(path), pid, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		ksft_exit_fail_msg("%s: %s\n", path, strerror(errno));
	return fd;
}

static inline void smaps_get(pid_t pid, const char *name, struct smaps *s)
{
	int fd = smaps_open(pid, name);
	char *text = smaps_slurp(fd, 4096);

	close(fd);
	smaps_parse(text, s);
	free(text);
}

/* The child's side of the two functions below: say how it went, and sleep. */
static inline void smaps_child_ready(int fd, char ok)
{
	if (write(fd, &ok, 1) != 1)
		_exit(1);
	close(fd);
	for (;;)
		pause();
}

/* The parent's side: the child's PID, or 0 when it is not as it should be */
static inline pid_t smaps_child_wait(pid_t pid, int fd)
{
	char ok;

	if (read(fd, &ok, 1) != 1)
		ok = 0;
	close(fd);
	if (ok)
		return pid;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

/*
 * Run @fn(@arg) in a child and return its PID when it has said, by returning
 * true, that its memory is as it should be; 0 when it returned false. The child
 * then sleeps until it is killed.
 */
static inline pid_t smaps_child(bool (*fn)(void *), void *arg)
{
	int ready[2];
	pid_t pid;

	if (pipe(ready))
		ksft_exit_fail_msg("pipe: %s\n", strerror(errno));
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		smaps_child_ready(ready[1], fn(arg));
	}
	close(ready[1]);
	return smaps_child_wait(pid, ready[0]);
}

/*
 * The same for a child that shares no page with any other process, so that its
 * Pss is its own: it runs a copy of this program in memory, whose main() is
 * called with SMAPS_CHILD, the descriptor for smaps_child_ready(), and @arg.
 */
#define SMAPS_CHILD "smaps-child"

static inline pid_t smaps_own_child(const char *arg)
{
	int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = memfd_create(SMAPS_CHILD, MFD_CLOEXEC);
	int ready[2];
	pid_t pid;
	ssize_t n;

	if (exe < 0 || copy < 0 || pipe(ready))
		ksft_exit_fail_msg("no copy of the program: %s\n", strerror(errno));
	do {
		n = sendfile(copy, exe, NULL, 1 << 20);
	} while (n > 0);
	close(exe);
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		char fd[16];
		char *const argv[] = { SMAPS_CHILD, fd, (char *)arg, NULL };

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		snprintf(fd, sizeof(fd), "%d", ready[1]);
		fexecve(copy, argv, environ);
		_exit(1);
	}
	close(copy);
	close(ready[1]);
	return smaps_child_wait(pid, ready[0]);
}

/* Write a word to a file, or read a number from one; -1 when that fails. */
static inline long smaps_file(const char *path, const char *word)
{
	int fd = open(path, word ? O_WRONLY : O_RDONLY);
	char buf[32] = "";
	long ret = -1;

	if (fd < 0)
		return -1;
	if (word)
		ret = write(fd, word, strlen(word)) < 0 ? -1 : 0;
	else if (read(fd, buf, sizeof(buf) - 1) > 0)
		ret = atol(buf);
	close(fd);
	return ret;
}

/*
 * What some cases need and a bare machine has not: swap on an unused zram, a few
 * huge pages, KSM. Whoever runs the test may have set them up otherwise; a case
 * that finds none of it is skipped. smaps_teardown() restores the machine.
 */
static bool smaps_did_swap;
static long smaps_old_hugepages, smaps_old_ksm;

#define SMAPS_ZRAM "/sys/block/zram0/"
#define SMAPS_HUGEPAGES "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
#define SMAPS_KSM "/sys/kernel/mm/ksm/run"

static inline void smaps_setup(void)
{
	/* The header that mkswap writes: version, last page, number of bad pages */
	const unsigned int header[] = { 1, (128 << 20) / getpagesize() - 1, 0 };
	char first[1 << 16] = "";
	size_t page = getpagesize();
	int fd;

	smaps_old_hugepages = smaps_file(SMAPS_HUGEPAGES, NULL);
	smaps_old_ksm = smaps_file(SMAPS_KSM, NULL);
	if (!smaps_old_hugepages)
		smaps_file(SMAPS_HUGEPAGES, "8");
	if (!smaps_old_ksm)
		smaps_file(SMAPS_KSM, "1");

	if (smaps_file(SMAPS_ZRAM "disksize", NULL) ||
	    smaps_file(SMAPS_ZRAM "disksize", "128M"))
		return;
	memcpy(first + 1024, header, sizeof(header));
	memcpy(first + page - 10, "SWAPSPACE2", 10);
	fd = open("/dev/zram0", O_WRONLY);
	if (fd < 0)
		return;
	if (write(fd, first, page) == (ssize_t)page)
		smaps_did_swap = true;
	close(fd);
	smaps_did_swap = smaps_did_swap && !swapon("/dev/zram0", 0);
}

static inline void smaps_teardown(void)
{
	if (smaps_did_swap) {
		swapoff("/dev/zram0");
		smaps_file(SMAPS_ZRAM "reset", "1");
	}
	if (!smaps_old_hugepages)
		smaps_file(SMAPS_HUGEPAGES, "0");
	if (!smaps_old_ksm)
		smaps_file(SMAPS_KSM, "0");
}

static inline void smaps_reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
