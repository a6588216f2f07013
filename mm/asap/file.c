// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP for file pages: read ahead, and map ahead, what a switch will touch.
 *
 * Between windows a file is nothing but a key: file system, inode number,
 * generation. When a window opens, the files of an app are found again among what
 * its processes have mapped and opened, and are read through the app's own
 * struct file; what the app has not got, ASAP does not touch. All references are
 * given back before the worker is through, and with __fput_sync(), so that an
 * unmount does not find a file of ours that waits for its turn in a task work.
 *
 * A window's work is two passes that run into each other. One submits the reads
 * of all extents, in the order in which the app touched them last time; nothing
 * waits for a read, so that the device's queue is full from the start. The other
 * follows behind and maps what has arrived, the PTEs old: a touch costs no fault
 * and leaves its mark in the accessed bit.
 *
 * What the app touched is learned from three places: misses of the page cache,
 * which the log has; read(), which the log has as well; and the accessed bits of
 * its file mappings, which the harvest collects and clears. Pages that
 * fault-around mapped along with others are no touches: while a window is open
 * they are mapped old, whatever the architecture likes best.
 */
#include <linux/blkdev.h>
#include <linux/bsearch.h>
#include <linux/fadvise.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hashtable.h>
#include <linux/jhash.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmu_notifier.h>
#include <linux/page_idle.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/shmem_fs.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/swap.h>
#include <linux/userfaultfd_k.h>
#include <linux/uuid.h>
#include <trace/events/asap.h>

#include "../internal.h"
#include "internal.h"

/* The most pages in one extent: see the knob extent_max_pages. */
#define EXTENT_MAX	ASAP_EXTENT_MAX

/* Pages mapped without letting go of the VMA: as many as asap_map_begin() sees. */
#define MAP_CHUNK	BITS_PER_LONG

/* Pages of one readahead call; longer ones are cut to what the device likes. */
#define READ_CHUNK	32

/* The file system's own blocks, one for so many pages, come first. */
#define METADATA_STRIDE	512

/* Try so often for a contended mmap_lock before a process is passed over. */
#define MMAP_TRIES	3

/* A file that the app did not have in so many windows is forgotten. */
#define ABSENT_MAX	16

/* A worker whose call has not returned after so many ticks is left behind. */
#define CALL_PATIENCE	(3 * HZ)

/* Look so often for files that the app opens late, in ms. */
#define LATE_POLL_MIN	5U
#define LATE_POLL_MAX	80U

/* A file that the app has, while we look. */
struct open_file {
	struct inode *inode;	/* the one that has the pages; held by @file */
	struct file *file;	/* NULL once it was given back: @inode is a name then */
	struct asap_file *known;
};

/* A place where the app has mapped a file. */
struct open_map {
	struct inode *inode;
	struct asap_member *member;
	unsigned long start;
	unsigned long end;
	pgoff_t pgoff;
};

/* All files and file mappings of an app at one time. */
struct view {
	struct open_file *file;
	u32 nr_files, max_files;
	struct open_map *map;
	u32 nr_maps, max_maps;
	struct asap_member **member;
	u32 nr_members;
};

static struct inode *file_pages_inode(struct file *file)
{
	/* An open overlayfs file has its pages in another file system's inode. */
	return d_real_inode(file->f_path.dentry);
}

static bool file_wanted(struct file *file, struct inode *inode)
{
	struct address_space *mapping = inode->i_mapping;

	return S_ISREG(inode->i_mode) && !IS_DAX(inode) &&
	       (file->f_mode & FMODE_READ) && !shmem_mapping(mapping) &&
	       (mapping->a_ops->readahead || mapping->a_ops->read_folio);
}

static void file_key(const struct inode *inode, struct asap_file_id *key)
{
	const struct super_block *sb = inode->i_sb;

	memset(key, 0, sizeof(*key));
	if (sb->s_uuid_len == sizeof(key->uuid) && !uuid_is_null(&sb->s_uuid))
		memcpy(key->uuid, &sb->s_uuid, sizeof(key->uuid));
	else
		key->dev = sb->s_dev;
	key->ino = inode->i_ino;
	key->generation = inode->i_generation;
}

static u32 key_hash(const struct asap_file_id *key)
{
	/* A number that was used again is to be found as well. No padding. */
	static_assert(offsetofend(struct asap_file_id, generation) == 32);
	return jhash(key, offsetof(struct asap_file_id, generation), 0);
}

static struct asap_file *file_find(struct asap_files *files,
				   const struct asap_file_id *key)
{
	struct asap_file *file;

	hash_for_each_possible(files->by_key, file, node, key_hash(key))
		if (!memcmp(&file->key, key, sizeof(*key)))
			return file;
	return NULL;
}

/* What had the inode's number before: a file that is gone, then. */
static struct asap_file *file_find_former(struct asap_files *files,
					  const struct asap_file_id *key)
{
	struct asap_file *file;

	hash_for_each_possible(files->by_key, file, node, key_hash(key))
		if (!asap_file_id_cmp(&file->key, key) &&
		    file->key.generation != key->generation)
			return file;
	return NULL;
}

/* Return: the file, new if need be; NULL if memory is short. */
static struct asap_file *file_get(struct asap_files *files,
				  const struct asap_file_id *key)
{
	struct asap_file *file = file_find(files, key);

	if (file)
		return file;
	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return NULL;
	file->key = *key;
	if (xa_alloc(&files->by_id, &file->id, file, xa_limit_31b, GFP_KERNEL)) {
		kfree(file);
		return NULL;
	}
	hash_add(files->by_key, &file->node, key_hash(key));
	return file;
}

static void file_forget(struct asap_files *files, struct asap_file *file)
{
	hash_del(&file->node);
	xa_erase(&files->by_id, file->id);
	kfree(file->path);
	kfree(file);
}

/* Pages of @inode that a file of its present size has. */
static pgoff_t inode_pages(const struct inode *inode)
{
	return DIV_ROUND_UP(i_size_read(inode), PAGE_SIZE);
}

/* Is a file that a saved table knows another one by now? */
static bool file_changed(const struct asap_file *file, const struct inode *inode)
{
	return file->loaded && file->pages != inode_pages(inode);
}

/* For people who read a saved table; the kernel has no use for it. */
static void file_name(struct asap_file *known, struct file *file)
{
	char *buf, *path;

	if (!known || known->path)
		return;
	buf = (char *)__get_free_page(GFP_KERNEL);
	if (!buf)
		return;
	path = file_path(file, buf, PAGE_SIZE);
	if (!IS_ERR(path))
		known->path = kstrdup(path, GFP_KERNEL);
	free_page((unsigned long)buf);
}

/* Building and leaving a view. */

static int inode_cmp(const void *a, const void *b)
{
	const struct open_file *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int map_cmp(const void *a, const void *b)
{
	const struct open_map *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->pgoff < y->pgoff ? -1 : x->pgoff > y->pgoff;
}

static struct open_file *view_find(const struct view *view, u64 inode)
{
	struct open_file key = { .inode = (struct inode *)(unsigned long)inode };

	return bsearch(&key, view->file, view->nr_files, sizeof(key), inode_cmp);
}

static int view_reserve(struct view *view, u32 files, u32 maps)
{
	void *p;

	if (view->nr_files + files > view->max_files) {
		u32 max = max(2 * view->max_files, view->nr_files + files);

		p = kvrealloc(view->file, array_size(max, sizeof(*view->file)),
			      GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		view->file = p;
		view->max_files = max;
	}
	if (view->nr_maps + maps > view->max_maps) {
		u32 max = max(2 * view->max_maps, view->nr_maps + maps);

		p = kvrealloc(view->map, array_size(max, sizeof(*view->map)),
			      GFP_KERNEL);
		if (!p)
			return -ENOMEM;
		view->map = p;
		view->max_maps = max;
	}
	return 0;
}

/* Takes over a reference to @file if it adds it. */
static bool view_add_file(struct view *view, struct file *file,
			  struct inode *inode)
{
	if (!file_wanted(file, inode) || view->nr_files == view->max_files)
		return false;
	view->file[view->nr_files++] = (struct open_file) {
		.inode = inode, .file = file,
	};
	return true;
}

/* Context: mmap_lock held for reading. Allocates nothing. */
static void view_add_vmas(struct view *view, struct asap_member *member,
			  struct mm_struct *mm)
{
	struct vm_area_struct *vma;
	struct inode *inode, *last = NULL;
	struct vma_iterator vmi;

	vma_iter_init(&vmi, mm, 0);
	for_each_vma(vmi, vma) {
		if (!vma->vm_file || (vma->vm_flags & (VM_IO | VM_PFNMAP)) ||
		    view->nr_maps == view->max_maps)
			continue;
		inode = vma->vm_file->f_mapping->host;
		if (!file_wanted(vma->vm_file, inode))
			continue;
		/* The segments of a library follow each other. */
		if (inode != last) {
			if (!view_add_file(view, vma->vm_file, inode))
				continue;
			get_file(vma->vm_file);
			last = inode;
		}
		view->map[view->nr_maps++] = (struct open_map) {
			.inode = inode,
			.member = member,
			.start = vma->vm_start,
			.end = vma->vm_end,
			.pgoff = vma->vm_pgoff,
		};
	}
}

static int view_add_member(struct view *view, struct asap_member *member)
{
	struct task_struct *task;
	struct mm_struct *mm;
	struct file *file;
	unsigned int fd, tries;
	int err = 0;

	mm = asap_member_mmget(member);
	if (!mm)
		return 0;
	err = view_reserve(view, mm->map_count, mm->map_count);
	for (tries = 0; !err && tries < MMAP_TRIES; tries++) {
		if (mmap_read_trylock(mm)) {
			view_add_vmas(view, member, mm);
			mmap_read_unlock(mm);
			break;
		}
		schedule_timeout_idle(1);
	}
	asap_member_mmput(member, mm);
	if (err)
		return err;

	task = get_pid_task(member->pid, PIDTYPE_TGID);
	if (!task)
		return 0;
	for (fd = 0; !err; fd++) {
		rcu_read_lock();
		file = task_lookup_next_fdget_rcu(task, &fd);
		rcu_read_unlock();
		if (!file)
			break;
		err = view_reserve(view, 1, 0);
		if (err || !view_add_file(view, file, file_pages_inode(file)))
			fput(file);
	}
	put_task_struct(task);
	return err;
}

static void view_close(struct view *view)
{
	u32 i;

	for (i = 0; i < view->nr_files; i++)
		if (view->file[i].file)
			__fput_sync(view->file[i].file);
	for (i = 0; i < view->nr_members; i++)
		asap_member_put(view->member[i]);
	kvfree(view->file);
	kvfree(view->map);
	kvfree(view->member);
}

/* Return: 0 or -ENOMEM; the view must be closed in any case. */
static int view_open(struct asap_app *app, struct view *view)
{
	struct asap_file_id key;
	u32 i, nr;
	int err;

	view->member = kvmalloc_array(ASAP_MAX_MEMBERS, sizeof(*view->member),
				      GFP_KERNEL);
	if (!view->member)
		return -ENOMEM;
	view->nr_members = asap_app_members(app, view->member);
	for (i = 0; i < view->nr_members; i++) {
		err = view_add_member(view, view->member[i]);
		if (err)
			return err;
		cond_resched();
	}
	sort(view->file, view->nr_files, sizeof(*view->file), inode_cmp, NULL);
	sort(view->map, view->nr_maps, sizeof(*view->map), map_cmp, NULL);
	for (i = 0, nr = 0; i < view->nr_files; i++) {
		if (nr && view->file[nr - 1].inode == view->file[i].inode)
			__fput_sync(view->file[i].file);
		else
			view->file[nr++] = view->file[i];
	}
	view->nr_files = nr;
	for (i = 0; i < nr; i++) {
		file_key(view->file[i].inode, &key);
		view->file[i].known = file_find(&app->files, &key);
	}
	return 0;
}

/* Fetching. */

/* One window's fetching: what its worker alone knows. */
struct fetch {
	struct list_head node;		/* on fetchers */
	struct task_struct *task;	/* the worker */
	struct asap_app *app;
	struct mem_cgroup *memcg;	/* to be charged; NULL for none */
	struct view view;
	struct open_file **by_id;	/* files that the app has, by their numbers */
	unsigned long *done;		/* numbers of those that were fetched */
	u32 nr_ids;
	u32 log_pos;			/* what of the log was looked through */
	unsigned long let_go;		/* jiffies of the last files_let_go() */
	bool left;			/* behind: see call_begin() */
};

static LIST_HEAD(fetchers);
static DEFINE_SPINLOCK(fetchers_lock);

bool __asap_fetching(void)
{
	struct fetch *fetch;
	bool found = false;

	if (!(current->flags & PF_WQ_WORKER))
		return false;
	spin_lock(&fetchers_lock);
	list_for_each_entry(fetch, &fetchers, node)
		found |= fetch->task == current;
	spin_unlock(&fetchers_lock);
	return found;
}

static void fetch_enlist(struct fetch *fetch)
{
	fetch->task = current;
	spin_lock(&fetchers_lock);
	list_add(&fetch->node, &fetchers);
	spin_unlock(&fetchers_lock);
}

static void fetch_delist(struct fetch *fetch)
{
	spin_lock(&fetchers_lock);
	list_del(&fetch->node);
	spin_unlock(&fetchers_lock);
}

static bool fetch_stopped(const struct fetch *fetch)
{
	return READ_ONCE(fetch->app->files.stop);
}

static void count_file(struct asap_files *files, enum asap_fetch what, u32 nr)
{
	atomic_add(nr, &files->fetch[what]);
}

/*
 * A call of a file system may wait for somebody who never comes: the daemon of a
 * FUSE file system, stopped. The window ends nevertheless. Around each call the
 * worker says that it is in one, and a harvest that has waited long enough goes on
 * without it (asap_file_wait()). When the call returns at last, a worker that was
 * left behind gives back its references and touches nothing else of the app's.
 */
static void call_begin(struct fetch *fetch)
{
	struct asap_app *app = fetch->app;

	spin_lock(&app->lock);
	if (!fetch->left)
		app->files.fetcher = ASAP_FETCHER_AWAY;
	spin_unlock(&app->lock);
}

static void call_end(struct fetch *fetch)
{
	struct asap_app *app = fetch->app;

	spin_lock(&app->lock);
	if (app->files.fetcher == ASAP_FETCHER_AWAY)
		app->files.fetcher = ASAP_FETCHER_BUSY;
	else
		fetch->left = true;
	spin_unlock(&app->lock);
}

/*
 * Give back files, all of them or those that the app has closed meanwhile: an
 * unmount, or the space of a deleted file, is not to wait until we are through.
 */
static void files_let_go(struct fetch *fetch, bool all)
{
	struct open_file *of;
	u32 i;

	/* It is a look at each file: not more often than once a tick. */
	if (!all && time_before_eq(jiffies, fetch->let_go))
		return;
	fetch->let_go = jiffies;
	for (i = 0; i < fetch->view.nr_files && !fetch->left; i++) {
		of = &fetch->view.file[i];
		if (!of->file || (!all && file_count(of->file) > 1))
			continue;
		if (of->known && of->known->id < fetch->nr_ids)
			fetch->by_id[of->known->id] = NULL;
		call_begin(fetch);
		__fput_sync(of->file);
		of->file = NULL;
		call_end(fetch);
	}
}

/* Return: whether to go on; if not, the app's tables may be gone. */
static bool fetch_goes_on(struct fetch *fetch)
{
	cond_resched();
	files_let_go(fetch, false);
	return !fetch_stopped(fetch);
}

static bool page_cached(struct address_space *mapping, pgoff_t index)
{
	void *entry;

	rcu_read_lock();
	entry = xa_load(&mapping->i_pages, index);
	rcu_read_unlock();
	return entry && !xa_is_value(entry);
}

/* Rather too little than reclaim for the sake of a guess. */
static bool out_of_memory(const struct fetch *fetch, u32 nr)
{
	struct asap_files *files = &fetch->app->files;

	if (!asap_memory_low() && asap_memcg_room(fetch->memcg, nr))
		return false;
	files->low_memory = true;
	WRITE_ONCE(files->stop, true);
	count_file(files, ASAP_FETCH_NO_MEMORY, nr);
	return true;
}

static void read_run(struct fetch *fetch, struct open_file *of, pgoff_t index,
		     u32 nr)
{
	u32 n;

	for (; nr && !fetch->left; index += n, nr -= n) {
		n = min_t(u32, nr, READ_CHUNK);
		if (fetch_stopped(fetch))
			return;
		call_begin(fetch);
		vfs_fadvise(of->file, (loff_t)index << PAGE_SHIFT,
			    (loff_t)n << PAGE_SHIFT, POSIX_FADV_WILLNEED);
		call_end(fetch);
	}
}

/* Submit the reads of an extent and note what they bring in. */
static void extent_read(struct fetch *fetch, const struct asap_extent *ext,
			struct open_file *of)
{
	struct address_space *mapping = of->inode->i_mapping;
	struct asap_files *files = &fetch->app->files;
	DECLARE_BITMAP(absent, EXTENT_MAX);
	pgoff_t start = (u32)ext->vpn;
	u32 i, from, nr = ext->nr, fetched = 0;
	struct asap_ent *ent;

	if (start >= inode_pages(of->inode)) {
		count_file(files, ASAP_FETCH_EMPTY, nr);
		return;
	}
	nr = min_t(u32, nr, inode_pages(of->inode) - start);
	bitmap_zero(absent, nr);
	for (i = 0; i < nr; i++)
		if (!page_cached(mapping, start + i))
			__set_bit(i, absent);
	if (bitmap_empty(absent, nr)) {
		count_file(files, ASAP_FETCH_PRESENT, nr);
		return;
	}
	if (out_of_memory(fetch, bitmap_weight(absent, nr)))
		return;
	for (from = find_first_bit(absent, nr); from < nr;
	     from = find_next_bit(absent, nr, i)) {
		i = find_next_zero_bit(absent, nr, from);
		read_run(fetch, of, start + from, i - from);
		if (fetch->left)
			return;
	}
	for (i = 0; i < nr; i++) {
		if (!test_bit(i, absent))
			continue;
		if (page_cached(mapping, start + i))
			fetched++;
		else
			__clear_bit(i, absent);
	}
	for (i = ext->first; i < files->table.nr; i++) {
		ent = &files->table.ent[i];
		if (ent->vpn >= ext->vpn + nr)
			break;
		if (!test_bit(ent->vpn - ext->vpn, absent))
			continue;
		ent->seen |= ASAP_SEEN_CACHED;
		__clear_bit(ent->vpn - ext->vpn, absent);
	}
	/* What is left was read for the sake of its neighbours. */
	files->gap += bitmap_weight(absent, nr);
	count_file(files, ASAP_FETCH_CACHED, fetched);
	if (fetched && !files->first_ns)
		files->first_ns = ktime_get_ns();
	if (fetched)
		files->last_ns = ktime_get_ns();
}

/* Has all of an extent that is cached arrived? */
static bool extent_ready(const struct asap_extent *ext, struct open_file *of)
{
	struct address_space *mapping = of->inode->i_mapping;
	pgoff_t index = (u32)ext->vpn, end = index + ext->nr;
	struct folio *folio;
	bool ready;

	for (; index < end; index++) {
		folio = filemap_get_folio(mapping, index);
		if (IS_ERR(folio))
			continue;
		ready = folio_test_uptodate(folio) || !folio_test_locked(folio);
		folio_put(folio);
		if (!ready)
			return false;
	}
	return true;
}

/* Map up to %MAP_CHUNK cached pages of one page table. */
static void chunk_map(const struct open_map *map, unsigned long addr,
		      unsigned long end)
{
	struct mm_struct *mm = asap_member_mmget(map->member);
	struct asap_vma lock;
	struct vm_area_struct *vma;
	pgoff_t pgoff;
	pmd_t *pmd;

	if (!mm)
		return;
	if (asap_vma_lock(&lock, mm, addr))
		goto put;
	vma = lock.vma;
	end = min(end, vma->vm_end);
	pgoff = linear_page_index(vma, addr);
	if (!vma->vm_file || vma->vm_file->f_mapping->host != map->inode ||
	    pgoff != map->pgoff + ((addr - map->start) >> PAGE_SHIFT) ||
	    !vma->vm_ops->map_pages || userfaultfd_armed(vma))
		goto unlock;
	/* No page table, no allocation: the first touch will see to it. */
	pmd = mm_find_pmd(mm, addr);
	if (pmd && pmd_present(pmdp_get(pmd)) && !pmd_leaf(pmdp_get(pmd))) {
		struct vm_fault vmf = {
			.vma = vma,
			/* Any page but those below: all are mapped ahead. */
			.address = addr & PMD_MASK ? addr - PAGE_SIZE : end,
			.pgoff = pgoff,
			.pmd = pmd,
			.gfp_mask = mapping_gfp_mask(vma->vm_file->f_mapping),
		};

		vma->vm_ops->map_pages(&vmf, pgoff, pgoff +
				       ((end - addr) >> PAGE_SHIFT) - 1);
	}
unlock:
	asap_vma_unlock(&lock);
put:
	asap_member_mmput(map->member, mm);
}

/* Map an extent wherever the app has a mapping of it. */
static void extent_map(const struct view *view, const struct asap_extent *ext,
		       struct open_file *of)
{
	pgoff_t first = (u32)ext->vpn, last = first + ext->nr;
	u32 lo = 0, hi = view->nr_maps;

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (view->map[mid].inode < of->inode)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < view->nr_maps && view->map[lo].inode == of->inode; lo++) {
		const struct open_map *map = &view->map[lo];
		pgoff_t map_last = map->pgoff +
				   ((map->end - map->start) >> PAGE_SHIFT);
		pgoff_t from = max(first, map->pgoff);
		pgoff_t to = min(last, map_last);
		unsigned long addr, end, next;

		if (map->pgoff >= last)
			break;
		if (from >= to)
			continue;
		addr = map->start + ((from - map->pgoff) << PAGE_SHIFT);
		end = map->start + ((to - map->pgoff) << PAGE_SHIFT);
		for (; addr < end; addr = next) {
			next = min3(end, addr + MAP_CHUNK * PAGE_SIZE,
				    pmd_addr_end(addr, end));
			chunk_map(map, addr, next);
		}
	}
}

/* The file of an extent, if it is one to fetch now; NULL otherwise. */
static struct open_file *extent_file(const struct fetch *fetch,
				     const struct asap_extent *ext)
{
	u32 id = ext->vpn >> ASAP_FILE_SHIFT;

	if (id >= fetch->nr_ids || test_bit(id, fetch->done))
		return NULL;
	return fetch->by_id[id];
}

/*
 * First the blocks in which the file systems say where the pages are: whoever
 * reads a page waits for them, so that the reads behind it would stand in line.
 */
static void read_metadata(struct fetch *fetch)
{
	const struct asap_table *table = &fetch->app->files.table;
	u64 last = U64_MAX;
	u32 i;

	/* The table is sorted by file and page, the extents are not. */
	for (i = 0; i < table->nr && fetch_goes_on(fetch); i++) {
		struct asap_extent ext = {
			.vpn = table->ent[i].vpn,
			.first = i,
			.nr = 1,
		};
		struct open_file *of;

		if (table->ent[i].state != ASAP_TARGET ||
		    ext.vpn / METADATA_STRIDE == last)
			continue;
		last = ext.vpn / METADATA_STRIDE;
		of = extent_file(fetch, &ext);
		/* What is there came by way of them. */
		if (of && (u32)ext.vpn < inode_pages(of->inode) &&
		    !page_cached(of->inode->i_mapping, (u32)ext.vpn))
			extent_read(fetch, &ext, of);
	}
}

/* Map what has arrived of the extents before @end. Return: where to go on. */
static u32 extents_map(const struct fetch *fetch, u32 from, u32 end)
{
	const struct asap_files *files = &fetch->app->files;

	for (; from < end && !fetch_stopped(fetch); from++) {
		struct open_file *of = extent_file(fetch, &files->ext[from]);

		if (of && !extent_ready(&files->ext[from], of))
			break;
		if (of)
			extent_map(&fetch->view, &files->ext[from], of);
	}
	return from;
}

/* Fetch the files that the app has and that were not fetched yet. */
static void files_fetch(struct fetch *fetch)
{
	bool map = asap_knob(ASAP_KNOB_POLICY) == ASAP_POLICY_ADAPTIVE;
	struct asap_files *files = &fetch->app->files;
	struct open_file *of;
	struct blk_plug plug;
	u32 i, mapped = 0;

	read_metadata(fetch);
	for (i = 0; i < files->ext_nr && fetch_goes_on(fetch); i++) {
		of = extent_file(fetch, &files->ext[i]);
		if (!of)
			continue;
		blk_start_plug(&plug);
		extent_read(fetch, &files->ext[i], of);
		blk_finish_plug(&plug);
		if (map)
			mapped = extents_map(fetch, mapped, i);
	}
	for (; i < files->ext_nr && !fetch->left; i++)
		if (extent_file(fetch, &files->ext[i]))
			count_file(files, ASAP_FETCH_STOPPED, files->ext[i].nr);
	while (map && fetch_goes_on(fetch)) {
		mapped = extents_map(fetch, mapped, files->ext_nr);
		if (mapped == files->ext_nr)
			break;
		schedule_timeout_idle(1);
	}
	for (i = 0; i < fetch->nr_ids; i++)
		if (fetch->by_id[i])
			__set_bit(i, fetch->done);
}

/*
 * See what the app has. Return: 0 or -ENOMEM.
 *
 * A file that is not what a loaded table knew, or has the inode number of one that
 * is gone, is counted and passed over.
 */
static int fetch_look(struct fetch *fetch)
{
	struct asap_files *files = &fetch->app->files;
	u32 i;
	int err;

	view_close(&fetch->view);
	memset(&fetch->view, 0, sizeof(fetch->view));
	memset(fetch->by_id, 0, array_size(fetch->nr_ids, sizeof(*fetch->by_id)));
	err = view_open(fetch->app, &fetch->view);
	if (err)
		return err;
	for (i = 0; i < fetch->view.nr_files; i++) {
		struct open_file *of = &fetch->view.file[i];
		struct asap_file *former = NULL;
		struct asap_file_id key;

		if (!of->known) {
			file_key(of->inode, &key);
			former = file_find_former(files, &key);
		} else if (file_changed(of->known, of->inode)) {
			former = of->known;
		}
		if (former && former->id < fetch->nr_ids) {
			files->changed += !__test_and_set_bit(former->id,
							      fetch->done);
		} else if (of->known && of->known->id < fetch->nr_ids) {
			fetch->by_id[of->known->id] = of;
		}
	}
	return 0;
}

/* Targets of files that the app has not got, in pages. */
static u32 pages_late(const struct fetch *fetch)
{
	const struct asap_files *files = &fetch->app->files;
	u32 i, nr = 0;

	for (i = 0; i < files->ext_nr; i++)
		if (!test_bit(files->ext[i].vpn >> ASAP_FILE_SHIFT, fetch->done))
			nr += files->ext[i].nr;
	return nr;
}

/*
 * Does the log name a file that we have not seen? Whoever opens one and touches it
 * leaves its inode there. A slot that is just being written may be overlooked; the
 * next touch of the file comes soon.
 */
static bool log_names_new(struct fetch *fetch)
{
	const struct asap_log *log = &fetch->app->log;
	u32 len = asap_log_len(log);

	for (; fetch->log_pos < len; fetch->log_pos++) {
		const struct asap_slot *slot = &log->slot[fetch->log_pos];

		if (slot->kind != ASAP_SLOT_ANON &&
		    !view_find(&fetch->view, slot->key))
			return true;
	}
	return false;
}

/* What the app opens or maps while the window is open is fetched then. */
static void files_fetch_late(struct fetch *fetch)
{
	unsigned int ms = LATE_POLL_MIN;
	u32 late;

	files_let_go(fetch, true);
	late = fetch->left ? 0 : pages_late(fetch);
	while (!fetch_stopped(fetch) && late) {
		WRITE_ONCE(fetch->app->files.waiting, true);
		wait_event_idle_timeout(fetch->app->files.fetcher_wait,
					fetch_stopped(fetch),
					msecs_to_jiffies(ms));
		WRITE_ONCE(fetch->app->files.waiting, false);
		if (fetch_stopped(fetch) || !log_names_new(fetch))
			continue;
		fetch->log_pos = asap_log_len(&fetch->app->log);
		if (fetch_look(fetch))
			break;
		files_fetch(fetch);
		files_let_go(fetch, true);
		late = fetch->left ? 0 : pages_late(fetch);
		/* It may open one file after the other that we do not know. */
		ms = min(2 * ms, LATE_POLL_MAX);
	}
}

/* Charge the app, not the kernel. Its processes share one memcg here. */
static struct mem_cgroup *view_memcg(const struct view *view)
{
	struct mem_cgroup *memcg = NULL;
	struct mm_struct *mm;
	u32 i;

	for (i = 0; !memcg && i < view->nr_members; i++) {
		mm = asap_member_mmget(view->member[i]);
		if (!mm)
			continue;
		memcg = get_mem_cgroup_from_mm(mm);
		asap_member_mmput(view->member[i], mm);
	}
	return memcg;
}

static void file_work_fn(struct work_struct *work)
{
	struct asap_app *app = container_of(work, struct asap_app, files.work);
	struct asap_files *files = &app->files;
	struct fetch fetch = { .app = app, .let_go = jiffies };
	struct mem_cgroup *old;
	u32 i;

	for (i = 0; i < files->ext_nr; i++)
		fetch.nr_ids = max_t(u32, fetch.nr_ids,
				     (files->ext[i].vpn >> ASAP_FILE_SHIFT) + 1);
	fetch.by_id = kvcalloc(fetch.nr_ids, sizeof(*fetch.by_id), GFP_KERNEL);
	fetch.done = kvcalloc(BITS_TO_LONGS(fetch.nr_ids), sizeof(*fetch.done),
			      GFP_KERNEL);
	if (!fetch.by_id || !fetch.done || fetch_stopped(&fetch) ||
	    fetch_look(&fetch))
		goto close;
	fetch_enlist(&fetch);
	fetch.memcg = view_memcg(&fetch.view);
	old = set_active_memcg(fetch.memcg);
	files_fetch(&fetch);
	files_fetch_late(&fetch);
	set_active_memcg(old);
	mem_cgroup_put(fetch.memcg);
	fetch_delist(&fetch);
	if (!fetch.left)
		count_file(files, ASAP_FETCH_CONTENDED, pages_late(&fetch));
close:
	call_begin(&fetch);
	view_close(&fetch.view);
	kvfree(fetch.done);
	kvfree(fetch.by_id);
	spin_lock(&app->lock);
	files->fetcher = ASAP_FETCHER_IDLE;
	wake_up(&files->fetcher_wait);
	spin_unlock(&app->lock);
	/* Removed while we were left behind, the app goes with this reference. */
	kobject_put(&app->kobj);
}

/* Learning. */

struct touches {
	struct asap_touch *touch;
	u32 nr, max;
};

static void touches_add(struct touches *t, struct asap_file *file,
			pgoff_t index, u32 order, bool found)
{
	/* A page beyond 16 TiB of a file is not worth a wider entry. */
	if (!file || t->nr == t->max || index > U32_MAX)
		return;
	t->touch[t->nr++] = (struct asap_touch) {
		.vpn = asap_file_vpn(file->id, index),
		.order = order,
		.found = found,
	};
}

static void touches_from_log(struct touches *t, const struct asap_log *log,
			     const struct view *view)
{
	u32 i, page, len = asap_log_len(log);

	for (i = 0; i < len; i++) {
		const struct asap_slot *slot = &log->slot[i];
		struct open_file *of;

		if (slot->kind == ASAP_SLOT_ANON)
			continue;
		of = view_find(view, slot->key);
		if (!of)
			continue;
		for (page = 0; page < slot->nr; page++)
			touches_add(t, of->known, slot->index + page, i,
				    slot->kind == ASAP_SLOT_FILE_READ);
	}
}

/* Collect and clear the accessed bits of one page table of a mapping. */
static void table_scan(struct touches *t, const struct open_map *map,
		       struct asap_file *file, struct mm_struct *mm,
		       unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma;
	struct asap_vma lock;
	struct folio *folio;
	pte_t *start_pte, *pte;
	spinlock_t *ptl; /* of the page table */
	pmd_t *pmd;

	if (asap_vma_lock(&lock, mm, addr))
		return;
	vma = lock.vma;
	end = min(end, vma->vm_end);
	if (!vma->vm_file || vma->vm_file->f_mapping->host != map->inode)
		goto unlock;
	pmd = mm_find_pmd(mm, addr);
	if (!pmd)
		goto unlock;
	start_pte = pte_offset_map_lock(mm, pmd, addr, &ptl);
	if (!start_pte)
		goto unlock;
	for (pte = start_pte; addr < end; pte++, addr += PAGE_SIZE) {
		pte_t entry = ptep_get(pte);

		if (!pte_present(entry))
			continue;
		folio = vm_normal_folio(vma, addr, entry);
		/* A private copy belongs to the anonymous table. */
		if (!folio || folio_test_anon(folio) ||
		    !ptep_clear_young_notify(vma, addr, pte))
			continue;
		folio_set_young(folio);
		touches_add(t, file, linear_page_index(vma, addr), 0, true);
	}
	pte_unmap_unlock(start_pte, ptl);
unlock:
	asap_vma_unlock(&lock);
}

static void touches_from_maps(struct touches *t, const struct view *view)
{
	unsigned long addr, next;
	struct open_file *of;
	struct mm_struct *mm;
	u32 i;

	for (i = 0; i < view->nr_maps; i++) {
		const struct open_map *map = &view->map[i];

		of = view_find(view, (unsigned long)map->inode);
		if (!of || !of->known)
			continue;
		mm = asap_member_mmget(map->member);
		if (!mm)
			continue;
		for (addr = map->start; addr < map->end; addr = next) {
			next = pmd_addr_end(addr, map->end);
			table_scan(t, map, of->known, mm, addr, next);
			cond_resched();
		}
		asap_member_mmput(map->member, mm);
	}
}

static u32 touches_room(const struct asap_log *log, const struct view *view)
{
	u32 i, room = 1, len = asap_log_len(log);
	struct mm_struct *mm;

	for (i = 0; i < len; i++)
		if (log->slot[i].kind != ASAP_SLOT_ANON)
			room += log->slot[i].nr;
	for (i = 0; i < view->nr_members; i++) {
		mm = asap_member_mmget(view->member[i]);
		if (!mm)
			continue;
		room += get_mm_counter_sum(mm, MM_FILEPAGES);
		asap_member_mmput(view->member[i], mm);
	}
	return room;
}

/* Entries of files that the app has not got, or that have shrunk. */
static void mark_absent(struct asap_files *files, const struct view *view)
{
	struct asap_table *table = &files->table;
	struct asap_file *file;
	unsigned long id;
	u32 i = 0, v;

	xa_for_each(&files->by_id, id, file)
		file->absent++;
	for (v = 0; v < view->nr_files; v++) {
		file = view->file[v].known;
		if (!file)
			continue;
		file->absent = 0;
		/* What was loaded is of another file: forget it, learn anew. */
		if (file_changed(file, view->file[v].inode)) {
			file->absent = ABSENT_MAX + 1;
			file->profiled = 0;
		}
		file->pages = inode_pages(view->file[v].inode);
		file->loaded = false;
	}
	while (i < table->nr) {
		u64 end = (table->ent[i].vpn | U32_MAX);

		file = xa_load(&files->by_id,
			       table->ent[i].vpn >> ASAP_FILE_SHIFT);
		for (; i < table->nr && table->ent[i].vpn <= end; i++) {
			if (!file || file->absent > ABSENT_MAX) {
				table->ent[i].seen |= ASAP_SEEN_GONE;
				table->ent[i].ttl = 0;
			} else if (file->absent) {
				table->ent[i].seen |= ASAP_SEEN_UNKNOWN;
			}
		}
	}
}

/* Pages that nobody asked for shall be the first to go. */
static void settle_unused(struct asap_files *files, const struct view *view)
{
	struct asap_table *table = &files->table;
	struct address_space *mapping;
	struct folio *folio;
	u32 i, v;
	u64 end;

	for (v = 0; v < view->nr_files; v++) {
		if (!view->file[v].known)
			continue;
		mapping = view->file[v].inode->i_mapping;
		i = asap_table_find(table, asap_file_vpn(view->file[v].known->id, 0));
		end = asap_file_vpn(view->file[v].known->id, U32_MAX);
		for (; i < table->nr && table->ent[i].vpn <= end; i++) {
			const struct asap_ent *ent = &table->ent[i];

			if (!(ent->seen & ASAP_SEEN_CACHED) ||
			    (ent->seen & (ASAP_SEEN_YOUNG | ASAP_SEEN_FAULTED)))
				continue;
			folio = filemap_get_folio(mapping, (u32)ent->vpn);
			if (IS_ERR(folio))
				continue;
			folio_deactivate(folio);
			folio_put(folio);
		}
		cond_resched();
	}
	lru_add_drain();
}

/*
 * Forget files of which nothing is left in the table, once the app has not had them
 * for long: until then it is known that their profile is over.
 */
static void files_prune(struct asap_files *files)
{
	struct asap_file *file;
	unsigned long id;
	u32 i = 0;

	xa_for_each(&files->by_id, id, file) {
		while (i < files->table.nr &&
		       files->table.ent[i].vpn < asap_file_vpn(id, 0))
			i++;
		if (file->absent > ABSENT_MAX &&
		    (i == files->table.nr ||
		     files->table.ent[i].vpn >> ASAP_FILE_SHIFT != id))
			file_forget(files, file);
	}
}

/* What to fetch, put together from the targets of a table. */
struct extents {
	struct asap_extent *ext;
	u32 nr;
	u32 targets;
};

/* Return: 0 or -ENOMEM. */
static int extents_make(struct extents *extents, const struct asap_table *table)
{
	u32 gap = asap_knob(ASAP_KNOB_MERGE_GAP);
	u32 max = asap_knob(ASAP_KNOB_EXTENT_MAX);
	u64 next = U64_MAX;
	u32 i, room = 0;

	*extents = (struct extents) {};
	/* Each begins where a run of targets does, or is cut from the one before. */
	for (i = 0; i < table->nr; i++) {
		if (table->ent[i].state != ASAP_TARGET)
			continue;
		room += table->ent[i].vpn != next;
		next = table->ent[i].vpn + 1;
		extents->targets++;
	}
	if (!extents->targets)
		return 0;
	room += extents->targets / max;
	extents->ext = kvmalloc_array(room, sizeof(*extents->ext), GFP_KERNEL);
	if (!extents->ext)
		return -ENOMEM;
	extents->nr = asap_policy_extents(table, gap, max, extents->ext);
	return 0;
}

static void extents_set(struct asap_files *files, const struct extents *extents)
{
	kvfree(files->ext);
	files->ext = extents->ext;
	files->ext_nr = extents->nr;
	files->targets = extents->targets;
}

/* Without memory for it nothing will be fetched. */
static int extents_build(struct asap_files *files)
{
	struct extents extents;
	int err = extents_make(&extents, &files->table);

	extents_set(files, &extents);
	return err;
}

/*
 * A profile begins with the first window that sees the file, which may be long after
 * the app's own: then the file is new, or took the place of one that was known.
 *
 * Return: 0 or -ENOMEM; params->phase is to be given to kvfree().
 */
static int phases_make(struct asap_files *files, u32 profile,
		       struct asap_params *params)
{
	struct asap_file *file;
	unsigned long id;
	u8 *phase;

	params->nr_phase = 0;
	xa_for_each(&files->by_id, id, file)
		params->nr_phase = id + 1;
	phase = kvcalloc(params->nr_phase + 1, sizeof(*phase), GFP_KERNEL);
	if (!phase)
		return -ENOMEM;
	params->phase = phase;
	xa_for_each(&files->by_id, id, file) {
		if (file->profiled < profile)
			phase[id] = file->profiled + 1 == profile ?
				    ASAP_PROFILE_ENDS : ASAP_PROFILE_ON;
	}
	return 0;
}

/* The window was learned: every profile under way is one window older. */
static void profiles_step(struct asap_files *files, u32 profile)
{
	struct asap_file *file;
	unsigned long id;

	xa_for_each(&files->by_id, id, file)
		if (file->profiled < profile)
			file->profiled++;
	if (files->profiled < profile)
		files->profiled++;
}

/**
 * asap_file_harvest - learn what a window did with files
 * @app: the app
 * @out: written: figures
 *
 * Context: Process context, sleeps. app->mutex held, state ENDING.
 * Return: 0 or -ENOMEM; then this window taught nothing.
 */
int asap_file_harvest(struct asap_app *app, struct asap_outcome *out)
{
	struct asap_params params = {
		.policy = asap_knob(ASAP_KNOB_POLICY),
		.file = true,
		.min_hits = asap_knob(ASAP_KNOB_PROFILE_MIN_HITS),
	};
	struct asap_files *files = &app->files;
	u32 profile = asap_knob(ASAP_KNOB_PROFILE_SWITCHES);
	struct asap_table new = {};
	struct asap_file_id key;
	struct touches t = {};
	struct view view = {};
	u32 i, nr, nr_touch;
	int err;

	err = view_open(app, &view);
	if (err)
		goto close;
	for (i = 0; i < view.nr_files; i++) {
		file_key(view.file[i].inode, &key);
		view.file[i].known = file_get(files, &key);
		file_name(view.file[i].known, view.file[i].file);
	}
	err = -ENOMEM;
	t.max = touches_room(&app->log, &view);
	t.touch = kvmalloc_array(t.max, sizeof(*t.touch), GFP_KERNEL);
	if (!t.touch)
		goto close;
	touches_from_log(&t, &app->log, &view);
	touches_from_maps(&t, &view);
	nr_touch = asap_policy_touches(t.touch, t.nr);
	mark_absent(files, &view);
	nr = asap_policy_account(&files->table, t.touch, nr_touch, out);
	out->fetched += files->gap;
	out->wasted += files->gap;
	settle_unused(files, &view);
	err = 0;
	if (!asap_knob(ASAP_KNOB_LEARN) || !nr)
		goto clear;
	err = -ENOMEM;
	if (phases_make(files, profile, &params))
		goto clear;
	new.ent = asap_table_alloc(nr);
	if (!new.ent)
		goto clear;
	asap_policy_harvest(&params, &files->model, &files->table, t.touch,
			    nr_touch, asap_log_len(&app->log), &new, out);
	kvfree(files->table.ent);
	asap_table_trim(&new, nr);
	files->table = new;
	profiles_step(files, profile);
	err = 0;
clear:
	asap_table_clear_seen(&files->table);
	files_prune(files);
	err = extents_build(files) ?: err;
close:
	kvfree(params.phase);
	kvfree(t.touch);
	view_close(&view);
	return err;
}

/**
 * asap_file_start - begin to fetch file pages
 * @app: the app, its window just opened
 *
 * Context: app->lock held. Does not sleep.
 */
void asap_file_start(struct asap_app *app)
{
	struct asap_files *files = &app->files;
	unsigned int i;

	for (i = 0; i < ASAP_NR_FETCH; i++)
		atomic_set(&files->fetch[i], 0);
	files->gap = 0;
	files->changed = 0;
	files->low_memory = false;
	files->first_ns = 0;
	files->last_ns = 0;
	if (!files->ext_nr || !asap_knob(ASAP_KNOB_PREFETCH) ||
	    !asap_knob(ASAP_KNOB_FILE_ENABLED))
		return;
	/* One worker of an app that hangs is enough. */
	if (files->fetcher != ASAP_FETCHER_IDLE) {
		count_file(files, ASAP_FETCH_STOPPED, files->targets);
		return;
	}
	files->stop = false;
	files->fetcher = ASAP_FETCHER_BUSY;
	kobject_get(&app->kobj);
	queue_work(asap_wq, &files->work);
}

/**
 * asap_file_stop - fetch no more file pages
 * @app: the app
 *
 * Context: Any.
 */
void asap_file_stop(struct asap_app *app)
{
	WRITE_ONCE(app->files.stop, true);
	wake_up(&app->files.fetcher_wait);
}

static bool fetcher_gone(struct asap_app *app)
{
	bool gone;

	spin_lock(&app->lock);
	gone = app->files.fetcher == ASAP_FETCHER_IDLE ||
	       app->files.fetcher == ASAP_FETCHER_LEFT;
	spin_unlock(&app->lock);
	return gone;
}

/**
 * asap_file_wait - wait until nobody fetches
 * @app: the app, after asap_file_stop()
 *
 * A worker whose call of a file system does not return is left behind: it keeps the app and
 * the file that it reads, and uses nothing else of either.
 *
 * Context: Process context, sleeps until a readahead call in flight returns, but
 * not much longer than %CALL_PATIENCE.
 */
void asap_file_wait(struct asap_app *app)
{
	while (!wait_event_timeout(app->files.fetcher_wait, fetcher_gone(app),
				   CALL_PATIENCE)) {
		spin_lock(&app->lock);
		if (app->files.fetcher == ASAP_FETCHER_AWAY)
			app->files.fetcher = ASAP_FETCHER_LEFT;
		spin_unlock(&app->lock);
	}
}

/**
 * asap_file_done - is everything fetched that the app has got?
 * @app: the app
 *
 * Context: app->lock held.
 * Return: whether it is, or was given up.
 */
bool asap_file_done(struct asap_app *app)
{
	return app->files.fetcher == ASAP_FETCHER_IDLE ||
	       READ_ONCE(app->files.waiting);
}

/**
 * asap_file_init - prepare a new app's files
 * @app: the app
 */
void asap_file_init(struct asap_app *app)
{
	xa_init_flags(&app->files.by_id, XA_FLAGS_ALLOC);
	hash_init(app->files.by_key);
	INIT_WORK(&app->files.work, file_work_fn);
	init_waitqueue_head(&app->files.fetcher_wait);
	app->files.stop = true;
}

/**
 * asap_file_forget - forget what was learned of files
 * @app: the app
 *
 * Context: Process context, may sleep. app->mutex held, no window open.
 */
void asap_file_forget(struct asap_app *app)
{
	struct asap_files *files = &app->files;
	struct asap_file *file;
	unsigned long id;

	xa_for_each(&files->by_id, id, file)
		file_forget(files, file);
	kvfree(files->table.ent);
	files->table = (struct asap_table) {};
	extents_set(files, &(struct extents) {});
	files->profiled = 0;
	memset(&files->model, 0, sizeof(files->model));
}

/**
 * asap_file_profile_end - end the profile with the windows that it has seen
 * @app: the app
 *
 * With fewer windows than were planned, a candidate needs as many fewer accesses.
 *
 * Context: Process context. app->mutex held, no window open.
 * Return: 0; -EINVAL if no profile is under way; -ENOMEM.
 */
int asap_file_profile_end(struct asap_app *app)
{
	struct asap_files *files = &app->files;
	u32 planned = asap_knob(ASAP_KNOB_PROFILE_SWITCHES);
	struct asap_file *file;
	unsigned long id;

	if (!files->profiled || files->profiled >= planned)
		return -EINVAL;
	if (asap_knob(ASAP_KNOB_POLICY) == ASAP_POLICY_PAPER)
		asap_policy_candidates(&files->table,
				       DIV_ROUND_UP(asap_knob(ASAP_KNOB_PROFILE_MIN_HITS) *
						    files->profiled, planned));
	files->profiled = planned;
	xa_for_each(&files->by_id, id, file)
		file->profiled = planned;
	files_prune(files);
	return extents_build(files);
}

/**
 * asap_file_replace - put a loaded table in the place of what is known of files
 * @app: the app
 * @file: the files; their place in the array is their number in @table. Taken over
 *	on success, and the table with them
 * @nr: how many
 * @table: the table, sorted; &struct asap_ent.state is not set yet
 *
 * Context: Process context, sleeps. app->mutex held.
 * Return: 0; -EBUSY while a window is open or being evaluated; -ENODEV if the app
 * was removed; -ENOMEM. With an error the old table stands.
 */
int asap_file_replace(struct asap_app *app, struct asap_file **file, u32 nr,
		      struct asap_table *table)
{
	struct asap_files *files = &app->files;
	u32 i, planned = asap_knob(ASAP_KNOB_PROFILE_SWITCHES);
	struct extents extents;
	int err;

	err = asap_window_claim(app);
	if (err)
		return err;
	asap_policy_loaded(asap_knob(ASAP_KNOB_POLICY),
			   asap_knob(ASAP_KNOB_PROFILE_MIN_HITS), table);
	/* What can fail comes first. */
	err = extents_make(&extents, table);
	if (err)
		goto release;
	asap_file_forget(app);
	for (i = 0; i < nr; i++) {
		/* The array is empty: numbers are given from 0 on. */
		WARN_ON(xa_alloc(&files->by_id, &file[i]->id, file[i],
				 xa_limit_31b, GFP_KERNEL | __GFP_NOFAIL));
		hash_add(files->by_key, &file[i]->node, key_hash(&file[i]->key));
		file[i]->profiled = planned;
	}
	files->table = *table;
	extents_set(files, &extents);
	files->profiled = planned;
release:
	asap_window_release(app);
	return err;
}

/* Hooks. */

static void log_file(struct mm_struct *mm, struct inode *inode, pgoff_t index,
		     u32 nr, enum asap_slot_kind kind)
{
	unsigned long val;
	u32 n;

	if (index > U32_MAX || nr > U32_MAX - index)
		return;
	rcu_read_lock();
	val = READ_ONCE(mm->asap);
	for (; nr && (val & ASAP_MM_OPEN); index += n, nr -= n) {
		n = min_t(u32, nr, U16_MAX);
		asap_log_append(&asap_mm_member(val)->app->log,
				(struct asap_slot) {
					.key = (unsigned long)inode,
					.index = index,
					.kind = kind,
					.nr = n,
				});
	}
	rcu_read_unlock();
}

void __asap_file_miss(struct mm_struct *mm, struct file *file, pgoff_t index)
{
	log_file(mm, file->f_mapping->host, index, 1, ASAP_SLOT_FILE_MISS);
}

void __asap_file_read(struct mm_struct *mm, struct file *file, loff_t pos,
		      size_t count)
{
	pgoff_t first = pos >> PAGE_SHIFT;

	log_file(mm, file->f_mapping->host, first,
		 ((pos + count - 1) >> PAGE_SHIFT) - first + 1,
		 ASAP_SLOT_FILE_READ);
}

unsigned long __asap_map_begin(pte_t *pte, unsigned long nr)
{
	unsigned long i, absent = 0;

	nr = min_t(unsigned long, nr, BITS_PER_LONG);
	for (i = 0; i < nr; i++)
		absent |= (unsigned long)pte_none(ptep_get(pte + i)) << i;
	return absent;
}

void __asap_map_end(struct vm_fault *vmf, unsigned long addr, unsigned long nr,
		    unsigned long absent)
{
	pte_t *pte = vmf->pte - nr;
	unsigned long i;

	addr -= nr * PAGE_SIZE;
	i = (vmf->address - addr) / PAGE_SIZE;
	if (i < BITS_PER_LONG)
		absent &= ~BIT(i);
	/* What is still absent is not young, and is left alone. */
	for (; absent; absent &= absent - 1) {
		i = __ffs(absent);
		ptep_test_and_clear_young(vmf->vma, addr + i * PAGE_SIZE, pte + i);
	}
}
