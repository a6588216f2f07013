// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl meminfo: what memory processes use, from /proc/PID/smaps_rollup, or
 * where a kernel has none from the sum over /proc/PID/smaps.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asapctl.h"

/* The fields of either file, and which of them the table shows. */
static const struct {
	const char *name;
	const char *column;
} fields[] = {
	{ "Rss", "RSS" },
	{ "Pss", "PSS" },
	{ "Pss_Dirty", NULL },
	{ "Pss_Anon", NULL },
	{ "Pss_File", NULL },
	{ "Pss_Shmem", NULL },
	{ "Shared_Clean", NULL },
	{ "Shared_Dirty", NULL },
	{ "Private_Clean", NULL },
	{ "Private_Dirty", "PRIV-DIRTY" },
	{ "Referenced", "REFERENCED" },
	{ "Anonymous", "ANON" },
	{ "KSM", NULL },
	{ "LazyFree", NULL },
	{ "AnonHugePages", NULL },
	{ "ShmemPmdMapped", NULL },
	{ "FilePmdMapped", NULL },
	{ "Shared_Hugetlb", NULL },
	{ "Private_Hugetlb", NULL },
	{ "Swap", "SWAP" },
	{ "SwapPss", "SWAP-PSS" },
	{ "Locked", "LOCKED" },
};

#define COLUMN_WIDTH 11

struct sample {
	pid_t pid;
	char comm[64];
	const char *source;
	unsigned long long kb[ARRAY_SIZE(fields)];
	bool have[ARRAY_SIZE(fields)];
};

/* Add the value of a line "Name:   123 kB" to its field. */
static void add_line(struct sample *s, const char *line)
{
	const char *colon = strchr(line, ':');
	unsigned long long kb;
	size_t i;

	if (!colon || sscanf(colon + 1, "%llu kB", &kb) != 1)
		return;
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = strlen(fields[i].name);

		if (len == (size_t)(colon - line) && !memcmp(line, fields[i].name, len)) {
			s->kb[i] += kb;
			s->have[i] = true;
			return;
		}
	}
}

/* Returns 0 or an errno value. */
static int add_file(struct sample *s, const char *name)
{
	char path[64], line[PATH_MAX + 256];
	int error = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", s->pid, name);
	f = fopen(path, "re");
	if (!f)
		return errno;
	memset(s->kb, 0, sizeof(s->kb));
	memset(s->have, 0, sizeof(s->have));
	s->source = name;
	errno = 0;
	while (fgets(line, sizeof(line), f))
		add_line(s, line);
	if (ferror(f))
		error = errno;
	fclose(f);
	/* A process that has just died has an empty smaps. */
	if (!error && !s->have[0])
		error = ESRCH;
	return error;
}

static void read_comm(struct sample *s)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", s->pid);
	s->comm[0] = 0;
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(s->comm, sizeof(s->comm), f))
		s->comm[strcspn(s->comm, "\n")] = 0;
	fclose(f);
}

/*
 * ENOENT for smaps_rollup means that the kernel has none or that the process is
 * gone; smaps, which is older, tells one from the other.
 */
static int take_sample(struct sample *s)
{
	int error = add_file(s, "smaps_rollup");

	if (error == ENOENT) {
		error = add_file(s, "smaps");
		if (error == ENOENT)
			error = ESRCH;
	}
	if (!error)
		read_comm(s);
	return error;
}

static const char *reason(int error)
{
	switch (error) {
	case ESRCH:
		return "no such process, or one without memory of its own";
	case EACCES:
		return "not allowed; it belongs to another user or is protected";
	default:
		return strerror(error);
	}
}

static void print_header(void)
{
	printf("%7s", "PID");
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].column)
			printf(" %*s", COLUMN_WIDTH, fields[i].column);
	printf("  COMMAND\n");
}

static void print_row(const struct sample *s)
{
	printf("%7d", s->pid);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		if (!fields[i].column)
			continue;
		if (s->have[i])
			printf(" %*llu", COLUMN_WIDTH, s->kb[i]);
		else
			printf(" %*s", COLUMN_WIDTH, "-");
	}
	/* A process chooses its own name: no control characters. */
	fputs("  ", stdout);
	for (const char *c = s->comm; *c; c++)
		putchar(iscntrl((unsigned char)*c) ? '?' : *c);
	putchar('\n');
}

static void print_json(const struct sample *s, bool first)
{
	printf("%s{\"pid\": %d, \"comm\": ", first ? "" : ", ", s->pid);
	json_string(s->comm);
	printf(", \"source\": \"%s\"", s->source);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (s->have[i])
			printf(", \"%s\": %llu", fields[i].name, s->kb[i]);
	putchar('}');
}

/* One line, so that a stream of them can be read as it comes. */
static int print_samples(char **pids, int n, bool json)
{
	int status = EXIT_DONE;
	bool first = true;
	struct timespec now;

	if (json) {
		clock_gettime(CLOCK_REALTIME, &now);
		printf("{\"time\": %lld.%03ld, \"unit\": \"kB\", \"processes\": [",
		       (long long)now.tv_sec, now.tv_nsec / 1000000);
	} else {
		print_header();
	}
	for (int i = 0; i < n; i++) {
		struct sample s = { .pid = parse_pid(pids[i]) };
		int error = take_sample(&s);

		if (error) {
			complain("process %d: %s", s.pid, reason(error));
			status = EXIT_ERROR;
			continue;
		}
		if (json)
			print_json(&s, first);
		else
			print_row(&s);
		first = false;
	}
	if (json)
		puts("]}");
	fflush(stdout);
	return status;
}

static bool parse_rate(const char *text, double *rate)
{
	char *end;

	*rate = strtod(text, &end);
	return end != text && !*end && *rate >= 0.001 && *rate <= 1000;
}

/* Samples keep to the clock: what one takes does not put off the next. */
static void wait_for(struct timespec *next, double rate)
{
	long long ns = next->tv_nsec + (long long)(1e9 / rate);

	next->tv_sec += ns / 1000000000;
	next->tv_nsec = ns % 1000000000;
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL) == EINTR)
		;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "watch", required_argument, NULL, 'w' },
		{ "count", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	bool json = false;
	double rate = 0;
	long count = 0;
	struct timespec next;
	char *end;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "jw:n:", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			json = true;
			break;
		case 'w':
			if (!parse_rate(optarg, &rate))
				return usage_error(&verb_meminfo,
					"a rate is 0.001 to 1000 samples a second, not '%s'",
					optarg);
			break;
		case 'n':
			count = strtol(optarg, &end, 10);
			if (*end || count < 1)
				return usage_error(&verb_meminfo,
					"a count is a positive number, not '%s'", optarg);
			break;
		default:
			return usage_error(&verb_meminfo, "what is '%s'?",
					   argv[optind - 1]);
		}
	}
	if (optind == argc)
		return usage_error(&verb_meminfo, "which process?");
	for (int i = optind; i < argc; i++)
		if (parse_pid(argv[i]) < 0)
			return usage_error(&verb_meminfo, "'%s' is not a process ID",
					   argv[i]);
	if (count && !rate)
		return usage_error(&verb_meminfo, "--count needs --watch");

	if (!rate)
		return print_samples(argv + optind, argc - optind, json);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		status = print_samples(argv + optind, argc - optind, json);
		if (ferror(stdout) || (count && !--count))
			return status;
		wait_for(&next, rate);
	}
}

const struct verb verb_meminfo = {
	.name = "meminfo",
	.args = "[--json] [--watch RATE [--count N]] PID...",
	.help = "memory of processes in kB, from smaps_rollup",
	.options =
	"  -j, --json        all fields, one JSON object a line for each sample\n"
	"  -w, --watch RATE  sample RATE times a second (0.001 to 1000) until stopped\n"
	"  -n, --count N     stop after N samples\n"
	"\n"
	"Where the kernel has no smaps_rollup, smaps is summed; Pss and the like then\n"
	"lack up to 1 kB a mapping. Exit status 1: a process could not be read.\n",
	.run = run,
};
