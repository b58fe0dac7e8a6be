/* attend.h - a call about a process that is there: found by its name, looked at until there is
 * enough to tell or the time is over. Wakes nothing.
 *
 * Somebody else may stop the process or delete its sandbox meanwhile, so nothing is held between
 * two looks but the name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct mcp_call;
struct process;
struct sandbox;
struct tools_context;

/* Of the owner's sandboxes; `name`: of this one, by id or name, or NULL. */
MUST_CHECK int attend_find(const struct tools_context *context, const char *id, const char *name,
                           struct sandbox **ret_sandbox, struct process **ret, struct error *err);

struct attend {
	struct mcp_call *call;
	const struct tools_context *context;
	const char *process, *sandbox; /* arguments of the call */
	const void *args;
	uint64_t began_ms, until_ms;
	bool was_over; /* when the call began */
	/* Its end is always enough. */
	bool (*is_enough)(const struct attend *attend, struct process *process);
	/* Answers the call; the attend is freed afterwards. */
	void (*tell)(struct attend *attend, struct sandbox *sandbox, struct process *process);
};

/* From now on, for so long; is_enough and tell are the caller's to set. */
struct attend attend_of(struct mcp_call *call, const char *process, const char *sandbox,
                        const void *args, uint64_t patience_ms);
/* Copies *like; looks at once, and tells from within if that is enough. */
MUST_CHECK int attend_begin(const struct attend *like, struct error *err);
