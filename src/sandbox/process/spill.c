#include "sandbox/process/spill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"

enum { STALLED_MS = 5000, CLOSING_MS = 20000, FILE_PERM = 0644 };

struct spill {
	struct sandbox *sandbox;
	const struct spill_events *events;
	void *ctx;
	char *path;
	struct channel_stream *stream; /* of the REMOVE, then of the WRITE */
	struct loop_timer *stalled;    /* nothing has gone for so long */
	struct loop_timer *end;        /* due at once: it is over */
	bool is_writing;               /* the WRITE has been asked for */
	bool is_ended;                 /* no more is added */
	bool is_over;                  /* the file is closed, or given up */
	bool is_full;                  /* as long as it may be */
	bool is_given_up;
	uint64_t left; /* bytes it may still get */
	size_t unowed; /* of those that wait: nobody is told when they go */
	char *waiting; /* bytes from `at` on */
	size_t at, len, room;
	char note[560];
};

/* --- the queue -------------------------------------------------------------------------------- */

/* So much is at most the first bytes and one window of credit. */
static void keep(struct spill *spill, struct view bytes)
{
	if (bytes.len == 0)
		return;
	if (spill->at != 0) {
		memmove(spill->waiting, spill->waiting + spill->at, spill->len);
		spill->at = 0;
	}
	if (spill->len + bytes.len > spill->room) {
		spill->room = 2 * (spill->len + bytes.len);
		spill->waiting = mem_resize(spill->waiting, spill->room);
	}
	memcpy(spill->waiting + spill->len, bytes.ptr, bytes.len);
	spill->len += bytes.len;
}

static void tell_taken(struct spill *spill, size_t bytes)
{
	size_t silent = bytes < spill->unowed ? bytes : spill->unowed;

	spill->unowed -= silent;
	if (bytes > silent)
		spill->events->taken(spill->ctx, bytes - silent);
}

/* --- its end ---------------------------------------------------------------------------------- */

static void become_over(struct spill *spill)
{
	size_t forgotten = spill->len;

	if (spill->stream != NULL)
		channel_cancel(spill->stream);
	spill->stream = NULL;
	spill->is_over = true;
	spill->len = 0;
	loop_timer_stop(spill->stalled);
	if (spill->is_ended)
		loop_timer_start(spill->end, 0);
	tell_taken(spill, forgotten);
}

/* The agent takes back what it has appended when something goes wrong; what is left is empty. */
static void give_up(struct spill *spill, const char *why)
{
	spill->is_given_up = true;
	(void)snprintf(spill->note, sizeof spill->note, "it could not be kept in a file: %.480s",
	               why);
	become_over(spill);
}

static void on_stalled(void *ctx)
{
	give_up(ctx, "writing it took too long");
}

static void on_end(void *ctx)
{
	struct spill *spill = ctx;

	spill->events->over(spill->ctx);
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t send(struct spill *spill, struct view bytes)
{
	size_t sent = channel_send(spill->stream, WIRE_IN, bytes);

	spill->left -= sent;
	return sent;
}

/* What was written may have to reach the disk first, which takes its time. */
static void close_file(struct spill *spill)
{
	if (spill->stream != NULL && spill->is_writing)
		channel_send_end(spill->stream, WIRE_IN);
	loop_timer_start(spill->stalled, CLOSING_MS);
}

static void fill_up(struct spill *spill)
{
	size_t forgotten = spill->len;

	spill->is_full = true;
	spill->len = 0;
	(void)snprintf(spill->note, sizeof spill->note, "the file ends when it is full");
	close_file(spill);
	tell_taken(spill, forgotten);
}

static void push(struct spill *spill)
{
	size_t sent = 0;

	if (!spill->is_writing || spill->is_over || spill->is_full)
		return;
	if (spill->len != 0) {
		size_t len = spill->len < spill->left ? spill->len : (size_t)spill->left;

		sent = len != 0 ? send(spill, (struct view){ spill->waiting + spill->at, len }) : 0;
		spill->at += sent;
		spill->len -= sent;
	}
	if (spill->len == 0)
		loop_timer_stop(spill->stalled);
	else if (sent != 0)
		loop_timer_start(spill->stalled, STALLED_MS);
	if (spill->left == 0 && spill->len != 0)
		fill_up(spill);
	else if (spill->len == 0 && spill->is_ended)
		close_file(spill);
	if (sent != 0)
		tell_taken(spill, sent);
}

static void on_writable(void *ctx)
{
	push(ctx);
}

static void on_written(void *ctx, const struct wire_done *done)
{
	struct spill *spill = ctx;

	(void)done;
	spill->stream = NULL;
	become_over(spill);
}

static void on_write_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct spill *spill = ctx;

	(void)failure;
	spill->stream = NULL;
	give_up(spill, why->msg);
}

static const struct channel_stream_events write_events = { .writable = on_writable,
	                                                   .done = on_written,
	                                                   .failed = on_write_failed };

static void ask(struct spill *spill, const struct wire_message *request,
                const struct channel_stream_events *events)
{
	struct channel *channel = sandbox_channel(spill->sandbox);
	struct error err;

	if (channel == NULL)
		give_up(spill, "the sandbox ended");
	else if (channel_open(channel, request, events, spill, &spill->stream, &err) < 0)
		give_up(spill, err.msg);
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
	ask(spill, &request, &write_events);
	spill->is_writing = !spill->is_over;
	push(spill);
}

static void on_removed(void *ctx, const struct wire_done *done)
{
	(void)done;
	start_writing(ctx);
}

/* Most often there was none. Anything else WRITE will tell. */
static void on_not_removed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct spill *spill = ctx;

	if (failure == WIRE_FAILED_LOST) {
		spill->stream = NULL;
		give_up(spill, why->msg);
		return;
	}
	start_writing(spill);
}

static const struct channel_stream_events remove_events = { .done = on_removed,
	                                                    .failed = on_not_removed };

/* --- calls ------------------------------------------------------------------------------------ */

struct spill *spill_new(struct sandbox *sandbox, const char *path, uint64_t max, struct view first,
                        struct view second, const struct spill_events *events, void *ctx)
{
	struct spill *spill = mem_new(sizeof *spill);
	struct wire_message request = { .type = WIRE_REMOVE };

	*spill = (struct spill){
		.sandbox = sandbox, .events = events, .ctx = ctx, .path = mem_dup(path), .left = max
	};
	spill->stalled = loop_timer_new(sandbox_loop(sandbox), on_stalled, spill);
	spill->end = loop_timer_new(sandbox_loop(sandbox), on_end, spill);
	keep(spill, first);
	keep(spill, second);
	spill->unowed = spill->len;
	request.remove.path = view_of(spill->path);
	ask(spill, &request, &remove_events);
	if (!spill->is_over)
		loop_timer_start(spill->stalled, STALLED_MS);
	return spill;
}

void spill_add(struct spill *spill, struct view bytes)
{
	size_t sent = 0;

	if (spill->is_over || spill->is_full) {
		tell_taken(spill, bytes.len);
		return;
	}
	/* As a rule it is taken as it comes. */
	if (spill->is_writing && spill->len == 0 && bytes.len <= spill->left)
		sent = send(spill, bytes);
	if (sent < bytes.len && spill->len == 0)
		loop_timer_start(spill->stalled, STALLED_MS);
	keep(spill, (struct view){ bytes.ptr + sent, bytes.len - sent });
	if (sent != 0)
		tell_taken(spill, sent);
	if (spill->len != 0)
		push(spill);
}

void spill_end(struct spill *spill)
{
	spill->is_ended = true;
	if (spill->is_over)
		loop_timer_start(spill->end, 0);
	else if (spill->is_full)
		loop_timer_start(spill->stalled, CLOSING_MS);
	else
		push(spill);
}

void spill_stop(struct spill *spill)
{
	if (spill->is_over)
		loop_timer_stop(spill->end);
	else
		(void)snprintf(spill->note, sizeof spill->note,
		               "it was ended before all of it was written to the file");
	if (spill->stream != NULL)
		channel_cancel(spill->stream);
	spill->stream = NULL;
	spill->is_over = true;
	spill->len = 0;
	loop_timer_stop(spill->stalled);
}

void spill_free(struct spill *spill)
{
	if (spill == NULL)
		return;
	if (spill->stream != NULL)
		channel_cancel(spill->stream);
	(void)loop_timer_free(spill->stalled);
	(void)loop_timer_free(spill->end);
	free(spill->waiting);
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
