// SPDX-License-Identifier: GPL-2.0
/*
 * asapctl stat: the kernel's figures. It knows few of them by name: what the
 * kernel has is shown as it is.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asapctl.h"
#include "sysfs.h"

struct figure {
	const char *name;
	const char *value;
};

struct figures {
	struct figure *list;
	size_t nr;
};

static void add_figure(const char *name, const char *value, void *data)
{
	struct figures *figures = data;
	struct figure *more;

	more = reallocarray(figures->list, figures->nr + 1, sizeof(*more));
	if (!more)
		return;
	figures->list = more;
	figures->list[figures->nr++] = (struct figure){ name, value };
}

static const char *find(const struct figures *figures, const char *prefix,
			const char *name)
{
	size_t len = strlen(prefix);

	for (size_t i = 0; i < figures->nr; i++)
		if (!strncmp(figures->list[i].name, prefix, len) &&
		    !strcmp(figures->list[i].name + len, name))
			return figures->list[i].value;
	return "-";
}

static void print_header(void)
{
	printf("%-20s %5s %8s %8s %9s %9s %9s %9s\n", "APP", "PROCS", "SWITCHES",
	       "LAST-US", "ANON-ACC%", "ANON-REC%", "FILE-ACC%", "FILE-REC%");
}

static void print_row(const char *app, const struct figures *f)
{
	printf("%-20s %5s %8s %8s %9s %9s %9s %9s\n", app, find(f, "", "processes"),
	       find(f, "", "switches"), find(f, "last_", "window_us"),
	       find(f, "last_", "anon_accuracy_percent"),
	       find(f, "last_", "anon_recall_percent"),
	       find(f, "last_", "file_accuracy_percent"),
	       find(f, "last_", "file_recall_percent"));
}

/* Figures of the last window and in total share a line. */
static void print_all(const char *app, const struct figures *f)
{
	printf("%-32s %12s %12s\n", app, "LAST", "TOTAL");
	for (size_t i = 0; i < f->nr; i++) {
		const char *name = f->list[i].name;

		if (!strncmp(name, "total_", 6) && *find(f, "last_", name + 6) != '-')
			continue;
		if (!strncmp(name, "last_", 5))
			printf("  %-30s %12s %12s\n", name + 5, f->list[i].value,
			       find(f, "total_", name + 5));
		else
			printf("  %-30s %12s %12s\n", name, "", f->list[i].value);
	}
}

static void print_json(const struct figures *f)
{
	putchar('{');
	for (size_t i = 0; i < f->nr; i++) {
		const char *value = f->list[i].value;

		if (i)
			fputs(", ", stdout);
		json_string(f->list[i].name);
		fputs(": ", stdout);
		if (*value && strspn(value, "0123456789") == strlen(value) &&
		    (value[0] != '0' || !value[1]))
			fputs(value, stdout);
		else
			json_string(value);
	}
	putchar('}');
}

static void json_app(const char *app, const struct figures *f)
{
	char *word = app_read(app, "switch"), *profile = app_read(app, "profile");
	unsigned int seen, planned;

	printf("{\"name\": ");
	json_string(app);
	if (word) {
		word[strcspn(word, "\n")] = '\0';
		printf(", \"switch\": ");
		json_string(word);
	}
	if (profile && sscanf(profile, "%u/%u", &seen, &planned) == 2)
		printf(", \"profile\": {\"seen\": %u, \"planned\": %u}", seen, planned);
	printf(", \"stat\": ");
	print_json(f);
	putchar('}');
	free(word);
	free(profile);
}

enum format { FORMAT_ROW, FORMAT_ALL, FORMAT_JSON, FORMAT_JSON_NEXT };

static int show_app(const char *app, enum format format)
{
	struct figures f = { NULL, 0 };
	char *text = app_read(app, "stat");

	if (!text) {
		complain("%s: %s", app, app_reason(errno));
		return EXIT_ERROR;
	}
	stat_each(text, add_figure, &f);
	if (format == FORMAT_ROW) {
		print_row(app, &f);
	} else if (format == FORMAT_ALL) {
		print_all(app, &f);
	} else {
		if (format == FORMAT_JSON_NEXT)
			fputs(", ", stdout);
		json_app(app, &f);
	}
	free(f.list);
	free(text);
	return EXIT_DONE;
}

static int json_global(void)
{
	struct figures f = { NULL, 0 };
	char path[PATH_MAX], *text;

	asap_path(path, "stat");
	text = file_read(path, NULL);
	if (!text) {
		complain("cannot read %s: %s", path, strerror(errno));
		return EXIT_ERROR;
	}
	stat_each(text, add_figure, &f);
	printf("{\"time\": ");
	json_time();
	printf(", \"stat\": ");
	print_json(&f);
	printf(", \"apps\": [");
	free(f.list);
	free(text);
	return EXIT_DONE;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ NULL, 0, NULL, 0 },
	};
	struct app_name *names = NULL;
	enum format format = FORMAT_ROW;
	int c, nr, status = EXIT_DONE;
	bool json = false;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "j", options, NULL)) != -1) {
		if (c != 'j')
			return usage_error(&verb_stat, "what is '%s'?", argv[optind - 1]);
		json = true;
	}
	for (int i = optind; i < argc; i++)
		if (!app_name_ok(argv[i]))
			return usage_error(&verb_stat, "'%s' is no name of an app",
					   argv[i]);
	nr = argc - optind;
	if (nr) {
		format = FORMAT_ALL;
	} else {
		nr = app_names(&names);
		if (nr < 0) {
			complain("cannot list the apps: %s", strerror(errno));
			return EXIT_ERROR;
		}
	}
	if (json) {
		format = FORMAT_JSON;
		if (json_global()) {
			free(names);
			return EXIT_ERROR;
		}
	} else if (format == FORMAT_ROW) {
		print_header();
	}
	for (int i = 0; i < nr; i++) {
		if (show_app(names ? names[i].text : argv[optind + i], format))
			status = EXIT_ERROR;
		else if (json)
			format = FORMAT_JSON_NEXT;
	}
	if (json)
		puts("]}");
	free(names);
	return status;
}

const struct verb verb_stat = {
	.name = "stat",
	.args = "[--json] [NAME...]",
	.help = "figures of apps: a line each, or all of those that are named",
	.options =
	"  -j, --json  all figures as one JSON object\n"
	"\n"
	"LAST-US is the last switch from start to end, in microseconds; ACC and REC are its\n"
	"accuracy (used of prefetched pages) and recall (used of all that were needed).\n",
	.needs_asap = true,
	.run = run,
};
