// SPDX-License-Identifier: GPL-2.0
/*
 * Windows that nobody opens by hand: oom_score_adj, the sysctls of the prototype,
 * and apps that are cgroups or that made themselves.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "asap_util.h"

#define APP	"trigger"
#define PAGES	256
#define UID	12345
#define UID_APP	"uid-12345"

#define SYSCTL	"/proc/sys/vm/"

static int adj_write(pid_t pid, int adj)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	snprintf(text, sizeof(text), "%d", adj);
	return file_write(path, text);
}

static int sysctl_write(const char *name, int val)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), SYSCTL "%s", name);
	snprintf(text, sizeof(text), "%d", val);
	return file_write(path, text);
}

static long long sysctl_read(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), SYSCTL "%s", name);
	return file_number(path);
}

static bool app_exists(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), ASAP_APPS "/%s/switch", name);
	return !access(path, F_OK);
}

/* An idle child that runs as an Android app would, with a UID of its own. */
static pid_t fork_app(uid_t uid, const char *name)
{
	int ready[2];
	char byte;
	pid_t pid;

	expect(!pipe(ready));
	pid = fork();
	expect(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (name)
			prctl(PR_SET_NAME, name);
		if (uid)
			expect(!setresuid(uid, uid, uid));
		expect(write(ready[1], "", 1) == 1);
		for (;;)
			pause();
	}
	expect(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void score_opens_and_quiet_ends(void)
{
	pid_t child;

	expect_eq(knob_write("trigger", "oom_score_adj"), 0);
	expect_eq(knob_write("quiet_ms", "50"), 0);
	expect_eq(app_create(APP), 0);
	child = fork_idle();
	expect_eq(app_join(APP, child), 0);

	/* From the foreground to the foreground: nobody came back. */
	expect_eq(adj_write(child, 100), 0);
	expect_eq(adj_write(child, 0), 0);
	expect(!app_is_open(APP));

	/* On the way to the foreground it is not there yet. */
	expect_eq(knob_write("window_timeout_ms", "600000"), 0);
	expect_eq(knob_write("quiet_ms", "600000"), 0);
	expect_eq(adj_write(child, 950), 0);
	expect_eq(adj_write(child, 700), 0);
	expect(!app_is_open(APP));
	expect_eq(adj_write(child, 0), 0);
	expect(app_is_open(APP));
	/* And back again: the switch is over. */
	expect_eq(adj_write(child, 900), 0);
	expect(!app_is_open(APP));
	app_wait_switches(APP, 1);
	expect_eq(app_stat(APP, "last_timeouts"), 0);

	/* An app that does nothing is quiet, and that is no time-out. */
	expect_eq(knob_write("quiet_ms", "50"), 0);
	expect_eq(adj_write(child, 0), 0);
	app_wait_switches(APP, 2);
	expect(!app_is_open(APP));
	expect_eq(app_stat(APP, "last_timeouts"), 0);
	kill_child(child);
}

static void knob_moves_the_threshold(void)
{
	pid_t child;

	expect_eq(knob_write("trigger", "oom_score_adj"), 0);
	expect_eq(knob_write("quiet_ms", "600000"), 0);
	expect_eq(knob_write("background_adj", "500"), 0);
	expect_eq(knob_write("foreground_adj", "300"), 0);
	expect_eq(app_create(APP), 0);
	child = fork_idle();
	expect_eq(app_join(APP, child), 0);
	expect_eq(adj_write(child, 499), 0);
	expect_eq(adj_write(child, 300), 0);
	expect(!app_is_open(APP));
	expect_eq(adj_write(child, 500), 0);
	expect_eq(adj_write(child, 301), 0);
	expect(!app_is_open(APP));
	expect_eq(adj_write(child, 300), 0);
	expect(app_is_open(APP));
	app_end(APP);

	expect_eq(knob_write("trigger", "none"), 0);
	expect_eq(adj_write(child, 900), 0);
	expect_eq(adj_write(child, 0), 0);
	expect(!app_is_open(APP));
	kill_child(child);
}

/* One of two processes in the background leaves the window alone. */
static void all_must_leave(void)
{
	pid_t one, two;

	expect_eq(knob_write("trigger", "oom_score_adj"), 0);
	expect_eq(knob_write("quiet_ms", "600000"), 0);
	expect_eq(knob_write("window_timeout_ms", "600000"), 0);
	expect_eq(app_create(APP), 0);
	one = fork_idle();
	two = fork_idle();
	expect_eq(app_join(APP, one), 0);
	expect_eq(app_join(APP, two), 0);
	expect_eq(adj_write(one, 900), 0);
	expect_eq(adj_write(two, 900), 0);
	expect_eq(adj_write(one, 0), 0);
	expect(app_is_open(APP));
	expect_eq(adj_write(two, 0), 0);
	expect_eq(adj_write(two, 900), 0);
	expect(app_is_open(APP));
	expect_eq(adj_write(one, 900), 0);
	expect(!app_is_open(APP));
	kill_child(one);
	kill_child(two);
}

/* No word to ASAP at all: the app makes itself, learns, and prefetches. */
static void by_score_alone(void)
{
	char *area = map_pages(PAGES);
	int i, go[2], done[2];
	pid_t child;
	char byte;

	expect_eq(knob_write("trigger", "oom_score_adj"), 0);
	expect_eq(knob_write("quiet_ms", "100"), 0);
	expect(!pipe(go) && !pipe(done));
	child = fork();
	expect(child >= 0);
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		expect(!setresuid(UID, UID, UID));
		fill_pages(area, PAGES, 1);
		/* setresuid() made /proc/self root's: readable again. */
		expect(!prctl(PR_SET_DUMPABLE, 1));
		for (;;) {
			page_out(area, PAGES);
			expect(write(done[1], "", 1) == 1);
			expect(read(go[0], &byte, 1) == 1);
			expect_pages(area, PAGES, 1);
			/* Pushed out too early, they would be lost to the harvest. */
			expect(read(go[0], &byte, 1) == 1);
		}
	}
	for (i = 0; i < 3; i++) {
		expect(read(done[0], &byte, 1) == 1);
		expect_eq(adj_write(child, 900), 0);
		if (!i)
			wait_for(app_exists(UID_APP) && app_has_pid(UID_APP, child));
		expect_eq(adj_write(child, 0), 0);
		expect(app_is_open(UID_APP));
		if (i == 2)
			wait_for(count_pagemap(child, area, PAGES, PM_PRESENT) ==
				 PAGES);
		expect(write(go[1], "", 1) == 1);
		app_wait_switches(UID_APP, i + 1);
		if (i < 2)
			expect(write(go[1], "", 1) == 1);
	}
	expect(app_stat(UID_APP, "last_anon_used") >= PAGES);
	kill_child(child);
	expect_eq(app_remove(UID_APP), 0);
}

static void apps_that_nobody_made_are_few(void)
{
	char name[32];
	pid_t pid[4];
	int i;

	expect_eq(knob_write("trigger", "oom_score_adj"), 0);
	expect_eq(knob_write("auto_apps_max", "3"), 0);
	expect_eq(app_create(APP), 0);
	for (i = 0; i < 4; i++) {
		pid[i] = fork_app(UID + i, NULL);
		snprintf(name, sizeof(name), "uid-%d", UID + i);
		expect_eq(adj_write(pid[i], 900), 0);
		wait_for(app_exists(name) && app_has_pid(name, pid[i]));
		if (i == 2) {
			/* The oldest has just been used: the next one is older. */
			expect_eq(adj_write(pid[0], 0), 0);
			expect_eq(app_write("uid-12345", "switch", "end"), 0);
			app_wait_switches("uid-12345", 1);
		}
	}
	expect(app_exists("uid-12345"));
	expect(!app_exists("uid-12346"));
	expect(app_exists("uid-12347"));
	expect(app_exists("uid-12348"));
	/* Made by hand, it does not count. */
	expect(app_exists(APP));

	/* Below Android's UIDs the name is the program's. */
	expect_eq(adj_write(pid[1] = fork_app(0, "a b/c"), 900), 0);
	wait_for(app_exists("comm-a_b_c"));
	expect_eq(knob_write("auto_apps_max", "0"), 0);
	expect_eq(adj_write(pid[1] = fork_app(0, "none"), 900), 0);
	usleep(200 * 1000);
	expect(!app_exists("comm-none"));
}

static void sysctls(void)
{
	char *area = map_pages(PAGES);
	pid_t me = getpid(), other;
	int i;

	if (access(SYSCTL "app_switch_start", F_OK))
		skip_test("the kernel has no CONFIG_ASAP_SYSCTL");
	prctl(PR_SET_NAME, "android");
	expect_eq(sysctl_write("switch_target_pid", 0), -ESRCH);
	expect_eq(sysctl_write("switch_target_pid", -1), -EINVAL);
	expect_eq(file_write(SYSCTL "switch_target_pid", "me"), -EINVAL);
	expect_eq(sysctl_write("switch_target_pid", me), 0);
	expect_eq(sysctl_read("switch_target_pid"), me);
	expect(app_has_pid("comm-android", me));

	fill_pages(area, PAGES, 1);
	for (i = 0; i < 3; i++) {
		page_out(area, PAGES);
		expect_eq(sysctl_write("switch_target_pid", me), 0);
		expect_eq(sysctl_write("app_switch_start", 1), 0);
		expect_eq(sysctl_read("app_switch_start"), 1);
		expect_eq(sysctl_read("app_switch_end"), 0);
		/* Twice is once. */
		expect_eq(sysctl_write("app_switch_start", 1), 0);
		if (i == 2)
			wait_for(count_pagemap(0, area, PAGES, PM_PRESENT) == PAGES);
		expect_pages(area, PAGES, 1);
		expect_eq(sysctl_write("app_switch_end", 1), 0);
		expect_eq(sysctl_write("app_switch_end", 1), 0);
		expect_eq(sysctl_read("app_switch_start"), 0);
		app_wait_switches("comm-android", i + 1);
	}
	expect(app_stat("comm-android", "last_anon_used") >= PAGES);

	/* The other way to say it: with the PID. It may be an app's already. */
	other = fork_idle();
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, other), -EBUSY);
	kill_child(other);
	other = fork_app(UID, NULL);
	expect_eq(sysctl_write("app_switch_start", other), 0);
	expect(app_is_open(app_has_pid("comm-android", other) ? "comm-android" :
								UID_APP));
	expect_eq(sysctl_write("app_switch_end", other), 0);
	kill_child(other);
	/* The target is gone. */
	expect_eq(sysctl_write("app_switch_start", 1), -ESRCH);
	expect_eq(sysctl_read("switch_target_pid"), 0);
}

static void sysctls_while_disabled(void)
{
	if (access(SYSCTL "app_switch_start", F_OK))
		skip_test("the kernel has no CONFIG_ASAP_SYSCTL");
	expect_eq(knob_write("enabled", "0"), 0);
	expect_eq(sysctl_write("switch_target_pid", getpid()), -EOPNOTSUPP);
	expect_eq(knob_write("enabled", "1"), 0);
}

#define BELOW	ASAP_CGROUP "/below"

static int move(const char *cgroup, pid_t pid)
{
	char path[128], text[16];

	snprintf(path, sizeof(path), "%s/cgroup.procs", cgroup);
	snprintf(text, sizeof(text), "%d", pid);
	return file_write(path, text);
}

static void cgroup_is_an_app(void)
{
	char text[128];
	pid_t one, two, three;
	int err;

	cgroup_make();
	mkdir(BELOW, 0755);
	one = fork_idle();
	two = fork_idle();
	three = fork_idle();
	expect_eq(move(ASAP_CGROUP, one), 0);
	expect_eq(move(BELOW, two), 0);
	expect_eq(app_create(APP), 0);
	expect_eq(app_write(APP, "procs", "/no/such/group"), -ENOENT);
	expect_eq(app_write(APP, "procs", "/asap_test"), 0);
	expect(file_read(ASAP_APPS "/" APP "/cgroup", text, sizeof(text)) > 0);
	expect(!strcmp(text, "/asap_test\n"));
	expect(app_has_pid(APP, one));
	expect(app_has_pid(APP, two));
	expect(!app_has_pid(APP, three));

	/* At the next window those who came have joined, those who went are gone. */
	expect_eq(move(ASAP_CGROUP, three), 0);
	expect_eq(move("/sys/fs/cgroup", one), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(app_has_pid(APP, three) && !app_has_pid(APP, one));
	expect(app_has_pid(APP, two));
	app_end(APP);

	/* Empty, a start has nobody; but somebody may have come unseen. */
	kill_child(two);
	kill_child(three);
	wait_for(!app_stat(APP, "processes"));
	expect_eq(app_write(APP, "switch", "start"), -ESRCH);
	expect_eq(move(ASAP_CGROUP, one), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect(app_has_pid(APP, one));

	/*
	 * The last one leaves, and the window ends; unless the look of the window
	 * before came late and found that already.
	 */
	expect_eq(move("/sys/fs/cgroup", one), 0);
	app_end(APP);
	err = app_write(APP, "switch", "start");
	expect(!err || err == -ESRCH);
	wait_for(!app_is_open(APP));
	expect_eq(app_stat(APP, "processes"), 0);
	kill_child(one);

	/* The group may be removed, and come back under its name. */
	expect(!rmdir(BELOW));
	expect(!rmdir(ASAP_CGROUP));
	expect_eq(app_write(APP, "switch", "start"), -ESRCH);
	expect(!mkdir(ASAP_CGROUP, 0755));
	one = fork_idle();
	expect_eq(move(ASAP_CGROUP, one), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_end(APP);
	kill_child(one);
}

/* A process that joined by its PID stays, wherever it goes. */
static void cgroup_and_pid(void)
{
	pid_t one, two;

	cgroup_make();
	one = fork_idle();
	two = fork_idle();
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, one), 0);
	expect_eq(move(ASAP_CGROUP, two), 0);
	expect_eq(app_write(APP, "procs", "/asap_test"), 0);
	expect(app_has_pid(APP, one));
	expect(app_has_pid(APP, two));
	expect_eq(move(ASAP_CGROUP, one), 0);
	expect_eq(move("/sys/fs/cgroup", one), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_end(APP);
	expect(app_has_pid(APP, one));
	kill_child(one);
	kill_child(two);
}

static const struct asap_test tests[] = {
	{ "oom_score_adj opens a window, quiet ends it", score_opens_and_quiet_ends },
	{ "the scores are knobs", knob_moves_the_threshold },
	{ "one process in the background ends nothing", all_must_leave },
	{ "an app that nobody made prefetches by its score alone", by_score_alone },
	{ "apps that nobody made are few", apps_that_nobody_made_are_few },
	{ "the sysctls of the prototype", sysctls },
	{ "the sysctls while ASAP is disabled", sysctls_while_disabled },
	{ "a cgroup is an app", cgroup_is_an_app },
	{ "a cgroup and a PID in one app", cgroup_and_pid },
};

int main(void)
{
	return asap_run_tests(tests, sizeof(tests) / sizeof(*tests), ASAP_NEEDS_SWAP);
}
