// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl persist: a service that keeps apps' tables over a reboot. It looks for
 * new apps and gives them their tables; it saves the table of an app whose profile
 * is through, that of one that has learned on, and all when it is told to end.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "asapctl.h"
#include "state.h"
#include "sysfs.h"

/* So many switches after the last save, an app is saved again. */
#define SAVE_SWITCHES	10

struct known {
	char name[APP_NAME_SIZE];
	ino_t ino;		/* an app that is made anew has another */
	bool loaded;
	bool profiled;
	long long saved;	/* switches that the saved table knows of */
};

static struct known *known;
static size_t nr_known;

static struct known *find(const char *name)
{
	struct known *more;

	for (size_t i = 0; i < nr_known; i++)
		if (!strcmp(known[i].name, name))
			return &known[i];
	more = reallocarray(known, nr_known + 1, sizeof(*known));
	if (!more)
		return NULL;
	known = more;
	more = &known[nr_known++];
	memset(more, 0, sizeof(*more));
	memcpy(more->name, name, strlen(name) + 1);
	return more;
}

static bool profile_done(const char *name)
{
	char *text = app_read(name, "profile");
	unsigned int seen, planned;
	bool done = text && sscanf(text, "%u/%u", &seen, &planned) == 2 && seen >= planned;

	free(text);
	return done;
}

static bool is_idle(const char *name)
{
	char *text = app_read(name, "switch");
	bool idle = text && !strncmp(text, "idle", 4);

	free(text);
	return idle;
}

static void save(struct known *app, long long switches)
{
	if (!state_save(app->name))
		app->saved = switches;
}

/* A window that is open would refuse the table: the next look tries again. */
static void look_at(const char *name, bool last)
{
	struct known *app = find(name);
	char path[PATH_MAX];
	long long switches;
	struct stat st;
	bool done;

	asap_path(path, "apps/%s", name);
	if (!app || stat(path, &st))
		return;
	if (app->ino != st.st_ino) {
		memset(app, 0, sizeof(*app));
		memcpy(app->name, name, strlen(name) + 1);
		app->ino = st.st_ino;
	}
	switches = app_switches(name);
	if (switches < 0 || (!last && !is_idle(name)))
		return;
	done = profile_done(name);
	if (!app->loaded) {
		/* One that has learned much, before we came, knows more. */
		if (!done && !last)
			state_load(name);
		app->loaded = true;
		app->profiled = profile_done(name);
		app->saved = done ? 0 : switches;
		return;
	}
	if (switches < app->saved)	/* it was reset */
		app->saved = 0;
	if (switches == app->saved)
		return;
	if (last || done != app->profiled || switches - app->saved >= SAVE_SWITCHES)
		save(app, switches);
	app->profiled = done;
}

static void look(bool last)
{
	struct app_name *names;
	int nr = app_names(&names);

	if (nr < 0) {
		complain("cannot list the apps: %s", strerror(errno));
		return;
	}
	for (int i = 0; i < nr; i++)
		look_at(names[i].text, last);
	free(names);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "delay", required_argument, NULL, 'd' },
		{ NULL, 0, NULL, 0 },
	};
	struct timespec pause;
	double delay = 2;
	sigset_t stop;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "d:", options, NULL)) != -1) {
		if (c != 'd')
			return usage_error(&verb_persist, "what is '%s'?",
					   argv[optind - 1]);
		delay = parse_seconds(optarg);
		if (!delay)
			return usage_error(&verb_persist,
				"a delay is 0.01 to 86400 seconds, not '%s'", optarg);
	}
	if (optind < argc)
		return usage_error(&verb_persist, "what is '%s'?", argv[optind]);
	pause.tv_sec = delay;
	pause.tv_nsec = (delay - pause.tv_sec) * 1e9;
	/* They are taken between two looks only. */
	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGINT);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	do
		look(false);
	while (sigtimedwait(&stop, NULL, &pause) < 0);
	look(true);
	free(known);
	return EXIT_DONE;
}

const struct verb verb_persist = {
	.name = "persist",
	.args = "[--delay SECONDS]",
	.help = "service: give new apps their saved tables, and save what they learn",
	.options =
	"  -d, --delay SECONDS  between two looks for new apps (default 2)\n"
	"\nRuns until SIGTERM or SIGINT, and saves all tables then.\n",
	.needs_asap = true,
	.run = run,
};
