// SPDX-License-Identifier: GPL-2.0
/*
 * What an app takes is given back with it: many apps are made, used and removed,
 * and the kernel has no more objects and no more memory in use than before.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "asap_util.h"

#define APP	"leaks"
#define PAGES	128
#define SEED	70000
#define CYCLES	60

#define KMEMLEAK	"/sys/kernel/debug/kmemleak"

static void expect_nothing_left(void)
{
	expect_eq(file_value(ASAP_SYSFS "/stat", "apps"), 0);
	expect_eq(file_value(ASAP_SYSFS "/stat", "processes"), 0);
	expect_eq(file_value(ASAP_SYSFS "/stat", "windows_open"), 0);
}

/* An app's life: processes join and leave, windows open, and one is cut off. */
static void app_life(char *area)
{
	pid_t pid;

	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
	learn_area(APP, area, PAGES);
	prefetch_area(APP, area, PAGES);
	expect_pages(area, PAGES, SEED);
	pid = fork_idle();
	expect_eq(app_stat(APP, "processes"), 2);
	kill_child(pid);
	app_end(APP);
	/* First: what a child has mapped as well is not pushed out. */
	page_out(area, PAGES);
	pid = fork_idle();
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_eq(app_remove(APP), 0);
	kill_child(pid);
}

static long long kmalloc_objects(void)
{
	static char buf[1 << 18];
	long long sum = 0;
	char *line;

	if (file_read("/proc/slabinfo", buf, sizeof(buf)) < 0)
		return -1;
	for (line = strtok(buf, "\n"); line; line = strtok(NULL, "\n")) {
		char name[64];
		long long active;

		if (sscanf(line, "%63s %lld", name, &active) == 2 &&
		    !strncmp(name, "kmalloc", 7))
			sum += active;
	}
	return sum;
}

/* What is freed after a grace period, and then by a work item, takes a while. */
static void settle(void)
{
	sleep(2);
}

static void memory_comes_back(void)
{
	char *area = map_pages(PAGES);
	long long objects, vmalloc;
	int i;

	fill_pages(area, PAGES, SEED);
	/* The first ones fill caches that stay. */
	for (i = 0; i < 5; i++)
		app_life(area);
	settle();
	objects = kmalloc_objects();
	vmalloc = file_value("/proc/meminfo", "VmallocUsed");
	for (i = 0; i < CYCLES; i++)
		app_life(area);
	settle();
	expect_nothing_left();
	vmalloc = file_value("/proc/meminfo", "VmallocUsed") - vmalloc;
	ksft_print_msg("vmalloc: %lld kB more after %d apps\n", vmalloc, CYCLES);
	/* A page an app would be this much. */
	expect(vmalloc < CYCLES * 4);
	if (objects < 0) {
		ksft_print_msg("no /proc/slabinfo to look into\n");
		return;
	}
	objects = kmalloc_objects() - objects;
	ksft_print_msg("kmalloc: %lld objects more after %d apps\n", objects,
		       CYCLES);
	/*
	 * Objects that are free in a CPU's own slab count as in use: one a CPU
	 * and size. An object an app would be this much.
	 */
	expect(objects < 10 * CYCLES);
}

/* kmemleak counts an object that two scans found no pointer to, once 5 s old. */
static void kmemleak_finds_nothing(void)
{
	static char buf[1 << 18];
	char *area, *record;
	int i;

	if (access(KMEMLEAK, W_OK))
		skip_test("no kmemleak");
	area = map_pages(PAGES);
	fill_pages(area, PAGES, SEED);
	for (i = 0; i < 5; i++)
		app_life(area);
	sleep(6);
	expect_eq(file_write(KMEMLEAK, "scan"), 0);
	expect_eq(file_write(KMEMLEAK, "scan"), 0);
	expect(file_read(KMEMLEAK, buf, sizeof(buf)) >= 0);
	record = strstr(buf, "asap_");
	if (record)
		ksft_print_msg("%.2000s\n", buf);
	expect(!record);
	expect_nothing_left();
}

/* Processes that end after their app has been removed give back what they had. */
static void members_outlive_apps(void)
{
	char *area = map_pages(PAGES);
	pid_t pid[8];
	size_t i;

	fill_pages(area, PAGES, SEED);
	expect_eq(app_create(APP), 0);
	for (i = 0; i < ARRAY_SIZE(pid); i++) {
		pid[i] = fork_idle();
		expect_eq(app_join(APP, pid[i]), 0);
	}
	expect_eq(app_write(APP, "switch", "start"), 0);
	for (i = 0; i < ARRAY_SIZE(pid) / 2; i++)
		kill_child(pid[i]);
	expect_eq(app_remove(APP), 0);
	expect_nothing_left();
	for (; i < ARRAY_SIZE(pid); i++)
		kill_child(pid[i]);
	expect_nothing_left();
	/* The name is free again, and the new app knows nothing of the old one. */
	expect_eq(app_create(APP), 0);
	expect_eq(app_stat(APP, "processes"), 0);
	expect_eq(app_stat(APP, "switches"), 0);
}

static const struct asap_test tests[] = {
	{ "memory comes back", memory_comes_back },
	{ "members outlive their app", members_outlive_apps },
	{ "kmemleak finds nothing", kmemleak_finds_nothing },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_SWAP);
}
