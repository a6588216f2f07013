/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What asapctl and its verbs share. A verb is one file: it defines a struct verb
 * named verb_NAME, and has one line in asapctl.c and one word in the Makefile.
 */
#ifndef _ASAPCTL_H
#define _ASAPCTL_H

#include <stddef.h>
#include <sys/types.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define __printf(a, b) __attribute__((	\
	__format__(__printf__, a, b)))

/* Exit status */
enum {
	EXIT_DONE = 0,
	EXIT_ERROR = 1,		/* something that was asked for failed */
	EXIT_USAGE = 2,		/* it is not clear what was asked for */
};

/**
 * struct verb - one thing that asapctl does
 * @name:	the word on the command line
 * @args:	its arguments, for the usage line
 * @help:	what it does, in one line
 * @options:	text about its options, for "asapctl help NAME"; may be NULL
 * @run:	called with the verb itself as argv[0]; returns the exit status
 */
struct verb {
	const char *name;
	const char *args;
	const char *help;
	const char *options;
	int (*run)(int argc, char **argv);
};

extern const struct verb verb_meminfo;

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
 * json_string - print a quoted JSON string to stdout
 * @text:	any bytes; those outside ASCII and controls are escaped
 */
void json_string(const char *text);

#endif
