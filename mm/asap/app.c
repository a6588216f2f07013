// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP apps and their members.
 *
 * An app is a name and a set of address spaces. Membership hangs on the mm, not
 * on a PID: threads share it, a child inherits it, exec() hands it on, and the
 * last user's exit ends it. mm->asap points to the member; it is set and cleared
 * under the app's spinlock, and read without a lock by fault hooks.
 */
#include <linux/binfmts.h>
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "internal.h"

/* Faults that an app's log has room for at first: 256 KiB of log. */
#define LOG_SIZE	32768

/* Apps come and go, and ASAP is turned on and off, one at a time. */
DEFINE_MUTEX(asap_apps_lock);

/* Harvests, time-outs, and freeing what fault hooks may still look at. */
struct workqueue_struct *asap_wq;

static void member_free(struct work_struct *work)
{
	struct asap_member *member = container_of(to_rcu_work(work),
						  struct asap_member, free);

	ida_free(&member->app->ids, member->id);
	kobject_put(&member->app->kobj);
	kvfree(member->anon.ent);
	put_pid(member->pid);
	kfree(member);
}

/**
 * asap_member_put - drop a reference to a member
 * @member: the member
 *
 * Context: Any but hard interrupts. The member is freed after a grace period.
 */
void asap_member_put(struct asap_member *member)
{
	if (refcount_dec_and_test(&member->ref))
		queue_rcu_work(asap_wq, &member->free);
}

/**
 * asap_members_put - drop a reference to each member of a list
 * @members: the list, of members that are unlinked; empty afterwards
 *
 * Context: Any but hard interrupts.
 */
void asap_members_put(struct list_head *members)
{
	struct asap_member *member, *next;

	list_for_each_entry_safe(member, next, members, node) {
		list_del_init(&member->node);
		asap_member_put(member);
	}
}

/**
 * asap_member_mmget - take a member's address space for a while
 * @member: the member, referenced
 *
 * An mm that has no user left but us is not taken: else workers that take turns
 * would keep the memory of a killed app until its plan is through.
 *
 * Context: Any.
 * Return: the mm, to be given back by asap_member_mmput(), or NULL if its last
 * user has gone.
 */
struct mm_struct *asap_member_mmget(struct asap_member *member)
{
	struct asap_app *app = member->app;
	struct mm_struct *mm;

	spin_lock(&app->lock);
	mm = member->mm;
	if (mm && (atomic_read(&mm->mm_users) <= member->held ||
		   !mmget_not_zero(mm)))
		mm = NULL;
	if (mm)
		member->held++;
	spin_unlock(&app->lock);
	return mm;
}

/**
 * asap_member_mmput - give a member's address space back
 * @member: the member, referenced
 * @mm: from asap_member_mmget()
 *
 * The app may have exited meanwhile; the caller need not clean up after it.
 *
 * Context: Any.
 */
void asap_member_mmput(struct asap_member *member, struct mm_struct *mm)
{
	struct asap_app *app = member->app;

	spin_lock(&app->lock);
	member->held--;
	mmput_async(mm);
	spin_unlock(&app->lock);
}

/**
 * asap_member_pid - the thread group of a member
 * @member: the member
 *
 * A member that came by fork() had no PID at that time; the owner of its mm has
 * one now. Without CONFIG_MEMCG an mm does not know its owner.
 *
 * Context: app->lock held.
 * Return: the struct pid, alive as long as the member; NULL if there is none.
 */
struct pid *asap_member_pid(struct asap_member *member)
{
#ifdef CONFIG_MEMCG
	if (!member->pid && member->mm) {
		struct task_struct *owner;

		rcu_read_lock();
		owner = rcu_dereference(member->mm->owner);
		if (owner)
			member->pid = get_pid(task_tgid(owner));
		rcu_read_unlock();
	}
#endif
	return member->pid;
}

/**
 * asap_app_members - the members of an app, each with a reference
 * @app: the app
 * @member: written: room for %ASAP_MAX_MEMBERS
 *
 * Context: Process context. Does not sleep.
 * Return: how many; each is to be given back by asap_member_put().
 */
u32 asap_app_members(struct asap_app *app, struct asap_member **member)
{
	struct asap_member *pos;
	u32 nr = 0;

	spin_lock(&app->lock);
	list_for_each_entry(pos, &app->members, node) {
		refcount_inc(&pos->ref);
		/* While it is linked its PID can still be learned. */
		asap_member_pid(pos);
		member[nr++] = pos;
	}
	spin_unlock(&app->lock);
	return nr;
}

static struct asap_member *member_alloc(struct asap_app *app, struct pid *pid)
{
	struct asap_member *member;
	int id;

	member = kzalloc(sizeof(*member), GFP_KERNEL_ACCOUNT);
	if (!member)
		return ERR_PTR(-ENOMEM);
	id = ida_alloc_max(&app->ids, ASAP_MAX_MEMBERS - 1, GFP_KERNEL);
	if (id < 0) {
		kfree(member);
		return ERR_PTR(id);
	}
	refcount_set(&member->ref, 1);
	member->id = id;
	member->app = app;
	member->pid = get_pid(pid);
	INIT_LIST_HEAD(&member->node);
	INIT_RCU_WORK(&member->free, member_free);
	kobject_get(&app->kobj);
	return member;
}

/*
 * Make @member the member of @mm. On success the reference that comes with a new
 * member belongs to the membership.
 */
static int member_link(struct asap_member *member, struct mm_struct *mm)
{
	struct asap_app *app = member->app;
	unsigned long val = (unsigned long)member;
	int err = 0;

	spin_lock(&app->lock);
	if (app->dead) {
		err = -ENODEV;
		goto out;
	}
	if (app->state == ASAP_OPEN)
		val |= ASAP_MM_OPEN;
	member->mm = mm;
	/* Two apps may want one mm: the first one gets it. */
	if (cmpxchg(&mm->asap, 0, val)) {
		member->mm = NULL;
		err = -EBUSY;
		goto out;
	}
	list_add_tail(&member->node, &app->members);
	app->nr_members++;
out:
	spin_unlock(&app->lock);
	return err;
}

/*
 * End a membership. While a window is open its log may name the member, so the
 * membership's reference, and with it the id, goes to the harvest.
 *
 * Context: app->lock held.
 * Return: whether the caller has to drop the membership's reference.
 */
static bool member_unlink(struct asap_member *member)
{
	struct asap_app *app = member->app;

	WRITE_ONCE(member->mm->asap, 0);
	member->mm = NULL;
	app->nr_members--;
	if (app->state != ASAP_IDLE && !app->dead) {
		list_move_tail(&member->node, &app->departed);
		return false;
	}
	list_del_init(&member->node);
	return true;
}

static int member_join(struct asap_app *app, struct mm_struct *mm,
		       struct pid *pid, enum asap_join how)
{
	struct asap_member *member;
	int err;

	member = member_alloc(app, pid);
	if (IS_ERR(member))
		return PTR_ERR(member);
	member->by_cgroup = how == ASAP_JOIN_CGROUP;
	member->background = how == ASAP_JOIN_TRIGGER;
	err = member_link(member, mm);
	if (err)
		asap_member_put(member);
	return err;
}

/*
 * The app that @mm is in, with a reference; NULL for none. A member keeps its
 * app, but only a grace period keeps the member: hence kobject_get_unless_zero().
 * @how, if not NULL, is written: by what right its children are members.
 */
static struct asap_app *mm_app_get(struct mm_struct *mm, enum asap_join *how)
{
	struct asap_app *app = NULL;
	unsigned long val;

	rcu_read_lock();
	val = READ_ONCE(mm->asap);
	if (val) {
		app = asap_mm_member(val)->app;
		if (how)
			*how = asap_mm_member(val)->by_cgroup ?
			       ASAP_JOIN_CGROUP : ASAP_JOIN_CALLER;
		if (!kobject_get_unless_zero(&app->kobj))
			app = NULL;
	}
	rcu_read_unlock();
	return app;
}

void __asap_fork(struct mm_struct *mm, struct mm_struct *oldmm)
{
	enum asap_join how;
	struct asap_app *app = mm_app_get(oldmm, &how);

	if (!app)
		return;
	/* The child has no PID yet. */
	member_join(app, mm, NULL, how);
	kobject_put(&app->kobj);
}

void __asap_exec(struct linux_binprm *bprm, struct mm_struct *oldmm)
{
	const struct cred *old = current_cred(), *new = bprm->cred;
	struct asap_app *app;
	enum asap_join how;

	if (bprm->secureexec || !uid_eq(old->euid, new->euid) ||
	    !gid_eq(old->egid, new->egid))
		return;
	app = mm_app_get(oldmm, &how);
	if (!app)
		return;
	member_join(app, bprm->mm, task_tgid(current), how);
	kobject_put(&app->kobj);
}

void __asap_exit(struct mm_struct *mm)
{
	struct asap_app *app = mm_app_get(mm, NULL);
	struct asap_member *member = NULL;
	bool last = false, put = false;

	if (!app)
		return;
	spin_lock(&app->lock);
	/* Removal of the app may have been faster. */
	if (mm->asap) {
		member = asap_mm_member(mm->asap);
		put = member_unlink(member);
		last = list_empty(&app->members);
	}
	spin_unlock(&app->lock);
	if (put)
		asap_member_put(member);
	if (last)
		asap_window_close(app);
	kobject_put(&app->kobj);
}

/*
 * The member of @app that @mm is, or NULL: it may have left, and even joined
 * another app.
 *
 * Context: app->lock held.
 */
static struct asap_member *member_of(struct asap_app *app, struct mm_struct *mm)
{
	struct asap_member *member;
	unsigned long val;

	rcu_read_lock();
	val = READ_ONCE(mm->asap);
	member = val ? asap_mm_member(val) : NULL;
	if (member && member->app != app)
		member = NULL;
	rcu_read_unlock();
	return member;
}

/**
 * asap_app_of_task - the app that a process is in
 * @task: the process
 *
 * Context: Process context, may sleep.
 * Return: the app, to be given back by kobject_put(), or NULL.
 */
struct asap_app *asap_app_of_task(struct task_struct *task)
{
	struct mm_struct *mm = get_task_mm(task);
	struct asap_app *app;

	if (!mm)
		return NULL;
	app = mm_app_get(mm, NULL);
	mmput(mm);
	return app;
}

/**
 * asap_app_background - a process went to the background, or left it
 * @mm: its address space
 * @background: which of the two
 *
 * Context: Process context, may sleep.
 * Return: the app that has now gone to the background with all its processes, or
 * one of whose processes comes back from there, to be given back by
 * kobject_put(); NULL if nothing of the kind has happened.
 */
struct asap_app *asap_app_background(struct mm_struct *mm, bool background)
{
	struct asap_app *app = mm_app_get(mm, NULL);
	struct asap_member *member;
	bool event = false;

	if (!app)
		return NULL;
	spin_lock(&app->lock);
	member = member_of(app, mm);
	if (member) {
		event = member->background != background;
		member->background = background;
		if (background)
			list_for_each_entry(member, &app->members, node)
				event &= member->background;
	}
	spin_unlock(&app->lock);
	if (event)
		return app;
	kobject_put(&app->kobj);
	return NULL;
}

/**
 * asap_app_mark_cgroup - begin to look who is in an app's cgroup
 * @app: the app
 *
 * Context: Any but interrupts.
 */
void asap_app_mark_cgroup(struct asap_app *app)
{
	struct asap_member *member;

	spin_lock(&app->lock);
	list_for_each_entry(member, &app->members, node)
		member->stale = member->by_cgroup;
	spin_unlock(&app->lock);
}

/* @mm is a member of @app still, and was found in its cgroup. */
static void member_seen(struct asap_app *app, struct mm_struct *mm)
{
	struct asap_member *member;

	spin_lock(&app->lock);
	member = member_of(app, mm);
	if (member)
		member->stale = false;
	spin_unlock(&app->lock);
}

/**
 * asap_app_sweep_cgroup - let those leave who were not seen in an app's cgroup
 * @app: the app, after asap_app_mark_cgroup() and asap_app_add_task() of all who
 *	are there
 *
 * Who forked meanwhile is not concerned.
 *
 * Context: Any but interrupts.
 */
void asap_app_sweep_cgroup(struct asap_app *app)
{
	struct asap_member *member, *next;
	LIST_HEAD(left);
	bool last;

	spin_lock(&app->lock);
	list_for_each_entry_safe(member, next, &app->members, node)
		if (member->stale && member_unlink(member))
			list_add(&member->node, &left);
	last = list_empty(&app->members);
	spin_unlock(&app->lock);
	if (last)
		asap_window_close(app);
	asap_members_put(&left);
}

/**
 * asap_app_add_task - let a process join an app
 * @app: the app
 * @task: the process
 * @how: by what right
 *
 * Context: Process context, may sleep.
 * Return: 0 (also if the process is a member already); -ESRCH if it is exiting;
 * -EINVAL for a kernel thread; -EPERM if the caller may not inspect the process;
 * -EBUSY if it belongs to another app; -ENOSPC if the app is full; -ENODEV if the
 * app was removed; -ENOMEM.
 */
int asap_app_add_task(struct asap_app *app, struct task_struct *task,
		      enum asap_join how)
{
	struct asap_app *other;
	struct mm_struct *mm;
	int err;

	if (task->flags & PF_KTHREAD)
		return -EINVAL;
	mm = how == ASAP_JOIN_CALLER ?
	     mm_access(task, PTRACE_MODE_READ_FSCREDS) : get_task_mm(task);
	if (IS_ERR_OR_NULL(mm)) {
		err = mm ? PTR_ERR(mm) : -ESRCH;
		return err == -EACCES ? -EPERM : err;
	}
	err = member_join(app, mm, task_tgid(task), how);
	if (err == -EBUSY) {
		other = mm_app_get(mm, NULL);
		if (other == app) {
			err = 0;
			if (how == ASAP_JOIN_CGROUP)
				member_seen(app, mm);
		}
		if (other)
			kobject_put(&other->kobj);
	}
	mmput(mm);
	return err;
}

/**
 * asap_app_add_pid - let a process join an app
 * @app: the app
 * @nr: PID in the caller's PID namespace
 *
 * Context: Process context, may sleep.
 * Return: 0 or an error of asap_app_add_task(); -ESRCH if there is no such process.
 */
int asap_app_add_pid(struct asap_app *app, pid_t nr)
{
	struct task_struct *task = find_get_task_by_vpid(nr);
	int err;

	if (!task)
		return -ESRCH;
	err = asap_app_add_task(app, task, ASAP_JOIN_CALLER);
	put_task_struct(task);
	return err;
}

static int name_check(const char *name)
{
	size_t len = strlen(name);
	size_t i;

	if (!len)
		return -EINVAL;
	if (len > ASAP_NAME_MAX)
		return -ENAMETOOLONG;
	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return -EINVAL;
	/* A name stands in paths, in traces and in log lines. */
	for (i = 0; i < len; i++)
		if (name[i] == '/' || name[i] <= ' ' || name[i] > '~')
			return -EINVAL;
	return 0;
}

/**
 * asap_app_create - make an app
 * @name: its name: printable ASCII without blanks and slashes
 * @automatic: nobody asked for it: it may make room for another such app
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL or -ENAMETOOLONG for a bad name; -EEXIST; -EOPNOTSUPP while
 * ASAP is disabled; -ENOMEM.
 */
int asap_app_create(const char *name, bool automatic)
{
	struct kobject *old;
	struct asap_app *app;
	int err = name_check(name);

	if (err)
		return err;
	mutex_lock(&asap_apps_lock);
	if (!asap_enabled()) {
		err = -EOPNOTSUPP;
		goto unlock;
	}
	/* The two files of the apps folder have names as well. */
	old = kset_find_obj(asap_apps, name);
	if (old || !strcmp(name, "create") || !strcmp(name, "remove")) {
		kobject_put(old);
		err = -EEXIST;
		goto unlock;
	}
	app = kvzalloc(sizeof(*app), GFP_KERNEL_ACCOUNT);
	if (!app) {
		err = -ENOMEM;
		goto unlock;
	}
	err = asap_log_init(&app->log, LOG_SIZE);
	if (err) {
		kvfree(app);
		goto unlock;
	}
	app->automatic = automatic;
	app->opened_ns = ktime_get_ns();
	spin_lock_init(&app->lock);
	mutex_init(&app->mutex);
	INIT_LIST_HEAD(&app->members);
	ida_init(&app->ids);
	INIT_LIST_HEAD(&app->departed);
	asap_window_init(app);
	asap_cgroup_init(app);
	asap_file_init(app);
	app->kobj.kset = asap_apps;
	err = kobject_init_and_add(&app->kobj, &asap_app_ktype, NULL, "%s",
				   name);
	if (err)
		kobject_put(&app->kobj);
unlock:
	mutex_unlock(&asap_apps_lock);
	return err;
}

/**
 * asap_app_get - find an app
 * @name: its name
 *
 * Context: Any but interrupts.
 * Return: the app, to be given back by kobject_put(), or NULL.
 */
struct asap_app *asap_app_get(const char *name)
{
	struct kobject *kobj = kset_find_obj(asap_apps, name);

	return kobj ? container_of(kobj, struct asap_app, kobj) : NULL;
}

/**
 * asap_apps_make_room - remove apps that nobody asked for
 * @max: until there are so many of them
 *
 * Those whose last window is longest ago go first; one whose window is open stays.
 *
 * Context: Process context, sleeps.
 * Return: 0 or -EBUSY if there are still more than @max.
 */
int asap_apps_make_room(unsigned int max)
{
	char name[ASAP_NAME_MAX + 1];
	struct asap_app *app, *oldest;
	struct kobject *kobj;
	unsigned int nr;

	for (;;) {
		oldest = NULL;
		nr = 0;
		mutex_lock(&asap_apps_lock);
		/* Apps come and go under asap_apps_lock alone. */
		list_for_each_entry(kobj, &asap_apps->list, entry) {
			app = container_of(kobj, struct asap_app, kobj);
			if (!app->automatic)
				continue;
			nr++;
			spin_lock(&app->lock);
			if (app->state == ASAP_IDLE &&
			    (!oldest || app->opened_ns < oldest->opened_ns))
				oldest = app;
			spin_unlock(&app->lock);
		}
		if (oldest)
			strscpy(name, kobject_name(&oldest->kobj));
		mutex_unlock(&asap_apps_lock);
		if (nr <= max)
			return 0;
		if (!oldest)
			return -EBUSY;
		/* Somebody else may have removed it: that is as good. */
		asap_app_remove(name);
	}
}

static void app_detach_members(struct asap_app *app)
{
	struct asap_member *member;

	for (;;) {
		spin_lock(&app->lock);
		member = list_first_entry_or_null(&app->members,
						  struct asap_member, node);
		/* A dead app leaves the reference to us. */
		if (member)
			member_unlink(member);
		spin_unlock(&app->lock);
		if (!member)
			return;
		asap_member_put(member);
	}
}

/**
 * asap_apps_close_windows - end all windows and wait for the prefetch workers
 *
 * Context: Process context, sleeps; asap_apps_lock held and ASAP disabled, so
 * that no window opens and no app comes meanwhile.
 */
void asap_apps_close_windows(void)
{
	struct kobject *kobj;
	struct asap_app *app;

	lockdep_assert_held(&asap_apps_lock);
	/* Apps come and go under asap_apps_lock alone: the list stands still. */
	list_for_each_entry(kobj, &asap_apps->list, entry) {
		app = container_of(kobj, struct asap_app, kobj);
		asap_window_close(app);
		asap_run_wait(&app->run);
	}
}

/**
 * asap_app_free - free an app that nobody refers to any more
 * @app: the app
 *
 * Context: Process context, may sleep.
 */
void asap_app_free(struct asap_app *app)
{
	asap_candidates_load_free(app->load);
	kvfree(app->text);
	kfree(app->cgroup);
	asap_file_forget(app);
	asap_window_destroy(app);
	asap_log_destroy(&app->log);
	ida_destroy(&app->ids);
	kvfree(app);
}

/**
 * asap_app_remove - forget an app, its window and everything that it learned
 * @name: its name
 *
 * Context: Process context, sleeps until prefetch workers have let go of it.
 * Return: 0 or -ENOENT.
 */
int asap_app_remove(const char *name)
{
	struct asap_app *app;

	mutex_lock(&asap_apps_lock);
	app = asap_app_get(name);
	if (!app) {
		mutex_unlock(&asap_apps_lock);
		return -ENOENT;
	}

	spin_lock(&app->lock);
	app->dead = true;
	app->restart = false;
	spin_unlock(&app->lock);

	/* Waits for whoever is inside one of the app's files. */
	kobject_del(&app->kobj);
	asap_cgroup_stop(app);
	app_detach_members(app);
	asap_window_shutdown(app);
	kobject_put(&app->kobj);	/* from asap_app_get() */
	kobject_put(&app->kobj);	/* from asap_app_create() */
	mutex_unlock(&asap_apps_lock);
	return 0;
}
