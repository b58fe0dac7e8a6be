#include "sandbox/process/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"

enum {
	STALLED_MS = 5000,  /* without progress the file is given up */
	CLOSING_MS = 20000, /* the agent may have to wait for the disk before it closes the file */
	FILE_PERM = 0644,
};

struct spill {
	struct sandbox *sandbox;
	const struct spill_events *events;
	void *ctx;
	char *path;
	struct channel_stream *stream; /* of REMOVE, then of WRITE */
	struct loop_timer *stall_timer;
	struct loop_timer *closed_timer; /* due at once: calls `closed` */
	bool is_writing;                 /* WRITE was requested */
	bool is_ended;                   /* spill_end() was called */
	bool is_closed;                  /* the file is closed, or given up */
	bool is_full;                    /* the file has `max` bytes */
	bool is_given_up;
	uint64_t left;    /* bytes the file may still get */
	size_t uncounted; /* bytes at the front of the queue that `taken` does not report */
	char *queue;      /* bytes from `at` on */
	size_t at, len, room;
	char note[560];
};

/* --- the queue -------------------------------------------------------------------------------- */

/* The queue holds at most the output so far and one window of credit. */
static void queue_bytes(struct spill *spill, struct view bytes)
{
	if (bytes.len == 0)
		return;
	if (spill->at != 0) {
		memmove(spill->queue, spill->queue + spill->at, spill->len);
		spill->at = 0;
	}
	if (spill->len + bytes.len > spill->room) {
		spill->room = 2 * (spill->len + bytes.len);
		spill->queue = mem_resize(spill->queue, spill->room);
	}
	memcpy(spill->queue + spill->len, bytes.ptr, bytes.len);
	spill->len += bytes.len;
}

static void report_taken(struct spill *spill, size_t bytes)
{
	size_t uncounted = bytes < spill->uncounted ? bytes : spill->uncounted;

	spill->uncounted -= uncounted;
	if (bytes > uncounted)
		spill->events->taken(spill->ctx, bytes - uncounted);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* Cancels the stream and removes the bytes that were not sent from the queue. */
static void stop_writing(struct spill *spill)
{
	if (spill->stream != NULL)
		channel_cancel(spill->stream);
	spill->stream = NULL;
	spill->is_closed = true;
	spill->len = 0;
	loop_timer_stop(spill->stall_timer);
}

/* The file is closed or given up. Bytes that were not sent count as taken. */
static void set_closed(struct spill *spill)
{
	size_t discarded = spill->len;

	stop_writing(spill);
	if (spill->is_ended)
		loop_timer_start(spill->closed_timer, 0);
	report_taken(spill, discarded);
}

/* When a WRITE fails, the agent truncates the file to its earlier length, so the file is empty. */
static void give_up_file(struct spill *spill, const char *why)
{
	spill->is_given_up = true;
	(void)snprintf(spill->note, sizeof spill->note,
	               "the output could not be written to a file: %.480s", why);
	set_closed(spill);
}

static void on_stall_timer(void *ctx)
{
	give_up_file(ctx, "writing took too long");
}

static void on_closed_timer(void *ctx)
{
	struct spill *spill = ctx;

	spill->events->closed(spill->ctx);
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t send_bytes(struct spill *spill, struct view bytes)
{
	size_t sent = channel_send(spill->stream, WIRE_IN, bytes);

	spill->left -= sent;
	return sent;
}

static void close_file(struct spill *spill)
{
	if (spill->stream != NULL && spill->is_writing)
		channel_send_end(spill->stream, WIRE_IN);
	loop_timer_start(spill->stall_timer, CLOSING_MS);
}

/* The file has reached its maximum: closes it and discards the rest. */
static void set_full(struct spill *spill)
{
	size_t discarded = spill->len;

	spill->is_full = true;
	spill->len = 0;
	(void)snprintf(spill->note, sizeof spill->note, "the file has reached its limit");
	close_file(spill);
	report_taken(spill, discarded);
}

/* Sends what the agent accepts, and closes the file behind the last byte. */
static void send_queue(struct spill *spill)
{
	size_t sent = 0;

	if (!spill->is_writing || spill->is_closed || spill->is_full)
		return;
	if (spill->len != 0) {
		size_t len = spill->len < spill->left ? spill->len : (size_t)spill->left;

		sent = len != 0 ? send_bytes(spill, (struct view){ spill->queue + spill->at, len })
		                : 0;
		spill->at += sent;
		spill->len -= sent;
	}
	if (spill->len == 0)
		loop_timer_stop(spill->stall_timer);
	else if (sent != 0)
		loop_timer_start(spill->stall_timer, STALLED_MS);
	if (spill->left == 0 && spill->len != 0)
		set_full(spill);
	else if (spill->len == 0 && spill->is_ended)
		close_file(spill);
	if (sent != 0)
		report_taken(spill, sent);
}

static void on_writable(void *ctx)
{
	send_queue(ctx);
}

static void on_written(void *ctx, const struct wire_done *done)
{
	struct spill *spill = ctx;

	(void)done;
	spill->stream = NULL;
	set_closed(spill);
}

static void on_write_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct spill *spill = ctx;

	(void)failure;
	spill->stream = NULL;
	give_up_file(spill, why->msg);
}

static const struct channel_stream_events write_events = { .writable = on_writable,
	                                                   .done = on_written,
	                                                   .failed = on_write_failed };

static void open_stream(struct spill *spill, const struct wire_message *request,
                        const struct channel_stream_events *events)
{
	struct channel *channel = sandbox_channel(spill->sandbox);
	struct error err;

	if (channel == NULL)
		give_up_file(spill, "the sandbox ended");
	else if (channel_open(channel, request, events, spill, &spill->stream, &err) < 0)
		give_up_file(spill, err.msg);
}

static void start_writing(struct spill *spill)
{
	const struct wire_message request = { .type = WIRE_WRITE,
		                              .write = { .mode = WIRE_WRITE_APPEND,
		                                         .flags = WIRE_PARENTS,
		                                         .perm = FILE_PERM,
		                                         .max = spill->left,
		                                         .path = view_of(spill->path) } };

	spill->stream = NULL;
	open_stream(spill, &request, &write_events);
	spill->is_writing = !spill->is_closed;
	send_queue(spill);
}

static void on_removed(void *ctx, const struct wire_done *done)
{
	(void)done;
	start_writing(ctx);
}

/* Usually there was no old file. Any other problem makes the WRITE fail as well. */
static void on_not_removed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct spill *spill = ctx;

	if (failure == WIRE_FAILED_LOST) {
		spill->stream = NULL;
		give_up_file(spill, why->msg);
		return;
	}
	start_writing(spill);
}

static const struct channel_stream_events remove_events = { .done = on_removed,
	                                                    .failed = on_not_removed };

/* --- for the process -------------------------------------------------------------------------- */

struct spill *spill_new(struct sandbox *sandbox, const char *path, uint64_t max, struct view head,
                        struct view tail, const struct spill_events *events, void *ctx)
{
	struct spill *spill = mem_new(sizeof *spill);
	struct wire_message request = { .type = WIRE_REMOVE };

	*spill = (struct spill){
		.sandbox = sandbox, .events = events, .ctx = ctx, .path = mem_dup(path), .left = max
	};
	spill->stall_timer = loop_timer_new(sandbox_loop(sandbox), on_stall_timer, spill);
	spill->closed_timer = loop_timer_new(sandbox_loop(sandbox), on_closed_timer, spill);
	queue_bytes(spill, head);
	queue_bytes(spill, tail);
	spill->uncounted = spill->len;
	request.remove.path = view_of(spill->path);
	open_stream(spill, &request, &remove_events);
	if (!spill->is_closed)
		loop_timer_start(spill->stall_timer, STALLED_MS);
	return spill;
}

void spill_add(struct spill *spill, struct view bytes)
{
	size_t sent = 0;

	if (spill->is_closed || spill->is_full) {
		report_taken(spill, bytes.len);
		return;
	}
	/* The usual case: the queue is empty, and the agent accepts the bytes without a copy. */
	if (spill->is_writing && spill->len == 0 && bytes.len <= spill->left)
		sent = send_bytes(spill, bytes);
	if (sent < bytes.len && spill->len == 0)
		loop_timer_start(spill->stall_timer, STALLED_MS);
	queue_bytes(spill, (struct view){ bytes.ptr + sent, bytes.len - sent });
	if (sent != 0)
		report_taken(spill, sent);
	if (spill->len != 0)
		send_queue(spill);
}

void spill_end(struct spill *spill)
{
	spill->is_ended = true;
	if (spill->is_closed)
		loop_timer_start(spill->closed_timer, 0);
	else if (spill->is_full)
		loop_timer_start(spill->stall_timer, CLOSING_MS);
	else
		send_queue(spill);
}

void spill_stop(struct spill *spill)
{
	if (spill->is_closed)
		loop_timer_stop(spill->closed_timer);
	else
		(void)snprintf(spill->note, sizeof spill->note,
		               "the process ended before all output was written");
	stop_writing(spill);
}

void spill_free(struct spill *spill)
{
	if (spill == NULL)
		return;
	if (spill->stream != NULL)
		channel_cancel(spill->stream);
	(void)loop_timer_free(spill->stall_timer);
	(void)loop_timer_free(spill->closed_timer);
	free(spill->queue);
	free(spill->path);
	free(spill);
}

const char *spill_path(const struct spill *spill)
{
	return spill->is_given_up ? NULL : spill->path;
}

const char *spill_note(const struct spill *spill)
{
	return spill->note[0] != '\0' ? spill->note : NULL;
}
