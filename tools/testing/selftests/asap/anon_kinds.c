// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch of all kinds of anonymous memory: contents, protection and the bits
 * that other features keep in page tables come through unharmed.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "asap_util.h"

#define APP	"anon_kinds"
#define PAGES	256
#define SEED	5000

#ifndef MADV_MERGEABLE
#define MADV_MERGEABLE	12
#endif

static char *page_at(char *area, size_t i)
{
	return area + i * page_size();
}

static char *start_app(void)
{
	char *area = map_pages(PAGES);

	fill_pages(area, PAGES, SEED);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	return area;
}

/* Open a window and let the workers do what they will. */
static void start_and_settle(void)
{
	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep(300000);
}

static sigjmp_buf fault_jump;

static void fault_handler(int sig)
{
	(void)sig;
	siglongjmp(fault_jump, 1);
}

/* Does an access raise SIGSEGV? */
static bool faults(char *page, bool write)
{
	struct sigaction act = { .sa_handler = fault_handler }, old;

	expect(!sigaction(SIGSEGV, &act, &old));
	if (sigsetjmp(fault_jump, 1)) {
		sigaction(SIGSEGV, &old, NULL);
		return true;
	}
	if (write)
		touch_write(page);
	else
		touch_read(page);
	sigaction(SIGSEGV, &old, NULL);
	return false;
}

/*
 * After fork() parent and child share what is swapped out. Both are prefetched,
 * and neither sees what the other one writes.
 */
static void shared_after_fork(void)
{
	int ready[2], go[2];
	char *area, c;
	pid_t pid;
	size_t i;

	area = start_app();
	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(!pipe(ready) && !pipe(go));
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		close(go[1]);
		/* Have faults of its own in the window, to learn from. */
		expect(read(go[0], &c, 1) == 1);
		for (i = 0; i < PAGES; i += 3)
			fill_page(page_at(area, i), i);
		expect(write(ready[1], "r", 1) == 1);
		expect(read(go[0], &c, 1) == 0);
		for (i = 0; i < PAGES; i++)
			expect(page_is(page_at(area, i), i % 3 ? SEED + i : i));
		_exit(0);
	}
	close(go[0]);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	expect(write(go[1], "g", 1) == 1);
	for (i = 1; i < PAGES; i += 3)
		fill_page(page_at(area, i), SEED + i + PAGES);
	expect(read(ready[0], &c, 1) == 1);
	app_end(APP);
	for (i = 0; i < PAGES; i++)
		expect(page_is(page_at(area, i),
			       SEED + i + (i % 3 == 1 ? PAGES : 0)));
	close(go[1]);
	expect_child(pid);
}

/* The parent has gone; the child has the last reference to what they shared. */
#define OUTLIVED	"/dev/shm/asap_outlived"

static void outlived_parent(void)
{
	char *area, said[16] = "";
	pid_t pid;

	expect_eq(app_create(APP), 0);
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		pid_t parent;

		area = map_pages(PAGES);
		fill_pages(area, PAGES, SEED);
		page_out(area, PAGES);
		parent = fork();
		expect(parent >= 0);
		if (parent)
			_exit(0);
		expect_eq(app_join(APP, getpid()), 0);
		learn_area(APP, area, PAGES);
		prefetch_area(APP, area, PAGES);
		expect_pages(area, PAGES, SEED);
		fill_pages(area, PAGES, SEED + 1);
		app_end(APP);
		expect_pages(area, PAGES, SEED + 1);
		expect_eq(file_write(OUTLIVED, "done"), 0);
		_exit(0);
	}
	close(open(OUTLIVED, O_CREAT | O_TRUNC | O_WRONLY, 0600));
	expect_child(pid);
	wait_for(!app_stat(APP, "processes") && app_stat(APP, "switches"));
	expect(file_read(OUTLIVED, said, sizeof(said)) >= 0);
	unlink(OUTLIVED);
	expect(!strcmp(said, "done"));
}

/* Given back between windows: forgotten, and zero when touched. */
static void given_back(void)
{
	char *area = start_app();
	size_t i;

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(!madvise(area, PAGES / 4 * page_size(), MADV_DONTNEED));
	expect(!munmap(page_at(area, PAGES / 4), PAGES / 4 * page_size()));
	start_and_settle();
	expect_eq(count_pagemap(0, area, PAGES / 4, PM_PRESENT), 0);
	expect_eq(count_pagemap(0, page_at(area, PAGES / 2), PAGES / 2,
				PM_PRESENT), PAGES / 2);
	expect_pages(page_at(area, PAGES / 2), PAGES / 2, SEED + PAGES / 2);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES / 2);
	expect_eq(app_stat(APP, "last_anon_skipped_empty"), PAGES / 2);
	expect_eq(app_stat(APP, "last_anon_dropped"), PAGES / 2);
	expect_eq(app_stat(APP, "anon_targets"), PAGES / 2);
	for (i = 0; i < PAGES / 4; i++)
		expect_eq(touch_read(page_at(area, i)), 0);
}

/* Another mapping took the place. */
static void mapped_anew(void)
{
	char *area = start_app();
	int fd = memfd_create("asap", 0);

	expect(fd >= 0 && !ftruncate(fd, PAGES * page_size()));
	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(mmap(area, PAGES * page_size(), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, 0) == area);
	fill_pages(area, PAGES, 1);
	start_and_settle();
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	expect_eq(app_stat(APP, "anon_targets"), 0);
	expect_pages(area, PAGES, 1);
}

#define KSM	"/sys/kernel/mm/ksm"

static bool reclaimed(char *area, size_t nr)
{
	file_write(ASAP_CGROUP "/memory.reclaim", "64M");
	return count_pagemap(0, area, nr, PM_SWAP) == nr;
}

/* Let reclaim push out what MADV_PAGEOUT leaves alone. */
static void reclaim(char *area, size_t nr)
{
	wait_for(reclaimed(area, nr));
}

static char ksm_run[16], ksm_pages[16], ksm_sleep[16];

static void ksm_restore(void)
{
	file_write(KSM "/run", "2");
	file_write(KSM "/run", ksm_run);
	file_write(KSM "/pages_to_scan", ksm_pages);
	file_write(KSM "/sleep_millisecs", ksm_sleep);
}

static void merged_by_ksm(void)
{
	char *one, *two;
	size_t i;

	if (file_read(KSM "/run", ksm_run, sizeof(ksm_run)) < 0)
		skip_test("no KSM");
	file_read(KSM "/pages_to_scan", ksm_pages, sizeof(ksm_pages));
	file_read(KSM "/sleep_millisecs", ksm_sleep, sizeof(ksm_sleep));
	cgroup_make();
	expect_eq(cgroup_join(getpid()), 0);
	one = start_app();
	two = map_pages(PAGES);
	fill_pages(two, PAGES, SEED);
	expect(!madvise(one, PAGES * page_size(), MADV_MERGEABLE));
	expect(!madvise(two, PAGES * page_size(), MADV_MERGEABLE));
	expect_eq(file_write(KSM "/pages_to_scan", "4096"), 0);
	expect_eq(file_write(KSM "/sleep_millisecs", "10"), 0);
	expect_eq(file_write(KSM "/run", "1"), 0);
	wait_for(file_number(KSM "/pages_sharing") >= PAGES);
	expect_eq(file_write(KSM "/run", "0"), 0);

	reclaim(one, PAGES);
	reclaim(two, PAGES);
	for (i = 0; i < 3; i++) {
		expect_eq(app_write(APP, "switch", "start"), 0);
		expect_pages(one, PAGES, SEED);
		expect_pages(two, PAGES, SEED);
		app_end(APP);
		reclaim(one, PAGES);
		reclaim(two, PAGES);
	}
	/* What else of this process was reclaimed may have been learned too. */
	expect(app_stat(APP, "anon_targets") >= 2 * PAGES);
	start_and_settle();
	expect_pages(one, PAGES, SEED);
	/* What is written to one of the two stays there. */
	fill_pages(two, PAGES, SEED + PAGES);
	app_end(APP);
	expect_pages(one, PAGES, SEED);
	expect_pages(two, PAGES, SEED + PAGES);
	expect(!munmap(one, PAGES * page_size()));
	expect(!munmap(two, PAGES * page_size()));
	ksm_restore();
}

static void locked(void)
{
	char *area = start_app();
	size_t present;

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	/* Lock without faulting in: the range has to be left alone. */
	if (syscall(SYS_mlock2, area, PAGES * page_size(), MLOCK_ONFAULT))
		skip_test("mlock2: %s", strerror(errno));
	start_and_settle();
	present = count_pagemap(0, area, PAGES, PM_PRESENT);
	app_end(APP);
	expect_eq(present, app_stat(APP, "last_anon_mapped"));
	expect_pages(area, PAGES, SEED);
	expect(!munlock(area, PAGES * page_size()));
	page_out(area, PAGES);
	expect_pages(area, PAGES, SEED);

	expect(!mlock(area, PAGES * page_size()));
	start_and_settle();
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	expect_eq(count_pagemap(0, area, PAGES, PM_PRESENT), PAGES);
	expect_pages(area, PAGES, SEED);
}

static void write_protected_by_uffd(void)
{
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_WP_ASYNC |
			    UFFD_FEATURE_WP_UNPOPULATED,
	};
	struct uffdio_writeprotect wp = { .mode = UFFDIO_WRITEPROTECT_MODE_WP };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_WP };
	char *area = start_app();
	int uffd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	size_t i;

	if (uffd < 0)
		skip_test("userfaultfd: %s", strerror(errno));
	if (ioctl(uffd, UFFDIO_API, &api))
		skip_test("userfaultfd has no asynchronous write protection");
	learn_area(APP, area, PAGES);
	reg.range.start = (unsigned long)area;
	reg.range.len = PAGES * page_size();
	wp.range = reg.range;
	expect(!ioctl(uffd, UFFDIO_REGISTER, &reg));
	expect(!ioctl(uffd, UFFDIO_WRITEPROTECT, &wp));
	page_out(area, PAGES);
	expect_eq(count_pagemap(0, area, PAGES, PM_UFFD_WP), PAGES);

	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	expect_eq(count_pagemap(0, area, PAGES, PM_UFFD_WP), PAGES);
	expect_pages(area, PAGES, SEED);
	expect_eq(count_pagemap(0, area, PAGES, PM_UFFD_WP), PAGES);
	/* A write is noticed: it takes the mark away. */
	for (i = 0; i < PAGES; i += 4)
		touch_write(page_at(area, i));
	for (i = 0; i < PAGES; i++)
		expect_eq(!!(pagemap_of(0, page_at(area, i)) & PM_UFFD_WP),
			  i % 4 != 0);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_mapped"), PAGES);
	expect_pages(area, PAGES, SEED);
	close(uffd);
}

static void soft_dirty(void)
{
	char *area = start_app();
	size_t i;

	fill_pages(area, PAGES, SEED);
	if (!(pagemap_of(0, area) & PM_SOFT_DIRTY))
		skip_test("no soft-dirty bits");
	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect_eq(file_write("/proc/self/clear_refs", "4"), 0);
	expect_eq(count_pagemap(0, area, PAGES, PM_SOFT_DIRTY), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	expect_eq(count_pagemap(0, area, PAGES, PM_SOFT_DIRTY), 0);
	expect_pages(area, PAGES, SEED);
	expect_eq(count_pagemap(0, area, PAGES, PM_SOFT_DIRTY), 0);
	for (i = 0; i < PAGES; i += 4)
		touch_write(page_at(area, i));
	for (i = 0; i < PAGES; i++)
		expect_eq(!!(pagemap_of(0, page_at(area, i)) & PM_SOFT_DIRTY),
			  i % 4 == 0);
	app_end(APP);

	/* A bit that is set survives being swapped out and prefetched. */
	prefetch_area(APP, area, PAGES);
	for (i = 0; i < PAGES; i++)
		expect_eq(!!(pagemap_of(0, page_at(area, i)) & PM_SOFT_DIRTY),
			  i % 4 == 0);
	app_end(APP);
}

#define MTHP	"/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled"

static void large_folios(void)
{
	size_t i, touched = 0, size = PAGES * page_size();
	char enabled[128], *area;
	int windows;

	if (file_read(MTHP, enabled, sizeof(enabled)) < 0)
		skip_test("no " MTHP);
	expect_eq(file_write(MTHP, "always"), 0);
	area = mmap(NULL, size, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	expect(area != MAP_FAILED);
	expect(!madvise(area, size, MADV_HUGEPAGE));
	fill_pages(area, PAGES, SEED);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	for (windows = 0; windows < 4; windows++) {
		page_out(area, PAGES);
		expect_eq(app_write(APP, "switch", "start"), 0);
		/* One of four: the faults of the rest come with it, or do not. */
		for (i = 0; i < PAGES; i += 4)
			expect(page_is(page_at(area, i), SEED + i));
		app_end(APP);
		expect_pages(area, PAGES, SEED);
	}
	page_out(area, PAGES);
	start_and_settle();
	for (i = 0; i < PAGES; i++) {
		if (i % 3)
			continue;
		expect(page_is(page_at(area, i), SEED + i));
		fill_page(page_at(area, i), SEED + i);
		touched++;
	}
	app_end(APP);
	expect(app_stat(APP, "last_anon_prefetched") > 0);
	/* A fault maps up to a folio. */
	expect(app_stat(APP, "last_anon_used") +
	       app_stat(APP, "last_anon_faulted") >= (long long)touched);
	expect_pages(area, PAGES, SEED);
	page_out(area, PAGES);
	expect_pages(area, PAGES, SEED);

	/* The kernel prints the value in use in brackets. */
	expect(strchr(enabled, '[') && strchr(enabled, ']'));
	*strchr(enabled, ']') = '\0';
	expect_eq(file_write(MTHP, strchr(enabled, '[') + 1), 0);
}

static void read_only(void)
{
	char *area = start_app();
	size_t i;

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(!mprotect(area, PAGES * page_size(), PROT_READ));
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	expect_pages(area, PAGES, SEED);
	for (i = 0; i < PAGES; i += 16)
		expect(faults(page_at(area, i), true));
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_used"), PAGES);
	expect(!mprotect(area, PAGES * page_size(), PROT_READ | PROT_WRITE));
	fill_pages(area, PAGES, SEED + 1);
	expect_pages(area, PAGES, SEED + 1);
}

static void no_access(void)
{
	char *area = start_app();
	size_t i;

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(!mprotect(area, PAGES * page_size(), PROT_NONE));
	start_and_settle();
	for (i = 0; i < PAGES; i += 16) {
		expect(faults(page_at(area, i), false));
		expect(faults(page_at(area, i), true));
	}
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_used"), 0);
	expect(!mprotect(area, PAGES * page_size(), PROT_READ | PROT_WRITE));
	expect_pages(area, PAGES, SEED);
	fill_pages(area, PAGES, SEED + 1);
	expect_pages(area, PAGES, SEED + 1);
}

/* Anonymous pages of a private file mapping are as anonymous as others. */
static void private_file(void)
{
	size_t size = PAGES * page_size();
	int fd = memfd_create("asap", 0);
	char *area;

	expect(fd >= 0 && !ftruncate(fd, size));
	area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	expect(area != MAP_FAILED);
	fill_pages(area, PAGES, SEED);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_pages(area, PAGES, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_mapped"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), PAGES);
}

/* Moved by mremap(): what was known of the old place is worth nothing. */
static void moved(void)
{
	size_t size = PAGES * page_size();
	char *area = start_app(), *to = map_pages(PAGES);

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect(mremap(area, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	start_and_settle();
	expect_eq(count_pagemap(0, to, PAGES, PM_PRESENT), 0);
	expect_pages(to, PAGES, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	expect_eq(app_stat(APP, "last_anon_faulted"), PAGES);
	page_out(to, PAGES);
	learn_area(APP, to, PAGES);
}

static const struct asap_test tests[] = {
	{ "shared after fork", shared_after_fork },
	{ "a child that outlived its parent", outlived_parent },
	{ "MADV_DONTNEED and munmap between windows", given_back },
	{ "another mapping in the same place", mapped_anew },
	{ "merged by KSM", merged_by_ksm },
	{ "locked in memory", locked },
	{ "write-protected by userfaultfd", write_protected_by_uffd },
	{ "soft-dirty bits", soft_dirty },
	{ "large folios", large_folios },
	{ "read-only", read_only },
	{ "PROT_NONE", no_access },
	{ "private file mapping", private_file },
	{ "moved by mremap", moved },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_SWAP);
}
