// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl: look at and control ASAP from the command line. Each verb has a file
 * of its own; this one finds it.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asapctl.h"
#include "sysfs.h"

static const struct verb *const verbs[] = {
	&verb_run,
	&verb_add,
	&verb_remove,
	&verb_switch,
	&verb_profile,
	&verb_save,
	&verb_load,
	&verb_stat,
	&verb_top,
	&verb_meminfo,
	&verb_doctor,
	&verb_persist,
};

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

void complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("asapctl: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

int usage_error(const struct verb *verb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "asapctl %s: ", verb->name);
	vfprintf(stderr, format, args);
	fprintf(stderr, "\nusage: asapctl %s %s\n", verb->name, verb->args);
	va_end(args);
	return EXIT_USAGE;
}

pid_t parse_pid(const char *text)
{
	char *end;
	long pid;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (errno || end == text || *end || pid < 1 || pid > INT_MAX)
		return -1;
	return pid;
}

long parse_count(const char *text)
{
	char *end;
	long count;

	errno = 0;
	count = strtol(text, &end, 10);
	if (errno || end == text || *end || count < 1)
		return 0;
	return count;
}

double parse_seconds(const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds >= 0.01 && seconds <= 86400))
		return 0;
	return seconds;
}

void sleep_seconds(double seconds)
{
	struct timespec ts = { .tv_sec = seconds };

	ts.tv_nsec = (seconds - ts.tv_sec) * 1e9;
	nanosleep(&ts, NULL);
}

void json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = *text;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

void json_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	printf("%lld.%03ld", (long long)now.tv_sec, now.tv_nsec / 1000000);
}

void print_plain(const char *text)
{
	for (; *text; text++)
		putchar(iscntrl((unsigned char)*text) ? '?' : *text);
}

static void print_usage(FILE *out)
{
	fputs("usage: asapctl VERB [ARGUMENT...]\n\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
		fprintf(out, "  %-10s %s\n", verbs[i]->name, verbs[i]->help);
	fprintf(out, "  %-10s %s\n", "help", "this text, or more about one verb");
}

static int show_help(const char *name)
{
	const struct verb *verb;

	if (!name) {
		print_usage(stdout);
		return EXIT_DONE;
	}
	verb = find_verb(name);
	if (!verb) {
		complain("there is no verb '%s'; try 'asapctl help'", name);
		return EXIT_USAGE;
	}
	printf("usage: asapctl %s %s\n\n%s\n", verb->name, verb->args, verb->help);
	if (verb->options)
		printf("\n%s", verb->options);
	return EXIT_DONE;
}

int main(int argc, char **argv)
{
	const struct verb *verb;
	int status;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") ||
	    !strcmp(argv[1], "-h")) {
		status = show_help(argc > 2 ? argv[2] : NULL);
	} else {
		verb = find_verb(argv[1]);
		if (!verb) {
			complain("there is no verb '%s'; try 'asapctl help'", argv[1]);
			return EXIT_USAGE;
		}
		if (verb->needs_asap && !asap_present()) {
			complain("this kernel has no ASAP ('asapctl doctor' says more)");
			return EXIT_NO_ASAP;
		}
		status = verb->run(argc - 1, argv + 1);
	}
	if (fflush(stdout) || ferror(stdout)) {
		complain("cannot write the output: %s", strerror(errno));
		return EXIT_ERROR;
	}
	return status;
}
