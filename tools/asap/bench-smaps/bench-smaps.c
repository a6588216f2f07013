// SPDX-License-Identifier: GPL-2.0
/*
 * What reading /proc/PID/smaps_rollup costs the reader, and the process read.
 *
 *   bench-smaps rate VMAS PAGES ITERATIONS
 *	The time to sum /proc/PID/smaps and to read /proc/PID/smaps_rollup, in
 *	turn, of a sleeping process with VMAS mappings of PAGES resident pages
 *	each; every eighth has one more page, which is swapped out.
 *
 *   bench-smaps contention vmas20000|giant ROUNDS CYCLES
 *	The latency of a thread that maps, touches and unmaps memory, with
 *	nothing beside it, with a process that burns the other CPU, and with a
 *	process on the other CPU that reads the thread's smaps_rollup in a loop.
 *	With "giant" the process has one mapping of 1 GiB, and every cycle also
 *	splits and merges it, and unmaps a page of it and maps it again.
 *
 * The results are lines of words for run.sh.
 */
#define _GNU_SOURCE
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define GIANT (1024 * 1024 * 1024UL)
#define SMALL (16 * page)
/* A round ends with its cycles, or after this. */
#define ROUND_NS (5 * 1000000000ULL)

static size_t page;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}

static void pin(int cpu)
{
	cpu_set_t set;

	/* Counting instructions knows but one. */
	if (sysconf(_SC_NPROCESSORS_ONLN) == 1)
		cpu = 0;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "CPU %d", cpu);
}

static char *map(void *at, size_t len, int flags)
{
	char *p = mmap(at, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (p == MAP_FAILED)
		err(1, "mmap of %zu bytes", len);
	return p;
}

static unsigned long parse_number(const char *s)
{
	char *end;
	unsigned long n = strtoul(s, &end, 10);

	if (!n || *end)
		errx(2, "not a positive number: %s", s);
	return n;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double percentile_us(uint64_t *v, size_t n, int percent)
{
	qsort(v, n, sizeof(*v), by_value);
	return v[(n - 1) * percent / 100] / 1000.0;
}

/* Neighbours differ in their protection, so that they do not merge. */
static void populate(size_t vmas, size_t pages)
{
	size_t total = (vmas * pages + vmas / 8) * page, i;
	char *p = map(NULL, total, 0);

	/* Whatever they are filled with, they must not all be the same page. */
	for (i = 0; i < total; i += page)
		*(size_t *)(p + i) = i;
	for (i = 0; i < vmas; i++) {
		size_t len = pages * page;

		if (i % 8 == 7) {
			if (madvise(p + len, page, MADV_PAGEOUT))
				err(1, "MADV_PAGEOUT");
			len += page;
		}
		if (i % 2 && mprotect(p, len, PROT_READ))
			err(1, "mprotect");
		p += len;
	}
}

static pid_t spawn(void (*run)(void *), void *arg, int cpu)
{
	int ready[2];
	pid_t pid;
	char c;

	if (pipe(ready))
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		pin(cpu);
		if (write(ready[1], "", 1) != 1)
			err(1, "pipe");
		close(ready[1]);
		run(arg);
		_exit(0);
	}
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		errx(1, "a child did not start");
	close(ready[0]);
	return pid;
}

static void stop(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int open_of(pid_t pid, const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

/*
 * The fields whose sum a rollup gives. Few instructions a line, so that smaps
 * is not made to look slow.
 */
static const char *const fields[] = {
	"Rss:", "Pss:", "Shared_Clean:", "Shared_Dirty:", "Private_Clean:",
	"Private_Dirty:", "Referenced:", "Anonymous:", "AnonHugePages:",
	"Swap:", "SwapPss:", "Locked:",
};

#define NR_FIELDS ARRAY_SIZE(fields)

static void sum_line(const char *line, unsigned long *sums)
{
	size_t i;

	for (i = 0; i < NR_FIELDS; i++) {
		size_t len = strlen(fields[i]);

		if (line[0] == fields[i][0] && !strncmp(line, fields[i], len)) {
			sums[i] += strtoul(line + len, NULL, 10);
			return;
		}
	}
}

static void sum_file(pid_t pid, const char *name, unsigned long *sums)
{
	static char buf[1 << 16];
	size_t have = 0;
	ssize_t n;
	int fd = open_of(pid, name);

	memset(sums, 0, NR_FIELDS * sizeof(*sums));
	while ((n = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		char *line = buf, *end;

		have += n;
		while ((end = memchr(line, '\n', buf + have - line))) {
			*end = 0;
			sum_line(line, sums);
			line = end + 1;
		}
		have = buf + have - line;
		memmove(buf, line, have);
	}
	if (n < 0)
		err(1, "read of %s", name);
	close(fd);
}

struct size {
	size_t vmas, pages;
	int ready;
};

static void sleeper(void *arg)
{
	struct size *size = arg;

	populate(size->vmas, size->pages);
	if (write(size->ready, "", 1) != 1)
		err(1, "pipe");
	for (;;)
		pause();
}

static void measure_rate(size_t vmas, size_t pages, size_t iterations)
{
	struct size size = { .vmas = vmas, .pages = pages };
	unsigned long sum[NR_FIELDS], rollup[NR_FIELDS];
	uint64_t *t_smaps = calloc(iterations, sizeof(*t_smaps));
	uint64_t *t_rollup = calloc(iterations, sizeof(*t_rollup));
	int ready[2];
	pid_t pid;
	size_t i;
	char c;

	if (!t_smaps || !t_rollup || pipe(ready))
		err(1, "out of resources");
	size.ready = ready[1];
	pid = spawn(sleeper, &size, 1);
	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		errx(1, "the process to be read did not get its memory");

	pin(0);
	for (i = 0; i < iterations; i++) {
		uint64_t t0 = now_ns(), t1;

		sum_file(pid, "smaps", sum);
		t1 = now_ns();
		sum_file(pid, "smaps_rollup", rollup);
		t_smaps[i] = t1 - t0;
		t_rollup[i] = now_ns() - t1;
	}
	if (sum[0] != rollup[0] || sum[9] != rollup[9])
		errx(1, "Rss %lu and %lu, Swap %lu and %lu kB differ",
		     sum[0], rollup[0], sum[9], rollup[9]);
	printf("rate %zu %zu %zu %.4f %.4f %lu %lu\n", vmas, pages, iterations,
	       percentile_us(t_smaps, iterations, 50) / 1000,
	       percentile_us(t_rollup, iterations, 50) / 1000, sum[0], sum[9]);
	fflush(stdout);
	stop(pid);
}

/* What the writer measures, shared with the process that asked for it. */
struct job {
	int go[2], done[2];
	int giant;
	size_t cycles, done_cycles;
	uint64_t latency[];
};

static void writer(void *arg)
{
	struct job *job = arg;
	char *giant = NULL, c;
	uint64_t begin;
	size_t i;

	if (job->giant) {
		giant = map(NULL, GIANT, 0);
		for (i = 0; i < GIANT; i += page)
			*(size_t *)(giant + i) = i;
	} else {
		populate(20000, 1);
	}
	for (;;) {
		if (write(job->done[1], "", 1) != 1 ||
		    read(job->go[0], &c, 1) != 1)
			_exit(1);
		begin = now_ns();
		for (i = 0; i < job->cycles && now_ns() - begin < ROUND_NS; i++) {
			char *at = giant + GIANT / 4 + i % 4096 * 32 * page;
			uint64_t t0 = now_ns();
			char *p = map(NULL, SMALL, 0);

			*p = 1;
			if (munmap(p, SMALL))
				err(1, "munmap");
			if (giant) {
				if (mprotect(at, page, PROT_READ) ||
				    mprotect(at, page, PROT_READ | PROT_WRITE) ||
				    munmap(at, page))
					err(1, "giant mapping");
				*map(at, page, MAP_FIXED) = 1;
			}
			job->latency[i] = now_ns() - t0;
		}
		job->done_cycles = i;
	}
}

static void spinner(void *arg)
{
	(void)arg;
	for (;;)
		asm volatile("" ::: "memory");
}

static unsigned long *samples;

static void sampler(void *arg)
{
	pid_t pid = *(pid_t *)arg;
	char buf[4096];

	for (;;) {
		int fd = open_of(pid, "smaps_rollup");

		while (read(fd, buf, sizeof(buf)) > 0)
			;
		close(fd);
		__atomic_fetch_add(samples, 1, __ATOMIC_RELAXED);
	}
}

static void await(struct job *job)
{
	char c;

	if (read(job->done[0], &c, 1) != 1)
		errx(1, "the writer has died");
}

static void measure_contention(const char *kind, size_t rounds, size_t cycles)
{
	static const char *const modes[] = { "none", "spinner", "reader" };
	struct job *job;
	pid_t pid, beside;
	size_t round, mode;

	job = mmap(NULL, sizeof(*job) + cycles * sizeof(uint64_t),
		   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	samples = mmap(NULL, page, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (job == MAP_FAILED || samples == MAP_FAILED ||
	    pipe(job->go) || pipe(job->done))
		err(1, "out of resources");
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		errx(1, "two CPUs are needed");
	job->giant = !strcmp(kind, "giant");
	job->cycles = cycles;
	pid = spawn(writer, job, 0);
	await(job);

	for (round = 0; round < rounds; round++) {
		for (mode = 0; mode < 3; mode++) {
			uint64_t t0, took;

			beside = 0;
			__atomic_store_n(samples, 0, __ATOMIC_RELAXED);
			if (mode == 1)
				beside = spawn(spinner, NULL, 1);
			if (mode == 2) {
				beside = spawn(sampler, &pid, 1);
				while (!__atomic_load_n(samples, __ATOMIC_RELAXED))
					usleep(1000);
			}
			t0 = now_ns();
			if (write(job->go[1], "", 1) != 1)
				err(1, "pipe");
			await(job);
			took = now_ns() - t0;
			if (beside)
				stop(beside);
			printf("contention %s %s %zu %.3f %.3f %lu %.3f\n", kind,
			       modes[mode], round,
			       percentile_us(job->latency, job->done_cycles, 50),
			       percentile_us(job->latency, job->done_cycles, 99),
			       __atomic_load_n(samples, __ATOMIC_RELAXED),
			       took / 1e6);
			fflush(stdout);
		}
	}
	stop(pid);
}

int main(int argc, char **argv)
{
	page = sysconf(_SC_PAGESIZE);
	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
	if (argc == 5 && !strcmp(argv[1], "rate"))
		measure_rate(parse_number(argv[2]), parse_number(argv[3]), parse_number(argv[4]));
	else if (argc == 5 && !strcmp(argv[1], "contention") &&
		 (!strcmp(argv[2], "vmas20000") || !strcmp(argv[2], "giant")))
		measure_contention(argv[2], parse_number(argv[3]), parse_number(argv[4]));
	else
		errx(2, "usage: bench-smaps rate VMAS PAGES ITERATIONS\n"
		     "       bench-smaps contention vmas20000|giant ROUNDS CYCLES");
	return 0;
}
