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

/* A slot: page number, order of the folio, and who. 57-bit addresses fit. */
#define SLOT_VPN_BITS	45
#define SLOT_ORDER_BITS	4
#define SLOT_ID_SHIFT	(SLOT_VPN_BITS + SLOT_ORDER_BITS)

static_assert(ASAP_MAX_MEMBERS <= 1 << (64 - SLOT_ID_SHIFT));

static u64 slot_vpn(u64 slot)
{
	return slot & ((1ULL << SLOT_VPN_BITS) - 1);
}

static unsigned int slot_pages(u64 slot)
{
	return 1U << ((slot >> SLOT_VPN_BITS) & ((1U << SLOT_ORDER_BITS) - 1));
}

static u16 slot_id(u64 slot)
{
	return slot >> SLOT_ID_SHIFT;
}

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
 * asap_log_append - log a fault
 * @log: the log
 * @member_id: in which of the app's address spaces
 * @vpn: first page that was mapped
 * @order: log2 of the number of pages that were mapped
 *
 * Context: Any, several CPUs at once, inside rcu_read_lock().
 */
void asap_log_append(struct asap_log *log, u16 member_id, u64 vpn,
		     unsigned int order)
{
	u32 pos;

	/* Test first, so that the head cannot wrap around in a long window. */
	if (atomic_read(&log->head) >= log->size)
		goto full;
	pos = atomic_fetch_inc_relaxed(&log->head);
	if (pos >= log->size)
		goto full;
	log->slot[pos] = (u64)member_id << SLOT_ID_SHIFT |
			 (u64)order << SLOT_VPN_BITS | vpn;
	return;
full:
	atomic_inc(&log->dropped);
}

/**
 * asap_log_len - how many faults a log holds
 * @log: the log; nobody appends to it any more
 */
u32 asap_log_len(const struct asap_log *log)
{
	return min_t(u32, atomic_read(&log->head), log->size);
}

/**
 * asap_log_count - count the pages that each address space faulted on
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
		first[slot_id(log->slot[i]) + 1] += slot_pages(log->slot[i]);
	for (i = 1; i <= ASAP_MAX_MEMBERS; i++)
		first[i] += first[i - 1];
	return first[ASAP_MAX_MEMBERS];
}

/**
 * asap_log_sort - list the pages by address space
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
		u64 slot = log->slot[i];

		for (page = 0; page < slot_pages(slot); page++)
			touch[first[slot_id(slot)]++] = (struct asap_touch) {
				.vpn = slot_vpn(slot) + page,
				.order = i,
			};
	}
}
