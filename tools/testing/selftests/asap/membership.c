// SPDX-License-Identifier: GPL-2.0
/*
 * Who belongs to an app: fork, threads, exec, exit; and when a window ends
 * without anybody saying so.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#include "asap_util.h"

#define APP		"membership"
#define PAGES		64
/* Together their PIDs fill more than a page. */
#define MANY		1000

#define ANYBODY		65534

static long long nr_members(void)
{
	return app_stat(APP, "processes");
}

static void fork_joins(void)
{
	pid_t child, later;

	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(nr_members(), 1);
	child = fork_idle();
	expect_eq(nr_members(), 2);
	expect(app_has_pid(APP, getpid()));
	expect(app_has_pid(APP, child));

	/* A child's child as well, and one that is born in a window. */
	expect_eq(app_write(APP, "switch", "start"), 0);
	later = fork();
	expect(later >= 0);
	if (!later) {
		pid_t pid = fork_idle();

		expect_eq(nr_members(), 4);
		expect(app_has_pid(APP, getpid()));
		expect(app_has_pid(APP, pid));
		kill_child(pid);
		wait_for(nr_members() == 3);
		_exit(0);
	}
	expect_child(later);
	app_end(APP);
	expect(!app_has_pid(APP, later));
	kill_child(child);
	wait_for(nr_members() == 1);
	expect(app_has_pid(APP, getpid()));
}

static void fork_of_stranger(void)
{
	pid_t child;

	expect_eq(app_create(APP), 0);
	child = fork_idle();
	expect_eq(app_join(APP, child), 0);
	expect_eq(nr_members(), 1);
	expect(!app_has_pid(APP, getpid()));
	kill_child(fork_idle());
	expect_eq(nr_members(), 1);
	kill_child(child);
}

static pid_t thread_tid;
static pthread_barrier_t barrier;

static void *thread_fn(void *arg)
{
	(void)arg;
	thread_tid = syscall(SYS_gettid);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void threads_share(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	expect_eq(app_create(APP), 0);
	expect(!pthread_create(&thread, NULL, thread_fn, NULL));
	pthread_barrier_wait(&barrier);
	/* Any thread stands for its process. */
	expect_eq(app_join(APP, thread_tid), 0);
	expect_eq(nr_members(), 1);
	expect(app_has_pid(APP, getpid()));
	expect(!app_has_pid(APP, thread_tid));
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(nr_members(), 1);
	pthread_barrier_wait(&barrier);
	expect(!pthread_join(thread, NULL));
	expect_eq(nr_members(), 1);
}

/* Start exec_target, at @path, from a child that is a member, as user @uid. */
struct target {
	pid_t pid;
	int go;		/* closed: exec */
	int end;	/* closed: exit */
	int alive;	/* gives a byte when it runs */
};

static void target_fork(struct target *t, const char *path, uid_t uid,
			void (*before)(void))
{
	int go[2], end[2], alive[2];
	char c;

	expect(!pipe2(go, O_CLOEXEC) && !pipe2(end, O_CLOEXEC) &&
	       !pipe2(alive, O_CLOEXEC));
	t->pid = fork();
	expect(t->pid >= 0);
	if (!t->pid) {
		close(go[1]);
		close(end[1]);
		if (uid) {
			expect(!setresgid(uid, uid, uid));
			expect(!setresuid(uid, uid, uid));
		}
		/* A new user is not dumpable until it execs. */
		prctl(PR_SET_DUMPABLE, 1);
		/* The new program closes both ends with its own exit. */
		expect(dup2(alive[1], 10) == 10 && dup2(end[0], 11) == 11);
		if (before)
			before();
		expect(write(alive[1], "r", 1) == 1);
		expect(read(go[0], &c, 1) == 0);
		expect(dup2(10, 3) == 3 && dup2(11, 4) == 4);
		execl(path, path, NULL);
		expect_failed(__FILE__, __LINE__, "execl");
	}
	close(go[0]);
	close(end[0]);
	close(alive[1]);
	t->go = go[1];
	t->end = end[1];
	t->alive = alive[0];
	expect(read(t->alive, &c, 1) == 1 && c == 'r');
}

static void target_exec(struct target *t)
{
	char c;

	close(t->go);
	expect(read(t->alive, &c, 1) == 1);
	expect_eq(c, 'x');
}

static void target_end(struct target *t)
{
	close(t->end);
	expect_child(t->pid);
	close(t->alive);
}

static char *exec_area;

static void learn_before_exec(void)
{
	exec_area = map_pages(PAGES);
	fill_pages(exec_area, PAGES, 1);
	expect_eq(app_join(APP, getpid()), 0);
	learn_area(APP, exec_area, PAGES);
}

static size_t targets_length(void)
{
	static char buf[1 << 16];
	int len = file_read(ASAP_APPS "/" APP "/targets", buf, sizeof(buf));

	expect(len >= 0);
	return len;
}

/* What was known of memory that is no more must not be shown, nor fetched. */
static void exec_stays(void)
{
	struct target t;
	char path[256];

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	target_fork(&t, path, 0, learn_before_exec);
	expect_eq(nr_members(), 1);
	expect(targets_length() > 0);
	target_exec(&t);
	expect_eq(nr_members(), 1);
	expect(app_has_pid(APP, t.pid));
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_end(APP);
	expect_eq(app_stat(APP, "anon_targets"), 0);
	expect_eq(app_stat(APP, "anon_candidates"), 0);
	expect_eq(app_stat(APP, "last_anon_prefetched"), 0);
	expect_eq(targets_length(), 0);
	target_end(&t);
	wait_for(!nr_members());
}

static void exec_clears_targets(void)
{
	struct target t;
	char path[256];

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	target_fork(&t, path, 0, learn_before_exec);
	expect(targets_length() > 0);
	target_exec(&t);
	expect_eq(targets_length(), 0);
	target_end(&t);
}

static void exec_in_window(void)
{
	struct target t;
	char path[256];

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	target_fork(&t, path, 0, NULL);
	expect_eq(app_join(APP, t.pid), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	target_exec(&t);
	/* The only process, and never without one. */
	expect(app_is_open(APP));
	expect_eq(app_stat(APP, "switches"), 0);
	app_end(APP);
	target_end(&t);
}

static void spawn_joins(void)
{
	char path[256], *argv[] = { path, NULL };
	posix_spawn_file_actions_t actions;
	int end[2], alive[2];
	pid_t pid;
	char c;

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect(!pipe2(end, O_CLOEXEC) && !pipe2(alive, O_CLOEXEC));
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, alive[1], 10);
	posix_spawn_file_actions_adddup2(&actions, end[0], 11);
	posix_spawn_file_actions_adddup2(&actions, 10, 3);
	posix_spawn_file_actions_adddup2(&actions, 11, 4);
	/* vfork() and exec(): the child had its parent's mm until now. */
	expect(!posix_spawn(&pid, path, &actions, NULL, argv, environ));
	expect(read(alive[0], &c, 1) == 1);
	expect_eq(nr_members(), 2);
	expect(app_has_pid(APP, pid));
	expect(app_has_pid(APP, getpid()));
	close(end[0]);
	close(end[1]);
	expect_child(pid);
	wait_for(nr_members() == 1);
}

#define DIR_TEMPLATE	"/tmp/asap_test.XXXXXX"

static void exec_with(mode_t mode, bool stays)
{
	char from[256], dir[] = DIR_TEMPLATE, path[64];
	struct statvfs fs;
	struct target t;

	beside_me(from, sizeof(from), "exec_target");
	expect(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/exec_target", dir);
	expect(!chmod(dir, 0755));
	expect_eq(file_copy(from, path, mode), 0);
	if (!statvfs(dir, &fs) && (fs.f_flag & ST_NOSUID)) {
		unlink(path);
		rmdir(dir);
		skip_test("/tmp is mounted nosuid");
	}
	expect_eq(app_create(APP), 0);
	target_fork(&t, path, ANYBODY, NULL);
	expect_eq(app_join(APP, t.pid), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	target_exec(&t);
	expect(!unlink(path) && !rmdir(dir));

	if (stays) {
		expect_eq(nr_members(), 1);
		expect(app_has_pid(APP, t.pid));
		expect(app_is_open(APP));
		app_end(APP);
	} else {
		wait_for(!nr_members());
		expect(!app_has_pid(APP, t.pid));
		app_wait_switches(APP, 1);
		expect(!app_is_open(APP));
	}
	target_end(&t);
}

static void exec_same_user(void)
{
	exec_with(0755, true);
}

static void exec_setuid(void)
{
	exec_with(04755, false);
}

static void exec_setgid(void)
{
	exec_with(02755, false);
}

static void exit_leaves(void)
{
	pid_t first, second;

	expect_eq(app_create(APP), 0);
	first = fork_idle();
	second = fork_idle();
	expect_eq(app_join(APP, first), 0);
	expect_eq(app_join(APP, second), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	kill_child(first);
	wait_for(nr_members() == 1);
	expect(!app_has_pid(APP, first));
	expect(app_is_open(APP));

	/* With its last process the window is over. */
	kill_child(second);
	app_wait_switches(APP, 1);
	expect(!app_is_open(APP));
	expect_eq(nr_members(), 0);
	expect_eq(app_stat(APP, "last_timeouts"), 0);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);
}

/* While another process shares the memory, the app has not exited. */
static void exit_of_one_user(void)
{
	struct target t;
	char path[256];
	pid_t pid;

	beside_me(path, sizeof(path), "exec_target");
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	target_fork(&t, path, 0, NULL);
	expect_eq(nr_members(), 2);
	pid = vfork();
	if (!pid)
		_exit(0);
	expect_child(pid);
	expect_eq(nr_members(), 2);
	expect(app_has_pid(APP, getpid()));
	target_exec(&t);
	target_end(&t);
}

static void window_times_out(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(knob_write("window_timeout_ms", "100"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_wait_switches(APP, 1);
	expect(!app_is_open(APP));
	expect_eq(app_stat(APP, "last_timeouts"), 1);
	expect(app_stat(APP, "last_window_us") >= 100 * 1000);
	expect_eq(app_write(APP, "switch", "end"), -EINVAL);

	expect_eq(knob_write("window_timeout_ms", "600000"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_end(APP);
	expect_eq(app_stat(APP, "last_timeouts"), 0);
	expect_eq(app_stat(APP, "total_timeouts"), 1);
}

/* The timer of a window that has ended does not end the next one. */
static void window_outlives_old_timer(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	expect_eq(knob_write("window_timeout_ms", "500"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_eq(app_write(APP, "switch", "end"), 0);
	expect_eq(knob_write("window_timeout_ms", "600000"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	usleep(1000 * 1000);
	expect(app_is_open(APP));
	expect_eq(app_write(APP, "switch", "end"), 0);
}

static void windows_at_once(void)
{
	static const char *const apps[] = { APP "1", APP "2", APP "3" };
	pid_t pid[ARRAY_SIZE(apps)];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(apps); i++) {
		expect_eq(app_create(apps[i]), 0);
		pid[i] = fork_idle();
		expect_eq(app_join(apps[i], pid[i]), 0);
		expect_eq(app_write(apps[i], "switch", "start"), 0);
	}
	expect_eq(file_value(ASAP_SYSFS "/stat", "windows_open"), 3);
	expect_eq(file_value(ASAP_SYSFS "/stat", "processes"), 3);
	app_end(apps[1]);
	expect(app_is_open(apps[0]) && !app_is_open(apps[1]) &&
	       app_is_open(apps[2]));
	expect_eq(app_remove(apps[0]), 0);
	expect_eq(file_value(ASAP_SYSFS "/stat", "windows_open"), 1);
	kill_child(pid[2]);
	app_wait_switches(apps[2], 1);
	expect_eq(file_value(ASAP_SYSFS "/stat", "windows_open"), 0);
	kill_child(pid[0]);
	kill_child(pid[1]);
}

/* The list does not end in the middle of a number. */
static void many_processes(void)
{
	static pid_t pid[MANY];
	size_t i;

	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	for (i = 0; i < MANY; i++)
		pid[i] = fork_idle();
	expect_eq(nr_members(), MANY + 1);
	for (i = 0; i < MANY; i += 50)
		expect(app_has_pid(APP, pid[i]));
	expect(app_has_pid(APP, pid[MANY - 1]));
	for (i = 0; i < MANY; i++)
		kill_child(pid[i]);
	wait_for(nr_members() == 1);
}

static const struct asap_test tests[] = {
	{ "a child joins, and its child", fork_joins },
	{ "a stranger's child does not", fork_of_stranger },
	{ "threads share a membership", threads_share },
	{ "exec keeps the membership, not the tables", exec_stays },
	{ "exec empties targets at once", exec_clears_targets },
	{ "exec keeps the window open", exec_in_window },
	{ "posix_spawn joins", spawn_joins },
	{ "exec by an ordinary user keeps the membership", exec_same_user },
	{ "setuid exec leaves", exec_setuid },
	{ "setgid exec leaves", exec_setgid },
	{ "exit leaves, the last one ends the window", exit_leaves },
	{ "exit of one of two users of an mm", exit_of_one_user },
	{ "a window times out", window_times_out },
	{ "a timer ends its own window only", window_outlives_old_timer },
	{ "several windows at once", windows_at_once },
	{ "procs lists many processes", many_processes },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_SWAP);
}
