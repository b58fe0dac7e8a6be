/* ids.h - user and group ids: blocks of host ids for sandboxes, and the ids that this process may
 * use.
 *
 * A sandbox has a block of host ids of its own for as long as its files exist, awake or asleep, so
 * that two sandboxes never share an owner of files or processes. A claim of block N is a symbolic
 * link ids/N in a directory that all servers of this user share; its target names the state
 * directory and the sandbox. symlinkat() fails if the name exists, so two servers cannot claim one
 * block. The owner of a sandbox's directory says which block the sandbox has.
 *
 *   ids_claim -> the sandbox's directory is chowned -> ids_from_owner at every wake -> ids_release
 *
 * Used by the spawner; struct ids is the caller's, and neither it nor a block owns anything. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct userns;

/* A sandbox's directory that is being removed has this prefix instead of "sb_". */
#define IDS_REMOVED_PREFIX "gn_"

struct ids {
	const struct userns *userns;
	int dir;          /* ids/, or -1 in the mode USERNS_SINGLE_ID, which has no blocks */
	int sandboxes;    /* the directory of all sandboxes of this state directory */
	char state[4096]; /* absolute path of the state directory, as it stands in claims */
};

/* The host ids of one sandbox, as numbered in the spawner's user namespace. */
struct ids_block {
	uint32_t number; /* counted from 1; 0 in the mode USERNS_SINGLE_ID */
	uint32_t agent, user, nobody;
};

struct ids_block ids_block(const struct userns *userns, uint32_t number);

/* Claims a random free block for a sandbox whose directory exists and has no owner from a block. */
MUST_CHECK int ids_claim(struct ids *ids, const char *sandbox, struct ids_block *ret,
                         struct error *err);
/* The block of an existing sandbox, from the owner of its directory. */
MUST_CHECK int ids_from_owner(const struct ids *ids, const char *sandbox, struct ids_block *ret,
                              struct error *err);
/* Rewrites the claim for the new name `sandbox`. To be called before the sandbox's directory is
 * renamed: ids_sweep() removes claims whose directory does not exist. */
MUST_CHECK int ids_rename(struct ids *ids, const struct ids_block *block, const char *sandbox,
                          struct error *err);
/* Removes the claim of a sandbox whose files are gone. A block number of 0 (the server died between
 * claim and chown) sweeps instead, since the owner of the directory does not name a block. */
void ids_release(struct ids *ids, const struct ids_block *block, const char *sandbox);
/* Removes claims of sandboxes and of state directories that no longer exist. To be called before
 * the spawner enters its own mount tree, where other state directories are invisible. */
void ids_sweep(struct ids *ids);

/* The text for /proc/PID/uid_map or gid_map of the sandbox's user namespace. */
enum { IDS_MAP_SIZE = 160 };
void ids_map(const struct userns *userns, const struct ids_block *block, bool gids,
             char out[IDS_MAP_SIZE]);

/* --- ids of this process's own user namespace: /proc/self/uid_map and gid_map (idmap.c) --- */

/* Whether both maps contain `id`. */
bool idmap_has(uint64_t id);
/* How many ids both maps contain from 0 on without a gap. */
uint64_t idmap_count(void);

/* --- subordinate ids of a user: /etc/subuid and /etc/subgid (subids.c) --- */

struct subids {
	uint32_t first, count;
};

/* The user's largest range in `file`, whose name contains "subuid" or "subgid", if it has at least
 * `min` ids and newuidmap or newgidmap is installed. False: `why` says what is missing and which
 * command mends it. */
bool subids_find(const char *file, uid_t uid, uint32_t min, struct subids *ret, char *why,
                 size_t why_size);
