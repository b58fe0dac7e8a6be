/* subids.h - the ids the machine's owner lets a user give away: /etc/subuid, /etc/subgid. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct subids {
	uint32_t first, count;
};

/* The largest range of the user, by name or number, of at least so many; and the program that
 * hands it out must be there. False: `why` says what is missing, and the fix. */
bool subids_find(const char *file, uid_t uid, uint32_t least, struct subids *ret, char *why,
                 size_t why_size);
