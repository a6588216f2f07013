// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl top: what memory apps use and how their last switches went, again and
 * again.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asapctl.h"
#include "smaps.h"
#include "sysfs.h"

static void print_figure(const char *text, const char *name, int width)
{
	long long value = text ? stat_value(text, name) : -1;

	if (value < 0)
		printf(" %*s", width, "-");
	else
		printf(" %*lld", width, value);
}

/* A process that exits meanwhile uses nothing. */
static void add_memory(const char *app, unsigned long long *kb)
{
	char *procs = app_read(app, "procs"), *rest = procs, *word;

	while (procs && (word = strsep(&rest, "\n"))) {
		struct smaps s = { .pid = parse_pid(word) };

		if (s.pid < 0 || smaps_read(&s))
			continue;
		kb[0] += s.kb[SMAPS_RSS];
		kb[1] += s.kb[SMAPS_PSS];
		kb[2] += s.kb[SMAPS_SWAP];
	}
	free(procs);
}

static void print_app(const char *app)
{
	char *stat = app_read(app, "stat"), *state = app_read(app, "switch");
	unsigned long long kb[3] = { 0 };

	add_memory(app, kb);
	if (state)
		state[strcspn(state, "\n")] = '\0';
	printf("%-20s %-5s %10llu %10llu %10llu", app, state ? state : "-",
	       kb[0], kb[1], kb[2]);
	print_figure(stat, "switches", 8);
	print_figure(stat, "last_window_us", 9);
	print_figure(stat, "last_anon_accuracy_percent", 9);
	print_figure(stat, "last_anon_recall_percent", 9);
	print_figure(stat, "last_file_accuracy_percent", 9);
	print_figure(stat, "last_file_recall_percent", 9);
	putchar('\n');
	free(stat);
	free(state);
}

static int print_apps(void)
{
	struct app_name *names;
	int nr = app_names(&names);

	if (nr < 0) {
		complain("cannot list the apps: %s", strerror(errno));
		return EXIT_ERROR;
	}
	if (isatty(STDOUT_FILENO))
		fputs("\033[H\033[J", stdout);
	printf("%-20s %-5s %10s %10s %10s %8s %9s %9s %9s %9s %9s\n", "APP", "STATE",
	       "RSS-KB", "PSS-KB", "SWAP-KB", "SWITCHES", "LAST-US", "ANON-ACC%",
	       "ANON-REC%", "FILE-ACC%", "FILE-REC%");
	for (int i = 0; i < nr; i++)
		print_app(names[i].text);
	free(names);
	fflush(stdout);
	return EXIT_DONE;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ "count", required_argument, NULL, 'n' },
		{ NULL, 0, NULL, 0 },
	};
	double delay = 2;
	long count = 0;
	int c, status;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:n:", options, NULL)) != -1) {
		switch (c) {
		case 'd':
			delay = parse_seconds(optarg);
			if (!delay)
				return usage_error(&verb_top,
					"a delay is 0.01 to 86400 seconds, not '%s'", optarg);
			break;
		case 'n':
			count = parse_count(optarg);
			if (!count)
				return usage_error(&verb_top,
					"a count is a positive number, not '%s'", optarg);
			break;
		default:
			return usage_error(&verb_top, "what is '%s'?", argv[optind - 1]);
		}
	}
	if (optind < argc)
		return usage_error(&verb_top, "what is '%s'?", argv[optind]);
	for (;;) {
		status = print_apps();
		if (status || ferror(stdout) || (count && !--count))
			return status;
		sleep_seconds(delay);
	}
}

const struct verb verb_top = {
	.name = "top",
	.args = "[--delay SECONDS] [--count N]",
	.help = "memory of apps and their last switches, live",
	.options =
	"  -d, --delay SECONDS  between two looks (default 2)\n"
	"  -n, --count N        stop after N looks\n"
	"\nMemory is the sum over the app's processes; the other columns are those of stat.\n",
	.needs_asap = true,
	.run = run,
};
