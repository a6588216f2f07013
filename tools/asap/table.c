// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl save, load: what is known of an app's files, to a file and back.
 */
#include <errno.h>
#include <string.h>

#include "asapctl.h"
#include "state.h"
#include "sysfs.h"

static int run_save(int argc, char **argv)
{
	if (argc != 2 && argc != 3)
		return usage_error(&verb_save, "which app?");
	if (!app_name_ok(argv[1]))
		return usage_error(&verb_save, "'%s' is no name of an app", argv[1]);
	if (argc == 2)
		return state_save(argv[1]);
	return table_save(argv[1], strcmp(argv[2], "-") ? argv[2] : NULL);
}

static int run_load(int argc, char **argv)
{
	int error;

	if (argc != 2 && argc != 3)
		return usage_error(&verb_load, "which app?");
	if (!app_name_ok(argv[1]))
		return usage_error(&verb_load, "'%s' is no name of an app", argv[1]);
	if (app_switches(argv[1]) < 0) {
		complain("%s: %s", argv[1], app_reason(errno));
		return EXIT_ERROR;
	}
	if (argc == 2)
		return state_load(argv[1]);
	error = table_load(argv[1], argv[2]);
	if (error)
		complain("%s: cannot load %s: %s", argv[1], argv[2],
			 error == ENOENT ? strerror(error) : app_reason(error));
	return error ? EXIT_ERROR : EXIT_DONE;
}

const struct verb verb_save = {
	.name = "save",
	.args = "NAME [FILE]",
	.help = "save what is known of an app's files",
	.options =
	"FILE is - for the standard output; without it the state folder is used. A file is\n"
	"replaced at once or not at all, and is for its owner alone.\n",
	.needs_asap = true,
	.run = run_save,
};

const struct verb verb_load = {
	.name = "load",
	.args = "NAME [FILE]",
	.help = "give an app the table that was saved",
	.options =
	"Without FILE the state folder is used: no table there is no error, and one that is\n"
	"corrupt or may be written by others is set aside as NAME.bad.\n",
	.needs_asap = true,
	.run = run_load,
};
