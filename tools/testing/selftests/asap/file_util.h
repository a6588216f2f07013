/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the tests of file pages share: file systems on the guest's disks, files with
 * known contents, the page cache, and windows that learn a file.
 */
#ifndef _FILE_UTIL_H
#define _FILE_UTIL_H

#include "asap_util.h"

/* Where fs_mount() mounts. */
#define MNT	"/tmp/asap_mnt"

/*
 * Mount a file system of this type at @dir, in a mount namespace of the test's own:
 * "tmpfs", or what one of the disks /dev/vd* holds; skips the test where none does.
 */
void fs_mount(const char *type, const char *dir);
/* A directory of the test's own on the file system at MNT, empty. */
void dir_make(const char *path);

/* A file of so many pages, as fill_pages() makes them, written to the disk. */
void file_make(const char *path, size_t nr, uint64_t seed);
void file_expect(const char *path, size_t nr, uint64_t seed);
/* A path under MNT; valid until the next call but three. */
char *at_mnt(const char *name);

/* Pages of a file that the page cache has. */
size_t file_cached(const char *path, size_t nr);
/* Drop them all. */
void file_drop(const char *path, size_t nr);

/* A file that this process, a member of the app, maps or only reads. */
struct used_file {
	const char *path;
	size_t nr;
	int fd;
	char *map;	/* NULL: by read() */
};

void used_open(struct used_file *file, const char *path, size_t nr, bool map);
void used_close(struct used_file *file);
void used_drop(struct used_file *file);
/* Use every @step-th page. */
void used_touch(struct used_file *file, size_t step, uint64_t seed);

#define APP	"files"

/* Make the app, this process its only member. */
void app_with_me(void);
/* Windows in which all of the file is used, after which its pages are targets. */
void used_learn(struct used_file *file, uint64_t seed);

#endif /* _FILE_UTIL_H */
