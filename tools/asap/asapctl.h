/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What asapctl and its verbs share. A verb is one file: it defines a struct verb
 * named verb_NAME, and has one line in asapctl.c and one word in the Makefile.
 */
#ifndef _ASAPCTL_H
#define _ASAPCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define __printf(a, b) __attribute__((	\
	__format__(__printf__, a, b)))

/* Exit status */
enum {
	EXIT_DONE = 0,
	EXIT_ERROR = 1,		/* something that was asked for failed */
	EXIT_NO_ASAP = 2,	/* the kernel has no ASAP */
	EXIT_USAGE = 3,		/* it is not clear what was asked for */
};

/**
 * struct verb - one thing that asapctl does
 * @name:	the word on the command line
 * @args:	its arguments, for the usage line
 * @help:	what it does, in one line
 * @options:	text about its options, for "asapctl help NAME"; may be NULL
 * @needs_asap:	nothing can be done on a kernel without ASAP
 * @run:	called with the verb itself as argv[0]; returns the exit status
 */
struct verb {
	const char *name;
	const char *args;
	const char *help;
	const char *options;
	bool needs_asap;
	int (*run)(int argc, char **argv);
};

extern const struct verb verb_add;
extern const struct verb verb_doctor;
extern const struct verb verb_load;
extern const struct verb verb_meminfo;
extern const struct verb verb_persist;
extern const struct verb verb_profile;
extern const struct verb verb_remove;
extern const struct verb verb_run;
extern const struct verb verb_save;
extern const struct verb verb_stat;
extern const struct verb verb_switch;
extern const struct verb verb_top;

/**
 * complain - print a line to stderr, with "asapctl: " before it
 * @format:	as for printf()
 */
__printf(1, 2) void complain(const char *format, ...);

/**
 * usage_error - say what is wrong with the command line, and how it should be
 * @verb:	whose command line it is
 * @format:	as for printf()
 *
 * Return: EXIT_USAGE
 */
__printf(2, 3) int usage_error(const struct verb *verb, const char *format, ...);

/**
 * parse_pid - a process ID from the command line
 * @text:	the word
 *
 * Return: the PID, or -1 when @text is none
 */
pid_t parse_pid(const char *text);

/**
 * parse_count - a positive number from the command line
 * @text:	the word
 *
 * Return: the number, or 0 when @text is none
 */
long parse_count(const char *text);

/**
 * parse_seconds - a time from the command line
 * @text:	the word
 *
 * Return: the time, 0.01 to 86400 s, or 0 when @text is none
 */
double parse_seconds(const char *text);

/**
 * sleep_seconds - wait
 * @seconds:	how long; a signal ends it
 */
void sleep_seconds(double seconds);

/**
 * json_string - print a quoted JSON string to stdout
 * @text:	any bytes; those outside ASCII and controls are escaped
 */
void json_string(const char *text);

/**
 * json_time - print the time of day as a JSON number to stdout
 */
void json_time(void);

/**
 * print_plain - print text that somebody else chose to stdout
 * @text:	any bytes; controls become question marks
 */
void print_plain(const char *text);

#endif
