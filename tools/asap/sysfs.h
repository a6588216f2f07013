/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's files: where they are, and reading and writing them.
 *
 * $ASAPCTL_ROOT, if set, stands before every path of them, so that tests can make
 * up a kernel's files.
 */
#ifndef _SYSFS_H
#define _SYSFS_H

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "asapctl.h"

/* The longest name that the kernel gives an app, and its '\0'. */
#define APP_NAME_SIZE	64

/**
 * struct app_name - the name of an app
 * @text:	its characters
 */
struct app_name {
	char text[APP_NAME_SIZE];
};

/**
 * root_path - a path among the kernel's files
 * @path:	PATH_MAX bytes for it
 * @format:	as for printf(), an absolute path
 */
__printf(2, 3) void root_path(char *path, const char *format, ...);

/**
 * asap_path - a path below ASAP's folder in sysfs, wherever that is mounted
 * @path:	PATH_MAX bytes for it
 * @format:	as for printf()
 */
__printf(2, 3) void asap_path(char *path, const char *format, ...);

/**
 * mount_point - where a file system of some type is mounted, by /proc/mounts
 * @type:	of the file system
 * @path:	PATH_MAX bytes for the mount point, without $ASAPCTL_ROOT
 *
 * Return: whether one is
 */
bool mount_point(const char *type, char *path);

/**
 * asap_present - whether the kernel has ASAP
 *
 * Return: true if it has
 */
bool asap_present(void);

/**
 * file_read - a whole file
 * @path:	which
 * @len:	its length in bytes, without the '\0' that is added; may be NULL
 *
 * Return: its bytes, for free(); or NULL, and errno says why
 */
char *file_read(const char *path, size_t *len);

/**
 * file_number - the number that a file holds
 * @path:	which
 *
 * Return: the number, or -1
 */
long long file_number(const char *path);

/**
 * file_write - write to a file that exists
 * @path:	which
 * @text:	what
 * @len:	its length in bytes
 *
 * The text goes out in as few write() as possible, and the first that fails ends
 * it: the kernel says there what it thinks of the text.
 *
 * Return: 0 or an errno value
 */
int file_write(const char *path, const char *text, size_t len);

/**
 * app_name_ok - whether the kernel would take this name for an app
 * @name:	the name
 *
 * What the kernel refuses is never part of a path.
 *
 * Return: true if it would
 */
bool app_name_ok(const char *name);

/**
 * app_write - write a word to one of an app's files, and complain if that fails
 * @app:	the app's name
 * @file:	the file's name
 * @word:	the word
 *
 * Return: 0 or an errno value
 */
int app_write(const char *app, const char *file, const char *word);

/**
 * app_read - the text of one of an app's files
 * @app:	the app's name
 * @file:	the file's name
 *
 * Return: the text, for free(); or NULL, and errno says why
 */
char *app_read(const char *app, const char *file);

/**
 * app_make - make an app, unless it is there
 * @app:	its name
 *
 * Return: 0 or an errno value; it has been complained about
 */
int app_make(const char *app);

/**
 * app_switches - how many windows an app has had
 * @app:	its name
 *
 * Return: the number, or -1, and errno says why
 */
long long app_switches(const char *app);

/**
 * app_reason - say why an app's file could not be used
 * @error:	an errno value
 *
 * Return: a text
 */
const char *app_reason(int error);

/**
 * app_names - the apps that exist, sorted by name
 * @names:	an array of names, for free()
 *
 * Return: how many, or -1, and errno says why
 */
int app_names(struct app_name **names);

/**
 * typedef stat_fn - what to do with a figure
 * @name:	its name
 * @value:	its value, as the kernel wrote it
 * @data:	the caller's
 */
typedef void stat_fn(const char *name, const char *value, void *data);

/**
 * stat_each - go through figures, a name and a value a line
 * @text:	the lines; they are taken apart
 * @fn:		called for each
 * @data:	for @fn
 */
void stat_each(char *text, stat_fn *fn, void *data);

/**
 * stat_value - one of a text's figures
 * @text:	lines of a name and a number each
 * @name:	which
 *
 * Return: the number, or -1 if there is none of this name
 */
long long stat_value(const char *text, const char *name);

#endif
