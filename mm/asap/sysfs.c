// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP user interface: /sys/kernel/mm/asap/. Text in, text out, nothing else.
 *
 * What an app touches says much about its user, so that all of an app's files
 * are for their owner alone.
 */
#define pr_fmt(fmt) "asap: " fmt

#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/kstrtox.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/time64.h>

#include "internal.h"

/* Characters of refused input that go to the log. */
#define REFUSED_SHOWN	64

struct kset *asap_apps;

/* Say what was refused, and why, and give the error on. */
static ssize_t refuse(const char *file, const char *buf, size_t count, int err)
{
	size_t len = strcspn(buf, "\n");

	len = min3(len, count, (size_t)REFUSED_SHOWN);
	pr_warn_ratelimited("%s: \"%*pE\" refused: %pe\n", file, (int)len, buf,
			    ERR_PTR(err));
	return err;
}

/* One word or number, with or without a newline at its end. */
static int copy_word(char *word, size_t size, const char *buf, size_t count)
{
	if (count && buf[count - 1] == '\n')
		count--;
	if (count >= size)
		return -ENAMETOOLONG;
	memcpy(word, buf, count);
	word[count] = '\0';
	return strlen(word) == count ? 0 : -EINVAL;
}

/* The knobs. */

struct knob_attribute {
	struct kobj_attribute attr;
	enum asap_knob_id id;
};

static ssize_t knob_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	return asap_knob_show(container_of(attr, struct knob_attribute,
					   attr)->id, buf);
}

static ssize_t knob_store(struct kobject *kobj, struct kobj_attribute *attr,
			  const char *buf, size_t count)
{
	int err = asap_knob_store(container_of(attr, struct knob_attribute,
					       attr)->id, buf);

	return err ? refuse(attr->attr.name, buf, count, err) : count;
}

static struct knob_attribute knob_attrs[ASAP_NR_KNOBS];
static struct attribute *asap_attrs[ASAP_NR_KNOBS + 2];

/* Figures. */

static const char *const fetch_names[ASAP_NR_FETCH] = {
	[ASAP_FETCH_MAPPED]	= "mapped",
	[ASAP_FETCH_CACHED]	= "cached",
	[ASAP_FETCH_PRESENT]	= "skipped_present",
	[ASAP_FETCH_EMPTY]	= "skipped_empty",
	[ASAP_FETCH_CONTENDED]	= "skipped_contended",
	[ASAP_FETCH_UNSUITED]	= "skipped_unsuited",
	[ASAP_FETCH_RACED]	= "skipped_raced",
	[ASAP_FETCH_NO_MEMORY]	= "skipped_no_memory",
	[ASAP_FETCH_STOPPED]	= "skipped_stopped",
};

static u64 percent(u64 part, u64 whole)
{
	return whole ? div64_u64(part * 100, whole) : 0;
}

/* Figures of pages of one kind. */
static int stat_emit_kind(char *buf, int at, const char *prefix,
			  const char *kind, const struct asap_outcome *out,
			  const u64 *fetch, u64 first_ns, u64 last_ns)
{
	const struct {
		const char *name;
		u64 val;
	} figures[] = {
		{ "prefetched", out->fetched },
		{ "used", out->used },
		{ "wasted", out->wasted },
		{ "lost", out->lost },
		{ "faulted", out->faulted },
		{ "accuracy_percent", percent(out->used, out->fetched) },
		{ "recall_percent", percent(out->used,
					    out->used + out->faulted) },
		{ "promoted", out->promoted },
		{ "dropped", out->dropped },
		{ "first_page_us", div_u64(first_ns, NSEC_PER_USEC) },
		{ "last_page_us", div_u64(last_ns, NSEC_PER_USEC) },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(figures); i++)
		at += sysfs_emit_at(buf, at, "%s%s_%s %llu\n", prefix, kind,
				    figures[i].name, figures[i].val);
	for (i = 0; i < ASAP_NR_FETCH; i++)
		at += sysfs_emit_at(buf, at, "%s%s_%s %llu\n", prefix, kind,
				    fetch_names[i], fetch[i]);
	return at;
}

static int stat_emit(char *buf, int at, const char *prefix,
		     const struct asap_stat *stat)
{
	at = stat_emit_kind(buf, at, prefix, "anon", &stat->anon, stat->fetch,
			    stat->first_ns, stat->last_ns);
	at += sysfs_emit_at(buf, at, "%sfile_changed %llu\n", prefix,
			    stat->file_changed);
	at = stat_emit_kind(buf, at, prefix, "file", &stat->file,
			    stat->file_fetch, stat->file_first_ns,
			    stat->file_last_ns);
	at += sysfs_emit_at(buf, at,
			    "%sfresh_faults %llu\n"
			    "%slog_dropped %llu\n"
			    "%stimeouts %llu\n"
			    "%sstopped_low_memory %llu\n"
			    "%swindow_us %llu\n"
			    "%sharvest_us %llu\n",
			    prefix, stat->fresh_faults,
			    prefix, stat->log_dropped, prefix, stat->timeouts,
			    prefix, stat->low_memory,
			    prefix, div_u64(stat->duration_ns, NSEC_PER_USEC),
			    prefix, div_u64(stat->harvest_ns, NSEC_PER_USEC));
	return at;
}

static ssize_t stat_show(struct kobject *kobj, struct kobj_attribute *attr,
			 char *buf)
{
	struct asap_stat *sum;
	unsigned int apps = 0, members = 0, open = 0;
	struct asap_app *app;
	struct kobject *pos;
	int at;

	sum = kzalloc(sizeof(*sum), GFP_KERNEL);
	if (!sum)
		return -ENOMEM;
	mutex_lock(&asap_apps_lock);
	list_for_each_entry(pos, &asap_apps->list, entry) {
		app = container_of(pos, struct asap_app, kobj);
		mutex_lock(&app->mutex);
		asap_stat_add(sum, &app->total);
		mutex_unlock(&app->mutex);
		spin_lock(&app->lock);
		apps++;
		members += app->nr_members;
		open += app->state == ASAP_OPEN;
		spin_unlock(&app->lock);
	}
	mutex_unlock(&asap_apps_lock);
	at = sysfs_emit(buf, "apps %u\nprocesses %u\nwindows_open %u\nswitches %llu\n",
			apps, members, open, sum->switches);
	at = stat_emit(buf, at, "", sum);
	kfree(sum);
	return at;
}

static struct kobj_attribute stat_attr = __ATTR(stat, 0400, stat_show, NULL);

static const struct attribute_group asap_group = {
	.attrs = asap_attrs,
};

/* Making and removing apps. */

static ssize_t create_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	char name[ASAP_NAME_MAX + 1];
	int err = copy_word(name, sizeof(name), buf, count);

	if (!err)
		err = asap_app_create(name, false);
	return err ? refuse("create", buf, count, err) : count;
}

static ssize_t remove_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	char name[ASAP_NAME_MAX + 1];
	int err = copy_word(name, sizeof(name), buf, count);

	if (!err)
		err = asap_app_remove(name);
	return err ? refuse("remove", buf, count, err) : count;
}

static struct kobj_attribute create_attr =
	__ATTR(create, 0200, NULL, create_store);
static struct kobj_attribute remove_attr =
	__ATTR(remove, 0200, NULL, remove_store);

static struct attribute *apps_attrs[] = {
	&create_attr.attr,
	&remove_attr.attr,
	NULL,
};

static const struct attribute_group apps_group = {
	.attrs = apps_attrs,
};

/* The files of one app. */

/* A PID and an address, in columns. */
#define TARGET_LINE	"%10d %016llx\n"

static struct asap_app *to_app(struct kobject *kobj)
{
	return container_of(kobj, struct asap_app, kobj);
}

/*
 * A piece of a text of any length, of which lines are made one after the other:
 * only what falls between @pos and its end is kept.
 */
struct piece {
	char *buf;
	loff_t pos;		/* of the piece in the text */
	size_t size, len;	/* of the piece: wanted, and made */
	loff_t at;		/* of the next line in the text */
};

/* Return: whether the piece is full. */
static bool piece_add(struct piece *piece, const char *line, size_t len)
{
	size_t skip = 0;

	if (piece->at < piece->pos)
		skip = min_t(loff_t, len, piece->pos - piece->at);
	piece->at += len;
	len = min(len - skip, piece->size - piece->len);
	memcpy(piece->buf + piece->len, line + skip, len);
	piece->len += len;
	return piece->len == piece->size;
}

static ssize_t procs_read(struct file *file, struct kobject *kobj,
			  struct bin_attribute *attr, char *buf, loff_t pos,
			  size_t count)
{
	struct piece piece = { .buf = buf, .pos = pos, .size = count };
	struct asap_app *app = to_app(kobj);
	struct asap_member *member;
	char line[16];

	spin_lock(&app->lock);
	list_for_each_entry(member, &app->members, node)
		if (piece_add(&piece, line,
			      scnprintf(line, sizeof(line), "%d\n",
					pid_vnr(asap_member_pid(member)))))
			break;
	spin_unlock(&app->lock);
	return piece.len;
}

/* A path instead of a PID. */
static int cgroup_store(struct asap_app *app, const char *buf, size_t count)
{
	char *path = kmalloc(PATH_MAX, GFP_KERNEL);
	int err;

	if (!path)
		return -ENOMEM;
	err = copy_word(path, PATH_MAX, buf, count);
	if (!err)
		err = asap_cgroup_set(app, path);
	kfree(path);
	return err;
}

static ssize_t procs_write(struct file *file, struct kobject *kobj,
			   struct bin_attribute *attr, char *buf, loff_t pos,
			   size_t count)
{
	char word[16];
	int pid, err;

	if (!pos && count && *buf == '/') {
		err = cgroup_store(to_app(kobj), buf, count);
		return err ? refuse("procs", buf, count, err) : count;
	}
	err = pos ? -EINVAL : copy_word(word, sizeof(word), buf, count);
	/* Whatever is too long for a number is none. */
	if (err == -ENAMETOOLONG)
		err = -EINVAL;
	if (!err)
		err = kstrtoint(word, 10, &pid);
	if (!err)
		err = pid > 0 ? asap_app_add_pid(to_app(kobj), pid) : -EINVAL;
	return err ? refuse("procs", buf, count, err) : count;
}

static ssize_t switch_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", asap_window_is_open(to_app(kobj)) ?
			  "open" : "idle");
}

static ssize_t switch_store(struct kobject *kobj, struct kobj_attribute *attr,
			    const char *buf, size_t count)
{
	int err = -EINVAL;

	if (sysfs_streq(buf, "start")) {
		err = asap_window_start(to_app(kobj), false);
		/* Nobody there? In a cgroup somebody may have come. */
		if (err == -ESRCH && asap_cgroup_wait(to_app(kobj)))
			err = asap_window_start(to_app(kobj), false);
	} else if (sysfs_streq(buf, "end")) {
		err = asap_window_end(to_app(kobj));
	}
	return err ? refuse("switch", buf, count, err) : count;
}

static ssize_t cgroup_show(struct kobject *kobj, struct kobj_attribute *attr,
			   char *buf)
{
	struct asap_app *app = to_app(kobj);
	ssize_t len = 0;

	spin_lock(&app->lock);
	if (app->cgroup)
		len = sysfs_emit(buf, "%s\n", app->cgroup);
	spin_unlock(&app->lock);
	return len;
}

static ssize_t app_stat_show(struct kobject *kobj, struct kobj_attribute *attr,
			     char *buf)
{
	struct asap_app *app = to_app(kobj);
	unsigned int members;
	int at;

	spin_lock(&app->lock);
	members = app->nr_members;
	spin_unlock(&app->lock);

	mutex_lock(&app->mutex);
	at = sysfs_emit(buf, "processes %u\nswitches %llu\n"
			"anon_candidates %llu\nanon_targets %llu\n"
			"file_candidates %llu\nfile_targets %llu\n", members,
			app->total.switches, app->last.anon.candidates,
			app->last.anon.targets, app->last.file.candidates,
			app->last.file.targets);
	at = stat_emit(buf, at, "last_", &app->last);
	at = stat_emit(buf, at, "total_", &app->total);
	mutex_unlock(&app->mutex);
	return at;
}

static ssize_t profile_show(struct kobject *kobj, struct kobj_attribute *attr,
			    char *buf)
{
	struct asap_app *app = to_app(kobj);
	u32 planned = asap_knob(ASAP_KNOB_PROFILE_SWITCHES);
	u32 seen;

	mutex_lock(&app->mutex);
	seen = min(app->files.profiled, planned);
	mutex_unlock(&app->mutex);
	return sysfs_emit(buf, "%u/%u\n", seen, planned);
}

static ssize_t profile_store(struct kobject *kobj, struct kobj_attribute *attr,
			     const char *buf, size_t count)
{
	int err = -EINVAL;

	if (sysfs_streq(buf, "start"))
		err = asap_window_profile(to_app(kobj), true);
	else if (sysfs_streq(buf, "stop"))
		err = asap_window_profile(to_app(kobj), false);
	return err ? refuse("profile", buf, count, err) : count;
}

static ssize_t reset_store(struct kobject *kobj, struct kobj_attribute *attr,
			   const char *buf, size_t count)
{
	int err = -EINVAL;

	if (sysfs_streq(buf, "1"))
		err = asap_window_forget(to_app(kobj));
	return err ? refuse("reset", buf, count, err) : count;
}

static struct kobj_attribute switch_attr =
	__ATTR(switch, 0600, switch_show, switch_store);
static struct kobj_attribute cgroup_attr =
	__ATTR(cgroup, 0400, cgroup_show, NULL);
static struct kobj_attribute app_stat_attr =
	__ATTR(stat, 0400, app_stat_show, NULL);
static struct kobj_attribute profile_attr =
	__ATTR(profile, 0600, profile_show, profile_store);
static struct kobj_attribute reset_attr =
	__ATTR(reset, 0200, NULL, reset_store);

static struct attribute *app_attrs[] = {
	&switch_attr.attr,
	&cgroup_attr.attr,
	&app_stat_attr.attr,
	&profile_attr.attr,
	&reset_attr.attr,
	NULL,
};

static ssize_t targets_read(struct file *file, struct kobject *kobj,
			    struct bin_attribute *attr, char *buf, loff_t pos,
			    size_t count)
{
	struct piece piece = { .buf = buf, .pos = pos, .size = count };
	struct asap_app *app = to_app(kobj);
	char line[32];
	size_t len;
	u32 i;

	mutex_lock(&app->mutex);
	spin_lock(&app->lock);
	for (i = 0; i < app->plan_targets; i++) {
		u64 item = app->plan[i];
		struct asap_member *member;

		member = app->plan_members[asap_plan_table(item)];
		/* Those of a process that has gone will not be fetched. */
		if (!member->mm)
			continue;
		len = scnprintf(line, sizeof(line), TARGET_LINE,
				pid_vnr(asap_member_pid(member)),
				member->anon.ent[asap_plan_index(item)].vpn <<
				PAGE_SHIFT);
		if (piece_add(&piece, line, len))
			break;
	}
	spin_unlock(&app->lock);
	mutex_unlock(&app->mutex);
	return piece.len;
}

static struct bin_attribute targets_attr = {
	.attr = { .name = "targets", .mode = 0400 },
	.read = targets_read,
};

#ifdef CONFIG_ASAP_FILE
/* A read from the start makes the text anew; what follows reads on in it. */
static ssize_t candidates_read(struct file *file, struct kobject *kobj,
			       struct bin_attribute *attr, char *buf, loff_t pos,
			       size_t count)
{
	struct asap_app *app = to_app(kobj);
	ssize_t ret;
	char *text;

	mutex_lock(&app->mutex);
	if (!pos) {
		text = asap_candidates_text(app, &app->text_len);
		kvfree(app->text);
		app->text = IS_ERR(text) ? NULL : text;
		if (IS_ERR(text)) {
			ret = PTR_ERR(text);
			goto unlock;
		}
	}
	ret = 0;
	if (!app->text)
		goto unlock;
	ret = memory_read_from_buffer(buf, count, &pos, app->text,
				      app->text_len);
	/* All read: no need to keep it. */
	if (!ret) {
		kvfree(app->text);
		app->text = NULL;
	}
unlock:
	mutex_unlock(&app->mutex);
	return ret;
}

static ssize_t candidates_write(struct file *file, struct kobject *kobj,
				struct bin_attribute *attr, char *buf,
				loff_t pos, size_t count)
{
	struct asap_app *app = to_app(kobj);
	int err;

	mutex_lock(&app->mutex);
	err = asap_candidates_write(app, buf, pos, count);
	mutex_unlock(&app->mutex);
	return err ?: count;
}

static struct bin_attribute candidates_attr = {
	.attr = { .name = "candidates", .mode = 0600 },
	.read = candidates_read,
	.write = candidates_write,
};
#endif

static struct bin_attribute procs_attr = {
	.attr = { .name = "procs", .mode = 0600 },
	.read = procs_read,
	.write = procs_write,
};

static struct bin_attribute *app_bin_attrs[] = {
	&procs_attr,
	&targets_attr,
#ifdef CONFIG_ASAP_FILE
	&candidates_attr,
#endif
	NULL,
};

static const struct attribute_group app_group = {
	.attrs = app_attrs,
	.bin_attrs = app_bin_attrs,
};

static const struct attribute_group *app_groups[] = {
	&app_group,
	NULL,
};

static void app_release(struct kobject *kobj)
{
	asap_app_free(to_app(kobj));
}

const struct kobj_type asap_app_ktype = {
	.release = app_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = app_groups,
};

/**
 * asap_sysfs_init - make /sys/kernel/mm/asap/
 *
 * Context: Process context, at boot.
 * Return: 0 or -ENOMEM.
 */
int __init asap_sysfs_init(void)
{
	struct kobject *asap_kobj;
	unsigned int i;
	int err = -ENOMEM;

	for (i = 0; i < ASAP_NR_KNOBS; i++) {
		struct kobj_attribute *attr = &knob_attrs[i].attr;

		knob_attrs[i].id = i;
		sysfs_attr_init(&attr->attr);
		attr->attr.name = asap_knob_name(i);
		attr->attr.mode = 0644;
		attr->show = knob_show;
		attr->store = knob_store;
		asap_attrs[i] = &attr->attr;
	}
	asap_attrs[i] = &stat_attr.attr;

	asap_kobj = kobject_create_and_add("asap", mm_kobj);
	if (!asap_kobj)
		return err;
	err = sysfs_create_group(asap_kobj, &asap_group);
	if (err)
		goto put_asap;
	err = -ENOMEM;
	asap_apps = kset_create_and_add("apps", NULL, asap_kobj);
	if (!asap_apps)
		goto put_asap;
	err = sysfs_create_group(&asap_apps->kobj, &apps_group);
	if (err)
		goto unregister;
	return 0;

unregister:
	kset_unregister(asap_apps);
put_asap:
	kobject_put(asap_kobj);
	return err;
}
