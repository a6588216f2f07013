// SPDX-License-Identifier: GPL-2.0
/*
 * What policy decides, told as short stories of an app. TAP on standard output.
 */
#include <string.h>

#include "check.h"

static unsigned int tests, failed;

static void ok(int cond, const char *what)
{
	printf("%sok %u - %s\n", cond ? "" : "not ", ++tests, what);
	failed += !cond;
}

static const struct asap_params paper = {
	.policy = ASAP_POLICY_PAPER, .ttl = 4,
};

static const struct asap_params adaptive = {
	.policy = ASAP_POLICY_ADAPTIVE, .ttl = 4,
};

static struct asap_table table;
static struct asap_model model;
static struct asap_outcome out;

static void forget(void)
{
	free(table.ent);
	memset(&table, 0, sizeof(table));
	memset(&model, 0, sizeof(model));
}

static struct asap_ent *find(u64 vpn)
{
	u32 i;

	for (i = 0; i < table.nr; i++)
		if (table.ent[i].vpn == vpn)
			return &table.ent[i];
	return NULL;
}

static void see(u64 vpn, unsigned int seen)
{
	find(vpn)->seen |= seen;
}

/* A window in which the app faulted on the pages of @vpns, a string. */
static void switch_app(const struct asap_params *params, const char *vpns)
{
	struct asap_touch touch[64];
	u32 n = 0;

	for (; vpns[n]; n++)
		touch[n] = (struct asap_touch) { .vpn = vpns[n], .order = n };
	memset(&out, 0, sizeof(out));
	window(params, &model, &table, touch, n, &out);
}

static int is(u64 vpn, enum asap_state state)
{
	return find(vpn) && find(vpn)->state == state;
}

static void test_touches(void)
{
	struct asap_touch touch[] = {
		{ 9, 0, 1 }, { 3, 1, 0 }, { 9, 2, 0 }, { 1, 3, 0 },
	};
	u32 n = asap_policy_touches(touch, 4);

	ok(n == 3 && touch[0].vpn == 1 && touch[1].vpn == 3 &&
	   touch[2].vpn == 9 && touch[2].order == 2 && !touch[2].found,
	   "touches are sorted, each page once, a fault outweighs a find");
	ok(asap_policy_touches(NULL, 0) == 0, "no faults are no trouble");
}

static void test_paper(void)
{
	unsigned int i;

	forget();
	switch_app(&paper, "abc");
	ok(is('a', ASAP_CANDIDATE) && is('c', ASAP_CANDIDATE) && table.nr == 3,
	   "paper: a fault makes a candidate");
	ok(out.faulted == 3 && !out.fetched && out.candidates == 3,
	   "paper: three faults are counted as three");

	see('a', ASAP_SEEN_YOUNG);
	switch_app(&paper, "b");
	ok(is('a', ASAP_TARGET), "paper: a young candidate becomes a target");
	ok(is('b', ASAP_TARGET), "paper: so does one that faulted again");
	ok(is('c', ASAP_CANDIDATE), "paper: one that was not accessed stays");
	ok(out.promoted == 2, "paper: two promotions are counted");

	for (i = 0; i < 2; i++)
		switch_app(&paper, "");
	ok(find('c') && find('a'), "paper: three windows unused, still there");
	switch_app(&paper, "");
	ok(!find('c'), "paper: dropped when the timer ran out");
	ok(!!find('a'), "paper: the target's timer was wound up a window later");
	see('a', ASAP_SEEN_YOUNG);
	switch_app(&paper, "");
	for (i = 0; i < 3; i++)
		switch_app(&paper, "");
	ok(is('a', ASAP_TARGET), "paper: an access winds the timer up again");
	switch_app(&paper, "");
	ok(!find('a') && out.dropped == 1, "paper: and then it runs out");

	forget();
	switch_app(&paper, "ab");
	see('a', ASAP_SEEN_GONE);
	switch_app(&paper, "");
	ok(!find('a') && find('b'), "paper: what is unmapped is dropped at once");
}

static void test_account(void)
{
	forget();
	switch_app(&paper, "abcdef");
	see('a', ASAP_SEEN_MAPPED | ASAP_SEEN_YOUNG);
	see('b', ASAP_SEEN_MAPPED);
	see('c', ASAP_SEEN_CACHED);
	see('d', ASAP_SEEN_CACHED);
	see('e', ASAP_SEEN_MAPPED | ASAP_SEEN_GONE);
	switch_app(&paper, "cfx");
	ok(out.fetched == 5, "account: mapped and cached pages were fetched");
	ok(out.used == 2, "account: young, or found in the swap cache, is used");
	ok(out.wasted == 2, "account: old, or never looked for, is wasted");
	ok(out.lost == 1, "account: unmapped before we looked is lost");
	ok(out.faulted == 2, "account: a hit in the swap cache is no miss");

	forget();
	switch_app(&paper, "a");
	see('a', ASAP_SEEN_MAPPED | ASAP_SEEN_YOUNG);
	switch_app(&paper, "a");
	ok(out.used == 0 && out.wasted == 1 && out.faulted == 1,
	   "account: mapped, gone again, and faulted in is wasted and missed");
}

static void test_adaptive(void)
{
	unsigned int i;

	forget();
	switch_app(&adaptive, "ab");
	ok(is('a', ASAP_TARGET), "adaptive: nothing known, one use is enough");

	for (i = 0; i < 20; i++) {
		see('a', ASAP_SEEN_MAPPED | ASAP_SEEN_YOUNG);
		switch_app(&adaptive, "");
	}
	ok(is('a', ASAP_TARGET), "adaptive: used every time, fetched every time");
	ok(!find('b'), "adaptive: never used again, forgotten");
	ok(asap_model_chance(&model, 0xff) > 900,
	   "adaptive: a steady page is as good as certain");

	/* Pages that come once and never again: the app teaches not to try. */
	forget();
	for (i = 0; i < 20; i++) {
		char once[] = { 'A' + i, 'a' + i, 0 };

		switch_app(&adaptive, once);
	}
	switch_app(&adaptive, "!");
	ok(is('!', ASAP_CANDIDATE),
	   "adaptive: where one use is followed by none, one use is not enough");

	/* Every second switch: the pattern tells which. */
	forget();
	for (i = 0; i < 40; i++)
		switch_app(&adaptive, i % 2 ? "" : "p");
	ok(is('p', ASAP_TARGET), "adaptive: due after a pause");
	switch_app(&adaptive, "p");
	ok(is('p', ASAP_CANDIDATE), "adaptive: not due right after its turn");

	forget();
	switch_app(&adaptive, "a");
	i = find('a')->hist;
	see('a', ASAP_SEEN_STALE | ASAP_SEEN_YOUNG);
	switch_app(&adaptive, "");
	ok(find('a')->hist == i,
	   "adaptive: young from before the window teaches nothing");
	see('a', ASAP_SEEN_UNKNOWN);
	switch_app(&adaptive, "");
	ok(find('a')->hist == i, "adaptive: out of sight teaches nothing");
}

static void test_model(void)
{
	unsigned int i;

	forget();
	ok(asap_model_chance(&model, 1) == 512,
	   "model: without any experience the odds are even");
	switch_app(&adaptive, "a");
	for (i = 0; i < 100000; i++) {
		see('a', ASAP_SEEN_YOUNG);
		switch_app(&adaptive, "");
	}
	ok(model.trials[0xff] && model.trials[0xff] <= 4096,
	   "model: counters stay in bounds, however long an app lives");
	/* What has changed for good is believed after a while. */
	for (i = 0; i < 8192; i++) {
		find('a')->hist = 0xff;
		switch_app(&adaptive, "");
	}
	ok(asap_model_chance(&model, 0xff) < 512,
	   "model: new habits outweigh old ones");
}

/* A window with faults on @vpns, and with @found touched but not waited for. */
static void switch_files(const struct asap_params *params, const char *vpns,
			 const char *found)
{
	struct asap_touch touch[64];
	u32 n = 0;

	for (; *vpns; vpns++, n++)
		touch[n] = (struct asap_touch) { .vpn = *vpns, .order = n };
	for (; *found; found++, n++)
		touch[n] = (struct asap_touch) { .vpn = *found, .found = 1 };
	memset(&out, 0, sizeof(out));
	window(params, &model, &table, touch, n, &out);
}

static void test_files(void)
{
	struct asap_params params = {
		.policy = ASAP_POLICY_PAPER, .file = true, .min_hits = 9,
	};
	u8 phase[] = { ASAP_PROFILE_ON, ASAP_PROFILE_OVER };
	unsigned int i;

	params.phase = phase;
	params.nr_phase = 2;
	forget();
	for (i = 0; i < 10; i++) {
		phase[0] = i == 9 ? ASAP_PROFILE_ENDS : ASAP_PROFILE_ON;
		/* a: ten of ten, b: nine, c: eight */
		switch_files(&params, i < 9 ? "ab" : "a", i < 8 ? "c" : "");
		if (!i)
			ok(out.faulted == 2, "files: what was found is no miss");
	}
	ok(is('a', ASAP_CANDIDATE) && is('b', ASAP_CANDIDATE) && !find('c'),
	   "files: more than eight accesses of ten make a candidate");

	phase[0] = ASAP_PROFILE_OVER;
	switch_files(&params, "ax", "b");
	ok(is('a', ASAP_TARGET), "files: a candidate that was missed is a target");
	ok(is('b', ASAP_CANDIDATE), "files: one that was found is not");
	ok(!find('x'), "files: what the profile left out does not come in");
	see('a', ASAP_SEEN_CACHED);
	switch_files(&params, "", "a");
	ok(is('a', ASAP_TARGET) && out.used == 1, "files: a hit keeps a target");
	see('a', ASAP_SEEN_CACHED);
	switch_files(&params, "", "");
	ok(is('a', ASAP_CANDIDATE) && out.wasted == 1,
	   "files: a target that was fetched in vain is one no more");

	/* A second file comes later: it is profiled, and the first one is left alone. */
	phase[1] = ASAP_PROFILE_ON;
	for (i = 0; i < 10; i++) {
		struct asap_touch touch[] = {
			{ .vpn = 'y' }, { .vpn = asap_file_vpn(1, 7), .order = 1 },
		};

		phase[1] = i == 9 ? ASAP_PROFILE_ENDS : ASAP_PROFILE_ON;
		memset(&out, 0, sizeof(out));
		window(&params, &model, &table, touch, i < 9 ? 2 : 0, &out);
	}
	ok(!find('y') && table.nr == 3 &&
	   table.ent[2].vpn == asap_file_vpn(1, 7) &&
	   table.ent[2].state == ASAP_CANDIDATE,
	   "files: one that is new has a profile of its own");

	forget();
	phase[0] = ASAP_PROFILE_ON;
	for (i = 0; i < 4; i++)
		switch_files(&params, i ? "a" : "ab", "");
	asap_policy_candidates(&table, 4);
	ok(table.nr == 1 && is('a', ASAP_CANDIDATE),
	   "files: a profile that ends early leaves what was always there");

	forget();
	params.policy = ASAP_POLICY_ADAPTIVE;
	switch_files(&params, "b", "c");
	ok(is('b', ASAP_TARGET) && is('c', ASAP_TARGET),
	   "files: the adaptive rules need no profile");
	ok(find('c')->rank == find('b')->rank,
	   "files: what was found came with what was waited for");
}

static void test_extents(void)
{
	struct asap_ent ents[] = {
		{ .vpn = 10, .state = ASAP_TARGET, .rank = 9 },
		{ .vpn = 11, .state = ASAP_CANDIDATE },
		{ .vpn = 12, .state = ASAP_TARGET, .rank = 5 },
		{ .vpn = 15, .state = ASAP_TARGET, .rank = 7 },
		{ .vpn = asap_file_vpn(1, 0), .state = ASAP_TARGET, .rank = 1 },
		{ .vpn = asap_file_vpn(1, 1), .state = ASAP_TARGET, .rank = 2 },
		{ .vpn = asap_file_vpn(1, 2), .state = ASAP_TARGET, .rank = 3 },
	};
	struct asap_table t = { ents, 7 };
	struct asap_extent ext[7];
	u32 nr;

	nr = asap_policy_extents(&t, 1, 512, ext);
	ok(nr == 4 && ext[0].vpn == asap_file_vpn(1, 0) && ext[0].nr == 3 &&
	   ext[0].first == 4 && ext[1].vpn == 12 && ext[3].vpn == 10,
	   "extents: neighbours merge, the first touched comes first");
	nr = asap_policy_extents(&t, 2, 512, ext);
	ok(nr == 3 && ext[1].vpn == 10 && ext[1].nr == 3 && ext[1].rank == 5,
	   "extents: a gap smaller than the limit is bridged");
	nr = asap_policy_extents(&t, 16, 512, ext);
	ok(nr == 2 && ext[1].nr == 6 && ext[1].first == 0,
	   "extents: another file's pages are no neighbours");
	nr = asap_policy_extents(&t, 16, 2, ext);
	ok(nr == 5 && ext[0].nr == 2 && ext[1].nr == 1,
	   "extents: no longer than the limit");
}

static void test_order(void)
{
	u64 plan[8];
	u32 nr, targets;

	forget();
	switch_app(&adaptive, "dbca");
	nr = asap_policy_plan_add(plan, 0, 8, 7, &table);
	targets = asap_policy_plan_sort(plan, nr, 1);
	ok(nr == 4 && targets == 4 &&
	   table.ent[asap_plan_index(plan[0])].vpn == 'd' &&
	   table.ent[asap_plan_index(plan[3])].vpn == 'a' &&
	   asap_plan_table(plan[0]) == 7,
	   "plan: pages come in the order of their touch");
	nr = asap_policy_plan_add(plan, 0, 8, 7, &table);
	asap_policy_plan_sort(plan, nr, 2);
	ok(table.ent[asap_plan_index(plan[0])].vpn == 'b' &&
	   table.ent[asap_plan_index(plan[1])].vpn == 'd',
	   "plan: inside a batch they come by address");
	ok(asap_policy_plan_add(plan, 0, 3, 7, &table) == 3,
	   "plan: no more than there is room for");

	find('b')->state = ASAP_CANDIDATE;
	nr = asap_policy_plan_add(plan, 0, 8, 7, &table);
	targets = asap_policy_plan_sort(plan, nr, 2);
	ok(targets == 3 && table.ent[asap_plan_index(plan[3])].vpn == 'b',
	   "plan: candidates come last, to be looked at");
}

int main(void)
{
	printf("TAP version 13\n");
	test_touches();
	test_paper();
	test_account();
	test_adaptive();
	test_model();
	test_order();
	test_files();
	test_extents();
	forget();
	printf("1..%u\n", tests);
	return failed != 0;
}
