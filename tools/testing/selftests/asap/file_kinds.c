// SPDX-License-Identifier: GPL-2.0
/*
 * File pages on every kind of file system: what is learned there is fetched there,
 * and a FUSE daemon that does not answer holds up nobody but its readers.
 */
#include <fcntl.h>
#include <linux/fuse.h>
#include <linux/loop.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "file_util.h"

#define PAGES	64
#define SEED	7000

/* Learn a file, drop it, and see it come back by itself. */
static void expect_fetched(struct used_file *file)
{
	used_drop(file);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(file_cached(file->path, file->nr) == file->nr);
	used_touch(file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_prefetched"), file->nr);
	expect_eq(app_stat(APP, "last_file_used"), file->nr);
	expect_eq(app_stat(APP, "last_file_faulted"), 0);
}

static void learn_and_fetch(const char *path)
{
	struct used_file file;
	int map;

	app_with_me();
	for (map = 0; map < 2; map++) {
		used_open(&file, path, PAGES, map);
		used_learn(&file, SEED);
		expect_fetched(&file);
		used_close(&file);
		expect_eq(app_write(APP, "reset", "1"), 0);
	}
}

static void on_ext4(void)
{
	fs_mount("ext4", MNT);
	file_make(at_mnt("kinds"), PAGES, SEED);
	learn_and_fetch(at_mnt("kinds"));
}

static void on_f2fs(void)
{
	fs_mount("f2fs", MNT);
	file_make(at_mnt("kinds"), PAGES, SEED);
	learn_and_fetch(at_mnt("kinds"));
}

/* Read-only: the image has the file, whose contents are not ours. */
static void on_erofs(void)
{
	char path[64] = MNT "/asap.data";
	size_t nr, i;
	struct stat st;
	char *map;
	int fd;

	fs_mount("erofs", MNT);
	if (stat(path, &st))
		skip_test("the erofs image has no asap.data");
	nr = st.st_size / page_size();
	app_with_me();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	expect(fd >= 0 && nr);
	map = mmap(NULL, nr * page_size(), PROT_READ, MAP_PRIVATE, fd, 0);
	expect(map != MAP_FAILED);
	madvise(map, nr * page_size(), MADV_RANDOM);
	for (i = 0; i < 4; i++) {
		size_t page;

		madvise(map, nr * page_size(), MADV_DONTNEED);
		file_drop(path, nr);
		expect_eq(app_write(APP, "switch", "start"), 0);
		if (i == 3)
			wait_for(file_cached(path, nr) == nr);
		for (page = 0; page < nr; page++)
			touch_read(map + page * page_size());
		app_end(APP);
	}
	expect_eq(app_stat(APP, "last_file_faulted"), 0);
	expect_eq(app_stat(APP, "last_file_used"), nr);
}

static void overlay_mount(void)
{
	fs_mount("ext4", MNT);
	dir_make(MNT "/lower");
	dir_make(MNT "/upper");
	dir_make(MNT "/work");
	expect(!mkdir("/tmp/asap_ovl", 0755) || errno == EEXIST);
	file_make(MNT "/lower/kinds", PAGES, SEED);
	if (mount("overlay", "/tmp/asap_ovl", "overlay", 0, "lowerdir=" MNT
		  "/lower,upperdir=" MNT "/upper,workdir=" MNT "/work"))
		skip_test("overlay: %s", strerror(errno));
}

static void on_overlay(void)
{
	overlay_mount();
	learn_and_fetch("/tmp/asap_ovl/kinds");
}

/* What was learned of the lower file is not read any more once it was copied up. */
static void copied_up(void)
{
	struct used_file file;
	int fd;

	overlay_mount();
	app_with_me();
	used_open(&file, "/tmp/asap_ovl/kinds", PAGES, true);
	used_learn(&file, SEED);
	expect_fetched(&file);
	used_close(&file);

	fd = open("/tmp/asap_ovl/kinds", O_RDWR | O_CLOEXEC);
	expect(fd >= 0);
	close(fd);
	expect(!access(MNT "/upper/kinds", F_OK));
	used_open(&file, "/tmp/asap_ovl/kinds", PAGES, true);
	used_drop(&file);
	file_drop(MNT "/lower/kinds", PAGES);
	expect_eq(app_write(APP, "switch", "start"), 0);
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "last_file_prefetched"), 0);
	expect_eq(app_stat(APP, "last_file_skipped_contended"), PAGES);
	expect_eq(file_cached(MNT "/lower/kinds", PAGES), 0);
	/* It is learned where it is now. */
	used_learn(&file, SEED);
	expect_fetched(&file);
}

/* Pages of tmpfs are swap's business. */
static void on_tmpfs(void)
{
	struct used_file file;

	fs_mount("tmpfs", MNT);
	file_make(at_mnt("kinds"), PAGES, SEED);
	app_with_me();
	used_open(&file, at_mnt("kinds"), PAGES, true);
	expect_eq(app_write(APP, "switch", "start"), 0);
	used_touch(&file, 1, SEED);
	app_end(APP);
	expect_eq(app_stat(APP, "file_candidates") +
		  app_stat(APP, "file_targets"), 0);
	expect_eq(app_stat(APP, "last_file_prefetched"), 0);
}

/* By another path than the one under which it was learned. */
static void on_bind(void)
{
	struct used_file file;

	fs_mount("ext4", MNT);
	dir_make(MNT "/there");
	dir_make(MNT "/here");
	file_make(MNT "/there/kinds", PAGES, SEED);
	expect(!mount(MNT "/there", MNT "/here", NULL, MS_BIND, NULL));
	app_with_me();
	used_open(&file, MNT "/there/kinds", PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	used_close(&file);
	used_open(&file, MNT "/here/kinds", PAGES, true);
	expect_fetched(&file);
}

static int loop_fd = -1;

static void loop_detach(void)
{
	if (loop_fd >= 0)
		ioctl(loop_fd, LOOP_CLR_FD, 0);
}

static void on_loop(void)
{
	char dev[32], command[128];
	int control, nr, image;

	if (access("/bin/mkfs.ext2", X_OK) && access("/sbin/mkfs.ext2", X_OK))
		skip_test("no mkfs.ext2");
	fs_mount("ext4", MNT);
	image = open(MNT "/image", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	expect(image >= 0 && !ftruncate(image, 8 << 20));
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (control < 0)
		skip_test("/dev/loop-control: %s", strerror(errno));
	nr = ioctl(control, LOOP_CTL_GET_FREE);
	expect(nr >= 0);
	snprintf(dev, sizeof(dev), "/dev/loop%d", nr);
	loop_fd = open(dev, O_RDWR | O_CLOEXEC);
	expect(loop_fd >= 0 && !ioctl(loop_fd, LOOP_SET_FD, image));
	snprintf(command, sizeof(command), "mkfs.ext2 %s >/dev/null", dev);
	expect(!system(command));
	expect(!mkdir("/tmp/asap_loop", 0755) || errno == EEXIST);
	expect(!mount(dev, "/tmp/asap_loop", "ext4", 0, NULL));
	file_make("/tmp/asap_loop/kinds", PAGES, SEED);
	learn_and_fetch("/tmp/asap_loop/kinds");
	expect_eq(app_remove(APP), 0);
	expect(!umount("/tmp/asap_loop"));
	loop_detach();
}

/*
 * A FUSE daemon that serves one file, "kinds", and stops answering reads when it is
 * told. Just enough of the protocol.
 */
enum daemon_mode { ANSWER, SLOW, SILENT };

struct shared {
	int mode;
	int reads;	/* that came in while it was silent */
};

static struct shared *shared;

static void reply(int dev, uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header *out = malloc(sizeof(*out) + len);

	if (!out)
		_exit(1);
	*out = (struct fuse_out_header) {
		.len = sizeof(*out) + len, .error = error, .unique = unique,
	};
	memcpy(out + 1, data, len);
	/* A request may have been given up meanwhile. */
	if (write(dev, out, out->len) < 0 && errno != ENOENT)
		_exit(errno == ENODEV ? 0 : 1);
	free(out);
}

static void fill_attr(struct fuse_attr *attr, uint64_t node)
{
	*attr = (struct fuse_attr) {
		.ino = node, .nlink = 1, .blksize = page_size(),
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0644,
		.size = node == FUSE_ROOT_ID ? 0 : PAGES * page_size(),
	};
}

static void serve_read(int dev, const struct fuse_in_header *in)
{
	const struct fuse_read_in *read_in = (void *)(in + 1);
	char *data = malloc(PAGES * page_size());
	int tries;

	if (shared->mode == SILENT)
		__atomic_add_fetch(&shared->reads, 1, __ATOMIC_SEQ_CST);
	/* Not for ever, so that a test that fails can exit. */
	for (tries = 0; __atomic_load_n(&shared->mode, __ATOMIC_SEQ_CST) == SILENT;
	     tries++) {
		if (tries == WAIT_TRIES / 2)
			_exit(1);
		usleep(1000);
	}
	if (shared->mode == SLOW)
		usleep(20000);
	if (!data)
		_exit(1);
	fill_pages(data, PAGES, SEED);
	if (read_in->offset + read_in->size > PAGES * page_size())
		reply(dev, in->unique, -EINVAL, NULL, 0);
	else
		reply(dev, in->unique, 0, data + read_in->offset, read_in->size);
	free(data);
}

static void __noreturn serve(int dev, unsigned int init_flags)
{
	size_t size = 1 << 20;
	char *buf = malloc(size);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct fuse_in_header *in = (void *)buf;
		struct fuse_entry_out entry = { .nodeid = 2, .attr_valid = 3600,
						.entry_valid = 3600 };
		struct fuse_attr_out attr = { .attr_valid = 3600 };
		struct fuse_open_out open_out = { .open_flags = FOPEN_KEEP_CACHE };
		struct fuse_init_out init = { .major = 7, .minor = 31,
			.max_readahead = 1 << 20, .max_background = 4,
			.congestion_threshold = 3, .max_write = 4096,
			.flags = init_flags };

		if (read(dev, buf, size) < 0) {
			if (errno == EINTR || errno == ENOENT || errno == EAGAIN)
				continue;
			_exit(errno == ENODEV ? 0 : 1);
		}
		switch (in->opcode) {
		case FUSE_INIT:
			reply(dev, in->unique, 0, &init, sizeof(init));
			break;
		case FUSE_LOOKUP:
			fill_attr(&entry.attr, 2);
			if (strcmp((char *)(in + 1), "kinds"))
				reply(dev, in->unique, -ENOENT, NULL, 0);
			else
				reply(dev, in->unique, 0, &entry, sizeof(entry));
			break;
		case FUSE_GETATTR:
			fill_attr(&attr.attr, in->nodeid);
			reply(dev, in->unique, 0, &attr, sizeof(attr));
			break;
		case FUSE_OPEN:
			reply(dev, in->unique, 0, &open_out, sizeof(open_out));
			break;
		case FUSE_READ:
			serve_read(dev, in);
			break;
		case FUSE_RELEASE:
		case FUSE_DESTROY:
			reply(dev, in->unique, 0, NULL, 0);
			break;
		case FUSE_FORGET:
		case FUSE_BATCH_FORGET:
		case FUSE_INTERRUPT:
			break;
		default:
			/* FUSE_FLUSH among them: close() asks for it but once then. */
			reply(dev, in->unique, -ENOSYS, NULL, 0);
		}
	}
}

static void set_mode(enum daemon_mode mode)
{
	__atomic_store_n(&shared->mode, mode, __ATOMIC_SEQ_CST);
}

#define FUSE_DIR	"/tmp/asap_fuse"

static pid_t fuse_mount(unsigned int init_flags)
{
	char options[128];
	pid_t pid;
	int dev;

	/* Into a namespace of the test's own. */
	fs_mount("tmpfs", MNT);
	shared = mmap(NULL, page_size(), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	expect(shared != MAP_FAILED);
	expect(!mkdir(FUSE_DIR, 0755) || errno == EEXIST);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (dev < 0)
		skip_test("/dev/fuse: %s", strerror(errno));
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
	expect(!mount("asap", FUSE_DIR, "fuse.asap", 0, options));
	pid = fork();
	expect(pid >= 0);
	if (!pid)
		serve(dev, init_flags);
	close(dev);
	return pid;
}

static void fuse_slow(void)
{
	struct used_file file;

	fuse_mount(FUSE_ASYNC_READ);
	app_with_me();
	used_open(&file, FUSE_DIR "/kinds", PAGES, true);
	used_learn(&file, SEED);
	set_mode(SLOW);
	expect_fetched(&file);
	set_mode(ANSWER);
}

/* The prefetch hangs in a read. Everything else goes on. */
static void fuse_silent(unsigned int init_flags, bool remove)
{
	struct used_file file;
	long long switches;
	pid_t daemon, app;

	daemon = fuse_mount(init_flags);
	app_with_me();
	used_open(&file, FUSE_DIR "/kinds", PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	set_mode(SILENT);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(__atomic_load_n(&shared->reads, __ATOMIC_SEQ_CST));
	switches = app_stat(APP, "switches");
	expect_eq(app_write(APP, "switch", "end"), 0);
	app_wait_switches(APP, switches + 1);

	/* The next window: nothing is fetched, and it ends by itself. */
	expect_eq(knob_write("window_timeout_ms", "10"), 0);
	expect_eq(app_write(APP, "switch", "start"), 0);
	app_wait_switches(APP, switches + 2);
	expect_eq(knob_write("window_timeout_ms", "600000"), 0);

	/* A member that exits while it hangs. */
	app = fork_idle();
	expect(app_has_pid(APP, app));
	kill_child(app);

	if (remove) {
		expect_eq(app_remove(APP), 0);
		app_with_me();
	}
	/* Somebody answers after all: the file can be read, and learned. */
	set_mode(ANSWER);
	used_touch(&file, 1, SEED);
	used_learn(&file, SEED);
	expect_fetched(&file);
	used_close(&file);
	wait_for(!umount(FUSE_DIR));
	expect_child(daemon);
}

static void fuse_silent_async(void)
{
	fuse_silent(FUSE_ASYNC_READ, false);
}

/* Here the readahead call itself waits for the answer. */
static void fuse_silent_sync(void)
{
	fuse_silent(0, false);
}

static void fuse_silent_removed(void)
{
	fuse_silent(0, true);
}

/* The daemon dies: whoever waited for it gets an error, and nobody else minds. */
static void fuse_killed(void)
{
	struct used_file file;
	pid_t daemon;

	daemon = fuse_mount(0);
	app_with_me();
	used_open(&file, FUSE_DIR "/kinds", PAGES, true);
	used_learn(&file, SEED);
	used_drop(&file);
	set_mode(SILENT);
	expect_eq(app_write(APP, "switch", "start"), 0);
	wait_for(__atomic_load_n(&shared->reads, __ATOMIC_SEQ_CST));
	kill_child(daemon);
	app_end(APP);
	expect_eq(app_remove(APP), 0);
	used_close(&file);
	wait_for(!umount(FUSE_DIR));
}

static const struct asap_test tests[] = {
	{ "ext4", on_ext4 },
	{ "f2fs", on_f2fs },
	{ "erofs", on_erofs },
	{ "overlayfs", on_overlay },
	{ "overlayfs: copied up between switches", copied_up },
	{ "tmpfs", on_tmpfs },
	{ "bind mount", on_bind },
	{ "loop device", on_loop },
	{ "FUSE: a slow daemon", fuse_slow },
	{ "FUSE: a silent daemon, reads in the background", fuse_silent_async },
	{ "FUSE: a silent daemon, reads waited for", fuse_silent_sync },
	{ "FUSE: a silent daemon, app removed", fuse_silent_removed },
	{ "FUSE: a daemon that dies", fuse_killed },
};

int main(void)
{
	return asap_run_tests(tests, ARRAY_SIZE(tests), ASAP_NEEDS_NOTHING);
}
