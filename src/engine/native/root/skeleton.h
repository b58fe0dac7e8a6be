/* skeleton.h - the lowest layer of image `host`: a small tree that gives the machine's own
 * programs a place to run.
 *
 * It holds directories to mount on, the links of the host's root (/bin, /lib ...), and an /etc
 * of copied files that programs need and that tell nothing (alternatives, certificates, fonts,
 * the loader's configuration ...), or made ones (passwd, group, hosts ...). No file of it is a
 * file of the host, and nothing of the host's /etc gets in that the table does not name.
 *
 * One is made per state of the host's files and shared by all sandboxes, read-only, below
 * overlays. It is locked as long as somebody uses it. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"

struct error;

enum { SKELETON_NAME_SIZE = 40 };

struct skeleton {
	int dir;                       /* of the tree; holds the lock */
	char name[SKELETON_NAME_SIZE]; /* in `parent` */
	/* What of the host's root are real directories besides /usr (no merged /usr):
	 * names to be laid over like /usr. NULL ends them. */
	const char *over[8];
};

/* Finds or makes the one for the host's files as they are; files belong to owner:group. The
 * host's tree must be visible. Removes those nobody uses any more. */
MUST_CHECK int skeleton_open(int parent, uid_t owner, gid_t group, struct skeleton *ret,
                             struct error *err);
