// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP apps that are cgroups: a systemd scope, or an Android UID's group.
 *
 * What an app keeps is the cgroup's path, and never the cgroup: so that it can be
 * removed, and one that is made anew under the same name, as a session manager
 * does when the program starts again, is the same app. A worker looks who is
 * there, in the groups below as well, when the path is given and whenever a window
 * opens: those who have come join, those who have left leave. A child that is
 * forked meanwhile is a member through its parent.
 *
 * A worker, because the path counts from the root of all cgroups, and whoever
 * opens the window may live in a cgroup namespace.
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "internal.h"

struct cgroup_procs {
	struct task_struct **task;
	u32 nr;
};

/* Context: cgrp->self is alive; does not sleep. */
static void procs_add(struct cgroup_procs *procs, struct cgroup *cgrp)
{
	struct css_task_iter it;
	struct task_struct *task;

	css_task_iter_start(&cgrp->self, CSS_TASK_ITER_PROCS, &it);
	while ((task = css_task_iter_next(&it)))
		if (procs->nr < ASAP_MAX_MEMBERS)
			procs->task[procs->nr++] = get_task_struct(task);
	css_task_iter_end(&it);
}

static void scan(struct asap_app *app, struct cgroup *cgrp)
{
	struct cgroup_subsys_state *pos;
	struct cgroup_procs procs = {};
	u32 i;

	procs.task = kvmalloc_array(ASAP_MAX_MEMBERS, sizeof(*procs.task),
				    GFP_KERNEL);
	if (!procs.task)
		return;
	asap_app_mark_cgroup(app);
	rcu_read_lock();
	css_for_each_descendant_pre(pos, &cgrp->self)
		procs_add(&procs, container_of(pos, struct cgroup, self));
	rcu_read_unlock();
	for (i = 0; i < procs.nr; i++) {
		/* An error leaves it out: it exits, or is in another app. */
		asap_app_add_task(app, procs.task[i], ASAP_JOIN_CGROUP);
		put_task_struct(procs.task[i]);
		cond_resched();
	}
	asap_app_sweep_cgroup(app);
	kvfree(procs.task);
}

static void scan_fn(struct work_struct *work)
{
	struct asap_app *app = container_of(work, struct asap_app, cgroup_work);
	struct cgroup *cgrp;
	char *path;

	path = kmalloc(PATH_MAX, GFP_KERNEL);
	if (!path)
		return;
	spin_lock(&app->lock);
	strscpy(path, app->cgroup, PATH_MAX);
	spin_unlock(&app->lock);
	cgrp = cgroup_get_from_path(path);
	if (!IS_ERR(cgrp)) {
		scan(app, cgrp);
		cgroup_put(cgrp);
	}
	kfree(path);
}

/**
 * asap_cgroup_init - prepare a new app's cgroup
 * @app: the app
 */
void asap_cgroup_init(struct asap_app *app)
{
	INIT_WORK(&app->cgroup_work, scan_fn);
}

/**
 * asap_cgroup_set - make the processes of a cgroup members of an app
 * @app: the app
 * @path: in the cgroup v2 hierarchy as the caller sees it, from "/" on
 *
 * Takes the place of an earlier one, whose processes leave.
 *
 * Context: Process context, sleeps until the processes have joined.
 * Return: 0; -ENOENT if there is no such cgroup; -ENOTDIR; -ENAMETOOLONG;
 * -ENODEV if the app was removed; -ENOMEM.
 */
int asap_cgroup_set(struct asap_app *app, const char *path)
{
	struct cgroup *cgrp = cgroup_get_from_path(path);
	char *buf, *old;
	int err;

	if (IS_ERR(cgrp))
		return PTR_ERR(cgrp);
	buf = kmalloc(PATH_MAX, GFP_KERNEL);
	err = buf ? cgroup_path(cgrp, buf, PATH_MAX) : -ENOMEM;
	cgroup_put(cgrp);
	if (err < 0) {
		kfree(buf);
		return err == -E2BIG ? -ENAMETOOLONG : err;
	}
	spin_lock(&app->lock);
	if (app->dead) {
		spin_unlock(&app->lock);
		kfree(buf);
		return -ENODEV;
	}
	old = app->cgroup;
	app->cgroup = buf;
	queue_work(asap_wq, &app->cgroup_work);
	spin_unlock(&app->lock);
	kfree(old);
	flush_work(&app->cgroup_work);
	return 0;
}

/**
 * asap_cgroup_start - see who is in an app's cgroup, if it is one
 * @app: the app; its window opens
 *
 * Context: app->lock held. Does not wait.
 */
void asap_cgroup_start(struct asap_app *app)
{
	if (app->cgroup)
		queue_work(asap_wq, &app->cgroup_work);
}

/**
 * asap_cgroup_wait - see who is in an app's cgroup, if it is one, and wait
 * @app: the app
 *
 * Context: Process context, sleeps.
 * Return: whether it is a cgroup.
 */
bool asap_cgroup_wait(struct asap_app *app)
{
	bool is_cgroup;

	spin_lock(&app->lock);
	is_cgroup = app->cgroup && !app->dead;
	if (is_cgroup)
		queue_work(asap_wq, &app->cgroup_work);
	spin_unlock(&app->lock);
	if (is_cgroup)
		flush_work(&app->cgroup_work);
	return is_cgroup;
}

/**
 * asap_cgroup_stop - look no more
 * @app: the app, marked as dead
 *
 * Context: Process context, sleeps.
 */
void asap_cgroup_stop(struct asap_app *app)
{
	cancel_work_sync(&app->cgroup_work);
}
