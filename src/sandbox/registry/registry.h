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

enum { OWNER_MAX = 255, SANDBOX_NAME_MAX = 64, INSTANCE_LEN = 16, SANDBOX_ENV_MAX = 4096 };

enum sandbox_state {
	SANDBOX_CREATING,
	SANDBOX_AWAKE,
	SANDBOX_ASLEEP,
	SANDBOX_DELETING,
	SANDBOX_STATE_COUNT
};

struct sandbox_row {
	/* The id in it. `fresh`: its files, if there still are any, are to go, and new ones to be
	 * made when it wakes. */
	struct spec spec;
	char owner[OWNER_MAX + 1];
	char name[SANDBOX_NAME_MAX + 1]; /* "": none */
	char engine[16];
	enum sandbox_state state;
	char instance[INSTANCE_LEN +
	              1];          /* the server that has it awake, or makes or deletes it; "" */
	bool temporary;            /* goes when its server does */
	bool all_mounts;           /* sees whatever the server that wakes it offers */
	int64_t created_s, used_s; /* wall clock */
	uint32_t idle_s;           /* sleeps after so long without work; 0: never */
	uint32_t lifetime_s;       /* is deleted so long after it was made; 0: never */
	/* NAME=value of its programs, each terminated, an empty one ends them. */
	char env[SANDBOX_ENV_MAX];
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
/* Whether its files are to be made anew: see struct sandbox_row. */
MUST_CHECK int registry_set_fresh(struct store *store, const char *id, bool fresh,
                                  struct error *err);
MUST_CHECK int registry_touch(struct store *store, const char *id, int64_t now_s,
                              struct error *err);
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
/* What an owner has, by the limits of its sandboxes. */
struct registry_sums {
	uint64_t sandboxes, disk;
	uint64_t memory; /* of those that are awake or being made, in whatever server */
};
MUST_CHECK int registry_sum(struct store *store, const char *owner, struct registry_sums *ret,
                            struct error *err);
/* Those asleep whose lifetime is over, whoever's they are; at most `max` at a time. */
MUST_CHECK int registry_list_expired(struct store *store, int64_t now_s,
                                     char (*ids)[SPEC_ID_LEN + 1], size_t max, size_t *count,
                                     struct error *err);
/* Like registry_find(), of any owner: for what the server does by itself. */
MUST_CHECK int registry_get(struct store *store, const char *id, struct sandbox_row *ret,
                            struct error *err);
/* Whether any row, of whatever owner, has this id: directories without one are swept. */
MUST_CHECK int registry_has(struct store *store, const char *id, bool *ret, struct error *err);
