/* unpack_place.h - where an entry of an archive may be created: strictly beneath the target.
 *
 * A name is checked once, by unpack_name(). From then on it is used one component at a time, in
 * directories that were opened without following a symbolic link. So neither a name or a link in
 * the archive, nor a process that renames directories or plants links meanwhile, leads out of the
 * target. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"

struct error;

struct unpack_name {
	const char *text; /* the archive's; valid as long as it is there */
	size_t depth;     /* directories above it, beneath the target */
	size_t last;      /* where its last component starts */
};

/* Fails unless the name is as PACK writes it: relative, no empty, '.' or '..' component. */
MUST_CHECK int unpack_name(const char *text, struct unpack_name *ret, struct error *err);

/* Whether a symbolic link `depth` directories beneath the target may lead to `to`: a relative path
 * that goes up first, if at all, and no further than to the target. No entry is created below a
 * link, so every such link stays beneath the target, through whichever other links it leads. */
bool unpack_link_stays(const char *to, size_t depth);

/* How many entries may still be created, of how many in all. */
struct unpack_quota {
	uint32_t left, max;
};
/* Takes one entry off the quota. ERR_LIMIT if none is left. */
MUST_CHECK int unpack_quota_take(struct unpack_quota *quota, struct error *err);

/* Opens the directory that the name is in (O_PATH), if it exists. Otherwise -1, and errno. */
int unpack_find_parent(int target, const struct unpack_name *name);
/* Opens the directory that the name is in (O_PATH). Missing directories are created, each taken
 * from the quota. A symbolic link or a file on the way is ERR_INVALID. */
MUST_CHECK int unpack_open_parent(int target, const struct unpack_name *name,
                                  struct unpack_quota *quota, struct error *err);
