// SPDX-License-Identifier: GPL-2.0
/*
 * The state folder, and moving tables between it and the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asapctl.h"
#include "state.h"
#include "sysfs.h"

const char *state_folder(void)
{
	const char *folder = getenv("ASAPCTL_STATE");

	return folder && *folder ? folder : "/var/lib/asap";
}

static void state_path(char *path, const char *app, const char *suffix)
{
	snprintf(path, PATH_MAX, "%s/%s%s", state_folder(), app, suffix);
}

static int write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t put = write(fd, text, len);

		if (put < 0)
			return errno;
		text += put;
		len -= put;
	}
	return 0;
}

/* A rename is on disk when its folder is. */
static int sync_folder(const char *file)
{
	const char *slash = strrchr(file, '/');
	char path[PATH_MAX] = ".";
	int fd, error = 0;

	if (slash)
		snprintf(path, sizeof(path), "%.*s", (int)(slash - file + 1), file);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (fsync(fd))
		error = errno;
	close(fd);
	return error;
}

/* mkstemp() makes files for their owner alone. */
static int replace_file(const char *path, const char *text, size_t len)
{
	char tmp[PATH_MAX];
	int fd, error;

	/* A path that is too long lacks its end, and mkstemp() refuses it. */
	snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path);
	fd = mkstemp(tmp);
	if (fd < 0)
		return errno;
	error = write_all(fd, text, len);
	if (!error && fsync(fd))
		error = errno;
	if (close(fd) && !error)
		error = errno;
	if (!error && rename(tmp, path))
		error = errno;
	if (error)
		unlink(tmp);
	return error ? error : sync_folder(path);
}

int table_save(const char *app, const char *path)
{
	char from[PATH_MAX];
	size_t len;
	char *text;
	int error;

	asap_path(from, "apps/%s/candidates", app);
	text = file_read(from, &len);
	if (!text) {
		complain("%s: cannot read the table: %s", app, app_reason(errno));
		return EXIT_ERROR;
	}
	if (path) {
		error = replace_file(path, text, len);
		if (error)
			complain("cannot write %s: %s", path, strerror(error));
	} else {
		error = fwrite(text, 1, len, stdout) != len;
	}
	free(text);
	return error ? EXIT_ERROR : EXIT_DONE;
}

/* The last line commits; without it nothing is replaced, and nothing is wrong. */
static bool has_last_line(const char *text, size_t len)
{
	const char *line;

	if (!len || text[len - 1] != '\n')
		return false;
	line = memrchr(text, '\n', len - 1);
	return line && !strncmp(line + 1, "end ", 4);
}

int table_load(const char *app, const char *path)
{
	char to[PATH_MAX];
	size_t len;
	char *text;
	int error;

	text = file_read(path, &len);
	if (!text)
		return errno;
	asap_path(to, "apps/%s/candidates", app);
	error = has_last_line(text, len) ? file_write(to, text, len) : EBADMSG;
	free(text);
	return error;
}

int state_save(const char *app)
{
	char path[PATH_MAX];

	if (mkdir(state_folder(), 0700) && errno != EEXIST) {
		complain("cannot make %s: %s", state_folder(), strerror(errno));
		return EXIT_ERROR;
	}
	state_path(path, app, ".table");
	return table_save(app, path);
}

static const char *foreign(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is no file";
	if (st->st_uid != geteuid())
		return "it belongs to another user";
	if (st->st_mode & 077)
		return "others than its owner may use it";
	return NULL;
}

static int set_aside(const char *path, const char *app, const char *why)
{
	char bad[PATH_MAX];

	state_path(bad, app, ".bad");
	if (rename(path, bad)) {
		complain("%s: its table is of no use (%s) and stays at %s: %s", app, why,
			 path, strerror(errno));
		return EXIT_ERROR;
	}
	complain("%s: its table is of no use (%s): set aside as %s", app, why, bad);
	return EXIT_ERROR;
}

int state_load(const char *app)
{
	char path[PATH_MAX];
	struct stat st;
	int error;

	state_path(path, app, ".table");
	if (lstat(path, &st)) {
		if (errno == ENOENT)
			return EXIT_DONE;
		complain("%s: %s", path, strerror(errno));
		return EXIT_ERROR;
	}
	if (foreign(&st))
		return set_aside(path, app, foreign(&st));
	error = table_load(app, path);
	switch (error) {
	case 0:
		return EXIT_DONE;
	case EACCES:
	case EBUSY:
	case EIO:
	case ENODEV:
	case ENOENT:
	case ENOMEM:
	case EPERM:
		/* No fault of the table's. */
		complain("%s: cannot load the table: %s", app, app_reason(error));
		return EXIT_ERROR;
	default:
		return set_aside(path, app, app_reason(error));
	}
}
