/* client_file.h - a client's file, read and replaced with care.
 *
 * A link is followed to its target, so that dotfile managers keep working. The old file
 * stays as FILE.belljar-backup (-2, -3 ... if there are some already); its mode and owner
 * are kept. A new file is 0600, and so are missing directories made for us alone. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

#include "base/attr.h"
#include "base/buf.h"

struct error;

struct client_file {
	const char *path; /* as the user names it; borrowed */
	char *target;     /* what it resolves to; NULL if there is no file yet */
	struct stat st;   /* of the target */
	struct buf text;  /* empty if there is no file yet */
};

MUST_CHECK int client_file_open(struct client_file *ret, const char *path, struct error *err);
void client_file_close(struct client_file *file);

/* *ret_backup is the backup's path, or NULL if there was nothing to keep; the caller frees
 * it. When this fails the file is as it was and the backup is gone again. */
MUST_CHECK int client_file_replace(const struct client_file *file, struct view text,
                                   char **ret_backup, struct error *err);
