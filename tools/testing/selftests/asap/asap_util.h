/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the ASAP tests share: a process for each test and a clean slate after it,
 * the files of /sys/kernel/mm/asap/, swap on zram, and a look at page tables.
 */
#ifndef _ASAP_UTIL_H
#define _ASAP_UTIL_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "../kselftest.h"

#define ASAP_SYSFS	"/sys/kernel/mm/asap"
#define ASAP_APPS	ASAP_SYSFS "/apps"

/* pagemap */
#define BIT_ULL(nr)	(1ULL << (nr))
#define PM_SOFT_DIRTY	BIT_ULL(55)
#define PM_UFFD_WP	BIT_ULL(57)
#define PM_SWAP		BIT_ULL(62)
#define PM_PRESENT	BIT_ULL(63)

/* Tests. */

struct asap_test {
	const char *name;
	void (*fn)(void);
};

enum asap_needs {
	ASAP_NEEDS_NOTHING,
	ASAP_NEEDS_SWAP,
};

/*
 * Run each test in a process of its own, with ASAP enabled and no app; then kill
 * what it left behind, remove its apps and set all knobs back. Return: the exit
 * status of the program.
 */
int asap_run_tests(const struct asap_test *tests, unsigned int nr,
		   enum asap_needs needs);

/* End the test: what it needs is not there. */
void __noreturn __printf(1, 2) skip_test(const char *fmt, ...);

void __noreturn expect_failed(const char *file, int line, const char *what);
void __noreturn expect_eq_failed(const char *file, int line,
				 const char *got_text, const char *want_text,
				 long long got, long long want);

/* Any process of a test may use these; the test has to look at its children. */
#define expect(cond)							\
	do {								\
		if (!(cond))						\
			expect_failed(__FILE__, __LINE__, #cond);	\
	} while (0)

#define expect_eq(got, want)						\
	do {								\
		long long _got = (got), _want = (want);			\
									\
		if (_got != _want)					\
			expect_eq_failed(__FILE__, __LINE__, #got,	\
					 #want, _got, _want);		\
	} while (0)

/*
 * Wait for something that the kernel does in its own time. The limit is there to
 * tell a hang, it is no measure of speed.
 */
#define WAIT_TRIES	120000
#define wait_for(cond)							\
	do {								\
		int _tries = WAIT_TRIES;				\
									\
		while (!(cond)) {					\
			if (!--_tries)					\
				expect_failed(__FILE__, __LINE__,	\
					      "waited for " #cond);	\
			usleep(1000);					\
		}							\
	} while (0)

/* Wait for a child that shall exit with 0. */
#define expect_child(pid)	expect_eq(child_status(pid), 0)
int child_status(pid_t pid);

/* A child that lives until it is told, or killed with the test. */
pid_t fork_idle(void);
void kill_child(pid_t pid);

/* Files. */

int file_write(const char *path, const char *text);	/* 0 or -errno */
int file_read(const char *path, char *buf, size_t size); /* length or -errno */
long long file_number(const char *path);
/* The number behind a word at the start of a line; fails where there is none. */
long long file_value(const char *path, const char *word);
long long vmstat_value(const char *word);
/* A program that was installed beside this one. */
void beside_me(char *path, size_t size, const char *name);
int file_copy(const char *from, const char *to, mode_t mode);

/* Knobs and apps. Writes return 0 or -errno. */

int knob_write(const char *knob, const char *text);
int app_create(const char *name);
int app_remove(const char *name);
int app_write(const char *app, const char *file, const char *text);
int app_join(const char *app, pid_t pid);
long long app_stat(const char *app, const char *word);
bool app_is_open(const char *app);
bool app_has_pid(const char *app, pid_t pid);
/* Close the window and wait for its harvest. */
void app_end(const char *app);
/* Wait until the app has seen that many windows in all. */
void app_wait_switches(const char *app, long long nr);

/* The kernel's log, from now on or from its beginning. */

int log_open(int whence);	/* SEEK_END or SEEK_SET */
bool log_says(int fd, const char *text);	/* in what was not read yet */

/* Pages. */

size_t page_size(void);
char *map_pages(size_t nr);
/* Contents that differ from page to page, with seed, and are never zero. */
void fill_page(char *page, uint64_t seed);
void fill_pages(char *area, size_t nr, uint64_t seed);
bool page_is(const char *page, uint64_t seed);
void expect_pages(const char *area, size_t nr, uint64_t seed);

uint64_t pagemap_of(pid_t pid, const char *page);	/* pid 0: this process */
size_t count_pagemap(pid_t pid, const char *area, size_t nr, uint64_t bit);
/* Push private pages out until no one is present. */
void page_out(char *area, size_t nr);
/* Read a byte, and write it back, such that the compiler leaves it alone. */
char touch_read(const char *page);
void touch_write(char *page);

/*
 * Let this process, a member of the app, switch until all pages of an area are
 * targets: they are pushed out, the window is opened, they are read, it is closed.
 */
void learn_area(const char *app, char *area, size_t nr);
/* Push the area out, open a window and wait until all of it is back. */
void prefetch_area(const char *app, char *area, size_t nr);

/* Swap on /dev/zram0. Return: 0 or -errno. */

#define ZRAM_MB		512

int swap_on(void);
int swap_off(void);
int swap_detach(void);	/* swapoff() alone; zram keeps its disk */
int swap_attach(void);
long long zram_writes(void);

/* A memory cgroup of the test's own. */

#define ASAP_CGROUP	"/sys/fs/cgroup/asap_test"

void cgroup_make(void);	/* skips the test when there is no memory controller */
int cgroup_join(pid_t pid);

#endif /* _ASAP_UTIL_H */
