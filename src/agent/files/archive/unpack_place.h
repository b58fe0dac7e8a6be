/* unpack_place.h - where an entry of an archive may go: strictly beneath the target.
 *
 * A name is taken apart once, by unpack_name(); from then on only single names are used, in
 * directories that were entered without following a link. So nothing in an archive, and
 * nobody who changes the tree meanwhile, leads out of the target. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "wire/tar.h"

struct error;

struct unpack_name {
	size_t depth;                /* directories above it, beneath the target */
	size_t last;                 /* where its last part starts */
	size_t len;                  /* 0: the target itself */
	char text[TAR_NAME_MAX + 1]; /* no '.', no '..', no slash too many */
};

/* Leading slashes and '.' fall away; '..' anywhere is refused, an empty name too. */
MUST_CHECK int unpack_name(const char *given, struct unpack_name *ret, struct error *err);

/* May a link that is `depth` directories deep lead there? Only to a relative place, upwards
 * first if at all, and no further than to the target. As no entry is put below a link, every link
 * then stays beneath the target, through whichever other links it leads. */
bool unpack_link_stays(const char *to, size_t depth);

/* What may be made yet, of what may be made at all. */
struct unpack_room {
	uint32_t left, max;
};
/* Takes one. ERR_LIMIT when none is left. */
MUST_CHECK int unpack_take(struct unpack_room *room, struct error *err);

/* Opens the directory the name is in (O_PATH), from `target` on, one by one. Those that are
 * missing are made, each taken from `room`; NULL: none is made. A link or a file on the way is
 * ERR_INVALID. */
MUST_CHECK int unpack_parent(int target, const struct unpack_name *name, struct unpack_room *room,
                             struct error *err);
