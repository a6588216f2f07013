// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP settings, and turning the whole of it on and off.
 *
 * A knob has one place: here. It is set on the kernel's command line
 * (asap.KNOB=VALUE) before anything can be allocated, and later through
 * /sys/kernel/mm/asap/KNOB. The policy sets the default of every other knob; a
 * knob that somebody set keeps its value when the policy changes.
 */
#define pr_fmt(fmt) "asap: " fmt

#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/oom.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmstat.h>

#include "internal.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "asap."

DEFINE_STATIC_KEY_FALSE(asap_key);

struct asap_knob {
	const char *name;
	const char *const *words;	/* values by name, or NULL for numbers */
	int min, max;
	int defaults[ASAP_NR_POLICIES];	/* what holds until somebody sets it */
	int val;
	bool set;
};

static const char *const policy_words[] = {
	[ASAP_POLICY_PAPER]	= "paper",
	[ASAP_POLICY_ADAPTIVE]	= "adaptive",
	[ASAP_NR_POLICIES]	= NULL,
};

static const char *const trigger_words[] = {
	[ASAP_TRIGGER_NONE]		= "none",
	[ASAP_TRIGGER_OOM_SCORE_ADJ]	= "oom_score_adj",
	[ASAP_NR_TRIGGERS]		= NULL,
};

#define KNOB(_name, _min, _max, _paper, _adaptive) {			\
	.name = _name, .min = _min, .max = _max,			\
	.defaults = { _paper, _adaptive },				\
}

static struct asap_knob knobs[ASAP_NR_KNOBS] = {
	[ASAP_KNOB_ENABLED] = KNOB("enabled", 0, 1,
				   IS_ENABLED(CONFIG_ASAP_DEFAULT_ON),
				   IS_ENABLED(CONFIG_ASAP_DEFAULT_ON)),
	[ASAP_KNOB_POLICY] = {
		.name = "policy",
		.words = policy_words,
		.max = ASAP_NR_POLICIES - 1,
		.val = ASAP_POLICY_ADAPTIVE,
		.set = true,
	},
	[ASAP_KNOB_LEARN] = KNOB("learn", 0, 1, 1, 1),
	[ASAP_KNOB_PREFETCH] = KNOB("prefetch", 0, 1, 1, 1),
	[ASAP_KNOB_ANON_ENABLED] = KNOB("anon_enabled", 0, 1, 1, 1),
	/* Windows; 10 is the published value. */
	[ASAP_KNOB_PROFILE_SWITCHES] = KNOB("profile_switches", 1, 255, 10, 10),
	/* Windows; published as "more than eight" of ten. */
	[ASAP_KNOB_PROFILE_MIN_HITS] = KNOB("profile_min_hits", 1, 255, 9, 8),
	[ASAP_KNOB_FILE_ENABLED] = KNOB("file_enabled", 0, 1, 1, 1),
	/*
	 * Pages. 16 and 512 are the published values. The adaptive rules know
	 * single pages; with many requests in flight at once, what lies
	 * between two targets costs more to read than a second request does.
	 */
	[ASAP_KNOB_MERGE_GAP] = KNOB("merge_gap_pages", 0, ASAP_EXTENT_MAX,
				     16, 1),
	[ASAP_KNOB_EXTENT_MAX] = KNOB("extent_max_pages", 1, ASAP_EXTENT_MAX,
				      512, 512),
	/* Windows; 4 is the published value. */
	[ASAP_KNOB_ANON_TTL] = KNOB("anon_ttl_switches", 1, 255, 4, 4),
	[ASAP_KNOB_WINDOW_TIMEOUT_MS] = KNOB("window_timeout_ms", 10, 600000,
					     5000, 5000),
	/* Pages; 0 for as many as memory allows. */
	[ASAP_KNOB_MAX_PAGES] = KNOB("max_pages_per_switch", 0, INT_MAX, 0, 0),
	[ASAP_KNOB_TRIGGER] = {
		.name = "trigger",
		.words = trigger_words,
		.max = ASAP_NR_TRIGGERS - 1,
	},
	/* Scores of oom_score_adj: Android's CACHED_APP_MIN_ADJ ... */
	[ASAP_KNOB_BACKGROUND_ADJ] = KNOB("background_adj", OOM_SCORE_ADJ_MIN,
					  OOM_SCORE_ADJ_MAX, 900, 900),
	/* ... and PERCEPTIBLE_APP_ADJ: all above is of no concern to a person. */
	[ASAP_KNOB_FOREGROUND_ADJ] = KNOB("foreground_adj", OOM_SCORE_ADJ_MIN,
					  OOM_SCORE_ADJ_MAX, 200, 200),
	[ASAP_KNOB_QUIET_MS] = KNOB("quiet_ms", 10, 600000, 300, 300),
	[ASAP_KNOB_AUTO_APPS_MAX] = KNOB("auto_apps_max", 0, 1024, 32, 32),
};

/**
 * asap_knob - the value of a knob
 * @id: which one
 *
 * Context: Any.
 * Return: what was set, or else the policy's default.
 */
int asap_knob(enum asap_knob_id id)
{
	const struct asap_knob *knob = &knobs[id];

	/* Paired with knob_set(): what is set has its value. */
	if (smp_load_acquire(&knob->set))
		return READ_ONCE(knob->val);
	return knob->defaults[READ_ONCE(knobs[ASAP_KNOB_POLICY].val)];
}

/**
 * asap_knob_name - the name of a knob
 * @id: which one
 *
 * Return: the name of its file, and of its boot parameter after "asap.".
 */
const char *asap_knob_name(enum asap_knob_id id)
{
	return knobs[id].name;
}

/**
 * asap_knob_parse - make a knob's value of text, and leave the knob alone
 * @id: which one
 * @buf: the text
 * @val: written: the value
 *
 * Context: Any; allocates nothing.
 * Return: 0; -EINVAL if the text is no value of this knob; -ERANGE if the number
 * is out of its range.
 */
int asap_knob_parse(enum asap_knob_id id, const char *buf, int *val)
{
	const struct asap_knob *knob = &knobs[id];
	int err;

	if (knob->words) {
		err = __sysfs_match_string(knob->words, -1, buf);
		if (err < 0)
			return err;
		*val = err;
		return 0;
	}
	err = kstrtoint(buf, 0, val);
	if (err)
		return err;
	return *val < knob->min || *val > knob->max ? -ERANGE : 0;
}

/* Context: Any; allocates nothing. Writers are serialised by the caller. */
static int knob_set(struct asap_knob *knob, const char *buf)
{
	int val, err;

	err = asap_knob_parse(knob - knobs, buf, &val);
	if (err)
		return err;
	WRITE_ONCE(knob->val, val);
	/* Paired with asap_knob(). */
	smp_store_release(&knob->set, true);
	return 0;
}

/* Context: asap_apps_lock held; may sleep. */
static int set_enabled(bool enable)
{
	int err;

	if (enable == asap_enabled())
		return 0;
	if (enable) {
		err = asap_workers_start();
		if (err)
			return err;
		static_branch_enable(&asap_key);
		return 0;
	}
	static_branch_disable(&asap_key);
	asap_apps_close_windows();
	asap_workers_stop();
	return 0;
}

/**
 * asap_knob_store - set a knob
 * @id: which one
 * @buf: the value as text
 *
 * Context: Process context, may sleep.
 * Return: 0; -EINVAL if the text is no value of this knob; -ERANGE if the number
 * is out of its range; -ENOMEM.
 */
int asap_knob_store(enum asap_knob_id id, const char *buf)
{
	struct asap_knob *knob = &knobs[id];
	int err;

	mutex_lock(&asap_apps_lock);
	err = knob_set(knob, buf);
	if (!err && id == ASAP_KNOB_ENABLED) {
		err = set_enabled(knob->val);
		if (err)
			WRITE_ONCE(knob->val, asap_enabled());
	}
	mutex_unlock(&asap_apps_lock);
	return err;
}

/**
 * asap_knob_show - a knob's value as text
 * @id: which one
 * @buf: written: a page
 *
 * Context: Process context.
 * Return: characters written.
 */
int asap_knob_show(enum asap_knob_id id, char *buf)
{
	int val = asap_knob(id);

	if (knobs[id].words)
		return sysfs_emit(buf, "%s\n", knobs[id].words[val]);
	return sysfs_emit(buf, "%d\n", val);
}

static int __init param_set_knob(const char *val, const struct kernel_param *kp)
{
	struct asap_knob *knob = kp->arg;
	int err = knob_set(knob, val);

	if (err)
		pr_warn("%s=%s refused: %d\n", knob->name, val, err);
	return err;
}

static const struct kernel_param_ops knob_param_ops = {
	.set = param_set_knob,
};

/* Read back through /sys/kernel/mm/asap/, so no file of their own. */
#define KNOB_PARAM(_name, _id)						\
	module_param_cb(_name, &knob_param_ops, &knobs[_id], 0)

KNOB_PARAM(enabled, ASAP_KNOB_ENABLED);
KNOB_PARAM(policy, ASAP_KNOB_POLICY);
KNOB_PARAM(learn, ASAP_KNOB_LEARN);
KNOB_PARAM(prefetch, ASAP_KNOB_PREFETCH);
KNOB_PARAM(anon_enabled, ASAP_KNOB_ANON_ENABLED);
KNOB_PARAM(file_enabled, ASAP_KNOB_FILE_ENABLED);
KNOB_PARAM(merge_gap_pages, ASAP_KNOB_MERGE_GAP);
KNOB_PARAM(extent_max_pages, ASAP_KNOB_EXTENT_MAX);
KNOB_PARAM(profile_switches, ASAP_KNOB_PROFILE_SWITCHES);
KNOB_PARAM(profile_min_hits, ASAP_KNOB_PROFILE_MIN_HITS);
KNOB_PARAM(anon_ttl_switches, ASAP_KNOB_ANON_TTL);
KNOB_PARAM(window_timeout_ms, ASAP_KNOB_WINDOW_TIMEOUT_MS);
KNOB_PARAM(max_pages_per_switch, ASAP_KNOB_MAX_PAGES);
KNOB_PARAM(trigger, ASAP_KNOB_TRIGGER);
KNOB_PARAM(background_adj, ASAP_KNOB_BACKGROUND_ADJ);
KNOB_PARAM(foreground_adj, ASAP_KNOB_FOREGROUND_ADJ);
KNOB_PARAM(quiet_ms, ASAP_KNOB_QUIET_MS);
KNOB_PARAM(auto_apps_max, ASAP_KNOB_AUTO_APPS_MAX);

static int __init asap_setup(char *val)
{
	bool on;

	if (!val || kstrtobool(val, &on)) {
		pr_warn("asap=%s refused, it takes on or off\n", val ?: "");
		return -EINVAL;
	}
	return knob_set(&knobs[ASAP_KNOB_ENABLED], on ? "1" : "0");
}
early_param("asap", asap_setup);

static_assert(sizeof(struct asap_stat) % sizeof(u64) == 0);

/**
 * asap_stat_add - add one window's figures to others
 * @sum: the others
 * @stat: the window's
 *
 * Times are added as well; &struct asap_stat.switches says what to divide by.
 */
void asap_stat_add(struct asap_stat *sum, const struct asap_stat *stat)
{
	unsigned int i;

	for (i = 0; i < sizeof(*sum) / sizeof(u64); i++)
		((u64 *)sum)[i] += ((const u64 *)stat)[i];
}

/**
 * asap_stat_publish - add one window's figures to /proc/vmstat
 * @stat: the window's
 */
void asap_stat_publish(const struct asap_stat *stat)
{
	count_vm_events(ASAP_SWITCH, stat->switches);
	count_vm_events(ASAP_ANON_FETCHED, stat->anon.fetched);
	count_vm_events(ASAP_ANON_USED, stat->anon.used);
	count_vm_events(ASAP_ANON_WASTED, stat->anon.wasted);
	count_vm_events(ASAP_ANON_FAULTED, stat->anon.faulted);
	count_vm_events(ASAP_FILE_FETCHED, stat->file.fetched);
	count_vm_events(ASAP_FILE_USED, stat->file.used);
	count_vm_events(ASAP_FILE_WASTED, stat->file.wasted);
	count_vm_events(ASAP_FILE_FAULTED, stat->file.faulted);
	count_vm_events(ASAP_LOG_DROPPED, stat->log_dropped);
}

static int __init asap_init(void)
{
	int err;

	/* Unbound: a harvest runs where there is room, not where end was written. */
	asap_wq = alloc_workqueue("asap", WQ_UNBOUND, 0);
	if (!asap_wq)
		return -ENOMEM;
	err = asap_sysfs_init();
	if (err) {
		destroy_workqueue(asap_wq);
		return err;
	}
	if (!asap_knob(ASAP_KNOB_ENABLED))
		return 0;
	mutex_lock(&asap_apps_lock);
	err = set_enabled(true);
	if (err)
		knob_set(&knobs[ASAP_KNOB_ENABLED], "0");
	mutex_unlock(&asap_apps_lock);
	if (err)
		pr_err("cannot start: %d\n", err);
	return err;
}
late_initcall(asap_init);
