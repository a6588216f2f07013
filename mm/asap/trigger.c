// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP without a caller: windows that open by themselves, and apps that nobody
 * made.
 *
 * Android's framework writes a process's oom_score_adj whenever its importance
 * changes: to 900 and more when it is cached in the background, to 0 when a
 * person goes back to it. With trigger=oom_score_adj, a process that comes from
 * such a background score to a foreground one opens its app's window. There is
 * nobody to say when the switch is over: the window closes when the app has gone
 * without a fault for a while after the prefetch (see window.c), when its
 * processes go to the background again, or by time-out.
 *
 * A process that belongs to no app gets one when it goes to the background, made
 * by name: an Android app has a UID of its own, so that its processes share an
 * app; below the UIDs that Android gives to apps, where one user runs many
 * programs, it is the program's name. As such apps come unasked there are at
 * most auto_apps_max of them, and the one whose last window is longest ago makes
 * room for a new one. Making an app takes locks and memory that the writer of
 * oom_score_adj shall not wait for, so that a worker does it.
 */
#include <linux/asap.h>
#include <linux/cred.h>
#include <linux/oom.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/user_namespace.h>

#include "internal.h"

/* AID_APP_START: Android's first UID of an app. */
#define UID_APP_START	10000

/* A process that is to get an app. */
struct trigger_join {
	struct work_struct work;
	struct pid *pid;
};

/* No two at a time: or there might be more apps than auto_apps_max. */
static DEFINE_MUTEX(auto_lock);

/* The name of the app that a process belongs in. */
static void auto_name(struct task_struct *task, char *name, size_t size)
{
	uid_t uid = from_kuid(&init_user_ns, task_uid(task));
	char comm[TASK_COMM_LEN];
	char *p;

	if (uid >= UID_APP_START) {
		scnprintf(name, size, "uid-%u", uid);
		return;
	}
	get_task_comm(comm, task);
	/* What a name may not have; "." is no name on its own. */
	for (p = comm; *p; p++)
		if (*p == '/' || *p <= ' ' || *p > '~')
			*p = '_';
	scnprintf(name, size, "comm-%s", comm);
}

/**
 * asap_auto_app - the app that a process belongs in, made if need be
 * @task: the process
 *
 * Context: Process context, sleeps.
 * Return: the app, to be given back by kobject_put(); -ENOSPC if auto_apps_max is
 * 0 or all such apps have windows open; an error of asap_app_create().
 */
struct asap_app *asap_auto_app(struct task_struct *task)
{
	int max = asap_knob(ASAP_KNOB_AUTO_APPS_MAX);
	char name[ASAP_NAME_MAX + 1];
	struct asap_app *app;
	int err = 0;

	auto_name(task, name, sizeof(name));
	mutex_lock(&auto_lock);
	app = asap_app_get(name);
	if (app)
		goto unlock;
	if (!max || asap_apps_make_room(max - 1)) {
		app = ERR_PTR(-ENOSPC);
		goto unlock;
	}
	err = asap_app_create(name, true);
	app = err ? ERR_PTR(err) : asap_app_get(name);
	/* Whoever made it may remove it as well. */
	if (!app)
		app = ERR_PTR(-ENODEV);
unlock:
	mutex_unlock(&auto_lock);
	return app;
}

static void join_fn(struct work_struct *work)
{
	struct trigger_join *join = container_of(work, struct trigger_join, work);
	struct task_struct *task = get_pid_task(join->pid, PIDTYPE_TGID);
	struct asap_app *app;

	if (task && asap_enabled()) {
		app = asap_auto_app(task);
		if (!IS_ERR(app)) {
			/* An error leaves the process without an app, as before. */
			asap_app_add_task(app, task, ASAP_JOIN_TRIGGER);
			kobject_put(&app->kobj);
		}
	}
	if (task)
		put_task_struct(task);
	put_pid(join->pid);
	kfree(join);
}

static void join_later(struct task_struct *task)
{
	struct trigger_join *join;

	if (!asap_knob(ASAP_KNOB_AUTO_APPS_MAX))
		return;
	join = kmalloc(sizeof(*join), GFP_NOWAIT | __GFP_NOWARN);
	if (!join)
		return;
	INIT_WORK(&join->work, join_fn);
	join->pid = get_task_pid(task, PIDTYPE_TGID);
	queue_work(asap_wq, &join->work);
}

void __asap_oom_score_adj(struct task_struct *task, int adj)
{
	bool background = adj >= asap_knob(ASAP_KNOB_BACKGROUND_ADJ);
	bool foreground = adj <= asap_knob(ASAP_KNOB_FOREGROUND_ADJ);
	struct task_struct *thread;
	struct mm_struct *mm;
	struct asap_app *app;

	if (asap_knob(ASAP_KNOB_TRIGGER) != ASAP_TRIGGER_OOM_SCORE_ADJ ||
	    background == foreground)
		return;
	/* The leader may have exited; any thread has the mm. */
	thread = find_lock_task_mm(task);
	if (!thread)
		return;
	/* Not under this lock: the last reference to an app frees it, and sleeps. */
	mm = thread->mm;
	mmgrab(mm);
	task_unlock(thread);

	app = asap_app_background(mm, background);
	if (app) {
		/* Open already, or closed already: then there is nothing to do. */
		if (background)
			asap_window_end(app);
		else
			asap_window_start(app, true);
		kobject_put(&app->kobj);
	} else if (background && !READ_ONCE(mm->asap)) {
		join_later(task);
	}
	mmdrop(mm);
}
