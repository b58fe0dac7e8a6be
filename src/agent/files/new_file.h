/* new_file.h - a file's new contents, which appear all at once or not at all.
 *
 * They are written into a file that has no name (O_TMPFILE), brought to the disk, and get
 * theirs. Where an old file has it, they are ".<name>.belljar-<random>" beside it for a moment
 * and renamed over it; where the file system has no files without a name, from the start. A
 * final symbolic link is followed inside the root and stays. The old file's permissions are
 * kept.
 *
 *   AUTO_NEW_FILE struct new_file file = NEW_FILE_NONE;
 *   new_file_open -> new_file_write ... -> new_file_commit
 *
 * Leaving the scope without new_file_commit() removes the temporary file. Only SIGKILL, while
 * it has a temporary name, leaves it behind. The struct and its descriptors are the caller's. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/path.h"
#include "base/attr.h"

struct error;

enum new_file_rule {
	NEW_FILE_REPLACE, /* or create */
	NEW_FILE_CREATE,  /* nothing may be there, not even a link that leads nowhere */
};

struct new_file {
	struct view path; /* as the client wrote it; the request's */
	enum new_file_rule rule;
	struct path_parent place;
	int fd;                       /* of the temporary file */
	uint64_t size;                /* written so far */
	uint64_t max;                 /* the most that may be */
	bool named;                   /* it is there as `temp`: somebody has to remove it */
	char temp[PATH_NAME_MAX + 1]; /* the name it has or may need */
};
#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1, .place = {.dir = -1 }                                                    \
	}

/* "notes/" is no file, and no name for one. */
MUST_CHECK int new_file_check_name(struct view path, struct error *err);

/* perm: of a file that is not there yet, less the umask. A file the user may not write to
 * is refused, although its directory would let it be replaced. */
MUST_CHECK int new_file_open(struct new_file *file, const struct job *job, struct view path,
                             enum new_file_rule rule, mode_t perm, uint64_t max, struct error *err);
/* Past max it is ERR_LIMIT. */
MUST_CHECK int new_file_write(struct new_file *file, struct view bytes, struct error *err);
MUST_CHECK int new_file_commit(struct new_file *file, struct error *err);
void new_file_done(struct new_file *file);
static inline void cleanup_new_file(struct new_file *file)
{
	new_file_done(file);
}
#define AUTO_NEW_FILE CLEANUP(cleanup_new_file)

/* fsync(2), where the file system knows how to. */
MUST_CHECK int new_file_sync(int fd, struct view path, struct error *err);

/* rename(2) to a name that must be free: EEXIST if it is not. Where the kernel cannot tell by
 * itself, the file gets a second name, which replaces nothing either, and loses the first. What
 * can have one name only (directories; anything, on some file systems) is renamed after a look:
 * there a latecomer may be replaced. Returns 0, or -1 and errno. */
MUST_CHECK int rename_to_free(int from_dir, const char *from, int to_dir, const char *to);
