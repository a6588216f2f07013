// SPDX-License-Identifier: GPL-2.0
/*
 * The saved candidate table: what is written, what is read, and what is refused.
 * TAP on standard output.
 */
#include <string.h>

#include <linux/crc32.h>
#include <linux/errno.h>

#include "saved.h"

static unsigned int tests, failed;

static void ok(int cond, const char *what)
{
	printf("%sok %u - %s\n", cond ? "" : "not ", ++tests, what);
	failed += !cond;
}

#define UUID	"uuid:0123456789abcdef0123456789abcdef"
#define HEAD	"asap-candidates 1\n"
#define FILE1	"file dev:8:1 5 0 100 /a\n"
#define BLANK	" "
#define EXTENT	"extent 10 5 0 ff\n"

/* A table with something of everything; its last line was made by zlib. */
static const char sample[] =
	HEAD
	"file " UUID " 42 3735928559 1000 /usr/lib/libc.so.6\n"
	"extent 0 1 0 ff\n"
	"extent 1 16 7 83\n"
	"extent 999 1 65535 01\n"
	"file " UUID " 43 0 0 -\n"
	"file dev:254:17 7 1 512 /data/a\\040b\\134c\\303\\274\\012\n"
	"extent 0 512 300 0f\n"
	"end 3 4 0ac73735\n";

#define SAMPLE_LEN	(sizeof(sample) - 1)

static struct asap_footprint_parser parser;

static const struct cut cuts[] = {
	{ 1, 0 }, { 2, 0 }, { 3, 0 }, { 7, 0 }, { 64, 1 }, { 4096, 0 },
	{ 1 << 20, 0 },
};

#define NR_CUTS	(sizeof(cuts) / sizeof(*cuts))

static void test_crc(void)
{
	const unsigned char *digits = (const unsigned char *)"123456789";

	ok((crc32_le(~0U, digits, 9) ^ ~0U) == 0xcbf43926,
	   "crc: the check value of CRC-32");
}

static struct saved sample_table(void)
{
	struct saved t = {};
	struct asap_footprint_file file = {
		.id = { .ino = 42, .generation = 0xdeadbeef },
		.pages = 1000,
		.path = "/usr/lib/libc.so.6",
	};
	unsigned int i;

	for (i = 0; i < 16; i++)
		file.id.uuid[i] = 0x11 * (2 * i % 16) + 1;
	saved_file(&t, &file);
	saved_extent(&t, &(struct asap_footprint_extent) { 0, 1, 0, 0xff });
	saved_extent(&t, &(struct asap_footprint_extent) { 1, 16, 7, 0x83 });
	saved_extent(&t, &(struct asap_footprint_extent) { 999, 1, 65535, 1 });
	file.id.ino = 43;
	file.id.generation = 0;
	file.pages = 0;
	file.path = "";
	saved_file(&t, &file);
	file = (struct asap_footprint_file) {
		.id = { .dev = 254 << 20 | 17, .ino = 7, .generation = 1 },
		.pages = 512,
		.path = "/data/a b\\c\xc3\xbc\n",
	};
	saved_file(&t, &file);
	saved_extent(&t, &(struct asap_footprint_extent) { 0, 512, 300, 0x0f });
	return t;
}

static void test_sample(void)
{
	struct saved want = sample_table(), got = {};
	unsigned int i, same = 0;
	size_t len;
	char *text;

	text = save(&want, &len);
	ok(len == SAMPLE_LEN && !memcmp(text, sample, len),
	   "sample: written as it should be");
	free(text);
	for (i = 0; i < NR_CUTS; i++) {
		same += !load(&parser, &got, sample, SAMPLE_LEN, cuts[i]) &&
			got.commits == 1 && parser.line == 9 &&
			saved_equal(&got, &want);
		saved_free(&got);
	}
	ok(same == NR_CUTS, "sample: read the same in pieces of any size");
	ok(!check_text(sample, SAMPLE_LEN, cuts[0]),
	   "sample: written again, the text is the same");
	ok(!check_text(HEAD "end 0 0 46a9abca\n", 35, cuts[0]),
	   "a table without files is a table");
	saved_free(&want);
}

/* Every text that ends early, or has one byte wrong, leaves things as they are. */
static void test_damage(void)
{
	struct saved got = {};
	unsigned int i, c, commits = 0, early = 0;
	char text[SAMPLE_LEN];

	for (i = 0; i < SAMPLE_LEN; i++) {
		early += !!load(&parser, &got, sample, i, cuts[5]);
		commits += got.commits;
		saved_free(&got);
	}
	ok(!commits, "damage: cut off anywhere, it never commits");
	ok(!early, "damage: a text that may go on is no error");

	commits = 0;
	memcpy(text, sample, SAMPLE_LEN);
	for (i = 0; i < SAMPLE_LEN; i++) {
		for (c = 0; c < 256; c++) {
			text[i] = c;
			if (text[i] == sample[i])
				continue;
			load(&parser, &got, text, SAMPLE_LEN, cuts[6]);
			commits += got.commits;
			saved_free(&got);
		}
		text[i] = sample[i];
	}
	ok(!commits, "damage: with any byte changed, it never commits");

	commits = 0;
	for (i = 0; i < SAMPLE_LEN; i++) {
		memcpy(text, sample, i);
		memcpy(text + i, sample + i + 1, SAMPLE_LEN - i - 1);
		load(&parser, &got, text, SAMPLE_LEN - 1, cuts[6]);
		commits += got.commits;
		saved_free(&got);
	}
	ok(!commits, "damage: with any byte missing, it never commits");
}

/*
 * What is wrong, in which line, and which errno that gives. A text without a
 * last line gets the right one.
 */
static const struct {
	const char *what;
	const char *text;
	int error;
	u32 line;
	const char *why;
} bad[] = {
	{ "another text", "hello\n", -EINVAL, 1, "not a candidate table" },
	{ "an empty first line", "\n", -EINVAL, 1, "not a candidate table" },
	{ "an end without a beginning", "end 0 0 00000000\n", -EINVAL, 1,
	  "not a candidate table" },
	{ "a later version", "asap-candidates 2\n", -EPROTONOSUPPORT, 1,
	  "unknown version" },
	{ "version 0", "asap-candidates 0\n", -EPROTONOSUPPORT, 1,
	  "unknown version" },
	{ "version 01", "asap-candidates 01\n", -EINVAL, 1,
	  "not a plain decimal number" },
	{ "version 1.1", "asap-candidates 1.1\n", -EINVAL, 1,
	  "text after the last field" },
	{ "a carriage return", "asap-candidates 1\r\n", -EINVAL, 1,
	  "not plain text" },
	{ "an escape byte", HEAD "\033[0m", -EINVAL, 2, "not plain text" },
	{ "a delete", HEAD "file\177", -EINVAL, 2, "not plain text" },
	{ "a byte above ASCII", HEAD "file \xc3", -EINVAL, 2,
	  "not plain text" },
	{ "a tab", HEAD "file\t" UUID, -EINVAL, 2, "not plain text" },

	{ "an unknown record", HEAD FILE1 "page 1\n", -EINVAL, 3,
	  "neither file nor extent nor end" },
	{ "an empty line", HEAD FILE1 "\n", -EINVAL, 3,
	  "neither file nor extent nor end" },
	{ "a blank before a record", HEAD " " FILE1, -EINVAL, 2,
	  "neither file nor extent nor end" },
	{ "a record in capitals", HEAD "FILE dev:8:1 5 0 100 /a\n", -EINVAL, 2,
	  "neither file nor extent nor end" },
	{ "a second version line", HEAD HEAD, -EINVAL, 2,
	  "neither file nor extent nor end" },

	{ "an unknown file system", HEAD "file fsid:1 5 0 100 /a\n", -EINVAL, 2,
	  "file system is neither uuid: nor dev:" },
	{ "a short UUID", HEAD "file uuid:0123 5 0 100 /a\n", -EINVAL, 2,
	  "malformed hex number" },
	{ "a long UUID", HEAD "file " UUID "0 5 0 100 /a\n", -EINVAL, 2,
	  "malformed or missing field" },
	{ "a UUID in capitals",
	  HEAD "file uuid:0123456789ABCDEF0123456789abcdef 5 0 100 /a\n",
	  -EINVAL, 2, "malformed hex number" },
	{ "a UUID of zeroes",
	  HEAD "file uuid:00000000000000000000000000000000 5 0 100 /a\n",
	  -EINVAL, 2, "UUID is all zeroes" },
	{ "a device without minor", HEAD "file dev:8 5 0 100 /a\n", -EINVAL, 2,
	  "malformed device number" },
	{ "a huge major", HEAD "file dev:4096:0 5 0 100 /a\n", -EOVERFLOW, 2,
	  "number too big" },
	{ "a huge minor", HEAD "file dev:8:1048576 5 0 100 /a\n", -EOVERFLOW, 2,
	  "number too big" },
	{ "an inode number of 65 bits",
	  HEAD "file dev:8:1 18446744073709551616 0 100 /a\n", -EOVERFLOW, 2,
	  "number too big" },
	{ "a generation of 33 bits", HEAD "file dev:8:1 5 4294967296 100 /a\n",
	  -EOVERFLOW, 2, "number too big" },
	{ "a size of 65 bits",
	  HEAD "file dev:8:1 5 0 99999999999999999999 /a\n", -EOVERFLOW, 2,
	  "number too big" },
	{ "a plus sign", HEAD "file dev:8:1 +5 0 100 /a\n", -EINVAL, 2,
	  "not a plain decimal number" },
	{ "a minus sign", HEAD "file dev:8:1 -5 0 100 /a\n", -EINVAL, 2,
	  "not a plain decimal number" },
	{ "a leading zero", HEAD "file dev:8:1 05 0 100 /a\n", -EINVAL, 2,
	  "not a plain decimal number" },
	{ "a hex inode number", HEAD "file dev:8:1 0x5 0 100 /a\n", -EINVAL, 2,
	  "malformed or missing field" },
	{ "two blanks", HEAD "file dev:8:1  5 0 100 /a\n", -EINVAL, 2,
	  "not a plain decimal number" },
	{ "no path and no blank", HEAD "file dev:8:1 5 0 100\n", -EINVAL, 2,
	  "malformed or missing field" },
	{ "no path", HEAD "file dev:8:1 5 0 100" BLANK "\n", -EINVAL, 2,
	  "path missing" },
	{ "a blank in a path", HEAD "file dev:8:1 5 0 100 /a b\n", -EINVAL, 2,
	  "malformed path" },
	{ "a blank after a path", HEAD "file dev:8:1 5 0 100 /a" BLANK "\n", -EINVAL,
	  2, "malformed path" },
	{ "a short escape", HEAD "file dev:8:1 5 0 100 /a\\04\n", -EINVAL, 2,
	  "malformed path" },
	{ "an escape of more than a byte",
	  HEAD "file dev:8:1 5 0 100 /a\\440\n", -EINVAL, 2, "malformed path" },
	{ "an escaped NUL", HEAD "file dev:8:1 5 0 100 /a\\000\n", -EINVAL, 2,
	  "malformed path" },
	{ "an escape without need", HEAD "file dev:8:1 5 0 100 /\\141\n",
	  -EINVAL, 2, "malformed path" },
	{ "an escaped dash that is not alone",
	  HEAD "file dev:8:1 5 0 100 \\055a\n", -EINVAL, 2, "malformed path" },

	{ "a file twice", HEAD FILE1 EXTENT FILE1, -EEXIST, 4, "file twice" },
	{ "a file twice, but for its generation",
	  HEAD FILE1 "file dev:8:1 5 1 100 /a\n", -EEXIST, 3, "file twice" },
	{ "inodes out of order", HEAD FILE1 "file dev:8:1 4 0 100 /a\n",
	  -EEXIST, 3, "files out of order" },
	{ "minors out of order", HEAD FILE1 "file dev:8:0 6 0 100 /a\n",
	  -EEXIST, 3, "files out of order" },
	{ "majors out of order", HEAD FILE1 "file dev:7:9 6 0 100 /a\n",
	  -EEXIST, 3, "files out of order" },
	{ "a UUID after a device", HEAD FILE1 "file " UUID " 6 0 100 /a\n",
	  -EEXIST, 3, "files out of order" },
	{ "UUIDs out of order", HEAD "file " UUID " 1 0 1 /a\n"
	  "file uuid:0123456789abcdef0123456789abcdee 2 0 1 /a\n",
	  -EEXIST, 3, "files out of order" },

	{ "an extent without a file", HEAD EXTENT, -EINVAL, 2,
	  "extent without a file" },
	{ "an empty extent", HEAD FILE1 "extent 10 0 0 ff\n", -EINVAL, 3,
	  "empty extent" },
	{ "an extent without history", HEAD FILE1 "extent 10 5 0 00\n",
	  -EINVAL, 3, "extent without history" },
	{ "an extent twice", HEAD FILE1 EXTENT EXTENT, -EEXIST, 4,
	  "extents overlap or are out of order" },
	{ "extents that overlap", HEAD FILE1 EXTENT "extent 14 1 0 ff\n",
	  -EEXIST, 4, "extents overlap or are out of order" },
	{ "extents out of order", HEAD FILE1 EXTENT "extent 0 1 0 ff\n",
	  -EEXIST, 4, "extents overlap or are out of order" },
	{ "an extent behind its file", HEAD FILE1 "extent 100 1 0 ff\n",
	  -ERANGE, 3, "extent beyond the end of its file" },
	{ "an extent that leaves its file", HEAD FILE1 "extent 99 2 0 ff\n",
	  -ERANGE, 3, "extent beyond the end of its file" },
	{ "an extent that wraps around",
	  HEAD FILE1 "extent 99 18446744073709551615 0 ff\n", -ERANGE, 3,
	  "extent beyond the end of its file" },
	{ "a huge rank", HEAD FILE1 "extent 10 5 65536 ff\n", -EOVERFLOW, 3,
	  "number too big" },
	{ "a history in capitals", HEAD FILE1 "extent 10 5 0 FF\n", -EINVAL, 3,
	  "malformed hex number" },
	{ "a short history", HEAD FILE1 "extent 10 5 0 f\n", -EINVAL, 3,
	  "malformed hex number" },
	{ "a long history", HEAD FILE1 "extent 10 5 0 fff\n", -EINVAL, 3,
	  "text after the last field" },
	{ "an extent cut short", HEAD FILE1 "extent 10 5\n", -EINVAL, 3,
	  "malformed or missing field" },

	{ "a file missing", HEAD FILE1 EXTENT "end 2 1 00000000\n", -EBADMSG, 4,
	  "files or extents are missing or too many" },
	{ "an extent missing", HEAD FILE1 EXTENT "end 1 2 00000000\n", -EBADMSG,
	  4, "files or extents are missing or too many" },
	{ "a wrong checksum", HEAD FILE1 EXTENT "end 1 1 00000000\n", -EBADMSG,
	  4, "checksum does not match" },
	{ "a short checksum", HEAD "end 0 0 1234567\n", -EINVAL, 2,
	  "malformed hex number" },
	{ "a long checksum", HEAD "end 0 0 46a9abca0\n", -EINVAL, 2,
	  "text after the last field" },
	{ "a count of 33 bits", HEAD "end 4294967296 0 46a9abca\n", -EOVERFLOW,
	  2, "number too big" },
	{ "an end without counts", HEAD "end\n", -EINVAL, 2,
	  "neither file nor extent nor end" },
};

static int is_refused(const char *text, size_t len, int error, u32 line,
		      const char *why)
{
	struct saved got = {};
	unsigned int i;
	int good = 1;

	for (i = 0; i < NR_CUTS; i++) {
		int err = load(&parser, &got, text, len, cuts[i]);

		if (err != error || parser.line != line || got.commits ||
		    strcmp(parser.why ? parser.why : "", why)) {
			printf("# %d in line %u: %s\n", err, parser.line,
			       parser.why ? parser.why : "");
			good = 0;
		}
		saved_free(&got);
	}
	return good;
}

static void test_bad(void)
{
	char what[128], line[2 * ASAP_FOOTPRINT_LINE_MAX];
	unsigned int i;
	int n;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(what, sizeof(what), "refused: %s", bad[i].what);
		ok(is_refused(bad[i].text, strlen(bad[i].text), bad[i].error,
			      bad[i].line, bad[i].why), what);
	}

	ok(is_refused(HEAD "file\0", sizeof(HEAD) + 4, -EINVAL, 2,
		      "not plain text"), "refused: a NUL");

	n = sprintf(line, HEAD "%0*d", ASAP_FOOTPRINT_LINE_MAX - 1, 0);
	ok(is_refused(line, n, 0, 2, ""),
	   "a line of the greatest length may come to its end");
	line[n] = '0';
	ok(is_refused(line, n + 1, -EMSGSIZE, 2, "line too long"),
	   "refused: a line without end");

	n = sprintf(line, HEAD "file dev:8:1 5 0 100 %0*d\n",
		    ASAP_FOOTPRINT_PATH_MAX + 1, 0);
	ok(is_refused(line, n, -ENAMETOOLONG, 2, "path too long"),
	   "refused: a path one character too long");
}

/* The order of files, as it is written above each table. */
static void test_order(void)
{
	static const struct asap_file_id id[] = {
		{ .uuid = { 1 }, .ino = 9 },
		{ .uuid = { 1 }, .ino = 1ULL << 63 },
		{ .uuid = { 1, 1 }, .ino = 2 },
		{ .uuid = { 0x80 }, .dev = 1, .ino = 1 },
		{ .dev = 0, .ino = 9 },
		{ .dev = 8 << 20 | 2, .ino = 1 },
		{ .dev = 8 << 20 | 10, .ino = 1 },
		{ .dev = 0x80000000, .ino = 1 },
	};
	struct asap_file_id twin = { .uuid = { 1 }, .ino = 9, .dev = 5,
				     .generation = 7 };
	unsigned int i, j, n = sizeof(id) / sizeof(*id), wrong = 0;

	for (i = 0; i < n; i++) {
		for (j = 0; j < n; j++) {
			int cmp = asap_file_id_cmp(&id[i], &id[j]);

			wrong += (cmp > 0) - (cmp < 0) != (i > j) - (i < j);
		}
	}
	ok(!wrong, "order: UUIDs by bytes, then devices, then inode numbers");
	ok(!asap_file_id_cmp(&id[0], &twin),
	   "order: neither generation nor a UUID's device count");
}

static void test_refusal(void)
{
	struct saved got = { .refusal = -ENOMEM };
	static const char *const why[] = {
		"file was not taken", "extent was not taken",
		"extent was not taken", "extent was not taken",
		"file was not taken", "file was not taken",
		"extent was not taken", "table was not taken",
	};
	unsigned int i, good = 0;

	for (i = 0; i < 8; i++) {
		got.refuse = i + 1;
		got.refusal = -ENOMEM;
		good += load(&parser, &got, sample, SAMPLE_LEN, cuts[2]) == -ENOMEM &&
			parser.line == i + 2 && !strcmp(parser.why, why[i]) &&
			got.nr_files + got.nr_extents == i && !got.commits;
		saved_free(&got);
	}
	ok(good == 8, "who takes the table may refuse any of it");
}

static void test_after_end(void)
{
	struct saved got = {};
	char text[SAMPLE_LEN + 1];
	int err;

	memcpy(text, sample, SAMPLE_LEN);
	text[SAMPLE_LEN] = '\n';
	err = load(&parser, &got, text, SAMPLE_LEN + 1, cuts[5]);
	ok(err == -EINVAL && parser.line == 10 && !got.commits &&
	   !strcmp(parser.why, "text after the last line"),
	   "after the end: in the same piece, nothing is committed");
	saved_free(&got);

	err = load(&parser, &got, text, SAMPLE_LEN + 1, cuts[0]);
	ok(err == -EINVAL && parser.line == 10 && got.commits == 1,
	   "after the end: in a later piece, it is an error still");
	err = asap_footprint_feed(&parser, sample, SAMPLE_LEN);
	ok(err == -EINVAL && parser.line == 10 && got.commits == 1,
	   "after an error: every further piece gets it");
	saved_free(&got);

	ok(!load(&parser, &got, sample, SAMPLE_LEN, cuts[0]) && got.commits == 1,
	   "after an error: the parser can be set up anew");
	saved_free(&got);
}

static struct asap_footprint_file long_file(char *path, size_t len, char c)
{
	struct asap_footprint_file file = {
		.id = { .uuid = { 1 }, .ino = ~0ULL, .generation = ~0U },
		.pages = ~0ULL,
		.path = path,
	};

	memset(path, c, len);
	path[len] = '\0';
	return file;
}

static void test_path(void)
{
	struct asap_footprint_tally tally;
	struct asap_footprint_file file;
	char path[8192], buf[8192];
	struct saved t = {};
	unsigned int c;
	size_t len;
	char *text;
	int n;

	n = asap_footprint_emit_version(&tally, buf, sizeof(buf));
	file = long_file(path, ASAP_FOOTPRINT_PATH_MAX, 'a');
	n = asap_footprint_emit_file(&tally, NULL, 0, &file);
	ok(n == ASAP_FOOTPRINT_LINE_MAX, "path: the longest line is as stated");
	saved_file(&t, &file);
	text = save(&t, &len);
	ok(!check_text(text, len, cuts[3]), "path: and can be read");
	free(text);

	file = long_file(path, ASAP_FOOTPRINT_PATH_MAX / 4 + 1, '\n');
	n = asap_footprint_emit_file(&tally, buf, sizeof(buf), &file);
	ok(n > 3 && !memcmp(buf + n - 3, " -\n", 3),
	   "path: one that escapes make too long is left out");
	saved_free(&t);

	/* Every byte, and the two paths that look like something else. */
	for (c = 1; c < 256; c++)
		path[c - 1] = c;
	path[255] = '\0';
	file.id.ino = 1;
	saved_file(&t, &file);
	file.id.ino = 2;
	file.path = "-";
	saved_file(&t, &file);
	file.id.ino = 3;
	file.path = "\\055";
	saved_file(&t, &file);
	text = save(&t, &len);
	{
		struct saved got = {};

		ok(!load(&parser, &got, text, len, cuts[3]) && got.commits &&
		   saved_equal(&t, &got), "path: any byte comes back");
		saved_free(&got);
	}
	ok(!check_text(text, len, cuts[3]), "path: and is written the same");
	free(text);
	saved_free(&t);
}

/* The writer holds to the rules of the parser. */
static void test_writer(void)
{
	struct asap_footprint_extent ext = { 10, 5, 0, 0xff };
	struct asap_footprint_file file = {
		.id = { .dev = 1, .ino = 5 }, .pages = 100, .path = "",
	};
	struct asap_footprint_tally tally, before;
	char buf[256];

	asap_footprint_emit_version(&tally, buf, sizeof(buf));
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -EINVAL,
	   "writer: no extent without a file");
	asap_footprint_emit_file(&tally, buf, sizeof(buf), &file);
	ok(asap_footprint_emit_file(&tally, buf, sizeof(buf), &file) == -EEXIST,
	   "writer: no file twice");
	asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext);
	before = tally;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -EEXIST,
	   "writer: no page twice");
	ext.first = 99;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -ERANGE,
	   "writer: no page beyond the end");
	ext.pages = 0;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -EINVAL,
	   "writer: no empty extent");
	ext.pages = 1;
	ext.hist = 0;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -EINVAL,
	   "writer: no extent without history");
	ok(!memcmp(&tally, &before, sizeof(tally)),
	   "writer: what it refuses is not counted");
}

/* As many files and extents as allowed, and one more. */
static void test_limits(void)
{
	struct asap_footprint_extent ext = { 0, 1, 0, 0xff };
	struct asap_footprint_file file = { .pages = ~0ULL, .path = "" };
	struct asap_footprint_tally tally;
	struct saved t = {};
	char buf[256];
	size_t len;
	char *text;
	u32 i;

	for (i = 0; i < ASAP_FOOTPRINT_MAX_FILES; i++) {
		file.id.ino = i;
		saved_file(&t, &file);
	}
	text = save(&t, &len);
	text = realloc(text, len + 128);
	ok(text && !check_text(text, len, cuts[5]),
	   "limits: as many files as allowed");
	/* In place of the last line. */
	len = strlen("end 65536 0 00000000\n") < len ?
	      len - strlen("end 65536 0 00000000\n") : 0;
	len += sprintf(text + len, "file dev:0:0 65536 0 0 -\n");
	ok(is_refused(text, len, -E2BIG, ASAP_FOOTPRINT_MAX_FILES + 2,
		      "too many files"), "limits: one file more");
	free(text);
	saved_free(&t);

	/* Extents by the writer's count and the parser's, a million are slow. */
	asap_footprint_emit_version(&tally, buf, sizeof(buf));
	asap_footprint_emit_file(&tally, buf, sizeof(buf), &file);
	tally.extents = ASAP_FOOTPRINT_MAX_EXTENTS - 1;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) > 0,
	   "limits: as many extents as allowed, written");
	ext.first = 1;
	ok(asap_footprint_emit_extent(&tally, buf, sizeof(buf), &ext) == -E2BIG,
	   "limits: one extent more, written");
	load(&parser, &t, HEAD FILE1, strlen(HEAD FILE1), cuts[5]);
	parser.tally.extents = ASAP_FOOTPRINT_MAX_EXTENTS - 1;
	ok(!asap_footprint_feed(&parser, EXTENT, strlen(EXTENT)),
	   "limits: as many extents as allowed, read");
	ok(asap_footprint_feed(&parser, "extent 20 1 0 ff\n", 17) == -E2BIG &&
	   parser.line == 4 && !strcmp(parser.why, "too many extents"),
	   "limits: one extent more, read");
	saved_free(&t);
}

int main(void)
{
	printf("TAP version 13\n");
	test_crc();
	test_sample();
	test_damage();
	test_bad();
	test_order();
	test_refusal();
	test_after_end();
	test_path();
	test_writer();
	test_limits();
	printf("1..%u\n", tests);
	return failed != 0;
}
