/* registry.h - the table of all sandboxes, in an SQLite database that outlives the servers.
 *
 * A row is written before its effect: it says CREATING before the first file of its sandbox exists,
 * and DELETING before the first file is removed; it is deleted after the last one. So at whatever
 * moment a server is killed, the rows tell the next server what to finish (registry_recover).
 *
 * A row belongs to an owner, and names the server (instance) that has the sandbox awake, creates it
 * or deletes it. Several servers share the database; statements that decide between them are
 * atomic.
 *
 * Rows are checked when they are read, because the file may have been damaged or edited. A damaged
 * row is an ERR_SYSTEM that names it, and is never used. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "egress/net_policy.h"
#include "engine/spec.h"

struct error;
struct store;

enum {
	OWNER_MAX = 255,
	SANDBOX_NAME_MAX = 64,
	INSTANCE_LEN = 16,
	SANDBOX_ENV_MAX = 4096,
	SANDBOX_LABELS_MAX = 1024,
	SANDBOX_HOSTS_MAX = 2048
};

enum sandbox_state {
	SANDBOX_CREATING,
	SANDBOX_AWAKE,
	SANDBOX_ASLEEP,
	SANDBOX_DELETING,
	SANDBOX_STATE_COUNT
};

struct sandbox_row {
	/* spec.fresh: a reset has begun. Old files, if there are any, must be removed and new ones
	 * created before the sandbox wakes. */
	struct spec spec;
	char owner[OWNER_MAX + 1];
	char name[SANDBOX_NAME_MAX + 1]; /* "": it has none */
	char engine[16];
	enum sandbox_state state;
	char instance[INSTANCE_LEN + 1]; /* the server responsible for it; "" while it is asleep */
	bool temporary;            /* deleted when its server exits; the column is `throw_away` */
	bool all_mounts;           /* sees all shared directories of the server that wakes it */
	int64_t created_s, used_s; /* wall clock */
	uint32_t idle_s;           /* seconds without use until it sleeps; 0: never */
	uint32_t lifetime_s;       /* seconds until it is deleted; 0: never */
	/* "NAME=value" strings one behind the other, each with its zero byte; an empty one ends the
	 * list. */
	char env[SANDBOX_ENV_MAX];
	char labels[SANDBOX_LABELS_MAX]; /* in the same format */
	enum net_mode network;
	char network_allow[SANDBOX_HOSTS_MAX]; /* rules of host_rules.h, in the same format */
};

extern const char *const registry_migrations[];

/* Whether the text can be a sandbox's name: letters, digits and "._-", beginning with a letter or
 * digit, and not of the form of an id. */
bool registry_is_name(const char *text);

/* ERR_INVALID with errnum EEXIST: the owner has a sandbox of that name. The name of a sandbox that
 * is being deleted is free again. */
MUST_CHECK int registry_add(struct store *store, const struct sandbox_row *row, struct error *err);
/* Finds a row by id or name. ERR_NOT_FOUND has the same text for an id that does not exist and for
 * one that belongs to another owner, so that ids of others cannot be probed. */
MUST_CHECK int registry_find(struct store *store, const char *owner, const char *id_or_name,
                             struct sandbox_row *ret, struct error *err);
/* Calls each() for the owner's rows, newest first, until it returns false. Damaged rows are
 * skipped; the error of the first one is returned at the end. each() must not use the store. */
MUST_CHECK int registry_each(struct store *store, const char *owner,
                             bool (*each)(void *ctx, const struct sandbox_row *row), void *ctx,
                             struct error *err);
/* Changes ASLEEP to AWAKE for this instance, atomically. ERR_INVALID with errnum EBUSY: another
 * server has the sandbox. A row that is already AWAKE for this instance is accepted: the sandbox
 * may have ended while the row could not be written. registry_claim() and the functions below fail
 * with ERR_NOT_FOUND if there is no such row. */
MUST_CHECK int registry_claim(struct store *store, const char *id, const char *instance,
                              struct error *err);
/* `instance` "" leaves the row's instance as it is. ASLEEP clears the instance, except of a
 * temporary sandbox: that one stays its server's, so that it is deleted when the server exits. */
MUST_CHECK int registry_set_state(struct store *store, const char *id, enum sandbox_state state,
                                  const char *instance, struct error *err);
/* Writes the name, the idle time, the lifetime, the environment, the labels, the network policy and
 * the limits on memory, processors, processes, disk and the size of one file. ERR_INVALID with
 * errnum EBUSY: another server has the sandbox; with EEXIST: the owner has another sandbox of that
 * name. */
MUST_CHECK int registry_update(struct store *store, const struct sandbox_row *row,
                               const char *instance, struct error *err);
/* Sets spec.fresh: see struct sandbox_row. */
MUST_CHECK int registry_set_fresh(struct store *store, const char *id, bool fresh,
                                  struct error *err);
/* Sets used_s. */
MUST_CHECK int registry_touch(struct store *store, const char *id, int64_t now_s,
                              struct error *err);
/* Deletes the row and its history; no error if there is no such row. */
MUST_CHECK int registry_remove(struct store *store, const char *id, struct error *err);

/* Takes over the rows of dead servers. Rows that are CREATING, DELETING or temporary become
 * DELETING for this instance and are passed to unfinished(), which removes their files; the others
 * become ASLEEP. All in one transaction, so that of two servers that do this at once only one gets
 * each row. unfinished() is called after the commit and may use the store; is_alive() may not. */
MUST_CHECK int registry_recover(struct store *store, const char *instance,
                                bool (*is_alive)(void *ctx, const char *instance),
                                void (*unfinished)(void *ctx, const char *id), void *ctx,
                                struct error *err);
/* Sums over an owner's sandboxes, except those being deleted. */
struct registry_sums {
	uint64_t sandboxes; /* number */
	uint64_t disk;      /* bytes, of the limits */
	uint64_t memory;    /* bytes, of the limits of those awake or being created in any server */
};
MUST_CHECK int registry_sum(struct store *store, const char *owner, struct registry_sums *ret,
                            struct error *err);
/* The ids of sleeping sandboxes of any owner whose lifetime is over; at most `max` of them. */
MUST_CHECK int registry_list_expired(struct store *store, int64_t now_s,
                                     char (*ids)[SPEC_ID_LEN + 1], size_t max, size_t *count,
                                     struct error *err);
/* Like registry_find() for an id of any owner. Only for the server's own work (recovery,
 * lifetimes), never for a request of a client. */
MUST_CHECK int registry_get(struct store *store, const char *id, struct sandbox_row *ret,
                            struct error *err);
/* Whether a row of any owner has this id: directories without a row are removed. */
MUST_CHECK int registry_has(struct store *store, const char *id, bool *ret, struct error *err);
