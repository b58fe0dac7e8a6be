/* ids.h - the ids a sandbox has on the host: a block of its own, for as long as its files are.
 *
 * A claim is a link ids/<block> in one directory all servers of this user share, made with
 * its sandbox's name as target. So no two sandboxes have the same ids, awake or asleep,
 * whichever server or state directory is theirs. The owner of a sandbox's directory tells
 * its block. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/native/root/home.h"

struct error;

/* What a sandbox's directory is called while it is removed, before the rest of its id. */
#define IDS_GONE_PREFIX "gn_"

struct ids {
	const struct home *home;
	int dir; /* ids/, or -1: alone */
	int sandboxes;
	char state[4096]; /* path of the state directory: claims of others are stale without it */
};

/* The ids of one sandbox, as the spawner sees them. */
struct ids_block {
	uint32_t number; /* 0: alone */
	uint32_t agent, user, nobody;
};

struct ids_block ids_block(const struct home *home, uint32_t number);
/* Its directory exists and is nobody's yet. */
MUST_CHECK int ids_claim(struct ids *ids, const char *sandbox, struct ids_block *ret,
                         struct error *err);
/* From the owner of its directory. */
MUST_CHECK int ids_of(const struct ids *ids, const char *sandbox, struct ids_block *ret,
                      struct error *err);
/* The sandbox's directory is about to get this name. */
MUST_CHECK int ids_rename(struct ids *ids, const struct ids_block *block, const char *sandbox,
                          struct error *err);
/* Whatever was claimed for it, by that name or by the one it had before it was to go. */
void ids_release(struct ids *ids, const struct ids_block *block, const char *sandbox);
void ids_sweep(struct ids *ids); /* claims of sandboxes that are gone */

/* The text for uid_map and gid_map. */
enum { IDS_MAP_SIZE = 160 };
void ids_map(const struct home *home, const struct ids_block *block, bool gids,
             char out[IDS_MAP_SIZE]);
