// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl doctor: what keeps ASAP from doing its work, and what cures it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asapctl.h"
#include "state.h"
#include "sysfs.h"

struct report {
	bool json;
	unsigned int findings;
};

__printf(4, 5) static void finding(struct report *r, const char *id, const char *cure,
				   const char *format, ...)
{
	char what[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	if (r->json) {
		printf("%s{\"id\": ", r->findings ? ", " : "");
		json_string(id);
		printf(", \"finding\": ");
		json_string(what);
		printf(", \"cure\": ");
		json_string(cure);
		putchar('}');
	} else {
		printf("%s: %s\n  cure: %s\n", id, what, cure);
	}
	r->findings++;
}

static void check_kernel(struct report *r)
{
	char path[PATH_MAX];

	if (!mount_point("sysfs", path))
		finding(r, "sysfs", "mount -t sysfs none /sys", "sysfs is not mounted");
	if (!asap_present())
		finding(r, "kernel", "boot a kernel with the series and CONFIG_ASAP=y",
			"this kernel has no ASAP");
}

static void check_knobs(struct report *r)
{
	static const struct {
		const char *knob;
		const char *effect;
	} knobs[] = {
		{ "enabled", "ASAP is off" },
		{ "learn", "nothing is learned" },
		{ "prefetch", "nothing is fetched" },
		{ "anon_enabled", "no anonymous page is fetched" },
		{ "file_enabled", "no file page is fetched" },
	};
	char path[PATH_MAX], cure[PATH_MAX + 16];

	for (size_t i = 0; i < ARRAY_SIZE(knobs); i++) {
		asap_path(path, "%s", knobs[i].knob);
		if (file_number(path))
			continue;
		snprintf(cure, sizeof(cure), "echo 1 > %s", path);
		finding(r, knobs[i].knob, cure, "%s", knobs[i].effect);
	}
}

/* What a kernel was built with shows in the files of an app. */
static void check_app(struct report *r, const char *app)
{
	char path[PATH_MAX], *stat;
	long long switches, timeouts;

	asap_path(path, "apps/%s/candidates", app);
	if (access(path, F_OK))
		finding(r, "file-option", "build the kernel with CONFIG_ASAP_FILE=y",
			"app %s has no file 'candidates': this kernel fetches no files", app);
	stat = app_read(app, "stat");
	if (!stat)
		return;
	if (!stat_value(stat, "processes"))
		finding(r, "app-empty", "asapctl add NAME PID, or asapctl remove NAME",
			"app %s has no process", app);
	switches = stat_value(stat, "switches");
	timeouts = stat_value(stat, "total_timeouts");
	if (timeouts > 0 && 2 * timeouts > switches)
		finding(r, "app-timeouts", "asapctl switch end NAME when the app is there",
			"nobody ended %lld of the %lld switches to app %s", timeouts,
			switches, app);
	if (stat_value(stat, "total_stopped_low_memory") > 0)
		finding(r, "app-memory",
			"raise memory.high of its cgroup, or free memory before a switch",
			"low memory cut switches to app %s short", app);
	free(stat);
}

static void check_apps(struct report *r)
{
	struct app_name *names;
	int nr = app_names(&names);

	if (nr < 0)
		return;
	for (int i = 0; i < nr; i++)
		check_app(r, names[i].text);
	free(names);
}

static void check_swap(struct report *r)
{
	int zram_priority = 0, other_priority = 0, priority;
	bool zram = false, other = false;
	char path[PATH_MAX], line[PATH_MAX + 128], name[PATH_MAX];
	long long size, used;
	FILE *f;

	root_path(path, "/proc/swaps");
	f = fopen(path, "re");
	if (!f) {
		finding(r, "swap", "build the kernel with CONFIG_SWAP=y and CONFIG_ZRAM=y",
			"this kernel has no swap");
		return;
	}
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%4095s %*s %lld %lld %d", name, &size, &used,
			   &priority) != 4)
			continue;
		if (used > size - size / 20)
			finding(r, "swap-full", "a larger swap area",
				"%s is nearly full: fetched pages lose their place in it",
				name);
		if (!strncmp(name, "/dev/zram", 9) || !strncmp(name, "/dev/block/zram", 15)) {
			zram_priority = !zram || priority > zram_priority ? priority :
				zram_priority;
			zram = true;
		} else {
			other_priority = !other || priority > other_priority ? priority :
				other_priority;
			other = true;
		}
	}
	fclose(f);
	if (!zram && !other) {
		finding(r, "swap", "zramctl --find --size SIZE, mkswap, swapon --priority 100",
			"no swap is on: no anonymous page ever leaves memory");
		return;
	}
	if (zram && other && other_priority >= zram_priority)
		finding(r, "swap-priority", "swapon --priority 100 for the zram device",
			"zram is not used before the slower swap area");
	root_path(path, "/proc/sys/vm/page-cluster");
	if (zram && file_number(path) > 0)
		finding(r, "page-cluster", "sysctl vm.page-cluster=0",
			"vm.page-cluster is %lld: each fault reads pages from zram that nobody asked for",
			file_number(path));
	root_path(path, "/proc/sys/vm/swappiness");
	if (!file_number(path))
		finding(r, "swappiness", "sysctl vm.swappiness=100",
			"vm.swappiness is 0: only file pages leave memory");
}

static void check_zram(struct report *r)
{
	char path[PATH_MAX];
	long long disk, total;
	char *meminfo;

	root_path(path, "/proc/meminfo");
	meminfo = file_read(path, NULL);
	total = meminfo ? stat_value(meminfo, "MemTotal") : -1;
	free(meminfo);
	root_path(path, "/sys/block/zram0/disksize");
	disk = file_number(path);
	if (total > 0 && disk / 1024 > 4 * total)
		finding(r, "zram-size", "a disksize of one or two times the memory",
			"zram0 promises more than four times the memory");
}

static void check_state(struct report *r)
{
	char path[PATH_MAX];
	struct stat st;

	if (!mount_point("cgroup2", path))
		finding(r, "cgroup2", "mount -t cgroup2 cgroup2 /sys/fs/cgroup",
			"cgroup v2 is not mounted: apps cannot be frozen or pushed out by cgroup");
	if (stat(state_folder(), &st))
		return;
	if (!S_ISDIR(st.st_mode) || (st.st_mode & 077))
		finding(r, "state", "chmod 700 on that folder",
			"%s is open to others than its owner", state_folder());
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct report report = { false, 0 };
	bool present = asap_present();
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "j", options, NULL)) != -1) {
		if (c != 'j')
			return usage_error(&verb_doctor, "what is '%s'?", argv[optind - 1]);
		report.json = true;
	}
	if (optind < argc)
		return usage_error(&verb_doctor, "what is '%s'?", argv[optind]);
	if (report.json)
		printf("{\"asap\": %s, \"findings\": [", present ? "true" : "false");
	check_kernel(&report);
	if (present) {
		check_knobs(&report);
		check_apps(&report);
	}
	check_swap(&report);
	check_zram(&report);
	check_state(&report);
	if (report.json)
		puts("]}");
	else if (!report.findings)
		puts("nothing found");
	if (!present)
		return EXIT_NO_ASAP;
	return report.findings ? EXIT_ERROR : EXIT_DONE;
}

const struct verb verb_doctor = {
	.name = "doctor",
	.args = "[--json]",
	.help = "find what keeps ASAP from doing its work, each with its cure",
	.options =
	"  -j, --json  one JSON object\n"
	"\nExit status 1: something was found; 2: this kernel has no ASAP.\n",
	.run = run,
};
