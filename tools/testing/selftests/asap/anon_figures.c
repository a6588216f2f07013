// SPDX-License-Identifier: GPL-2.0
/*
 * Do the figures tell the truth? A program that knows exactly which pages it
 * touches, and has them prefetched, compares "stat" with its own record, with
 * the page tables, with getrusage() and with the tracepoint of the faults.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "asap_util.h"

#define APP	"anon_figures"
#define PAGES	512
#define SEED	1000

/* Touch these in a measured window: K of PAGES, scattered. */
static bool is_used(size_t i)
{
	return i * 37 % 64 < 25;
}

/* Of those, write to these. */
static bool is_written(size_t i)
{
	return is_used(i) && i % 3 == 0;
}

static size_t nr_used(void)
{
	size_t i, n = 0;

	for (i = 0; i < PAGES; i++)
		n += is_used(i);
	return n;
}

static char *page_at(char *area, size_t i)
{
	return area + i * page_size();
}

static long faults_so_far(void)
{
	struct rusage usage;

	expect(!getrusage(RUSAGE_SELF, &usage));
	return usage.ru_minflt + usage.ru_majflt;
}

static size_t touch_used(char *area)
{
	size_t i, wrong = 0;

	for (i = 0; i < PAGES; i++) {
		if (!is_used(i))
			continue;
		wrong += !page_is(page_at(area, i), SEED + i);
		if (is_written(i))
			fill_page(page_at(area, i), SEED + i + PAGES);
	}
	return wrong;
}

static char *start_app(void)
{
	char *area = map_pages(PAGES);

	fill_pages(area, PAGES, SEED);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	return area;
}

static void expect_contents(char *area)
{
	size_t i;

	for (i = 0; i < PAGES; i++)
		expect(page_is(page_at(area, i),
			       SEED + i + (is_written(i) ? PAGES : 0)));
}

/* stat says K used of N, and the K touches of either kind took no fault. */
static void exact_use(const char *policy)
{
	long before, after;
	size_t wrong;
	char *area;

	expect_eq(knob_write("policy", policy), 0);
	area = start_app();
	/* Have the code and the stack of what is measured in place. */
	expect_eq(touch_used(area), 0);
	fill_pages(area, PAGES, SEED);
	faults_so_far();
	learn_area(APP, area, PAGES);

	prefetch_area(APP, area, PAGES);
	before = faults_so_far();
	wrong = touch_used(area);
	after = faults_so_far();
	app_end(APP);

	expect_eq(wrong, 0);
	expect_eq(after - before, 0);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_mapped"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), nr_used());
	expect_eq(app_stat(APP, "last_anon_wasted"), PAGES - nr_used());
	expect_eq(app_stat(APP, "last_anon_lost"), 0);
	expect_eq(app_stat(APP, "last_anon_faulted"), 0);
	expect_eq(app_stat(APP, "last_anon_accuracy_percent"),
		  nr_used() * 100 / PAGES);
	expect_eq(app_stat(APP, "last_anon_recall_percent"), 100);
	expect_eq(app_stat(APP, "last_fresh_faults"), 0);
	expect_eq(app_stat(APP, "last_log_dropped"), 0);
	expect(app_stat(APP, "last_anon_first_page_us") <=
	       app_stat(APP, "last_anon_last_page_us"));
	expect(app_stat(APP, "last_anon_last_page_us") <=
	       app_stat(APP, "last_window_us"));
	expect_contents(area);
}

static void exact_use_paper(void)
{
	exact_use("paper");
}

static void exact_use_adaptive(void)
{
	exact_use("adaptive");
}

/* K = 0 and K = N. */
static void use_of_none(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), 0);
	expect_eq(app_stat(APP, "last_anon_wasted"), PAGES);
	expect_eq(app_stat(APP, "last_anon_faulted"), 0);
	expect_pages(area, PAGES, SEED);
}

static void use_of_all(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_pages(area, PAGES, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), PAGES);
	expect_eq(app_stat(APP, "last_anon_wasted"), 0);
	expect_eq(app_stat(APP, "last_anon_faulted"), 0);
}

static bool dropped(char *page)
{
	madvise(page, page_size(), MADV_PAGEOUT);
	return pagemap_of(0, page) & PM_SWAP;
}

/* Push out those pages that were used, or those that were not. */
static void drop(char *area, bool used)
{
	size_t i;

	for (i = 0; i < PAGES; i++)
		if (is_used(i) == used)
			wait_for(dropped(page_at(area, i)));
}

/*
 * A wrong guess is cheap: it drops without being compressed again, as long as the
 * window is open and afterwards. What was used has to be.
 */
static void unused_drop_for_nothing(void)
{
	long long disk, pages;
	char *area = start_app();
	int in_window;

	learn_area(APP, area, PAGES);
	for (in_window = 1; in_window >= 0; in_window--) {
		prefetch_area(APP, area, PAGES);
		expect_eq(touch_used(area), 0);
		if (!in_window)
			app_end(APP);

		disk = zram_writes();
		pages = vmstat_value("pswpout");
		drop(area, false);
		expect_eq(vmstat_value("pswpout") - pages, 0);
		expect_eq(zram_writes() - disk, 0);

		drop(area, true);
		pages = vmstat_value("pswpout") - pages;
		disk = zram_writes() - disk;
		expect_eq(pages, disk);
		/* While the window is open, only what was written is dirty. */
		if (!in_window)
			expect_eq(pages, nr_used());
		if (in_window)
			app_end(APP);
		expect_contents(area);
		fill_pages(area, PAGES, SEED);
	}
}

/* The written pages alone are dirty before the harvest has freed any slot. */
static void written_are_written_back(void)
{
	long long disk;
	char *area = start_app();
	size_t i, written = 0;

	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_eq(touch_used(area), 0);
	disk = zram_writes();
	page_out(area, PAGES);
	for (i = 0; i < PAGES; i++)
		written += is_written(i);
	expect_eq(zram_writes() - disk, written);
	app_end(APP);
	expect_contents(area);
}

/*
 * A page that was prefetched, pushed out again before it was used, and then
 * faulted in by the app was needed once. It is no use, and not two pages.
 */
static void lost_before_use(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect_pages(area, PAGES, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_faulted"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), 0);
	expect_eq(app_stat(APP, "last_anon_recall_percent"), 0);
}

/* Unmapped before the end, pages are neither used nor wasted for all we know. */
static void unmapped_before_end(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect(!munmap(area, PAGES / 2 * page_size()));
	expect_pages(page_at(area, PAGES / 2), PAGES / 2, SEED + PAGES / 2);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), PAGES / 2);
	expect_eq(app_stat(APP, "last_anon_lost"), PAGES / 2);
	expect_eq(app_stat(APP, "last_anon_wasted"), 0);
	expect_eq(app_stat(APP, "anon_targets"), PAGES / 2);
}

/* prefetch=0 and anon_enabled=0 learn and do not fetch. */
static void learn_only(const char *knob)
{
	char *area = start_app();
	size_t i;

	expect_eq(knob_write(knob, "0"), 0);
	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	for (i = 0; i < PAGES; i += 2)
		touch_read(page_at(area, i));
	expect_eq(count_pagemap(0, area, PAGES, PM_PRESENT), PAGES / 2);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	expect_eq(app_stat(APP, "last_anon_faulted"), PAGES / 2);
	expect_eq(app_stat(APP, "last_anon_recall_percent"), 0);
}

static void learn_only_prefetch(void)
{
	learn_only("prefetch");
}

static void learn_only_anon(void)
{
	learn_only("anon_enabled");
}

/* learn=0 fetches what is known, and neither learns nor forgets. */
static void learn_nothing(void)
{
	char *area = start_app(), *other = map_pages(PAGES);

	fill_pages(other, PAGES, 0);
	learn_area(APP, area, PAGES);
	expect_eq(knob_write("learn", "0"), 0);
	page_out(other, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_pages(other, PAGES, 0);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_anon_used"), 0);
	expect_eq(app_stat(APP, "last_anon_faulted"), PAGES);
	/* The next window still fetches the same. */
	prefetch_area(APP, area, PAGES);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), PAGES);
}

/* The budget holds. */
static void budget(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	expect_eq(knob_write("max_pages_per_switch", "100"), 0);
	page_out(area, PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) >= 100);
	usleep(200000);
	expect_eq(count_pagemap(0, area, PAGES, PM_PRESENT), 100);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 100);
	expect_eq(app_stat(APP, "last_anon_wasted"), 100);
}

/*
 * Pages that are used between windows and in none are not learned, with and
 * without fetching.
 */
static void use_outside_windows(bool prefetch)
{
	char *area = start_app();
	int i;

	expect_eq(knob_write("policy", "paper"), 0);
	if (!prefetch)
		expect_eq(knob_write("prefetch", "0"), 0);
	page_out(area, PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_pages(area, PAGES, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "anon_candidates"), PAGES);
	for (i = 0; i < 2; i++) {
		/* Faulted in afresh, so that no TLB hides the use. */
		page_out(area, PAGES);
		expect_pages(area, PAGES, SEED);
		expect_eq(app_write(APP, "switch", "start"), 0);
		/* Long enough for a worker to look at them. */
		usleep(200000);
		app_end(APP);
		expect_eq(app_stat(APP, "last_anon_faulted"), 0);
		expect_eq(app_stat(APP, "anon_targets"), 0);
	}
}

static void use_outside_windows_fetching(void)
{
	use_outside_windows(true);
}

static void use_outside_windows_learning(void)
{
	use_outside_windows(false);
}

/* Independent witnesses. */

#define TRACE_DIR	"/sys/kernel/tracing/instances/asap_test"
#define TRACE_SIZE	(8 << 20)

static int trace_write(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), TRACE_DIR "/%s", file);
	return file_write(path, text);
}

static void trace_start(void)
{
	if (mkdir(TRACE_DIR, 0700) && errno != EEXIST)
		skip_test(TRACE_DIR ": %s", strerror(errno));
	expect_eq(trace_write("buffer_size_kb", "4096"), 0);
	if (trace_write("events/asap/asap_fault/enable", "1")) {
		rmdir(TRACE_DIR);
		skip_test("no tracepoint asap:asap_fault");
	}
	expect_eq(trace_write("trace", ""), 0);
	expect_eq(trace_write("tracing_on", "1"), 0);
}

/* Pages of the app's swap-backed faults since trace_start(). */
static long long trace_stop(void)
{
	char *buf = malloc(TRACE_SIZE), *line;
	long long pages = 0;
	int len;

	expect(buf);
	expect_eq(trace_write("tracing_on", "0"), 0);
	len = file_read(TRACE_DIR "/trace", buf, TRACE_SIZE);
	expect(len > 0 && len < TRACE_SIZE - 1);
	for (line = strtok(buf, "\n"); line; line = strtok(NULL, "\n")) {
		char *nr = strstr(line, " nr=");

		if (strstr(line, "asap_fault: app=" APP " ") && nr)
			pages += strtoll(nr + 4, NULL, 10);
	}
	free(buf);
	expect_eq(trace_write("events/asap/asap_fault/enable", "0"), 0);
	expect(!rmdir(TRACE_DIR));
	return pages;
}

/*
 * One area was learned, another was not. What is present after the switch and was
 * not before came by prefetch or by fault; the program knows which it touched.
 */
static void agrees_with_witnesses(bool race)
{
	char *area = start_app(), *fresh = map_pages(PAGES);
	long long used, faulted, fetched, traced;
	size_t i, touched = 0, present;

	fill_pages(fresh, PAGES, 0);
	learn_area(APP, area, PAGES);
	page_out(area, PAGES);
	page_out(fresh, PAGES);
	trace_start();

	expect_eq(app_write(APP, "switch", "start"), 0);
	if (!race)
		wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	/* Last page first: against the order in which they were learned. */
	for (i = PAGES; i-- > 0;) {
		if (!is_used(i))
			continue;
		touch_write(page_at(area, i));
		touch_read(page_at(fresh, i));
		touched += 2;
	}
	/* The rest, so that both kinds of page are all there. */
	wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
	present = count_pagemap(0, area, PAGES, PM_PRESENT) +
		  count_pagemap(0, fresh, PAGES, PM_PRESENT);
	app_end(APP);
	traced = trace_stop();

	fetched = app_stat(APP, "last_anon_prefetched");
	used = app_stat(APP, "last_anon_used");
	faulted = app_stat(APP, "last_anon_faulted");
	ksft_print_msg("touched %zu of %zu: fetched %lld, used %lld, faulted %lld, traced %lld\n",
		       touched, present, fetched, used, faulted, traced);
	expect_eq(used + faulted, touched);
	/* A hit in the swap cache is a use, and a fault for the tracepoint. */
	expect(traced >= faulted);
	expect(traced - faulted <= app_stat(APP, "last_anon_cached"));
	expect_eq(fetched + traced - app_stat(APP, "last_anon_cached"), present);
	expect_eq(app_stat(APP, "last_anon_lost"), 0);
	if (!race) {
		expect_eq(fetched, PAGES);
		expect_eq(used, nr_used());
		expect_eq(faulted, nr_used());
		expect_eq(traced, nr_used());
	}
	expect_pages(area, PAGES, SEED);
	expect_pages(fresh, PAGES, 0);
}

static void agrees_after_prefetch(void)
{
	agrees_with_witnesses(false);
}

static void agrees_during_prefetch(void)
{
	agrees_with_witnesses(true);
}

/* The kernel's totals and those of /proc/vmstat move with an app's. */
static void totals(void)
{
	static const char *const words[][2] = {
		{ "asap_switch", "switches" },
		{ "asap_anon_fetched", "total_anon_prefetched" },
		{ "asap_anon_used", "total_anon_used" },
		{ "asap_anon_wasted", "total_anon_wasted" },
		{ "asap_anon_faulted", "total_anon_faulted" },
	};
	long long before[ARRAY_SIZE(words)];
	char *area;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		before[i] = vmstat_value(words[i][0]);
	area = start_app();
	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_eq(touch_used(area), 0);
	app_end(APP);
	expect(app_stat(APP, "total_anon_prefetched") >= PAGES);
	expect(app_stat(APP, "total_anon_faulted") >= PAGES);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		expect_eq(vmstat_value(words[i][0]) - before[i],
			  app_stat(APP, words[i][1]));
	expect_eq(file_value(ASAP_SYSFS "/stat", "anon_used"),
		  app_stat(APP, "total_anon_used"));
}

/* Every target is listed once, with its process. */
static void targets_listed(void)
{
	static char buf[PAGES * 64];
	char *area = start_app(), *line = buf;
	static bool seen[PAGES];
	size_t lines = 0;
	int len;

	learn_area(APP, area, PAGES);
	len = file_read(ASAP_APPS "/" APP "/targets", buf, sizeof(buf));
	expect(len > 0 && (size_t)len < sizeof(buf) - 1);
	while (*line) {
		long pid = strtol(line, &line, 10);
		unsigned long addr = strtoul(line, &line, 16);
		size_t i = (addr - (unsigned long)area) / page_size();

		expect_eq(*line++, '\n');
		expect_eq(pid, getpid());
		expect(i < PAGES && !seen[i]);
		seen[i] = true;
		lines++;
	}
	expect_eq(lines, PAGES);
}

/* A child that is born in a window has its faults logged as well. */
static void faults_of_child(void)
{
	char *area = start_app();
	pid_t pid;

	page_out(area, PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		expect_pages(area, PAGES / 2, SEED);
		/* Learned of it is only what lives on. */
		_exit(0);
	}
	expect_child(pid);
	wait_for(app_stat(APP, "processes") == 1);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_faulted"), PAGES / 2);
	expect_eq(app_stat(APP, "anon_candidates") +
		  app_stat(APP, "anon_targets"), 0);
	expect_pages(area, PAGES, SEED);
}

static void reset_forgets(void)
{
	char *area = start_app();

	learn_area(APP, area, PAGES);
	expect_eq(app_write(APP, "reset", "1"), 0);
	expect_eq(app_stat(APP, "anon_targets"), 0);
	expect_eq(app_stat(APP, "total_anon_faulted"), 0);
	page_out(area, PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep(200000);
	expect_eq(count_pagemap(0, area, PAGES, PM_PRESENT), 0);
	app_end(APP);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	/* It can learn again. */
	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	app_end(APP);
}

static const struct asap_test tests[] = {
	{ "K of N pages used: paper", exact_use_paper },
	{ "K of N pages used: adaptive", exact_use_adaptive },
	{ "none used", use_of_none },
	{ "all used", use_of_all },
	{ "unused pages drop for nothing", unused_drop_for_nothing },
	{ "written pages are written back", written_are_written_back },
	{ "pages lost before their use", lost_before_use },
	{ "pages unmapped before the end", unmapped_before_end },
	{ "prefetch=0 only learns", learn_only_prefetch },
	{ "anon_enabled=0 only learns", learn_only_anon },
	{ "learn=0 only fetches", learn_nothing },
	{ "max_pages_per_switch", budget },
	{ "use outside of windows, with prefetch", use_outside_windows_fetching },
	{ "use outside of windows, prefetch=0", use_outside_windows_learning },
	{ "witnesses agree, after prefetch", agrees_after_prefetch },
	{ "witnesses agree, during prefetch", agrees_during_prefetch },
	{ "totals", totals },
	{ "targets are listed", targets_listed },
	{ "faults of a child", faults_of_child },
	{ "reset forgets", reset_forgets },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_SWAP);
}
