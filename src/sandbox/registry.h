/* registry.h - the sandboxes there are, as rows that outlive the server.
 *
 * Written before the effect: a row says `creating` before the first file of its sandbox exists,
 * and `deleting` before the first one goes. So whatever moment a server is killed at, the rows
 * tell the next one what to finish. A row belongs to an owner, and while the sandbox is awake to
 * one server (instance); a throw-away one belongs to its server even asleep.
 *
 * Rows are checked when they are read as if a stranger had written them. A damaged one is an error
 * (ERR_SYSTEM) that names it, and is never used. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "engine/spec.h"

struct error;
struct store;

enum { OWNER_MAX = 255, SANDBOX_NAME_MAX = 64, INSTANCE_LEN = 16 };

enum sandbox_state {
	SANDBOX_CREATING,
	SANDBOX_AWAKE,
	SANDBOX_ASLEEP,
	SANDBOX_DELETING,
	SANDBOX_STATE_COUNT
};

struct sandbox_row {
	struct spec spec; /* the id in it. `fresh` is not kept: what was read is there */
	char owner[OWNER_MAX + 1];
	char name[SANDBOX_NAME_MAX + 1]; /* "": none */
	char engine[16];
	enum sandbox_state state;
	char instance[INSTANCE_LEN +
	              1];          /* the server that has it awake, or makes or deletes it; "" */
	bool throw_away;           /* goes when its server does */
	int64_t created_s, used_s; /* wall clock */
};

extern const char *const registry_migrations[];

/* Letters, digits, "._-", starting with a letter or digit; not what could be an id. */
bool registry_is_name(const char *text);

/* ERR_INVALID, EEXIST: the owner has one of that name. One that is being deleted keeps no name. */
MUST_CHECK int registry_add(struct store *store, const struct sandbox_row *row, struct error *err);
/* By id or name. ERR_NOT_FOUND, in the same words for an id that is another owner's. */
MUST_CHECK int registry_find(struct store *store, const char *owner, const char *id_or_name,
                             struct sandbox_row *ret, struct error *err);
/* Newest first. Damaged rows are passed over; the first of them is the error at the end. each()
 * must not use the store. */
MUST_CHECK int registry_each(struct store *store, const char *owner,
                             bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                             struct error *err);
/* ASLEEP -> AWAKE for this instance, or ERR_INVALID, EBUSY: another server has it. One that is
 * AWAKE for this instance already stays so: it may have ended when the row could not be written.
 * Atomic. Like the others below, ERR_NOT_FOUND if there is none. */
MUST_CHECK int registry_claim(struct store *store, const char *id, const char *instance,
                              struct error *err);
/* `instance` "": the one it has; ASLEEP leaves none, unless it is a throw-away. */
MUST_CHECK int registry_set_state(struct store *store, const char *id, enum sandbox_state state,
                                  const char *instance, struct error *err);
MUST_CHECK int registry_used(struct store *store, const char *id, int64_t now_s, struct error *err);
/* Fine if there is none. */
MUST_CHECK int registry_remove(struct store *store, const char *id, struct error *err);

/* What dead servers left: their rows that were being made, were throw-away or were being deleted
 * become DELETING with this instance and are given to `doomed`; the others become ASLEEP. Atomic:
 * of two servers that look at once, one gets them. doomed() is called when all is written and may
 * use the store; is_alive() may not. */
MUST_CHECK int registry_recover(struct store *store, const char *instance,
                                bool (*is_alive)(void *ctx, const char *instance),
                                void (*doomed)(void *ctx, const char *id), void *ctx,
                                struct error *err);
/* Whether any row, of whatever owner, has this id: directories without one are swept. */
MUST_CHECK int registry_knows(struct store *store, const char *id, bool *ret, struct error *err);
