// SPDX-License-Identifier: GPL-2.0
/*
 * Large files, many extents, many files: what start costs does not grow with what is
 * known, and what a harvest costs and what is kept grow no faster than it does. All
 * figures are ratios within one boot.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "file_util.h"

#define CANDIDATES	ASAP_APPS "/" APP "/candidates"
#define SIZES		3
#define GROWTH		4	/* from one size to the next */
/* A ratio of times has to be this far off to be one of another order. */
#define SLACK		8
#define ROUNDS		9

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int u64_cmp(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Text of a table. */
struct text {
	char *buf;
	size_t len, size;
	unsigned int files, extents;
};

static uint32_t crc_table[256];

static uint32_t crc32_of(const char *text, size_t len)
{
	uint32_t crc = ~0U, c;
	int i, bit;

	for (i = 0; i < 256; i++) {
		for (c = i, bit = 0; bit < 8; bit++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		crc_table[i] = c;
	}
	while (len--)
		crc = crc >> 8 ^ crc_table[(crc ^ *text++) & 0xff];
	return ~crc;
}

static void __printf(2, 3) add(struct text *text, const char *fmt, ...)
{
	va_list args;

	if (text->size - text->len < 256) {
		text->size = 2 * text->size + 4096;
		text->buf = realloc(text->buf, text->size);
		expect(text->buf);
	}
	va_start(args, fmt);
	text->len += vsnprintf(text->buf + text->len, 256, fmt, args);
	va_end(args);
}

/* A file that the app has not got, and @extents of @pages in it. */
static void add_file(struct text *text, unsigned int nr, size_t extents, size_t pages)
{
	size_t i;

	if (!text->len)
		add(text, "asap-candidates 1\n");
	add(text, "file dev:9:9 %u 1 %zu -\n", nr + 1, extents * (pages + 40));
	text->files++;
	for (i = 0; i < extents; i++)
		add(text, "extent %zu %zu %zu ff\n", i * (pages + 40), pages,
		    i & 0xffff);
	text->extents += extents;
}

static void load(struct text *text)
{
	uint32_t crc = crc32_of(text->buf, text->len);
	int fd = open(CANDIDATES, O_WRONLY | O_CLOEXEC);
	size_t at, n;

	add(text, "end %u %u %08x\n", text->files, text->extents, crc);
	expect(fd >= 0);
	for (at = 0; at < text->len; at += n) {
		n = text->len - at < 4096 ? text->len - at : 4096;
		expect_eq(write(fd, text->buf + at, n), n);
	}
	close(fd);
}

/* Memory that the kernel has for itself, in bytes. */
static long long kernel_memory(void)
{
	return (file_value("/proc/meminfo", "SUnreclaim") +
		file_value("/proc/meminfo", "VmallocUsed")) * 1024;
}

static uint64_t start_time(void)
{
	uint64_t took[ROUNDS];
	size_t i;

	for (i = 0; i < ROUNDS; i++) {
		uint64_t begin = now_ns();

		expect_eq(app_write(APP, "switch", "start"), 0);
		took[i] = now_ns() - begin;
		app_end(APP);
	}
	qsort(took, ROUNDS, sizeof(*took), u64_cmp);
	return took[ROUNDS / 2];
}

static void expect_flat(const char *what, const uint64_t *val)
{
	ksft_print_msg("%s: %llu, %llu, %llu\n", what, (long long)val[0],
		       (long long)val[1], (long long)val[2]);
	expect(val[SIZES - 1] < val[0] * SLACK);
}

static void expect_linear(const char *what, const uint64_t *val)
{
	ksft_print_msg("%s: %llu, %llu, %llu\n", what, (long long)val[0],
		       (long long)val[1], (long long)val[2]);
	/* Quadratic, the last would be GROWTH^4 times the first. */
	expect(val[SIZES - 1] < val[0] * GROWTH * GROWTH * SLACK);
}

/* Tables of 625, 2,500 and 10,000 extents of 25 pages. */
static void many_extents(void)
{
	uint64_t start[SIZES], harvest[SIZES];
	size_t i, nr = 625;

	for (i = 0; i < SIZES; i++, nr *= GROWTH) {
		struct text text = {};

		app_with_me();
		add_file(&text, 0, nr, 25);
		load(&text);
		start[i] = start_time();
		harvest[i] = app_stat(APP, "last_harvest_us");
		expect_eq(app_remove(APP), 0);
		free(text.buf);
	}
	expect_flat("ns of start, 625, 2500, 10000 extents", start);
	expect_linear("us of harvest", harvest);
}

/* Tables of 65,536 pages, and 4 and 16 times as many, in extents of 256. */
static void memory(void)
{
	long long bytes;
	size_t i, nr = 65536;

	for (i = 0; i < SIZES; i++, nr *= GROWTH) {
		struct text text = {};
		long long before;

		app_with_me();
		add_file(&text, 0, nr / 256, 256);
		before = kernel_memory();
		load(&text);
		/* What was needed for loading has gone; the harvest's is another one. */
		bytes = kernel_memory() - before;
		ksft_print_msg("%zu pages: %lld bytes, %lld hundredths a page\n", nr,
			       bytes, bytes * 100 / (long long)nr);
		/* Extents, files, and what others allocate meanwhile. */
		expect(bytes <= (long long)(16 * nr + (256 << 10)));
		expect_eq(app_remove(APP), 0);
		free(text.buf);
	}
}

#define BIG_PAGES	262144UL	/* 1 GiB */

/* A sparse file of 1 GiB, of which a page in a thousand is read. */
static void sparse(void)
{
	struct used_file file;
	size_t page, used = 0;
	char byte;
	int i, fd;

	fs_mount("ext4", MNT);
	fd = open(at_mnt("sparse"), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(fd >= 0 && !ftruncate(fd, BIG_PAGES * page_size()));
	close(fd);
	app_with_me();
	used_open(&file, at_mnt("sparse"), BIG_PAGES, true);
	for (i = 0; i < 4; i++) {
		used_drop(&file);
		expect_eq(app_write(APP, "switch", "start"), 0);
		if (i == 3)
			wait_for(file_cached(file.path, BIG_PAGES) == used);
		for (page = 0, used = 0; page < BIG_PAGES; page += 1000, used++)
			expect_eq(pread(file.fd, &byte, 1, page * page_size()), 1);
		app_end(APP);
	}
	expect_eq(app_stat(APP, "file_targets"), used);
	expect_eq(app_stat(APP, "last_file_used"), used);
	expect_eq(app_stat(APP, "last_file_faulted"), 0);
}

/* 250, 1,000 and 4,000 files, open all at once. */
static void many_files(void)
{
	struct rlimit limit = { 8192, 8192 };
	uint64_t start[SIZES], harvest[SIZES];
	size_t i, f, have = 0, nr = 250;
	char path[64], byte;
	int *fd = calloc(4000, sizeof(*fd));

	expect(fd && !setrlimit(RLIMIT_NOFILE, &limit));
	fs_mount("ext4", MNT);
	dir_make(MNT "/many");
	for (i = 0; i < SIZES; i++, nr *= GROWTH) {
		for (; have < nr; have++) {
			snprintf(path, sizeof(path), MNT "/many/%zu", have);
			fd[have] = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
					0600);
			expect(fd[have] >= 0);
			expect_eq(write(fd[have], "x", 1), 1);
		}
		app_with_me();
		expect_eq(app_write(APP, "switch", "start"), 0);
		for (f = 0; f < nr; f++)
			expect_eq(pread(fd[f], &byte, 1, 0), 1);
		app_end(APP);
		expect_eq(app_stat(APP, "file_candidates") +
			  app_stat(APP, "file_targets"), nr);
		start[i] = start_time();
		harvest[i] = app_stat(APP, "last_harvest_us");
		expect_eq(app_remove(APP), 0);
	}
	expect_flat("ns of start, 250, 1000, 4000 files", start);
	expect_linear("us of harvest", harvest);
}

static const struct asap_test tests[] = {
	{ "many extents", many_extents },
	{ "memory of a table", memory },
	{ "a sparse file of 1 GiB", sparse },
	{ "many files", many_files },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
