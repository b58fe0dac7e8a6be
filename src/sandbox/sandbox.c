#include "sandbox/sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "engine/filter.h"
#include "loop/loop.h"
#include "sandbox/channel.h"
#include "sandbox/manager_internal.h"
#include "sandbox/reason.h"
#include "sandbox/waiters.h"

enum phase {
	PHASE_ASLEEP,
	PHASE_MAKING,   /* the engine makes it */
	PHASE_GREETING, /* the agent is there, and not yet ready */
	PHASE_READY,
	PHASE_ENDING,  /* it was told to end */
	PHASE_ERASING, /* its files go */
	PHASE_DELETED,
};

struct sandbox {
	struct list node;
	struct manager *manager;
	struct sandbox_row row;
	enum phase phase;
	struct engine_box *box;
	struct channel *channel;
	struct waiters waiters; /* for READY, ENDING (it is over), ASLEEP or DELETED */
	char **env;             /* of its programs; NULL: not asked for yet */
	bool is_erased;         /* or will be: the engine has been asked */
	bool doomed;            /* to be deleted as soon as it has ended */
	char reason[480];       /* why it ended last */
};

/* --- life in memory ------------------------------------------------------------------ */

static struct sandbox *add_sandbox(struct manager *manager, const struct sandbox_row *row)
{
	struct sandbox *sandbox = mem_new(sizeof *sandbox);

	sandbox->manager = manager;
	sandbox->row = *row;
	waiters_init(&sandbox->waiters, manager->loop);
	list_add(&manager->sandboxes, &sandbox->node);
	return sandbox;
}

static void free_now(void *ctx)
{
	struct sandbox *sandbox = ctx;

	waiters_done(&sandbox->waiters);
	(void)channel_free(sandbox->channel);
	if (sandbox->env != NULL)
		sandbox->manager->config.env_free(sandbox->env);
	free(sandbox);
}

static void forget(struct sandbox *sandbox)
{
	list_remove(&sandbox->node);
	loop_defer(sandbox->manager->loop, free_now, sandbox);
}

/* A row that could not be written is put right by the next start. */
static void set_state(struct sandbox *sandbox, enum sandbox_state state)
{
	struct manager *manager = sandbox->manager;
	bool ours = state != SANDBOX_ASLEEP;
	struct error err;

	if (registry_set_state(manager->store, sandbox->row.spec.id, state,
	                       ours ? manager->config.instance : "", &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->row.state = state;
}

/* --- the end -------------------------------------------------------------------------- */

static void on_erased(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	struct manager *manager = sandbox->manager;
	struct error err;

	if (why != NULL)
		log_warning("sandbox %s: its files could not be removed: %s", sandbox->row.spec.id,
		            why->msg);
	else if (registry_remove(manager->store, sandbox->row.spec.id, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
	sandbox->phase = PHASE_DELETED;
	waiters_tell(&sandbox->waiters, PHASE_DELETED, why);
	forget(sandbox);
	manager_check_ended(manager);
}

/* One that is awake goes as soon as it has ended. */
static void ask_to_erase(struct sandbox *sandbox)
{
	struct engine *engine = sandbox->manager->engine;
	struct error err;

	sandbox->is_erased = true;
	/* What is thrown away with its server needs no note: it would go anyway. */
	if (!sandbox->row.throw_away)
		set_state(sandbox, SANDBOX_DELETING);
	if (engine->calls->erase(engine, sandbox->row.spec.id, on_erased, sandbox, &err) < 0)
		on_erased(sandbox, &err);
}

static void erase(struct sandbox *sandbox)
{
	struct error err;

	sandbox->phase = PHASE_ERASING;
	(void)error_set(&err, ERR_SYSTEM, "the sandbox is being deleted");
	waiters_tell(&sandbox->waiters, PHASE_ASLEEP, &err);
	if (!sandbox->is_erased)
		ask_to_erase(sandbox);
}

static void is_down(struct sandbox *sandbox, const struct error *why)
{
	struct error gone;

	sandbox->box = NULL;
	(void)error_set(&gone, ERR_SYSTEM, "the sandbox was put to sleep or deleted meanwhile");
	/* The engine may know before the channel does, and its streams wait for an end. */
	if (sandbox->channel != NULL)
		channel_fail(sandbox->channel, why != NULL ? why : &gone);
	sandbox->channel = channel_free(sandbox->channel);
	sandbox->phase = PHASE_ASLEEP;
	waiters_tell(&sandbox->waiters, PHASE_READY, why != NULL ? why : &gone);
	waiters_tell(&sandbox->waiters, PHASE_ENDING, NULL);
	if (sandbox->doomed) {
		erase(sandbox);
		return;
	}
	set_state(sandbox, SANDBOX_ASLEEP);
	waiters_tell(&sandbox->waiters, PHASE_ASLEEP, NULL);
	manager_check_ended(sandbox->manager);
}

/* --- what the engine and the agent say ------------------------------------------------- */

static void on_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	/* What could not be made has nothing worth keeping. */
	if (sandbox->row.state == SANDBOX_CREATING)
		sandbox->doomed = true;
	(void)snprintf(sandbox->reason, sizeof sandbox->reason, "%s", why->msg);
	is_down(sandbox, why);
}

static void on_gone(void *ctx, enum engine_end end, const char *why)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	reason_tell(end, &sandbox->row.spec.limits, sandbox->reason, why, sandbox->reason,
	            sizeof sandbox->reason);
	(void)error_set(&err, end == ENGINE_MEMORY || end == ENGINE_DISK ? ERR_LIMIT : ERR_SYSTEM,
	                "the sandbox ended: %s",
	                sandbox->reason[0] != '\0' ? sandbox->reason : why);
	if (sandbox->row.state == SANDBOX_CREATING)
		sandbox->doomed = true;
	is_down(sandbox, &err);
}

static void on_ready(void *ctx, const struct wire_hello *hello, uint16_t proxy_port)
{
	struct sandbox *sandbox = ctx;

	(void)hello;
	(void)proxy_port;
	if (sandbox->phase != PHASE_GREETING)
		return; /* it was told to end meanwhile */
	sandbox->phase = PHASE_READY;
	if (!sandbox->row.throw_away)
		set_state(sandbox, SANDBOX_AWAKE);
	sandbox->row.state = SANDBOX_AWAKE;
	waiters_tell(&sandbox->waiters, PHASE_READY, NULL);
}

/* Without its agent there is nothing left to talk to. */
static void on_channel_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->reason[0] == '\0' && sandbox->phase != PHASE_ENDING)
		(void)snprintf(sandbox->reason, sizeof sandbox->reason, "%s", why->msg);
	sandbox->phase = PHASE_ENDING;
	if (sandbox->box != NULL)
		sandbox->manager->engine->calls->kill(sandbox->box);
}

static const struct channel_events channel_events = { .ready = on_ready,
	                                              .failed = on_channel_failed };

static void on_made(void *ctx, int fd, const struct engine_user *user)
{
	struct sandbox *sandbox = ctx;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.flags = WIRE_WELCOME_LANDLOCK,
		.uid = user->uid,
		.gid = user->gid,
		.root = view_of("/"),
		.workspace = view_of(SPEC_WORKSPACE),
		.programs = filter_for_programs(sandbox->row.spec.calls),
		.workers = filter_for_files(),
	};
	struct error err;

	if (sandbox->phase != PHASE_MAKING) {
		(void)close(fd); /* it was told to end meanwhile */
		return;
	}
	sandbox->phase = PHASE_GREETING;
	if (sandbox->row.spec.egress)
		welcome.flags |= WIRE_WELCOME_EGRESS;
	if (channel_new(sandbox->manager->loop, fd, &welcome, &channel_events, sandbox,
	                &sandbox->channel, &err) < 0)
		on_channel_failed(sandbox, &err);
}

static const struct engine_events engine_events = { on_made, on_failed, on_gone };

static int start(struct sandbox *sandbox, bool fresh, struct error *err)
{
	struct engine *engine = sandbox->manager->engine;

	sandbox->row.spec.fresh = fresh;
	sandbox->reason[0] = '\0';
	if (engine->calls->make(engine, &sandbox->row.spec, &engine_events, sandbox, &sandbox->box,
	                        err) < 0)
		return -1;
	sandbox->phase = PHASE_MAKING;
	return 0;
}

/* --- calls ----------------------------------------------------------------------------- */

static void add_mounts(struct manager *manager, struct spec *spec)
{
	spec->mount_count = 0;
	for (size_t i = 0; i < manager->config.target_count && i < SPEC_MOUNTS_MAX; i++) {
		struct spec_mount *mount = &spec->mounts[spec->mount_count++];

		*mount = (struct spec_mount){ .source = (uint16_t)i };
		(void)snprintf(mount->target, sizeof mount->target, "%s",
		               manager->config.targets[i]);
	}
}

int sandbox_create(struct manager *manager, const struct sandbox_wish *wish, struct sandbox **ret,
                   struct error *err)
{
	struct sandbox_row row = { .spec = wish->spec,
		                   .state = SANDBOX_CREATING,
		                   .throw_away = wish->throw_away,
		                   .created_s = time(NULL) };
	struct sandbox *sandbox;

	spec_new_id(row.spec.id);
	add_mounts(manager, &row.spec);
	if (spec_check(&row.spec, err) < 0)
		return -1;
	row.used_s = row.created_s;
	(void)snprintf(row.owner, sizeof row.owner, "%s", wish->owner);
	(void)snprintf(row.engine, sizeof row.engine, "%s", manager->engine->calls->name);
	(void)snprintf(row.instance, sizeof row.instance, "%s", manager->config.instance);
	if (wish->name != NULL) {
		if (wish->name[0] != '\0' && !registry_is_name(wish->name))
			return error_set(err, ERR_INVALID,
			                 "name: letters, digits and . _ - only, at most %d, not "
			                 "starting with . _ or -",
			                 SANDBOX_NAME_MAX);
		(void)snprintf(row.name, sizeof row.name, "%s", wish->name);
	}
	if (registry_add(manager->store, &row, err) < 0)
		return -1;
	sandbox = add_sandbox(manager, &row);
	if (start(sandbox, true, err) < 0) {
		struct error ignored;

		(void)!registry_remove(manager->store, row.spec.id, &ignored);
		forget(sandbox);
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

void sandbox_wake(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct manager *manager = sandbox->manager;
	struct error err;

	switch (sandbox->phase) {
	case PHASE_READY:
		waiters_tell_one(manager->loop, fn, ctx, NULL);
		return;
	case PHASE_MAKING:
	case PHASE_GREETING:
		waiters_add(&sandbox->waiters, PHASE_READY, fn, ctx);
		return;
	case PHASE_ASLEEP:
		add_mounts(manager, &sandbox->row.spec);
		if (registry_claim(manager->store, sandbox->row.spec.id, manager->config.instance,
		                   &err) < 0)
			break;
		if (start(sandbox, false, &err) < 0) {
			set_state(sandbox, SANDBOX_ASLEEP);
			break;
		}
		sandbox->row.state = SANDBOX_AWAKE;
		waiters_add(&sandbox->waiters, PHASE_READY, fn, ctx);
		return;
	case PHASE_ENDING:
	case PHASE_ERASING:
	case PHASE_DELETED:
		(void)error_set(&err, ERR_INVALID, "the sandbox is ending: try again");
		break;
	}
	waiters_tell_one(manager->loop, fn, ctx, &err);
}

static void end(struct sandbox *sandbox)
{
	if (sandbox->phase == PHASE_ENDING || sandbox->box == NULL)
		return;
	sandbox->phase = PHASE_ENDING;
	sandbox->manager->engine->calls->kill(sandbox->box);
}

void sandbox_sleep(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	if (sandbox->phase == PHASE_ASLEEP) {
		waiters_tell_one(sandbox->manager->loop, fn, ctx, NULL);
		return;
	}
	if (sandbox->phase == PHASE_ERASING || sandbox->phase == PHASE_DELETED) {
		(void)error_set(&err, ERR_INVALID, "the sandbox is being deleted");
		waiters_tell_one(sandbox->manager->loop, fn, ctx, &err);
		return;
	}
	waiters_add(&sandbox->waiters, PHASE_ASLEEP, fn, ctx);
	end(sandbox);
}

void sandbox_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	waiters_add(&sandbox->waiters, PHASE_DELETED, fn, ctx);
	if (sandbox->doomed)
		return;
	if (sandbox->phase != PHASE_ASLEEP) {
		sandbox->doomed = true;
		end(sandbox);
		if (sandbox->phase == PHASE_ENDING && !sandbox->is_erased)
			ask_to_erase(sandbox);
		return;
	}
	if (registry_claim(sandbox->manager->store, sandbox->row.spec.id,
	                   sandbox->manager->config.instance, &err) < 0) {
		waiters_tell(&sandbox->waiters, PHASE_DELETED, &err);
		return;
	}
	sandbox->doomed = true;
	erase(sandbox);
}

void sandbox_when_down(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	if (sandbox->box == NULL)
		waiters_tell_one(sandbox->manager->loop, fn, ctx, NULL);
	else
		waiters_add(&sandbox->waiters, PHASE_ENDING, fn, ctx);
}

struct channel *sandbox_channel(struct sandbox *sandbox)
{
	return sandbox->phase == PHASE_READY ? sandbox->channel : NULL;
}

const struct sandbox_row *sandbox_row(const struct sandbox *sandbox)
{
	return &sandbox->row;
}

const char *const *sandbox_env(struct sandbox *sandbox)
{
	const struct manager_config *config = &sandbox->manager->config;

	if (sandbox->env == NULL && config->env_of != NULL)
		sandbox->env = config->env_of(config->ctx, &sandbox->row.spec);
	return (const char *const *)sandbox->env;
}

struct engine_box *sandbox_box(struct sandbox *sandbox)
{
	return sandbox->box;
}

bool sandbox_counts(struct sandbox *sandbox, struct engine_counts *ret)
{
	*ret = (struct engine_counts){ 0 };
	return sandbox->box != NULL && engine_counts(sandbox->manager->engine, sandbox->box, ret);
}

const char *sandbox_end_reason(const struct sandbox *sandbox)
{
	return sandbox->reason;
}

/* --- for the manager -------------------------------------------------------------------- */

void sandbox_end_all(struct manager *manager)
{
	for (struct list *node = manager->sandboxes.next; node != &manager->sandboxes;) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		node = node->next;
		if (sandbox->row.throw_away)
			sandbox_delete(sandbox, NULL, NULL);
		else
			sandbox_sleep(sandbox, NULL, NULL);
	}
}

bool sandbox_any_awake(const struct manager *manager)
{
	LIST_EACH (node, &manager->sandboxes) {
		const struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (sandbox->phase != PHASE_ASLEEP)
			return true;
	}
	return false;
}

void sandbox_free_all(struct manager *manager)
{
	while (!list_is_empty(&manager->sandboxes)) {
		struct sandbox *sandbox = container_of(manager->sandboxes.next, struct sandbox,
		                                       node);

		list_remove(&sandbox->node);
		free_now(sandbox);
	}
}
