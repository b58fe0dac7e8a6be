#include "sandbox/copy/transfer.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/channel/channel.h"
#include "sandbox/copy/tar_filter.h"

enum {
	WIDER = 192 * 1024, /* on their way beyond the 64 KiB there are at first */
	HEADERS = 4096,     /* bytes of an archive for each entry, on average */
	WAITING_MAX = WIRE_WINDOW + WIDER + TAR_FILTER_MORE,
};

struct transfer {
	const struct transfer_events *events;
	void *ctx;
	struct channel_stream *from, *to;
	struct tar_filter *filter;
	const char *from_where, *to_where;
	bool is_file;
	struct buf waiting; /* for the taking side, from `sent` on */
	size_t sent;
	size_t owed;     /* bytes that came and were not given back as credit */
	uint64_t passed; /* bytes handed on so far */
	bool has_come;   /* all of it */
	bool is_telling;
	struct transfer_result result;
};

/* --- its end ----------------------------------------------------------------------- */

static void let_go(struct transfer *transfer)
{
	if (transfer->from != NULL)
		channel_cancel(transfer->from);
	if (transfer->to != NULL)
		channel_cancel(transfer->to);
	transfer->from = transfer->to = NULL;
}

static void release(struct transfer *transfer)
{
	buf_done(&transfer->waiting);
	free(transfer);
}

/* The one who is told may drop it, or free both channels. */
static void tell(struct transfer *transfer, const struct error *why)
{
	let_go(transfer);
	transfer->is_telling = true;
	transfer->events->ended(transfer->ctx, why == NULL ? &transfer->result : NULL, why);
	release(transfer);
}

static void tell_failed(struct transfer *transfer, enum wire_failure failure,
                        const struct error *why, const char *where)
{
	struct error err = *why;

	if (failure == WIRE_FAILED_DENIED)
		err.kind = ERR_INVALID; /* as files.h has it */
	if (where != NULL)
		(void)error_wrap(&err, "%s", where);
	tell(transfer, &err);
}

static void add_skipped(struct transfer *transfer, const struct wire_done *done)
{
	struct transfer_result *result = &transfer->result;

	if (done->skipped == 0)
		return;
	result->skipped = done->skipped > UINT64_MAX - result->skipped
	                          ? UINT64_MAX
	                          : result->skipped + done->skipped;
	if (result->first_skipped[0] == '\0')
		(void)utf8_escape(done->cursor, result->first_skipped,
		                  sizeof result->first_skipped);
}

/* --- bytes ------------------------------------------------------------------------- */

/* Hands on what can be. The giving side gets its credit back when nothing waits any more. */
static void push(struct transfer *transfer)
{
	size_t left = transfer->waiting.len - transfer->sent, owed = transfer->owed, n;

	if (left != 0) {
		n = channel_send(transfer->to, WIRE_IN,
		                 (struct view){ transfer->waiting.ptr + transfer->sent, left });
		transfer->sent += n;
		transfer->passed += n;
		if (n != left)
			return;
		buf_clear(&transfer->waiting);
		transfer->sent = 0;
	}
	transfer->owed = 0;
	if (transfer->has_come)
		channel_send_end(transfer->to, WIRE_IN);
	else if (owed != 0 && transfer->from != NULL)
		channel_consumed(transfer->from, WIRE_OUT, owed);
}

/* Nothing of it is touched any more afterwards: it may have been dropped. */
static void pass_on(struct transfer *transfer)
{
	push(transfer);
	if (transfer->events->progress != NULL)
		transfer->events->progress(transfer->ctx, transfer->passed);
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct transfer *transfer = ctx;
	struct error err;
	int r;

	(void)channel;
	transfer->owed += bytes.len;
	if (transfer->filter != NULL)
		r = tar_filter_take(transfer->filter, bytes, &transfer->waiting, &err);
	else
		r = buf_add(&transfer->waiting, bytes, &err);
	if (r < 0) {
		tell(transfer, &err);
		return;
	}
	pass_on(transfer);
}

static void on_from_done(void *ctx, const struct wire_done *done)
{
	struct transfer *transfer = ctx;
	struct error err;

	transfer->from = NULL;
	transfer->has_come = true;
	add_skipped(transfer, done);
	if (transfer->is_file && (done->flags & WIRE_DONE_MORE) != 0)
		(void)error_set(&err, ERR_LIMIT,
		                "the file has more than the %llu bytes that may be copied",
		                (unsigned long long)done->bytes);
	else if (transfer->filter == NULL || tar_filter_check_end(transfer->filter, &err) == 0) {
		pass_on(transfer);
		return;
	}
	tell(transfer, &err); /* the other side undoes what is half done */
}

static void on_from_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct transfer *transfer = ctx;
	transfer->from = NULL;
	tell_failed(transfer, failure, why, transfer->from_where);
}

static void on_writable(void *ctx)
{
	pass_on(ctx);
}

static void on_to_done(void *ctx, const struct wire_done *done)
{
	struct transfer *transfer = ctx;
	struct error err;

	transfer->to = NULL;
	if (!transfer->has_come || transfer->waiting.len != 0) {
		(void)error_set(&err, ERR_SYSTEM, "the target ended before all was written");
		tell(transfer, &err);
		return;
	}
	transfer->result.entries = transfer->is_file ? 1 : done->count;
	transfer->result.bytes = done->bytes;
	add_skipped(transfer, done);
	tell(transfer, NULL);
}

static void on_to_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct transfer *transfer = ctx;
	transfer->to = NULL;
	tell_failed(transfer, failure, why, transfer->to_where);
}

static const struct channel_stream_events from_events = {
	.bytes = on_bytes,
	.done = on_from_done,
	.failed = on_from_failed,
};
static const struct channel_stream_events to_events = {
	.writable = on_writable,
	.done = on_to_done,
	.failed = on_to_failed,
};

/* --- its start --------------------------------------------------------------------- */

static bool leaves_out(const struct transfer_options *wish)
{
	return wish->filter != NULL && tar_filter_has_rules(wish->filter);
}

/* The other side bounds files and entries. Here it is what is around them, and what a stranger
 * might send behind them. In front of rules there may be any number. */
static uint64_t archive_max(const struct transfer_options *wish)
{
	uint64_t headers = ((uint64_t)wish->max_count + 1) * HEADERS;

	if (leaves_out(wish) || wish->max_bytes > UINT64_MAX - headers)
		return UINT64_MAX;
	return wish->max_bytes + headers;
}

static struct wire_message question(const struct transfer_options *wish)
{
	if (wish->is_file)
		return (struct wire_message){ .type = WIRE_READ,
			                      .read = { .unit = WIRE_UNIT_BYTES,
			                                .count = UINT64_MAX,
			                                .max = wish->max_bytes,
			                                .path = view_of(wish->from_path) } };
	return (struct wire_message){ .type = WIRE_PACK,
		                      .pack = { .max = archive_max(wish),
		                                .max_count = leaves_out(wish) ? UINT32_MAX
		                                                              : wish->max_count,
		                                .path = view_of(wish->from_path) } };
}

static struct wire_message change(const struct transfer_options *wish)
{
	if (wish->is_file)
		return (struct wire_message){ .type = WIRE_WRITE,
			                      .write = { .mode = wish->must_be_new
			                                                 ? WIRE_WRITE_CREATE
			                                                 : WIRE_WRITE_REPLACE,
			                                 .flags = WIRE_PARENTS,
			                                 .perm = wish->perm,
			                                 .max = wish->max_bytes,
			                                 .path = view_of(wish->to_path) } };
	return (struct wire_message){ .type = WIRE_UNPACK,
		                      .unpack = { .max = wish->max_bytes,
		                                  .max_count = wish->max_count,
		                                  .path = view_of(wish->to_path) } };
}

int transfer_start(const struct transfer_options *wish, const struct transfer_events *events,
                   void *ctx, struct transfer **ret, struct error *err)
{
	struct transfer *transfer = mem_new(sizeof *transfer);
	struct wire_message from = question(wish), to = change(wish);

	transfer->events = events;
	transfer->ctx = ctx;
	transfer->filter = wish->filter;
	transfer->from_where = wish->from_where;
	transfer->to_where = wish->to_where;
	transfer->is_file = wish->is_file;
	buf_init(&transfer->waiting, WAITING_MAX);
	if (channel_open(wish->from, &from, &from_events, transfer, &transfer->from, err) < 0 ||
	    channel_open(wish->to, &to, &to_events, transfer, &transfer->to, err) < 0) {
		let_go(transfer);
		release(transfer);
		return -1;
	}
	channel_grow_window(transfer->from, WIRE_OUT, WIDER);
	*ret = transfer;
	return 0;
}

void transfer_cancel(struct transfer *transfer)
{
	if (transfer == NULL || transfer->is_telling)
		return;
	let_go(transfer);
	release(transfer);
}
