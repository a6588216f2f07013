// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl meminfo: what memory processes use, from /proc/PID/smaps_rollup, or
 * where a kernel has none from the sum over /proc/PID/smaps.
 */
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asapctl.h"
#include "smaps.h"

#define COLUMN_WIDTH 11

static void print_header(void)
{
	printf("%7s", "PID");
	for (size_t i = 0; i < SMAPS_NR_FIELDS; i++)
		if (smaps_fields[i].column)
			printf(" %*s", COLUMN_WIDTH, smaps_fields[i].column);
	printf("  COMMAND\n");
}

static void print_row(const struct smaps *s)
{
	printf("%7d", s->pid);
	for (size_t i = 0; i < SMAPS_NR_FIELDS; i++) {
		if (!smaps_fields[i].column)
			continue;
		if (s->have[i])
			printf(" %*llu", COLUMN_WIDTH, s->kb[i]);
		else
			printf(" %*s", COLUMN_WIDTH, "-");
	}
	/* A process chooses its own name: no control characters. */
	fputs("  ", stdout);
	print_plain(s->comm);
	putchar('\n');
}

static void print_json(const struct smaps *s, bool first)
{
	printf("%s{\"pid\": %d, \"comm\": ", first ? "" : ", ", s->pid);
	json_string(s->comm);
	printf(", \"source\": \"%s\"", s->source);
	for (size_t i = 0; i < SMAPS_NR_FIELDS; i++)
		if (s->have[i])
			printf(", \"%s\": %llu", smaps_fields[i].name, s->kb[i]);
	putchar('}');
}

/* One line, so that a stream of them can be read as it comes. */
static int print_samples(char **pids, int n, bool json)
{
	int status = EXIT_DONE;
	bool first = true;

	if (json) {
		printf("{\"time\": ");
		json_time();
		printf(", \"unit\": \"kB\", \"processes\": [");
	} else {
		print_header();
	}
	for (int i = 0; i < n; i++) {
		struct smaps s = { .pid = parse_pid(pids[i]) };
		int error = smaps_read(&s);

		if (error) {
			complain("process %d: %s", s.pid, smaps_reason(error));
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
			count = parse_count(optarg);
			if (!count)
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
