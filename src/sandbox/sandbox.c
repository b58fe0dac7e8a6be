/* sandbox.c - finding, starting and waking a sandbox (see internal.h). */
#include "sandbox/sandbox.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/filter/filter.h"
#include "sandbox/channel/channel.h"
#include "sandbox/internal.h"

enum {
	SAVE_USED_EVERY_S = 10, /* seconds between two writes of the time of last use */
	UNMAPPED_GROUP = 65534, /* what the kernel shows for a group without a mapping */
};

struct sandbox *sandbox_add(struct manager *manager, const struct sandbox_row *row)
{
	struct sandbox *sandbox = mem_new(sizeof *sandbox);

	sandbox->manager = manager;
	sandbox->row = *row;
	sandbox_lower_limits(sandbox);
	sandbox->saved_used_s = row->used_s;
	sandbox->active_ms = clock_now_ms();
	sandbox->processes = processes_new(sandbox);
	waiters_init(&sandbox->waiters, manager->loop);
	list_add(&manager->sandboxes, &sandbox->node);
	return sandbox;
}

/* --- events of the engine and of the channel --- */

static void set_reason(struct sandbox *sandbox, const char *text)
{
	(void)snprintf(sandbox->reason, sizeof sandbox->reason, "%s", text);
}

static void on_progress(void *ctx, const struct engine_progress *progress)
{
	struct sandbox *sandbox = ctx;

	sandbox->progress = *progress;
}

static void on_start_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	bool is_killed = sandbox->phase == PHASE_ENDING;

	/* A sandbox that could not even be created has no files: its row must not stay. */
	if (sandbox->row.state == SANDBOX_CREATING)
		sandbox->delete_pending = true;
	/* After a kill the engine's reason only names the step of the start that was interrupted,
	 * which is of no use to callers. */
	if (!is_killed)
		set_reason(sandbox, why->msg);
	sandbox_handle_end(sandbox, is_killed ? NULL : why);
}

const struct spec_limits *sandbox_ceilings(const struct sandbox *sandbox)
{
	return &sandbox->manager->config.limits_max;
}

/* True for the temporary sandbox of a command such as `belljar exec`: it is deleted when the
 * command exits, which is right after the sandbox ended. */
static bool loses_files(const struct sandbox *sandbox)
{
	return sandbox->row.temporary && sandbox_reader(sandbox) == SANDBOX_FOR_PERSON;
}

/* The sentence about what is lost when a sandbox ends at a limit. */
static const char *describe_loss(const struct sandbox *sandbox)
{
	return loses_files(sandbox) ? "its files are removed, because it is temporary"
	                            : "processes and sessions are lost, files are kept";
}

/* Names the limit and its value where a limit ended the sandbox. For a dead agent the channel's
 * reason, set before, may say more than the engine's (a broken protocol, say), so it is kept. */
static void explain_end(struct sandbox *sandbox, enum engine_end end, const char *why)
{
	const struct spec_limits *limits = &sandbox->row.spec.limits;
	const struct spec_limits *max = sandbox_ceilings(sandbox);
	char more[SANDBOX_MORE_SIZE];

	switch (end) {
	case ENGINE_END_OUT_OF_MEMORY:
		(void)snprintf(sandbox->reason, sizeof sandbox->reason,
		               "memory: it used more than %llu MiB; %s: use less, %s",
		               (unsigned long long)(limits->memory >> 20), describe_loss(sandbox),
		               sandbox_more_of(sandbox, "memory_mb", limits->memory, max->memory,
		                               SPEC_MIB(1), more));
		return;
	case ENGINE_END_DISK_LIMIT:
		(void)snprintf(sandbox->reason, sizeof sandbox->reason,
		               "disk: it wrote more than %llu MiB; %s: %s, %s",
		               (unsigned long long)(limits->disk >> 20), describe_loss(sandbox),
		               loses_files(sandbox) ? "write less" : "delete some",
		               sandbox_more_of(sandbox, "disk_mb", limits->disk, max->disk,
		                               SPEC_MIB(1), more));
		return;
	case ENGINE_END_INODE_LIMIT:
		(void)snprintf(sandbox->reason, sizeof sandbox->reason,
		               "inodes: it made more than %llu files; %s: %s",
		               (unsigned long long)limits->inodes, describe_loss(sandbox),
		               loses_files(sandbox) ? "make fewer" : "delete some");
		return;
	case ENGINE_END_LOCK_LIMIT:
		(void)snprintf(sandbox->reason, sizeof sandbox->reason,
		               "locks: it held more than %d record locks (fcntl); %s: lock larger "
		               "ranges or whole files; this limit cannot be raised",
		               SPEC_LOCKS_MAX, describe_loss(sandbox));
		return;
	case ENGINE_END_KILLED:
		return;
	case ENGINE_END_AGENT_DIED:
		/* The agent may exit just before it is killed on request. */
		if (sandbox->reason[0] == '\0' && sandbox->phase != PHASE_ENDING)
			set_reason(sandbox, why);
		return;
	case ENGINE_END_ENGINE_LOST:
		set_reason(sandbox, why);
		return;
	}
}

static void on_ended(void *ctx, enum engine_end end, const char *why)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	explain_end(sandbox, end, why);
	sandbox->met_limit = end == ENGINE_END_OUT_OF_MEMORY || end == ENGINE_END_DISK_LIMIT ||
	                     end == ENGINE_END_INODE_LIMIT || end == ENGINE_END_LOCK_LIMIT;
	(void)error_set(&err, sandbox->met_limit ? ERR_LIMIT : ERR_SYSTEM, "the sandbox ended: %s",
	                sandbox->reason[0] != '\0' ? sandbox->reason : why);
	if (sandbox->row.state == SANDBOX_CREATING || sandbox == sandbox->manager->prepared)
		sandbox->delete_pending = true;
	sandbox_handle_end(sandbox, sandbox->reason[0] == '\0' ? NULL : &err);
}

/* Records in the row that the agent has sent READY: the sandbox exists, and its files are the new
 * ones. No program runs in the sandbox before this is written. A row that stayed CREATING would be
 * deleted by the next recovery, with all files; one that stayed `fresh` would be cleared by the
 * next wake. The row of a temporary sandbox needs neither: recovery deletes it in any state. */
static int record_ready(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	const char *id = sandbox->row.spec.id;

	if (sandbox->row.state == SANDBOX_CREATING)
		return sandbox->row.temporary
		               ? 0
		               : registry_set_state(manager->store, id, SANDBOX_AWAKE,
		                                    manager->config.instance, err);
	return sandbox->row.spec.fresh ? registry_set_fresh(manager->store, id, false, err) : 0;
}

void sandbox_enter_ready(struct sandbox *sandbox)
{
	sandbox->phase = PHASE_READY;
	sandbox->row.state = SANDBOX_AWAKE;
	sandbox->awake_ms = clock_now_ms();
	sandbox_touch(sandbox);
	if (!sandbox->is_guest) /* the holder has the gate */
		sandbox_start_gate(sandbox);
	idle_check_soon(sandbox->manager);
	waiters_notify(&sandbox->waiters, EVENT_READY, NULL);
}

static void enter_own_ready(struct sandbox *sandbox)
{
	struct error err;

	if (sandbox->phase != PHASE_HANDSHAKE)
		return; /* the sandbox was killed meanwhile; the engine's last event follows */
	if (record_ready(sandbox, &err) < 0) {
		waiters_notify(&sandbox->waiters, EVENT_READY, &err);
		sandbox_kill(sandbox);
		return;
	}
	sandbox->row.spec.fresh = false;
	sandbox->is_clean = false;
	sandbox_enter_ready(sandbox);
}

static void on_ready(void *ctx)
{
	sandbox_place_trusted(ctx, enter_own_ready);
}

/* Without its agent the sandbox cannot be used: kill the rest. The engine reports when it is
 * gone. */
static void on_channel_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;

	if (sandbox->reason[0] == '\0' && sandbox->phase != PHASE_ENDING)
		set_reason(sandbox, why->msg);
	sandbox->phase = PHASE_ENDING;
	if (sandbox->box != NULL)
		sandbox->manager->engine->ops->kill(sandbox->box);
}

static const struct channel_events channel_events = { .ready = on_ready,
	                                              .failed = on_channel_failed };

static int open_channel(struct sandbox *sandbox, int fd, const struct engine_user *user,
                        struct error *err)
{
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.flags = WIRE_WELCOME_LANDLOCK,
		.uid = user->uid,
		.gid = user->gid,
		.root = view_of("/"),
		.workspace = view_of(SPEC_WORKSPACE),
		.workers = filter_for_workers(),
	};

	if (!user->is_filtered)
		welcome.programs = filter_for_programs(sandbox->row.spec.syscalls);
	buf_init(&groups, sizeof(uint32_t));
	/* In a user namespace with a single id setgroups() is denied, so the programs keep the
	 * server's supplementary groups. These groups have no mapping inside and appear as 65534;
	 * the agent must not mistake that for a failure to leave them. */
	if (user->is_agent && wire_numbers_add(&welcome.groups, &groups, UNMAPPED_GROUP, err) < 0) {
		(void)close(fd);
		return -1;
	}
	return channel_new(sandbox->manager->loop, fd, &welcome, &channel_events, sandbox,
	                   &sandbox->channel, err);
}

static void on_started(void *ctx, int fd, const struct engine_user *user)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	if (sandbox->phase != PHASE_STARTING) {
		(void)close(fd); /* the sandbox was killed meanwhile */
		return;
	}
	sandbox->phase = PHASE_HANDSHAKE;
	sandbox->progress.text[0] = '\0';
	sandbox_set_path(sandbox, user->path);
	if (open_channel(sandbox, fd, user, &err) < 0)
		on_channel_failed(sandbox, &err);
}

static const struct engine_events engine_events = {
	.progress = on_progress, .started = on_started, .failed = on_start_failed, .ended = on_ended
};

int sandbox_start(struct sandbox *sandbox, struct error *err)
{
	struct engine *engine = sandbox->manager->engine;
	struct spec spec = sandbox->row.spec;

	spec.fresh = spec.fresh || sandbox->row.state == SANDBOX_CREATING;
	/* The row of a prepared sandbox has no owner; its spec has the one it is prepared for. */
	if (sandbox->row.owner[0] != '\0') {
		spec.owner = hash_text(HASH_START, sandbox->row.owner);
		spec.expires_s = sandbox_expiry_s(&sandbox->row);
	}
	sandbox->reason[0] = '\0';
	sandbox->progress = (struct engine_progress){ .done = 0 };
	if (engine->ops->start(engine, &spec, &engine_events, sandbox, &sandbox->box, err) < 0)
		return -1;
	sandbox->phase = PHASE_STARTING;
	return 0;
}

/* --- find --- */

/* The registry is asked first even for a sandbox in memory: its row says which owner the sandbox
 * belongs to, and another server may have deleted the row. */
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
	*ret = sandbox_add(manager, &row);
	return 0;
}

int sandbox_find_awake(struct manager *manager, const char *id, struct sandbox **ret,
                       struct error *err)
{
	struct sandbox_row row;

	if (registry_get(manager->store, id, &row, err) < 0)
		return -1;
	LIST_EACH (node, &manager->sandboxes) {
		struct sandbox *sandbox = container_of(node, struct sandbox, node);

		if (strcmp(sandbox->row.spec.id, id) == 0 && sandbox != manager->prepared &&
		    sandbox_is_awake_here(sandbox)) {
			*ret = sandbox;
			return 0;
		}
	}
	return error_set(err, ERR_INVALID, "the sandbox has just fallen asleep: try again");
}

/* --- wake --- */

static int wake_sandbox(struct sandbox *sandbox, struct error *err)
{
	struct manager *manager = sandbox->manager;
	int r;

	if (manager->is_stopping)
		return manager_stopping_error(err);
	if (guest_wake(sandbox, &r, err))
		return r;
	if (sandbox_check_engine(sandbox, err) < 0)
		return -1;
	prepared_delete(manager);
	if (quota_admit_awake(manager, sandbox->row.owner, &sandbox->row.spec, err) < 0 ||
	    sandbox_claim(sandbox, err) < 0)
		return -1;
	/* A server died in the middle of a reset: remove the old files before anything may see
	 * them, then wake. */
	if (sandbox->row.spec.fresh && !sandbox->is_clean) {
		waiters_move(&sandbox->waiters, EVENT_READY, EVENT_WAKE_AGAIN);
		sandbox_clear(sandbox);
		return 0;
	}
	sandbox_fill_mounts(manager, &sandbox->row);
	if (sandbox_start(sandbox, err) < 0) {
		sandbox_set_state(sandbox, SANDBOX_ASLEEP);
		return -1;
	}
	return 0;
}

void sandbox_wake_again(struct sandbox *sandbox)
{
	struct error err;

	if (waiters_move(&sandbox->waiters, EVENT_WAKE_AGAIN, EVENT_READY) &&
	    wake_sandbox(sandbox, &err) < 0)
		waiters_notify(&sandbox->waiters, EVENT_READY, &err);
}

void sandbox_wake(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	struct error err;

	(void)error_set(&err, ERR_INVALID, "the sandbox is being deleted");
	switch (sandbox->phase) {
	case PHASE_READY:
		waiters_notify_one(sandbox->manager->loop, fn, ctx, NULL);
		return;
	case PHASE_STARTING:
	case PHASE_HANDSHAKE:
		waiters_add(&sandbox->waiters, EVENT_READY, fn, ctx);
		return;
	case PHASE_ASLEEP:
		waiters_add(&sandbox->waiters, EVENT_READY, fn, ctx);
		if (wake_sandbox(sandbox, &err) < 0)
			waiters_notify(&sandbox->waiters, EVENT_READY, &err);
		return;
	case PHASE_ENDING:
	case PHASE_CLEARING:
		if (sandbox->manager->is_stopping)
			(void)manager_stopping_error(&err);
		else if (!sandbox->delete_pending) {
			waiters_add(&sandbox->waiters, EVENT_WAKE_AGAIN, fn, ctx);
			return;
		}
		break;
	case PHASE_ERASING:
	case PHASE_DELETED:
		break;
	}
	waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
}

/* --- use --- */

void sandbox_touch(struct sandbox *sandbox)
{
	int64_t now = time(NULL);
	struct error err;

	sandbox->active_ms = clock_now_ms();
	sandbox->row.used_s = now;
	if (sandbox->phase != PHASE_READY || sandbox->row.temporary ||
	    now - sandbox->saved_used_s < SAVE_USED_EVERY_S)
		return;
	sandbox->saved_used_s = now;
	if (registry_touch(sandbox->manager->store, sandbox->row.spec.id, now, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->row.spec.id, err.msg);
}

void sandbox_hold(struct sandbox *sandbox)
{
	sandbox->holds++;
	if (sandbox->uses != 0 && sandbox->uses < UINT_MAX)
		sandbox->uses++;
}

void sandbox_release(struct sandbox *sandbox)
{
	sandbox->holds--;
	if (!sandbox->is_unloaded)
		sandbox_touch(sandbox);
	else if (sandbox->holds == 0)
		sandbox_unload(sandbox);
}
