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
	const struct ids_taken *taken; /* blocks with an id in these ranges are not used; or NULL */
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

/* Fails if every block has an id in a range of `taken`, so that no sandbox could be created. */
MUST_CHECK int ids_check_range(const struct ids *ids, struct error *err);
/* Claims a random free block for a sandbox whose directory exists and has no owner from a block. */
MUST_CHECK int ids_claim(struct ids *ids, const char *sandbox, struct ids_block *ret,
                         struct error *err);
/* The block of an existing sandbox, from the owner of its directory. */
MUST_CHECK int ids_from_owner(const struct ids *ids, const char *sandbox, struct ids_block *ret,
                              struct error *err);
/* Fails if an id of the block was given to a user of the host after the sandbox was created. The
 * sandbox must not run then, but its files may be removed. */
MUST_CHECK int ids_check_taken(const struct ids *ids, const char *sandbox,
                               const struct ids_block *block, struct error *err);
/* Rewrites the claim for the new name `sandbox`. To be called before the sandbox's directory is
 * renamed: ids_sweep() removes claims whose directory does not exist. */
MUST_CHECK int ids_rename(struct ids *ids, const struct ids_block *block, const char *sandbox,
                          struct error *err);
/* Removes the claim of a sandbox whose files are gone. A block number of 0 (the server died between
 * claim and chown) sweeps instead, since the owner of the directory does not name a block. */
void ids_release(struct ids *ids, const struct ids_block *block, const char *sandbox);
/* Removes claims of sandboxes and of state directories that no longer exist. To be called before
 * the spawner enters its own mount tree, where other state directories are invisible. Returns how
 * many of the remaining claims are on blocks with an id in a range of `taken`; `why` gets the error
 * of one of them. */
unsigned ids_sweep(struct ids *ids, struct error *why);

/* The text for /proc/PID/uid_map or gid_map of the sandbox's user namespace. */
enum { IDS_MAP_SIZE = 160 };
void ids_map(const struct userns *userns, const struct ids_block *block, bool gids,
             char out[IDS_MAP_SIZE]);

/* --- ids of the host's users (ids_taken.c) --- */

/* systemd reserves the range from IDS_HOST_FIRST to IDS_HOST_LAST for containers, but useradd(8)
 * and LXD give parts of it to users. IDS_HOST_LAST_BLOCK is the first of its last 65536 ids, which
 * no sandbox gets. */
enum { IDS_HOST_FIRST = 524288, IDS_HOST_LAST = 1879048191, IDS_HOST_LAST_BLOCK = 1878982656 };

struct ids_range {
	uint32_t first, last;
	const char *file; /* of /etc, where the range was found */
	bool is_subordinate;
	char owner[33]; /* the name in that line, cut */
};

struct ids_taken {
	struct ids_range *ranges;
	size_t count;
};

/* Reads subuid, subgid, passwd and group of the directory `etc`: all ranges with an id of at least
 * `lowest`. A missing file has none; a malformed line is skipped. ids_taken_done() frees them. */
MUST_CHECK int ids_taken_read(const char *etc, uint32_t lowest, struct ids_taken *ret,
                              struct error *err);
MUST_CHECK int ids_taken_add(struct ids_taken *taken, const struct ids_range *range,
                             struct error *err);
void ids_taken_done(struct ids_taken *taken);
/* A range that shares an id with first..last; NULL: none, or `taken` is NULL. */
const struct ids_range *ids_taken_find(const struct ids_taken *taken, uint64_t first,
                                       uint64_t last);
/* The first source of users in etc/nsswitch.conf that ids_taken_read() does not see, such as "sss"
 * or "ldap"; empty: none. */
enum { IDS_SOURCE_SIZE = 32 };
void ids_unlisted_source(const char *etc, char out[IDS_SOURCE_SIZE]);
/* Chooses the user id of a server that root starts; the id before it owns the files of sandboxes'
 * roots. There are two candidates. `present`, the choice of an earlier start, is kept as long as it
 * is free, because files belong to it. *ret is 0 if this user namespace has neither candidate. */
MUST_CHECK int ids_choose_server(const struct ids_taken *taken, uint32_t present, uint32_t *ret,
                                 struct error *err);

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
