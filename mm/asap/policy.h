/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ASAP policy: what to remember of an app, and what to fetch for it.
 *
 * Everything declared here is a pure function of plain data: no locks, no
 * allocation, no mm types. The mechanism (anon.c) gathers what a switch window
 * saw, hands it in, and acts on what comes out. The same file builds in user
 * space, where fuzzers and trace replay run it.
 *
 * Context of every function here: any; none sleeps, none takes a lock. The
 * caller owns all buffers and serialises access to them.
 */
#ifndef _MM_ASAP_POLICY_H
#define _MM_ASAP_POLICY_H

#include <linux/build_bug.h>
#include <linux/types.h>

/* Who decides: the rules as published, or those that learn from outcomes. */
enum asap_policy {
	ASAP_POLICY_PAPER,
	ASAP_POLICY_ADAPTIVE,
	ASAP_NR_POLICIES,
};

/* How far an entry has come. Only targets are fetched. */
enum asap_state {
	ASAP_CANDIDATE,
	ASAP_TARGET,
};

/*
 * What one window saw of an entry. The prefetch worker sets the first three,
 * the harvest the others; all are clear again in the table that
 * asap_policy_harvest() builds.
 */
#define ASAP_SEEN_MAPPED	0x01	/* fetched and mapped by us */
#define ASAP_SEEN_CACHED	0x02	/* fetched, left in the swap cache */
#define ASAP_SEEN_STALE		0x04	/* was young before we could clear it */
#define ASAP_SEEN_YOUNG		0x08	/* accessed, says its PTE */
#define ASAP_SEEN_GONE		0x10	/* nothing is mapped there any more */
#define ASAP_SEEN_FAULTED	0x20	/* the app faulted on it */
#define ASAP_SEEN_UNKNOWN	0x40	/* could not be looked at */

#define ASAP_SEEN_FETCHED	(ASAP_SEEN_MAPPED | ASAP_SEEN_CACHED)

/**
 * struct asap_ent - one page of one address space, or of the files of an app
 * @vpn: virtual page number (address in units of pages), or asap_file_vpn()
 * @rank: when it was touched, 0 (first) to 65535 (last) of a window
 * @state: &enum asap_state
 * @ttl: anonymous, paper: windows left before an entry that is not accessed is
 *	dropped; file: windows of the profile in which it was accessed
 * @hist: adaptive: outcomes of the last seven windows, newest in bit 0, 1 for
 *	accessed, below a sentinel bit that tells how many there are
 * @seen: ASAP_SEEN_* of the window that is open
 */
struct asap_ent {
	u64 vpn;
	u16 rank;
	u8 state;
	u8 ttl;
	u8 hist;
	u8 seen;
};

/* What a tracked page may cost. */
static_assert(sizeof(struct asap_ent) == 16);

/**
 * struct asap_table - the pages known of one address space
 * @ent: entries, sorted by @ent[].vpn, each vpn once
 * @nr: how many
 */
struct asap_table {
	struct asap_ent *ent;
	u32 nr;
};

/**
 * struct asap_touch - one page that the app touched in a window
 * @vpn: virtual page number, or asap_file_vpn()
 * @order: position in the log
 * @found: it was there: the app did not have to wait, and the log has no
 *	position for it
 */
struct asap_touch {
	u64 vpn;
	u32 order:31;
	u32 found:1;
};

/* All files of an app share one table: a file's number stands above the page. */
#define ASAP_FILE_SHIFT	32

static inline u64 asap_file_vpn(u32 file, u32 index)
{
	return (u64)file << ASAP_FILE_SHIFT | index;
}

/**
 * struct asap_extent - neighbouring pages of a file that are read together
 * @vpn: asap_file_vpn() of the first one
 * @nr: pages
 * @rank: when the first of its targets was touched
 * @first: index of the first entry of the table that lies in it
 */
struct asap_extent {
	u64 vpn;
	u32 first;
	u16 nr;
	u16 rank;
};

/*
 * How often a page with a given history was accessed in the window that
 * followed: what the adaptive policy learns, one for an app.
 */
struct asap_model {
	u16 hits[256];
	u16 trials[256];
};

/* How far the profile of a file is: a file that is new, or changed, has its own. */
enum asap_phase {
	ASAP_PROFILE_OVER,
	ASAP_PROFILE_ON,
	ASAP_PROFILE_ENDS,	/* with this window */
};

/**
 * struct asap_params - knobs that a decision depends on
 * @policy: &enum asap_policy
 * @ttl: lifetime of an entry that is not accessed, in windows (anonymous, paper)
 * @file: the table is one of files
 * @phase: &enum asap_phase of each file, by its number
 * @nr_phase: elements of @phase; files beyond have no profile any more
 * @min_hits: accesses in the profile that make a file page a candidate (paper)
 */
struct asap_params {
	enum asap_policy policy;
	u8 ttl;
	bool file;
	u8 min_hits;
	const u8 *phase;
	u32 nr_phase;
};

/**
 * struct asap_outcome - figures of one window, in pages
 * @fetched: brought in by prefetch
 * @used: of these, accessed by the app
 * @wasted: of these, mapped or cached still and not accessed
 * @lost: of these, gone or out of reach when the window was harvested
 * @faulted: pages that the app had to fault in by itself
 * @promoted: entries that became targets
 * @dropped: entries forgotten
 * @candidates: entries that are candidates now
 * @targets: entries that are targets now
 */
struct asap_outcome {
	u64 fetched;
	u64 used;
	u64 wasted;
	u64 lost;
	u64 faulted;
	u64 promoted;
	u64 dropped;
	u64 candidates;
	u64 targets;
};

u32 asap_policy_touches(struct asap_touch *touch, u32 nr);
u32 asap_policy_account(struct asap_table *table,
			const struct asap_touch *touch, u32 nr_touch,
			struct asap_outcome *out);
void asap_policy_harvest(const struct asap_params *params,
			 struct asap_model *model,
			 const struct asap_table *old,
			 const struct asap_touch *touch, u32 nr_touch,
			 u32 log_len, struct asap_table *new,
			 struct asap_outcome *out);
unsigned int asap_model_chance(const struct asap_model *model, u8 hist);

/*
 * A plan is the order in which the targets of an app's address spaces are
 * fetched. An item names a table and an entry in it.
 */
#define ASAP_PLAN_TABLE_SHIFT	32
#define ASAP_PLAN_TABLE_BITS	16

static inline u32 asap_plan_table(u64 item)
{
	return (item >> ASAP_PLAN_TABLE_SHIFT) &
	       ((1U << ASAP_PLAN_TABLE_BITS) - 1);
}

static inline u32 asap_plan_index(u64 item)
{
	return (u32)item;
}

u32 asap_policy_plan_add(u64 *plan, u32 nr, u32 max, u16 table_id,
			 const struct asap_table *table);
u32 asap_policy_plan_sort(u64 *plan, u32 nr, u32 batch);
void asap_policy_loaded(enum asap_policy policy, u8 min_hits,
			struct asap_table *table);
void asap_policy_candidates(struct asap_table *table, u32 min_hits);
u32 asap_policy_extents(const struct asap_table *table, u32 gap, u32 max,
			struct asap_extent *ext);

#endif /* _MM_ASAP_POLICY_H */
