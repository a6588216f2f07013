// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP through three sysctls, as the authors' prototype had them, so that an
 * Android framework that was patched for it works as it is:
 *
 *   vm.switch_target_pid	the process that a person goes back to
 *   vm.app_switch_start	written when the switch begins
 *   vm.app_switch_end		written when it is over
 *
 * The prototype's documents have either 1 or the PID written to the last two; both
 * will do, as 1 is no app. The process joins an app by itself, see trigger.c. A
 * switch that is announced twice, or that had timed out before its end came, is no
 * error: the framework cannot know.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched/task.h>
#include <linux/sysctl.h>

#include "internal.h"

/* Whose switch it is, or NULL. A struct pid pins no process. */
static struct pid *target;
static DEFINE_MUTEX(target_lock);

static int target_set(int nr)
{
	struct task_struct *task;
	struct asap_app *app;
	struct pid *pid;
	int err;

	if (!asap_enabled())
		return -EOPNOTSUPP;
	pid = find_get_pid(nr);
	task = get_pid_task(pid, PIDTYPE_PID);
	put_pid(pid);
	if (!task)
		return -ESRCH;
	app = asap_app_of_task(task);
	err = 0;
	if (!app) {
		app = asap_auto_app(task);
		err = PTR_ERR_OR_ZERO(app);
		if (!err)
			err = asap_app_add_task(app, task, ASAP_JOIN_CALLER);
	}
	if (!IS_ERR(app))
		kobject_put(&app->kobj);
	if (!err) {
		put_pid(target);
		target = get_task_pid(task, PIDTYPE_TGID);
	}
	put_task_struct(task);
	return err;
}

/* Return: the target's app, to be given back by kobject_put(), or NULL. */
static struct asap_app *target_app(void)
{
	struct task_struct *task = get_pid_task(target, PIDTYPE_TGID);
	struct asap_app *app;

	if (!task)
		return NULL;
	app = asap_app_of_task(task);
	put_task_struct(task);
	return app;
}

static int target_switch(bool start)
{
	struct asap_app *app = target_app();
	int err;

	if (!app)
		return -ESRCH;
	err = start ? asap_window_start(app, false) : asap_window_end(app);
	kobject_put(&app->kobj);
	return err == -EBUSY || err == -EINVAL ? 0 : err;
}

/* Return: the target's PID where the reader is; 0 for one that has gone. */
static pid_t target_pid(void)
{
	pid_t nr = 0;

	rcu_read_lock();
	if (pid_task(target, PIDTYPE_TGID))
		nr = pid_vnr(target);
	rcu_read_unlock();
	return nr;
}

static bool target_open(void)
{
	struct asap_app *app = target_app();
	bool open;

	if (!app)
		return false;
	open = asap_window_is_open(app);
	kobject_put(&app->kobj);
	return open;
}

enum { SWITCH_TARGET, SWITCH_START, SWITCH_END };

static int switch_handler(const struct ctl_table *table, int write,
			  void *buffer, size_t *lenp, loff_t *ppos)
{
	unsigned long what = (unsigned long)table->extra1;
	int val = 0, err;
	struct ctl_table number = {
		.data = &val,
		.maxlen = sizeof(val),
	};

	mutex_lock(&target_lock);
	if (!write)
		val = what == SWITCH_TARGET ? target_pid() :
		      target_open() == (what == SWITCH_START);
	err = proc_dointvec(&number, write, buffer, lenp, ppos);
	if (err || !write)
		goto unlock;
	if (val < 0)
		err = -EINVAL;
	else if (what == SWITCH_TARGET || val > 1)
		err = target_set(val);
	if (!err && val && what != SWITCH_TARGET)
		err = target_switch(what == SWITCH_START);
unlock:
	mutex_unlock(&target_lock);
	return err;
}

#define SWITCH_SYSCTL(_name, _what) {					\
	.procname = _name, .mode = 0600, .maxlen = sizeof(int),		\
	.proc_handler = switch_handler, .extra1 = (void *)(unsigned long)_what,\
}

static struct ctl_table switch_table[] = {
	SWITCH_SYSCTL("switch_target_pid", SWITCH_TARGET),
	SWITCH_SYSCTL("app_switch_start", SWITCH_START),
	SWITCH_SYSCTL("app_switch_end", SWITCH_END),
};

static int __init asap_sysctl_init(void)
{
	register_sysctl_init("vm", switch_table);
	return 0;
}
late_initcall(asap_sysctl_init);
