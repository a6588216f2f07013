// SPDX-License-Identifier: GPL-2.0
/*
 * smaps_rollup while the process changes its VMAs: no address is counted twice,
 * none is left out that was mapped throughout, and nothing else is in the sum.
 *
 * In each case a process changes its memory in a loop, and several readers check
 * that every field keeps within what the process can have had. What a change
 * does not touch must come out exactly. The argument is the number of reads by
 * each reader.
 */
#define _GNU_SOURCE
#include "smaps_util.h"
#include <pthread.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define READERS 3
#define SHARED_FD 100
#define MB (1024 * 1024UL)

static size_t page;
static int reads = 300;

/* Shared with the changing process */
struct shared {
	int go;			/* change memory, or keep still */
	int still;		/* it does keep still */
	unsigned long loops;
};

#define load(x) __atomic_load_n(&(x), __ATOMIC_SEQ_CST)
#define store(x, value) __atomic_store_n(&(x), value, __ATOMIC_SEQ_CST)

static struct shared *shared;

struct change {
	const char *name;
	bool (*set_up)(void);
	void (*once)(unsigned long i);
	unsigned long less_kb, more_kb;	/* how far sums may go from the base */
	bool range;			/* the header's range may differ */
	bool thp;			/* AnonHugePages may be less */
	const char *needs;
};

/* The changing process's memory */
static char *mem, *other;

static char *map_at(void *at, size_t len, int flags)
{
	return mmap(at, len, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static void touch(char *p, size_t len)
{
	for (size_t i = 0; i < len; i += page)
		p[i] = 1;
}

static void protect(char *p, size_t len, int prot)
{
	if (mprotect(p, len, prot))
		_exit(1);
}

/* Three neighbours of 1 MB that do not merge, all present, and 200 small ones */
static bool set_up_three(void)
{
	mem = map_at(NULL, 5 * MB, 0);
	if (mem == MAP_FAILED)
		return false;
	touch(mem, 5 * MB);
	protect(mem + MB, MB, PROT_READ);
	protect(mem + 2 * MB, MB, PROT_READ | PROT_WRITE | PROT_EXEC);
	for (int i = 0; i < 200; i += 2)
		protect(mem + 3 * MB + i * 2 * page, 2 * page, PROT_READ);
	return true;
}

/* Case 1: a VMA goes, and comes back, below one that stays. */
static void free_middle(unsigned long i)
{
	(void)i;
	if (munmap(mem + MB, MB) ||
	    map_at(mem + MB, MB, MAP_FIXED | MAP_POPULATE) != mem + MB)
		_exit(1);
	protect(mem + MB, MB, PROT_READ);
}

/* Case 2: the address space changes, but none of the VMAs that are counted. */
static void change_elsewhere(unsigned long i)
{
	char *p = map_at(NULL, (1 + i % 7) * page, 0);

	if (p == MAP_FAILED || munmap(p, (1 + i % 7) * page))
		_exit(1);
}

/* Case 3: nothing is left above. */
static bool set_up_top(void)
{
	struct smaps s;

	if (!set_up_three())
		return false;
	smaps_get(getpid(), "smaps_rollup", &s);
	mem = map_at((char *)s.end + 16 * page, 64 * page, MAP_FIXED_NOREPLACE);
	if (mem != (char *)s.end + 16 * page)
		return false;
	touch(mem, 64 * page);
	protect(mem, 32 * page, PROT_READ);
	return true;
}

static void free_top(unsigned long i)
{
	size_t keep = i % 2 ? 32 * page : 0;

	if (munmap(mem + keep, 64 * page - keep) ||
	    map_at(mem + keep, 64 * page - keep, MAP_FIXED | MAP_POPULATE) != mem + keep)
		_exit(1);
	protect(mem, 32 * page, PROT_READ);
}

/* Case 4: the last address counted comes to lie inside a VMA, by a merge ... */
static void merge(unsigned long i)
{
	size_t at = (3 + i % 5 * 40) * page;

	protect(mem, MB + at, PROT_READ);
	protect(mem, MB + at, PROT_READ | PROT_WRITE);
	protect(mem + MB, at, PROT_READ);
}

/* ... or a great many of them are born and vanish. */
static void split_all(unsigned long i)
{
	int prot = i % 2 ? PROT_READ : PROT_READ | PROT_WRITE;

	for (size_t at = 3 * MB; at < 5 * MB; at += 4 * page)
		protect(mem + at, 2 * page, prot);
}

/* One large VMA, in many page tables: the lock is let go inside it. */
static bool set_up_giant(void)
{
	mem = map_at(NULL, 64 * MB, 0);
	if (mem == MAP_FAILED || madvise(mem, 64 * MB, MADV_NOHUGEPAGE))
		return false;
	touch(mem, 64 * MB);
	return true;
}

static void split_giant(unsigned long i)
{
	char *at = mem + i * 37 % 16000 * page;

	protect(at, 5 * page, PROT_READ);
	protect(at, 5 * page, PROT_READ | PROT_WRITE);
}

static void hole_in_giant(unsigned long i)
{
	char *at = mem + i * 37 % 16000 * page;

	if (munmap(at, page) || map_at(at, page, MAP_FIXED | MAP_POPULATE) != at)
		_exit(1);
}

/* 100 pages move up and down past others: seen nowhere, once, or twice. */
static bool set_up_move(void)
{
	if (!set_up_giant())
		return false;
	other = map_at(NULL, 100 * page, 0);
	if (other == MAP_FAILED)
		return false;
	touch(other, 100 * page);
	return !munmap(mem + 32 * MB, 100 * page);
}

static void move(unsigned long i)
{
	char *from = i % 2 ? mem + 32 * MB : other;
	char *to = i % 2 ? other : mem + 32 * MB;

	if (mremap(from, 100 * page, 100 * page, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to) != to)
		_exit(1);
}

/* Swap of a shared object: counted for the part that is passed, once. */
static bool set_up_swapped(void)
{
	struct smaps s;

	mem = mmap(NULL, 16 * MB, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	touch(mem, 16 * MB);
	for (int i = 0; i < 200; i++) {
		if (madvise(mem, 16 * MB, MADV_PAGEOUT))
			return false;
		smaps_get(getpid(), "smaps", &s);
		if (s.kb[F_SWAP] == 16 * MB / 1024)
			return true;
		usleep(10000);
	}
	return false;
}

static void split_swapped(unsigned long i)
{
	char *at = mem + i * 37 % 4000 * page;

	protect(at, 5 * page, PROT_READ);
	protect(at, 5 * page, PROT_READ | PROT_WRITE);
}

/* Borders of VMAs come and go inside huge pages. */
static bool set_up_thp(void)
{
	struct smaps s;

	mem = map_at(NULL, 34 * MB, 0);
	if (mem == MAP_FAILED)
		return false;
	mem = (char *)(((size_t)mem + 2 * MB) & ~(2 * MB - 1));
	if (madvise(mem, 32 * MB, MADV_HUGEPAGE))
		return false;
	touch(mem, 32 * MB);
	smaps_get(getpid(), "smaps", &s);
	return s.kb[F_ANON_THP] >= 16 * 1024;
}

static void split_thp(unsigned long i)
{
	char *at = mem + i * 517 % 8000 * page;

	protect(at, 100 * page, PROT_READ);
	protect(at, 100 * page, PROT_READ | PROT_WRITE);
}

static bool set_up_hugetlb(void)
{
	mem = mmap(NULL, 8 * MB, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (mem == MAP_FAILED)
		return false;
	touch(mem, 8 * MB);
	return true;
}

static void split_hugetlb(unsigned long i)
{
	char *at = mem + (i % 3 + 1) * 2 * MB;

	protect(at, 2 * MB, PROT_READ);
	protect(at, 2 * MB, PROT_READ | PROT_WRITE);
}

#define CHANGE(text, prepare, change, ...) \
	{ .name = text, .set_up = prepare, .once = change, __VA_ARGS__ }

static const struct change changes[] = {
	CHANGE("1: a VMA is unmapped", set_up_three, free_middle, .less_kb = 1024),
	CHANGE("2: VMAs stay", set_up_three, change_elsewhere),
	CHANGE("3: no more VMAs", set_up_top, free_top, .less_kb = 256,
	       .range = true, .needs = "room above the stack"),
	CHANGE("4: inside a VMA after a merge", set_up_three, merge),
	CHANGE("hundreds of splits and merges", set_up_three, split_all),
	CHANGE("a large VMA is split", set_up_giant, split_giant),
	CHANGE("a large VMA loses pages", set_up_giant, hole_in_giant, .less_kb = 64),
	CHANGE("pages move", set_up_move, move, .less_kb = 400, .more_kb = 400),
	CHANGE("a swapped shared object is split", set_up_swapped, split_swapped,
	       .needs = "swap"),
	CHANGE("huge pages are split", set_up_thp, split_thp, .thp = true,
	       .needs = "transparent huge pages"),
	CHANGE("hugetlb is split", set_up_hugetlb, split_hugetlb,
	       .needs = "4 huge pages"),
};

static void *loop(void *arg)
{
	const struct change *c = arg;

	for (unsigned long i = 0;; i++) {
		while (!load(shared->go)) {
			store(shared->still, 1);
			usleep(1000);
		}
		store(shared->still, 0);
		c->once(i);
		store(shared->loops, shared->loops + 1);
	}
	return NULL;
}

/*
 * The changing process: changes are made by a thread of their own, as in most
 * apps. The shared page is inherited as a file.
 */
static void child(int ready, const char *arg)
{
	const struct change *c = &changes[atoi(arg)];
	pthread_t t;
	bool ok;

	shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		_exit(1);
	ok = c->set_up() && !pthread_create(&t, NULL, loop, (void *)c);
	smaps_child_ready(ready, ok);
}

static bool within(const struct change *c, const struct smaps *base,
		   const struct smaps *s)
{
	bool ok = true;

	for (size_t i = 0; i < NR_SMAPS_FIELDS; i++) {
		/* Those that describe the anonymous pages which come and go */
		bool moves = i == F_RSS || i == F_PSS || i == F_PSS_DIRTY ||
			     i == F_PSS_ANON || i == F_PRIVATE_DIRTY ||
			     i == F_REFERENCED || i == F_ANONYMOUS;
		unsigned long less = moves ? c->less_kb : 0;
		unsigned long more = moves ? c->more_kb : 0;

		/* The pages of the vDSO are shared by who comes and goes. */
		if (i == F_PSS || i == F_PSS_FILE) {
			less += 2 * page / 1024;
			more += 2 * page / 1024;
		}
		if (i == F_ANON_THP && c->thp)
			less = base->kb[i];
		if (s->seen[i] != 1 || s->kb[i] + less < base->kb[i] ||
		    s->kb[i] > base->kb[i] + more) {
			ksft_print_msg("%s is %lu kB, want %lu to %lu kB\n",
				       smaps_fields[i], s->kb[i],
				       base->kb[i] - less, base->kb[i] + more);
			ok = false;
		}
	}
	if (!c->range && (s->start != base->start || s->end != base->end)) {
		ksft_print_msg("range %lx-%lx, want %lx-%lx\n", s->start, s->end,
			       base->start, base->end);
		ok = false;
	}
	return ok;
}

static void reader(const struct change *c, pid_t pid, const struct smaps *base)
{
	for (int i = 0; i < reads; i++) {
		struct smaps s;

		smaps_get(pid, "smaps_rollup", &s);
		if (!within(c, base, &s)) {
			ksft_print_msg("in read %d\n", i);
			_exit(1);
		}
	}
	_exit(0);
}

static void quiet(int go)
{
	store(shared->still, 0);
	store(shared->go, go);
	while (!go && !load(shared->still))
		usleep(1000);
}

static void test(const struct change *c)
{
	pid_t pid, readers[READERS];
	struct smaps base, end;
	bool ok = true;
	char arg[16];

	memset(shared, 0, sizeof(*shared));
	snprintf(arg, sizeof(arg), "%d", (int)(c - changes));
	pid = smaps_own_child(arg);
	if (!pid) {
		ksft_test_result_skip("%s: needs %s\n", c->name,
				      c->needs ? c->needs : "memory");
		return;
	}
	/* Once around, so that the base has all that the loop ever touches. */
	quiet(1);
	while (load(shared->loops) < 2)
		usleep(1000);
	quiet(0);
	smaps_get(pid, "smaps_rollup", &base);
	store(shared->loops, 0);
	quiet(1);
	fflush(stdout);
	for (int i = 0; i < READERS; i++) {
		readers[i] = fork();
		if (!readers[i])
			reader(c, pid, &base);
	}
	for (int i = 0; i < READERS; i++) {
		int status;

		ok &= waitpid(readers[i], &status, 0) == readers[i] && !status;
	}
	quiet(0);
	smaps_get(pid, "smaps_rollup", &end);
	ok &= within(c, &base, &end);
	if (!shared->loops) {
		ksft_print_msg("nothing was changed meanwhile\n");
		ok = false;
	}
	ksft_print_msg("%lu changes in %d reads\n", shared->loops, READERS * reads);
	ksft_test_result(ok, "%s\n", c->name);
	smaps_reap(pid);
}

int main(int argc, char **argv)
{
	int fd;

	page = sysconf(_SC_PAGESIZE);
	if (argc == 3 && !strcmp(argv[0], SMAPS_CHILD))
		child(atoi(argv[1]), argv[2]);
	if (argc > 1)
		reads = atoi(argv[1]);
	ksft_print_header();
	fd = memfd_create("shared", 0);
	if (fd < 0 || ftruncate(fd, page) || dup2(fd, SHARED_FD) < 0)
		ksft_exit_fail_msg("memfd: %s\n", strerror(errno));
	shared = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, SHARED_FD, 0);
	if (shared == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	ksft_set_plan(ARRAY_SIZE(changes));
	smaps_setup();
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		test(&changes[i]);
	smaps_teardown();
	ksft_finished();
}
