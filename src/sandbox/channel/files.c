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
	bool is_writing;     /* `content` and its end are still to be sent */
	struct view content; /* still to be sent */
	size_t max;          /* bytes of `reply` */
	struct buf reply;    /* bytes, or records one behind the other */
	bool in_callback;    /* fn is running: finish_op() frees the memory afterwards */
};

static void free_op(struct files_op *op)
{
	buf_done(&op->reply);
	free(op);
}

/* fn may cancel this operation, start another one, or free the channel. */
static void finish_op(struct files_op *op, const struct wire_done *done, const struct error *why)
{
	struct files_reply reply = { .bytes = buf_view(&op->reply) };

	op->stream = NULL;
	op->in_callback = true;
	if (done != NULL)
		reply.done = *done;
	op->fn(op->ctx, why == NULL ? &reply : NULL, why);
	free_op(op);
}

static void keep_reply(struct files_op *op, struct view bytes)
{
	struct error err;

	if (bytes.len <= op->max - op->reply.len && buf_add(&op->reply, bytes, &err) == 0) {
		channel_consumed(op->stream, WIRE_OUT, bytes.len);
		return;
	}
	(void)error_set(&err, ERR_LIMIT,
	                "the reply has more than %zu bytes, which is the maximum: ask for less",
	                op->max);
	channel_cancel(op->stream);
	finish_op(op, NULL, &err);
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	(void)channel;
	keep_reply(ctx, bytes);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	if (message->type == WIRE_ENTRIES || message->type == WIRE_MATCHES)
		keep_reply(ctx, message->records.records);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	finish_op(ctx, done, NULL);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct error err = *why;

	if (failure == WIRE_FAILED_DENIED) /* the caller can choose another path */
		err.kind = ERR_INVALID;
	finish_op(ctx, NULL, &err);
}

static void on_writable(void *ctx)
{
	struct files_op *op = ctx;
	size_t sent;

	if (!op->is_writing)
		return;
	sent = channel_send(op->stream, WIRE_IN, op->content);
	op->content.ptr += sent;
	op->content.len -= sent;
	if (op->content.len != 0)
		return;
	op->is_writing = false;
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
	op->is_writing = request->type == WIRE_WRITE || request->type == WIRE_UNPACK;
	op->content = content;
	op->max = max;
	buf_init(&op->reply, max != 0 ? max : 1);
	if (channel_open(channel, request, &stream_events, op, &op->stream, err) < 0) {
		free_op(op);
		return -1;
	}
	*ret = op;
	on_writable(op); /* never calls fn: failures are reported from the loop */
	return 0;
}

void files_cancel(struct files_op *op)
{
	if (op == NULL || op->in_callback)
		return;
	channel_cancel(op->stream);
	free_op(op);
}

/* --- records --- */

/* The channel has checked the records when they arrived, so decoding cannot fail. */
static bool next_record(const struct wire_record *record, struct view *rest, void *ret)
{
	struct error err;

	return rest->len != 0 && wire_record_decode(record, rest, ret, &err) == 0;
}

bool files_next_entry(struct view *rest, struct wire_entry *ret)
{
	return next_record(&wire_entry_record, rest, ret);
}

bool files_next_match(struct view *rest, struct wire_match *ret)
{
	return next_record(&wire_match_record, rest, ret);
}
