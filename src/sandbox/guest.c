/* guest.c - sandboxes that another server of the same owner has awake (see share/share.h).
 *
 * Such a sandbox is woken by connecting to that server, the holder. Its struct then has a channel
 * but no box, and only the holder may change its row: sandbox_sleep() closes the connection, and a
 * reset, a deletion or an update is a request to the holder. When the holder exits or ends the
 * sandbox, the channel fails, and the next wake claims the row as usual. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "sandbox/channel/channel.h"
#include "sandbox/internal.h"
#include "sandbox/registry/instances.h"
#include "sandbox/share/share.h"

/* One request to a holder. */
struct guest_call {
	struct list node;        /* in manager->guest_calls */
	struct sandbox *sandbox; /* held */
	enum share_kind kind;
	struct share_changes *changes; /* of SHARE_UPDATE; or NULL */
	struct share_call *call;       /* NULL until connected */
	sandbox_fn *fn;                /* not for SHARE_ATTACH */
	void *ctx;
	bool is_cancelled; /* freed as soon as the connection is made */
};

bool sandbox_is_awake_here(const struct sandbox *sandbox)
{
	return sandbox->phase != PHASE_ASLEEP && !sandbox->is_guest;
}

bool guest_is_used_elsewhere(const struct manager *manager, const struct sandbox_row *row)
{
	return row->instance[0] != '\0' && strcmp(row->instance, manager->config.instance) != 0 &&
	       instance_is_alive(manager->config.servers, row->instance);
}

/* Another server may have claimed or released the sandbox since its row was read into memory, so
 * read the row again. */
static bool find_holder(const struct sandbox *sandbox, char holder[INSTANCE_LEN + 1])
{
	const struct manager *manager = sandbox->manager;
	struct sandbox_row row;
	struct error err;

	if (manager->config.connect_server == NULL || sandbox_is_awake_here(sandbox) ||
	    registry_get(manager->store, sandbox->row.spec.id, &row, &err) < 0 ||
	    !guest_is_used_elsewhere(manager, &row))
		return false;
	memcpy(holder, row.instance, sizeof row.instance);
	return true;
}

/* EBUSY lets callers try again for a while: the holder may be about to exit. */
static void set_busy(const struct sandbox *sandbox, const struct error *why, struct error *err)
{
	(void)error_set(err, ERR_INVALID,
	                "sandbox '%s' is in use by another server: wait until it has finished, end "
	                "it, or use another sandbox (%.200s)",
	                sandbox->row.spec.id, why->msg);
	err->errnum = EBUSY;
}

/* --- the channel --- */

static void on_ready(void *ctx)
{
	sandbox_place_trusted(ctx, sandbox_enter_ready);
}

static void on_channel_failed(void *ctx, const struct error *why)
{
	struct sandbox *sandbox = ctx;
	struct error err;

	if (sandbox->phase == PHASE_ENDING)
		return; /* sandbox_handle_end() fails the channel itself */
	if (sandbox->phase == PHASE_READY) {
		(void)snprintf(sandbox->reason, sizeof sandbox->reason,
		               "the server that had it awake has exited, or has put it to sleep, "
		               "reset or deleted it");
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended: %s", sandbox->reason);
	} else {
		set_busy(sandbox, why, &err);
	}
	sandbox_handle_end(sandbox, &err);
}

static int open_channel(struct sandbox *sandbox, int fd, struct error *err)
{
	static const struct channel_events events = { .ready = on_ready,
		                                      .failed = on_channel_failed };
	const struct wire_welcome welcome = { .root = view_of("/"),
		                              .workspace = view_of(SPEC_WORKSPACE) };

	sandbox->phase = PHASE_HANDSHAKE;
	return channel_new(sandbox->manager->loop, fd, &welcome, &events, sandbox,
	                   &sandbox->channel, err);
}

/* --- requests to the holder --- */

static void free_call(struct guest_call *call)
{
	struct sandbox *sandbox = call->sandbox;

	list_remove(&call->node);
	(void)share_call_free(call->call);
	free(call->changes);
	free(call);
	sandbox_release(sandbox);
}

static void finish_attach(struct sandbox *sandbox, int fd, const struct error *why)
{
	struct error err;

	if (why != NULL)
		set_busy(sandbox, why, &err);
	if (why != NULL || open_channel(sandbox, fd, &err) < 0)
		sandbox_handle_end(sandbox, &err);
}

/* Frees the struct of a sandbox whose files and row the holder has removed. */
static void unload_deleted_sandbox(struct sandbox *sandbox)
{
	if (sandbox->is_guest)
		guest_disconnect(sandbox);
	if (sandbox->phase != PHASE_ASLEEP || sandbox->is_unloaded)
		return;
	sandbox->phase = PHASE_DELETED;
	sandbox_unload(sandbox);
}

static void read_row_again(struct sandbox *sandbox)
{
	struct sandbox_row row;
	struct error err;

	if (registry_get(sandbox->manager->store, sandbox->row.spec.id, &row, &err) == 0)
		sandbox_adopt_row(sandbox, &row);
}

static void finish_call(struct guest_call *call, int fd, const struct error *why)
{
	struct sandbox *sandbox = call->sandbox;

	if (call->kind == SHARE_ATTACH) {
		finish_attach(sandbox, fd, why);
	} else {
		if (why == NULL && call->kind == SHARE_UPDATE)
			read_row_again(sandbox);
		waiters_notify_one(sandbox->manager->loop, call->fn, call->ctx, why);
		if (why == NULL && call->kind == SHARE_DELETE)
			unload_deleted_sandbox(sandbox);
	}
	free_call(call);
}

static void on_answer(void *ctx, int fd, const struct error *why)
{
	struct guest_call *call = ctx;

	call->call = NULL;
	finish_call(call, fd, why);
}

static void on_connected(void *ctx, int fd, const struct error *why)
{
	struct guest_call *call = ctx;
	struct sandbox *sandbox = call->sandbox;
	struct error err;

	if (call->is_cancelled) {
		if (fd >= 0)
			(void)close(fd);
		free_call(call);
	} else if (why == NULL) {
		call->call = share_call_new(sandbox->manager->loop, fd, call->kind,
		                            sandbox->row.spec.id, call->changes, on_answer, call);
	} else if (call->kind == SHARE_ATTACH) {
		finish_call(call, -1, why);
	} else {
		set_busy(sandbox, why, &err);
		finish_call(call, -1, &err);
	}
}

/* Takes over `changes`. */
static int start_call(struct sandbox *sandbox, const char *holder, enum share_kind kind,
                      struct share_changes *changes, sandbox_fn *fn, void *ctx, struct error *err)
{
	struct manager *manager = sandbox->manager;
	struct guest_call *call = mem_new(sizeof *call);

	*call = (struct guest_call){
		.sandbox = sandbox, .kind = kind, .changes = changes, .fn = fn, .ctx = ctx
	};
	list_add(&manager->guest_calls, &call->node);
	sandbox_hold(sandbox);
	if (manager->config.connect_server(manager->config.ctx, holder, on_connected, call, err) ==
	    0)
		return 0;
	free_call(call);
	return -1;
}

bool guest_wake(struct sandbox *sandbox, int *ret, struct error *err)
{
	char holder[INSTANCE_LEN + 1];

	if (!find_holder(sandbox, holder))
		return false;
	*ret = start_call(sandbox, holder, SHARE_ATTACH, NULL, NULL, NULL, err);
	if (*ret == 0) {
		sandbox->is_guest = true;
		sandbox->reason[0] = '\0';
		sandbox->phase = PHASE_STARTING;
	}
	return true;
}

static bool request_end(struct sandbox *sandbox, enum share_kind kind, sandbox_fn *fn, void *ctx)
{
	char holder[INSTANCE_LEN + 1];
	struct error err;

	if (!find_holder(sandbox, holder))
		return false;
	if (start_call(sandbox, holder, kind, NULL, fn, ctx, &err) < 0)
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
	return true;
}

bool guest_delete(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	return request_end(sandbox, SHARE_DELETE, fn, ctx);
}

bool guest_reset(struct sandbox *sandbox, sandbox_fn *fn, void *ctx)
{
	return request_end(sandbox, SHARE_RESET, fn, ctx);
}

/* Copies strings up to the empty one at their end; `out` is zeroed. */
static void copy_list(char *out, size_t size, const char *list)
{
	for (size_t len; (len = strlen(list)) != 0 && len + 1 < size; list += len + 1) {
		memcpy(out, list, len);
		out += len + 1;
		size -= len + 1;
	}
}

bool guest_update(struct sandbox *sandbox, const struct sandbox_changes *changes, sandbox_fn *fn,
                  void *ctx)
{
	char holder[INSTANCE_LEN + 1];
	struct share_changes *sent;
	struct error err;

	if (!find_holder(sandbox, holder))
		return false;
	sent = mem_new(sizeof *sent);
	sent->has_name = changes->name != NULL;
	if (changes->name != NULL)
		(void)snprintf(sent->name, sizeof sent->name, "%s", changes->name);
	copy_list(sent->env, sizeof sent->env, changes->env);
	copy_list(sent->labels, sizeof sent->labels, changes->labels);
	sent->idle_s = changes->idle_s;
	sent->lifetime_s = changes->lifetime_s;
	sent->limits = changes->limits;
	sent->network = changes->network;
	if (changes->network >= 0)
		copy_list(sent->network_allow, sizeof sent->network_allow, changes->network_allow);
	if (start_call(sandbox, holder, SHARE_UPDATE, sent, fn, ctx, &err) < 0)
		waiters_notify_one(sandbox->manager->loop, fn, ctx, &err);
	return true;
}

/* --- the end --- */

static void cancel_attach(struct sandbox *sandbox)
{
	LIST_EACH (node, &sandbox->manager->guest_calls) {
		struct guest_call *call = container_of(node, struct guest_call, node);

		if (call->sandbox != sandbox || call->kind != SHARE_ATTACH || call->is_cancelled)
			continue;
		call->is_cancelled = true;
		if (call->call != NULL)
			free_call(call);
		return;
	}
}

void guest_disconnect(struct sandbox *sandbox)
{
	if (sandbox->phase == PHASE_ASLEEP)
		return;
	sandbox_touch(sandbox);
	cancel_attach(sandbox);
	sandbox_handle_end(sandbox, NULL);
}

void guest_free_calls(struct manager *manager)
{
	while (!list_is_empty(&manager->guest_calls)) {
		struct guest_call *call = container_of(manager->guest_calls.next, struct guest_call,
		                                       node);

		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		list_remove(&call->node);
		(void)share_call_free(call->call);
		free(call->changes);
		free(call);
	}
}
