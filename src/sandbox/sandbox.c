#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "engine/filter/filter.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/internal.h"
#include "sandbox/reason.h"
#include "sandbox/registry/history.h"

enum { NOTE_EVERY_S = 10 }; /* seconds between two notes of its last use */

/* --- life in memory ------------------------------------------------------------------ */

static struct sandbox *add_sandbox(struct manager *manager, const struct sandbox_row *row)
{
	struct sandbox *sandbox = mem_new(sizeof *sandbox);

	sandbox->manager = manager;
	sandbox->row = *row;
	sandbox->noted_s = row->used_s;
	sandbox->active_ms = clock_now_ms();
	sandbox->processes = processes_new(sandbox);
	waiters_init(&sandbox->waiters, manager->loop);
	list_add(&manager->sandboxes, &sandbox->node);
	return sandbox;
}

/* --- what the engine and the agent say ------------------------------------------------- */

static void on_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	/* What could not be made has nothing worth keeping. */
	if (sandbox->row.state == SANDBOX_CREATING)
		sandbox->doomed = true;
	(void)snprintf(sandbox->reason, sizeof sandbox->reason, "%s", why->msg);
	sandbox_is_down(sandbox, why);
}

static void on_gone(void *ctx, enum engine_end end, const char *why)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	reason_tell(end, &sandbox->row.spec.limits, sandbox->reason, why, sandbox->reason,
	            sizeof sandbox->reason);
	sandbox->met_limit = end == ENGINE_END_OUT_OF_MEMORY || end == ENGINE_END_DISK_LIMIT;
	(void)error_set(&err, sandbox->met_limit ? ERR_LIMIT : ERR_SYSTEM, "the sandbox ended: %s",
	                sandbox->reason[0] != '\0' ? sandbox->reason : why);
	if (sandbox->row.state == SANDBOX_CREATING)
		sandbox->doomed = true;
	sandbox_is_down(sandbox, &err);
}

static void on_ready(void *ctx, const struct wire_hello *hello, uint16_t proxy_port)
{
	struct sandbox *sandbox = ctx;
	struct manager *manager = sandbox->manager;
	struct error err;

	(void)hello;
	(void)proxy_port;
	if (sandbox->phase != PHASE_GREETING)
		return; /* it was told to end meanwhile */
	/* One that stayed `creating` would be removed by the next start; what is thrown away is,
	 * whatever it is. */
	if (sandbox->row.state == SANDBOX_CREATING && !sandbox->row.temporary &&
	    registry_set_state(manager->store, sandbox->row.spec.id, SANDBOX_AWAKE,
	                       manager->config.instance, &err) < 0) {
		waiters_notify(&sandbox->waiters, PHASE_READY, &err);
		sandbox_end(sandbox);
		return;
	}
	if (sandbox->row.spec.fresh && sandbox->row.state != SANDBOX_CREATING &&
	    registry_set_fresh(manager->store, sandbox->row.spec.id, false, &err) < 0) {
		waiters_notify(&sandbox->waiters, PHASE_READY, &err);
		sandbox_end(sandbox);
		return;
	}
	sandbox->phase = PHASE_READY;
	sandbox->row.state = SANDBOX_AWAKE;
	sandbox->row.spec.fresh = false;
	sandbox->is_clean = false;
	sandbox_touch(sandbox);
	idle_check_soon(manager);
	waiters_notify(&sandbox->waiters, PHASE_READY, NULL);
}

/* Without its agent there is nothing left to talk to. */
static void on_channel_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->reason[0] == '\0' && sandbox->phase != PHASE_ENDING)
		(void)snprintf(sandbox->reason, sizeof sandbox->reason, "%s", why->msg);
	sandbox->phase = PHASE_ENDING;
	if (sandbox->box != NULL)
		sandbox->manager->engine->ops->kill(sandbox->box);
}

static const struct channel_events channel_events = { .ready = on_ready,
	                                              .failed = on_channel_failed };

enum { UNMAPPED_GROUP = 65534 };

static void on_made(void *ctx, int fd, const struct engine_user *user)
{
	struct sandbox *sandbox = ctx;
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.flags = WIRE_WELCOME_LANDLOCK,
		.uid = user->uid,
		.gid = user->gid,
		.root = view_of("/"),
		.workspace = view_of(SPEC_WORKSPACE),
		.programs = filter_for_programs(sandbox->row.spec.syscalls),
		.workers = filter_for_files(),
	};
	struct error err;

	buf_init(&groups, sizeof(uint32_t));
	if (sandbox->phase != PHASE_MAKING) {
		(void)close(fd); /* it was told to end meanwhile */
		return;
	}
	sandbox->phase = PHASE_GREETING;
	if (sandbox->row.spec.egress)
		welcome.flags |= WIRE_WELCOME_EGRESS;
	/* With one id there is no giving up the caller's groups, which have no names inside. */
	if (user->is_agent &&
	    wire_numbers_add(&welcome.groups, &groups, UNMAPPED_GROUP, &err) < 0) {
		(void)close(fd);
		on_channel_failed(sandbox, &err);
		return;
	}
	if (channel_new(sandbox->manager->loop, fd, &welcome, &channel_events, sandbox,
	                &sandbox->channel, &err) < 0)
		on_channel_failed(sandbox, &err);
}

static const struct engine_events engine_events = { on_made, on_failed, on_gone };

static int start(struct sandbox *sandbox, struct error *err)
{
	struct engine *engine = sandbox->manager->engine;
	struct spec spec = sandbox->row.spec;

	spec.fresh = spec.fresh || sandbox->row.state == SANDBOX_CREATING;
	sandbox->reason[0] = '\0';
	if (engine->ops->start(engine, &spec, &engine_events, sandbox, &sandbox->box, err) < 0)
		return -1;
	sandbox->phase = PHASE_MAKING;
	return 0;
}

/* --- calls ----------------------------------------------------------------------------- */

static bool is_among(const char *target, const struct spec *spec)
{
	for (unsigned i = 0; i < spec->mount_count; i++)
		if (strcmp(spec->mounts[i].target, target) == 0)
			return true;
	return false;
}

/* Of what this server offers: all, or those the sandbox was made with. Their numbers may have
 * changed since. */
static void add_mounts(struct manager *manager, struct sandbox_row *row)
{
	const struct spec before = row->spec;
	struct spec *spec = &row->spec;

	spec->mount_count = 0;
	for (size_t i = 0; i < manager->config.target_count && i < SPEC_MOUNTS_MAX; i++) {
		struct spec_mount *mount = &spec->mounts[spec->mount_count];

		if (!row->all_mounts && !is_among(manager->config.targets[i], &before))
			continue;
		*mount = (struct spec_mount){ .source = (uint16_t)i };
		(void)snprintf(mount->target, sizeof mount->target, "%s",
		               manager->config.targets[i]);
		spec->mount_count++;
	}
}

static int choose_mounts(const struct manager *manager, const char *const *targets,
                         struct sandbox_row *row, struct error *err)
{
	row->all_mounts = targets == NULL;
	row->spec.mount_count = 0;
	for (size_t i = 0; targets != NULL && targets[i] != NULL; i++) {
		struct spec_mount *mount = &row->spec.mounts[row->spec.mount_count];
		bool offered = false;

		for (size_t j = 0; j < manager->config.target_count; j++)
			offered = offered || strcmp(manager->config.targets[j], targets[i]) == 0;
		if (!offered || i == SPEC_MOUNTS_MAX)
			return error_set(err, ERR_INVALID,
			                 "mounts: '%.80s' is not among the directories this server "
			                 "offers (--tools-dir, --skills-dir, --mounts)",
			                 targets[i]);
		(void)snprintf(mount->target, sizeof mount->target, "%s", targets[i]);
		row->spec.mount_count++;
	}
	return 0;
}

/* What is thrown away is noted once, as what it will be in a moment. */
static int add_row(struct manager *manager, struct sandbox_row row, struct error *err)
{
	if (row.temporary)
		row.state = SANDBOX_AWAKE;
	return registry_add(manager->store, &row, err);
}

int sandbox_create(struct manager *manager, const struct sandbox_options *wish,
                   struct sandbox **ret, struct error *err)
{
	struct sandbox_row row = { .spec = wish->spec,
		                   .state = SANDBOX_CREATING,
		                   .temporary = wish->temporary,
		                   .created_s = time(NULL),
		                   .idle_s = wish->idle_s,
		                   .lifetime_s = wish->lifetime_s };
	struct sandbox *sandbox;

	if (manager->is_over)
		return manager_stopping_error(err);
	if (strlen(wish->owner) > OWNER_MAX) /* cut short it could be another's */
		return error_set(err, ERR_LIMIT, "owner: %zu bytes, at most %d are allowed",
		                 strlen(wish->owner), OWNER_MAX);
	spec_new_id(row.spec.id);
	row.spec.fresh = false;
	if (choose_mounts(manager, wish->mounts, &row, err) < 0)
		return -1;
	add_mounts(manager, &row);
	if (spec_check(&row.spec, err) < 0 ||
	    quota_admit_new(manager, wish->owner, &row.spec, err) < 0)
		return -1;
	if (wish->env != NULL)
		memcpy(row.env, wish->env, sizeof row.env);
	row.used_s = row.created_s;
	(void)snprintf(row.owner, sizeof row.owner, "%s", wish->owner);
	(void)snprintf(row.engine, sizeof row.engine, "%s", manager->engine->ops->name);
	(void)snprintf(row.instance, sizeof row.instance, "%s", manager->config.instance);
	if (wish->name != NULL) {
		if (wish->name[0] != '\0' && !registry_is_name(wish->name))
			return error_set(err, ERR_INVALID,
			                 "name: letters, digits and . _ - only, at most %d, not "
			                 "starting with . _ or -",
			                 SANDBOX_NAME_MAX);
		(void)snprintf(row.name, sizeof row.name, "%s", wish->name);
	}
	if (add_row(manager, row, err) < 0)
		return -1;
	sandbox = add_sandbox(manager, &row);
	if (start(sandbox, err) < 0) {
		struct error ignored;

		(void)!registry_remove(manager->store, row.spec.id, &ignored);
		sandbox_forget(sandbox);
		return -1;
	}
	*ret = sandbox;
	return 0;
}

int sandbox_find(struct manager *manager, const char *owner, const char *id_or_name,
                 struct sandbox **ret, struct error *err)
{
	struct sandbox_row row;

	if (registry_find(manager->store, owner, id_or_name, &row, err) < 0)
		return -1;
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (strcmp(sandbox->row.spec.id, row.spec.id) == 0) {
			*ret = sandbox;
			return 0;
		}
	}
	*ret = add_sandbox(manager, &row);
	return 0;
}

static int wake(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;

	if (manager->is_over)
		return manager_stopping_error(err);
	if (quota_admit_awake(manager, sandbox->row.owner, &sandbox->row.spec, err) < 0 ||
	    sandbox_claim(sandbox, err) < 0)
		return -1;
	if (sandbox->row.spec.fresh && !sandbox->is_clean) { /* a reset was cut short */
		waiters_move(&sandbox->waiters, PHASE_READY, PHASE_MAKING);
		sandbox_clear(sandbox);
		return 0;
	}
	add_mounts(manager, &sandbox->row);
	if (start(sandbox, err) < 0) {
		sandbox_set_state(sandbox, SANDBOX_ASLEEP);
		return -1;
	}
	return 0;
}

void sandbox_wake_again(struct sandbox *sandbox)
{
	struct error err;

	if (waiters_move(&sandbox->waiters, PHASE_MAKING, PHASE_READY) && wake(sandbox, &err) < 0)
		waiters_notify(&sandbox->waiters, PHASE_READY, &err);
}

void sandbox_wake(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	(void)error_set(&err, ERR_INVALID, "the sandbox is being deleted");
	switch (sandbox->phase) {
	case PHASE_READY:
		waiters_notify_one(sandbox->manager->loop, fn, ctx, NULL);
		return;
	case PHASE_MAKING:
	case PHASE_GREETING:
		waiters_add(&sandbox->waiters, PHASE_READY, fn, ctx);
		return;
	case PHASE_ASLEEP:
		waiters_add(&sandbox->waiters, PHASE_READY, fn, ctx);
		if (wake(sandbox, &err) < 0)
			waiters_notify(&sandbox->waiters, PHASE_READY, &err);
		return;
	case PHASE_ENDING:
	case PHASE_CLEARING:
		if (sandbox->manager->is_over)
			(void)manager_stopping_error(&err);
		else if (!sandbox->doomed) {
			waiters_add(&sandbox->waiters, PHASE_MAKING, fn, ctx);
			return;
		}
		break;
	case PHASE_ERASING:
	case PHASE_DELETED:
		break;
	}
	waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
}

void sandbox_touch(struct sandbox *sandbox)
{
	int64_t now = time(NULL);
	struct error err;

	sandbox->active_ms = clock_now_ms();
	sandbox->row.used_s = now;
	if (sandbox->phase != PHASE_READY || sandbox->row.temporary ||
	    now - sandbox->noted_s < NOTE_EVERY_S)
		return;
	sandbox->noted_s = now;
	if (registry_touch(sandbox->manager->store, sandbox->row.spec.id, now, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
}

void sandbox_hold(struct sandbox *sandbox)
{
	sandbox->holds++;
}

void sandbox_release(struct sandbox *sandbox)
{
	sandbox->holds--;
	if (!sandbox->is_forgotten)
		sandbox_touch(sandbox);
	else if (sandbox->holds == 0)
		sandbox_forget(sandbox);
}

void sandbox_notify_end(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	if (sandbox->box == NULL)
		waiters_notify_one(sandbox->manager->loop, fn, ctx, NULL);
	else
		waiters_add(&sandbox->waiters, PHASE_ENDING, fn, ctx);
}

struct channel *sandbox_channel(const struct sandbox *sandbox)
{
	return sandbox->phase == PHASE_READY ? sandbox->channel : NULL;
}

const struct sandbox_row *sandbox_row(const struct sandbox *sandbox)
{
	return &sandbox->row;
}

const char *const *sandbox_env(struct sandbox *sandbox)
{
	if (sandbox->env == NULL)
		sandbox->env = sandbox_make_env(sandbox);
	return (const char *const *)sandbox->env;
}

struct engine_box *sandbox_box(struct sandbox *sandbox)
{
	return sandbox->box;
}

bool sandbox_counts(struct sandbox *sandbox, struct engine_counters *ret)
{
	*ret = (struct engine_counters){ 0 };
	return sandbox->box != NULL &&
	       engine_read_counters(sandbox->manager->engine, sandbox->box, ret);
}

struct loop *sandbox_loop(const struct sandbox *sandbox)
{
	return sandbox->manager->loop;
}

const struct process_limits *sandbox_process_limits(const struct sandbox *sandbox)
{
	return &sandbox->manager->config.process;
}

struct processes *sandbox_processes(struct sandbox *sandbox)
{
	return sandbox->processes;
}

bool sandbox_is_resetting(const struct sandbox *sandbox)
{
	return sandbox->resetting || sandbox->row.spec.fresh;
}

void sandbox_record_run(struct sandbox *sandbox, int64_t started_s, uint64_t duration_ms,
                        const char *what, const char *outcome)
{
	const struct manager_config *config = &sandbox->manager->config;
	struct history_row row = { .started_s = started_s, .duration_ms = duration_ms };

	memcpy(row.sandbox, sandbox->row.spec.id, sizeof row.sandbox);
	memcpy(row.owner, sandbox->row.owner, sizeof row.owner);
	(void)utf8_escape(view_of(what), row.what, sizeof row.what);
	(void)utf8_escape(view_of(outcome), row.outcome, sizeof row.outcome);
	if (!sandbox->row.temporary)
		history_add(sandbox->manager->history, &row);
	if (config->process_ended != NULL)
		config->process_ended(config->ctx, &sandbox->row);
}

bool sandbox_met_limit(const struct sandbox *sandbox)
{
	return sandbox->met_limit;
}

const char *sandbox_end_reason(const struct sandbox *sandbox)
{
	return sandbox->reason;
}
