// SPDX-License-Identifier: GPL-2.0
/*
 * What /sys/kernel/mm/asap/ takes and refuses, with which error, and that a
 * refused write changes nothing.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "asap_util.h"

#define APP	"interface"
#define OTHER	"interface_other"

static void name_of(char *name, size_t len)
{
	memset(name, 'n', len);
	name[len] = '\0';
}

static long long nr_apps(void)
{
	return file_value(ASAP_SYSFS "/stat", "apps");
}

/* One line that names the input. First of the tests: the log is rate-limited. */
static void refusals_logged(void)
{
	int log = log_open(SEEK_END);

	expect_eq(app_create("bad/name"), -EINVAL);
	expect(log_says(log, "create: \"bad/name\" refused: -"));
	expect_eq(app_create("\x1b[31mred"), -EINVAL);
	expect(log_says(log, "create: \"\\x5ce[31mred\" refused: -"));
	expect_eq(knob_write("anon_ttl_switches", "256\n"), -ERANGE);
	expect(log_says(log, "anon_ttl_switches: \"256\" refused: -"));
	expect_eq(app_create(APP), 0);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
	expect(log_says(log, "switch: \"end\" refused: -"));
	expect_eq(app_write(APP, "procs", "2147483647"), -ESRCH);
	expect(log_says(log, "procs: \"2147483647\" refused: -"));
	close(log);
}

static void names_taken(void)
{
	char name[65], path[128];
	struct stat st;

	name_of(name, 63);
	expect_eq(app_create(name), 0);
	snprintf(path, sizeof(path), ASAP_APPS "/%s", name);
	expect(!stat(path, &st) && S_ISDIR(st.st_mode));
	expect_eq(nr_apps(), 1);
	expect_eq(app_remove(name), 0);
	expect(stat(path, &st) && errno == ENOENT);

	/* With or without the newline of echo(1). */
	expect_eq(app_create("com.example:app-1%s\n"), 0);
	expect(!stat(ASAP_APPS "/com.example:app-1%s", &st));
	expect_eq(app_remove("com.example:app-1%s"), 0);
	expect_eq(nr_apps(), 0);
}

static void names_too_long(void)
{
	char name[4000];

	name_of(name, 64);
	expect_eq(app_create(name), -ENAMETOOLONG);
	name_of(name, sizeof(name) - 1);
	expect_eq(app_create(name), -ENAMETOOLONG);
	expect_eq(nr_apps(), 0);
}

static void names_existing(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_create(APP), -EEXIST);
	expect_eq(app_create(APP "\n"), -EEXIST);
	expect_eq(app_create("create"), -EEXIST);
	expect_eq(app_create("remove"), -EEXIST);
	expect_eq(nr_apps(), 1);
	expect_eq(app_stat(APP, "switches"), 0);
}

static int write_bytes(const char *path, const char *buf, size_t len)
{
	int fd = open(path, O_WRONLY);
	int err;

	expect(fd >= 0);
	err = write(fd, buf, len) < 0 ? -errno : 0;
	close(fd);
	return err;
}

static void names_invalid(void)
{
	static const char *const names[] = {
		"\n", "\n\n", ".", "..", "/", "a/b", "../a", "a b", " a", "a ",
		"a\tb", "a\nb", "a\n\n", "\x01", "a\x7f", "a\x80", "\xc3\xa4",
		"\x1b[31m",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		int err = app_create(names[i]);

		if (err != -EINVAL) {
			ksft_print_msg("name %zu: %d\n", i, err);
			expect(err == -EINVAL);
		}
	}
	expect_eq(write_bytes(ASAP_APPS "/create", "a\0b", 3), -EINVAL);
	expect_eq(write_bytes(ASAP_APPS "/create", "\0", 1), -EINVAL);
	expect_eq(nr_apps(), 0);
}

static void remove_unknown(void)
{
	char name[65];

	expect_eq(app_remove(APP), -ENOENT);
	expect_eq(app_remove("create"), -ENOENT);
	expect_eq(app_remove("\n"), -ENOENT);
	expect_eq(app_remove(".."), -ENOENT);
	name_of(name, 64);
	expect_eq(app_remove(name), -ENAMETOOLONG);
	expect_eq(app_create(APP), 0);
	expect_eq(app_remove(OTHER), -ENOENT);
	expect_eq(app_remove("interfac"), -ENOENT);
	expect_eq(nr_apps(), 1);
	expect_eq(app_remove(APP), 0);
	expect_eq(app_remove(APP), -ENOENT);
}

static void procs_no_process(void)
{
	pid_t gone = fork();

	expect(gone >= 0);
	if (!gone)
		_exit(0);
	expect_child(gone);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, gone), -ESRCH);
	expect_eq(app_write(APP, "procs", "2147483647"), -ESRCH);
	expect_eq(app_stat(APP, "processes"), 0);
}

/* A zombie has a PID and no memory. */
static void procs_zombie(void)
{
	siginfo_t info;
	pid_t pid = fork();

	expect(pid >= 0);
	if (!pid)
		_exit(0);
	expect(!waitid(P_PID, pid, &info, WEXITED | WNOWAIT));
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, pid), -ESRCH);
	expect_eq(app_stat(APP, "processes"), 0);
	expect_child(pid);
}

static void procs_kernel_thread(void)
{
	char comm[32];

	expect(file_read("/proc/2/comm", comm, sizeof(comm)) > 0);
	if (strcmp(comm, "kthreadd\n"))
		skip_test("PID 2 is no kernel thread");
	expect_eq(app_create(APP), 0);
	expect_eq(app_write(APP, "procs", "2"), -EINVAL);
	expect_eq(app_stat(APP, "processes"), 0);
}

static void procs_not_a_pid(void)
{
	static const char *const texts[] = {
		"x", "1x", "x1", "\n", "0", "-1", "1.5", "0x1", "1 2", " 1",
		"--", "99999999999999999999",
	};
	size_t i;

	expect_eq(app_create(APP), 0);
	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		int err = app_write(APP, "procs", texts[i]);

		/* A number that fits no int is out of range. */
		if (err != (i == ARRAY_SIZE(texts) - 1 ? -ERANGE : -EINVAL)) {
			ksft_print_msg("\"%s\": %d\n", texts[i], err);
			expect(err == -EINVAL);
		}
	}
	expect_eq(app_stat(APP, "processes"), 0);
}

static void procs_of_other_app(void)
{
	pid_t pid = fork_idle();

	expect_eq(app_create(APP), 0);
	expect_eq(app_create(OTHER), 0);
	expect_eq(app_join(APP, pid), 0);
	expect_eq(app_join(OTHER, pid), -EBUSY);
	expect_eq(app_stat(APP, "processes"), 1);
	expect_eq(app_stat(OTHER, "processes"), 0);
	expect(app_has_pid(APP, pid));

	/* Its own once more is no error, and changes nothing. */
	expect_eq(app_join(APP, pid), 0);
	expect_eq(app_stat(APP, "processes"), 1);

	/* With the app gone the process is free again. */
	expect_eq(app_remove(APP), 0);
	expect_eq(app_join(OTHER, pid), 0);
	kill_child(pid);
}

static void switch_words(void)
{
	static const char *const words[] = {
		"", "\n", "star", "started", "START", "1", "start end",
		"start\n\n", " start", "idle", "open",
	};
	size_t i;

	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	/* Writing nothing does nothing. */
	expect_eq(app_write(APP, "switch", words[0]), 0);
	for (i = 1; i < ARRAY_SIZE(words); i++) {
		int err = app_write(APP, "switch", words[i]);

		if (err != -EINVAL) {
			ksft_print_msg("\"%s\": %d\n", words[i], err);
			expect(err == -EINVAL);
		}
	}
	expect(!app_is_open(APP));
	expect_eq(app_stat(APP, "switches"), 0);
}

static void switch_end_without_start(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
	expect_eq(app_write(APP, "switch", "start\n"), 0);
	expect(app_is_open(APP));
	app_end(APP);
	expect(!app_is_open(APP));
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
	expect_eq(app_stat(APP, "switches"), 1);
}

static void switch_start_twice(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_eq(app_write(APP, "switch", "start"), -EBUSY);
	expect(app_is_open(APP));
	app_end(APP);
	expect_eq(app_stat(APP, "switches"), 1);
}

static void switch_start_without_process(void)
{
	pid_t pid = fork_idle();

	expect_eq(app_create(APP), 0);
	expect_eq(app_write(APP, "switch", "start"), -ESRCH);
	expect_eq(app_join(APP, pid), 0);
	kill_child(pid);
	wait_for(!app_stat(APP, "processes"));
	expect_eq(app_write(APP, "switch", "start"), -ESRCH);
	expect(!app_is_open(APP));
	expect_eq(app_stat(APP, "switches"), 0);
}

static void reset_while_open(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_eq(app_write(APP, "reset", "1"), -EBUSY);
	app_end(APP);
	expect_eq(app_write(APP, "reset", "0"), -EINVAL);
	expect_eq(app_write(APP, "reset", "2"), -EINVAL);
	expect_eq(app_write(APP, "reset", "yes"), -EINVAL);
	expect_eq(app_stat(APP, "switches"), 1);
	expect_eq(app_write(APP, "reset", "1\n"), 0);
	expect_eq(app_stat(APP, "switches"), 0);
}

struct knob {
	const char *name;
	const char *text;	/* what to write */
	int err;		/* what comes of it */
	const char *reads;	/* and what is read then, or NULL for no change */
};

static const struct knob knobs[] = {
	{ "enabled", "2", -ERANGE, NULL },
	{ "enabled", "-1", -ERANGE, NULL },
	{ "enabled", "on", -EINVAL, NULL },
	{ "enabled", "\n", -EINVAL, NULL },
	{ "enabled", "0\n", 0, "0\n" },
	{ "enabled", "1", 0, "1\n" },
	{ "policy", "paper", 0, "paper\n" },
	{ "policy", "adaptive\n", 0, "adaptive\n" },
	{ "policy", "Paper", -EINVAL, NULL },
	{ "policy", "pape", -EINVAL, NULL },
	{ "policy", "papers", -EINVAL, NULL },
	{ "policy", "0", -EINVAL, NULL },
	{ "policy", "\n", -EINVAL, NULL },
	{ "learn", "0", 0, "0\n" },
	{ "learn", "2", -ERANGE, NULL },
	{ "learn", "yes", -EINVAL, NULL },
	{ "prefetch", "0", 0, "0\n" },
	{ "prefetch", "-1", -ERANGE, NULL },
	{ "prefetch", "1 1", -EINVAL, NULL },
	{ "anon_enabled", "0", 0, "0\n" },
	{ "anon_enabled", "9", -ERANGE, NULL },
	{ "anon_enabled", "no", -EINVAL, NULL },
	{ "anon_ttl_switches", "0", -ERANGE, NULL },
	{ "anon_ttl_switches", "1", 0, "1\n" },
	{ "anon_ttl_switches", "255", 0, "255\n" },
	{ "anon_ttl_switches", "256", -ERANGE, NULL },
	{ "anon_ttl_switches", "4.5", -EINVAL, NULL },
	{ "window_timeout_ms", "9", -ERANGE, NULL },
	{ "window_timeout_ms", "10", 0, "10\n" },
	{ "window_timeout_ms", "600000", 0, "600000\n" },
	{ "window_timeout_ms", "600001", -ERANGE, NULL },
	{ "window_timeout_ms", "banana", -EINVAL, NULL },
	{ "window_timeout_ms", "99999999999", -ERANGE, NULL },
	{ "max_pages_per_switch", "-1", -ERANGE, NULL },
	{ "max_pages_per_switch", "2147483647", 0, "2147483647\n" },
	{ "max_pages_per_switch", "2147483648", -ERANGE, NULL },
	{ "max_pages_per_switch", "0x10", 0, "16\n" },
	{ "max_pages_per_switch", "1k", -EINVAL, NULL },
	{ "max_pages_per_switch", "0", 0, "0\n" },
};

static void knob_values(void)
{
	char path[128], before[64], after[64];
	size_t i;
	int err;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		const struct knob *k = &knobs[i];

		snprintf(path, sizeof(path), ASAP_SYSFS "/%s", k->name);
		expect(file_read(path, before, sizeof(before)) > 0);
		err = knob_write(k->name, k->text);
		expect(file_read(path, after, sizeof(after)) > 0);
		if (err == k->err && !strcmp(after, k->reads ?: before))
			continue;
		ksft_print_msg("%s: \"%s\": %d, then \"%s\"\n", k->name,
			       k->text, err, after);
		expect_eq(err, k->err);
		expect(!strcmp(after, k->reads ?: before));
	}
}

/* A knob that was set keeps its value when the policy changes. */
static void knob_outlives_policy(void)
{
	expect_eq(knob_write("anon_ttl_switches", "9"), 0);
	expect_eq(knob_write("policy", "paper"), 0);
	expect_eq(file_number(ASAP_SYSFS "/anon_ttl_switches"), 9);
	expect_eq(knob_write("policy", "adaptive"), 0);
	expect_eq(file_number(ASAP_SYSFS "/anon_ttl_switches"), 9);
}

struct mode {
	const char *path;
	mode_t mode;
};

static const struct mode modes[] = {
	{ ASAP_SYSFS "/enabled", 0644 },
	{ ASAP_SYSFS "/policy", 0644 },
	{ ASAP_SYSFS "/learn", 0644 },
	{ ASAP_SYSFS "/prefetch", 0644 },
	{ ASAP_SYSFS "/anon_enabled", 0644 },
	{ ASAP_SYSFS "/anon_ttl_switches", 0644 },
	{ ASAP_SYSFS "/window_timeout_ms", 0644 },
	{ ASAP_SYSFS "/max_pages_per_switch", 0644 },
	{ ASAP_SYSFS "/stat", 0400 },
	{ ASAP_APPS "/create", 0200 },
	{ ASAP_APPS "/remove", 0200 },
	{ ASAP_APPS "/" APP "/procs", 0600 },
	{ ASAP_APPS "/" APP "/switch", 0600 },
	{ ASAP_APPS "/" APP "/stat", 0400 },
	{ ASAP_APPS "/" APP "/targets", 0400 },
	{ ASAP_APPS "/" APP "/reset", 0200 },
};

static void file_modes(void)
{
	struct stat st;
	size_t i;

	expect_eq(app_create(APP), 0);
	for (i = 0; i < ARRAY_SIZE(modes); i++) {
		if (stat(modes[i].path, &st))
			expect_failed(__FILE__, __LINE__, modes[i].path);
		if ((st.st_mode & 07777) != modes[i].mode)
			ksft_print_msg("%s:\n", modes[i].path);
		expect_eq(st.st_mode & 07777, modes[i].mode);
		expect_eq(st.st_uid, 0);
	}
}

/* Open for reading and for writing, and say whether either was let through. */
static bool may_open(const char *path, int flags)
{
	int fd = open(path, flags);

	if (fd >= 0) {
		close(fd);
		return true;
	}
	expect_eq(errno, EACCES);
	return false;
}

static void unprivileged(void)
{
	pid_t pid;
	size_t i;

	expect_eq(app_create(APP), 0);
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		expect(!setresgid(65534, 65534, 65534));
		expect(!setresuid(65534, 65534, 65534));
		for (i = 0; i < ARRAY_SIZE(modes); i++) {
			expect(!may_open(modes[i].path, O_WRONLY));
			/* Knobs are no secret; what an app touches is. */
			expect_eq(may_open(modes[i].path, O_RDONLY),
				  modes[i].mode == 0644);
		}
		expect_eq(app_create(OTHER), -EACCES);
		expect_eq(app_remove(APP), -EACCES);
		expect_eq(app_join(APP, getpid()), -EACCES);
		expect_eq(app_write(APP, "switch", "start"), -EACCES);
		_exit(0);
	}
	expect_child(pid);
	expect_eq(nr_apps(), 1);
	expect_eq(app_stat(APP, "processes"), 0);
}

static void disabled(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);

	/* Turning it off closes what is open. */
	expect_eq(knob_write("enabled", "0"), 0);
	expect(!app_is_open(APP));
	app_wait_switches(APP, 1);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
	expect_eq(app_write(APP, "switch", "start"), -EOPNOTSUPP);
	expect_eq(app_create(OTHER), -EOPNOTSUPP);
	/* A bad name is a bad name all the same. */
	expect_eq(app_create("a/b"), -EINVAL);
	expect_eq(nr_apps(), 1);
	expect_eq(app_stat(APP, "switches"), 1);

	/* Off is no prison: what is there can be cleared away. */
	expect_eq(app_write(APP, "reset", "1"), 0);
	expect_eq(app_remove(APP), 0);
	expect_eq(nr_apps(), 0);

	expect_eq(knob_write("enabled", "1"), 0);
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_end(APP);
}

static const struct asap_test tests[] = {
	{ "refusals are logged", refusals_logged },
	{ "app names that are taken", names_taken },
	{ "app name too long", names_too_long },
	{ "app name that exists", names_existing },
	{ "app names that are invalid", names_invalid },
	{ "removing what is not there", remove_unknown },
	{ "PID of no process", procs_no_process },
	{ "PID of a zombie", procs_zombie },
	{ "PID of a kernel thread", procs_kernel_thread },
	{ "text that is no PID", procs_not_a_pid },
	{ "PID of another app's member", procs_of_other_app },
	{ "words that are no switch", switch_words },
	{ "end without start", switch_end_without_start },
	{ "start twice", switch_start_twice },
	{ "start without a process", switch_start_without_process },
	{ "reset while a window is open", reset_while_open },
	{ "knobs in and out of range", knob_values },
	{ "a knob outlives a change of policy", knob_outlives_policy },
	{ "file modes", file_modes },
	{ "a user without privilege", unprivileged },
	{ "everything while disabled", disabled },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
