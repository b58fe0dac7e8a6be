/* new_file.h - a file's new contents, which appear completely or not at all.
 *
 * The contents are written to a file without a name (O_TMPFILE), brought to the disk, and linked
 * to their name. If an old file has the name, the new one is linked beside it for a moment, as
 * ".<name>.belljar-<random>", and renamed over the old one; on file systems without O_TMPFILE it
 * has that name from the start. A symbolic link at the end of the path is followed inside the root
 * and stays. The old file's permissions are kept.
 *
 *   AUTO_NEW_FILE struct new_file file = NEW_FILE_NONE;
 *   new_file_open -> new_file_write ... -> new_file_commit
 *
 * Leaving the scope without new_file_commit() removes the temporary file. Only SIGKILL, while the
 * file has its temporary name, leaves it behind. The caller owns the struct and its descriptors. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/path.h"
#include "base/attr.h"

struct error;

struct new_file {
	struct view path; /* as the client wrote it, in the request */
	bool must_be_new; /* nothing may have the name, not even a link without a target */
	struct path_parent place;
	int fd;                       /* of the temporary file */
	uint64_t size;                /* written so far */
	uint64_t max;                 /* limit of `size` */
	bool named;                   /* the file is linked as `temp` */
	char temp[PATH_NAME_MAX + 1]; /* its temporary name, if it needs one */
};
#define NEW_FILE_NONE                                                                              \
	{                                                                                          \
		.fd = -1, .place = {.dir = -1 }                                                    \
	}

/* Refuses a path that ends in a slash: it names a directory. */
MUST_CHECK int new_file_check_name(struct view path, struct error *err);

/* perm is for a file that does not exist, less the umask. An old file that the user may not write
 * to is refused, although rename(2) would replace it. */
MUST_CHECK int new_file_open(struct new_file *file, const struct job *job, struct view path,
                             bool must_be_new, mode_t perm, uint64_t max, struct error *err);
/* ERR_LIMIT beyond `max`. */
MUST_CHECK int new_file_write(struct new_file *file, struct view bytes, struct error *err);
MUST_CHECK int new_file_commit(struct new_file *file, struct error *err);
void new_file_done(struct new_file *file);
static inline void cleanup_new_file(struct new_file *file)
{
	new_file_done(file);
}
#define AUTO_NEW_FILE CLEANUP(cleanup_new_file)

/* fsync(2); a file system without it is no error. */
MUST_CHECK int new_file_sync(int fd, struct view path, struct error *err);

/* rename(2) to a name that must be free: EEXIST if it is not. On file systems without
 * RENAME_NOREPLACE the file gets a second link, which replaces nothing either, and loses the first.
 * Where no second link is possible (directories, some file systems) the name is checked before the
 * rename: a file that another process creates in between is replaced. Returns 0, or -1 and
 * errno. */
MUST_CHECK int rename_to_free(int from_dir, const char *from, int to_dir, const char *to);
