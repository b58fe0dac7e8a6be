/* sandbox_create.c - creating a sandbox, and the prepared sandbox.
 *
 * The prepared sandbox is started soon after the server, with the options of the default sandbox
 * and with an interpreter that waits for code, so that the first call does not wait for either. It
 * has an id but no row: no caller can find it, and it counts for no quota. The first
 * sandbox_create() that asks for the same limits, mounts and devices inserts a row with this id.
 * Any other start of a sandbox deletes the prepared one, because its memory may be needed. If the
 * server is killed, the directory of the prepared sandbox has no row, and the next sweep removes
 * it. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "sandbox/internal.h"

enum {
	PREPARED_KEPT_S = 300,
	SPARE_MS =
	        100, /* a sandbox that a call has taken gets an interpreter later than the call */
};

static int set_names(struct manager *manager, const struct sandbox_options *options,
                     struct sandbox_row *row, struct error *err)
{
	const char *name = options->name != NULL ? options->name : "";

	/* A truncated owner could be the name of another owner. */
	if (strlen(options->owner) > OWNER_MAX)
		return error_set(err, ERR_LIMIT, "owner: %zu bytes, at most %d are allowed",
		                 strlen(options->owner), OWNER_MAX);
	if (name[0] != '\0' && !registry_is_name(name))
		return error_set(err, ERR_INVALID,
		                 "name: letters, digits and . _ - only, at most %d, not starting "
		                 "with . _ or -",
		                 SANDBOX_NAME_MAX);
	(void)snprintf(row->owner, sizeof row->owner, "%s", options->owner);
	(void)snprintf(row->name, sizeof row->name, "%s", name);
	(void)snprintf(row->engine, sizeof row->engine, "%s", manager->engine->ops->name);
	(void)snprintf(row->instance, sizeof row->instance, "%s", manager->config.instance);
	return 0;
}

/* Copies strings that stand one behind the other, up to the empty one that ends the list. A string
 * that does not fit is left out with all behind it; callers check the length before. */
static void copy_list(char *to, size_t size, const char *from)
{
	size_t used = 0;

	while (from != NULL && from[used] != '\0' && used + strlen(from + used) + 2 <= size)
		used += strlen(from + used) + 1;
	if (used != 0)
		memcpy(to, from, used);
	to[used] = '\0';
}

static int make_row(struct manager *manager, const struct sandbox_options *options,
                    struct sandbox_row *row, struct error *err)
{
	*row = (struct sandbox_row){ .spec = options->spec,
		                     .state = SANDBOX_CREATING,
		                     .temporary = options->temporary,
		                     .created_s = time(NULL),
		                     .idle_s = options->idle_s,
		                     .lifetime_s = options->lifetime_s,
		                     .network = options->network };
	row->used_s = row->created_s;
	row->spec.owner = hash_text(HASH_START, options->owner);
	row->spec.expires_s = sandbox_expiry_s(row);
	spec_new_id(row->spec.id);
	row->spec.fresh = false;
	copy_list(row->env, sizeof row->env, options->env);
	copy_list(row->labels, sizeof row->labels, options->labels);
	copy_list(row->network_allow, sizeof row->network_allow, options->network_allow);
	if (set_names(manager, options, row, err) < 0 ||
	    sandbox_choose_mounts(manager, options->mounts, row, err) < 0)
		return -1;
	sandbox_fill_mounts(manager, row);
	return spec_check(&row->spec, err);
}

/* A temporary sandbox is inserted directly as AWAKE: one write instead of two, and recovery deletes
 * it in either state. */
static int add_row(struct manager *manager, struct sandbox_row row, struct error *err)
{
	if (row.temporary)
		row.state = SANDBOX_AWAKE;
	return registry_add(manager->store, &row, err);
}

/* --- the prepared sandbox --- */

static bool can_be_prepared(const struct sandbox_row *row)
{
	return row->env[0] == '\0' && row->network_allow[0] == '\0';
}

/* Compares everything that was applied when the prepared sandbox and its interpreter started. */
static bool is_prepared(const struct manager *manager, const struct sandbox_row *row)
{
	const struct sandbox *sandbox = manager->prepared;
	const struct spec *spec = &row->spec;

	return sandbox != NULL &&
	       (sandbox->phase == PHASE_STARTING || sandbox->phase == PHASE_HANDSHAKE ||
	        sandbox->phase == PHASE_READY) &&
	       spec_is_alike(&sandbox->row.spec, spec) && sandbox->row.spec.owner == spec->owner &&
	       (sandbox->row.spec.expires_s != 0) == (spec->expires_s != 0) &&
	       can_be_prepared(row) && sandbox->row.network == row->network;
}

void prepared_delete(struct manager *manager)
{
	struct sandbox *sandbox = manager->prepared;

	manager->prepared = NULL;
	if (sandbox != NULL)
		sandbox_delete(sandbox, NULL, NULL);
}

/* The row of a sandbox whose agent has sent READY says AWAKE from the start; otherwise on_ready()
 * in sandbox.c writes that later, as for every new sandbox. */
static int take_prepared(struct manager *manager, struct sandbox_row *row, struct sandbox **ret,
                         struct error *err)
{
	struct sandbox *sandbox = manager->prepared;

	memcpy(row->spec.id, sandbox->row.spec.id, sizeof row->spec.id);
	if (sandbox->phase == PHASE_READY)
		row->state = SANDBOX_AWAKE;
	if (add_row(manager, *row, err) < 0)
		return -1;
	manager->prepared = NULL;
	sandbox->row = *row;
	sandbox->saved_used_s = row->used_s;
	sandbox->active_ms = clock_now_ms();
	sandbox_start_gate(sandbox); /* refusals depend on the row (sandbox_reader) */
	sandbox->uses = 1;
	*ret = sandbox;
	return 0;
}

static void on_prepared(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	bool is_taken = sandbox->manager->prepared != sandbox;

	if (why == NULL)
		processes_start_spare(sandbox->processes, is_taken ? SPARE_MS : 0);
}

static bool has_default(struct manager *manager, const char *owner)
{
	struct sandbox_row row;
	struct error err;

	if (registry_find(manager->store, owner, "default", &row, &err) == 0)
		return sandbox_has_engine(manager, &row);
	return err.kind != ERR_NOT_FOUND;
}

void manager_prepare(struct manager *manager, const struct sandbox_options *options)
{
	struct sandbox_row row;
	struct error err;

	if (manager->is_stopping || !list_is_empty(&manager->sandboxes) ||
	    has_default(manager, options->owner))
		return;
	if (make_row(manager, options, &row, &err) < 0) {
		log_debug("no sandbox is prepared: %s", err.msg);
		return;
	}
	/* A temporary sandbox is deleted, not put to sleep, and nothing is written to its row. */
	row.temporary = true;
	row.owner[0] = row.name[0] = '\0';
	row.idle_s = 0;
	row.lifetime_s = PREPARED_KEPT_S;
	manager->prepared = sandbox_add(manager, &row);
	if (sandbox_start(manager->prepared, &err) == 0) {
		sandbox_wake(manager->prepared, on_prepared, manager->prepared);
		return;
	}
	log_debug("no sandbox is prepared: %s", err.msg);
	sandbox_unload(manager->prepared);
}

/* --- creating --- */

int sandbox_create(struct manager *manager, const struct sandbox_options *options,
                   struct sandbox **ret, struct error *err)
{
	struct sandbox_row row;
	struct sandbox *sandbox;

	if (manager->is_stopping)
		return manager_stopping_error(err);
	if (make_row(manager, options, &row, err) < 0 ||
	    quota_admit_new(manager, options->owner, &row.spec, err) < 0)
		return -1;
	/* The default sandbox starts while its row is written, as a prepared one does. */
	if (manager->prepared == NULL && strcmp(row.name, "default") == 0 && can_be_prepared(&row))
		manager_prepare(manager, options);
	if (is_prepared(manager, &row))
		return take_prepared(manager, &row, ret, err);
	prepared_delete(manager);
	if (add_row(manager, row, err) < 0)
		return -1;
	sandbox = sandbox_add(manager, &row);
	if (sandbox_start(sandbox, err) < 0) {
		struct error ignored;

		(void)!registry_remove(manager->store, row.spec.id, &ignored);
		sandbox_unload(sandbox);
		return -1;
	}
	sandbox->uses = 1;
	*ret = sandbox;
	return 0;
}
