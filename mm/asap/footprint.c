// SPDX-License-Identifier: GPL-2.0
/*
 * The saved candidate table of an app's files, as text:
 *
 *	asap-candidates 1
 *	file <fs> <ino> <generation> <pages> <path>
 *	extent <first page> <pages> <rank> <history>
 *	...
 *	end <files> <extents> <checksum>
 *
 * <fs> is "uuid:" and 32 hex digits or, for a file system without a UUID,
 * "dev:MAJOR:MINOR". <pages> is the size of the file, by which a file that grew
 * or shrank is told. <path> runs to the end of its line and is a comment for
 * people: nothing is ever opened by it. Its blanks, control characters,
 * backslashes and bytes above 0x7e are written \ooo, in octal, like in
 * /proc/mounts; "-" is an unknown path, and a path that is "-" is \055. <history>
 * is two hex digits, not 00; <checksum> eight, the CRC-32 (IEEE 802.3) of all
 * bytes before the line that it is on. All other fields are decimal.
 *
 * Files ascend by (<fs>, <ino>): those with a UUID come first, by the UUID's
 * bytes, then the others by device number. The extents of a file ascend, do not
 * overlap, and lie within its <pages>; a file may have none. So one record kept
 * is enough to see that nothing comes twice.
 *
 * The text is for programs to write and for people to read, and there is one text
 * for a table: one blank between fields, no sign, no leading zero, lower case,
 * '\n' after the last line too. What the parser takes, the writer gives back to
 * the byte. Both hold a record to the same rules (check_file(), check_extent()),
 * so the writer cannot write what the parser will not take.
 *
 * The text comes through write(), in pieces of any size, and errors must come from
 * write() too, as nobody looks at what close() says. There is no call for the end
 * of the text, therefore: the last line commits, and a text without it did
 * nothing. Bytes are judged one by one as they come, which gives the same answer
 * however they were cut.
 *
 * The errors, beside those of &struct asap_footprint_ops:
 *
 *	-EINVAL			not such a text, or a malformed line
 *	-EPROTONOSUPPORT	a version that we do not know
 *	-EOVERFLOW		a number too big for its field
 *	-EMSGSIZE		a line too long
 *	-ENAMETOOLONG		a path too long
 *	-EEXIST			a file or page twice, or not in order
 *	-ERANGE			an extent that does not lie within its file
 *	-E2BIG			too many files or extents
 *	-EBADMSG		counts or checksum of the last line do not match
 */
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "footprint.h"

#define VERSION		1
#define VERSION_WORD	"asap-candidates "

/* Device numbers as MKDEV() makes them. */
#define MINOR_BITS	20
#define MINOR_MAX	((1U << MINOR_BITS) - 1)
#define MAJOR_MAX	(~0U >> MINOR_BITS)

static bool has_uuid(const struct asap_file_id *id)
{
	unsigned int i;

	for (i = 0; i < sizeof(id->uuid); i++)
		if (id->uuid[i])
			return true;
	return false;
}

/**
 * asap_file_id_cmp - the order of files in a table
 * @a: a file
 * @b: another
 *
 * Generations do not count: of two inodes with one number at most one exists.
 *
 * Return: negative, 0 or positive: @a comes before @b, is it, comes after it.
 */
int asap_file_id_cmp(const struct asap_file_id *a, const struct asap_file_id *b)
{
	bool a_uuid = has_uuid(a), b_uuid = has_uuid(b);
	int cmp;

	if (a_uuid != b_uuid)
		return a_uuid ? -1 : 1;
	if (a_uuid)
		cmp = memcmp(a->uuid, b->uuid, sizeof(a->uuid));
	else
		cmp = (a->dev > b->dev) - (a->dev < b->dev);
	if (cmp)
		return cmp;
	return (a->ino > b->ino) - (a->ino < b->ino);
}

/* The tally, and the rules that it is kept for. */

static void tally_start(struct asap_footprint_tally *tally)
{
	memset(tally, 0, sizeof(*tally));
	tally->crc = ~0U;
}

static void tally_text(struct asap_footprint_tally *tally, const char *text,
		       size_t len)
{
	tally->crc = crc32_le(tally->crc, (const unsigned char *)text, len);
}

static u32 tally_checksum(const struct asap_footprint_tally *tally)
{
	return tally->crc ^ ~0U;
}

static void tally_file(struct asap_footprint_tally *tally,
		       const struct asap_footprint_file *file)
{
	tally->files++;
	tally->id = file->id;
	tally->pages = file->pages;
	tally->next = 0;
}

static void tally_extent(struct asap_footprint_tally *tally,
			 const struct asap_footprint_extent *extent)
{
	tally->extents++;
	tally->next = extent->first + extent->pages;
}

static int check_file(const struct asap_footprint_tally *tally,
		      const struct asap_footprint_file *file, const char **why)
{
	int cmp = tally->files ? asap_file_id_cmp(&tally->id, &file->id) : -1;

	if (tally->files >= ASAP_FOOTPRINT_MAX_FILES) {
		*why = "too many files";
		return -E2BIG;
	}
	if (cmp >= 0) {
		*why = cmp ? "files out of order" : "file twice";
		return -EEXIST;
	}
	return 0;
}

static int check_extent(const struct asap_footprint_tally *tally,
			const struct asap_footprint_extent *extent,
			const char **why)
{
	if (!tally->files) {
		*why = "extent without a file";
		return -EINVAL;
	}
	if (tally->extents >= ASAP_FOOTPRINT_MAX_EXTENTS) {
		*why = "too many extents";
		return -E2BIG;
	}
	if (!extent->pages) {
		*why = "empty extent";
		return -EINVAL;
	}
	if (!extent->hist) {
		*why = "extent without history";
		return -EINVAL;
	}
	if (extent->first < tally->next) {
		*why = "extents overlap or are out of order";
		return -EEXIST;
	}
	if (extent->first >= tally->pages ||
	    extent->pages > tally->pages - extent->first) {
		*why = "extent beyond the end of its file";
		return -ERANGE;
	}
	return 0;
}

/* A byte that a path holds as it is; any other is escaped. */
static bool is_plain(unsigned char c)
{
	return c > ' ' && c <= '~' && c != '\\';
}

/*
 * Fields. Each function below takes one from the front of @at, which ends in NUL,
 * or says what is wrong.
 */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool skip(char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len))
		return false;
	*at += len;
	return true;
}

static int take_blank(char **at, const char **why)
{
	if (skip(at, " "))
		return 0;
	*why = "malformed or missing field";
	return -EINVAL;
}

static int take_end(char **at, const char **why)
{
	if (!**at)
		return 0;
	*why = "text after the last field";
	return -EINVAL;
}

static int take_number(char **at, u64 max, u64 *value, const char **why)
{
	char *s = *at;
	u64 v = 0;

	if (!is_digit(*s) || (*s == '0' && is_digit(s[1]))) {
		*why = "not a plain decimal number";
		return -EINVAL;
	}
	for (; is_digit(*s); s++) {
		unsigned int digit = *s - '0';

		if (v > (max - digit) / 10) {
			*why = "number too big";
			return -EOVERFLOW;
		}
		v = v * 10 + digit;
	}
	*at = s;
	*value = v;
	return 0;
}

/* At most eight digits. */
static int take_hex(char **at, unsigned int digits, u32 *value, const char **why)
{
	u32 v = 0;

	for (; digits; digits--) {
		char c = **at;

		if (is_digit(c)) {
			v = v << 4 | (c - '0');
		} else if (c >= 'a' && c <= 'f') {
			v = v << 4 | (c - 'a' + 10);
		} else {
			*why = "malformed hex number";
			return -EINVAL;
		}
		++*at;
	}
	*value = v;
	return 0;
}

static int take_uuid(char **at, struct asap_file_id *id, const char **why)
{
	unsigned int i;
	u32 byte;
	int err;

	for (i = 0; i < sizeof(id->uuid); i++) {
		err = take_hex(at, 2, &byte, why);
		if (err)
			return err;
		id->uuid[i] = byte;
	}
	if (!has_uuid(id)) {
		*why = "UUID is all zeroes";
		return -EINVAL;
	}
	return 0;
}

static int take_dev(char **at, struct asap_file_id *id, const char **why)
{
	u64 major, minor;
	int err;

	err = take_number(at, MAJOR_MAX, &major, why);
	if (err)
		return err;
	if (!skip(at, ":")) {
		*why = "malformed device number";
		return -EINVAL;
	}
	err = take_number(at, MINOR_MAX, &minor, why);
	id->dev = major << MINOR_BITS | minor;
	return err;
}

static int take_fs(char **at, struct asap_file_id *id, const char **why)
{
	if (skip(at, "uuid:"))
		return take_uuid(at, id, why);
	if (skip(at, "dev:"))
		return take_dev(at, id, why);
	*why = "file system is neither uuid: nor dev:";
	return -EINVAL;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* The byte that an escape stands for, 0 if it is none that the writer makes. */
static unsigned char unescape(const char *s)
{
	unsigned int c;

	if (s[0] != '\\' || s[1] < '0' || s[1] > '3' || !is_octal(s[2]) ||
	    !is_octal(s[3]))
		return 0;
	c = (s[1] - '0') << 6 | (s[2] - '0') << 3 | (s[3] - '0');
	return is_plain(c) ? 0 : c;
}

/* Takes the escapes out in place; what is left is shorter. */
static int take_path(char **at, const char **path, const char **why)
{
	char *from = *at, *to = *at;

	*path = *at;
	*at += strlen(*at);
	if (*at - from > ASAP_FOOTPRINT_PATH_MAX) {
		*why = "path too long";
		return -ENAMETOOLONG;
	}
	if (!*from) {
		*why = "path missing";
		return -EINVAL;
	}
	if (!strcmp(from, "-")) {
		*path = "";
		return 0;
	}
	if (!strcmp(from, "\\055")) {
		*path = "-";
		return 0;
	}
	while (*from) {
		unsigned char c = *from;

		if (is_plain(c)) {
			from++;
		} else {
			c = unescape(from);
			if (!c) {
				*why = "malformed path";
				return -EINVAL;
			}
			from += 4;
		}
		*to++ = c;
	}
	*to = '\0';
	return 0;
}

/* A whole line, after its first word. */

static int take_file(char *at, struct asap_footprint_file *file, const char **why)
{
	u64 generation;
	int err;

	memset(file, 0, sizeof(*file));
	err = take_fs(&at, &file->id, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_number(&at, ~0ULL, &file->id.ino, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_number(&at, ~0U, &generation, why);
	if (err)
		return err;
	file->id.generation = generation;
	err = take_blank(&at, why);
	if (!err)
		err = take_number(&at, ~0ULL, &file->pages, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_path(&at, &file->path, why);
	return err;
}

static int take_extent(char *at, struct asap_footprint_extent *extent,
		       const char **why)
{
	u64 rank;
	u32 hist;
	int err;

	err = take_number(&at, ~0ULL, &extent->first, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_number(&at, ~0ULL, &extent->pages, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_number(&at, (u16)~0U, &rank, why);
	if (!err)
		err = take_blank(&at, why);
	if (!err)
		err = take_hex(&at, 2, &hist, why);
	if (err)
		return err;
	extent->rank = rank;
	extent->hist = hist;
	return take_end(&at, why);
}

static int read_version(char *at, const char **why)
{
	u64 version;
	int err;

	if (!skip(&at, VERSION_WORD)) {
		*why = "not a candidate table";
		return -EINVAL;
	}
	err = take_number(&at, ~0ULL, &version, why);
	if (!err)
		err = take_end(&at, why);
	if (err)
		return err;
	if (version != VERSION) {
		*why = "unknown version";
		return -EPROTONOSUPPORT;
	}
	return 0;
}

static int read_file(struct asap_footprint_parser *parser, char *at)
{
	struct asap_footprint_file file;
	int err;

	err = take_file(at, &file, &parser->why);
	if (!err)
		err = check_file(&parser->tally, &file, &parser->why);
	if (err)
		return err;
	err = parser->ops->file(parser->priv, &file);
	if (err)
		parser->why = "file was not taken";
	else
		tally_file(&parser->tally, &file);
	return err;
}

static int read_extent(struct asap_footprint_parser *parser, char *at)
{
	struct asap_footprint_extent extent;
	int err;

	err = take_extent(at, &extent, &parser->why);
	if (!err)
		err = check_extent(&parser->tally, &extent, &parser->why);
	if (err)
		return err;
	err = parser->ops->extent(parser->priv, &extent);
	if (err)
		parser->why = "extent was not taken";
	else
		tally_extent(&parser->tally, &extent);
	return err;
}

static int read_end(struct asap_footprint_parser *parser, char *at)
{
	u64 files, extents;
	u32 checksum;
	int err;

	err = take_number(&at, ~0U, &files, &parser->why);
	if (!err)
		err = take_blank(&at, &parser->why);
	if (!err)
		err = take_number(&at, ~0U, &extents, &parser->why);
	if (!err)
		err = take_blank(&at, &parser->why);
	if (!err)
		err = take_hex(&at, 8, &checksum, &parser->why);
	if (!err)
		err = take_end(&at, &parser->why);
	if (err)
		return err;
	if (files != parser->tally.files || extents != parser->tally.extents) {
		parser->why = "files or extents are missing or too many";
		return -EBADMSG;
	}
	if (checksum != tally_checksum(&parser->tally)) {
		parser->why = "checksum does not match";
		return -EBADMSG;
	}
	parser->done = true;
	return 0;
}

/* A line is complete in @parser->buf, without its '\n'. */
static int read_line(struct asap_footprint_parser *parser)
{
	char *at = parser->buf;
	int err;

	if (parser->line > 1 && skip(&at, "end "))
		return read_end(parser, at);

	/* Before a path loses its escapes. */
	at[parser->len] = '\n';
	tally_text(&parser->tally, at, parser->len + 1);
	at[parser->len] = '\0';

	if (parser->line == 1) {
		err = read_version(at, &parser->why);
	} else if (skip(&at, "file ")) {
		err = read_file(parser, at);
	} else if (skip(&at, "extent ")) {
		err = read_extent(parser, at);
	} else {
		parser->why = "neither file nor extent nor end";
		err = -EINVAL;
	}
	return err;
}

static int read_byte(struct asap_footprint_parser *parser, char c)
{
	int err;

	if (!parser->len)
		parser->line++;
	if (parser->done) {
		parser->why = "text after the last line";
		return -EINVAL;
	}
	if (c == '\n') {
		parser->buf[parser->len] = '\0';
		err = read_line(parser);
		parser->len = 0;
		return err;
	}
	if (c < ' ' || c > '~') {
		parser->why = "not plain text";
		return -EINVAL;
	}
	if (parser->len == ASAP_FOOTPRINT_LINE_MAX - 1) {
		parser->why = "line too long";
		return -EMSGSIZE;
	}
	parser->buf[parser->len++] = c;
	return 0;
}

/**
 * asap_footprint_parse - begin to read a table
 * @parser: set up anew, whatever it was
 * @ops: who takes it
 * @priv: passed to @ops
 */
void asap_footprint_parse(struct asap_footprint_parser *parser,
			  const struct asap_footprint_ops *ops, void *priv)
{
	memset(parser, 0, sizeof(*parser));
	parser->ops = ops;
	parser->priv = priv;
	tally_start(&parser->tally);
}

/**
 * asap_footprint_feed - read the next piece of a table
 * @parser: set up by asap_footprint_parse()
 * @text: the piece, cut anywhere; need not end in NUL
 * @len: its length
 *
 * The table is committed once the piece with its last line was read to the end,
 * so that a piece with anything behind that line commits nothing. What comes in
 * a later piece is an error as well, but cannot take the commit back.
 *
 * Return: 0, or a negative errno, then and for ever: the table is not to be used
 * unless it was committed. @parser->line and @parser->why tell where and what.
 */
int asap_footprint_feed(struct asap_footprint_parser *parser, const char *text,
			size_t len)
{
	bool was_done = parser->done;
	size_t i;

	for (i = 0; i < len && !parser->error; i++)
		parser->error = read_byte(parser, text[i]);
	if (!parser->error && parser->done && !was_done) {
		parser->error = parser->ops->commit(parser->priv);
		if (parser->error)
			parser->why = "table was not taken";
	}
	return parser->error;
}

/*
 * The writer. Text is measured even where there is no room for it, so that one
 * call tells how much a record needs.
 */
struct out {
	char *buf;
	size_t size;
	size_t len;
};

static void put_char(struct out *out, char c)
{
	if (out->len < out->size)
		out->buf[out->len] = c;
	out->len++;
}

static void put_text(struct out *out, const char *text)
{
	while (*text)
		put_char(out, *text++);
}

static void put_number(struct out *out, u64 value)
{
	char digit[20];
	unsigned int n = 0;

	do {
		digit[n++] = '0' + value % 10;
		value /= 10;
	} while (value);
	while (n)
		put_char(out, digit[--n]);
}

static void put_hex(struct out *out, u32 value, unsigned int digits)
{
	while (digits)
		put_char(out, "0123456789abcdef"[value >> (4 * --digits) & 15]);
}

static void put_fs(struct out *out, const struct asap_file_id *id)
{
	unsigned int i;

	if (has_uuid(id)) {
		put_text(out, "uuid:");
		for (i = 0; i < sizeof(id->uuid); i++)
			put_hex(out, id->uuid[i], 2);
	} else {
		put_text(out, "dev:");
		put_number(out, id->dev >> MINOR_BITS);
		put_char(out, ':');
		put_number(out, id->dev & MINOR_MAX);
	}
}

static void put_escaped(struct out *out, const char *path)
{
	for (; *path; path++) {
		unsigned char c = *path;

		if (is_plain(c)) {
			put_char(out, c);
		} else {
			put_char(out, '\\');
			put_char(out, '0' + (c >> 6));
			put_char(out, '0' + (c >> 3 & 7));
			put_char(out, '0' + (c & 7));
		}
	}
}

static void put_path(struct out *out, const char *path)
{
	struct out measure = {};

	put_escaped(&measure, path);
	if (!measure.len || measure.len > ASAP_FOOTPRINT_PATH_MAX)
		put_char(out, '-');
	else if (!strcmp(path, "-"))
		put_text(out, "\\055");
	else
		put_escaped(out, path);
}

/**
 * asap_footprint_emit_version - begin to write a table
 * @tally: set up anew, whatever it was
 * @buf: where to
 * @size: room there
 *
 * Return: the length of the text, which does not end in NUL. If that is more
 * than @size, @buf is of no use: call again with more room.
 */
int asap_footprint_emit_version(struct asap_footprint_tally *tally, char *buf,
				size_t size)
{
	struct out out = { .buf = buf, .size = size };

	put_text(&out, VERSION_WORD);
	put_number(&out, VERSION);
	put_char(&out, '\n');
	tally_start(tally);
	if (out.len <= size)
		tally_text(tally, buf, out.len);
	return out.len;
}

/**
 * asap_footprint_emit_file - write a file's line
 * @tally: of this table
 * @buf: where to
 * @size: room there; %ASAP_FOOTPRINT_LINE_MAX is always enough
 * @file: the file; it comes after the last one, by asap_file_id_cmp()
 *
 * A path that escapes make longer than %ASAP_FOOTPRINT_PATH_MAX is left out.
 *
 * Return: the length of the text, which does not end in NUL. If that is more
 * than @size, @buf is of no use and nothing was counted: call again with more
 * room. A negative errno, as in the parser, for what has no place in a table.
 */
int asap_footprint_emit_file(struct asap_footprint_tally *tally, char *buf,
			     size_t size, const struct asap_footprint_file *file)
{
	struct out out = { .buf = buf, .size = size };
	const char *why;
	int err;

	err = check_file(tally, file, &why);
	if (err)
		return err;
	put_text(&out, "file ");
	put_fs(&out, &file->id);
	put_char(&out, ' ');
	put_number(&out, file->id.ino);
	put_char(&out, ' ');
	put_number(&out, file->id.generation);
	put_char(&out, ' ');
	put_number(&out, file->pages);
	put_char(&out, ' ');
	put_path(&out, file->path);
	put_char(&out, '\n');
	if (out.len <= size) {
		tally_text(tally, buf, out.len);
		tally_file(tally, file);
	}
	return out.len;
}

/**
 * asap_footprint_emit_extent - write an extent of the last file
 * @tally: of this table
 * @buf: where to
 * @size: room there
 * @extent: the extent; it begins where the last one ends, or later
 *
 * Return: as asap_footprint_emit_file().
 */
int asap_footprint_emit_extent(struct asap_footprint_tally *tally, char *buf,
			       size_t size,
			       const struct asap_footprint_extent *extent)
{
	struct out out = { .buf = buf, .size = size };
	const char *why;
	int err;

	err = check_extent(tally, extent, &why);
	if (err)
		return err;
	put_text(&out, "extent ");
	put_number(&out, extent->first);
	put_char(&out, ' ');
	put_number(&out, extent->pages);
	put_char(&out, ' ');
	put_number(&out, extent->rank);
	put_char(&out, ' ');
	put_hex(&out, extent->hist, 2);
	put_char(&out, '\n');
	if (out.len <= size) {
		tally_text(tally, buf, out.len);
		tally_extent(tally, extent);
	}
	return out.len;
}

/**
 * asap_footprint_emit_end - write the last line
 * @tally: of this table
 * @buf: where to
 * @size: room there
 *
 * Return: as asap_footprint_emit_version().
 */
int asap_footprint_emit_end(const struct asap_footprint_tally *tally, char *buf,
			    size_t size)
{
	struct out out = { .buf = buf, .size = size };

	put_text(&out, "end ");
	put_number(&out, tally->files);
	put_char(&out, ' ');
	put_number(&out, tally->extents);
	put_char(&out, ' ');
	put_hex(&out, tally_checksum(tally), 8);
	put_char(&out, '\n');
	return out.len;
}
