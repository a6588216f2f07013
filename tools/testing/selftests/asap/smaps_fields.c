// SPDX-License-Identifier: GPL-2.0
/*
 * On a process that does not move, every field of smaps_rollup is the sum of
 * that field over smaps: exactly, but for the shares (Pss*, SwapPss, Locked),
 * which smaps rounds down to 1 kB in each VMA.
 */
#define _GNU_SOURCE
#include "smaps_util.h"
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <linux/magic.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define MB (1024 * 1024UL)

static size_t page;

static char *map(size_t len, int prot, int flags, int fd)
{
	char *p = mmap(NULL, len, prot, flags, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

static char *anon(size_t len)
{
	return map(len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void touch(char *p, size_t len)
{
	for (size_t i = 0; i < len; i += page)
		*(size_t *)(p + i) = (size_t)p + i;
}

static void look(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i += page)
		__atomic_load_n(p + i, __ATOMIC_RELAXED);
}

/* A copy of this process, which lives as long as it does. */
static bool sleeping_copy(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid > 0;
}

/* Swap is written out after MADV_PAGEOUT has returned: wait for it. */
static bool pageout(char *p, size_t len, unsigned long want_kb)
{
	struct smaps s;

	for (int i = 0; i < 100; i++) {
		if (madvise(p, len, MADV_PAGEOUT))
			return false;
		smaps_get(getpid(), "smaps", &s);
		if (s.kb[F_SWAP] >= want_kb)
			return true;
		usleep(10000);
	}
	return false;
}

static int temporary(size_t len)
{
	char name[] = "/tmp/smaps_fields.XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0)
		return -1;
	unlink(name);
	if (ftruncate(fd, len)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Five VMAs, so that the rounding shows; an empty page now and then. */
static bool make_anon(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++) {
		char *p = anon(64 * page);

		if (!p)
			return false;
		touch(p, (10 + i) * page);
		touch(p + 32 * page, page);
		if (mprotect(p, 16 * page, PROT_READ))
			return false;
	}
	return true;
}

/*
 * The text of this program. In an initramfs it may lie in a tmpfs, whose pages
 * count as shmem; a ramfs has the other kind.
 */
static int open_text(void)
{
	int exe = open("/proc/self/exe", O_RDONLY), fd;
	char dir[] = "/tmp/smaps_fields.XXXXXX", name[64];
	struct statfs fs;

	if (exe < 0 || fstatfs(exe, &fs) || fs.f_type != TMPFS_MAGIC)
		return exe;
	if (!mkdtemp(dir))
		return -1;
	fd = -1;
	if (!mount("none", dir, "ramfs", 0, NULL)) {
		snprintf(name, sizeof(name), "%s/text", dir);
		fd = open(name, O_CREAT | O_RDWR, 0600);
		while (fd >= 0 && sendfile(fd, exe, NULL, MB) > 0)
			;
		umount2(dir, MNT_DETACH);
	}
	rmdir(dir);
	close(exe);
	return fd;
}

/* Private and shared */
static bool make_file(void *arg)
{
	struct stat st;
	int fd = open_text();
	char *p, *q;

	(void)arg;
	if (fd < 0 || fstat(fd, &st))
		return false;
	p = map(st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd);
	q = map(st.st_size, PROT_READ, MAP_SHARED, fd);
	if (!p || !q)
		return false;
	look(p, st.st_size);
	look(q, st.st_size);
	touch(p, 3 * page);
	return true;
}

static bool make_shmem(void *arg)
{
	char *p = map(4 * MB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1);

	(void)arg;
	if (!p)
		return false;
	touch(p, 3 * MB);
	return true;
}

/* Part of a tmpfs file in swap; of that, part mapped; of that, part copied. */
static bool make_cow_tmpfs(void *arg)
{
	int fd = temporary(8 * MB);
	char *shared, *private;

	(void)arg;
	if (fd < 0)
		return false;
	shared = map(8 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (!shared)
		return false;
	touch(shared, 8 * MB);
	if (!pageout(shared, 5 * MB, 4096))
		return false;
	private = mmap(NULL, 5 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 2 * MB);
	if (private == MAP_FAILED)
		return false;
	touch(private + 512 * 1024, 300 * page);
	look(private + 4 * MB, 10 * page);
	return pageout(private + 512 * 1024, 100 * page, 4096);
}

/* Read-only and shared mappings of a part of a swapped object, off any alignment */
static bool make_shmem_part(void *arg)
{
	int fd = temporary(8 * MB);
	char *p;

	(void)arg;
	if (fd < 0)
		return false;
	p = map(8 * MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	if (!p)
		return false;
	touch(p, 8 * MB);
	if (!pageout(p, 7 * MB, 6144))
		return false;
	return mmap(NULL, 5 * MB, PROT_READ, MAP_PRIVATE, fd, 33 * page) != MAP_FAILED &&
	       mmap(NULL, 6 * MB, PROT_READ, MAP_SHARED, fd, 7 * page) != MAP_FAILED;
}

static bool make_hugetlb(void *arg)
{
	char *p, *q;

	(void)arg;
	p = map(8 * MB, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	q = map(4 * MB, PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB, -1);
	if (!p || !q)
		return false;
	touch(p, 6 * MB);
	touch(q, 4 * MB);
	/* Two mappings of the same huge pages */
	return sleeping_copy();
}

static bool make_thp(void *arg)
{
	char *p = anon(16 * MB);
	struct smaps s;

	(void)arg;
	if (!p)
		return false;
	p = (char *)(((size_t)p + 2 * MB) & ~(2 * MB - 1));
	if (madvise(p, 12 * MB, MADV_HUGEPAGE))
		return false;
	touch(p, 12 * MB);
	/* One huge page mapped by its small ones, one VMA border inside another. */
	if (madvise(p + 2 * MB, page, MADV_DONTNEED) ||
	    mprotect(p + 5 * MB, MB, PROT_READ))
		return false;
	smaps_get(getpid(), "smaps", &s);
	return s.kb[F_ANON_THP] >= 4096;
}

static bool make_ksm(void *arg)
{
	char *p = anon(2 * MB);
	struct smaps s;

	(void)arg;
	if (!p)
		return false;
	memset(p, 7, 2 * MB);
	if (madvise(p, 2 * MB, MADV_MERGEABLE))
		return false;
	for (int i = 0; i < 600; i++) {
		smaps_get(getpid(), "smaps", &s);
		if (s.kb[F_KSM] >= 1024)
			return true;
		usleep(100000);
	}
	return false;
}

static bool make_mlocked(void *arg)
{
	char *p = anon(64 * page);

	(void)arg;
	if (!p)
		return false;
	touch(p, 64 * page);
	return !mlock(p + 3 * page, 10 * page) && sleeping_copy();
}

static bool make_swapped(void *arg)
{
	char *p = anon(8 * MB);

	(void)arg;
	if (!p)
		return false;
	touch(p, 8 * MB);
	return pageout(p, 3 * MB, 2048);
}

/* Swap is counted whole by both, SwapPss is a share. */
static bool make_forked(void *arg)
{
	char *p = anon(8 * MB);

	(void)arg;
	if (!p)
		return false;
	touch(p, 8 * MB);
	if (!pageout(p, 3 * MB, 2048))
		return false;
	if (!sleeping_copy())
		return false;
	touch(p + 6 * MB, MB);
	return true;
}

static bool make_lazyfree(void *arg)
{
	char *p = anon(2 * MB);

	(void)arg;
	if (!p)
		return false;
	touch(p, 2 * MB);
	return !madvise(p, MB, MADV_FREE);
}

static bool make_many(void *arg)
{
	char *p = anon(9000 * page);

	(void)arg;
	if (!p)
		return false;
	touch(p, 9000 * page);
	for (int i = 0; i < 3000; i += 2)
		if (mprotect(p + i * 3 * page, 3 * page, PROT_READ))
			return false;
	return true;
}

static const struct kind {
	const char *name;
	bool (*make)(void *arg);
	int field;		/* which must not be small ... */
	unsigned long kb;	/* ... than this */
	const char *needs;
} kinds[] = {
	{ "anonymous", make_anon, F_ANONYMOUS, 200, "memory" },
	{ "file", make_file, F_PSS_FILE, 100, "an executable that is not on tmpfs" },
	{ "shmem", make_shmem, F_PSS_SHMEM, 3072, "memory" },
	{ "tmpfs, copied in part", make_cow_tmpfs, F_SWAP, 4096, "swap, tmpfs on /tmp" },
	{ "tmpfs, mapped in part", make_shmem_part, F_SWAP, 6144, "swap, tmpfs on /tmp" },
	{ "hugetlb", make_hugetlb, F_SHARED_HUGETLB, 4096, "5 huge pages of 2 MB" },
	{ "transparent huge pages", make_thp, F_ANON_THP, 4096, "transparent huge pages" },
	{ "KSM", make_ksm, F_KSM, 1024, "KSM, running" },
	{ "mlocked in part", make_mlocked, F_LOCKED, 10, "the right to lock memory" },
	{ "swapped", make_swapped, F_SWAP, 2048, "swap" },
	{ "forked", make_forked, F_SHARED_DIRTY, 1024, "swap" },
	{ "lazily freed", make_lazyfree, F_LAZYFREE, 512, "memory" },
	{ "thousands of VMAs", make_many, F_RSS, 30000, "memory" },
};

static bool is_share(size_t i)
{
	return (i >= F_PSS && i <= F_PSS_SHMEM) || i == F_SWAP_PSS || i == F_LOCKED;
}

static bool same(const struct smaps *sum, const struct smaps *rollup)
{
	bool ok = true;

	for (size_t i = 0; i < NR_SMAPS_FIELDS; i++) {
		unsigned long slack = is_share(i) ? sum->vmas : 0;
		/* smaps prints no Pss by kind; together they make up Pss. */
		bool only_rollup = i >= F_PSS_ANON && i <= F_PSS_SHMEM;

		if (rollup->seen[i] != 1 ||
		    sum->seen[i] != (only_rollup ? 0 : sum->vmas)) {
			ksft_print_msg("%s is there %u times in the rollup, %u in %u VMAs\n",
				       smaps_fields[i], rollup->seen[i],
				       sum->seen[i], sum->vmas);
			ok = false;
		}
		if (only_rollup)
			continue;
		if (rollup->kb[i] < sum->kb[i] || rollup->kb[i] > sum->kb[i] + slack) {
			ksft_print_msg("%s: rollup %lu kB, sum %lu kB in %u VMAs\n",
				       smaps_fields[i], rollup->kb[i], sum->kb[i], sum->vmas);
			ok = false;
		}
	}
	if (rollup->kb[F_PSS_ANON] + rollup->kb[F_PSS_FILE] +
	    rollup->kb[F_PSS_SHMEM] + 3 < rollup->kb[F_PSS] ||
	    rollup->kb[F_PSS_ANON] + rollup->kb[F_PSS_FILE] +
	    rollup->kb[F_PSS_SHMEM] > rollup->kb[F_PSS]) {
		ksft_print_msg("Pss_Anon, Pss_File and Pss_Shmem are not Pss\n");
		ok = false;
	}
	if (rollup->vmas != 1 || rollup->unknown) {
		ksft_print_msg("%u headers and %u unknown lines in the rollup\n",
			       rollup->vmas, rollup->unknown);
		ok = false;
	}
	return ok;
}

/* The range in the header: from the first VMA's start to the last VMA's end. */
static bool same_range(pid_t pid, const struct smaps *rollup)
{
	int fd = smaps_open(pid, "maps");
	char *text = smaps_slurp(fd, 4096), *line, *save;
	unsigned long start, end, first = 0, last = 0;

	close(fd);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%lx-%lx", &start, &end) != 2 ||
		    strstr(line, "[vsyscall]"))
			continue;
		if (!first)
			first = start;
		last = end;
	}
	free(text);
	if (rollup->start == first && rollup->end == last)
		return true;
	ksft_print_msg("range %lx-%lx, the VMAs' is %lx-%lx\n", rollup->start,
		       rollup->end, first, last);
	return false;
}

static void test(const struct kind *kind)
{
	struct smaps sum, again, rollup;
	pid_t pid = smaps_child(kind->make, NULL);
	int tries;

	if (!pid) {
		ksft_test_result_skip("%s: needs %s\n", kind->name, kind->needs);
		return;
	}
	/* Reclaim, KSM and write-back move pages now and then. */
	for (tries = 0; tries < 20; tries++) {
		smaps_get(pid, "smaps", &sum);
		smaps_get(pid, "smaps_rollup", &rollup);
		smaps_get(pid, "smaps", &again);
		if (!memcmp(sum.kb, again.kb, sizeof(sum.kb)))
			break;
		usleep(200000);
	}
	if (tries == 20) {
		ksft_print_msg("the process's memory does not come to rest\n");
		ksft_test_result_fail("%s\n", kind->name);
	} else if (rollup.kb[kind->field] < kind->kb) {
		ksft_print_msg("%s is only %lu kB\n", smaps_fields[kind->field],
			       rollup.kb[kind->field]);
		ksft_test_result_fail("%s\n", kind->name);
	} else {
		bool ok = same(&sum, &rollup) & same_range(pid, &rollup);

		ksft_test_result(ok, "%s\n", kind->name);
	}
	smaps_reap(pid);
}

int main(void)
{
	page = sysconf(_SC_PAGESIZE);
	ksft_print_header();
	ksft_set_plan(ARRAY_SIZE(kinds));
	smaps_setup();
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		test(&kinds[i]);
	smaps_teardown();
	ksft_finished();
}
