// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of the ASAP fault log.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../internal.h"

#define LOG_SLOTS	8

struct log_ctx {
	struct asap_log log;
	u32 first[ASAP_MAX_MEMBERS + 1];
	struct asap_touch touch[64];
};

static int log_test_init(struct kunit *test)
{
	struct log_ctx *ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, ctx);
	KUNIT_ASSERT_EQ(test, asap_log_init(&ctx->log, LOG_SLOTS), 0);
	test->priv = ctx;
	return 0;
}

static void log_test_exit(struct kunit *test)
{
	struct log_ctx *ctx = test->priv;

	asap_log_destroy(&ctx->log);
}

static void append(struct asap_log *log, u16 member, u64 vpn, u16 nr)
{
	asap_log_append(log, (struct asap_slot) {
		.key = vpn, .member = member, .kind = ASAP_SLOT_ANON, .nr = nr,
	});
}

static void log_empty(struct kunit *test)
{
	struct log_ctx *ctx = test->priv;

	KUNIT_EXPECT_EQ(test, asap_log_len(&ctx->log), 0U);
	KUNIT_EXPECT_EQ(test, asap_log_count(&ctx->log, ctx->first), 0U);
}

static void log_sorts_by_member(struct kunit *test)
{
	struct log_ctx *ctx = test->priv;

	append(&ctx->log, ASAP_MAX_MEMBERS - 1, 7, 1);
	append(&ctx->log, 2, 100, 4);
	append(&ctx->log, 0, 5, 1);
	append(&ctx->log, 2, 50, 1);
	/* What a file page is logged for is none of an address space's business. */
	asap_log_append(&ctx->log, (struct asap_slot) {
		.key = 1, .kind = ASAP_SLOT_FILE_MISS, .nr = 9,
	});

	KUNIT_ASSERT_EQ(test, asap_log_count(&ctx->log, ctx->first), 7U);
	KUNIT_EXPECT_EQ(test, ctx->first[0], 0U);
	KUNIT_EXPECT_EQ(test, ctx->first[2], 1U);
	KUNIT_EXPECT_EQ(test, ctx->first[3], 6U);
	asap_log_sort(&ctx->log, ctx->first, ctx->touch);
	KUNIT_EXPECT_EQ(test, ctx->first[0], 1U);
	KUNIT_EXPECT_EQ(test, ctx->first[2], 6U);
	KUNIT_EXPECT_EQ(test, ctx->touch[0].vpn, 5ULL);
	/* The pages of one large folio come one by one, at one time. */
	KUNIT_EXPECT_EQ(test, ctx->touch[1].vpn, 100ULL);
	KUNIT_EXPECT_EQ(test, ctx->touch[4].vpn, 103ULL);
	KUNIT_EXPECT_EQ(test, (u32)ctx->touch[4].order, 1U);
	KUNIT_EXPECT_EQ(test, ctx->touch[5].vpn, 50ULL);
	KUNIT_EXPECT_EQ(test, (u32)ctx->touch[5].order, 3U);
	KUNIT_EXPECT_EQ(test, ctx->touch[6].vpn, 7ULL);
}

static void log_overflows(struct kunit *test)
{
	struct log_ctx *ctx = test->priv;
	unsigned int i;

	for (i = 0; i < LOG_SLOTS + 3; i++)
		append(&ctx->log, 0, i, 1);
	KUNIT_EXPECT_EQ(test, asap_log_len(&ctx->log), (u32)LOG_SLOTS);
	KUNIT_EXPECT_EQ(test, atomic_read(&ctx->log.dropped), 3);
	KUNIT_EXPECT_EQ(test, asap_log_count(&ctx->log, ctx->first),
			(u32)LOG_SLOTS);

	asap_log_reset(&ctx->log);
	KUNIT_EXPECT_EQ(test, asap_log_len(&ctx->log), 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(&ctx->log.dropped), 0);
}

static struct kunit_case log_cases[] = {
	KUNIT_CASE(log_empty),
	KUNIT_CASE(log_sorts_by_member),
	KUNIT_CASE(log_overflows),
	{}
};

static struct kunit_suite log_suite = {
	.name = "asap-log",
	.init = log_test_init,
	.exit = log_test_exit,
	.test_cases = log_cases,
};

kunit_test_suite(log_suite);
