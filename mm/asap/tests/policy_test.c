// SPDX-License-Identifier: GPL-2.0
/*
 * KUnit tests of ASAP policy: that it decides in the kernel as it does in user
 * space, where tools/asap/policy tests and fuzzes all of it.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "../internal.h"

#define MAX_PAGES	8

struct policy_ctx {
	struct asap_table table;
	struct asap_ent ent[2][MAX_PAGES];
	unsigned int turn;
	struct asap_model model;
	struct asap_outcome out;
};

static int policy_test_init(struct kunit *test)
{
	test->priv = kunit_kzalloc(test, sizeof(struct policy_ctx), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, test->priv);
	return 0;
}

/* A window in which the app faulted on the @nr pages from @vpn on. */
static void window(struct policy_ctx *ctx, enum asap_policy policy, u64 vpn,
		   u32 nr)
{
	struct asap_params params = { .policy = policy, .ttl = 2 };
	struct asap_touch touch[MAX_PAGES];
	struct asap_table new = { .ent = ctx->ent[ctx->turn++ % 2] };
	u32 i;

	for (i = 0; i < nr; i++)
		touch[i] = (struct asap_touch) {
			.vpn = vpn + nr - 1 - i, .order = i,
		};
	nr = asap_policy_touches(touch, nr);
	memset(&ctx->out, 0, sizeof(ctx->out));
	asap_policy_account(&ctx->table, touch, nr, &ctx->out);
	asap_policy_harvest(&params, &ctx->model, &ctx->table, touch, nr, nr,
			    &new, &ctx->out);
	ctx->table = new;
}

static void policy_paper(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;

	window(ctx, ASAP_POLICY_PAPER, 10, 2);
	KUNIT_EXPECT_EQ(test, ctx->out.candidates, 2ULL);
	KUNIT_EXPECT_EQ(test, ctx->out.targets, 0ULL);

	ctx->table.ent[1].seen = ASAP_SEEN_YOUNG;
	window(ctx, ASAP_POLICY_PAPER, 0, 0);
	KUNIT_EXPECT_EQ(test, ctx->out.targets, 1ULL);
	KUNIT_EXPECT_EQ(test, ctx->table.ent[1].vpn, 11ULL);

	window(ctx, ASAP_POLICY_PAPER, 0, 0);
	KUNIT_ASSERT_EQ(test, ctx->table.nr, 1U);
	KUNIT_EXPECT_EQ(test, ctx->table.ent[0].vpn, 11ULL);
	window(ctx, ASAP_POLICY_PAPER, 0, 0);
	KUNIT_EXPECT_EQ(test, ctx->table.nr, 0U);
}

static void policy_adaptive(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	unsigned int i;

	window(ctx, ASAP_POLICY_ADAPTIVE, 10, 2);
	KUNIT_EXPECT_EQ(test, ctx->out.targets, 2ULL);
	for (i = 0; i < 8; i++) {
		ctx->table.ent[0].seen = ASAP_SEEN_MAPPED | ASAP_SEEN_YOUNG;
		window(ctx, ASAP_POLICY_ADAPTIVE, 0, 0);
	}
	KUNIT_ASSERT_EQ(test, ctx->table.nr, 1U);
	KUNIT_EXPECT_EQ(test, ctx->table.ent[0].vpn, 10ULL);
	KUNIT_EXPECT_EQ(test, ctx->out.used, 1ULL);
}

static void policy_plan(struct kunit *test)
{
	struct policy_ctx *ctx = test->priv;
	u64 plan[MAX_PAGES];
	u32 nr;

	/* Touched from the last page to the first. */
	window(ctx, ASAP_POLICY_ADAPTIVE, 10, 4);
	nr = asap_policy_plan_add(plan, 0, MAX_PAGES, 3, &ctx->table);
	KUNIT_ASSERT_EQ(test, nr, 4U);
	KUNIT_EXPECT_EQ(test, asap_policy_plan_sort(plan, nr, 1), 4U);
	KUNIT_EXPECT_EQ(test, asap_plan_index(plan[0]), 3U);
	KUNIT_EXPECT_EQ(test, asap_plan_index(plan[3]), 0U);
	KUNIT_EXPECT_EQ(test, asap_plan_table(plan[0]), 3U);
}

static struct kunit_case policy_cases[] = {
	KUNIT_CASE(policy_paper),
	KUNIT_CASE(policy_adaptive),
	KUNIT_CASE(policy_plan),
	{}
};

static struct kunit_suite policy_suite = {
	.name = "asap-policy",
	.init = policy_test_init,
	.test_cases = policy_cases,
};

kunit_test_suite(policy_suite);
