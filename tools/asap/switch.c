// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl switch, profile: tell of switches, and steer what is learned of files.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asapctl.h"
#include "sysfs.h"

/* How often to look, and how long at most, whether a window has been evaluated. */
#define LOOK_S		0.02
#define LOOK_MAX_S	60

static int wait_harvest(const char *app, long long before)
{
	for (double waited = 0; waited < LOOK_MAX_S; waited += LOOK_S) {
		long long now = app_switches(app);

		if (now < 0) {
			complain("%s: %s", app, app_reason(errno));
			return EXIT_ERROR;
		}
		if (now > before)
			return EXIT_DONE;
		sleep_seconds(LOOK_S);
	}
	complain("%s: the window has not been evaluated in %d s", app, LOOK_MAX_S);
	return EXIT_ERROR;
}

static int run_switch(int argc, char **argv)
{
	static const struct option options[] = {
		{ "wait", no_argument, NULL, 'w' },
		{ NULL, 0, NULL, 0 },
	};
	const char *what, *app;
	long long before = 0;
	bool wait = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "w", options, NULL)) != -1) {
		if (c != 'w')
			return usage_error(&verb_switch, "what is '%s'?",
					   argv[optind - 1]);
		wait = true;
	}
	if (argc - optind != 2)
		return usage_error(&verb_switch, "start or end, and which app?");
	what = argv[optind];
	app = argv[optind + 1];
	if (strcmp(what, "start") && strcmp(what, "end"))
		return usage_error(&verb_switch, "start or end, not '%s'", what);
	if (wait && strcmp(what, "end"))
		return usage_error(&verb_switch, "--wait is for end");
	if (!app_name_ok(app))
		return usage_error(&verb_switch, "'%s' is no name of an app", app);
	if (wait) {
		before = app_switches(app);
		if (before < 0) {
			complain("%s: %s", app, app_reason(errno));
			return EXIT_ERROR;
		}
	}
	if (app_write(app, "switch", what))
		return EXIT_ERROR;
	return wait ? wait_harvest(app, before) : EXIT_DONE;
}

static int run_profile(int argc, char **argv)
{
	const char *app = argv[argc - 1];
	char *text;

	if (argc != 2 && argc != 3)
		return usage_error(&verb_profile, "which app?");
	if (!app_name_ok(app))
		return usage_error(&verb_profile, "'%s' is no name of an app", app);
	if (argc == 3) {
		if (strcmp(argv[1], "start") && strcmp(argv[1], "stop"))
			return usage_error(&verb_profile, "start or stop, not '%s'",
					   argv[1]);
		return app_write(app, "profile", argv[1]) ? EXIT_ERROR : EXIT_DONE;
	}
	text = app_read(app, "profile");
	if (!text) {
		complain("%s: %s", app, app_reason(errno));
		return EXIT_ERROR;
	}
	fputs(text, stdout);
	free(text);
	return EXIT_DONE;
}

const struct verb verb_switch = {
	.name = "switch",
	.args = "[--wait] start|end NAME",
	.help = "tell that an app comes to the front, or that it has got there",
	.options =
	"  -w, --wait  after end, wait until what the switch showed has been learned\n",
	.needs_asap = true,
	.run = run_switch,
};

const struct verb verb_profile = {
	.name = "profile",
	.args = "[start|stop] NAME",
	.help = "show how far the profile of an app's files is, begin it anew, or end it",
	.needs_asap = true,
	.run = run_profile,
};
