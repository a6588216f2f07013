// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP fault log.
 *
 * One buffer an app, allocated when the app is made. While a window is open,
 * fault hooks on any CPU append to it; an append is one atomic increment and one
 * store, and one that finds the buffer full is counted and lost. When the window
 * has closed and a grace period has passed, nobody appends any more, and the
 * harvest reads the buffer at leisure.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

/**
 * asap_log_init - allocate a log
 * @log: the log
 * @size: faults it has room for
 *
 * Context: Process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int asap_log_init(struct asap_log *log, u32 size)
{
	log->slot = kvmalloc_array(size, sizeof(*log->slot),
				   GFP_KERNEL_ACCOUNT);
	if (!log->slot)
		return -ENOMEM;
	log->size = size;
	asap_log_reset(log);
	return 0;
}

/**
 * asap_log_destroy - free a log
 * @log: the log; nobody appends to it any more
 *
 * Context: Process context, may sleep.
 */
void asap_log_destroy(struct asap_log *log)
{
	kvfree(log->slot);
	log->slot = NULL;
	log->size = 0;
}

/**
 * asap_log_reset - forget what a log holds
 * @log: the log; nobody appends to it at this time
 */
void asap_log_reset(struct asap_log *log)
{
	atomic_set(&log->head, 0);
	atomic_set(&log->dropped, 0);
}

/**
 * asap_log_append - log what an app touched
 * @log: the log
 * @slot: what
 *
 * Context: Any, several CPUs at once, inside rcu_read_lock().
 */
void asap_log_append(struct asap_log *log, struct asap_slot slot)
{
	u32 pos;

	/* Test first, so that the head cannot wrap around in a long window. */
	if (atomic_read(&log->head) >= log->size)
		goto full;
	pos = atomic_fetch_inc_relaxed(&log->head);
	if (pos >= log->size)
		goto full;
	log->slot[pos] = slot;
	return;
full:
	atomic_inc(&log->dropped);
}

/**
 * asap_log_len - how many events a log holds
 * @log: the log; nobody appends to it any more
 *
 * Return: that number, which does not count what was dropped.
 */
u32 asap_log_len(const struct asap_log *log)
{
	return min_t(u32, atomic_read(&log->head), log->size);
}

/**
 * asap_log_faults_since - did the app fault since we looked last?
 * @log: the log; others may append to it at this time
 * @pos: how far was looked last; updated
 *
 * A read() that the page cache served is no fault. A slot that is being written
 * just now may be taken for one, or be missed and counted at the next look.
 *
 * Context: Any.
 * Return: whether it did, or whether the log is full and nobody can tell.
 */
bool asap_log_faults_since(const struct asap_log *log, u32 *pos)
{
	u32 len = asap_log_len(log);
	bool faults = len == log->size;

	for (; *pos < len; ++*pos) {
		/* Being written just now? See above. */
		struct asap_slot slot = data_race(log->slot[*pos]);

		faults |= slot.kind != ASAP_SLOT_FILE_READ;
	}
	return faults;
}

/**
 * asap_log_count - count the anonymous pages that each address space faulted on
 * @log: the log; nobody appends to it any more
 * @first: array of %ASAP_MAX_MEMBERS + 1; written: where in a list of pages
 *	sorted by address space those of each one begin
 *
 * Return: pages in all.
 */
u32 asap_log_count(const struct asap_log *log, u32 *first)
{
	u32 i, len = asap_log_len(log);

	memset(first, 0, sizeof(*first) * (ASAP_MAX_MEMBERS + 1));
	for (i = 0; i < len; i++)
		if (log->slot[i].kind == ASAP_SLOT_ANON)
			first[log->slot[i].member + 1] += log->slot[i].nr;
	for (i = 1; i <= ASAP_MAX_MEMBERS; i++)
		first[i] += first[i - 1];
	return first[ASAP_MAX_MEMBERS];
}

/**
 * asap_log_sort - list the anonymous pages by address space
 * @log: the log, unchanged since asap_log_count()
 * @first: from asap_log_count(); when this returns, each element says where the
 *	pages of its address space end
 * @touch: written: as many as asap_log_count() said
 */
void asap_log_sort(const struct asap_log *log, u32 *first,
		   struct asap_touch *touch)
{
	u32 i, len = asap_log_len(log);
	unsigned int page;

	for (i = 0; i < len; i++) {
		const struct asap_slot *slot = &log->slot[i];

		if (slot->kind != ASAP_SLOT_ANON)
			continue;
		for (page = 0; page < slot->nr; page++)
			touch[first[slot->member]++] = (struct asap_touch) {
				.vpn = slot->key + page,
				.order = i,
			};
	}
}
