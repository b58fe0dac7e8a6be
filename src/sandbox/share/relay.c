/* relay.c - one connection of a guest: its request, the answer, and the frames that follow. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/sandbox.h"
#include "sandbox/share/internal.h"

/* For the request, and again for WELCOME: a process that connects and sends nothing would keep one
 * of the few connections (internal.h) from others. */
enum { HANDSHAKE_MS = 10000 };

/* --- the end --- */

static void free_relay(void *ctx)
{
	struct relay *relay = ctx;

	buf_done(&relay->partial);
	free(relay->update);
	free(relay);
}

static void free_idle_relay(struct relay *relay)
{
	if (!relay->is_closed || relay->is_waiting)
		return;
	list_remove(&relay->node);
	loop_defer(relay->loop, free_relay, relay);
}

static void on_sandbox_ended(void *ctx, const struct error *why)
{
	struct relay *relay = ctx;

	(void)why;
	relay_close(relay);
}

void relay_close(struct relay *relay)
{
	struct sandbox *sandbox = relay->sandbox;

	if (relay->is_closed)
		return;
	relay->is_closed = true;
	relay->share->count--;
	relay_cancel_streams(relay);
	relay->input = input_free(relay->input);
	relay->output = output_free(relay->output);
	relay->deadline = loop_timer_free(relay->deadline);
	(void)close(relay->fd);
	relay->sandbox = NULL;
	if (relay->is_attached)
		sandbox_cancel_notify_end(sandbox, on_sandbox_ended, relay);
	if (sandbox != NULL)
		sandbox_release(sandbox);
	free_idle_relay(relay);
}

/* --- sending --- */

void relay_send(struct relay *relay, struct view bytes)
{
	struct error err;

	if (relay->is_closed || output_write(relay->output, bytes, &err) == 0)
		return;
	log_info("a process that uses a sandbox of this server does not read: disconnected");
	relay_close(relay);
}

void relay_send_message(struct relay *relay, const struct wire_message *message, uint32_t stream)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(message, stream, 0, &out, &err) < 0)
		relay_close(relay);
	else
		relay_send(relay, buf_view(&out));
}

static void on_drained(void *ctx)
{
	(void)ctx;
}

static void on_write_failed(void *ctx, const struct error *why)
{
	(void)why;
	relay_close(ctx);
}

/* --- the request --- */

static void send_answer(struct relay *relay, const struct error *why)
{
	struct share_answer answer = { .failed = why != NULL };

	if (why != NULL)
		(void)snprintf(answer.message, sizeof answer.message, "%s", why->msg);
	relay_send(relay, (struct view){ (const char *)&answer, sizeof answer });
}

static void answer_and_close(struct relay *relay, const struct error *why)
{
	send_answer(relay, why);
	relay_close(relay);
}

/* The sandbox was deleted, reset or changed. */
static void on_done(void *ctx, const struct error *why)
{
	struct relay *relay = ctx;

	relay->is_waiting = false;
	if (relay->is_closed)
		free_idle_relay(relay);
	else
		answer_and_close(relay, why);
}

/* From here on the relay takes the place of an agent, which begins with HELLO. */
static void on_awake(void *ctx, const struct error *why)
{
	static const struct wire_message hello = {
		.type = WIRE_HELLO, .hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION }
	};
	struct relay *relay = ctx;

	relay->is_waiting = false;
	if (relay->is_closed) {
		free_idle_relay(relay);
		return;
	}
	if (why != NULL) {
		answer_and_close(relay, why);
		return;
	}
	send_answer(relay, NULL);
	if (relay->is_closed)
		return;
	relay->is_attached = true;
	sandbox_notify_end(relay->sandbox, on_sandbox_ended, relay);
	loop_timer_start(relay->deadline, HANDSHAKE_MS);
	relay_send_message(relay, &hello, 0);
	wire_link_sent(&relay->link, WIRE_HELLO);
}

/* The bytes come from another process of the same user, which may have another version of belljar,
 * or may be a server that was taken over: no text is used before its end was found. */
static int check_request(const struct share_request *request, struct error *err)
{
	if (memchr(request->version, '\0', sizeof request->version) == NULL ||
	    strcmp(request->version, BELLJAR_VERSION) != 0)
		return error_set(err, ERR_UNSUPPORTED,
		                 "a server of version %s has the sandbox awake: use the same "
		                 "version, or end that server",
		                 BELLJAR_VERSION);
	if (memchr(request->id, '\0', sizeof request->id) == NULL || !spec_is_id(request->id) ||
	    request->kind == 0 || request->kind >= SHARE_KIND_COUNT)
		return error_set(err, ERR_INVALID, "the request is malformed");
	return 0;
}

/* Refuses a sandbox that has fallen asleep here or that a third server has awake: the guest then
 * reads the row in the registry again. */
static int find_sandbox(struct relay *relay, const struct share_request *request, struct error *err)
{
	struct sandbox *sandbox;

	if (check_request(request, err) < 0 ||
	    sandbox_find_awake(relay->share->manager, request->id, &sandbox, err) < 0)
		return -1;
	sandbox_hold(sandbox);
	relay->sandbox = sandbox;
	return 0;
}

/* Whether the text is a list of strings, with `needs_value` of "NAME=value" strings, with an empty
 * string at its end. */
static bool is_list(const char *list, size_t size, bool needs_value)
{
	for (size_t at = 0; at < size;) {
		size_t len = strnlen(list + at, size - at);
		const char *sign = memchr(list + at, '=', len);

		if (len == 0 || len == size - at)
			return len == 0;
		if (needs_value && (sign == NULL || sign == list + at))
			return false;
		at += len + 1;
	}
	return false;
}

/* The spawner of this server checks the limits, sandbox_update() the name, and every connection of
 * the sandbox the ceiling of its network. */
static int take_changes(struct relay *relay, const struct share_changes *given, struct error *err)
{
	struct share_changes *update = mem_new(sizeof *update);

	relay->update = update;
	*update = *given;
	if (memchr(update->name, '\0', sizeof update->name) == NULL ||
	    !is_list(update->env, sizeof update->env, true) ||
	    !is_list(update->labels, sizeof update->labels, true) ||
	    !is_list(update->network_allow, sizeof update->network_allow, false) ||
	    update->network < -1 || update->network >= NET_MODE_COUNT || update->idle_s < -1 ||
	    update->idle_s > UINT32_MAX || update->lifetime_s < -1 ||
	    update->lifetime_s > UINT32_MAX)
		return error_set(err, ERR_INVALID, "the request is malformed");
	relay->changes = (struct sandbox_changes){ .name = update->has_name ? update->name : NULL,
		                                   .env = update->env,
		                                   .labels = update->labels,
		                                   .idle_s = update->idle_s,
		                                   .lifetime_s = update->lifetime_s,
		                                   .limits = update->limits,
		                                   .network = update->network,
		                                   .network_allow = update->network_allow };
	return 0;
}

static void receive_request(struct relay *relay, const struct share_request *request,
                            const struct share_changes *changes)
{
	struct error err;

	loop_timer_stop(relay->deadline);
	if (find_sandbox(relay, request, &err) < 0 ||
	    (changes != NULL && take_changes(relay, changes, &err) < 0)) {
		answer_and_close(relay, &err);
		return;
	}
	relay->is_waiting = true;
	if (request->kind == SHARE_ATTACH)
		sandbox_wake(relay->sandbox, on_awake, relay);
	else if (request->kind == SHARE_DELETE)
		sandbox_delete(relay->sandbox, on_done, relay);
	else if (request->kind == SHARE_RESET)
		sandbox_reset(relay->sandbox, on_done, relay);
	else
		sandbox_update(relay->sandbox, &relay->changes, on_done, relay);
}

/* --- receiving --- */

static void close_malformed(struct relay *relay, const struct error *why)
{
	log_info("a process that uses a sandbox of this server broke the protocol: %s", why->msg);
	relay_close(relay);
}

static size_t receive_first(struct relay *relay, struct view bytes)
{
	struct share_request request;
	struct share_changes changes;
	size_t size = sizeof request;

	if (bytes.len < size)
		return 0;
	memcpy(&request, bytes.ptr, size);
	if (request.kind == SHARE_UPDATE) {
		size += sizeof changes;
		if (bytes.len < size)
			return 0;
		memcpy(&changes, bytes.ptr + sizeof request, sizeof changes);
	}
	relay->has_request = true;
	receive_request(relay, &request, request.kind == SHARE_UPDATE ? &changes : NULL);
	return size;
}

/* Handles the request, or after SHARE_ATTACH the frames, that are complete in `bytes`. Returns how
 * many bytes were used. */
static size_t receive_messages(struct relay *relay, struct view bytes)
{
	size_t whole = bytes.len;
	struct wire_frame frame;
	struct error err;
	int r = 1;

	if (!relay->has_request)
		return receive_first(relay, bytes);
	while (r > 0 && relay->is_attached && !relay->is_closed) {
		r = wire_frame_cut(&bytes, &frame, &err);
		if (r > 0)
			r = relay_receive_frame(relay, &frame, &err) < 0 ? -1 : 1;
	}
	if (r < 0 && !relay->is_closed)
		close_malformed(relay, &err);
	return whole - bytes.len;
}

static void on_bytes(void *ctx, struct view bytes)
{
	struct relay *relay = ctx;
	struct error err;
	size_t used;

	if (buf_add(&relay->partial, bytes, &err) < 0) {
		close_malformed(relay, &err);
		return;
	}
	used = receive_messages(relay, buf_view(&relay->partial));
	if (relay->is_closed || used == 0)
		return;
	memmove(relay->partial.ptr, relay->partial.ptr + used, relay->partial.len - used);
	buf_truncate(&relay->partial, relay->partial.len - used);
}

static void on_input_end(void *ctx, const struct error *why)
{
	(void)why;
	relay_close(ctx);
}

static void on_deadline(void *ctx)
{
	relay_close(ctx);
}

void relay_new(struct share *share, int fd)
{
	static const struct input_events inward = { .bytes = on_bytes, .end = on_input_end };
	static const struct output_events outward = { on_drained, on_write_failed };
	struct relay *relay = mem_new(sizeof *relay);
	struct error err;

	relay->share = share;
	relay->loop = share->loop;
	relay->fd = fd;
	list_init(&relay->streams);
	wire_link_init(&relay->link, WIRE_AGENT);
	buf_init(&relay->partial, WIRE_FRAME_MAX + INPUT_CHUNK);
	if (output_new(share->loop, fd, GUEST_QUEUE_MAX, &outward, relay, &relay->output, &err) <
	    0) {
		log_warning("%s", err.msg);
		(void)close(fd);
		free_relay(relay);
		return;
	}
	relay->input = input_new(share->loop, fd, &inward, relay);
	relay->deadline = loop_timer_new(share->loop, on_deadline, relay);
	loop_timer_start(relay->deadline, HANDSHAKE_MS);
	list_add(&share->relays, &relay->node);
	share->count++;
}
