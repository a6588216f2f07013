// SPDX-License-Identifier: GPL-2.0
/*
 * What is learned of file pages, and that the figures of a window are those of what
 * happened in it.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "file_util.h"

#define PAGES	96
#define STEP	4
#define SEED	1000

/* Exactly every fourth page of those that were fetched is used. */
static void part_used(bool map)
{
	struct used_file file;
	long long used = PAGES / STEP;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, map);
	used_learn(&file, SEED);
	expect_eq(app_stat(APP, "file_targets"), PAGES);

	used_drop(&file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file.path, PAGES) == PAGES);
	used_touch(&file, STEP, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_file_used"), used);
	expect_eq(app_stat(APP, "last_file_wasted"), PAGES - used);
	expect_eq(app_stat(APP, "last_file_lost"), 0);
	expect_eq(app_stat(APP, "last_file_faulted"), 0);
	expect_eq(app_stat(APP, "last_file_cached"), PAGES);
	expect_eq(app_stat(APP, "last_file_accuracy_percent"), 100 / STEP);
	expect_eq(app_stat(APP, "last_file_recall_percent"), 100);
}

static void part_mapped(void)
{
	part_used(true);
}

/* Open, and never mapped: as a database reads. */
static void part_read(void)
{
	part_used(false);
}

/* What nobody prefetches is counted as waited for. */
static void all_missed(void)
{
	struct used_file file;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, false);
	expect_eq(knob_write("prefetch", "0"), 0);
	used_learn(&file, SEED);
	expect_eq(app_stat(APP, "last_file_prefetched"), 0);
	expect_eq(app_stat(APP, "last_file_faulted"), PAGES);
	expect_eq(app_stat(APP, "last_file_recall_percent"), 0);
	/* Nothing was dropped since: read(), and found there. */
	expect_eq(app_write(APP, "switch", "start"), 0);
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_faulted"), 0);
	expect_eq(app_stat(APP, "file_targets"), PAGES);
}

/* Mapped ahead, a touch costs no fault. */
static void mapped_ahead(void)
{
	struct used_file file;
	size_t i;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	expect_eq(count_pagemap(0, file.map, PAGES, PM_PRESENT), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	/* The page table has to be there: it is, as the pages were mapped before. */
	wait_for(count_pagemap(0, file.map, PAGES, PM_PRESENT) == PAGES);
	for (i = 0; i < PAGES; i++)
		expect_pages(file.map + i * page_size(), 1, SEED + i);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_used"), PAGES);
}

/* A file that is opened when the window is open already is fetched then. */
static void opened_late(void)
{
	struct used_file file;
	char byte;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, false);
	used_learn(&file, SEED);
	used_drop(&file);
	used_close(&file);

	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep(50000);
	used_open(&file, at_mnt("figures"), PAGES, false);
	expect_eq(file_cached(file.path, PAGES), 0);
	expect_eq(pread(file.fd, &byte, 1, 0), 1);
	wait_for(file_cached(file.path, PAGES) == PAGES);
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_prefetched"), PAGES - 1);
	expect_eq(app_stat(APP, "last_file_used"), PAGES - 1);
	expect_eq(app_stat(APP, "last_file_faulted"), 1);
	expect_eq(app_stat(APP, "last_file_skipped_contended"), 0);
}

/* And one that is not opened at all is not read, but said to be missing. */
static void never_opened(void)
{
	struct used_file file;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	used_close(&file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep(50000);
	app_end(APP);
	expect_eq(file_cached(at_mnt("figures"), PAGES), 0);
	expect_eq(app_stat(APP, "last_file_prefetched"), 0);
	expect_eq(app_stat(APP, "last_file_skipped_contended"), PAGES);
}

static void switch_touching(struct used_file *file, size_t step)
{
	used_drop(file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	if (step)
		used_touch(file, step, SEED);
	app_end(APP);
}

/*
 * The published rules: the profile's windows make candidates, a candidate that is
 * missed is a target, one that was fetched in vain is a candidate again, and what is
 * new joins no more; but a new file has a profile of its own.
 */
static void paper_rules(void)
{
	struct used_file file, other;
	int i;

	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), PAGES, SEED);
	file_make(at_mnt("other"), PAGES, SEED);
	expect_eq(knob_write("policy", "paper"), 0);
	/* As published; once written, a knob does not follow the policy. */
	expect_eq(knob_write("merge_gap_pages", "16"), 0);
	expect_eq(knob_write("profile_switches", "3"), 0);
	expect_eq(knob_write("profile_min_hits", "3"), 0);
	app_with_me();
	used_open(&file, at_mnt("figures"), PAGES, true);
	switch_touching(&file, 2);
	switch_touching(&file, 1);
	expect_eq(app_stat(APP, "file_targets"), 0);
	switch_touching(&file, 2);
	/* Every other page was touched three times, the others once. */
	expect_eq(app_stat(APP, "file_candidates"), PAGES / 2);
	expect_eq(app_stat(APP, "file_targets"), 0);

	switch_touching(&file, STEP);
	expect_eq(app_stat(APP, "last_file_prefetched"), 0);
	expect_eq(app_stat(APP, "file_targets"), PAGES / STEP);
	expect_eq(app_stat(APP, "file_candidates"), PAGES / 2 - PAGES / STEP);

	/* Fetched with what lies between, and not used. */
	used_drop(&file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file.path, PAGES) == PAGES - STEP + 1);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_used"), 0);
	expect_eq(app_stat(APP, "last_file_wasted"), PAGES - STEP + 1);
	expect_eq(app_stat(APP, "file_targets"), 0);
	expect_eq(app_stat(APP, "file_candidates"), PAGES / 2);

	/* All is touched, and only candidates become targets. */
	switch_touching(&file, 1);
	expect_eq(app_stat(APP, "file_targets"), PAGES / 2);

	used_open(&other, at_mnt("other"), PAGES, true);
	for (i = 0; i < 3; i++)
		switch_touching(&other, 1);
	expect_eq(app_stat(APP, "file_candidates") + app_stat(APP, "file_targets"),
		  PAGES / 2 + PAGES);
}

#define TRACING		"/sys/kernel/tracing"
#define BIO_EVENT	TRACING "/events/block/block_bio_queue/enable"

/* A page at every other index, so that each is an extent of the file system's own. */
#define SPLIT_PAGES	4096
#define STRIDE		512

static void read_split(struct used_file *file)
{
	size_t i;
	char byte;

	for (i = 0; i < SPLIT_PAGES; i += 2)
		expect_eq(pread(file->fd, &byte, 1, i * page_size()), 1);
}

/* Is it a kworker, as the one of the prefetch, that a line of trace speaks of? */
static bool by_worker(const char *line)
{
	const char *comm = memchr(line, '[', strcspn(line, "\n"));

	return comm && !strncmp(comm, "[kworker", strlen("[kworker"));
}

/*
 * The blocks that tell where the pages lie are read before the pages, but for one page
 * of each 512, which brings them in.
 */
static void metadata_first(void)
{
	unsigned int data = 0, meta = 0, early = 0;
	size_t i, size = 8 << 20;
	struct used_file file;
	char *text, *line, *flags;
	int fd;

	if (access(BIO_EVENT, F_OK))
		skip_test("no " BIO_EVENT);
	fs_mount("ext4", MNT);
	fd = open(at_mnt("split"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(fd >= 0);
	for (i = 0; i < SPLIT_PAGES; i += 2)
		expect_eq(pwrite(fd, "x", 1, i * page_size()), 1);
	expect(!fsync(fd));
	close(fd);
	app_with_me();
	used_open(&file, at_mnt("split"), SPLIT_PAGES, false);
	for (i = 0; i < 3; i++) {
		used_drop(&file);
		expect_eq(app_write(APP, "switch", "start"), 0);
		read_split(&file);
		app_end(APP);
	}
	expect_eq(app_stat(APP, "file_targets"), SPLIT_PAGES / 2);
	used_close(&file);
	/* With nothing of the file system's in memory. */
	wait_for(!umount(MNT));
	fs_mount("ext4", MNT);
	used_open(&file, at_mnt("split"), SPLIT_PAGES, false);

	/* To open it in this way is to empty it. */
	fd = open(TRACING "/trace", O_WRONLY | O_TRUNC);
	expect(fd >= 0);
	close(fd);
	expect_eq(file_write(BIO_EVENT, "1"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file.path, SPLIT_PAGES) == SPLIT_PAGES / 2);
	expect_eq(file_write(BIO_EVENT, "0"), 0);
	app_end(APP);
	text = malloc(size);
	expect(text && file_read(TRACING "/trace", text, size) > 0);
	for (line = strstr(text, "block_bio_queue: "); line;
	     line = strstr(flags, "block_bio_queue: ")) {
		flags = strchr(line + strlen("block_bio_queue: "), ' ') + 1;
		/* The file system reads ahead for itself, in a thread of its own. */
		if (*flags != 'R' || !by_worker(flags))
			continue;
		/* Readahead is for pages alone. */
		if (memchr(flags, 'A', strcspn(flags, " ")))
			data++;
		else
			meta++;
		if (data <= SPLIT_PAGES / STRIDE)
			early = meta;
	}
	ksft_print_msg("%u reads of metadata, %u of data, %u of metadata come first\n",
		       meta, data, early);
	expect(meta > 2);
	expect(data > SPLIT_PAGES / STRIDE);
	/* All of it, where one block tells of more pages than lie in between. */
	expect(early == meta || early >= SPLIT_PAGES / STRIDE);
	free(text);
}

/* Microseconds in which somebody was stalled for memory. */
static long long stalled_us(void)
{
	char buf[512], *total;

	if (file_read("/proc/pressure/memory", buf, sizeof(buf)) <= 0)
		skip_test("no /proc/pressure/memory");
	total = strstr(buf, "total=");
	expect(total);
	return strtoll(total + strlen("total="), NULL, 10);
}

/* MGLRU takes a page that was read so often for one of the working set. */
#define HOT_READS	8

static bool reclaimed(const char *path, size_t nr)
{
	file_write(ASAP_CGROUP "/memory.reclaim", "64M");
	return !file_cached(path, nr);
}

/* Reclaim them as pages of the working set: their refaults are memory stalls. */
static void reclaim_hot(struct used_file *file)
{
	int i;

	for (i = 0; i < HOT_READS; i++)
		used_touch(file, 1, SEED);
	wait_for(reclaimed(file->path, file->nr));
}

#define HOT_PAGES	1024

/* A prefetch worker's waits are no memory pressure; the app's own are. */
static void no_pressure(void)
{
	struct used_file file;
	long long before, app_us, worker_us;

	cgroup_make();
	expect_eq(cgroup_join(getpid()), 0);
	fs_mount("ext4", MNT);
	file_make(at_mnt("figures"), HOT_PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("figures"), HOT_PAGES, false);
	used_learn(&file, SEED);

	reclaim_hot(&file);
	before = stalled_us();
	used_touch(&file, 1, SEED);
	app_us = stalled_us() - before;
	if (!app_us)
		skip_test("reading back the working set did not stall");

	reclaim_hot(&file);
	before = stalled_us();
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file.path, HOT_PAGES) == HOT_PAGES);
	app_end(APP);
	worker_us = stalled_us() - before;
	ksft_print_msg("stalled: app %lld us, worker %lld us\n", app_us, worker_us);
	expect_eq(app_stat(APP, "last_file_prefetched"), HOT_PAGES);
	expect_eq(worker_us, 0);
}

static const struct asap_test tests[] = {
	{ "a part of what was fetched is used: mapped", part_mapped },
	{ "a part of what was fetched is used: read()", part_read },
	{ "what was waited for is counted", all_missed },
	{ "pages are mapped ahead", mapped_ahead },
	{ "a file that is opened in the window is fetched then", opened_late },
	{ "a file that is not opened is left alone", never_opened },
	{ "the published rules", paper_rules },
	{ "the file system's own blocks come first", metadata_first },
	{ "a prefetch is no memory pressure", no_pressure },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
