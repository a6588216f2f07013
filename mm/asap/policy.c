// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP policy for anonymous pages.
 *
 * In a switch window the kernel logs every fault on a swapped-out page of the
 * app. What is logged was needed, and nothing else needed to be fetched; so the
 * log, joined with the accessed bits of what was already mapped, tells for each
 * page that we know whether this switch used it.
 *
 * The published rules (policy=paper) keep two tables. A page that faulted is a
 * candidate; a candidate that is accessed in a later window becomes a target;
 * targets are fetched when the next window opens. Every entry has a timer,
 * counted in windows, that an access of a target winds up again and that drops
 * the entry when it runs out.
 *
 * A timer forgets how regular a page is: one that is used in every switch and
 * one that is used in every fourth look alike, and the second is fetched in
 * vain three times of four. The adaptive rules therefore keep the outcomes of
 * the last seven windows as bits, and count for each such pattern how often the
 * page was used in the window that came next, over all pages of the app: the
 * two-level scheme of branch predictors (Yeh and Patt, MICRO 1991), with one
 * pattern table an app. A page is fetched when its pattern was followed by a
 * use more often than not. What to make of a page seen once, or of one that
 * missed a switch, is so measured on the app itself and not guessed.
 *
 * A pattern that was met too seldom to be judged borrows from the estimate that
 * the bits themselves give (Laplace's rule of succession).
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sort.h>

#include "policy.h"

/* Outcomes kept for a page; the sentinel is the bit above them. */
#define HIST_BITS	7
#define HIST_FULL	BIT(HIST_BITS)

/* A pattern counts for this many trials before its own outcomes outweigh it. */
#define PRIOR_WEIGHT	4

/* Halve a pattern's counters here, so that the latest windows count most. */
#define TRIALS_MAX	4096

/* Chances are in units of 1/1024. */
#define CHANCE_ONE	1024
#define CHANCE_FETCH	(CHANCE_ONE / 2)

static int touch_cmp(const void *a, const void *b)
{
	const struct asap_touch *x = a, *y = b;

	if (x->vpn != y->vpn)
		return x->vpn < y->vpn ? -1 : 1;
	if (x->found != y->found)
		return x->found ? 1 : -1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return 0;
}

/**
 * asap_policy_touches - put the touches of a window in table order
 * @touch: touches in any order; sorted in place
 * @nr: how many
 *
 * Return: how many different pages there are; they come first in @touch, each
 * with the position of its first fault, if there was one.
 */
u32 asap_policy_touches(struct asap_touch *touch, u32 nr)
{
	u32 i, n = 0;

	sort(touch, nr, sizeof(*touch), touch_cmp, NULL);
	for (i = 0; i < nr; i++)
		if (!n || touch[n - 1].vpn != touch[i].vpn)
			touch[n++] = touch[i];
	return n;
}

static u8 hist_push(u8 hist, bool used)
{
	unsigned int h = ((unsigned int)hist << 1) | used;

	if (h > 2 * HIST_FULL - 1)
		h = HIST_FULL | (h & (HIST_FULL - 1));
	return h;
}

/* Seven windows in a row without an access, and nothing else remembered. */
static bool hist_forgotten(u8 hist)
{
	return hist == HIST_FULL;
}

/**
 * asap_model_chance - how likely the next window uses a page
 * @model: what this app taught so far
 * @hist: the page's &struct asap_ent.hist
 *
 * Return: the chance in units of 1/1024.
 */
unsigned int asap_model_chance(const struct asap_model *model, u8 hist)
{
	unsigned int len = 0, ones = 0, prior;
	unsigned int h;

	for (h = hist; h > 1; h >>= 1) {
		ones += h & 1;
		len++;
	}
	prior = CHANCE_ONE * (ones + 1) / (len + 2);
	return (CHANCE_ONE * model->hits[hist] + PRIOR_WEIGHT * prior) /
	       (model->trials[hist] + PRIOR_WEIGHT);
}

static void model_learn(struct asap_model *model, u8 hist, bool used)
{
	if (model->trials[hist] >= TRIALS_MAX) {
		model->trials[hist] /= 2;
		model->hits[hist] /= 2;
	}
	model->trials[hist]++;
	model->hits[hist] += used;
}

/* First to last fault of a window on a scale that does not know its length. */
static u16 rank_of(u32 order, u32 log_len)
{
	return (u64)order * U16_MAX / max(log_len, 1U);
}

static void count_fetched(const struct asap_ent *ent, struct asap_outcome *out)
{
	bool used;

	if (!(ent->seen & ASAP_SEEN_FETCHED))
		return;
	out->fetched++;
	/*
	 * A fault on what was left in the cache found it there. What was mapped had
	 * gone again before it was needed.
	 */
	if (ent->seen & ASAP_SEEN_FAULTED)
		used = ent->seen & ASAP_SEEN_CACHED;
	else
		used = ent->seen & ASAP_SEEN_YOUNG;
	if (used)
		out->used++;
	else if (ent->seen & (ASAP_SEEN_GONE | ASAP_SEEN_UNKNOWN))
		out->lost++;
	else
		out->wasted++;
}

/* The published rules. Return: whether the entry stays. */
static bool paper_step(const struct asap_params *params, struct asap_ent *ent,
		       bool used)
{
	if (used) {
		ent->state = ASAP_TARGET;
		ent->ttl = params->ttl;
		return true;
	}
	if (ent->ttl)
		ent->ttl--;
	return ent->ttl;
}

static enum asap_phase phase_of(const struct asap_params *params,
				const struct asap_ent *ent)
{
	u32 file = ent->vpn >> ASAP_FILE_SHIFT;

	return params->file && file < params->nr_phase ? params->phase[file] :
							 ASAP_PROFILE_OVER;
}

/*
 * The published rules for files. The profile counts; what it leaves are the
 * candidates, and nothing joins them later. A candidate that the page cache
 * misses is a target, until it is fetched and not accessed.
 */
static bool paper_file_step(const struct asap_params *params,
			    struct asap_ent *ent, bool used)
{
	enum asap_phase phase = phase_of(params, ent);

	if (phase != ASAP_PROFILE_OVER) {
		ent->state = ASAP_CANDIDATE;
		return phase != ASAP_PROFILE_ENDS || ent->ttl >= params->min_hits;
	}
	if (ent->seen & ASAP_SEEN_FAULTED)
		ent->state = ASAP_TARGET;
	else if ((ent->seen & ASAP_SEEN_FETCHED) && !used)
		ent->state = ASAP_CANDIDATE;
	return true;
}

/*
 * The adaptive rules. An entry whose use could not be observed (its PTE was
 * young before we looked, or it could not be looked at) keeps its history.
 */
static bool adaptive_step(const struct asap_model *model, struct asap_ent *ent,
			  bool used, bool known)
{
	if (known)
		ent->hist = hist_push(ent->hist, used);
	if (hist_forgotten(ent->hist))
		return false;
	ent->state = asap_model_chance(model, ent->hist) >= CHANCE_FETCH ?
		     ASAP_TARGET : ASAP_CANDIDATE;
	return true;
}

static bool step(const struct asap_params *params,
		 const struct asap_model *model, struct asap_ent *ent, bool used,
		 bool known)
{
	/* Both policies profile: one may follow the other. */
	if (used && ent->ttl < U8_MAX &&
	    phase_of(params, ent) != ASAP_PROFILE_OVER)
		ent->ttl++;
	if (params->policy == ASAP_POLICY_ADAPTIVE)
		return adaptive_step(model, ent, used, known);
	if (params->file)
		return paper_file_step(params, ent, used);
	return paper_step(params, ent, used);
}

/* An entry for a page that was not known. Return: whether it shall be. */
static bool step_new(const struct asap_params *params,
		     const struct asap_model *model, struct asap_ent *ent)
{
	if (params->file) {
		ent->ttl = 0;
		if (params->policy == ASAP_POLICY_PAPER &&
		    phase_of(params, ent) == ASAP_PROFILE_OVER)
			return false;
		return step(params, model, ent, true, false);
	}
	if (params->policy == ASAP_POLICY_ADAPTIVE)
		return adaptive_step(model, ent, true, false);
	return true;
}

/* Was the entry used in this window, and do we know? */
static bool ent_used(const struct asap_ent *ent, bool *known)
{
	bool used = ent->seen & (ASAP_SEEN_YOUNG | ASAP_SEEN_FAULTED);

	*known = (ent->seen & ASAP_SEEN_FAULTED) ||
		 !(ent->seen & (ASAP_SEEN_UNKNOWN | ASAP_SEEN_STALE));
	return used;
}

/**
 * asap_policy_account - judge what one window did with what it fetched
 * @table: the table as the window left it, ASAP_SEEN_* gathered
 * @touch: the faults, from asap_policy_touches()
 * @nr_touch: how many
 * @out: figures, added to what is there
 *
 * Entries get %ASAP_SEEN_FAULTED where they were faulted on, and
 * %ASAP_SEEN_YOUNG where they were found.
 *
 * Return: how many pages the table and the faults have between them.
 */
u32 asap_policy_account(struct asap_table *table,
			const struct asap_touch *touch, u32 nr_touch,
			struct asap_outcome *out)
{
	u32 i, t = 0, known = 0;

	for (i = 0; i < nr_touch; i++)
		out->faulted += !touch[i].found;
	for (i = 0; i < table->nr; i++) {
		struct asap_ent *ent = &table->ent[i];

		while (t < nr_touch && touch[t].vpn < ent->vpn)
			t++;
		if (t < nr_touch && touch[t].vpn == ent->vpn) {
			known++;
			if (touch[t].found) {
				ent->seen |= ASAP_SEEN_YOUNG;
			} else {
				ent->seen |= ASAP_SEEN_FAULTED;
				/* It found what we left in the cache: a hit. */
				if (ent->seen & ASAP_SEEN_CACHED)
					out->faulted--;
			}
		}
		count_fetched(ent, out);
	}
	return table->nr + nr_touch - known;
}

/**
 * asap_policy_harvest - learn from one window of one address space
 * @params: the knobs
 * @model: learned so far; updated
 * @old: the table, after asap_policy_account()
 * @touch: the faults, from asap_policy_touches()
 * @nr_touch: how many
 * @log_len: length of the log that &struct asap_touch.order counts in
 * @new: written: what is remembered; room for as many entries as
 *	asap_policy_account() said
 * @out: figures, added to what is there
 */
void asap_policy_harvest(const struct asap_params *params,
			 struct asap_model *model,
			 const struct asap_table *old,
			 const struct asap_touch *touch, u32 nr_touch,
			 u32 log_len, struct asap_table *new,
			 struct asap_outcome *out)
{
	u32 i, t = 0;
	u16 rank = 0;

	for (i = 0; i < old->nr; i++) {
		bool known, used = ent_used(&old->ent[i], &known);

		if (known && (used || !(old->ent[i].seen & ASAP_SEEN_GONE)))
			model_learn(model, old->ent[i].hist, used);
	}

	i = 0;
	new->nr = 0;
	while (i < old->nr || t < nr_touch) {
		struct asap_ent *ent = &new->ent[new->nr];
		bool known, used, stays;
		u8 was;

		if (i == old->nr ||
		    (t < nr_touch && touch[t].vpn < old->ent[i].vpn)) {
			/* What was found came with what was waited for before it. */
			if (!touch[t].found)
				rank = rank_of(touch[t].order, log_len);
			*ent = (struct asap_ent) {
				.vpn = touch[t].vpn,
				.rank = rank,
				.state = ASAP_CANDIDATE,
				.ttl = params->ttl,
				.hist = hist_push(1, true),
			};
			t++;
			if (!step_new(params, model, ent)) {
				out->dropped++;
				continue;
			}
			out->promoted += ent->state == ASAP_TARGET;
			new->nr++;
			continue;
		}

		*ent = old->ent[i++];
		was = ent->state;
		used = ent_used(ent, &known);
		if (ent->seen & ASAP_SEEN_FAULTED)
			ent->rank = (ent->rank +
				     rank_of(touch[t].order, log_len)) / 2;
		rank = ent->rank;
		/* The touch of this entry, if there was one. */
		t += t < nr_touch && touch[t].vpn == ent->vpn;
		stays = used || !(ent->seen & ASAP_SEEN_GONE);
		if (!stays || !step(params, model, ent, used, known)) {
			out->dropped++;
			continue;
		}
		out->promoted += was != ASAP_TARGET && ent->state == ASAP_TARGET;
		ent->seen = 0;
		new->nr++;
	}

	for (i = 0; i < new->nr; i++) {
		if (new->ent[i].state == ASAP_TARGET)
			out->targets++;
		else
			out->candidates++;
	}
}

/*
 * While a plan is put together, a key stands above table and index, so that one
 * comparison of integers orders it: targets by rank, then the others.
 */
#define PLAN_KEY_SHIFT	(ASAP_PLAN_TABLE_SHIFT + ASAP_PLAN_TABLE_BITS)
#define PLAN_KEY_MASK	((u64)U16_MAX << PLAN_KEY_SHIFT)
#define PLAN_KEY_LATER	((u64)1 << 63)

/**
 * asap_policy_plan_add - add an address space's pages to a plan
 * @plan: the plan
 * @nr: items in it
 * @max: room in it
 * @table_id: what asap_plan_table() shall give for these items
 * @table: the table
 *
 * Targets are to be fetched. The other entries come after them, to be looked at.
 *
 * Return: items in the plan now.
 */
u32 asap_policy_plan_add(u64 *plan, u32 nr, u32 max, u16 table_id,
			 const struct asap_table *table)
{
	u32 i;

	for (i = 0; i < table->nr && nr < max; i++) {
		const struct asap_ent *ent = &table->ent[i];

		plan[nr++] = (ent->state == ASAP_TARGET ? 0 : PLAN_KEY_LATER) |
			     (u64)(ent->rank / 2) << PLAN_KEY_SHIFT |
			     (u64)table_id << ASAP_PLAN_TABLE_SHIFT | i;
	}
	return nr;
}

static int u64_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/**
 * asap_policy_plan_sort - put a plan in the order of fetching
 * @plan: items from asap_policy_plan_add()
 * @nr: how many
 * @batch: items that are fetched together, at least 1
 *
 * Batches follow each other in the order in which the app touched their pages;
 * inside a batch items go by address, so that neighbours share one look-up of
 * the VMA and the page table.
 *
 * Return: how many items are targets; they come first.
 */
u32 asap_policy_plan_sort(u64 *plan, u32 nr, u32 batch)
{
	u32 i, n, targets = 0;

	sort(plan, nr, sizeof(*plan), u64_cmp, NULL);
	while (targets < nr && !(plan[targets] & PLAN_KEY_LATER))
		targets++;
	for (i = 0; i < nr; i++)
		plan[i] &= ~PLAN_KEY_MASK;
	for (i = 0; i < nr; i += n) {
		/* Targets and others share no batch. */
		n = min(batch, (i < targets ? targets : nr) - i);
		sort(plan + i, n, sizeof(*plan), u64_cmp, NULL);
	}
	return targets;
}

/**
 * asap_policy_loaded - decide on the entries of a saved table
 * @policy: the rules
 * @min_hits: accesses in a profile that make a candidate
 * @table: the table of an app's files; only vpn, rank and hist are set
 *
 * A saved table is the outcome of a profile: to the published rules, candidates. To
 * the adaptive ones a page's history says all, as long as the app has taught nothing
 * else.
 */
void asap_policy_loaded(enum asap_policy policy, u8 min_hits,
			struct asap_table *table)
{
	static const struct asap_model nothing;
	u32 i;

	for (i = 0; i < table->nr; i++) {
		struct asap_ent *ent = &table->ent[i];

		ent->ttl = min_hits;
		ent->state = ASAP_CANDIDATE;
		if (policy == ASAP_POLICY_ADAPTIVE &&
		    asap_model_chance(&nothing, ent->hist) >= CHANCE_FETCH)
			ent->state = ASAP_TARGET;
	}
}

/**
 * asap_policy_candidates - keep what a profile makes candidates, drop the rest
 * @table: the table of an app's files
 * @min_hits: accesses that make a candidate
 */
void asap_policy_candidates(struct asap_table *table, u32 min_hits)
{
	u32 i, nr = 0;

	for (i = 0; i < table->nr; i++) {
		if (table->ent[i].ttl < min_hits)
			continue;
		table->ent[nr] = table->ent[i];
		table->ent[nr++].state = ASAP_CANDIDATE;
	}
	table->nr = nr;
}

static int extent_cmp(const void *a, const void *b)
{
	const struct asap_extent *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->vpn < y->vpn ? -1 : x->vpn > y->vpn;
}

/**
 * asap_policy_extents - put a table's targets together to what is read at once
 * @table: the table of an app's files
 * @gap: targets of a file that have fewer pages than this between them merge
 * @max: the most pages in an extent, 1 to 65535
 * @ext: written: room for as many extents as there are targets
 *
 * Return: how many extents there are, in the order of fetching.
 */
u32 asap_policy_extents(const struct asap_table *table, u32 gap, u32 max,
			struct asap_extent *ext)
{
	struct asap_extent *last = NULL;
	u32 i, nr = 0;

	for (i = 0; i < table->nr; i++) {
		const struct asap_ent *ent = &table->ent[i];

		if (ent->state != ASAP_TARGET)
			continue;
		if (last && last->vpn >> ASAP_FILE_SHIFT ==
			    ent->vpn >> ASAP_FILE_SHIFT &&
		    ent->vpn - (last->vpn + last->nr) < max(gap, 1U) &&
		    ent->vpn - last->vpn < max) {
			last->nr = ent->vpn - last->vpn + 1;
			last->rank = min(last->rank, ent->rank);
			continue;
		}
		last = &ext[nr++];
		*last = (struct asap_extent) {
			.vpn = ent->vpn,
			.first = i,
			.nr = 1,
			.rank = ent->rank,
		};
	}
	sort(ext, nr, sizeof(*ext), extent_cmp, NULL);
	return nr;
}
