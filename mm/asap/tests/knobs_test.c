// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ASAP settings. They change none for good.
 */
#include <kunit/test.h>
#include <linux/sysfs.h>

#include "../internal.h"

static void knobs_have_names(struct kunit *test)
{
	unsigned int i, j;

	for (i = 0; i < ASAP_NR_KNOBS; i++) {
		KUNIT_ASSERT_NOT_NULL(test, asap_knob_name(i));
		for (j = 0; j < i; j++)
			KUNIT_EXPECT_STRNEQ(test, asap_knob_name(i),
					    asap_knob_name(j));
	}
}

/* A value as it is shown can be written, and changes nothing. */
static void knobs_read_back(struct kunit *test)
{
	char *page = (char *)__get_free_page(GFP_KERNEL);
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, page);
	for (i = 0; i < ASAP_NR_KNOBS; i++) {
		int val = asap_knob(i);

		KUNIT_EXPECT_GT(test, asap_knob_show(i, page), 0);
		KUNIT_EXPECT_EQ(test, asap_knob_store(i, page), 0);
		KUNIT_EXPECT_EQ(test, asap_knob(i), val);
	}
	free_page((unsigned long)page);
}

static void knobs_refuse(struct kunit *test)
{
	static const struct {
		enum asap_knob_id id;
		const char *text;
		int err;
	} bad[] = {
		{ ASAP_KNOB_LEARN, "2", -ERANGE },
		{ ASAP_KNOB_LEARN, "-1", -ERANGE },
		{ ASAP_KNOB_LEARN, "yes", -EINVAL },
		{ ASAP_KNOB_LEARN, "", -EINVAL },
		{ ASAP_KNOB_ANON_TTL, "0", -ERANGE },
		{ ASAP_KNOB_ANON_TTL, "256", -ERANGE },
		{ ASAP_KNOB_WINDOW_TIMEOUT_MS, "9", -ERANGE },
		{ ASAP_KNOB_MAX_PAGES, "99999999999", -ERANGE },
		{ ASAP_KNOB_POLICY, "pape", -EINVAL },
		{ ASAP_KNOB_POLICY, "0", -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int val = asap_knob(bad[i].id);

		KUNIT_EXPECT_EQ_MSG(test, asap_knob_store(bad[i].id, bad[i].text),
				    bad[i].err, "%s=%s",
				    asap_knob_name(bad[i].id), bad[i].text);
		KUNIT_EXPECT_EQ(test, asap_knob(bad[i].id), val);
	}
}

static struct kunit_case knobs_cases[] = {
	KUNIT_CASE(knobs_have_names),
	KUNIT_CASE(knobs_read_back),
	KUNIT_CASE(knobs_refuse),
	{}
};

static struct kunit_suite knobs_suite = {
	.name = "asap-knobs",
	.test_cases = knobs_cases,
};

kunit_test_suite(knobs_suite);
