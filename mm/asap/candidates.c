// SPDX-License-Identifier: GPL-2.0
/*
 * ASAP: save and load what is known of an app's files.
 *
 * The text and its checks are footprint.c's. Here a table becomes text, for whole
 * runs of pages that have the same history, and text becomes a table: aside, until
 * the last line has been read and was right. Then it replaces the old one at once,
 * from inside the write() that brought that line. Anything else, an open that was
 * never written to its end for one, changes nothing.
 */
#define pr_fmt(fmt) "asap: " fmt

#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "internal.h"

/* A table that is being loaded. */
struct asap_load {
	struct asap_footprint_parser parser;
	struct asap_app *app;
	loff_t pos;		/* where the next write has to begin */
	struct asap_file **file;
	u32 nr_files, max_files;
	struct asap_ent *ent;
	u32 nr_ents, max_ents;
};

static int grow(void **array, u32 need, u32 *max, size_t size)
{
	u32 more = max3(2 * *max, need, 64U);
	void *p;

	if (need <= *max)
		return 0;
	p = kvrealloc(*array, array_size(more, size), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	*array = p;
	*max = more;
	return 0;
}

static int load_file(void *priv, const struct asap_footprint_file *saved)
{
	struct asap_load *load = priv;
	struct asap_file *file;
	int err;

	err = grow((void **)&load->file, load->nr_files + 1, &load->max_files,
		   sizeof(*load->file));
	if (err)
		return err;
	file = kzalloc(sizeof(*file), GFP_KERNEL);
	if (!file)
		return -ENOMEM;
	file->key = saved->id;
	file->pages = saved->pages;
	file->loaded = true;
	if (*saved->path)
		file->path = kstrdup(saved->path, GFP_KERNEL);
	load->file[load->nr_files++] = file;
	return 0;
}

static int load_extent(void *priv, const struct asap_footprint_extent *saved)
{
	struct asap_load *load = priv;
	u64 page;
	int err;

	/* More pages than a table of 1 GiB has entries for are no candidates. */
	if (saved->first + saved->pages > U32_MAX ||
	    load->nr_ents + saved->pages > ASAP_TABLE_MAX)
		return -E2BIG;
	err = grow((void **)&load->ent, load->nr_ents + saved->pages,
		   &load->max_ents, sizeof(*load->ent));
	if (err)
		return err;
	for (page = 0; page < saved->pages; page++)
		load->ent[load->nr_ents++] = (struct asap_ent) {
			/* The file's place in load->file[] is its id to be. */
			.vpn = asap_file_vpn(load->nr_files - 1,
					     saved->first + page),
			.rank = saved->rank,
			.hist = saved->hist,
		};
	return 0;
}

static int load_commit(void *priv)
{
	struct asap_load *load = priv;
	struct asap_table table = {
		.ent = load->ent,
		.nr = load->nr_ents,
	};
	int err;

	asap_table_trim(&table, load->max_ents);
	err = asap_file_replace(load->app, load->file, load->nr_files, &table);
	/* They belong to the app now, unless it did not take them. */
	if (!err)
		load->nr_files = 0;
	load->ent = err ? table.ent : NULL;
	return err;
}

static const struct asap_footprint_ops load_ops = {
	.file = load_file,
	.extent = load_extent,
	.commit = load_commit,
};

/**
 * asap_candidates_load_free - forget a table that was not loaded to its end
 * @load: the table; may be NULL
 *
 * Context: Process context, may sleep.
 */
void asap_candidates_load_free(struct asap_load *load)
{
	u32 i;

	if (!load)
		return;
	for (i = 0; i < load->nr_files; i++) {
		kfree(load->file[i]->path);
		kfree(load->file[i]);
	}
	kvfree(load->file);
	kvfree(load->ent);
	kvfree(load);
}

/**
 * asap_candidates_write - take a piece of a saved table
 * @app: the app
 * @text: the piece
 * @pos: where in the text it is; 0 begins a new table
 * @len: its length, in bytes
 *
 * Context: Process context, sleeps. app->mutex held.
 * Return: 0; an error of asap_footprint_feed() or of asap_file_replace(); -EINVAL
 * for a piece that does not follow the one before; -ENOMEM.
 */
int asap_candidates_write(struct asap_app *app, const char *text, loff_t pos,
			  size_t len)
{
	struct asap_load *load = app->load;
	int err;

	if (!pos) {
		asap_candidates_load_free(load);
		app->load = NULL;
		load = kvzalloc(sizeof(*load), GFP_KERNEL);
		if (!load)
			return -ENOMEM;
		load->app = app;
		asap_footprint_parse(&load->parser, &load_ops, load);
		app->load = load;
	}
	if (!load || pos != load->pos)
		return -EINVAL;
	err = asap_footprint_feed(&load->parser, text, len);
	if (err) {
		pr_warn_ratelimited("%s: candidates, line %u: %s: %pe\n",
				    kobject_name(&app->kobj), load->parser.line,
				    load->parser.why, ERR_PTR(err));
	} else {
		load->pos += len;
		if (!load->parser.done)
			return 0;
	}
	asap_candidates_load_free(load);
	app->load = NULL;
	return err;
}

static int file_cmp(const void *a, const void *b)
{
	const struct asap_file *const *x = a, *const *y = b;

	return asap_file_id_cmp(&(*x)->key, &(*y)->key);
}

/* Text that is being made. */
struct text {
	struct asap_footprint_tally tally;
	char *buf;
	size_t len, size;
};

/* Characters of a line with the longest numbers, but for the path. */
#define LINE_MAX	160

/* Take in what was just written at the end of @text; negative is an errno. */
static int text_add(struct text *text, int len)
{
	if (len < 0)
		return len;
	if (len > text->size - text->len)
		return -EOVERFLOW;
	text->len += len;
	return 0;
}

static int emit_extents(struct text *text, const struct asap_table *table,
			u32 from, u32 end)
{
	u32 n;
	int err = 0;

	for (; from < end && !err; from += n) {
		const struct asap_ent *first = &table->ent[from];
		struct asap_footprint_extent saved = {
			.first = (u32)first->vpn,
			.rank = first->rank,
			.hist = first->hist,
		};

		for (n = 1; from + n < end; n++)
			if (first[n].vpn != first->vpn + n ||
			    first[n].hist != first->hist)
				break;
		saved.pages = n;
		err = text_add(text, asap_footprint_emit_extent(&text->tally,
								text->buf + text->len,
								text->size - text->len,
								&saved));
	}
	return err;
}

static int emit_file(struct text *text, const struct asap_table *table,
		     const struct asap_file *file)
{
	struct asap_footprint_file saved = {
		.id = file->key,
		.pages = file->pages,
		.path = file->path ?: "",
	};
	int err;

	err = text_add(text, asap_footprint_emit_file(&text->tally,
						      text->buf + text->len,
						      text->size - text->len,
						      &saved));
	if (err)
		return err;
	/* Not what lies beyond the end of a file that has shrunk. */
	return emit_extents(text, table,
			    asap_table_find(table, asap_file_vpn(file->id, 0)),
			    asap_table_find(table, asap_file_vpn(file->id,
								 file->pages)));
}

static int emit_table(struct text *text, const struct asap_table *table,
		      struct asap_file **file, u32 nr)
{
	u32 i;
	int err;

	err = text_add(text, asap_footprint_emit_version(&text->tally, text->buf,
							 text->size));
	for (i = 0; i < nr && !err; i++)
		err = emit_file(text, table, file[i]);
	if (err)
		return err;
	return text_add(text, asap_footprint_emit_end(&text->tally,
						      text->buf + text->len,
						      text->size - text->len));
}

/**
 * asap_candidates_text - an app's table as text
 * @app: the app
 * @len: written: length of the text, in bytes
 *
 * Context: Process context, may sleep. app->mutex held.
 * Return: the text, to be given to kvfree(); an error pointer with -ENOMEM, or
 * with -E2BIG for a table that is larger than a saved one may be.
 */
char *asap_candidates_text(struct asap_app *app, size_t *len)
{
	struct asap_files *files = &app->files;
	struct asap_file *pos, **file;
	struct text text = {};
	unsigned long id;
	u32 nr = 0;
	int err = -ENOMEM;

	text.size = 2 * LINE_MAX + (size_t)LINE_MAX * files->table.nr;
	xa_for_each(&files->by_id, id, pos) {
		/* A character of a path may be escaped by four. */
		text.size += LINE_MAX + 4 * (pos->path ? strlen(pos->path) : 0);
		nr++;
	}
	file = kvmalloc_array(nr + 1, sizeof(*file), GFP_KERNEL);
	text.buf = kvmalloc(text.size, GFP_KERNEL);
	if (!file || !text.buf)
		goto out;
	nr = 0;
	xa_for_each(&files->by_id, id, pos)
		file[nr++] = pos;
	sort(file, nr, sizeof(*file), file_cmp, NULL);
	err = emit_table(&text, &files->table, file, nr);
out:
	kvfree(file);
	if (err) {
		kvfree(text.buf);
		return ERR_PTR(err);
	}
	*len = text.len;
	return text.buf;
}
