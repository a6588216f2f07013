// SPDX-License-Identifier: GPL-2.0
/*
 * What can happen to a file while a prefetch of just that file runs, again and
 * again: contents are right, space comes back at once, and umount() does not find
 * the file system busy. ASAP_LOOPS=n does it n times.
 */
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "file_util.h"

#define PAGES	128
#define SEED	9000
#define OVL	"/tmp/asap_ovl"

static int loops(void)
{
	const char *text = getenv("ASAP_LOOPS");

	return text ? atoi(text) : 3;
}

/* Where the file is, in each file system. */
enum place { EXT4, F2FS, OVERLAY };

static enum place place;
static const char *top;		/* mount point that the file is seen through */

static void overlay_mount(void)
{
	if (mount("overlay", OVL, "overlay", 0, "lowerdir=" MNT "/lower,upperdir="
		  MNT "/upper,workdir=" MNT "/work"))
		skip_test("overlay: %s", strerror(errno));
}

static void place_mount(void)
{
	fs_mount(place == F2FS ? "f2fs" : "ext4", MNT);
	top = MNT;
	if (place != OVERLAY)
		return;
	dir_make(MNT "/lower");
	dir_make(MNT "/upper");
	dir_make(MNT "/work");
	expect(!mkdir(OVL, 0755) || errno == EEXIST);
	overlay_mount();
	top = OVL;
}

static const char *the_file(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/races", top);
	return path;
}

/* A file whose pages are all targets, and not in memory. */
static void learn(struct used_file *file)
{
	file_make(the_file(), PAGES, SEED);
	used_open(file, the_file(), PAGES, true);
	/* One window is enough as long as nothing else is known. */
	used_drop(file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	used_touch(file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "file_targets"), PAGES);
	used_drop(file);
}

/* The prefetch is under way, or about to be: delays differ from round to round. */
static void start(int round)
{
	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep((round * 397) % 4000);
}

static long long free_blocks(void)
{
	struct statvfs st;

	expect(!statvfs(MNT, &st));
	return st.f_bfree;
}

static void rounds_at(enum place where, void (*fn)(int round))
{
	int round;

	place = where;
	place_mount();
	app_with_me();
	for (round = 0; round < loops(); round++) {
		fn(round);
		expect_eq(app_write(APP, "reset", "1"), 0);
	}
	expect_eq(app_remove(APP), 0);
	if (place == OVERLAY)
		expect(!umount(OVL));
	expect(!umount(MNT));
}

static void each_round(void (*fn)(int round))
{
	rounds_at(EXT4, fn);
	rounds_at(OVERLAY, fn);
	/* Last: it may have no disk, and the test be skipped. */
	rounds_at(F2FS, fn);
}

static void truncated(int round)
{
	struct used_file file;
	size_t keep = round * 31 % PAGES, i;
	int fd;

	learn(&file);
	start(round);
	expect(!truncate(the_file(), keep * page_size()));
	file_expect(the_file(), keep, SEED);
	/* It grows again, and what was cut off is zeroes. */
	expect(!truncate(the_file(), PAGES * page_size()));
	fd = open(the_file(), O_RDONLY | O_CLOEXEC);
	expect(fd >= 0);
	for (i = keep; i < PAGES; i++) {
		char byte = 1;

		expect_eq(pread(fd, &byte, 1, i * page_size() + 17), 1);
		expect_eq(byte, 0);
	}
	close(fd);
	app_end(APP);
	used_close(&file);
}

static void hole_punched(int round)
{
	struct used_file file;
	size_t from = round * 13 % (PAGES / 2), i;
	int fd;

	learn(&file);
	fd = open(the_file(), O_RDWR | O_CLOEXEC);
	expect(fd >= 0);
	start(round);
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
		      from * page_size(), PAGES / 2 * page_size()))
		skip_test("fallocate: %s", strerror(errno));
	for (i = 0; i < PAGES; i++) {
		char *page = malloc(page_size());
		bool hole = i >= from && i < from + PAGES / 2;

		expect(page);
		expect_eq(pread(fd, page, page_size(), i * page_size()), page_size());
		if (hole)
			expect(!page[0] && !memcmp(page, page + 1, page_size() - 1));
		else
			expect_pages(page, 1, SEED + i);
		free(page);
	}
	close(fd);
	app_end(APP);
	used_close(&file);
}

/* Nobody else has it: its space is free when unlink() and close() are through. */
static void unlinked(int round)
{
	struct used_file file;
	long long before;

	sync();
	before = free_blocks();
	learn(&file);
	start(round);
	expect(!unlink(the_file()));
	used_close(&file);
	/* The window is open still. A few blocks go to logs and directories. */
	wait_for(free_blocks() >= before - PAGES / 8);
	expect(app_is_open(APP));
	app_end(APP);
}

static void renamed_over(int round)
{
	struct used_file file;
	char other[80];

	snprintf(other, sizeof(other), "%s.new", the_file());
	learn(&file);
	file_make(other, PAGES, 2 * SEED);
	start(round);
	expect(!rename(other, the_file()));
	file_expect(the_file(), PAGES, 2 * SEED);
	/* Who had the old one has it still. */
	used_touch(&file, 1, SEED);
	app_end(APP);
	used_close(&file);
}

static void overwritten(int round)
{
	struct used_file file;
	char *page = malloc(page_size());
	size_t i;
	int fd;

	expect(page);
	learn(&file);
	fd = open(the_file(), O_RDWR | O_CLOEXEC);
	expect(fd >= 0);
	start(round);
	for (i = 0; i < PAGES; i++) {
		fill_page(page, 3 * SEED + i);
		expect_eq(pwrite(fd, page, page_size(), i * page_size()),
			  page_size());
	}
	close(fd);
	free(page);
	used_touch(&file, 1, 3 * SEED);
	app_end(APP);
	file_expect(the_file(), PAGES, 3 * SEED);
	used_close(&file);
}

static void unmounted(int round)
{
	struct used_file file;

	learn(&file);
	start(round);
	used_close(&file);
	if (place == OVERLAY)
		wait_for(!umount(OVL));
	/* As soon as the readahead in flight has returned, whatever the window does. */
	wait_for(!umount(MNT));
	expect(app_is_open(APP));
	app_end(APP);
	fs_mount(place == F2FS ? "f2fs" : "ext4", MNT);
	if (place == OVERLAY)
		overlay_mount();
	file_expect(the_file(), PAGES, SEED);
}

static void remounted(int round)
{
	struct used_file file;

	learn(&file);
	start(round);
	/* The file is open for reading only: nothing stands against it. */
	expect(!mount(NULL, top, NULL, MS_REMOUNT | MS_RDONLY, NULL));
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect(!mount(NULL, top, NULL, MS_REMOUNT, NULL));
	used_close(&file);
}

/* The lower file is what was learned; it is written to while it is fetched. */
static void copied_up(int round)
{
	struct used_file file;
	char byte = 'x';
	int fd;

	expect(!umount(OVL));
	dir_make(MNT "/upper");
	dir_make(MNT "/work");
	file_make(MNT "/lower/races", PAGES, SEED);
	overlay_mount();
	used_open(&file, the_file(), PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	start(round);
	fd = open(the_file(), O_RDWR | O_CLOEXEC);
	expect(fd >= 0);
	expect_eq(pwrite(fd, &byte, 1, 0), 1);
	close(fd);
	/* The mapping is of the lower file still. */
	used_touch(&file, 1, SEED);
	file_expect(MNT "/lower/races", PAGES, SEED);
	fd = open(the_file(), O_RDONLY | O_CLOEXEC);
	expect(fd >= 0 && pread(fd, &byte, 1, 0) == 1 && byte == 'x');
	close(fd);
	app_end(APP);
	used_close(&file);
}

static void rounds_truncated(void)
{
	each_round(truncated);
}

static void rounds_hole_punched(void)
{
	each_round(hole_punched);
}

static void rounds_unlinked(void)
{
	each_round(unlinked);
}

static void rounds_renamed_over(void)
{
	each_round(renamed_over);
}

static void rounds_overwritten(void)
{
	each_round(overwritten);
}

static void rounds_unmounted(void)
{
	each_round(unmounted);
}

static void rounds_remounted(void)
{
	each_round(remounted);
}

static void rounds_copied_up(void)
{
	rounds_at(OVERLAY, copied_up);
}

static const struct asap_test tests[] = {
	{ "truncate", rounds_truncated },
	{ "hole punch", rounds_hole_punched },
	{ "unlink", rounds_unlinked },
	{ "rename over", rounds_renamed_over },
	{ "overwrite", rounds_overwritten },
	{ "umount", rounds_unmounted },
	{ "remount read-only", rounds_remounted },
	{ "copy-up", rounds_copied_up },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
