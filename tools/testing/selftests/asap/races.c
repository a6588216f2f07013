// SPDX-License-Identifier: GPL-2.0
/*
 * Prefetch against everything that can happen to an app meanwhile: it is killed,
 * removed, execs, changes its memory; swap goes away; ASAP is turned off; CPUs
 * come and go. Contents are checked throughout; whether the kernel complains is
 * for its own checkers to say (KASAN, lockdep), so run this on a kernel with them.
 *
 * The environment variable ASAP_ITERATIONS says how often each is tried.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "asap_util.h"

#define APP	"races"
#define OTHER	"races_other"
#define PAGES	1024
#define SEED	9000

static int iterations = 10;
static bool checkers;	/* the kernel has some, and is slow */

static char *page_at(char *area, size_t i)
{
	return area + i * page_size();
}

static char *start_app(size_t nr)
{
	char *area = map_pages(nr);

	fill_pages(area, nr, SEED);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	return area;
}

/* Everything still works after a test has done its worst. */
static void expect_working(char *area, size_t nr)
{
	long long switches;

	/* Whatever window there was is over. */
	app_write(APP, "switch", "end");
	wait_for(!app_is_open(APP));
	do {
		switches = app_stat(APP, "switches");
		usleep(100000);
	} while (switches != app_stat(APP, "switches"));
	expect_eq(app_write(APP, "reset", "1"), 0);
	fill_pages(area, nr, SEED);
	learn_area(APP, area, nr);
	prefetch_area(APP, area, nr);
	expect_pages(area, nr, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_used"), nr);
}

/* While windows open meanwhile, there is no moment when all of it is out. */
static void push_out(char *area, size_t nr)
{
	madvise(area, nr * page_size(), MADV_PAGEOUT);
}

/* A window is open and fetching has begun. */
static void start_and_begin(char *area, size_t nr)
{
	page_out(area, nr);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, nr, PM_PRESENT) > 0);
}

/*
 * SIGKILL. The victim has learned, is in swap, and waits. With prefetch, it is killed
 * when a quarter of its pages is back. What came back has its slot still, so that
 * either way as many slots are to be freed.
 */
struct victim {
	char *area;
	size_t nr;
};

static void victim_fn(struct victim *v, int ready)
{
	size_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	v->area = map_pages(v->nr);
	fill_pages(v->area, v->nr, SEED);
	page_out(v->area, v->nr);
	/* One window is enough for the adaptive policy. */
	expect_eq(app_write(APP, "switch", "start"), 0);
	for (i = 0; i < v->nr; i++)
		touch_read(page_at(v->area, i));
	app_end(APP);
	expect_eq(app_stat(APP, "anon_targets"), v->nr);
	page_out(v->area, v->nr);
	expect(write(ready, "r", 1) == 1);
	for (;;)
		pause();
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static bool memory_is_back(void)
{
	return file_number(ASAP_CGROUP "/memory.current") < 1 << 20 &&
	       file_number(ASAP_CGROUP "/memory.swap.current") < 1 << 20;
}

/* Return: from SIGKILL until the victim's memory is free again. */
static uint64_t kill_victim(struct victim *v, bool prefetch)
{
	long long switches;
	uint64_t began, took;
	int ready[2];
	pid_t pid;
	char c;

	expect(!pipe(ready));
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		expect_eq(cgroup_join(getpid()), 0);
		expect_eq(app_join(APP, getpid()), 0);
		victim_fn(v, ready[1]);
	}
	close(ready[1]);
	expect(read(ready[0], &c, 1) == 1);
	close(ready[0]);

	expect_eq(knob_write("prefetch", prefetch ? "1" : "0"), 0);
	switches = app_stat(APP, "switches");
	expect_eq(app_write(APP, "switch", "start"), 0);
	if (prefetch)
		wait_for(count_pagemap(pid, v->area, v->nr, PM_PRESENT) >= v->nr / 4);
	began = now_us();
	expect(!kill(pid, SIGKILL));
	/* Asleep in between: who frees it may be bound to this CPU. */
	while (!memory_is_back())
		usleep(500);
	took = now_us() - began;
	expect_eq(child_status(pid), 128 + SIGKILL);
	wait_for(!app_stat(APP, "processes"));
	app_wait_switches(APP, switches + 1);
	return took;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define KILL_PAIRS	7

static void sigkill(void)
{
	struct victim *v = mmap(NULL, sizeof(*v), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	double ratio[KILL_PAIRS];
	int i;

	expect(v != MAP_FAILED);
	cgroup_make();
	expect_eq(app_create(APP), 0);
	v->nr = checkers ? 1024 : 16384;
	for (i = 0; i < KILL_PAIRS; i++) {
		uint64_t with = kill_victim(v, true);
		long long back = app_stat(APP, "last_anon_prefetched");
		uint64_t without = kill_victim(v, false);

		ratio[i] = (double)with / without;
		ksft_print_msg("%lld of %zu pages back: %llu us; no prefetch: %llu us\n",
			       back, v->nr, (unsigned long long)with,
			       (unsigned long long)without);
	}
	qsort(ratio, KILL_PAIRS, sizeof(*ratio), cmp_double);
	ksft_print_msg("median ratio %.2f\n", ratio[KILL_PAIRS / 2]);
	/*
	 * What came back is in the swap cache as well, and to leave that takes longer
	 * than to leave a range of slots: 1.4 to 2.1 here, from run to run. If the plan
	 * held the memory it would be 5 and more. Checkers make the smallest of things
	 * the slowest.
	 */
	if (!checkers)
		expect(ratio[KILL_PAIRS / 2] <= 3);
}

static void app_removed(void)
{
	char *area = map_pages(PAGES);
	int i;

	fill_pages(area, PAGES, SEED);
	for (i = 0; i < iterations; i++) {
		expect_eq(app_create(APP), 0);
		expect_eq(app_join(APP, getpid()), 0);
		learn_area(APP, area, PAGES);
		start_and_begin(area, PAGES);
		expect_eq(app_remove(APP), 0);
		expect_eq(file_value(ASAP_SYSFS "/stat", "apps"), 0);
		expect_pages(area, PAGES, SEED);
	}
}

static void swap_removed(void)
{
	char *area = start_app(PAGES);
	int i;

	learn_area(APP, area, PAGES);
	for (i = 0; i < iterations; i++) {
		start_and_begin(area, PAGES);
		expect_eq(swap_detach(), 0);
		expect_pages(area, PAGES, SEED);
		expect_eq(swap_attach(), 0);
		app_end(APP);
	}
	expect_working(area, PAGES);
}

static void zram_reset(void)
{
	char *area = start_app(PAGES);
	int i;

	learn_area(APP, area, PAGES);
	for (i = 0; i < iterations; i++) {
		start_and_begin(area, PAGES);
		expect_eq(swap_off(), 0);
		expect_eq(swap_on(), 0);
		expect_pages(area, PAGES, SEED);
		app_end(APP);
	}
	expect_working(area, PAGES);
}

static void execs(void)
{
	char path[256], c;
	int i;

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	for (i = 0; i < iterations; i++) {
		int alive[2], end[2];
		pid_t pid;

		expect(!pipe2(alive, O_CLOEXEC) && !pipe2(end, O_CLOEXEC));
		pid = fork();
		expect(pid >= 0);
		if (!pid) {
			char *area = map_pages(PAGES);

			fill_pages(area, PAGES, SEED);
			expect_eq(app_join(APP, getpid()), 0);
			learn_area(APP, area, PAGES);
			start_and_begin(area, PAGES);
			expect(dup2(alive[1], 10) == 10 && dup2(end[0], 11) == 11);
			expect(dup2(10, 3) == 3 && dup2(11, 4) == 4);
			execl(path, path, NULL);
			expect_failed(__FILE__, __LINE__, "execl");
		}
		expect(read(alive[0], &c, 1) == 1);
		expect(app_is_open(APP));
		app_end(APP);
		expect_eq(app_stat(APP, "anon_targets"), 0);
		expect(!close(end[0]) && !close(end[1]));
		/* The child's own copy of the writing end keeps it alive. */
		expect(!kill(pid, SIGKILL));
		child_status(pid);
		close(alive[0]);
		close(alive[1]);
		wait_for(!app_stat(APP, "processes"));
	}
}

/*
 * A process that changes its memory in every way it can, and knows at each time
 * what is in it.
 */
#define CHURN_PAGES	128

struct churn {
	char *area;
	uint64_t seed[CHURN_PAGES];
	uint64_t random;
};

static size_t draw(struct churn *c, size_t below)
{
	c->random ^= c->random << 13;
	c->random ^= c->random >> 7;
	c->random ^= c->random << 17;
	return c->random % below;
}

static void churn_fill(struct churn *c, size_t from, size_t nr)
{
	size_t i;

	for (i = from; i < from + nr; i++) {
		c->seed[i] = c->random + i;
		fill_page(page_at(c->area, i), c->seed[i]);
	}
}

static void churn_verify(struct churn *c, size_t from, size_t nr)
{
	size_t i;

	for (i = from; i < from + nr; i++)
		expect(page_is(page_at(c->area, i), c->seed[i]));
}

static void churn_fork(struct churn *c)
{
	pid_t pid = fork();

	expect(pid >= 0);
	if (!pid) {
		churn_verify(c, 0, CHURN_PAGES / 2);
		churn_fill(c, 0, CHURN_PAGES / 4);
		_exit(0);
	}
	expect_child(pid);
}

static void churn_move(struct churn *c)
{
	size_t size = CHURN_PAGES * page_size();
	char *to = map_pages(CHURN_PAGES), *old = c->area;

	if (mremap(old, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to) {
		/* Pieces that were mapped anew do not always merge again. */
		expect_eq(errno, EFAULT);
		expect(!munmap(to, size));
		return;
	}
	/* And back, that what was learned of the place is put to use. */
	if (draw(c, 2))
		expect(mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED,
			      old) == old);
	else
		c->area = to;
}

static void churn_step(struct churn *c)
{
	size_t from = draw(c, CHURN_PAGES);
	size_t nr = 1 + draw(c, CHURN_PAGES - from);
	char *at = page_at(c->area, from);
	size_t size = nr * page_size();

	switch (draw(c, 9)) {
	case 0:
	case 1:
	case 2:
		madvise(c->area, CHURN_PAGES * page_size(), MADV_PAGEOUT);
		break;
	case 3:
		churn_fill(c, from, nr);
		break;
	case 4:
		expect(!madvise(at, size, MADV_DONTNEED));
		churn_fill(c, from, nr);
		break;
	case 5:
		expect(mmap(at, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
			    0) == at);
		madvise(at, size, MADV_NOHUGEPAGE);
		churn_fill(c, from, nr);
		break;
	case 6:
		expect(!mprotect(at, size, PROT_READ));
		churn_verify(c, from, nr);
		expect(!mprotect(at, size, PROT_READ | PROT_WRITE));
		break;
	case 7:
		churn_fork(c);
		break;
	case 8:
		churn_move(c);
		break;
	}
	churn_verify(c, from, nr);
}

static pid_t fork_churn(const char *app, uint64_t seed, int steps)
{
	pid_t pid = fork();

	expect(pid >= 0);
	if (!pid) {
		struct churn c = { .random = seed };
		int i;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		c.area = map_pages(CHURN_PAGES);
		churn_fill(&c, 0, CHURN_PAGES);
		expect_eq(app_join(app, getpid()), 0);
		for (i = 0; i < steps || !steps; i++)
			churn_step(&c);
		churn_verify(&c, 0, CHURN_PAGES);
		_exit(0);
	}
	return pid;
}

static bool has_exited(pid_t pid)
{
	siginfo_t info = {};

	expect(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT | WNOHANG));
	return info.si_pid == pid;
}

static void memory_changes(void)
{
	pid_t pid[2];
	size_t i;

	expect_eq(app_create(APP), 0);
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		pid[i] = fork_churn(APP, 12345 + i, iterations * 40);
	while (!has_exited(pid[0]) || !has_exited(pid[1])) {
		int err = app_write(APP, "switch", "start");

		/* Both may not have joined yet, or have left just now. */
		expect(!err || err == -ESRCH || err == -EBUSY);
		usleep(5000);
		err = app_write(APP, "switch", "end");
		expect(!err || err == -EINVAL);
		usleep(5000);
	}
	for (i = 0; i < ARRAY_SIZE(pid); i++)
		expect_child(pid[i]);
	ksft_print_msg("%lld switches, %lld pages prefetched, %lld used\n",
		       app_stat(APP, "switches"),
		       app_stat(APP, "total_anon_prefetched"),
		       app_stat(APP, "total_anon_used"));
	expect(app_stat(APP, "total_anon_prefetched") > 0);
}

static void fork_switcher(const char *app, pid_t *pid)
{
	*pid = fork();
	expect(*pid >= 0);
	if (*pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int err = app_write(app, "switch", "start");

		expect(!err || err == -EBUSY || err == -ESRCH ||
		       err == -EOPNOTSUPP || err == -ENODEV || err == -ENOENT);
		err = app_write(app, "switch", "end");
		expect(!err || err == -EINVAL || err == -ENODEV ||
		       err == -ENOENT);
	}
}

static void windows_fast(void)
{
	char *area = start_app(PAGES);
	pid_t pid[2];
	int i;

	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	/* A third writer joins the two that are as fast as they can be. */
	fork_switcher(APP, &pid[0]);
	fork_switcher(APP, &pid[1]);
	for (i = 0; i < iterations * 20; i++) {
		int err = app_write(APP, "switch", i % 2 ? "end" : "start");

		expect(!err || err == -EBUSY || err == -EINVAL);
		if (i % 20 == 19) {
			expect_pages(area, PAGES, SEED);
			push_out(area, PAGES);
		}
	}
	kill_child(pid[0]);
	kill_child(pid[1]);
	expect_working(area, PAGES);
}

/*
 * The code of the fault path changes under the hands of those who run it. QEMU
 * before 8.1 may get that wrong with a thread for each CPU ("Oops: int3").
 */
static void turned_off_and_on(void)
{
	char *area = start_app(PAGES);
	pid_t churn, switcher;
	int i;

	learn_area(APP, area, PAGES);
	churn = fork_churn(APP, 777, 0);
	fork_switcher(APP, &switcher);
	for (i = 0; i < iterations * 4; i++) {
		push_out(area, PAGES);
		expect_eq(knob_write("enabled", "0"), 0);
		expect_eq(file_value(ASAP_SYSFS "/stat", "windows_open"), 0);
		expect_eq(knob_write("enabled", "1"), 0);
		expect_pages(area, PAGES, SEED);
		expect(!has_exited(churn) && !has_exited(switcher));
	}
	kill_child(switcher);
	kill_child(churn);
	expect_working(area, PAGES);
}

/* Apps come and go under the hands of whoever uses them. */
static void apps_come_and_go(void)
{
	pid_t churn[2], switcher[2];
	int i;

	expect_eq(app_create(APP), 0);
	expect_eq(app_create(OTHER), 0);
	churn[0] = fork_churn(APP, 31, 0);
	churn[1] = fork_churn(OTHER, 32, 0);
	fork_switcher(APP, &switcher[0]);
	fork_switcher(OTHER, &switcher[1]);
	for (i = 0; i < iterations * 4; i++) {
		const char *app = i % 2 ? APP : OTHER;

		usleep(20000);
		expect(!app_remove(app));
		expect(!app_create(app));
		/* It may have been a member of the app that has gone. */
		expect_eq(app_join(app, churn[i % 2 ? 0 : 1]), 0);
		expect(!has_exited(churn[0]) && !has_exited(churn[1]));
		expect(!has_exited(switcher[0]) && !has_exited(switcher[1]));
	}
	for (i = 0; i < 2; i++) {
		kill_child(switcher[i]);
		kill_child(churn[i]);
	}
}

#define CPU1	"/sys/devices/system/cpu/cpu1/online"

static void cpus_come_and_go(void)
{
	char *area;
	int i;

	if (access(CPU1, W_OK))
		skip_test("no " CPU1);
	area = start_app(PAGES);
	learn_area(APP, area, PAGES);
	for (i = 0; i < iterations; i++) {
		page_out(area, PAGES);
		expect_eq(app_write(APP, "switch", "start"), 0);
		expect_eq(file_write(CPU1, "0"), 0);
		expect_pages(area, PAGES, SEED);
		app_end(APP);
		page_out(area, PAGES);
		expect_eq(app_write(APP, "switch", "start"), 0);
		expect_eq(file_write(CPU1, "1"), 0);
		expect_pages(area, PAGES, SEED);
		app_end(APP);
	}
	expect_working(area, PAGES);
}

static const struct asap_test tests[] = {
	{ "SIGKILL", sigkill },
	{ "the app is removed", app_removed },
	{ "swapoff", swap_removed },
	{ "zram is reset", zram_reset },
	{ "exec", execs },
	{ "memory changes", memory_changes },
	{ "windows open and close fast", windows_fast },
	{ "turned off and on", turned_off_and_on },
	{ "apps come and go", apps_come_and_go },
	{ "CPUs come and go", cpus_come_and_go },
};

int main(void)
{
	const char *text = getenv("ASAP_ITERATIONS");

	checkers = !access("/proc/lockdep", F_OK) ||
		   !access("/sys/kernel/debug/kmemleak", F_OK);
	if (checkers)
		iterations = 3;
	if (text && atoi(text) > 0)
		iterations = atoi(text);
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_SWAP);
}
