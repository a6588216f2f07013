// SPDX-License-Identifier: GPL-2.0
/*
 * Who may not read smaps_rollup, and processes that have no memory: an error at
 * open or at read as always, and never a sum of zeros.
 */
#define _GNU_SOURCE
#include "smaps_util.h"
#include <sched.h>
#include <time.h>

#define NOBODY 65534

static bool nothing(void *arg)
{
	(void)arg;
	return true;
}

static bool as_other_user(void *arg)
{
	/* Root's right to read goes with the user ID. */
	return !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(*(uid_t *)arg, *(uid_t *)arg, *(uid_t *)arg) &&
	       !prctl(PR_SET_DUMPABLE, 1);
}

static bool undumpable(void *arg)
{
	return as_other_user(arg) && !prctl(PR_SET_DUMPABLE, 0);
}

/* errno of open(), or of the first read(); 0 when a sum was read. */
static int attempt(pid_t pid, bool *opened)
{
	char path[64], buf[64];
	int fd, error = 0;

	smaps_path(path, sizeof(path), pid, "smaps_rollup");
	fd = open(path, O_RDONLY);
	*opened = fd >= 0;
	if (fd < 0)
		return errno;
	if (read(fd, buf, sizeof(buf)) <= 0)
		error = errno;
	close(fd);
	return error;
}

/* The same as user @uid, in a process that has no more rights than that. */
static int attempt_as(uid_t uid, pid_t pid, bool *opened)
{
	int status;
	pid_t child;

	fflush(stdout);
	child = fork();
	if (!child) {
		int error;

		if (!as_other_user(&uid))
			_exit(255);
		error = attempt(pid, opened);
		_exit(error | (*opened ? 128 : 0));
	}
	if (child < 0 || waitpid(child, &status, 0) != child ||
	    !WIFEXITED(status) || WEXITSTATUS(status) == 255)
		ksft_exit_fail_msg("cannot become user %u\n", uid);
	*opened = WEXITSTATUS(status) & 128;
	return WEXITSTATUS(status) & 127;
}

static void expect(int error, bool opened, int want, bool want_opened, const char *name)
{
	if (error != want || opened != want_opened)
		ksft_print_msg("%s gave '%s', want '%s' at %s\n",
			       opened ? "read" : "open", strerror(error),
			       strerror(want), want_opened ? "read" : "open");
	ksft_test_result(error == want && opened == want_opened, "%s\n", name);
}

static void test_users(void)
{
	uid_t uid = NOBODY, other = NOBODY - 1;
	bool opened;
	pid_t pid;
	int error;

	if (geteuid()) {
		ksft_test_result_skip("own process: only root can change users\n");
		ksft_test_result_skip("another user's process: only root can change users\n");
		ksft_test_result_skip("an undumpable process: only root can change users\n");
		return;
	}
	pid = smaps_child(as_other_user, &uid);
	error = attempt_as(uid, pid, &opened);
	expect(error, opened, 0, true, "own process");
	error = attempt_as(other, pid, &opened);
	expect(error, opened, EACCES, false, "another user's process");
	smaps_reap(pid);

	pid = smaps_child(undumpable, &uid);
	error = attempt_as(uid, pid, &opened);
	expect(error, opened, EACCES, false, "an undumpable process");
	smaps_reap(pid);
}

static void test_kernel_thread(void)
{
	char comm[16] = "";
	bool opened;
	int fd = open("/proc/2/comm", O_RDONLY), error;

	if (fd < 0 || read(fd, comm, sizeof(comm) - 1) <= 0 ||
	    strncmp(comm, "kthreadd", 8)) {
		ksft_test_result_skip("a kernel thread: none to be seen in this PID namespace\n");
		return;
	}
	close(fd);
	error = attempt(2, &opened);
	expect(error, opened, ESRCH, false, "a kernel thread");
}

static void test_zombie(void)
{
	pid_t pid = smaps_child(nothing, NULL);
	siginfo_t info;
	bool opened;
	int error;

	kill(pid, SIGKILL);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	error = attempt(pid, &opened);
	expect(error, opened, ESRCH, false, "a zombie");
	waitpid(pid, NULL, 0);
}

/* Opened alive, read when it is a zombie, and again when it is gone. */
static void test_died(void)
{
	pid_t pid = smaps_child(nothing, NULL);
	int fd = smaps_open(pid, "smaps_rollup"), error;
	siginfo_t info;
	char buf[64];

	kill(pid, SIGKILL);
	waitid(P_PID, pid, &info, WEXITED | WNOWAIT);
	error = read(fd, buf, sizeof(buf)) < 0 ? errno : 0;
	expect(error, true, ESRCH, true, "died since open");
	waitpid(pid, NULL, 0);
	error = read(fd, buf, sizeof(buf)) < 0 ? errno : 0;
	expect(error, true, ESRCH, true, "died and waited for since open");
	close(fd);
}

/* Also between two reads of the text: what was read of it stays readable. */
static void test_dies_while_read(void)
{
	pid_t pid = smaps_child(nothing, NULL);
	int fd = smaps_open(pid, "smaps_rollup"), error;
	char first[10], *rest;
	struct smaps s;

	if (read(fd, first, sizeof(first)) != sizeof(first))
		ksft_exit_fail_msg("read: %s\n", strerror(errno));
	smaps_reap(pid);
	rest = smaps_slurp(fd, 4096);
	smaps_parse(rest, &s);
	lseek(fd, 0, SEEK_SET);
	error = read(fd, first, sizeof(first)) < 0 ? errno : 0;
	if (!s.seen[F_LOCKED] || !s.kb[F_RSS])
		ksft_print_msg("the rest of the text is missing\n");
	ksft_test_result(s.seen[F_LOCKED] && s.kb[F_RSS] && error == ESRCH,
			 "dies while being read\n");
	free(rest);
	close(fd);
}

/*
 * Processes that die at any time: a complete sum that is not zero, or ESRCH. A
 * process gives up its pages and its address space at once, after its last
 * reader.
 */
static void test_dying(int rounds)
{
	unsigned int sums = 0, errors = 0, bad = 0;

	for (int i = 0; i < rounds; i++) {
		pid_t pid = smaps_child(nothing, NULL);
		int fd = smaps_open(pid, "smaps_rollup");
		struct timespec t = { 0, i % 20 * 20000 };
		char buf[4096];
		ssize_t n;

		if (!fork()) {
			nanosleep(&t, NULL);
			kill(pid, SIGKILL);
			_exit(0);
		}
		do {
			n = pread(fd, buf, sizeof(buf) - 1, 0);
			if (n > 0) {
				struct smaps s;

				buf[n] = 0;
				smaps_parse(buf, &s);
				sums++;
				if (!s.kb[F_RSS] || !s.seen[F_LOCKED])
					bad++;
			} else if (n < 0 && errno == ESRCH) {
				errors++;
			} else {
				bad++;
			}
		} while (n > 0);
		close(fd);
		waitpid(pid, NULL, 0);
		wait(NULL);
	}
	ksft_print_msg("%u sums, %u errors, %u neither\n", sums, errors, bad);
	ksft_test_result(!bad && errors == (unsigned int)rounds,
			 "processes that die at any time\n");
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;

	ksft_print_header();
	ksft_set_plan(9);
	test_users();
	test_kernel_thread();
	test_zombie();
	test_died();
	test_dies_while_read();
	test_dying(rounds);
	ksft_finished();
}
