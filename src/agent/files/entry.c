#include "agent/files/entry.h"

#include <stdint.h>
#include <unistd.h>

#include "base/error.h"

static uint8_t type_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return WIRE_FILE_REGULAR;
	case S_IFDIR:
		return WIRE_FILE_DIRECTORY;
	case S_IFLNK:
		return WIRE_FILE_LINK;
	default:
		return WIRE_FILE_OTHER;
	}
}

/* utimensat() lets anybody set any second there is. */
static uint64_t milliseconds(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	if (time->tv_sec >= INT64_MAX / 1000)
		return INT64_MAX;
	return (uint64_t)time->tv_sec * 1000 + (uint64_t)time->tv_nsec / 1000000;
}

struct wire_entry entry_of(const struct stat *st)
{
	return (struct wire_entry){
		.type = type_of(st->st_mode),
		.perm = (uint16_t)(st->st_mode & 07777),
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
		.modified_ms = milliseconds(&st->st_mtim),
		.path = { "", 0 },
		.target = { "", 0 },
	};
}

int entry_send(struct job *job, struct view path, const struct stat *st, int dir, const char *name,
               struct error *err)
{
	struct wire_entry entry = entry_of(st);
	char target[WIRE_PATH_MAX];

	entry.path = path;
	if (entry.type == WIRE_FILE_LINK) {
		ssize_t len = readlinkat(dir, name, target, sizeof target);

		if (len > 0)
			entry.target = (struct view){ target, (size_t)len };
	}
	return job_record(job, WIRE_ENTRIES, &wire_entry_record, &entry, err);
}
