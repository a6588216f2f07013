// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP: look at an address space without being in its way.
 *
 * The lock of one VMA is tried, and where per-VMA locks do not exist or a writer
 * has the VMA, the mmap_lock is tried. Nothing here waits.
 */
#include <linux/mm.h>

#include "internal.h"

/**
 * asap_vma_lock - lock the VMA at an address for reading
 * @lock: written; must be given to asap_vma_unlock() on success
 * @mm: the address space; the caller holds a reference of mmget()
 * @addr: the address
 *
 * Context: Process context. Does not wait for a lock.
 * Return: 0; -EAGAIN if the VMA is contended; -EFAULT if there is none.
 */
int asap_vma_lock(struct asap_vma *lock, struct mm_struct *mm,
		  unsigned long addr)
{
	lock->mmap_locked = false;
	lock->vma = lock_vma_under_rcu(mm, addr);
	if (lock->vma)
		return 0;
	/* No VMA, or a writer has it: the mmap_lock knows which. */
	if (!mmap_read_trylock(mm))
		return -EAGAIN;
	lock->vma = vma_lookup(mm, addr);
	if (!lock->vma) {
		mmap_read_unlock(mm);
		return -EFAULT;
	}
	lock->mmap_locked = true;
	return 0;
}

/**
 * asap_vma_unlock - let go of a VMA
 * @lock: what asap_vma_lock() wrote; may be empty
 */
void asap_vma_unlock(struct asap_vma *lock)
{
	if (!lock->vma)
		return;
	if (lock->mmap_locked)
		mmap_read_unlock(lock->vma->vm_mm);
	else
		vma_end_read(lock->vma);
	lock->vma = NULL;
}
