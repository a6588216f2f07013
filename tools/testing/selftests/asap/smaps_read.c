// SPDX-License-Identifier: GPL-2.0
/*
 * However smaps_rollup is read, each pass over the file gives one complete sum
 * that was made for it: nothing of an earlier pass is left in it.
 */
#define _GNU_SOURCE
#include "smaps_util.h"
#include <pthread.h>

#define PAGES 300

static size_t page;
static pid_t target;

static char *reference(void)
{
	int fd = smaps_open(target, "smaps_rollup");
	char *text = smaps_slurp(fd, 1 << 15);

	close(fd);
	return text;
}

static bool equals(char *text, const char *want)
{
	bool ok = !strcmp(text, want);

	if (!ok)
		ksft_print_msg("read:\n%s\nwant:\n%s\n", text, want);
	free(text);
	return ok;
}

static bool again(const char *want)
{
	int fd = smaps_open(target, "smaps_rollup");
	bool ok = equals(smaps_slurp(fd, 4096), want);

	for (int i = 0; i < 5; i++) {
		lseek(fd, 0, SEEK_SET);
		ok &= equals(smaps_slurp(fd, 4096), want);
	}
	close(fd);
	return ok;
}

static bool pieces(const char *want)
{
	static const size_t sizes[] = { 1, 2, 7, 63, 64, 500, 4095, 4097, 60000 };
	bool ok = true;

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		int fd = smaps_open(target, "smaps_rollup");

		ok &= equals(smaps_slurp(fd, sizes[i]), want);
		close(fd);
	}
	return ok;
}

/* A pread() elsewhere than where the last one ended makes the text anew. */
static bool at_offsets(const char *want)
{
	int fd = smaps_open(target, "smaps_rollup");
	size_t len = strlen(want);
	bool ok = true;
	char buf[100];

	for (size_t i = 0; i < 200; i++) {
		size_t at = i * 7919 % (len + 50);
		size_t left = at < len ? len - at : 0;
		ssize_t n = pread(fd, buf, sizeof(buf), at);

		if (left > sizeof(buf))
			left = sizeof(buf);
		if (n != (ssize_t)left || memcmp(buf, want + at, n)) {
			ksft_print_msg("pread at %zu gave %zd of %zu bytes\n",
				       at, n, left);
			ok = false;
		}
	}
	close(fd);
	return ok;
}

static bool half_then_seek(const char *want)
{
	int fd = smaps_open(target, "smaps_rollup");
	size_t len = strlen(want);
	bool ok = true;
	char buf[64];

	for (int i = 0; i < 20; i++) {
		if (read(fd, buf, sizeof(buf)) != sizeof(buf) ||
		    memcmp(buf, want, sizeof(buf)) ||
		    lseek(fd, len - sizeof(buf), SEEK_SET) < 0 ||
		    read(fd, buf, sizeof(buf)) != sizeof(buf) ||
		    memcmp(buf, want + len - sizeof(buf), sizeof(buf)))
			ok = false;
		lseek(fd, 0, SEEK_SET);
	}
	ok &= equals(smaps_slurp(fd, 4096), want);
	close(fd);
	return ok;
}

/* Two threads on one descriptor, which share nothing but it. */
struct reader {
	int fd;
	const char *want;
	bool ok;
};

static void *read_shared(void *arg)
{
	struct reader *r = arg;
	size_t len = strlen(r->want);
	char *buf = malloc(len + 1);

	r->ok = buf;
	for (int i = 0; r->ok && i < 500; i++) {
		ssize_t n = pread(r->fd, buf, len + 1, 0);

		if (n != (ssize_t)len || memcmp(buf, r->want, len))
			r->ok = false;
	}
	free(buf);
	return NULL;
}

static bool two_readers(const char *want)
{
	int fd = smaps_open(target, "smaps_rollup");
	struct reader r[2] = { { fd, want, false }, { fd, want, false } };
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, read_shared, &r[i]))
			ksft_exit_fail_msg("no thread\n");
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	close(fd);
	return r[0].ok && r[1].ok;
}

/* Each of two processes that inherit a descriptor moves the other's position. */
static bool two_processes(const char *want)
{
	int fd = smaps_open(target, "smaps_rollup");
	struct reader r = { fd, want, false };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		read_shared(&r);
		_exit(!r.ok);
	}
	read_shared(&r);
	close(fd);
	return waitpid(pid, &status, 0) == pid && !status && r.ok;
}

/* The sum is of now, not of when the file was opened. */
static bool fresh(const char *want)
{
	int fd = smaps_open(getpid(), "smaps_rollup");
	struct smaps before, after;
	char *text, *p;

	(void)want;
	text = smaps_slurp(fd, 4096);
	smaps_parse(text, &before);
	free(text);
	p = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (p == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	lseek(fd, 0, SEEK_SET);
	text = smaps_slurp(fd, 4096);
	smaps_parse(text, &after);
	free(text);
	close(fd);
	munmap(p, PAGES * page);
	if (after.kb[F_ANONYMOUS] >= before.kb[F_ANONYMOUS] + PAGES * page / 1024 &&
	    after.kb[F_ANONYMOUS] < before.kb[F_ANONYMOUS] + 2 * PAGES * page / 1024)
		return true;
	ksft_print_msg("Anonymous went from %lu to %lu kB\n",
		       before.kb[F_ANONYMOUS], after.kb[F_ANONYMOUS]);
	return false;
}

/* Names, order and width, as every kernel since 6.7 prints them */
static bool form(const char *want)
{
	const char *line = want;
	bool ok = true;

	line = strchr(line, '\n');
	for (size_t i = 0; i < NR_SMAPS_FIELDS; i++) {
		char expect[64];
		size_t n = strlen(smaps_fields[i]) + 1;
		unsigned long kb;

		if (!line || sscanf(line + 1 + n, "%lu", &kb) != 1)
			return false;
		snprintf(expect, sizeof(expect), "\n%s:%*s%8lu kB\n",
			 smaps_fields[i], (int)(16 - n), "", kb);
		if (i == F_PRIVATE_HUGETLB)
			snprintf(expect, sizeof(expect), "\n%s: %7lu kB\n",
				 smaps_fields[i], kb);
		if (strncmp(line, expect, strlen(expect))) {
			ksft_print_msg("want '%s' at '%.40s'\n", expect, line);
			ok = false;
		}
		line = strchr(line + 1, '\n');
	}
	return ok && line && !line[1] &&
	       strstr(want, " ---p 00000000 00:00 0 ") &&
	       !strncmp(strchr(want, '\n') - 8, "[rollup]", 8);
}

static const struct {
	const char *name;
	bool (*run)(const char *want);
} tests[] = {
	{ "lseek to the start", again },
	{ "reads of all sizes", pieces },
	{ "pread at offsets", at_offsets },
	{ "seeks in the middle", half_then_seek },
	{ "two threads on one descriptor", two_readers },
	{ "two processes on one descriptor", two_processes },
	{ "a sum of now", fresh },
	{ "form of the text", form },
};

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	if (argc == 3 && !strcmp(argv[0], SMAPS_CHILD))
		smaps_child_ready(atoi(argv[1]), 1);
	ksft_print_header();
	target = smaps_own_child("");
	if (!target)
		ksft_exit_fail_msg("no process to read\n");
	ksft_set_plan(ARRAY_SIZE(tests));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		char *before = reference(), *after;
		bool ok = tests[i].run(before);

		after = reference();
		if (!ok && strcmp(before, after)) {
			ksft_print_msg("the process did not stay as it was, again\n");
			ok = tests[i].run(after);
		}
		ksft_test_result(ok, "%s\n", tests[i].name);
		free(before);
		free(after);
	}
	smaps_reap(target);
	ksft_finished();
}
