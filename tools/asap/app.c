// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl add, remove, run: make an app, put processes into it, and drop it.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "asapctl.h"
#include "state.h"
#include "sysfs.h"

static int join(const char *app, pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	return app_write(app, "procs", text);
}

/*
 * Make the app, with its saved table if that is wanted. An app that has learned
 * something knows more than its table.
 */
static int make(const char *app, bool load)
{
	if (app_make(app))
		return EXIT_ERROR;
	if (load && !app_switches(app))
		return state_load(app);
	return EXIT_DONE;
}

/* Return: whether the options are all right; the name is at argv[optind]. */
static bool parse(const struct verb *verb, int argc, char **argv, bool *load)
{
	static const struct option options[] = {
		{ "load", no_argument, NULL, 'l' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	*load = false;
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+l", options, NULL)) != -1) {
		if (c != 'l') {
			usage_error(verb, "what is '%s'?", argv[optind - 1]);
			return false;
		}
		*load = true;
	}
	if (optind == argc) {
		usage_error(verb, "which app?");
		return false;
	}
	if (!app_name_ok(argv[optind])) {
		usage_error(verb, "'%s' is no name of an app", argv[optind]);
		return false;
	}
	return true;
}

static int run_add(int argc, char **argv)
{
	int status = EXIT_DONE;
	const char *app;
	bool load;

	if (!parse(&verb_add, argc, argv, &load))
		return EXIT_USAGE;
	app = argv[optind++];
	for (int i = optind; i < argc; i++)
		if (parse_pid(argv[i]) < 0)
			return usage_error(&verb_add, "'%s' is not a process ID", argv[i]);
	status = make(app, load);
	for (int i = optind; i < argc; i++)
		if (join(app, parse_pid(argv[i])))
			status = EXIT_ERROR;
	return status;
}

static int run_remove(int argc, char **argv)
{
	char path[PATH_MAX];
	int error;

	if (argc != 2)
		return usage_error(&verb_remove, "which app?");
	if (!app_name_ok(argv[1]))
		return usage_error(&verb_remove, "'%s' is no name of an app", argv[1]);
	asap_path(path, "apps/remove");
	error = file_write(path, argv[1], strlen(argv[1]));
	if (error)
		complain("%s: cannot remove the app: %s", argv[1], app_reason(error));
	return error ? EXIT_ERROR : EXIT_DONE;
}

static int run_run(int argc, char **argv)
{
	const char *app;
	int error;
	bool load;

	if (!parse(&verb_run, argc, argv, &load))
		return EXIT_USAGE;
	app = argv[optind++];
	if (optind < argc && !strcmp(argv[optind], "--"))
		optind++;
	if (optind == argc)
		return usage_error(&verb_run, "which command?");
	/* A table that cannot be loaded keeps no app from starting. */
	make(app, load);
	error = join(app, getpid());
	if (error)
		return EXIT_ERROR;
	execvp(argv[optind], argv + optind);
	error = errno;
	complain("cannot run '%s': %s", argv[optind], strerror(error));
	return error == ENOENT ? 127 : 126;
}

#define LOAD_OPTION \
	"  -l, --load  load the app's saved table, if there is one and the app is new\n"

const struct verb verb_add = {
	.name = "add",
	.args = "[--load] NAME [PID...]",
	.help = "make an app unless it is there, and let processes join",
	.options = LOAD_OPTION
	"\nChildren that are forked later join by themselves.\n",
	.needs_asap = true,
	.run = run_add,
};

const struct verb verb_remove = {
	.name = "remove",
	.args = "NAME",
	.help = "drop an app and all that it learned",
	.needs_asap = true,
	.run = run_remove,
};

const struct verb verb_run = {
	.name = "run",
	.args = "[--load] NAME -- COMMAND [ARGUMENT...]",
	.help = "start a program as an app",
	.options = LOAD_OPTION
	"\nThe command takes the place of asapctl; its exit status is that of the command,\n"
	"or 127 when there is no such command and 126 when it cannot be run.\n",
	.needs_asap = true,
	.run = run_run,
};
