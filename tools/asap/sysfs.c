// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel's files: where they are, and reading and writing them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sysfs.h"

static void root_vpath(char *path, const char *format, va_list args)
{
	const char *root = getenv("ASAPCTL_ROOT");
	int len = snprintf(path, PATH_MAX, "%s", root ? root : "");

	if (len < PATH_MAX)
		vsnprintf(path + len, PATH_MAX - len, format, args);
}

void root_path(char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	root_vpath(path, format, args);
	va_end(args);
}

/* Blanks and backslashes stand in /proc/mounts as three octal digits. */
static void unescape(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] && text[2] && text[3]) {
			*to++ = (text[1] & 7) << 6 | (text[2] & 7) << 3 | (text[3] & 7);
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

bool mount_point(const char *type, char *path)
{
	char line[2 * PATH_MAX], where[PATH_MAX], what[64];
	bool found = false;
	FILE *f;

	root_path(path, "/proc/mounts");
	f = fopen(path, "re");
	if (!f)
		return false;
	while (!found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%*s %4095s %63s", where, what) == 2 &&
			!strcmp(what, type);
	fclose(f);
	if (found) {
		unescape(where);
		memcpy(path, where, strlen(where) + 1);
	}
	return found;
}

void asap_path(char *path, const char *format, ...)
{
	static char sysfs[PATH_MAX];
	va_list args;
	size_t len;

	if (!sysfs[0] && !mount_point("sysfs", sysfs))
		memcpy(sysfs, "/sys", sizeof("/sys"));
	root_path(path, "%s/kernel/mm/asap/", sysfs);
	len = strlen(path);
	va_start(args, format);
	vsnprintf(path + len, PATH_MAX - len, format, args);
	va_end(args);
}

bool asap_present(void)
{
	char path[PATH_MAX];

	asap_path(path, "apps");
	return !access(path, F_OK);
}

char *file_read(const char *path, size_t *len)
{
	size_t used = 0, size = 4096;
	char *text = NULL, *more;
	ssize_t got;
	int fd, error = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	do {
		size *= 2;
		more = realloc(text, size);
		if (!more) {
			error = ENOMEM;
			break;
		}
		text = more;
		do {
			got = read(fd, text + used, size - used - 1);
			if (got > 0)
				used += got;
		} while (got > 0 && used < size - 1);
		if (got < 0)
			error = errno;
	} while (got > 0);
	close(fd);
	if (error) {
		free(text);
		errno = error;
		return NULL;
	}
	text[used] = '\0';
	if (len)
		*len = used;
	return text;
}

long long file_number(const char *path)
{
	char *text = file_read(path, NULL), *end;
	long long value;

	if (!text)
		return -1;
	value = strtoll(text, &end, 10);
	if (end == text)
		value = -1;
	free(text);
	return value;
}

int file_write(const char *path, const char *text, size_t len)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), error = 0;
	ssize_t put;

	if (fd < 0)
		return errno;
	while (len && !error) {
		put = write(fd, text, len);
		if (put < 0) {
			error = errno;
		} else {
			text += put;
			len -= put;
		}
	}
	close(fd);
	return error;
}

bool app_name_ok(const char *name)
{
	size_t len = strlen(name);

	if (!len || len >= APP_NAME_SIZE || !strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	for (; *name; name++)
		if (*name <= ' ' || *name > '~' || *name == '/')
			return false;
	return true;
}

const char *app_reason(int error)
{
	switch (error) {
	case ENOENT:
		return "there is no such app";
	case ESRCH:
		return "no such process, or none in the app";
	case EBUSY:
		return "a window is open or being evaluated, or another app has the process";
	case EOPNOTSUPP:
		return "ASAP is disabled; write 1 to its file 'enabled'";
	case EBADMSG:
		return "counts or checksum of the table do not match";
	case EPROTONOSUPPORT:
		return "the table is of another version";
	default:
		return strerror(error);
	}
}

int app_write(const char *app, const char *file, const char *word)
{
	char path[PATH_MAX];
	int error;

	asap_path(path, "apps/%s/%s", app, file);
	error = file_write(path, word, strlen(word));
	if (error)
		complain("%s: cannot write '%s' to '%s': %s", app, word, file,
			 app_reason(error));
	return error;
}

char *app_read(const char *app, const char *file)
{
	char path[PATH_MAX];

	asap_path(path, "apps/%s/%s", app, file);
	return file_read(path, NULL);
}

int app_make(const char *app)
{
	char path[PATH_MAX];
	int error;

	asap_path(path, "apps/create");
	error = file_write(path, app, strlen(app));
	if (error == EEXIST)
		error = 0;
	if (error)
		complain("%s: cannot make the app: %s", app, app_reason(error));
	return error;
}

long long app_switches(const char *app)
{
	char *text = app_read(app, "stat");
	long long switches;

	if (!text)
		return -1;
	switches = stat_value(text, "switches");
	free(text);
	if (switches < 0)
		errno = ENODATA;
	return switches;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int app_names(struct app_name **names)
{
	struct app_name *list = NULL, *more;
	char path[PATH_MAX];
	struct dirent *ent;
	int n = 0, room = 0;
	DIR *dir;

	asap_path(path, "apps");
	dir = opendir(path);
	if (!dir)
		return -1;
	while ((ent = readdir(dir))) {
		if (ent->d_type != DT_DIR || !app_name_ok(ent->d_name))
			continue;
		if (n == room) {
			room = room ? 2 * room : 16;
			more = reallocarray(list, room, sizeof(*list));
			if (!more) {
				free(list);
				closedir(dir);
				errno = ENOMEM;
				return -1;
			}
			list = more;
		}
		memcpy(list[n++].text, ent->d_name, strlen(ent->d_name) + 1);
	}
	closedir(dir);
	if (n)
		qsort(list, n, sizeof(*list), by_name);
	*names = list;
	return n;
}

void stat_each(char *text, stat_fn *fn, void *data)
{
	char *line, *value;

	while ((line = strsep(&text, "\n"))) {
		value = strpbrk(line, " \t");
		if (!value)
			continue;
		*value++ = '\0';
		fn(line, value + strspn(value, " \t"), data);
	}
}

long long stat_value(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (; text; text = strchr(text, '\n')) {
		text += *text == '\n';
		if (!strncmp(text, name, len) && (text[len] == ' ' || text[len] == ':'))
			return strtoll(text + len + 1, NULL, 10);
	}
	return -1;
}
