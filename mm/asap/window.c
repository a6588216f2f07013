// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP switch windows.
 *
 *   IDLE --start--> OPEN --end, time-out, last exit--> ENDING --harvest--> IDLE
 *
 * While a window is open the app's faults are logged and its targets fetched.
 * Closing it clears the window bit in every member mm and leaves the rest to the
 * harvest, which runs in a workqueue: wait until no fault hook and no prefetch
 * worker can be in the middle of something, look at what was accessed, let the
 * policy decide, and put together the plan for the next window. start and end
 * therefore return at once; a start that comes before the harvest is through is
 * remembered and takes effect right after it.
 *
 * The plan and the tables that it points into change only between windows, in
 * state ENDING, with app->mutex held. State and membership change under
 * app->lock.
 */
#define pr_fmt(fmt) "asap: " fmt

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/swap.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#include "internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/asap.h>

/* A log that overflowed is doubled for the next window, up to 8 MiB. */
#define LOG_SIZE_MAX	BIT(19)

void __asap_swap_fault(struct mm_struct *mm, unsigned long addr,
		       unsigned int nr)
{
	struct asap_member *member;
	unsigned long val;

	rcu_read_lock();
	val = READ_ONCE(mm->asap);
	if (val & ASAP_MM_OPEN) {
		member = asap_mm_member(val);
		asap_log_append(&member->app->log, (struct asap_slot) {
				.key = addr >> PAGE_SHIFT,
				.member = member->id,
				.kind = ASAP_SLOT_ANON,
				.nr = nr,
			});
		trace_asap_fault(&member->app->kobj, mm, addr, nr);
	}
	rcu_read_unlock();
}

void __asap_fresh_fault(struct mm_struct *mm)
{
	unsigned long val;

	rcu_read_lock();
	val = READ_ONCE(mm->asap);
	if (val & ASAP_MM_OPEN)
		atomic_inc(&asap_mm_member(val)->app->fresh_faults);
	rcu_read_unlock();
}

/*
 * How many pages to fetch at most: the knob, or what can be had without taking
 * memory from anybody who uses it.
 */
static u32 window_budget(void)
{
	int max = asap_knob(ASAP_KNOB_MAX_PAGES);

	if (max)
		return max;
	return clamp_t(long, si_mem_available(), 0, INT_MAX);
}

/* Context: app->lock held, state IDLE or ENDING, no hook uses the log. */
static void window_open(struct asap_app *app)
{
	struct asap_member *member;
	u32 fetch = 0;
	int ms;

	app->state = ASAP_OPEN;
	app->restart = false;
	app->timed_out = false;
	app->opened_ns = ktime_get_ns();
	asap_log_reset(&app->log);
	atomic_set(&app->fresh_faults, 0);
	list_for_each_entry(member, &app->members, node)
		WRITE_ONCE(member->mm->asap,
			   (unsigned long)member | ASAP_MM_OPEN);
	if (asap_knob(ASAP_KNOB_PREFETCH) && asap_knob(ASAP_KNOB_ANON_ENABLED))
		fetch = min(app->plan_targets, window_budget());
	asap_run_start(&app->run, app->plan_nr, fetch);
	asap_file_start(app);
	asap_cgroup_start(app);
	/* The tick that is under way does not count: no window is cut short. */
	app->quiet_pos = 0;
	ms = asap_knob(ASAP_KNOB_WINDOW_TIMEOUT_MS);
	if (app->quiet_end)
		ms = min(ms, asap_knob(ASAP_KNOB_QUIET_MS));
	queue_delayed_work(asap_wq, &app->timeout_work, msecs_to_jiffies(ms) + 1);
	trace_asap_start(&app->kobj, fetch);
}

/* Context: app->lock held, state OPEN. */
static void window_close(struct asap_app *app)
{
	struct asap_member *member;

	app->state = ASAP_ENDING;
	app->closed_ns = ktime_get_ns();
	list_for_each_entry(member, &app->members, node)
		WRITE_ONCE(member->mm->asap, (unsigned long)member);
	asap_run_stop(&app->run);
	asap_file_stop(app);
	queue_work(asap_wq, &app->harvest_work);
}

/**
 * asap_window_start - open an app's switch window
 * @app: the app
 * @quiet_end: nobody will say when the switch is over: close the window when the
 *	app has not faulted for a while after the prefetch
 *
 * From now on the app's swap-backed faults are logged, and idle CPUs fetch what
 * was learned from earlier windows.
 *
 * Context: Process context. Does not wait for anything.
 * Return: 0; -EBUSY if the window is open already; -ESRCH if the app has no
 * process; -EOPNOTSUPP while ASAP is disabled; -ENODEV if the app was removed.
 */
int asap_window_start(struct asap_app *app, bool quiet_end)
{
	int err = 0;

	spin_lock(&app->lock);
	if (app->dead)
		err = -ENODEV;
	else if (!asap_enabled())
		err = -EOPNOTSUPP;
	else if (app->state == ASAP_OPEN || app->restart)
		err = -EBUSY;
	else if (list_empty(&app->members))
		err = -ESRCH;
	if (err)
		goto unlock;
	app->quiet_end = quiet_end;
	if (app->state == ASAP_ENDING)
		app->restart = true;
	else
		window_open(app);
unlock:
	spin_unlock(&app->lock);
	return err;
}

/**
 * asap_window_is_open - is an app's switch window open?
 * @app: the app
 *
 * Context: Any but interrupts.
 * Return: whether it is, or will be as soon as the last one is evaluated.
 */
bool asap_window_is_open(struct asap_app *app)
{
	bool open;

	spin_lock(&app->lock);
	open = app->state == ASAP_OPEN || app->restart;
	spin_unlock(&app->lock);
	return open;
}

/**
 * asap_window_end - close an app's switch window
 * @app: the app
 *
 * Context: Process context. Does not wait for anything.
 * Return: 0 or -EINVAL if no window is open.
 */
int asap_window_end(struct asap_app *app)
{
	int err = 0;

	spin_lock(&app->lock);
	if (app->state == ASAP_OPEN)
		window_close(app);
	else if (app->restart)
		app->restart = false;
	else
		err = -EINVAL;
	spin_unlock(&app->lock);
	return err;
}

/**
 * asap_window_close - close an app's switch window if one is open
 * @app: the app
 *
 * Context: Process context. Does not wait for anything.
 */
void asap_window_close(struct asap_app *app)
{
	asap_window_end(app);
}

/* Has the prefetch ended, and the app not faulted since we looked last? */
static bool window_quiet(struct asap_app *app)
{
	bool faults = asap_log_faults_since(&app->log, &app->quiet_pos);

	return !faults && asap_run_done(&app->run) && asap_file_done(app);
}

static void timeout_fn(struct work_struct *work)
{
	struct asap_app *app = container_of(to_delayed_work(work),
					    struct asap_app, timeout_work);
	s64 left_ms;

	spin_lock(&app->lock);
	if (app->state != ASAP_OPEN)
		goto unlock;
	left_ms = asap_knob(ASAP_KNOB_WINDOW_TIMEOUT_MS) -
		  (s64)div_u64(ktime_get_ns() - app->opened_ns, NSEC_PER_MSEC);
	if (app->quiet_end && left_ms > 0 && !window_quiet(app)) {
		left_ms = min_t(s64, left_ms, asap_knob(ASAP_KNOB_QUIET_MS));
		queue_delayed_work(asap_wq, &app->timeout_work,
				   msecs_to_jiffies(left_ms) + 1);
		goto unlock;
	}
	app->timed_out = !app->quiet_end || left_ms <= 0;
	window_close(app);
unlock:
	spin_unlock(&app->lock);
}

/* Let go of the members that the last plan was made of. */
static void plan_release(struct asap_app *app)
{
	unsigned int id;

	for (id = 0; id < ASAP_MAX_MEMBERS; id++) {
		if (!app->plan_members[id])
			continue;
		asap_member_put(app->plan_members[id]);
		app->plan_members[id] = NULL;
	}
	app->plan_nr = 0;
	app->plan_targets = 0;
}

static void member_forget(struct asap_member *member)
{
	kvfree(member->anon.ent);
	member->anon.ent = NULL;
	member->anon.nr = 0;
}

/*
 * Take over the members of the window that has closed: those that are left into
 * app->plan_members, those that departed into @departed.
 */
static void harvest_members(struct asap_app *app, struct list_head *departed)
{
	struct asap_member *member;

	plan_release(app);
	spin_lock(&app->lock);
	list_for_each_entry(member, &app->members, node) {
		refcount_inc(&member->ref);
		app->plan_members[member->id] = member;
	}
	list_splice_init(&app->departed, departed);
	spin_unlock(&app->lock);
}

static void mark_unknown(struct asap_table *table)
{
	u32 i;

	for (i = 0; i < table->nr; i++)
		table->ent[i].seen |= ASAP_SEEN_UNKNOWN;
}

/**
 * asap_table_clear_seen - forget what a window saw of a table's entries
 * @table: the table
 */
void asap_table_clear_seen(struct asap_table *table)
{
	u32 i;

	for (i = 0; i < table->nr; i++)
		table->ent[i].seen = 0;
}

/**
 * asap_table_alloc - allocate the entries of a table
 * @nr: how many
 *
 * Large ones take no more than they need: kmalloc() rounds to a power of two.
 *
 * Context: Process context, may sleep.
 * Return: the entries, to be given to kvfree(), or NULL.
 */
struct asap_ent *asap_table_alloc(u32 nr)
{
	size_t size = array_size(nr, sizeof(struct asap_ent));

	return size <= PAGE_SIZE ? kmalloc(size, GFP_KERNEL) : vmalloc(size);
}

/**
 * asap_table_trim - give back the room that a table does not use
 * @table: the table; its entries move
 * @room: entries that it has room for
 *
 * Context: Process context, may sleep. Short of memory, the table stays as it is.
 */
void asap_table_trim(struct asap_table *table, u32 room)
{
	struct asap_ent *ent;

	/* A few are not worth the copy. */
	if (room - table->nr <= room / 16)
		return;
	ent = asap_table_alloc(table->nr);
	if (!ent)
		return;
	memcpy(ent, table->ent, array_size(table->nr, sizeof(*ent)));
	kvfree(table->ent);
	table->ent = ent;
}

/**
 * asap_table_find - find a page in a table
 * @table: the table
 * @vpn: the page, as in &struct asap_ent.vpn
 *
 * Return: index of the first entry that does not come before @vpn; @table->nr if all do.
 */
u32 asap_table_find(const struct asap_table *table, u64 vpn)
{
	u32 lo = 0, hi = table->nr;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (table->ent[mid].vpn < vpn)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void harvest_member(struct asap_app *app, struct asap_member *member,
			   struct asap_touch *touch, u32 nr_touch,
			   struct asap_outcome *out)
{
	struct asap_params params = {
		.policy = asap_knob(ASAP_KNOB_POLICY),
		.ttl = asap_knob(ASAP_KNOB_ANON_TTL),
	};
	struct asap_table new = {};
	struct mm_struct *mm;
	u32 nr;

	mm = asap_member_mmget(member);
	if (mm) {
		asap_anon_look(mm, &member->anon);
		asap_member_mmput(member, mm);
	} else {
		mark_unknown(&member->anon);
	}
	nr_touch = asap_policy_touches(touch, nr_touch);
	nr = asap_policy_account(&member->anon, touch, nr_touch, out);
	if (!mm || !asap_knob(ASAP_KNOB_LEARN)) {
		asap_table_clear_seen(&member->anon);
		return;
	}
	if (nr) {
		new.ent = asap_table_alloc(nr);
		/* Short of memory, this window teaches nothing. */
		if (!new.ent) {
			asap_table_clear_seen(&member->anon);
			return;
		}
	}
	asap_policy_harvest(&params, &app->model, &member->anon, touch,
			    nr_touch, asap_log_len(&app->log), &new, out);
	kvfree(member->anon.ent);
	asap_table_trim(&new, nr);
	member->anon = new;
}

/* The pages that a member faulted on, after asap_log_sort(). */
static struct asap_touch *member_touches(struct asap_touch *touch,
					 const u32 *end, u16 id, u32 *nr)
{
	u32 from = id ? end[id - 1] : 0;

	*nr = end[id] - from;
	return touch + from;
}

/* Return: 0 or -ENOMEM; then the window taught nothing and tells nothing. */
static int harvest_log(struct asap_app *app, struct list_head *departed,
		       struct asap_outcome *out)
{
	struct asap_touch *touch = NULL, *mine;
	struct asap_member *member;
	unsigned int id;
	u32 *end, nr;

	end = kvmalloc_array(ASAP_MAX_MEMBERS + 1, sizeof(*end), GFP_KERNEL);
	if (!end)
		return -ENOMEM;
	nr = asap_log_count(&app->log, end);
	/* One more than needed: an array of no elements is no array. */
	touch = kvmalloc_array(nr + 1, sizeof(*touch), GFP_KERNEL);
	if (!touch) {
		kvfree(end);
		return -ENOMEM;
	}
	asap_log_sort(&app->log, end, touch);

	for (id = 0; id < ASAP_MAX_MEMBERS; id++) {
		member = app->plan_members[id];
		if (!member)
			continue;
		mine = member_touches(touch, end, id, &nr);
		harvest_member(app, member, mine, nr, out);
		cond_resched();
	}
	list_for_each_entry(member, departed, node) {
		mine = member_touches(touch, end, member->id, &nr);
		harvest_member(app, member, mine, nr, out);
		cond_resched();
	}
	kvfree(touch);
	kvfree(end);
	return 0;
}

static void harvest_failed(struct asap_app *app)
{
	unsigned int id;

	for (id = 0; id < ASAP_MAX_MEMBERS; id++)
		if (app->plan_members[id])
			asap_table_clear_seen(&app->plan_members[id]->anon);
	pr_warn_ratelimited("%s: out of memory, this switch is not learned\n",
			    kobject_name(&app->kobj));
}

static void plan_build(struct asap_app *app)
{
	u32 max = 0, nr = 0;
	unsigned int id;

	kvfree(app->plan);
	app->plan = NULL;
	for (id = 0; id < ASAP_MAX_MEMBERS; id++)
		if (app->plan_members[id])
			max += app->plan_members[id]->anon.nr;
	if (!max)
		return;
	app->plan = kvmalloc_array(max, sizeof(*app->plan), GFP_KERNEL);
	if (!app->plan)
		return;
	for (id = 0; id < ASAP_MAX_MEMBERS; id++)
		if (app->plan_members[id])
			nr = asap_policy_plan_add(app->plan, nr, max, id,
						  &app->plan_members[id]->anon);
	app->plan_targets = asap_policy_plan_sort(app->plan, nr, ASAP_BATCH);
	app->plan_nr = nr;
}

static void log_grow(struct asap_log *log)
{
	struct asap_log bigger;

	if (!atomic_read(&log->dropped) || log->size >= LOG_SIZE_MAX)
		return;
	if (asap_log_init(&bigger, log->size * 2))
		return;
	asap_log_destroy(log);
	*log = bigger;
}

static void stat_collect(struct asap_app *app, const struct asap_outcome *out,
			 const struct asap_outcome *file, u64 began_ns)
{
	struct asap_stat *last = &app->last, *total = &app->total;
	unsigned int i;

	*last = (struct asap_stat) {
		.switches = 1,
		.anon = *out,
		.file = *file,
		.fresh_faults = atomic_read(&app->fresh_faults),
		.log_dropped = atomic_read(&app->log.dropped),
		.duration_ns = app->closed_ns - app->opened_ns,
		.timeouts = app->timed_out,
		.low_memory = app->run.low_memory || app->files.low_memory,
		.harvest_ns = ktime_get_ns() - began_ns,
	};
	for (i = 0; i < ASAP_NR_FETCH; i++)
		last->fetch[i] = atomic_read(&app->run.fetch[i]);
	for (i = 0; i < ASAP_NR_FETCH; i++)
		last->file_fetch[i] = atomic_read(&app->files.fetch[i]);
	last->file_changed = app->files.changed;
	if (app->files.last_ns) {
		last->file_first_ns = app->files.first_ns - app->opened_ns;
		last->file_last_ns = app->files.last_ns - app->opened_ns;
	}
	if (atomic64_read(&app->run.last_ns)) {
		last->first_ns = atomic64_read(&app->run.first_ns) -
				 app->opened_ns;
		last->last_ns = atomic64_read(&app->run.last_ns) -
				app->opened_ns;
	}
	asap_stat_add(total, last);
	asap_stat_publish(last);
}

/*
 * Have tables, plan and log for ourselves: no window is open, none will open,
 * and whoever used them in the last one has gone.
 *
 * Context: Process context, sleeps. app->mutex held, state ENDING.
 */
static void tables_acquire(struct asap_app *app)
{
	/* Fault hooks that still saw the window bit. */
	synchronize_rcu();
	asap_run_wait(&app->run);
	asap_file_wait(app);
}

/**
 * asap_window_claim - have an app's tables between windows
 * @app: the app
 *
 * Nobody uses them then. A window that is asked for meanwhile waits until
 * asap_window_release().
 *
 * Context: app->mutex held.
 * Return: 0; -EBUSY while a window is open or being evaluated; -ENODEV if the app
 * was removed.
 */
int asap_window_claim(struct asap_app *app)
{
	int err = 0;

	spin_lock(&app->lock);
	if (app->dead)
		err = -ENODEV;
	else if (app->state != ASAP_IDLE)
		err = -EBUSY;
	else
		app->state = ASAP_ENDING;
	spin_unlock(&app->lock);
	return err;
}

/**
 * asap_window_release - let windows open again
 * @app: the app, claimed or harvested
 *
 * Opens the one that somebody asked for meanwhile.
 *
 * Context: app->mutex held.
 */
void asap_window_release(struct asap_app *app)
{
	spin_lock(&app->lock);
	app->state = ASAP_IDLE;
	if (app->restart && !app->dead && asap_enabled() &&
	    !list_empty(&app->members))
		window_open(app);
	app->restart = false;
	spin_unlock(&app->lock);
}

static void harvest_fn(struct work_struct *work)
{
	struct asap_app *app = container_of(work, struct asap_app,
					    harvest_work);
	struct asap_outcome out = {}, file = {};
	LIST_HEAD(departed);
	u64 began_ns;

	/* The timer must not close a window that opens after this one. */
	cancel_delayed_work_sync(&app->timeout_work);
	mutex_lock(&app->mutex);
	tables_acquire(app);
	began_ns = ktime_get_ns();
	harvest_members(app, &departed);
	if (harvest_log(app, &departed, &out))
		harvest_failed(app);
	if (asap_file_harvest(app, &file))
		harvest_failed(app);
	asap_members_put(&departed);
	plan_build(app);
	stat_collect(app, &out, &file, began_ns);
	trace_asap_end(&app->kobj, app->last.duration_ns, out.fetched, out.used,
		       out.faulted);
	trace_asap_learn(&app->kobj, out.promoted, out.dropped, out.candidates,
			 out.targets);
	log_grow(&app->log);
	asap_window_release(app);
	mutex_unlock(&app->mutex);
}

/**
 * asap_window_init - prepare a new app's window
 * @app: the app
 */
void asap_window_init(struct asap_app *app)
{
	asap_run_init(&app->run);
	INIT_WORK(&app->harvest_work, harvest_fn);
	INIT_DELAYED_WORK(&app->timeout_work, timeout_fn);
}

/**
 * asap_window_destroy - free what an app learned
 * @app: the app; it has no member and no reference is left
 */
void asap_window_destroy(struct asap_app *app)
{
	kvfree(app->plan);
}

/**
 * asap_window_shutdown - stop a window for good
 * @app: the app, marked as dead, its members detached
 *
 * Context: Process context, sleeps until workers and harvest are through.
 */
void asap_window_shutdown(struct asap_app *app)
{
	/* Dead and without its lock, the app has nobody who could queue more. */
	asap_window_close(app);
	cancel_delayed_work_sync(&app->timeout_work);
	cancel_work_sync(&app->harvest_work);
	tables_acquire(app);
	asap_members_put(&app->departed);
	plan_release(app);
}

/**
 * asap_window_forget - forget what an app learned
 * @app: the app
 *
 * Context: Process context, sleeps.
 * Return: 0; -EBUSY while a window is open or a start is waiting for its turn.
 */
int asap_window_forget(struct asap_app *app)
{
	unsigned int id;
	int err;

	mutex_lock(&app->mutex);
	err = asap_window_claim(app);
	if (err)
		goto unlock;
	for (id = 0; id < ASAP_MAX_MEMBERS; id++)
		if (app->plan_members[id])
			member_forget(app->plan_members[id]);
	plan_release(app);
	kvfree(app->plan);
	app->plan = NULL;
	asap_file_forget(app);
	memset(&app->model, 0, sizeof(app->model));
	memset(&app->last, 0, sizeof(app->last));
	memset(&app->total, 0, sizeof(app->total));
	asap_window_release(app);
unlock:
	mutex_unlock(&app->mutex);
	return err;
}

/**
 * asap_window_profile - begin or end an app's file profile
 * @app: the app
 * @start: begin anew, and forget what is known of its files; or end it now
 *
 * Context: Process context, sleeps.
 * Return: 0; -EBUSY while a window is open or being evaluated; -EINVAL if there
 * is no profile to end; -ENODEV if the app was removed.
 */
int asap_window_profile(struct asap_app *app, bool start)
{
	int err;

	mutex_lock(&app->mutex);
	err = asap_window_claim(app);
	if (err)
		goto unlock;
	if (start)
		asap_file_forget(app);
	else
		err = asap_file_profile_end(app);
	asap_window_release(app);
unlock:
	mutex_unlock(&app->mutex);
	return err;
}
