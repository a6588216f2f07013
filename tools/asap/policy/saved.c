// SPDX-License-Identifier: GPL-2.0
#include <string.h>

#include <linux/crc32.h>
#include <linux/errno.h>

#include "saved.h"

/* Room for one more, doubled when the number is a power of two. */
static void *grow(void *array, u32 nr, size_t size)
{
	if (!(nr & (nr - 1))) {
		array = realloc(array, (nr ? 2 * nr : 1) * size);
		CHECK(array);
	}
	return array;
}

void saved_file(struct saved *saved, const struct asap_footprint_file *file)
{
	u32 n = saved->nr_files;

	saved->file = grow(saved->file, n, sizeof(*saved->file));
	saved->file[n] = *file;
	saved->file[n].path = strdup(file->path);
	CHECK(saved->file[n].path);
	saved->nr_files++;
}

void saved_extent(struct saved *saved,
		  const struct asap_footprint_extent *extent)
{
	u32 n = saved->nr_extents;

	CHECK(saved->nr_files);
	saved->extent = grow(saved->extent, n, sizeof(*saved->extent));
	saved->owner = grow(saved->owner, n, sizeof(*saved->owner));
	saved->extent[n] = *extent;
	saved->owner[n] = saved->nr_files - 1;
	saved->nr_extents++;
}

void saved_free(struct saved *saved)
{
	u32 i;

	for (i = 0; i < saved->nr_files; i++)
		free((void *)saved->file[i].path);
	free(saved->file);
	free(saved->extent);
	free(saved->owner);
	memset(saved, 0, sizeof(*saved));
}

int saved_equal(const struct saved *a, const struct saved *b)
{
	u32 i;

	if (a->nr_files != b->nr_files || a->nr_extents != b->nr_extents)
		return 0;
	for (i = 0; i < a->nr_files; i++)
		if (asap_file_id_cmp(&a->file[i].id, &b->file[i].id) ||
		    a->file[i].id.generation != b->file[i].id.generation ||
		    a->file[i].pages != b->file[i].pages ||
		    strcmp(a->file[i].path, b->file[i].path))
			return 0;
	for (i = 0; i < a->nr_extents; i++)
		if (a->owner[i] != b->owner[i] ||
		    a->extent[i].first != b->extent[i].first ||
		    a->extent[i].pages != b->extent[i].pages ||
		    a->extent[i].rank != b->extent[i].rank ||
		    a->extent[i].hist != b->extent[i].hist)
			return 0;
	return 1;
}

/* In order, nothing twice, nothing empty. */
static void check_saved(const struct saved *saved)
{
	u32 i;

	for (i = 1; i < saved->nr_files; i++)
		CHECK(asap_file_id_cmp(&saved->file[i - 1].id,
				       &saved->file[i].id) < 0);
	for (i = 0; i < saved->nr_extents; i++) {
		const struct asap_footprint_extent *ext = &saved->extent[i];
		u64 last = ext->first + (ext->pages - 1);

		CHECK(ext->pages && ext->hist);
		CHECK(last >= ext->first);
		CHECK(last < saved->file[saved->owner[i]].pages);
		if (i && saved->owner[i - 1] == saved->owner[i])
			CHECK(ext[-1].first + (ext[-1].pages - 1) < ext->first);
	}
}

static int refused(const struct saved *saved)
{
	u32 records = saved->nr_files + saved->nr_extents + saved->commits;

	return records + 1 == saved->refuse;
}

static int on_file(void *priv, const struct asap_footprint_file *file)
{
	if (refused(priv))
		return ((struct saved *)priv)->refusal;
	saved_file(priv, file);
	return 0;
}

static int on_extent(void *priv, const struct asap_footprint_extent *extent)
{
	if (refused(priv))
		return ((struct saved *)priv)->refusal;
	saved_extent(priv, extent);
	return 0;
}

static int on_commit(void *priv)
{
	struct saved *saved = priv;

	if (refused(saved))
		return saved->refusal;
	saved->commits++;
	return 0;
}

static const struct asap_footprint_ops ops = {
	.file = on_file,
	.extent = on_extent,
	.commit = on_commit,
};

int load(struct asap_footprint_parser *parser, struct saved *saved,
	 const char *text, size_t len, struct cut cut)
{
	size_t at = 0;
	int err = 0;

	asap_footprint_parse(parser, &ops, saved);
	while (at < len) {
		size_t n = cut.size;
		int was = err;
		char *piece;

		if (cut.vary) {
			cut.vary = cut.vary * 1664525 + 1013904223;
			n = 1 + (cut.vary >> 8) % cut.size;
		}
		if (n > len - at)
			n = len - at;
		/* A copy, so that ASan sees a byte read too many. */
		piece = malloc(n);
		CHECK(piece);
		memcpy(piece, text + at, n);
		err = asap_footprint_feed(parser, piece, n);
		free(piece);
		at += n;
		CHECK(err <= 0 && err == parser->error);
		CHECK(!err == !parser->why);
		CHECK(!was || err == was);
	}
	CHECK(asap_footprint_feed(parser, NULL, 0) == err);
	CHECK(saved->commits <= 1);
	return err;
}

/* A text that grows. */
struct text {
	char *buf;
	size_t len;
	size_t room;
};

static void append(struct text *text, const char *more, size_t len)
{
	if (text->len + len > text->room) {
		text->room = 2 * text->room + len;
		text->buf = realloc(text->buf, text->room);
		CHECK(text->buf);
	}
	memcpy(text->buf + text->len, more, len);
	text->len += len;
}

enum record { VERSION, FILE_LINE, EXTENT, END };

static int emit(struct asap_footprint_tally *tally, char *buf, size_t size,
		enum record record, const void *what)
{
	switch (record) {
	case VERSION:
		return asap_footprint_emit_version(tally, buf, size);
	case FILE_LINE:
		return asap_footprint_emit_file(tally, buf, size, what);
	case EXTENT:
		return asap_footprint_emit_extent(tally, buf, size, what);
	default:
		return asap_footprint_emit_end(tally, buf, size);
	}
}

/* Write without room, with one byte too few, with enough: only the last counts. */
static void append_record(struct text *text, struct asap_footprint_tally *tally,
			  enum record record, const void *what)
{
	struct asap_footprint_tally before = *tally;
	int need = emit(tally, NULL, 0, record, what);
	char *at;

	CHECK(need > 0 && need <= ASAP_FOOTPRINT_LINE_MAX);
	at = malloc(need);
	CHECK(at);
	CHECK(emit(tally, at, need - 1, record, what) == need);
	CHECK(before.files == tally->files && before.crc == tally->crc &&
	      before.extents == tally->extents && before.next == tally->next);
	CHECK(emit(tally, at, need, record, what) == need);
	append(text, at, need);
	free(at);
}

char *save(const struct saved *saved, size_t *len)
{
	struct asap_footprint_tally tally = { .crc = ~0U };
	struct text text = {};
	u32 i, e = 0;

	append_record(&text, &tally, VERSION, NULL);
	for (i = 0; i < saved->nr_files; i++) {
		append_record(&text, &tally, FILE_LINE, &saved->file[i]);
		for (; e < saved->nr_extents && saved->owner[e] == i; e++)
			append_record(&text, &tally, EXTENT, &saved->extent[e]);
	}
	append_record(&text, &tally, END, NULL);
	*len = text.len;
	return text.buf;
}

size_t sign(char *text, size_t len)
{
	unsigned int files = 0, extents = 0;
	size_t i, last = 0, line = 0;

	/* What begins with "end" on the last line, whole or not, goes. */
	for (i = 0; i + 1 < len; i++)
		if (text[i] == '\n')
			last = i + 1;
	if (len - last >= 3 && !memcmp(text + last, "end", 3))
		len = last;
	for (i = 0; i < len; i++) {
		if (text[i] != '\n')
			continue;
		files += i - line > 5 && !memcmp(text + line, "file ", 5);
		extents += i - line > 7 && !memcmp(text + line, "extent ", 7);
		line = i + 1;
	}
	return len + sprintf(text + len, "end %u %u %08x\n", files, extents,
			     ~crc32_le(~0U, (unsigned char *)text, len));
}

int check_text(const char *text, size_t len, struct cut cut)
{
	static struct asap_footprint_parser parser;
	struct saved saved = {};
	int err = load(&parser, &saved, text, len, cut);

	check_saved(&saved);
	CHECK(err || saved.commits == parser.done);
	if (!err && saved.commits) {
		size_t again_len;
		char *again = save(&saved, &again_len);

		CHECK(again_len == len && !memcmp(again, text, len));
		free(again);
	}
	saved_free(&saved);
	return err;
}
