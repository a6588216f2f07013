// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP prefetch workers.
 *
 * One thread a CPU takes batches from the runs of all open windows. Prefetching
 * must never be in the way of what it is for: a worker therefore waits for its
 * turn in the idle class, where any other runnable thread comes first, and holds
 * nothing while it waits. A batch takes VMA locks, folio locks and page table
 * locks that the app may want a moment later; a thread of the idle class that is
 * preempted while it holds them would make the app wait for an idle CPU. So the
 * worker runs each batch in the normal class, and goes on with the next one only
 * while it is alone on its CPU.
 *
 * The cost is that an app that wakes up on this CPU shares it for the rest of
 * one batch.
 */
#include <linux/cpu.h>
#include <linux/kthread.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/stat.h>
#include <linux/smpboot.h>
#include <linux/timekeeping.h>
#include <linux/vmstat.h>
#include <uapi/linux/sched/types.h>

#include "internal.h"

/* Below the low watermark, wait this many ticks for reclaim to get ahead. */
#define LOW_MEMORY_TICKS	3

static LIST_HEAD(asap_runs);
static DEFINE_SPINLOCK(asap_runs_lock);
static DEFINE_PER_CPU(struct task_struct *, asap_worker);

/**
 * asap_run_init - prepare a run
 * @run: the run
 */
void asap_run_init(struct asap_run *run)
{
	INIT_LIST_HEAD(&run->node);
	init_waitqueue_head(&run->idle);
	run->stop = true;
}

/**
 * asap_run_start - let the workers fetch a plan
 * @run: the run; no worker is in it
 * @nr: items of the plan
 * @fetch: so many, from the first one, are to be fetched; the others are only
 *	looked at, so that their accessed bits tell of this window
 *
 * Context: Any but interrupts, may be called under app->lock.
 */
void asap_run_start(struct asap_run *run, u32 nr, u32 fetch)
{
	struct task_struct *worker;
	unsigned int i, cpu;

	for (i = 0; i < ASAP_NR_FETCH; i++)
		atomic_set(&run->fetch[i], 0);
	atomic64_set(&run->first_ns, 0);
	atomic64_set(&run->last_ns, 0);
	atomic_set(&run->cursor, 0);
	run->nr = nr;
	run->fetch_nr = fetch;
	run->low_memory = false;
	if (!nr)
		return;

	spin_lock(&asap_runs_lock);
	run->stop = false;
	list_add_tail(&run->node, &asap_runs);
	spin_unlock(&asap_runs_lock);
	for_each_online_cpu(cpu) {
		worker = per_cpu(asap_worker, cpu);
		if (worker)
			wake_up_process(worker);
	}
}

/**
 * asap_run_stop - let the workers take no more of a plan
 * @run: the run
 *
 * Workers that are in the middle of a batch leave it at the next page.
 *
 * Context: Any but interrupts, may be called under app->lock.
 */
void asap_run_stop(struct asap_run *run)
{
	spin_lock(&asap_runs_lock);
	WRITE_ONCE(run->stop, true);
	list_del_init(&run->node);
	spin_unlock(&asap_runs_lock);
}

/**
 * asap_run_stopped - shall a worker leave its batch?
 * @run: the run
 *
 * Context: Any.
 * Return: whether the window has closed, the app is gone or memory is short.
 */
bool asap_run_stopped(const struct asap_run *run)
{
	return READ_ONCE(run->stop);
}

/**
 * asap_run_done - is all of a plan fetched, or given up?
 * @run: the run
 *
 * Context: Any but interrupts.
 * Return: whether no worker is inside and none will join.
 */
bool asap_run_done(struct asap_run *run)
{
	bool done;

	spin_lock(&asap_runs_lock);
	done = !run->active && list_empty(&run->node);
	spin_unlock(&asap_runs_lock);
	return done;
}

static bool run_idle(struct asap_run *run)
{
	bool idle;

	spin_lock(&asap_runs_lock);
	idle = !run->active;
	spin_unlock(&asap_runs_lock);
	return idle;
}

/**
 * asap_run_wait - wait until no worker is inside a run
 * @run: the run, stopped
 *
 * Context: Process context, sleeps for at most the rest of one batch.
 */
void asap_run_wait(struct asap_run *run)
{
	wait_event(run->idle, run_idle(run));
}

/**
 * asap_run_count - say what became of a page
 * @run: the run
 * @what: what became of it
 *
 * Context: Any.
 */
void asap_run_count(struct asap_run *run, enum asap_fetch what)
{
	u64 now;

	atomic_inc(&run->fetch[what]);
	if (what != ASAP_FETCH_MAPPED && what != ASAP_FETCH_CACHED)
		return;
	now = ktime_get_ns();
	if (!atomic64_read(&run->first_ns))
		atomic64_cmpxchg(&run->first_ns, 0, now);
	atomic64_set(&run->last_ns, now);
}

static bool run_has_work(struct asap_run *run)
{
	return !READ_ONCE(run->stop) && atomic_read(&run->cursor) < run->nr;
}

/*
 * Take turns, so that no window waits for another one's whole plan. A run whose
 * last batch is in another worker's hands has nothing to join for.
 */
static struct asap_run *run_join(void)
{
	struct asap_run *run, *next, *found = NULL;

	spin_lock(&asap_runs_lock);
	list_for_each_entry_safe(run, next, &asap_runs, node) {
		if (!run_has_work(run)) {
			list_del_init(&run->node);
			continue;
		}
		found = run;
		found->active++;
		list_move_tail(&found->node, &asap_runs);
		break;
	}
	spin_unlock(&asap_runs_lock);
	return found;
}

static void run_leave(struct asap_run *run)
{
	spin_lock(&asap_runs_lock);
	if (!run_has_work(run))
		list_del_init(&run->node);
	/* Under the lock: once a waiter sees 0, the app may be freed. */
	if (!--run->active)
		wake_up(&run->idle);
	spin_unlock(&asap_runs_lock);
}

/**
 * asap_memory_low - is free memory below the low watermarks?
 *
 * Context: Any.
 * Return: whether it is, all zones together.
 */
bool asap_memory_low(void)
{
	unsigned long low = 0;
	struct zone *zone;

	for_each_populated_zone(zone)
		low += low_wmark_pages(zone);
	return global_zone_page_state(NR_FREE_PAGES) < low;
}

/*
 * kswapd is at work below the low watermark. Give it a chance, but do not take
 * from the reserves what it cannot replace.
 */
static bool memory_stays_low(struct asap_run *run)
{
	unsigned int tick;

	for (tick = 0; asap_memory_low(); tick++) {
		if (tick == LOW_MEMORY_TICKS)
			return true;
		schedule_timeout_idle(1);
		if (asap_run_stopped(run))
			break;
	}
	return false;
}

/**
 * asap_memcg_room - may a memory cgroup be charged without reclaim?
 * @memcg: the group; NULL for none
 * @nr: pages
 *
 * Beyond memory.high whoever charges next is made to wait: that would be the
 * worker now and the app later.
 *
 * Context: Any.
 * Return: whether the group and all above it stay below memory.high and
 * memory.max.
 */
bool asap_memcg_room(struct mem_cgroup *memcg, unsigned int nr)
{
#ifdef CONFIG_MEMCG
	for (; memcg && !mem_cgroup_is_root(memcg);
	     memcg = parent_mem_cgroup(memcg)) {
		unsigned long usage = page_counter_read(&memcg->memory) + nr;

		if (usage > READ_ONCE(memcg->memory.high) ||
		    usage > READ_ONCE(memcg->memory.max))
			return false;
	}
#endif
	return true;
}

static bool mm_room(struct mm_struct *mm, unsigned int nr)
{
	struct mem_cgroup *memcg = get_mem_cgroup_from_mm(mm);
	bool room = asap_memcg_room(memcg, nr);

	mem_cgroup_put(memcg);
	return room;
}

static void run_out_of_memory(struct asap_run *run)
{
	WRITE_ONCE(run->low_memory, true);
	asap_run_stop(run);
}

/* Fetch up to a batch of pages of one address space. Return: how many. */
static unsigned int fetch_member(struct asap_app *app, u32 pos, u32 end)
{
	const u64 *plan = app->plan + pos;
	unsigned int nr = end - pos;
	struct asap_ent *ent[ASAP_BATCH];
	u32 id = asap_plan_table(plan[0]);
	struct asap_member *member = app->plan_members[id];
	struct mm_struct *mm;
	unsigned int i, n, fetch;

	for (n = 0; n < nr && asap_plan_table(plan[n]) == id; n++)
		ent[n] = &member->anon.ent[asap_plan_index(plan[n])];
	fetch = pos < app->run.fetch_nr ? min(n, app->run.fetch_nr - pos) : 0;
	mm = asap_member_mmget(member);
	if (mm && mm_room(mm, fetch)) {
		asap_anon_fetch(&app->run, mm, ent, n, fetch);
	} else {
		for (i = 0; i < fetch; i++)
			asap_run_count(&app->run, mm ? ASAP_FETCH_NO_MEMORY :
						       ASAP_FETCH_STOPPED);
	}
	if (mm)
		asap_member_mmput(member, mm);
	return n;
}

static void fetch_batch(struct asap_run *run)
{
	struct asap_app *app = container_of(run, struct asap_app, run);
	u32 pos = atomic_fetch_add(ASAP_BATCH, &run->cursor);
	u32 end = min(pos + ASAP_BATCH, run->nr);

	while (pos < end && !asap_run_stopped(run))
		pos += fetch_member(app, pos, end);
	/* One may be bad luck; a batch of them is a fact. */
	if (atomic_read(&run->fetch[ASAP_FETCH_NO_MEMORY]) >= ASAP_BATCH)
		run_out_of_memory(run);
}

static int worker_should_run(unsigned int cpu)
{
	return !list_empty(&asap_runs);
}

static void worker_fn(unsigned int cpu)
{
	struct sched_param param = {};
	struct asap_run *run = run_join();

	if (!run)
		return;
	if (memory_stays_low(run)) {
		run_out_of_memory(run);
		run_leave(run);
		return;
	}
	sched_set_normal(current, 0);
	do {
		fetch_batch(run);
	} while (run_has_work(run) && single_task_running() &&
		 !need_resched() && !kthread_should_park() && !asap_memory_low());
	/* First: the idle class may have to wait long, and a harvest for us. */
	run_leave(run);
	sched_setscheduler_nocheck(current, SCHED_IDLE, &param);
	/*
	 * smpboot calls again at once, and to change the class asks for no
	 * rescheduling: without this the app would wait for the whole plan.
	 */
	schedule();
}

static void worker_setup(unsigned int cpu)
{
	struct sched_param param = {};

	sched_setscheduler_nocheck(current, SCHED_IDLE, &param);
}

static struct smp_hotplug_thread asap_workers = {
	.store			= &asap_worker,
	.thread_should_run	= worker_should_run,
	.thread_fn		= worker_fn,
	.setup			= worker_setup,
	.thread_comm		= "asap/%u",
};

/**
 * asap_workers_start - start the worker threads
 *
 * Context: Process context, may sleep. asap_apps_lock held.
 * Return: 0 or an error of kthread_create().
 */
int asap_workers_start(void)
{
	return smpboot_register_percpu_thread(&asap_workers);
}

/**
 * asap_workers_stop - stop the worker threads
 *
 * Context: Process context, sleeps. asap_apps_lock held, no run is left.
 */
void asap_workers_stop(void)
{
	struct task_struct *worker;
	unsigned int cpu;

	/* In the idle class of a busy CPU they would take long to exit. */
	for_each_possible_cpu(cpu) {
		worker = per_cpu(asap_worker, cpu);
		if (worker)
			sched_set_normal(worker, 0);
	}
	smpboot_unregister_percpu_thread(&asap_workers);
}
