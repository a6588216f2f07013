/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ASAP internals.
 *
 * Locks, outermost first:
 *
 *   asap_apps_lock	mutex: apps come and go, ASAP is enabled or disabled
 *   app->mutex		mutex: tables, model, plan and log of an app; held over a
 *			harvest, never taken in a fault or by a prefetch worker
 *   app->lock		spinlock: window state and membership; innermost but for
 *			asap_runs_lock
 *   asap_runs_lock	spinlock: runs that workers may take work from
 *
 * Who keeps what alive:
 *
 *   app	its kobject. Each member holds a reference, and so does each work
 *		item while it is queued.
 *   member	member->ref: one for membership (mm->asap points to it), one for
 *		each window that has it in its plan. Freed after a grace period,
 *		so that a fault hook may use what mm->asap says inside
 *		rcu_read_lock().
 *   mm		nothing here holds an mm. member->mm is valid under app->lock as
 *		long as the member is linked; asap_exit() unlinks it before the
 *		mm's page tables go. A worker takes mmget_not_zero() for one batch.
 *   plan	changes only while app->mutex is held and no window is open, so a
 *		worker may read it from the time it has joined a run until it
 *		leaves it.
 */
#ifndef _MM_ASAP_INTERNAL_H
#define _MM_ASAP_INTERNAL_H

#include <linux/asap.h>
#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/idr.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/xarray.h>
#include <linux/workqueue.h>

#include "footprint.h"
#include "policy.h"

/* Pages that a prefetch worker handles at a time, as in the ASAP paper. */
#define ASAP_BATCH		16

/* Address spaces in one app. */
#define ASAP_MAX_MEMBERS	1024

/* Pages that are read together at most. */
#define ASAP_EXTENT_MAX		2048

/* Characters in an app's name. */
#define ASAP_NAME_MAX		63

/* core.c: settings. Read without a lock: any value in range will do. */
enum asap_knob_id {
	ASAP_KNOB_ENABLED,
	ASAP_KNOB_POLICY,
	ASAP_KNOB_LEARN,
	ASAP_KNOB_PREFETCH,
	ASAP_KNOB_ANON_ENABLED,
	ASAP_KNOB_FILE_ENABLED,
	ASAP_KNOB_PROFILE_SWITCHES,
	ASAP_KNOB_PROFILE_MIN_HITS,
	ASAP_KNOB_ANON_TTL,
	ASAP_KNOB_MERGE_GAP,
	ASAP_KNOB_EXTENT_MAX,
	ASAP_KNOB_WINDOW_TIMEOUT_MS,
	ASAP_KNOB_MAX_PAGES,
	ASAP_KNOB_TRIGGER,
	ASAP_KNOB_BACKGROUND_ADJ,
	ASAP_KNOB_FOREGROUND_ADJ,
	ASAP_KNOB_QUIET_MS,
	ASAP_KNOB_AUTO_APPS_MAX,
	ASAP_NR_KNOBS,
};

/* What opens windows besides those who write to an app's switch file. */
enum asap_trigger {
	ASAP_TRIGGER_NONE,
	ASAP_TRIGGER_OOM_SCORE_ADJ,
	ASAP_NR_TRIGGERS,
};

int asap_knob(enum asap_knob_id id);
int asap_knob_parse(enum asap_knob_id id, const char *buf, int *val);
int asap_knob_store(enum asap_knob_id id, const char *buf);
int asap_knob_show(enum asap_knob_id id, char *buf);
const char *asap_knob_name(enum asap_knob_id id);

static inline bool asap_enabled(void)
{
	return static_key_enabled(&asap_key);
}

/* log.c: the fault log of an app. */
enum asap_slot_kind {
	ASAP_SLOT_ANON,		/* a swap-backed fault */
	ASAP_SLOT_FILE_MISS,	/* a fault or read() that the page cache missed */
	ASAP_SLOT_FILE_READ,	/* a read() that it served */
};

/**
 * struct asap_slot - one event in the log
 * @key: anon: first virtual page number; file: the inode's address, which is
 *	only ever compared with those of files that the app has open
 * @index: file: first page
 * @member: anon: whose
 * @kind: &enum asap_slot_kind
 * @nr: pages; 65536 and more are logged in parts
 */
struct asap_slot {
	u64 key;
	u32 index;
	u16 member:14;
	u16 kind:2;
	u16 nr;
};

static_assert(sizeof(struct asap_slot) == 16);
static_assert(ASAP_MAX_MEMBERS <= 1 << 14);

struct asap_log {
	struct asap_slot *slot;
	u32 size;
	atomic_t head;
	atomic_t dropped;
};

int asap_log_init(struct asap_log *log, u32 size);
void asap_log_destroy(struct asap_log *log);
void asap_log_reset(struct asap_log *log);
void asap_log_append(struct asap_log *log, struct asap_slot slot);
u32 asap_log_len(const struct asap_log *log);
bool asap_log_faults_since(const struct asap_log *log, u32 *pos);
u32 asap_log_count(const struct asap_log *log, u32 *first);
void asap_log_sort(const struct asap_log *log, u32 *first,
		   struct asap_touch *touch);

/* What can come of a page that was to be fetched. */
enum asap_fetch {
	ASAP_FETCH_MAPPED,	/* brought in and mapped */
	ASAP_FETCH_CACHED,	/* brought in, not mapped: a minor fault is left */
	ASAP_FETCH_PRESENT,	/* the app has it already */
	ASAP_FETCH_EMPTY,	/* nothing to fetch at this address */
	ASAP_FETCH_CONTENDED,	/* VMA, page table or folio is busy */
	ASAP_FETCH_UNSUITED,	/* KSM, writeback, large folio, locked VMA, ... */
	ASAP_FETCH_RACED,	/* changed while it was read */
	ASAP_FETCH_NO_MEMORY,	/* no free page, or the memcg is at its limit */
	ASAP_FETCH_STOPPED,	/* window closed, process exits, budget used up */
	ASAP_NR_FETCH,
};

/* Figures of one window, or the sums of many. All are u64: asap_stat_add(). */
struct asap_stat {
	u64 switches;
	struct asap_outcome anon;
	struct asap_outcome file;
	u64 fresh_faults;
	u64 log_dropped;
	u64 fetch[ASAP_NR_FETCH];
	u64 file_fetch[ASAP_NR_FETCH];
	u64 file_first_ns;
	u64 file_last_ns;
	u64 file_changed;	/* files that are not what a loaded table knew */
	u64 duration_ns;	/* start to end */
	u64 first_ns;		/* start to the first page fetched */
	u64 last_ns;		/* start to the last page fetched */
	u64 harvest_ns;		/* time the harvest took */
	u64 timeouts;
	u64 low_memory;		/* windows whose prefetch memory cut short */
};

/*
 * The fetching of one plan. Workers join a run under asap_runs_lock, take
 * batches by moving the cursor, and leave; whoever waits for the run to become
 * idle may then touch the plan.
 */
struct asap_run {
	struct list_head node;	/* on asap_runs, while there is work to take */
	atomic_t cursor;	/* next item of the plan */
	u32 nr;			/* items of the plan */
	u32 fetch_nr;		/* of these, to be fetched; the rest is looked at */
	bool stop;		/* take no more; written under asap_runs_lock */
	bool low_memory;
	int active;		/* workers inside; under asap_runs_lock */
	wait_queue_head_t idle;
	atomic_t fetch[ASAP_NR_FETCH];
	atomic64_t first_ns;
	atomic64_t last_ns;
};

enum asap_app_state {
	ASAP_IDLE,	/* no window */
	ASAP_OPEN,	/* faults are logged, targets fetched */
	ASAP_ENDING,	/* closed; the harvest is queued or under way */
};

struct asap_member {
	refcount_t ref;
	u16 id;			/* in log and plan */
	struct asap_app *app;
	struct mm_struct *mm;	/* see above; NULL once unlinked */
	unsigned int held;	/* users of the mm that are ours; under app->lock */
	bool background;	/* its score said so last; under app->lock */
	bool by_cgroup;		/* leaves when it leaves the app's cgroup */
	bool stale;		/* not seen there yet; under app->lock */
	struct pid *pid;	/* of the thread group; NULL after fork() */
	struct list_head node;
	struct asap_table anon;	/* under app->mutex, or in the plan of a run */
	struct rcu_work free;
};

struct asap_file {
	struct hlist_node node;
	struct asap_file_id key;
	u32 id;			/* in the table */
	u32 absent;		/* windows in a row without it */
	u32 profiled;		/* windows of its profile that are through */
	u64 pages;		/* its size when it was seen last */
	bool loaded;		/* and not seen since: it may have changed */
	char *path;		/* for people; may be NULL */
};

/* Entries in a table of files, at most. */
#define ASAP_TABLE_MAX	BIT(24)

/* What the worker that fetches an app's files is doing. */
enum asap_fetcher {
	ASAP_FETCHER_IDLE,
	ASAP_FETCHER_BUSY,	/* may use the app's tables */
	ASAP_FETCHER_AWAY,	/* the same, and is in a call of a file system */
	ASAP_FETCHER_LEFT,	/* is in one still, and uses nothing of the app */
};

/* file.c: what is known of an app's files, and the fetching of a window. */
struct asap_files {
	struct asap_table table;	/* of asap_file_vpn() */
	struct asap_model model;
	struct xarray by_id;
	DECLARE_HASHTABLE(by_key, 8);
	u32 profiled;			/* windows that the profile has seen */
	struct asap_extent *ext;	/* in the order of fetching */
	u32 ext_nr;
	u32 targets;			/* pages of these that are targets */

	struct work_struct work;	/* holds the app while it is queued */
	enum asap_fetcher fetcher;	/* under app->lock */
	wait_queue_head_t fetcher_wait;
	bool waiting;			/* it is, for what the app opens late */
	bool stop;
	bool low_memory;
	u32 changed;			/* files left out: see asap_stat */
	u32 gap;			/* pages read that are no targets */
	atomic_t fetch[ASAP_NR_FETCH];
	u64 first_ns;
	u64 last_ns;
};

/* By what right a process joins an app. */
enum asap_join {
	ASAP_JOIN_CALLER,	/* the caller may inspect it */
	ASAP_JOIN_TRIGGER,	/* the kernel chose it */
	ASAP_JOIN_CGROUP,	/* it is in the app's cgroup */
};

struct asap_app {
	struct kobject kobj;
	bool automatic;		/* nobody asked for it: see trigger.c */

	spinlock_t lock;	/* what follows, up to timed_out */
	enum asap_app_state state;
	bool restart;		/* open a window again when the harvest is done */
	bool dead;		/* removed: nothing may start any more */
	bool quiet_end;		/* this window ends when the app is quiet ... */
	u32 quiet_pos;		/* ... as it is if nobody faulted since here */
	char *cgroup;		/* whose processes are members, or NULL */
	struct list_head members;
	struct list_head departed; /* left in a window: the harvest drops them */
	struct ida ids;
	unsigned int nr_members;
	u64 opened_ns;
	u64 closed_ns;
	bool timed_out;

	struct mutex mutex;	/* what follows */
	struct asap_log log;	/* its buffer; hooks append without a lock */
	atomic_t fresh_faults;
	struct asap_model model;
	u64 *plan;
	u32 plan_nr;
	u32 plan_targets;	/* of these, to be fetched; they come first */
	struct asap_member *plan_members[ASAP_MAX_MEMBERS]; /* by id, or NULL */
	struct asap_run run;
	struct asap_files files;
	struct asap_load *load;	/* a table that is being written */
	char *text;		/* a table that is being read */
	size_t text_len;
	struct asap_stat last;
	struct asap_stat total;

	struct work_struct harvest_work;
	struct delayed_work timeout_work;
	struct work_struct cgroup_work;
};

/* app.c */
extern struct mutex asap_apps_lock;
extern struct workqueue_struct *asap_wq;

int asap_app_create(const char *name, bool automatic);
struct asap_app *asap_app_get(const char *name);
struct asap_app *asap_app_of_task(struct task_struct *task);
int asap_apps_make_room(unsigned int max);
struct asap_app *asap_app_background(struct mm_struct *mm, bool background);
int asap_app_add_task(struct asap_app *app, struct task_struct *task,
		      enum asap_join how);
void asap_app_mark_cgroup(struct asap_app *app);
void asap_app_sweep_cgroup(struct asap_app *app);
int asap_app_remove(const char *name);
int asap_app_add_pid(struct asap_app *app, pid_t nr);
void asap_apps_close_windows(void);
void asap_app_free(struct asap_app *app);
void asap_member_put(struct asap_member *member);
void asap_members_put(struct list_head *members);
struct mm_struct *asap_member_mmget(struct asap_member *member);
void asap_member_mmput(struct asap_member *member, struct mm_struct *mm);
struct pid *asap_member_pid(struct asap_member *member);
u32 asap_app_members(struct asap_app *app, struct asap_member **member);

static inline struct asap_member *asap_mm_member(unsigned long val)
{
	return (struct asap_member *)(val & ~ASAP_MM_OPEN);
}

/* window.c */
void asap_table_clear_seen(struct asap_table *table);
struct asap_ent *asap_table_alloc(u32 nr);
void asap_table_trim(struct asap_table *table, u32 room);
u32 asap_table_find(const struct asap_table *table, u64 vpn);
void asap_window_init(struct asap_app *app);
void asap_window_destroy(struct asap_app *app);
int asap_window_start(struct asap_app *app, bool quiet_end);
int asap_window_end(struct asap_app *app);
bool asap_window_is_open(struct asap_app *app);
void asap_window_close(struct asap_app *app);
void asap_window_shutdown(struct asap_app *app);
int asap_window_forget(struct asap_app *app);
int asap_window_claim(struct asap_app *app);
void asap_window_release(struct asap_app *app);
int asap_window_profile(struct asap_app *app, bool start);

/* work.c */
int asap_workers_start(void);
void asap_workers_stop(void);
void asap_run_init(struct asap_run *run);
void asap_run_start(struct asap_run *run, u32 nr, u32 fetch);
void asap_run_stop(struct asap_run *run);
void asap_run_wait(struct asap_run *run);
bool asap_run_stopped(const struct asap_run *run);
bool asap_run_done(struct asap_run *run);
bool asap_memory_low(void);
bool asap_memcg_room(struct mem_cgroup *memcg, unsigned int nr);
void asap_run_count(struct asap_run *run, enum asap_fetch what);

/* vma.c */
struct asap_vma {
	struct vm_area_struct *vma;
	bool mmap_locked;
};

int asap_vma_lock(struct asap_vma *lock, struct mm_struct *mm,
		  unsigned long addr);
void asap_vma_unlock(struct asap_vma *lock);

/* anon.c */
#ifdef CONFIG_ASAP_ANON
void asap_anon_fetch(struct asap_run *run, struct mm_struct *mm,
		     struct asap_ent **ent, unsigned int nr,
		     unsigned int fetch);
void asap_anon_look(struct mm_struct *mm, struct asap_table *table);
#else
static inline void asap_anon_fetch(struct asap_run *run, struct mm_struct *mm,
				   struct asap_ent **ent, unsigned int nr,
				   unsigned int fetch) { }
static inline void asap_anon_look(struct mm_struct *mm,
				  struct asap_table *table) { }
#endif

/* file.c */
#ifdef CONFIG_ASAP_FILE
void asap_file_init(struct asap_app *app);
void asap_file_start(struct asap_app *app);
void asap_file_stop(struct asap_app *app);
void asap_file_wait(struct asap_app *app);
bool asap_file_done(struct asap_app *app);
int asap_file_harvest(struct asap_app *app, struct asap_outcome *out);
void asap_file_forget(struct asap_app *app);
int asap_file_profile_end(struct asap_app *app);
int asap_file_replace(struct asap_app *app, struct asap_file **file, u32 nr,
		      struct asap_table *table);

/* candidates.c */
char *asap_candidates_text(struct asap_app *app, size_t *len);
int asap_candidates_write(struct asap_app *app, const char *text, loff_t pos,
			  size_t len);
void asap_candidates_load_free(struct asap_load *load);
#else
static inline void asap_file_init(struct asap_app *app) { }
static inline void asap_file_start(struct asap_app *app) { }
static inline void asap_file_stop(struct asap_app *app) { }
static inline void asap_file_wait(struct asap_app *app) { }
static inline bool asap_file_done(struct asap_app *app)
{
	return true;
}

static inline int asap_file_harvest(struct asap_app *app,
				    struct asap_outcome *out)
{
	return 0;
}

static inline void asap_file_forget(struct asap_app *app) { }
static inline void asap_candidates_load_free(struct asap_load *load) { }
static inline int asap_file_profile_end(struct asap_app *app)
{
	return -EINVAL;
}
#endif

/* trigger.c */
struct asap_app *asap_auto_app(struct task_struct *task);

/* cgroup.c */
#ifdef CONFIG_CGROUPS
void asap_cgroup_init(struct asap_app *app);
int asap_cgroup_set(struct asap_app *app, const char *path);
void asap_cgroup_start(struct asap_app *app);
bool asap_cgroup_wait(struct asap_app *app);
void asap_cgroup_stop(struct asap_app *app);
#else
static inline void asap_cgroup_init(struct asap_app *app) { }
static inline int asap_cgroup_set(struct asap_app *app, const char *path)
{
	return -EOPNOTSUPP;
}

static inline void asap_cgroup_start(struct asap_app *app) { }
static inline bool asap_cgroup_wait(struct asap_app *app)
{
	return false;
}

static inline void asap_cgroup_stop(struct asap_app *app) { }
#endif

/* sysfs.c */
int asap_sysfs_init(void);
extern const struct kobj_type asap_app_ktype;
extern struct kset *asap_apps;

/* core.c: figures */
void asap_stat_publish(const struct asap_stat *stat);
void asap_stat_add(struct asap_stat *sum, const struct asap_stat *stat);

#endif /* _MM_ASAP_INTERNAL_H */
