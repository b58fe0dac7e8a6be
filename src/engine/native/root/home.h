/* home.h - where the spawner lives: a user namespace in which it is root, and a small tree of
 * mounts that holds just what sandboxes are made of.
 *
 *   /usr /bin ...     the host's programs, read-only (those that are real directories)
 *   /skeleton         the lowest layer of every root
 *   /sandboxes        their own files
 *   /dev              six device nodes
 *   /mounts/N         directories of the host the server was told to offer
 *   /gpu/D/N, /gpu/D/fN   device nodes and files of the processors CDI describes
 *   /proc             the host's, for id maps
 *   /new /empty       where a root is assembled; nothing
 *
 * A sandbox starts as a copy of this tree, and a small one is copied fast. Three modes, told
 * apart once and then by numbers only:
 *
 *   root     the host's own user namespace. Each sandbox gets 65536 ids of its own
 *   mapped   an ordinary user with subordinate ids: three of them for each sandbox
 *   alone    an ordinary user without: agent and programs have the user's own id
 *
 * In the first two nothing in a sandbox ever has an id of the host or of the user. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/cdi/cdi.h"
#include "engine/native/root/skeleton.h"
#include "engine/native/usage/disk.h"

struct error;

enum home_mode { HOME_ROOT, HOME_MAPPED, HOME_ALONE, HOME_MODE_COUNT };
extern const char *const home_mode_names[HOME_MODE_COUNT];

enum { HOME_MOUNTS_MAX = 64 };
#define HOME_SANDBOXES "/sandboxes"

/* Numbers as the spawner sees them. */
struct home_ids {
	uint32_t files; /* owns the skeleton and every root; nothing runs as it. Inside: 0 */
	uint32_t first, block, count; /* ids to give away: `count` blocks of `block` each */
};

struct home {
	enum home_mode mode;
	char why[240]; /* why not a better mode; empty: root */
	struct home_ids ids;
	uid_t uid; /* alone: ours, which is theirs */
	gid_t gid;
	int proc;          /* the host's /proc, verified */
	bool usr_is_whole; /* nothing else is mounted below the host's /usr */
	uint64_t gpus;     /* those that can be shown */
};

/* Becomes root of a user namespace, as good as can be had. Single-threaded, early. */
MUST_CHECK int home_enter(struct home *home, bool alone, struct error *err);

/* What the tree is made from: opened since home_enter(), while the host's was there. */
struct home_parts {
	const char *state; /* the state directory: a place to mount on */
	const struct skeleton *skeleton;
	const struct disk *disk;
	const char *const *mounts; /* paths of directories */
	size_t mount_count;
	const struct cdi *gpus;
};
/* Gives the host's tree up. */
MUST_CHECK int home_settle(struct home *home, const struct home_parts *parts, struct error *err);
