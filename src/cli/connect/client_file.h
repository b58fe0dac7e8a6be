/* client_file.h - a client's file, read and replaced with care.
 *
 * A link is followed to its target, so that dotfile managers keep working. The old file
 * stays as FILE.belljar-backup (-2, -3 ... if there are some already); its mode and owner
 * are kept. A new file is 0600, and missing directories are made for us alone.
 *
 * From open to close the target's directory is locked, so that no two of us edit at the same
 * time. The client itself does not know of the lock: right before the file is replaced it
 * must still hold what was read, and if not, the caller starts over.
 *
 *   client_file_open -> edit the text -> client_file_replace -> client_file_close */
#pragma once
#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"

struct error;

struct client_file {
	const char *path; /* as the user names it; borrowed */
	char *target;     /* what it resolves to; NULL if there is no file yet */
	struct stat st;   /* of the target */
	struct buf text;  /* empty if there is no file yet */
	int lock;         /* the directory; closing it unlocks */
};

/* Waits up to five seconds for the lock. */
MUST_CHECK int client_file_open(struct client_file *ret, const char *path, struct error *err);
void client_file_close(struct client_file *file);

/* 1: done; *ret_backup is the backup's path, or NULL if there was nothing to keep. The
 * caller frees it. 0: the file is no longer what was read; open it again. On 0 and on -1
 * the file is as it was, and no backup stays behind. */
MUST_CHECK int client_file_replace(const struct client_file *file, struct view text,
                                   char **ret_backup, struct error *err);
