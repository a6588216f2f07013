// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP for anonymous pages: bring them back from swap, and see which were used.
 *
 * A page is fetched in three steps, because nothing may be allocated or read
 * while a VMA is locked: look up the swap entries of a batch under the VMA's read
 * lock; without it, read them into the swap cache; lock it again, look again, and
 * map what is still as it was.
 *
 * The swap cache, and not the fault handler, because a guess may be wrong. A
 * fault gives the swap slot free, so an unused page would have to be compressed
 * again to get rid of it. Through the swap cache it keeps its slot: mapped clean,
 * it drops back to the slot for nothing. A page that was used has no need of the
 * slot any more; the harvest frees it.
 *
 * Pages are mapped old, so that the accessed bit tells use from waste, and
 * writable where do_swap_page() would have made them so, so that a CPU that sets
 * accessed and dirty bits by itself takes no fault at all.
 *
 * All locks are tried, never waited for: what is contended here is in use by the
 * app, which then needs no help.
 */
#include <linux/hugetlb.h>
#include <linux/mempolicy.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/oom.h>
#include <linux/page_idle.h>
#include <linux/pagemap.h>
#include <linux/pgtable.h>
#include <linux/rmap.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>
#include <linux/swapops.h>
#include <linux/userfaultfd_k.h>
#include <trace/events/asap.h>

#include "../internal.h"
#include "../swap.h"
#include "internal.h"

/*
 * No direct reclaim: between swapcache_prepare() and the folio's appearance in
 * the swap cache, a fault of the app on this entry sleeps for a tick. No reserves
 * and no warning: a page that is not fetched costs no more than without us.
 */
#define ASAP_GFP_ANON	((GFP_HIGHUSER_MOVABLE & ~__GFP_DIRECT_RECLAIM) | \
			 __GFP_NOMEMALLOC | __GFP_NOWARN)

/* PTEs that the harvest looks at without letting go of the page table. */
#define LOOK_BATCH	64

/*
 * A position in an address space: a VMA locked for reading and, while @pte is
 * set, a page table locked.
 */
struct anon_walk {
	struct mm_struct *mm;
	struct asap_vma lock;
	unsigned long addr;
	pte_t *pte;
	spinlock_t *ptl;		/* of the page table, held while @pte is set */
};

static void walk_unlock_pte(struct anon_walk *walk)
{
	if (walk->pte)
		pte_unmap_unlock(walk->pte, walk->ptl);
	walk->pte = NULL;
}

static void walk_unlock(struct anon_walk *walk)
{
	walk_unlock_pte(walk);
	asap_vma_unlock(&walk->lock);
}

/*
 * Go to @addr, and come back with its page table locked. Neighbours share the
 * locks; the page table is let go first where @addr is in another one.
 *
 * Return: 0; -EAGAIN if something is contended; -EFAULT if no page of the kind
 * that we deal with can be there.
 */
static int walk_to(struct anon_walk *walk, unsigned long addr)
{
	struct vm_area_struct *vma = walk->lock.vma;
	pmd_t *pmd;
	int err;

	if (vma && (addr < vma->vm_start || addr >= vma->vm_end))
		walk_unlock(walk);
	if (walk->pte && (addr & PMD_MASK) == (walk->addr & PMD_MASK)) {
		walk->pte += (long)(addr - walk->addr) >> PAGE_SHIFT;
		walk->addr = addr;
		return 0;
	}
	walk_unlock_pte(walk);
	if (!walk->lock.vma) {
		err = asap_vma_lock(&walk->lock, walk->mm, addr);
		if (err)
			return err;
	}
	vma = walk->lock.vma;
	if (!vma->anon_vma || is_vm_hugetlb_page(vma) ||
	    (vma->vm_flags & (VM_LOCKED | VM_PFNMAP | VM_IO)))
		return -EFAULT;
	pmd = mm_find_pmd(walk->mm, addr);
	if (!pmd)
		return -EFAULT;
	walk->pte = pte_offset_map_lock(walk->mm, pmd, addr, &walk->ptl);
	walk->addr = addr;
	/* No page table: nothing was ever there, or a huge page is. */
	return walk->pte ? 0 : -EFAULT;
}

/* A page on its way from swap to the page table. */
struct anon_fetch {
	struct asap_ent *ent;
	pte_t pte;		/* as it was when we looked first */
	struct folio *folio;
	struct mempolicy *mpol;
	pgoff_t ilx;
};

/*
 * The policy that the VMA asks for, with a reference that outlives the VMA's
 * lock. The app's own task policy is out of reach.
 */
static struct mempolicy *vma_mpol_get(struct vm_area_struct *vma,
				      unsigned long addr, pgoff_t *ilx)
{
	struct mempolicy *mpol = get_vma_policy(vma, addr, 0, ilx);

#ifdef CONFIG_NUMA
	if (!mpol_needs_cond_ref(mpol))
		mpol_get(mpol);
#endif
	return mpol;
}

/*
 * A present page: it needs no fetching, but its accessed bit must tell of this
 * window. A bit that is set now may do so already, or be from before.
 */
static void look_present(struct anon_walk *walk, struct asap_ent *ent, pte_t pte)
{
	struct folio *folio;

	if (!ptep_clear_young_notify(walk->lock.vma, walk->addr, walk->pte))
		return;
	folio = vm_normal_folio(walk->lock.vma, walk->addr, pte);
	if (folio)
		folio_set_young(folio);
	ent->seen |= ASAP_SEEN_STALE;
}

/*
 * First step. Return: whether there is something to read; if not, @why is written.
 */
static bool fetch_look(struct anon_walk *walk, struct anon_fetch *f,
		       enum asap_fetch *why)
{
	unsigned long addr = f->ent->vpn << PAGE_SHIFT;
	int err = walk_to(walk, addr);

	*why = ASAP_FETCH_EMPTY;
	if (err) {
		if (err == -EAGAIN)
			*why = ASAP_FETCH_CONTENDED;
		return false;
	}
	f->pte = ptep_get(walk->pte);
	if (pte_present(f->pte)) {
		look_present(walk, f->ent, f->pte);
		*why = ASAP_FETCH_PRESENT;
		return false;
	}
	return !pte_none(f->pte) && !non_swap_entry(pte_to_swp_entry(f->pte));
}

/* Second step. Return: whether there is something to map. */
static bool fetch_read(struct asap_run *run, struct anon_fetch *f)
{
	swp_entry_t entry = pte_to_swp_entry(f->pte);
	struct swap_info_struct *si = get_swap_device(entry);
	bool fresh = false, workingset;
	unsigned char count = 0;

	f->folio = NULL;
	if (si) {
		f->folio = __read_swap_cache_async(entry, ASAP_GFP_ANON, f->mpol,
						   f->ilx, &fresh, true);
		count = READ_ONCE(si->swap_map[swp_offset(entry)]);
		put_swap_device(si);
	}
	mpol_put(f->mpol);
	if (!f->folio) {
		/*
		 * A slot that is free by now, or that is being read, says that
		 * somebody was faster. Otherwise there was no memory for it.
		 */
		asap_run_count(run, count && !(count & SWAP_HAS_CACHE) ?
			       ASAP_FETCH_NO_MEMORY : ASAP_FETCH_RACED);
		return false;
	}
	if (!fresh)
		return true;
	/*
	 * A refaulting folio of the working set would make swap_read_folio()
	 * account the read as a memory stall. Nobody waits for this one.
	 */
	workingset = folio_test_workingset(f->folio);
	if (workingset)
		folio_clear_workingset(f->folio);
	swap_read_folio(f->folio, NULL);
	if (workingset)
		folio_set_workingset(f->folio);
	return true;
}

/*
 * May @folio be mapped here as it is? What do_swap_page() would copy, wait for
 * or share is left to it.
 */
static bool folio_suits(struct folio *folio, swp_entry_t entry,
			struct vm_area_struct *vma, unsigned long addr)
{
	if (!folio_test_swapcache(folio) || folio->swap.val != entry.val)
		return false;
	if (folio_test_large(folio) || folio_test_ksm(folio) ||
	    folio_test_writeback(folio) || folio_test_hwpoison(folio))
		return false;
	if (!folio_test_uptodate(folio))
		return false;
	if (!folio_test_anon(folio))
		return true;
	/* Shared with a relative; ksm_might_need_to_copy() asks the same. */
	return folio_anon_vma(folio)->root == vma->anon_vma->root &&
	       folio->index == linear_page_index(vma, addr);
}

/* As do_swap_page() does it, but old, and without giving the slot free. */
static void map_folio(struct anon_walk *walk, struct folio *folio, pte_t old)
{
	struct vm_area_struct *vma = walk->lock.vma;
	swp_entry_t entry = pte_to_swp_entry(old);
	struct page *page = folio_page(folio, 0);
	rmap_t rmap_flags = RMAP_NONE;
	pte_t pte;

	/* Metadata goes by swap entry, so before swap_free(). */
	arch_swap_restore(folio_swap(entry, folio), folio);

	folio_get(folio);
	add_mm_counter(walk->mm, MM_ANONPAGES, 1);
	add_mm_counter(walk->mm, MM_SWAPENTS, -1);
	pte = mk_pte(page, vma->vm_page_prot);
	if (arch_has_hw_pte_young())
		pte = pte_mkold(pte);
	if (pte_swp_soft_dirty(old))
		pte = pte_mksoft_dirty(pte);
	if (pte_swp_uffd_wp(old))
		pte = pte_mkuffd_wp(pte);
	if (pte_swp_exclusive(old)) {
		if ((vma->vm_flags & VM_WRITE) &&
		    !userfaultfd_pte_wp(vma, pte) &&
		    !pte_needs_soft_dirty_wp(vma, pte))
			pte = pte_mkwrite(pte, vma);
		rmap_flags |= RMAP_EXCLUSIVE;
	}
	flush_icache_page(vma, page);
	if (folio_test_anon(folio))
		folio_add_anon_rmap_pte(folio, page, vma, walk->addr, rmap_flags);
	else
		folio_add_new_anon_rmap(folio, vma, walk->addr, rmap_flags);
	set_pte_at(walk->mm, walk->addr, walk->pte, pte);
	swap_free(entry);
}

/* Third step: the folio is locked. */
static enum asap_fetch fetch_map(struct anon_walk *walk, struct anon_fetch *f)
{
	int err = walk_to(walk, f->ent->vpn << PAGE_SHIFT);

	if (err == -EAGAIN)
		return ASAP_FETCH_CACHED;
	if (err || !pte_same(ptep_get(walk->pte), f->pte))
		return ASAP_FETCH_RACED;
	if (!folio_suits(f->folio, pte_to_swp_entry(f->pte), walk->lock.vma,
			 walk->addr))
		return ASAP_FETCH_UNSUITED;
	map_folio(walk, f->folio, f->pte);
	return ASAP_FETCH_MAPPED;
}

static void fetch_finish(struct anon_walk *walk, struct asap_run *run,
			 struct anon_fetch *f)
{
	enum asap_fetch what = ASAP_FETCH_CACHED;

	/* Locked: still being read, or the app is faulting it in. */
	if (folio_trylock(f->folio)) {
		what = fetch_map(walk, f);
		/* When swap runs out, a slot is worth more than a cheap drop. */
		if (what == ASAP_FETCH_MAPPED &&
		    mem_cgroup_swap_full(f->folio)) {
			walk_unlock_pte(walk);
			folio_free_swap(f->folio);
		}
		folio_unlock(f->folio);
	}
	if (what == ASAP_FETCH_MAPPED)
		f->ent->seen |= ASAP_SEEN_MAPPED;
	else if (what == ASAP_FETCH_CACHED)
		f->ent->seen |= ASAP_SEEN_CACHED;
	trace_asap_prefetch(walk->mm, f->ent->vpn << PAGE_SHIFT, what);
	asap_run_count(run, what);
}

/**
 * asap_anon_fetch - bring anonymous pages back from swap
 * @run: the run, for its counters and whether to stop
 * @mm: the address space; the caller holds a reference of mmget()
 * @ent: entries of its table; best ordered by address
 * @nr: how many, at most %ASAP_BATCH
 * @to_fetch: how many of them, from the first one, to fetch; the others are only
 *	looked at
 *
 * Sets ASAP_SEEN_* in the entries.
 *
 * Context: Process context, sleeps when swap does. Waits for no lock of the app.
 */
void asap_anon_fetch(struct asap_run *run, struct mm_struct *mm,
		     struct asap_ent **ent, unsigned int nr,
		     unsigned int to_fetch)
{
	struct anon_fetch fetch[ASAP_BATCH];
	struct anon_walk walk = { .mm = mm };
	enum asap_fetch why;
	unsigned int i, n;

	/* The oom killer's reaper wins: what it unmaps must not come back. */
	if (check_stable_address_space(mm))
		goto stopped;
	for (i = 0, n = 0; i < nr; i++) {
		struct anon_fetch *f = &fetch[n];
		bool swapped;

		f->ent = ent[i];
		swapped = fetch_look(&walk, f, &why);
		if (i >= to_fetch)
			continue;
		if (!swapped) {
			asap_run_count(run, why);
			continue;
		}
		f->mpol = vma_mpol_get(walk.lock.vma, walk.addr, &f->ilx);
		n++;
	}
	walk_unlock(&walk);

	nr = n;
	for (i = 0, n = 0; i < nr; i++) {
		if (asap_run_stopped(run)) {
			mpol_put(fetch[i].mpol);
			asap_run_count(run, ASAP_FETCH_STOPPED);
		} else if (fetch_read(run, &fetch[i])) {
			fetch[n++] = fetch[i];
		}
	}

	nr = n;
	if (nr && !check_stable_address_space(mm))
		for (i = 0; i < nr; i++)
			fetch_finish(&walk, run, &fetch[i]);
	walk_unlock(&walk);
	for (i = 0; i < nr; i++)
		folio_put(fetch[i].folio);
	if (nr)
		/* References from the per-CPU lists would keep reclaim away. */
		lru_add_drain();
	return;
stopped:
	for (i = 0; i < to_fetch; i++)
		asap_run_count(run, ASAP_FETCH_STOPPED);
}

/* What the harvest has to do once it has let go of the page table. */
struct anon_settle {
	struct folio *folio[LOOK_BATCH];
	bool used[LOOK_BATCH];
	unsigned int nr;
};

/* A used page needs no slot any more; an unused one shall be the first to go. */
static void settle(struct anon_settle *s)
{
	unsigned int i;

	for (i = 0; i < s->nr; i++) {
		struct folio *folio = s->folio[i];

		if (!s->used[i]) {
			folio_deactivate(folio);
		} else if (folio_test_swapcache(folio) && folio_trylock(folio)) {
			folio_free_swap(folio);
			folio_unlock(folio);
		}
		folio_put(folio);
	}
	s->nr = 0;
}

static void look_one(struct anon_walk *walk, struct asap_ent *ent,
		     struct anon_settle *s)
{
	int err = walk_to(walk, ent->vpn << PAGE_SHIFT);
	struct folio *folio;
	bool young;
	pte_t pte;

	if (err) {
		ent->seen |= err == -EAGAIN ? ASAP_SEEN_UNKNOWN : ASAP_SEEN_GONE;
		return;
	}
	pte = ptep_get(walk->pte);
	if (!pte_present(pte)) {
		if (pte_none(pte) || non_swap_entry(pte_to_swp_entry(pte)))
			ent->seen |= ASAP_SEEN_GONE;
		return;
	}
	young = ptep_clear_young_notify(walk->lock.vma, walk->addr, walk->pte);
	folio = vm_normal_folio(walk->lock.vma, walk->addr, pte);
	if (young) {
		ent->seen |= ASAP_SEEN_YOUNG;
		if (folio)
			folio_set_young(folio);
	}
	if (!folio || !(ent->seen & ASAP_SEEN_MAPPED))
		return;
	folio_get(folio);
	s->folio[s->nr] = folio;
	s->used[s->nr++] = young;
}

/**
 * asap_anon_look - see which pages of a table were accessed
 * @mm: the address space; the caller holds a reference of mmget()
 * @table: its table, ASAP_SEEN_* as the window's fetching left them
 *
 * Adds %ASAP_SEEN_YOUNG, %ASAP_SEEN_GONE and %ASAP_SEEN_UNKNOWN, and settles what
 * is to become of the pages that were fetched.
 *
 * Context: Process context, may sleep. Waits for no lock of the app.
 */
void asap_anon_look(struct mm_struct *mm, struct asap_table *table)
{
	struct anon_walk walk = { .mm = mm };
	struct anon_settle settled = {};
	u32 i;

	for (i = 0; i < table->nr; i++) {
		look_one(&walk, &table->ent[i], &settled);
		if (settled.nr == LOOK_BATCH || i % LOOK_BATCH == LOOK_BATCH - 1) {
			walk_unlock(&walk);
			settle(&settled);
			cond_resched();
		}
	}
	walk_unlock(&walk);
	settle(&settled);
	lru_add_drain();
}
