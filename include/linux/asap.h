/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Adaptive prepaging on app switch (ASAP): hooks.
 *
 * This header is all that the rest of the kernel sees of ASAP. With
 * CONFIG_ASAP=n every hook is empty. Otherwise a hook in a hot path is a static
 * key that is off until ASAP is enabled, then one load of mm->asap and one
 * branch; only for an mm whose app is in a switch window does it go further,
 * and even then it neither sleeps, nor allocates, nor takes a lock.
 *
 * See Documentation/mm/asap.rst.
 */
#ifndef _LINUX_ASAP_H
#define _LINUX_ASAP_H

#include <linux/mm_types.h>
#include <linux/jump_label.h>

struct linux_binprm;
struct vm_fault;

#ifdef CONFIG_ASAP

/*
 * mm->asap is 0 for an mm that belongs to no app. Otherwise it points to the
 * mm's struct asap_member, with this bit set while the app's window is open.
 */
#define ASAP_MM_OPEN	1UL

DECLARE_STATIC_KEY_FALSE(asap_key);

void __asap_swap_fault(struct mm_struct *mm, unsigned long addr,
		       unsigned int nr);
void __asap_fresh_fault(struct mm_struct *mm);
void __asap_file_miss(struct mm_struct *mm, struct file *file, pgoff_t index);
void __asap_file_read(struct mm_struct *mm, struct file *file, loff_t pos,
		      size_t count);
unsigned long __asap_map_begin(pte_t *pte, unsigned long nr);
void __asap_map_end(struct vm_fault *vmf, unsigned long addr, unsigned long nr,
		    unsigned long absent);
void __asap_fork(struct mm_struct *mm, struct mm_struct *oldmm);
void __asap_exec(struct linux_binprm *bprm, struct mm_struct *oldmm);
void __asap_exit(struct mm_struct *mm);
void __asap_oom_score_adj(struct task_struct *task, int adj);

bool __asap_fetching(void);

static __always_inline bool asap_window_open(const struct mm_struct *mm)
{
	return static_branch_unlikely(&asap_key) &&
	       unlikely(READ_ONCE(mm->asap) & ASAP_MM_OPEN);
}

/**
 * asap_swap_fault - a fault on a swapped-out page was resolved
 * @mm: the address space
 * @addr: address of the first page that was mapped
 * @nr: number of pages mapped
 *
 * Context: Fault path, page table lock held. Does not sleep.
 */
static inline void asap_swap_fault(struct mm_struct *mm, unsigned long addr,
				   unsigned int nr)
{
	if (asap_window_open(mm))
		__asap_swap_fault(mm, addr, nr);
}

/**
 * asap_fresh_fault - a fault got a page that was nowhere before
 * @mm: the address space
 *
 * For zero-filled pages and copies on write. They cannot be fetched ahead and
 * are only counted.
 *
 * Context: Fault path. Does not sleep.
 */
static inline void asap_fresh_fault(struct mm_struct *mm)
{
	if (asap_window_open(mm))
		__asap_fresh_fault(mm);
}

/**
 * asap_file_miss - the page cache has not got what is asked for
 * @mm: who asks; NULL for a kernel thread
 * @file: the file
 * @index: the page
 *
 * Context: Fault path or read(). Does not sleep.
 */
static inline void asap_file_miss(struct mm_struct *mm, struct file *file,
				  pgoff_t index)
{
	if (IS_ENABLED(CONFIG_ASAP_FILE) && mm && asap_window_open(mm))
		__asap_file_miss(mm, file, index);
}

/**
 * asap_file_read - read() has got pages
 * @mm: who reads; NULL for a kernel thread
 * @file: the file
 * @pos: where the read began, in bytes
 * @count: how many bytes it got; 0 or an error for none
 *
 * Context: read(). Does not sleep.
 */
static inline void asap_file_read(struct mm_struct *mm, struct file *file,
				  loff_t pos, ssize_t count)
{
	if (IS_ENABLED(CONFIG_ASAP_FILE) && count > 0 && mm &&
	    asap_window_open(mm))
		__asap_file_read(mm, file, pos, count);
}

/**
 * asap_hide_stall - do not let PSI count what nobody waits for
 * @workingset: whether a readahead call brings back pages of the working set;
 *	cleared where it is a prefetch worker that makes the call
 *
 * Context: Process context. Does not sleep.
 */
static inline void asap_hide_stall(bool *workingset)
{
	if (IS_ENABLED(CONFIG_ASAP_FILE) && static_branch_unlikely(&asap_key) &&
	    *workingset && __asap_fetching())
		*workingset = false;
}

/**
 * asap_map_begin - pages around a fault are about to be mapped
 * @mm: where
 * @pte: the first one's PTE
 * @nr: pages
 *
 * In a window the accessed bit must tell a touch from a mapping made ahead, so that
 * asap_map_end() makes these mappings old. A look before and one after cost less than
 * one at each page.
 *
 * Context: Fault path, page table lock held.
 * Return: what asap_map_end() wants to know.
 */
static inline unsigned long asap_map_begin(const struct mm_struct *mm,
					   pte_t *pte, unsigned long nr)
{
	if (IS_ENABLED(CONFIG_ASAP_FILE) && asap_window_open(mm))
		return __asap_map_begin(pte, nr);
	return 0;
}

/**
 * asap_map_end - pages around a fault were mapped
 * @vmf: the fault; its pte is where the mapping ended
 * @addr: the address of that
 * @nr: so many pages are between it and what asap_map_begin() looked at first
 * @absent: from asap_map_begin(), called under the same lock
 *
 * Context: Fault path, page table lock held.
 */
static inline void asap_map_end(struct vm_fault *vmf, unsigned long addr,
				unsigned long nr, unsigned long absent)
{
	if (IS_ENABLED(CONFIG_ASAP_FILE) &&
	    static_branch_unlikely(&asap_key) && absent)
		__asap_map_end(vmf, addr, nr, absent);
}

/**
 * asap_mm_init - a new mm belongs to no app
 * @mm: the mm, maybe a copy of its parent's bytes
 *
 * Context: Any.
 */
static inline void asap_mm_init(struct mm_struct *mm)
{
	mm->asap = 0;
}

/**
 * asap_fork - the child's mm joins the parent's app
 * @mm: the child's mm, not visible to anybody yet
 * @oldmm: the parent's mm
 *
 * Nothing is reported if memory is short: the child then is no member.
 *
 * Context: Process context, mmap_lock of both held for writing. May sleep.
 */
static inline void asap_fork(struct mm_struct *mm, struct mm_struct *oldmm)
{
	if (unlikely(READ_ONCE(oldmm->asap)))
		__asap_fork(mm, oldmm);
}

/**
 * asap_exec - the mm that exec() is about to install joins the old one's app
 * @bprm: the program; its credentials are final, its mm is not installed yet
 * @oldmm: the mm of the caller; NULL for a kernel thread
 *
 * What was known of the old mm's anonymous memory is not carried over. A
 * program that runs with other credentials than its caller joins nothing.
 *
 * Context: Process context. May sleep.
 */
static inline void asap_exec(struct linux_binprm *bprm, struct mm_struct *oldmm)
{
	if (oldmm && unlikely(READ_ONCE(oldmm->asap)))
		__asap_exec(bprm, oldmm);
}

/**
 * asap_exit - the last user of an mm has gone
 * @mm: the mm, its mappings still in place
 *
 * Context: Process context. Does not sleep.
 */
static inline void asap_exit(struct mm_struct *mm)
{
	if (unlikely(READ_ONCE(mm->asap)))
		__asap_exit(mm);
}

/**
 * asap_oom_score_adj - somebody tells how important a process is
 * @task: any thread of the process
 * @adj: its new oom_score_adj
 *
 * Context: Process context. May sleep.
 */
static inline void asap_oom_score_adj(struct task_struct *task, int adj)
{
	if (static_branch_unlikely(&asap_key))
		__asap_oom_score_adj(task, adj);
}

#else /* CONFIG_ASAP */

static inline void asap_swap_fault(struct mm_struct *mm, unsigned long addr,
				   unsigned int nr) { }
static inline void asap_fresh_fault(struct mm_struct *mm) { }
static inline void asap_file_miss(struct mm_struct *mm, struct file *file,
				  pgoff_t index) { }
static inline void asap_file_read(struct mm_struct *mm, struct file *file,
				  loff_t pos, ssize_t count) { }
static inline void asap_hide_stall(bool *workingset) { }
static inline unsigned long asap_map_begin(const struct mm_struct *mm,
					   pte_t *pte, unsigned long nr)
{
	return 0;
}

static inline void asap_map_end(struct vm_fault *vmf, unsigned long addr,
				unsigned long nr, unsigned long absent) { }
static inline void asap_mm_init(struct mm_struct *mm) { }
static inline void asap_fork(struct mm_struct *mm, struct mm_struct *oldmm) { }
static inline void asap_exec(struct linux_binprm *bprm,
			     struct mm_struct *oldmm) { }
static inline void asap_exit(struct mm_struct *mm) { }
static inline void asap_oom_score_adj(struct task_struct *task, int adj) { }

#endif /* CONFIG_ASAP */
#endif /* _LINUX_ASAP_H */
