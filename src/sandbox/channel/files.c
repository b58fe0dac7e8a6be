#include "sandbox/channel/files.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/channel/channel.h"

struct files_op {
	struct channel_stream *stream;
	files_fn *fn;
	void *ctx;
	bool stores;         /* it takes `content` */
	struct view content; /* what is still to be sent */
	size_t max;          /* of `got` */
	struct buf got;      /* bytes, or records one behind the other */
	bool is_telling;     /* fn runs: the memory is ours until it returns */
};

static struct files_op *op_free(struct files_op *op)
{
	buf_done(&op->got);
	free(op);
	return NULL;
}

/* fn may drop the operation it is told of, start another, or free the channel. */
static void tell(struct files_op *op, const struct wire_done *done, const struct error *why)
{
	struct files_reply answer = { .bytes = buf_view(&op->got) };

	op->stream = NULL;
	op->is_telling = true;
	if (done != NULL)
		answer.done = *done;
	op->fn(op->ctx, why == NULL ? &answer : NULL, why);
	(void)op_free(op);
}

/* --- what comes ---------------------------------------------------------------------- */

static void keep(struct files_op *op, struct view bytes)
{
	struct error err;

	if (bytes.len <= op->max - op->got.len && buf_add(&op->got, bytes, &err) == 0) {
		channel_consumed(op->stream, WIRE_OUT, bytes.len);
		return;
	}
	(void)error_set(&err, ERR_LIMIT,
	                "the answer has more than %zu bytes, which is the maximum: ask for less",
	                op->max);
	channel_cancel(op->stream);
	tell(op, NULL, &err);
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	(void)channel;
	keep(ctx, bytes);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	if (message->type == WIRE_ENTRIES || message->type == WIRE_MATCHES)
		keep(ctx, message->records.records);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	tell(ctx, done, NULL);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct error err = *why;

	if (failure == WIRE_FAILED_DENIED) /* another path is the caller's way out */
		err.kind = ERR_INVALID;
	tell(ctx, NULL, &err);
}

/* --- what goes ----------------------------------------------------------------------- */

static void on_writable(void *ctx)
{
	struct files_op *op = ctx;
	size_t sent;

	if (!op->stores)
		return;
	sent = channel_send(op->stream, WIRE_IN, op->content);
	op->content.ptr += sent;
	op->content.len -= sent;
	if (op->content.len != 0)
		return;
	op->stores = false;
	channel_send_end(op->stream, WIRE_IN);
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.writable = on_writable,
	.done = on_done,
	.failed = on_failed,
};

int files_start(struct channel *channel, const struct wire_message *request, struct view content,
                size_t max, files_fn *fn, void *ctx, struct files_op **ret, struct error *err)
{
	struct files_op *op = mem_new(sizeof *op);

	op->fn = fn;
	op->ctx = ctx;
	op->stores = request->type == WIRE_WRITE;
	op->content = content;
	op->max = max;
	buf_init(&op->got, max != 0 ? max : 1);
	if (channel_open(channel, request, &stream_events, op, &op->stream, err) < 0) {
		(void)op_free(op);
		return -1;
	}
	*ret = op;
	on_writable(op); /* a failure is told by the loop, not from here */
	return 0;
}

void files_cancel(struct files_op *op)
{
	if (op == NULL || op->is_telling)
		return;
	channel_cancel(op->stream);
	(void)op_free(op);
}

/* --- records ------------------------------------------------------------------------- */

/* They were checked when they came. */
static bool next(const struct wire_record *record, struct view *rest, void *ret)
{
	struct error err;

	return rest->len != 0 && wire_record_decode(record, rest, ret, &err) == 0;
}

bool files_next_entry(struct view *rest, struct wire_entry *ret)
{
	return next(&wire_entry_record, rest, ret);
}

bool files_next_match(struct view *rest, struct wire_match *ret)
{
	return next(&wire_match_record, rest, ret);
}
