// SPDX-License-Identifier: GPL-2.0
/*
 * Fuzz the saved candidate table. The input is read three times: as a text; as a
 * text whose last line is made right, so that the checksum does not hide what is
 * behind it; and as a recipe for a table and for damage to its text. Whatever is
 * taken must come out again as the same text.
 */
#include <string.h>

#include "saved.h"

struct input {
	const unsigned char *at;
	size_t left;
};

static unsigned int take(struct input *in)
{
	if (!in->left)
		return 0;
	in->left--;
	return *in->at++;
}

/* Mostly small, now and then any 64 bits or close to the end of them. */
static u64 take_u64(struct input *in)
{
	unsigned int i, kind = take(in);
	u64 value = 0;

	if (kind < 0xc0)
		return kind;
	for (i = 0; i < 8; i++)
		value = value << 8 | take(in);
	return kind < 0xe0 ? value : ~(value & 0xff);
}

static void make_file(struct input *in, struct saved *saved)
{
	struct asap_footprint_file file = {};
	char path[64];
	unsigned int i, n = take(in);

	if (n & 1)
		file.id.uuid[n >> 4] = 1 + (n >> 1) % 8;
	else
		file.id.dev = take_u64(in);
	file.id.ino = take_u64(in);
	file.id.generation = take_u64(in);
	file.pages = take_u64(in);
	n = take(in) % sizeof(path);
	for (i = 0; i < n; i++)
		path[i] = take(in);
	path[n] = '\0';
	file.path = path;
	if (!saved->nr_files ||
	    asap_file_id_cmp(&saved->file[saved->nr_files - 1].id, &file.id) < 0)
		saved_file(saved, &file);
}

static void make_extent(struct input *in, struct saved *saved, u64 *next)
{
	u64 size = saved->file[saved->nr_files - 1].pages;
	struct asap_footprint_extent extent;
	u64 skip = take_u64(in);

	if (*next >= size || skip >= size - *next)
		return;
	extent.first = *next + skip;
	extent.pages = take_u64(in) % (size - extent.first);
	extent.pages++;
	extent.rank = take_u64(in);
	extent.hist = take(in);
	if (!extent.hist)
		extent.hist = 1;
	saved_extent(saved, &extent);
	*next = extent.first + extent.pages;
}

static void make_table(struct input *in, struct saved *saved)
{
	u64 next = 0;
	unsigned int n;

	for (n = take(in) % 32; n; n--) {
		u32 files = saved->nr_files;

		if (files && take(in) % 4)
			make_extent(in, saved, &next);
		else
			make_file(in, saved);
		if (saved->nr_files != files)
			next = 0;
	}
}

/* Change, insert, remove, repeat: a few bytes, or a line's worth of them. */
static size_t damage(struct input *in, char *text, size_t len, size_t room)
{
	static const char tokens[] = "0123456789\n \\-:af\r\0\xff";
	unsigned int n;

	for (n = 1 + take(in) % 4; n && len; n--) {
		size_t at = (take(in) << 8 | take(in)) % len;
		size_t some = 1 + take(in) % 48;
		char c = tokens[take(in) % sizeof(tokens)];

		if (some > len - at)
			some = len - at;
		switch (take(in) % 4) {
		case 0:
			text[at] = c;
			break;
		case 1:
			if (len == room)
				break;
			memmove(text + at + 1, text + at, len - at);
			text[at] = c;
			len++;
			break;
		case 2:
			memmove(text + at, text + at + some, len - at - some);
			len -= some;
			break;
		case 3:
			if (some > room - len)
				break;
			memmove(text + at + some, text + at, len - at);
			len += some;
			break;
		}
	}
	return len;
}

static void fuzz_recipe(struct input *in, struct cut cut)
{
	static struct asap_footprint_parser parser;
	struct saved saved = {}, got = {};
	size_t len, room;
	char *text;

	make_table(in, &saved);
	text = save(&saved, &len);
	CHECK(!load(&parser, &got, text, len, cut));
	CHECK(got.commits == 1 && saved_equal(&got, &saved));
	saved_free(&got);
	saved_free(&saved);

	room = len + 256;
	text = realloc(text, room + 64);
	CHECK(text);
	len = damage(in, text, len, room);
	check_text(text, len, cut);
	len = sign(text, len);
	check_text(text, len, cut);
	free(text);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct input in = { data, size };
	/* Cut by the length, so that a seed is nothing but a text. */
	struct cut cut = { 1 + size % 97, 1 + size };
	char *text = malloc(size + 64);

	CHECK(text);
	memcpy(text, data, size);
	check_text(text, size, cut);
	size = sign(text, size);
	check_text(text, size, cut);
	free(text);
	fuzz_recipe(&in, cut);
	return 0;
}
