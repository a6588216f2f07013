// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/wait.h>

#include "asap_util.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif

#define ZRAM_SYSFS	"/sys/block/zram0"
#define ZRAM_DEV	"/dev/zram0"

/* Files. */

int file_write(const char *path, const char *text)
{
	size_t len = strlen(text);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t done;
	int err = 0;

	if (fd < 0)
		return -errno;
	done = write(fd, text, len);
	if (done < 0)
		err = -errno;
	else if ((size_t)done != len)
		err = -EIO;
	close(fd);
	return err;
}

int file_read(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t done;

	if (fd < 0)
		return -errno;
	do {
		done = read(fd, buf + len, size - 1 - len);
		if (done < 0) {
			int err = -errno;

			close(fd);
			return err;
		}
		len += done;
	} while (done && len < size - 1);
	close(fd);
	buf[len] = '\0';
	return len;
}

long long file_number(const char *path)
{
	char buf[64];

	if (file_read(path, buf, sizeof(buf)) <= 0)
		expect_failed(__FILE__, __LINE__, path);
	return strtoll(buf, NULL, 10);
}

long long file_value(const char *path, const char *word)
{
	static char buf[65536];
	size_t len = strlen(word);
	char *line = buf;

	if (file_read(path, buf, sizeof(buf)) < 0)
		expect_failed(__FILE__, __LINE__, path);
	for (;;) {
		if (!strncmp(line, word, len) &&
		    (line[len] == ' ' || line[len] == ':'))
			return strtoll(line + len + 1, NULL, 10);
		line = strchr(line, '\n');
		if (!line)
			expect_failed(__FILE__, __LINE__, word);
		line++;
	}
}

long long vmstat_value(const char *word)
{
	return file_value("/proc/vmstat", word);
}

void beside_me(char *path, size_t size, const char *name)
{
	ssize_t len = readlink("/proc/self/exe", path, size - 1);
	char *slash;

	expect(len > 0);
	path[len] = '\0';
	slash = strrchr(path, '/') + 1;
	expect(strlen(name) < size - (slash - path));
	memcpy(slash, name, strlen(name) + 1);
}

int file_copy(const char *from, const char *to, mode_t mode)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out, err = 0;
	char buf[65536];
	ssize_t len;

	if (in < 0)
		return -errno;
	out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (out < 0) {
		err = -errno;
		close(in);
		return err;
	}
	while (!err && (len = read(in, buf, sizeof(buf))) > 0)
		if (write(out, buf, len) != len)
			err = -EIO;
	if (!err && fchmod(out, mode))
		err = -errno;
	close(in);
	close(out);
	return err;
}

int log_open(int whence)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		skip_test("/dev/kmsg: %s", strerror(errno));
	expect(lseek(fd, 0, whence) == 0);
	return fd;
}

bool log_says(int fd, const char *text)
{
	char line[8192];
	ssize_t len;

	for (;;) {
		len = read(fd, line, sizeof(line) - 1);
		/* What was not read yet may have been overwritten. */
		if (len < 0 && errno == EPIPE)
			continue;
		if (len <= 0)
			return false;
		line[len] = '\0';
		if (strstr(line, text))
			return true;
	}
}

/* Tests. */

static const char *const knob_names[] = {
	"policy", "learn", "prefetch", "anon_enabled", "anon_ttl_switches",
	"file_enabled", "merge_gap_pages", "extent_max_pages",
	"profile_switches", "profile_min_hits", "window_timeout_ms",
	"max_pages_per_switch", "trigger", "background_adj", "foreground_adj",
	"quiet_ms", "auto_apps_max", "enabled",
};

static char knob_values[ARRAY_SIZE(knob_names)][32];

/* Why the test was skipped, for the process that prints results. */
static char *skip_reason;
#define REASON_SIZE	256

void expect_failed(const char *file, int line, const char *what)
{
	ksft_print_msg("%s:%d: pid %d: failed: %s (errno %d)\n", file, line,
		       getpid(), what, errno);
	_exit(KSFT_FAIL);
}

void expect_eq_failed(const char *file, int line, const char *got_text,
		      const char *want_text, long long got, long long want)
{
	ksft_print_msg("%s:%d: pid %d: %s is %lld, wanted %lld (%s)\n", file,
		       line, getpid(), got_text, got, want, want_text);
	_exit(KSFT_FAIL);
}

void skip_test(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(skip_reason, REASON_SIZE, fmt, args);
	va_end(args);
	_exit(KSFT_SKIP);
}

int child_status(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			expect_failed(__FILE__, __LINE__, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) :
				   128 + WTERMSIG(status);
}

pid_t fork_idle(void)
{
	pid_t pid = fork();

	expect(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

void kill_child(pid_t pid)
{
	kill(pid, SIGKILL);
	child_status(pid);
}

static void remove_apps(void)
{
	DIR *dir = opendir(ASAP_APPS);
	struct dirent *ent;

	if (!dir)
		return;
	while ((ent = readdir(dir)))
		if (ent->d_type == DT_DIR && ent->d_name[0] != '.')
			app_remove(ent->d_name);
	closedir(dir);
}

static void knob_path(char *path, size_t size, const char *knob)
{
	snprintf(path, size, ASAP_SYSFS "/%s", knob);
}

static void knobs_save(void)
{
	char path[128];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knob_names); i++) {
		knob_path(path, sizeof(path), knob_names[i]);
		if (file_read(path, knob_values[i], sizeof(knob_values[i])) < 0)
			ksft_exit_fail_msg("cannot read %s\n", path);
	}
}

/* A knob that is written no longer follows the policy: leave the others alone. */
static void knobs_restore(void)
{
	char path[128], now[sizeof(knob_values[0])];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(knob_names); i++) {
		knob_path(path, sizeof(path), knob_names[i]);
		if (file_read(path, now, sizeof(now)) > 0 &&
		    !strcmp(now, knob_values[i]))
			continue;
		if (knob_write(knob_names[i], knob_values[i]))
			ksft_print_msg("cannot restore %s\n", knob_names[i]);
	}
}

/* Whatever a test has started, and what that has started, is our child then. */
static void reap_all(pid_t group)
{
	kill(-group, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

static void run_test(const struct asap_test *test)
{
	pid_t pid;
	int status;

	knob_write("enabled", "1");
	/* A window that is slow under emulation shall not time out. */
	knob_write("window_timeout_ms", "600000");
	skip_reason[0] = '\0';
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		ksft_exit_fail_msg("fork: %s\n", strerror(errno));
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		test->fn();
		fflush(stdout);
		_exit(KSFT_PASS);
	}
	status = child_status(pid);
	reap_all(pid);
	remove_apps();
	knobs_restore();
	rmdir(ASAP_CGROUP "/below");
	rmdir(ASAP_CGROUP);

	if (status == KSFT_SKIP)
		ksft_test_result_skip("%s: %s\n", test->name, skip_reason);
	else if (status > 128)
		ksft_test_result_fail("%s (killed by signal %d)\n", test->name,
				      status - 128);
	else
		ksft_test_result(!status, "%s\n", test->name);
}

int asap_run_tests(const struct asap_test *tests, unsigned int nr,
		   enum asap_needs needs)
{
	char cluster[16];
	unsigned int i;
	int err;

	ksft_print_header();
	if (access(ASAP_SYSFS, F_OK))
		ksft_exit_skip("the kernel has no " ASAP_SYSFS "\n");
	if (geteuid())
		ksft_exit_skip("must be run as root\n");
	skip_reason = mmap(NULL, REASON_SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (skip_reason == MAP_FAILED)
		ksft_exit_fail_msg("mmap: %s\n", strerror(errno));
	if (file_value(ASAP_SYSFS "/stat", "apps"))
		ksft_exit_skip("there are apps already\n");
	if (needs == ASAP_NEEDS_SWAP) {
		err = swap_on();
		if (err)
			ksft_exit_skip("no swap on " ZRAM_DEV ": %s\n",
				       strerror(-err));
		/* A fault brings in its own page and no other. */
		if (file_read("/proc/sys/vm/page-cluster", cluster,
			      sizeof(cluster)) < 0 ||
		    file_write("/proc/sys/vm/page-cluster", "0"))
			ksft_exit_fail_msg("vm.page-cluster cannot be set\n");
	}
	knobs_save();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	ksft_set_plan(nr);
	for (i = 0; i < nr; i++)
		run_test(&tests[i]);
	if (needs == ASAP_NEEDS_SWAP) {
		file_write("/proc/sys/vm/page-cluster", cluster);
		err = swap_off();
		if (err)
			ksft_print_msg("swap stays on: %s\n", strerror(-err));
	}
	ksft_finished();
}

/* Knobs and apps. */

int knob_write(const char *knob, const char *text)
{
	char path[128];

	knob_path(path, sizeof(path), knob);
	return file_write(path, text);
}

int app_create(const char *name)
{
	return file_write(ASAP_APPS "/create", name);
}

int app_remove(const char *name)
{
	return file_write(ASAP_APPS "/remove", name);
}

static void app_path(char *path, size_t size, const char *app, const char *file)
{
	snprintf(path, size, ASAP_APPS "/%s/%s", app, file);
}

int app_write(const char *app, const char *file, const char *text)
{
	char path[256];

	app_path(path, sizeof(path), app, file);
	return file_write(path, text);
}

int app_join(const char *app, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return app_write(app, "procs", text);
}

long long app_stat(const char *app, const char *word)
{
	char path[256];

	app_path(path, sizeof(path), app, "stat");
	return file_value(path, word);
}

bool app_is_open(const char *app)
{
	char path[256], buf[16];

	app_path(path, sizeof(path), app, "switch");
	expect(file_read(path, buf, sizeof(buf)) > 0);
	return !strcmp(buf, "open\n");
}

bool app_has_pid(const char *app, pid_t pid)
{
	static char buf[65536];
	char path[256], *line = buf;

	app_path(path, sizeof(path), app, "procs");
	expect(file_read(path, buf, sizeof(buf)) >= 0);
	while (*line) {
		if (strtol(line, &line, 10) == pid)
			return true;
		line += *line == '\n';
	}
	return false;
}

void app_wait_switches(const char *app, long long nr)
{
	wait_for(app_stat(app, "switches") >= nr);
	expect_eq(app_stat(app, "switches"), nr);
}

void app_end(const char *app)
{
	long long before = app_stat(app, "switches");

	expect_eq(app_write(app, "switch", "end"), 0);
	app_wait_switches(app, before + 1);
}

/* Pages. */

size_t page_size(void)
{
	static size_t size;

	if (!size)
		size = sysconf(_SC_PAGESIZE);
	return size;
}

char *map_pages(size_t nr)
{
	char *area = mmap(NULL, nr * page_size(), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	expect(area != MAP_FAILED);
	/* Small pages, unless the test wants others. */
	madvise(area, nr * page_size(), MADV_NOHUGEPAGE);
	return area;
}

static uint64_t next_word(uint64_t x)
{
	x ^= x << 13;
	x ^= x >> 7;
	return x ^ x << 17;
}

/* A third of a page is noise, so that it shrinks to about a third. */
#define NOISE_WORDS	170

void fill_page(char *page, uint64_t seed)
{
	uint64_t *word = (uint64_t *)page;
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; i < page_size() / sizeof(*word); i++) {
		x = i < NOISE_WORDS ? next_word(x) : seed + 1;
		word[i] = x;
	}
}

bool page_is(const char *page, uint64_t seed)
{
	const uint64_t *word = (const uint64_t *)page;
	uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	size_t i;

	for (i = 0; i < page_size() / sizeof(*word); i++) {
		x = i < NOISE_WORDS ? next_word(x) : seed + 1;
		if (word[i] != x)
			return false;
	}
	return true;
}

void fill_pages(char *area, size_t nr, uint64_t seed)
{
	size_t i;

	for (i = 0; i < nr; i++)
		fill_page(area + i * page_size(), seed + i);
}

void expect_pages(const char *area, size_t nr, uint64_t seed)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (page_is(area + i * page_size(), seed + i))
			continue;
		ksft_print_msg("page %zu of %zu at %p has changed\n", i, nr,
			       area + i * page_size());
		expect_failed(__FILE__, __LINE__, "contents");
	}
}

static int pagemap_open(pid_t pid)
{
	char path[64] = "/proc/self/pagemap";
	int fd;

	if (pid)
		snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	expect(fd >= 0);
	return fd;
}

uint64_t pagemap_of(pid_t pid, const char *page)
{
	int fd = pagemap_open(pid);
	uint64_t val;

	expect(pread(fd, &val, sizeof(val), (uintptr_t)page / page_size() *
		     sizeof(val)) == sizeof(val));
	close(fd);
	return val;
}

size_t count_pagemap(pid_t pid, const char *area, size_t nr, uint64_t bit)
{
	uint64_t val[256];
	size_t i, n, done, count = 0;
	int fd = pagemap_open(pid);

	for (done = 0; done < nr; done += n) {
		ssize_t len;

		n = nr - done < ARRAY_SIZE(val) ? nr - done : ARRAY_SIZE(val);
		len = pread(fd, val, n * sizeof(*val),
			    ((uintptr_t)area / page_size() + done) *
			    sizeof(*val));
		/* The process may be about to exit. */
		if (pid && len <= 0)
			break;
		expect_eq(len, n * sizeof(*val));
		for (i = 0; i < n; i++)
			count += !!(val[i] & bit);
	}
	close(fd);
	return count;
}

static bool pushed_out(char *area, size_t nr)
{
	madvise(area, nr * page_size(), MADV_PAGEOUT);
	return !count_pagemap(0, area, nr, PM_PRESENT);
}

void page_out(char *area, size_t nr)
{
	/* A page that another CPU has in hand stays: try again. */
	wait_for(pushed_out(area, nr));
}

char touch_read(const char *page)
{
	return __atomic_load_n(page, __ATOMIC_RELAXED);
}

void touch_write(char *page)
{
	__atomic_store_n(page, touch_read(page), __ATOMIC_RELAXED);
}

static void switch_once(const char *app, char *area, size_t nr)
{
	size_t i;

	page_out(area, nr);
	expect_eq(app_write(app, "switch", "start"), 0);
	for (i = 0; i < nr; i++)
		touch_read(area + i * page_size());
	app_end(app);
}

/* By either policy two windows are enough, as long as nothing else is known. */
#define LEARN_WINDOWS	3

void learn_area(const char *app, char *area, size_t nr)
{
	int i;

	for (i = 0; i < LEARN_WINDOWS; i++)
		switch_once(app, area, nr);
	expect_eq(app_stat(app, "anon_targets"), nr);
}

void prefetch_area(const char *app, char *area, size_t nr)
{
	page_out(area, nr);
	expect_eq(app_write(app, "switch", "start"), 0);
	wait_for(count_pagemap(0, area, nr, PM_PRESENT) == nr);
}

/* Swap. */

static int zram_write(const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), ZRAM_SYSFS "/%s", file);
	return file_write(path, text);
}

/* What mkswap(8) writes: version 1, no bad pages. */
static int make_swap(void)
{
	struct {
		char boot[1024];
		uint32_t version;
		uint32_t last_page;
		uint32_t nr_badpages;
	} *header;
	char *page = calloc(1, page_size());
	int err = 0, fd;

	if (!page)
		return -ENOMEM;
	header = (void *)page;
	header->version = 1;
	header->last_page = ((uint64_t)ZRAM_MB << 20) / page_size() - 1;
	memcpy(page + page_size() - 10, "SWAPSPACE2", 10);
	fd = open(ZRAM_DEV, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err = -errno;
	else if (pwrite(fd, page, page_size(), 0) != (ssize_t)page_size() ||
		 fsync(fd))
		err = -EIO;
	if (fd >= 0)
		close(fd);
	free(page);
	return err;
}

int swap_attach(void)
{
	/* Before every other area. */
	if (swapon(ZRAM_DEV, SWAP_FLAG_PREFER | 32767))
		return -errno;
	return 0;
}

int swap_detach(void)
{
	return swapoff(ZRAM_DEV) ? -errno : 0;
}

int swap_on(void)
{
	char size[32];
	int err;

	if (access(ZRAM_SYSFS, F_OK))
		return -ENODEV;
	if (file_number(ZRAM_SYSFS "/disksize"))
		return -EBUSY;
	snprintf(size, sizeof(size), "%dM", ZRAM_MB);
	err = zram_write("comp_algorithm", "lz4");
	if (!err)
		err = zram_write("disksize", size);
	if (!err)
		err = make_swap();
	if (!err)
		err = swap_attach();
	return err;
}

int swap_off(void)
{
	int err = swap_detach();

	return err ? err : zram_write("reset", "1");
}

long long zram_writes(void)
{
	char buf[256], *at = buf;
	long long val = 0;
	int i;

	/* The fifth number counts completed writes. */
	expect(file_read(ZRAM_SYSFS "/stat", buf, sizeof(buf)) > 0);
	for (i = 0; i < 5; i++)
		val = strtoll(at, &at, 10);
	return val;
}

/* A memory cgroup. */

void cgroup_make(void)
{
	file_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	if (mkdir(ASAP_CGROUP, 0755) && errno != EEXIST)
		skip_test("no cgroup v2 at /sys/fs/cgroup");
	if (access(ASAP_CGROUP "/memory.reclaim", F_OK))
		skip_test("no memory controller in " ASAP_CGROUP);
}

int cgroup_join(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return file_write(ASAP_CGROUP "/cgroup.procs", text);
}
