// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "file_util.h"

static bool in_namespace;

void fs_mount(const char *type, const char *dir)
{
	char dev[] = "/dev/vda";

	if (!in_namespace) {
		expect(!unshare(CLONE_NEWNS));
		expect(!mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
		in_namespace = true;
	}
	expect(!mkdir(dir, 0755) || errno == EEXIST);
	if (!strcmp(type, "tmpfs")) {
		expect(!mount("tmpfs", dir, type, 0, NULL));
		return;
	}
	for (; !access(dev, F_OK); dev[strlen(dev) - 1]++)
		if (!mount(dev, dir, type, strcmp(type, "erofs") ? 0 : MS_RDONLY,
			   NULL))
			return;
	skip_test("no disk /dev/vd* has a file system of type %s", type);
}

static void dir_empty(const char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	expect(!system(command));
}

void dir_make(const char *path)
{
	dir_empty(path);
	expect(!mkdir(path, 0755));
}

char *at_mnt(const char *name)
{
	static char path[4][128];
	static unsigned int next;
	char *at = path[next++ % ARRAY_SIZE(path)];

	snprintf(at, sizeof(path[0]), MNT "/%s", name);
	return at;
}

void file_make(const char *path, size_t nr, uint64_t seed)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *page = malloc(page_size());
	size_t i;

	expect(fd >= 0 && page);
	for (i = 0; i < nr; i++) {
		fill_page(page, seed + i);
		expect_eq(write(fd, page, page_size()), page_size());
	}
	expect(!fsync(fd));
	close(fd);
	free(page);
}

void file_expect(const char *path, size_t nr, uint64_t seed)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *page = malloc(page_size());
	size_t i;

	expect(fd >= 0 && page);
	for (i = 0; i < nr; i++) {
		expect_eq(read(fd, page, page_size()), page_size());
		expect_pages(page, 1, seed + i);
	}
	close(fd);
	free(page);
}

static size_t count_core(int fd, size_t nr)
{
	char *area = mmap(NULL, nr * page_size(), PROT_READ, MAP_SHARED, fd, 0);
	unsigned char *core = malloc(nr);
	size_t i, count = 0;

	expect(area != MAP_FAILED && core);
	expect(!mincore(area, nr * page_size(), core));
	for (i = 0; i < nr; i++)
		count += core[i] & 1;
	munmap(area, nr * page_size());
	free(core);
	return count;
}

size_t file_cached(const char *path, size_t nr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t count;

	expect(fd >= 0);
	count = count_core(fd, nr);
	close(fd);
	return count;
}

static bool dropped(const char *path, size_t nr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool all;

	expect(fd >= 0);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	all = !count_core(fd, nr);
	close(fd);
	return all;
}

void file_drop(const char *path, size_t nr)
{
	/* A page that somebody has in hand stays: try again. */
	wait_for(dropped(path, nr));
}

void used_open(struct used_file *file, const char *path, size_t nr, bool map)
{
	file->path = strdup(path);
	file->nr = nr;
	file->map = NULL;
	file->fd = open(path, O_RDONLY | O_CLOEXEC);
	expect(file->fd >= 0);
	/* No readahead but ours. */
	posix_fadvise(file->fd, 0, 0, POSIX_FADV_RANDOM);
	if (!map)
		return;
	file->map = mmap(NULL, nr * page_size(), PROT_READ, MAP_SHARED,
			 file->fd, 0);
	expect(file->map != MAP_FAILED);
	madvise(file->map, nr * page_size(), MADV_RANDOM);
}

void used_close(struct used_file *file)
{
	if (file->map)
		munmap(file->map, file->nr * page_size());
	close(file->fd);
	free((char *)file->path);
}

void used_drop(struct used_file *file)
{
	if (file->map)
		madvise(file->map, file->nr * page_size(), MADV_DONTNEED);
	file_drop(file->path, file->nr);
}

void used_touch(struct used_file *file, size_t step, uint64_t seed)
{
	char *page = malloc(page_size());
	size_t i;

	expect(page);
	for (i = 0; i < file->nr; i += step) {
		if (file->map) {
			expect_pages(file->map + i * page_size(), 1, seed + i);
			continue;
		}
		expect_eq(pread(file->fd, page, page_size(), i * page_size()),
			  page_size());
		expect_pages(page, 1, seed + i);
	}
	free(page);
}

void app_with_me(void)
{
	expect_eq(app_create(APP), 0);
	expect_eq(app_join(APP, getpid()), 0);
}

/* With either policy's knobs as they are two are enough for the adaptive one. */
#define LEARN_WINDOWS	3

void used_learn(struct used_file *file, uint64_t seed)
{
	int i;

	for (i = 0; i < LEARN_WINDOWS; i++) {
		used_drop(file);
		expect_eq(app_write(APP, "switch", "start"), 0);
		used_touch(file, 1, seed);
		app_end(APP);
	}
}
