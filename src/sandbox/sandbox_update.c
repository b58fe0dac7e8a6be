/* sandbox_update.c - changes what a sandbox was created with (see internal.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "sandbox/internal.h"
#include "sandbox/process/process.h"

struct update {
	struct sandbox *sandbox;
	const struct sandbox_changes *changes;
	sandbox_fn *fn;
	void *ctx;
};

/* --- the row ------------------------------------------------------------------------------ */

static bool has_name(const char *list, const char *entry)
{
	size_t len = strcspn(entry, "=") + 1;

	for (; *list != '\0'; list += strlen(list) + 1)
		if (strncmp(list, entry, len) == 0)
			return true;
	return false;
}

static int add_entry(char *list, size_t size, size_t *used, const char *entry, const char *what,
                     struct error *err)
{
	size_t len = strlen(entry) + 1;

	if (len + 1 > size - *used)
		return error_set(err, ERR_LIMIT,
		                 "%s: names and values would have more than %zu bytes together: "
		                 "remove some by passing an empty value for them",
		                 what, size - 1);
	memcpy(list + *used, entry, len);
	*used += len;
	return 0;
}

/* Applies `changes` to a list of "NAME=value" strings: see struct sandbox_changes. */
static int merge_list(char *list, size_t size, const char *changes, const char *what,
                      struct error *err)
{
	char merged[SANDBOX_ENV_MAX] = "";
	size_t used = 0;

	for (const char *at = list; *at != '\0'; at += strlen(at) + 1)
		if (!has_name(changes, at) && add_entry(merged, size, &used, at, what, err) < 0)
			return -1;
	for (const char *at = changes; *at != '\0'; at += strlen(at) + 1)
		if (at[strcspn(at, "=") + 1] != '\0' &&
		    add_entry(merged, size, &used, at, what, err) < 0)
			return -1;
	memset(list, 0, size);
	memcpy(list, merged, used);
	return 0;
}

/* A sandbox of an earlier build was created with files of at most its disk: there, files may become
 * larger with the disk, from the next wake on. */
static void change_limits(struct spec_limits *limits, const struct spec_limits *changes)
{
	if (changes->disk > limits->disk && limits->file_size == limits->disk)
		limits->file_size = changes->disk;
	for (size_t i = 0; i < spec_limit_count; i++)
		if (spec_limits_get(changes, i) != 0)
			spec_limits_set(limits, i, spec_limits_get(changes, i));
}

static int change_row(struct sandbox_row *row, const struct sandbox_changes *changes,
                      struct error *err)
{
	int64_t age_s = time(NULL) - row->created_s;

	if (changes->name != NULL &&
	    snprintf(row->name, sizeof row->name, "%s", changes->name) >= (int)sizeof row->name)
		return error_set(err, ERR_INVALID, "name: longer than %d bytes", SANDBOX_NAME_MAX);
	if (changes->idle_s >= 0)
		row->idle_s = (uint32_t)changes->idle_s;
	if (changes->lifetime_s >= 0)
		row->lifetime_s = changes->lifetime_s == 0 ? 0
		                                           : (uint32_t)(changes->lifetime_s +
		                                                        (age_s > 0 ? age_s : 0));
	change_limits(&row->spec.limits, &changes->limits);
	if (changes->network >= 0) {
		row->network = (enum net_mode)changes->network;
		memcpy(row->network_allow, changes->network_allow, sizeof row->network_allow);
	}
	return merge_list(row->env, sizeof row->env, changes->env, "env", err) < 0
	               ? -1
	               : merge_list(row->labels, sizeof row->labels, changes->labels, "labels",
	                            err);
}

void sandbox_adopt_row(struct sandbox *sandbox, const struct sandbox_row *row)
{
	struct sandbox_row *own = &sandbox->row;
	bool is_new_env = memcmp(own->env, row->env, sizeof row->env) != 0;
	enum net_mode before = sandbox_network_mode(sandbox);

	memcpy(own->name, row->name, sizeof row->name);
	memcpy(own->labels, row->labels, sizeof row->labels);
	memcpy(own->env, row->env, sizeof row->env);
	own->idle_s = row->idle_s;
	own->lifetime_s = row->lifetime_s;
	own->spec.limits = row->spec.limits;
	own->network = row->network;
	memcpy(own->network_allow, row->network_allow, sizeof row->network_allow);
	sandbox->lowered[0] = '\0';
	sandbox_lower_limits(sandbox);
	sandbox_network_changed(sandbox, before);
	if (is_new_env) {
		sandbox_free_env(sandbox->env);
		sandbox->env = NULL;
		process_renew_env(sandbox);
	}
}

/* Changes the row as the registry has it, because the row in memory may have lowered limits. */
static int save_changes(struct sandbox *sandbox, const struct sandbox_changes *changes,
                        struct error *err)
{
	struct manager *manager = sandbox->manager;
	struct sandbox_row row;

	if (registry_get(manager->store, sandbox->row.spec.id, &row, err) < 0 ||
	    change_row(&row, changes, err) < 0 ||
	    registry_update(manager->store, &row, manager->config.instance, err) < 0)
		return -1;
	sandbox_adopt_row(sandbox, &row);
	idle_check_soon(manager);
	return 0;
}

/* --- the limits of a sandbox that is awake ------------------------------------------------- */

static void ignore_result(void *ctx, const struct error *why)
{
	(void)ctx;
	(void)why;
}

static void on_limits_set(void *ctx, const struct error *why)
{
	struct update *update = ctx;
	struct sandbox *sandbox = update->sandbox;
	const struct spec_limits before = sandbox->row.spec.limits;
	struct error err, ignored;

	if (why == NULL && save_changes(sandbox, update->changes, &err) < 0) {
		why = &err;
		if (sandbox->box != NULL)
			(void)!sandbox->manager->engine->ops->set_limits(
			        sandbox->box, &before, ignore_result, NULL, &ignored);
	}
	update->fn(update->ctx, why);
	free(update);
}

static bool has_limits(const struct spec_limits *limits)
{
	return limits->memory != 0 || limits->cpu != 0 || limits->pids != 0 || limits->disk != 0;
}

static int start_limit_change(struct sandbox *sandbox, const struct sandbox_changes *changes,
                              sandbox_fn *fn, void *ctx, struct error *err)
{
	struct manager *manager = sandbox->manager;
	struct spec spec = sandbox->row.spec;
	struct update *update;

	if (sandbox->phase != PHASE_READY)
		return error_set(err, ERR_INVALID,
		                 "the sandbox is being reset or deleted: try again in a moment");
	change_limits(&spec.limits, &changes->limits);
	if (spec.limits.memory > sandbox->row.spec.limits.memory) {
		struct spec more = spec;

		more.limits.memory -= sandbox->row.spec.limits.memory;
		if (quota_admit_awake(manager, sandbox->row.owner, &more, err) < 0)
			return -1;
	}
	update = mem_new(sizeof *update);
	*update = (struct update){ sandbox, changes, fn, ctx };
	if (manager->engine->ops->set_limits(sandbox->box, &spec.limits, on_limits_set, update,
	                                     err) < 0) {
		free(update);
		return -1;
	}
	return 0;
}

/* The sandbox has started, has failed to, or has ended. */
static void on_started_or_ended(void *ctx, const struct error *why)
{
	struct update *update = ctx;

	(void)why;
	sandbox_update(update->sandbox, update->changes, update->fn, update->ctx);
	free(update);
}

/* The engine accepts limits only of a sandbox that is ready. */
static bool wait_for_start_or_end(struct sandbox *sandbox, const struct sandbox_changes *changes,
                                  sandbox_fn *fn, void *ctx)
{
	bool is_starting = sandbox->phase == PHASE_STARTING || sandbox->phase == PHASE_HANDSHAKE;
	struct update *update;

	if (!is_starting && sandbox->phase != PHASE_ENDING)
		return false;
	update = mem_new(sizeof *update);
	*update = (struct update){ sandbox, changes, fn, ctx };
	if (is_starting)
		sandbox_wake(sandbox, on_started_or_ended, update);
	else
		sandbox_notify_end(sandbox, on_started_or_ended, update);
	return true;
}

void sandbox_update(struct sandbox *sandbox, const struct sandbox_changes *changes, sandbox_fn *fn,
                    void *ctx)
{
	bool uses_engine = sandbox_is_awake_here(sandbox) && has_limits(&changes->limits);
	struct loop *loop = sandbox->manager->loop;
	struct error err;
	int r;

	if (guest_update(sandbox, changes, fn, ctx) ||
	    (uses_engine && wait_for_start_or_end(sandbox, changes, fn, ctx)))
		return;
	r = quota_admit_disk(sandbox->manager, sandbox->row.owner, sandbox->row.spec.limits.disk,
	                     changes->limits.disk, &err);
	if (r == 0)
		r = uses_engine ? start_limit_change(sandbox, changes, fn, ctx, &err)
		                : save_changes(sandbox, changes, &err);
	if (r < 0 || !uses_engine) /* else on_limits_set() calls fn */
		waiters_notify_one(loop, fn, ctx, r < 0 ? &err : NULL);
}
