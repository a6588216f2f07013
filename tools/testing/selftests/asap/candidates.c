// SPDX-License-Identifier: GPL-2.0
/*
 * A saved table: it survives, it fits no file that has changed since, and nothing
 * that is not one replaces what is there.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "file_util.h"

#define CANDIDATES	ASAP_APPS "/" APP "/candidates"
#define PAGES		16
#define SEED		5000
#define TEXT_MAX	65536
#define HEAD		"asap-candidates 1\n"
#define FILE_LINE	"file dev:9:9 77 1 100 /nowhere\n"

static uint32_t crc32_of(const char *text, size_t len)
{
	uint32_t crc = ~0U;
	int bit;

	while (len--) {
		crc ^= (unsigned char)*text++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
	}
	return ~crc;
}

/* The text with its last line, as the kernel would write it. */
static char *with_end(const char *body)
{
	unsigned int files = 0, extents = 0;
	const char *at;
	char *text;

	for (at = body; at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
		files += !strncmp(at, "file ", 5);
		extents += !strncmp(at, "extent ", 7);
	}
	expect(asprintf(&text, "%send %u %u %08x\n", body, files, extents,
			crc32_of(body, strlen(body))) > 0);
	return text;
}

/* Write it in pieces. Return: 0, or -errno of the first write() that fails. */
static int load(const char *text, size_t len, size_t piece)
{
	int fd = open(CANDIDATES, O_WRONLY | O_CLOEXEC);
	size_t at, n;
	int err = 0;

	expect(fd >= 0);
	for (at = 0; at < len && !err; at += n) {
		ssize_t done;

		n = len - at < piece ? len - at : piece;
		done = write(fd, text + at, n);
		if (done < 0)
			err = -errno;
		else
			expect_eq(done, n);
	}
	/* Nobody looks at what close() says: it has nothing to say. */
	expect(!close(fd));
	return err;
}

static int load_text(const char *text)
{
	return load(text, strlen(text), 4096);
}

static char *save(void)
{
	char *text = malloc(TEXT_MAX);
	int len;

	expect(text);
	len = file_read(CANDIDATES, text, TEXT_MAX);
	expect(len > 0 && len < TEXT_MAX - 1);
	return text;
}

static void learn_file(struct used_file *file)
{
	fs_mount("ext4", MNT);
	file_make(at_mnt("candidates"), PAGES, SEED);
	app_with_me();
	used_open(file, at_mnt("candidates"), PAGES, true);
	used_learn(file, SEED);
}

static const struct {
	const char *what;
	const char *text;
	int err;
	unsigned int line;
} malformed[] = {
	{ "no table", "hello\n", -EINVAL, 1 },
	{ "another version", "asap-candidates 2\n", -EPROTONOSUPPORT, 1 },
	{ "extent without file", HEAD "extent 0 1 0 ff\n", -EINVAL, 2 },
	{ "overlap", HEAD FILE_LINE "extent 0 5 0 ff\nextent 4 5 0 ff\n",
	  -EEXIST, 4 },
	{ "beyond the file", HEAD FILE_LINE "extent 99 2 0 ff\n", -ERANGE, 3 },
	{ "file twice", HEAD FILE_LINE FILE_LINE, -EEXIST, 3 },
	{ "wrong counts", HEAD FILE_LINE "end 2 0 00000000\n", -EBADMSG, 3 },
	{ "wrong checksum", HEAD FILE_LINE "end 1 0 00000000\n", -EBADMSG, 3 },
	{ "number too big", HEAD "file dev:9:9 77 4294967296 1 -\n",
	  -EOVERFLOW, 2 },
	/* From here on the log is not looked at: it is rate-limited. */
	{ "binary", HEAD "\x01\x02\x03\n", -EINVAL, 0 },
	{ "page of 16 TiB and more", HEAD "file dev:9:9 77 1 4294967297 -\n"
	  "extent 4294967295 2 0 ff\n", -E2BIG, 0 },
	{ "huge", HEAD "file dev:9:9 77 1 99999999999 -\n"
	  "extent 0 99999999 0 ff\n", -E2BIG, 0 },
	{ "unsorted", HEAD FILE_LINE "file dev:9:8 1 1 1 -\n", -EEXIST, 0 },
	{ "empty extent", HEAD FILE_LINE "extent 0 0 0 ff\n", -EINVAL, 0 },
	{ "blank line", HEAD "\n", -EINVAL, 0 },
};

/* First of the tests: the log is rate-limited. */
static void malformed_refused(void)
{
	struct used_file file;
	char line[64], *before, *after;
	size_t i;
	int log, err;

	learn_file(&file);
	before = save();
	log = log_open(SEEK_END);
	for (i = 0; i < ARRAY_SIZE(malformed); i++) {
		err = load_text(malformed[i].text);
		if (err != malformed[i].err) {
			ksft_print_msg("%s: %d, not %d\n", malformed[i].what, err,
				       malformed[i].err);
			expect(err == malformed[i].err);
		}
		if (malformed[i].line) {
			snprintf(line, sizeof(line), APP ": candidates, line %u: ",
				 malformed[i].line);
			expect(log_says(log, line));
		}
		after = save();
		expect(!strcmp(before, after));
		free(after);
	}
	close(log);
}

static void modes(void)
{
	struct stat st;

	expect_eq(app_create(APP), 0);
	expect(!stat(CANDIDATES, &st));
	expect_eq(st.st_mode & 07777, 0600);
}

static void saved_and_loaded(void)
{
	static const size_t pieces[] = { 1, 7, 4096, TEXT_MAX };
	struct used_file file;
	char *before, *after;
	size_t i;

	learn_file(&file);
	before = save();
	/* For people: where it was. */
	expect(strstr(before, "/candidates\n"));
	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		expect_eq(app_remove(APP), 0);
		app_with_me();
		expect_eq(load(before, strlen(before), pieces[i]), 0);
		after = save();
		expect(!strcmp(before, after));
		free(after);
	}
	used_drop(&file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file.path, PAGES) == PAGES);
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_prefetched"), PAGES);
	expect_eq(app_stat(APP, "last_file_used"), PAGES);
	expect_eq(app_stat(APP, "last_file_changed"), 0);
	expect(file_number(ASAP_APPS "/" APP "/profile") > 0);
}

/* Text without its last line does nothing, whoever closes it. */
static void end_missing(void)
{
	struct used_file file;
	char *before, *after, *text;
	size_t cut;

	learn_file(&file);
	before = save();
	text = with_end(HEAD FILE_LINE "extent 0 1 0 ff\n");
	for (cut = 0; cut < strlen(text); cut++) {
		expect_eq(load(text, cut, 5), 0);
		after = save();
		expect(!strcmp(before, after));
		free(after);
	}
	expect_eq(load(text, cut, 5), 0);
	after = save();
	expect(!strcmp(text, after));
}

static void out_of_place(void)
{
	char *text = with_end(HEAD FILE_LINE), *after;
	int fd;

	app_with_me();
	fd = open(CANDIDATES, O_WRONLY | O_CLOEXEC);
	expect(fd >= 0);
	/* Nothing was begun; then, a hole; then, behind the end. */
	expect(pwrite(fd, text, 5, 5) < 0 && errno == EINVAL);
	expect_eq(pwrite(fd, text, 5, 0), 5);
	expect(pwrite(fd, text + 6, 5, 6) < 0 && errno == EINVAL);
	expect_eq(pwrite(fd, text + 5, strlen(text) - 5, 5), strlen(text) - 5);
	expect(pwrite(fd, text, 1, strlen(text)) < 0 && errno == EINVAL);
	close(fd);
	after = save();
	expect(!strcmp(text, after));
	/* A piece that holds more than the text commits nothing. */
	expect(asprintf(&after, "%s%s", with_end(HEAD), "x") > 0);
	expect_eq(load_text(after), -EINVAL);
	after = save();
	expect(!strcmp(text, after));
}

static void window_open(void)
{
	char *text = with_end(HEAD FILE_LINE);

	app_with_me();
	expect_eq(app_write(APP, "switch", "start"), 0);
	expect_eq(load_text(text), -EBUSY);
	app_end(APP);
	wait_for(!load_text(text));
}

#define FS_IOC_GETVERSION_	_IOR('v', 1, long)

static unsigned int generation_of(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned int generation = 0;

	expect(fd >= 0);
	expect(!ioctl(fd, FS_IOC_GETVERSION_, &generation));
	close(fd);
	return generation;
}

/* Make another file with the number that @path's inode had. */
static void number_reused(const char *path)
{
	unsigned int generation = generation_of(path);
	char other[160];
	struct stat was, is;
	int i;

	expect(!stat(path, &was));
	expect(!unlink(path));
	for (i = 0; i < 64; i++) {
		snprintf(other, sizeof(other), "%s.%d", path, i);
		file_make(other, PAGES, SEED);
		expect(!stat(other, &is));
		if (is.st_ino != was.st_ino)
			continue;
		expect(!rename(other, path));
		expect(generation_of(path) != generation);
		return;
	}
	skip_test("this file system does not use an inode's number again");
}

static void files_changed(void)
{
	static const char *const name[] = {
		"same", "grown", "shrunk", "replaced", "reused",
	};
	struct used_file file[ARRAY_SIZE(name)];
	char *text, dir[64], path[128];
	size_t i, w;

	fs_mount("ext4", MNT);
	snprintf(dir, sizeof(dir), MNT "/changed");
	dir_make(dir);
	app_with_me();
	for (i = 0; i < ARRAY_SIZE(name); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		file_make(path, PAGES, SEED);
		used_open(&file[i], path, PAGES, true);
	}
	for (w = 0; w < 3; w++) {
		for (i = 0; i < ARRAY_SIZE(name); i++)
			used_drop(&file[i]);
		expect_eq(app_write(APP, "switch", "start"), 0);
		for (i = 0; i < ARRAY_SIZE(name); i++)
			used_touch(&file[i], 1, SEED);
		app_end(APP);
	}
	expect_eq(app_stat(APP, "file_targets"), ARRAY_SIZE(name) * PAGES);
	text = save();
	for (i = 0; i < ARRAY_SIZE(name); i++)
		used_close(&file[i]);
	expect_eq(app_remove(APP), 0);

	file_make(MNT "/changed/grown", PAGES + 1, SEED);
	expect(!truncate(MNT "/changed/shrunk", (PAGES - 1) * page_size()));
	file_make(MNT "/changed/new", PAGES, SEED);
	expect(!rename(MNT "/changed/new", MNT "/changed/replaced"));
	number_reused(MNT "/changed/reused");

	app_with_me();
	expect_eq(load_text(text), 0);
	for (i = 0; i < ARRAY_SIZE(name); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, name[i]);
		used_open(&file[i], path, PAGES - 1, true);
		used_drop(&file[i]);
	}
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file[0].path, PAGES - 1) == PAGES - 1);
	app_end(APP);
	for (i = 1; i < ARRAY_SIZE(name); i++)
		expect_eq(file_cached(file[i].path, PAGES - 1), 0);
	expect_eq(app_stat(APP, "last_file_prefetched"), PAGES);
	/* The one that was replaced is a file that the app has not got. */
	expect_eq(app_stat(APP, "last_file_changed"), 3);
	expect_eq(app_stat(APP, "last_file_skipped_contended"), PAGES);
}

static void profile_progress(void)
{
	char buf[32];
	struct used_file file;

	expect_eq(knob_write("profile_switches", "7"), 0);
	learn_file(&file);
	expect(file_read(ASAP_APPS "/" APP "/profile", buf, sizeof(buf)) > 0);
	expect(!strcmp(buf, "3/7\n"));
	expect_eq(app_write(APP, "profile", "stop"), 0);
	expect(file_read(ASAP_APPS "/" APP "/profile", buf, sizeof(buf)) > 0);
	expect(!strcmp(buf, "7/7\n"));
	expect_eq(app_write(APP, "profile", "stop"), -EINVAL);
	expect(strstr(save(), "\nextent "));
	expect_eq(app_write(APP, "profile", "start"), 0);
	expect(file_read(ASAP_APPS "/" APP "/profile", buf, sizeof(buf)) > 0);
	expect(!strcmp(buf, "0/7\n"));
	expect(!strstr(save(), "\nextent "));
}

static const struct asap_test tests[] = {
	{ "malformed text is refused, the old table stands", malformed_refused },
	{ "modes", modes },
	{ "saved and loaded", saved_and_loaded },
	{ "text without its last line", end_missing },
	{ "pieces out of place", out_of_place },
	{ "no load into an open window", window_open },
	{ "files that have changed", files_changed },
	{ "the profile's progress", profile_progress },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
