/* user.h - the sandbox's user, whose rights programs and workers have. The agent itself may have
 * another user id and capabilities. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "wire/table.h"

struct error;

struct user {
	uint32_t uid, gid;
	size_t group_count;
	uint32_t groups[WIRE_GROUPS_MAX]; /* supplementary */
};

/* In a child of the agent: takes on the user's ids and groups for good, gives up all capabilities,
 * and verifies both. */
MUST_CHECK int user_become(const struct user *user, struct error *err);
