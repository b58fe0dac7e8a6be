/* client_file.h - reads and atomically replaces a client's configuration file.
 *
 * A symbolic link is followed to its target, because dotfile managers use links. The old file stays
 * as FILE.belljar-backup (-2, -3 ... if that exists); the new file gets its mode and owner. A file
 * that did not exist gets mode 0600, and missing directories get 0700.
 *
 * From open to close the target's directory is locked with flock(), so that two belljar processes
 * do not edit at the same time. The client does not take the lock: if the file changed since it was
 * read, client_file_replace() returns 0 and the caller starts again.
 *
 *   client_file_open -> edit the text -> client_file_replace -> client_file_close */
#pragma once
#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"

struct error;

struct client_file {
	const char *path; /* as the user gave it; borrowed */
	char *target;     /* the real path; NULL if the file does not exist yet */
	struct stat st;   /* of the target */
	struct buf text;  /* empty if the file does not exist yet */
	int lock;         /* descriptor of the directory; closing it unlocks */
};

/* Waits up to five seconds for the lock. */
MUST_CHECK int client_file_open(struct client_file *ret, const char *path, struct error *err);
void client_file_close(struct client_file *file);

/* Returns 1 when the file is replaced; *ret_backup is the path of the backup, which the caller
 * frees, or NULL for a new file. Returns 0 if the file changed since it was opened. On 0 and -1 the
 * file is not changed and no backup is left. */
MUST_CHECK int client_file_replace(const struct client_file *file, struct view text,
                                   char **ret_backup, struct error *err);
