// SPDX-License-Identifier: GPL-2.0
/*
 * Knobs on the kernel's command line: what is right is read back, what is wrong
 * is refused with a line in the log and changes nothing. What to expect is worked
 * out from /proc/cmdline, so this runs in any boot; scripts/run-tests.sh has one
 * with many of them.
 */
#include <limits.h>

#include "asap_util.h"

#define BLANKS	"\n "

struct knob {
	const char *name;
	long min, max;
	const char *value;	/* the default; NULL: the configuration has it */
};

enum {
	ENABLED,
	POLICY,
	LEARN,
	PREFETCH,
	ANON_ENABLED,
	ANON_TTL,
	WINDOW_TIMEOUT,
	MAX_PAGES,
	NR_KNOBS,
};

static const struct knob knobs[NR_KNOBS] = {
	[ENABLED]	= { "enabled", 0, 1, NULL },
	[POLICY]	= { "policy", 0, 0, "adaptive" },
	[LEARN]		= { "learn", 0, 1, "1" },
	[PREFETCH]	= { "prefetch", 0, 1, "1" },
	[ANON_ENABLED]	= { "anon_enabled", 0, 1, "1" },
	[ANON_TTL]	= { "anon_ttl_switches", 1, 255, "4" },
	[WINDOW_TIMEOUT] = { "window_timeout_ms", 10, 600000, "5000" },
	[MAX_PAGES]	= { "max_pages_per_switch", 0, INT_MAX, "0" },
};

/* The knobs as the boot left them: each test is run with others. */
static char found[NR_KNOBS][32];

static int log_fd;

static void expect_refused(const char *name, const char *text)
{
	char line[128];

	snprintf(line, sizeof(line), "asap: %s=%s refused", name, text);
	expect(lseek(log_fd, 0, SEEK_SET) == 0);
	if (!log_says(log_fd, line))
		expect_failed(__FILE__, __LINE__, line);
}

/* If @text is a value of the knob, give it as it will be read. */
static bool valid(const struct knob *knob, const char *text, char *reads,
		  size_t size)
{
	char *end;
	long val;

	if (knob == &knobs[POLICY]) {
		snprintf(reads, size, "%s", text);
		return !strcmp(text, "paper") || !strcmp(text, "adaptive");
	}
	errno = 0;
	val = strtol(text, &end, 0);
	if (!*text || *end || errno || val < knob->min || val > knob->max)
		return false;
	snprintf(reads, size, "%ld", val);
	return true;
}

/* The value in a word "NAME=VALUE". */
static const char *value_in(const char *word, const char *name)
{
	size_t len = strlen(name);

	return strncmp(word, name, len) || word[len] != '=' ? NULL :
							      word + len + 1;
}

/* asap=on|off is looked at before every other word. */
static void from_switch(char *want, size_t size)
{
	char cmdline[4096], *word;

	expect(file_read("/proc/cmdline", cmdline, sizeof(cmdline)) > 0);
	for (word = strtok(cmdline, BLANKS); word; word = strtok(NULL, BLANKS)) {
		const char *text = value_in(word, "asap");

		if (!text)
			continue;
		if (!strcmp(text, "on") || !strcmp(text, "off"))
			snprintf(want, size, "%d", !strcmp(text, "on"));
		else
			expect_refused("asap", text);
	}
}

static void from_knob_words(const struct knob *knob, char *want, size_t size)
{
	char cmdline[4096], name[64], *word;

	snprintf(name, sizeof(name), "asap.%s", knob->name);
	expect(file_read("/proc/cmdline", cmdline, sizeof(cmdline)) > 0);
	for (word = strtok(cmdline, BLANKS); word; word = strtok(NULL, BLANKS)) {
		const char *text = value_in(word, name);

		if (text && !valid(knob, text, want, size))
			expect_refused(knob->name, text);
	}
}

static void check_knob(int id)
{
	char want[32] = "";

	log_fd = log_open(SEEK_SET);
	if (knobs[id].value)
		snprintf(want, sizeof(want), "%s", knobs[id].value);
	if (id == ENABLED)
		from_switch(want, sizeof(want));
	from_knob_words(&knobs[id], want, sizeof(want));
	if (!*want)
		skip_test("no word of the command line sets it, so the configuration does");
	ksft_print_msg("%s: %s\n", knobs[id].name, found[id]);
	expect(!strcmp(found[id], want));
}

#define KNOB_TEST(_fn, _id) static void _fn(void) { check_knob(_id); }
KNOB_TEST(enabled, ENABLED)
KNOB_TEST(policy, POLICY)
KNOB_TEST(learn, LEARN)
KNOB_TEST(prefetch, PREFETCH)
KNOB_TEST(anon_enabled, ANON_ENABLED)
KNOB_TEST(anon_ttl, ANON_TTL)
KNOB_TEST(window_timeout, WINDOW_TIMEOUT)
KNOB_TEST(max_pages, MAX_PAGES)

static const struct asap_test tests[] = {
	{ "enabled", enabled },
	{ "policy", policy },
	{ "learn", learn },
	{ "prefetch", prefetch },
	{ "anon_enabled", anon_enabled },
	{ "anon_ttl_switches", anon_ttl },
	{ "window_timeout_ms", window_timeout },
	{ "max_pages_per_switch", max_pages },
};

int main(void)
{
	char path[128];
	int i, len;

	for (i = 0; i < NR_KNOBS; i++) {
		snprintf(path, sizeof(path), ASAP_SYSFS "/%s", knobs[i].name);
		len = file_read(path, found[i], sizeof(found[i]));
		if (len > 0)
			found[i][len - 1] = '\0';
	}
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
