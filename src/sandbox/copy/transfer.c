#include "sandbox/copy/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/channel/channel.h"
#include "sandbox/copy/tar_filter.h"

enum {
	EXTRA_WINDOW = 192 * 1024, /* credit beyond WIRE_WINDOW: more bytes on their way */
	HEADS = 4096,              /* bytes of an archive for each entry, on average */
	QUEUE_MAX = WIRE_WINDOW + EXTRA_WINDOW + TAR_FILTER_MORE,
};

struct transfer {
	const struct transfer_events *events;
	void *ctx;
	struct channel_stream *from, *to;
	struct tar_filter *filter;
	const char *from_where, *to_where;
	bool is_file, is_preview;
	struct buf queue; /* bytes for the receiving agent, from `sent` on */
	size_t sent;
	size_t owed;     /* bytes that arrived and were not given back as credit */
	uint64_t passed; /* bytes sent so far */
	bool has_all;    /* the sending agent has finished */
	bool is_ending;  /* `ended` is being called: transfer_cancel() does nothing */
	struct transfer_result result;
};

/* --- the end ----------------------------------------------------------------------- */

static void cancel_streams(struct transfer *transfer)
{
	if (transfer->from != NULL)
		channel_cancel(transfer->from);
	if (transfer->to != NULL)
		channel_cancel(transfer->to);
	transfer->from = transfer->to = NULL;
}

static void free_transfer(struct transfer *transfer)
{
	buf_done(&transfer->queue);
	free(transfer);
}

/* The callback may call transfer_cancel(), or free both channels. */
static void report_end(struct transfer *transfer, const struct error *why)
{
	cancel_streams(transfer);
	transfer->is_ending = true;
	transfer->events->ended(transfer->ctx, why == NULL ? &transfer->result : NULL, why);
	free_transfer(transfer);
}

static void report_failure(struct transfer *transfer, enum wire_failure failure,
                           const struct error *why, const char *where)
{
	struct error err = *why;

	if (failure == WIRE_FAILED_DENIED)
		err.kind = ERR_INVALID; /* as sandbox/channel/files.h reports it */
	if (where != NULL)
		(void)error_wrap(&err, "%s", where);
	report_end(transfer, &err);
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

/* Sends what the receiving agent has given credit for. The sending agent gets its credit back when
 * the queue is empty: a receiver that does not read blocks the sender and does not fill the
 * server's memory. */
static void send_queue(struct transfer *transfer)
{
	size_t left = transfer->queue.len - transfer->sent, owed = transfer->owed, n;

	if (left != 0) {
		n = channel_send(transfer->to, WIRE_IN,
		                 (struct view){ transfer->queue.ptr + transfer->sent, left });
		transfer->sent += n;
		transfer->passed += n;
		if (n != left)
			return;
		buf_clear(&transfer->queue);
		transfer->sent = 0;
	}
	transfer->owed = 0;
	if (transfer->has_all)
		channel_send_end(transfer->to, WIRE_IN);
	else if (owed != 0 && transfer->from != NULL)
		channel_consumed(transfer->from, WIRE_OUT, owed);
}

/* The progress callback may cancel the transfer: nothing of it is used afterwards. */
static void pass_bytes_on(struct transfer *transfer)
{
	send_queue(transfer);
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
		r = tar_filter_take(transfer->filter, bytes, &transfer->queue, &err);
	else
		r = buf_add(&transfer->queue, bytes, &err);
	if (r < 0) {
		report_end(transfer, &err);
		return;
	}
	pass_bytes_on(transfer);
}

static void on_from_done(void *ctx, const struct wire_done *done)
{
	struct transfer *transfer = ctx;
	struct error err;

	transfer->from = NULL;
	transfer->has_all = true;
	add_skipped(transfer, done);
	if (transfer->is_file && (done->flags & WIRE_DONE_MORE) != 0)
		(void)error_set(&err, ERR_LIMIT,
		                "the file has more than the %llu bytes that may be copied",
		                (unsigned long long)done->bytes);
	else if (transfer->filter == NULL || tar_filter_check_end(transfer->filter, &err) == 0) {
		pass_bytes_on(transfer);
		return;
	}
	report_end(transfer, &err); /* closing the stream makes the receiver undo a partial file */
}

static void on_from_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct transfer *transfer = ctx;

	transfer->from = NULL;
	report_failure(transfer, failure, why, transfer->from_where);
}

static void on_writable(void *ctx)
{
	pass_bytes_on(ctx);
}

/* The agent has escaped the report already. But an agent on the host reads hostile archives, so its
 * messages are not trusted either: each line is escaped once more, which changes only what the
 * agent must not send. Tabs stay. */
static void copy_report(struct view report, char *out, size_t size)
{
	char piece[WIRE_REPORT_MAX + 1];
	size_t used = 0;

	while (report.len != 0 && size - used > 16) {
		size_t len = 0;
		struct view part = { report.ptr, 0 };

		while (len < report.len && report.ptr[len] != '\n' && report.ptr[len] != '\t')
			len++;
		part.len = len;
		(void)utf8_escape(part, piece, size - used - 8);
		used += (size_t)snprintf(out + used, size - used, "%s", piece);
		if (len < report.len)
			out[used++] = report.ptr[len++];
		report.ptr += len;
		report.len -= len;
	}
	out[used] = '\0';
}

static void on_to_done(void *ctx, const struct wire_done *done)
{
	struct transfer *transfer = ctx;
	struct error err;

	transfer->to = NULL;
	if (!transfer->has_all || transfer->queue.len != 0) {
		(void)error_set(&err, ERR_SYSTEM, "the target ended before everything was written");
		report_end(transfer, &err);
		return;
	}
	/* DONE of a WRITE counts only entries that were not written, so a file that was written is
	 * counted here. */
	transfer->result.entries = done->count;
	if (transfer->is_file && !transfer->is_preview && done->trusted == 0)
		transfer->result.entries = 1;
	transfer->result.bytes = done->bytes;
	transfer->result.files = done->total;
	transfer->result.trusted = done->trusted;
	transfer->result.kinds = done->kinds;
	transfer->result.not_executable = done->not_executable;
	copy_report(done->report, transfer->result.report, sizeof transfer->result.report);
	add_skipped(transfer, done);
	report_end(transfer, NULL);
}

static void on_to_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct transfer *transfer = ctx;

	transfer->to = NULL;
	report_failure(transfer, failure, why, transfer->to_where);
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

/* --- the start --------------------------------------------------------------------- */

static bool has_rules(const struct transfer_options *options)
{
	return options->filter != NULL && tar_filter_has_rules(options->filter);
}

/* UNPACK limits files and entries; this limits the whole archive, heads included. With .gitignore
 * rules PACK may send any number of entries that the filter then leaves out. */
static uint64_t archive_max(const struct transfer_options *options)
{
	uint64_t headers = ((uint64_t)options->max_count + 1) * HEADS;

	if (has_rules(options) || options->max_bytes > UINT64_MAX - headers)
		return UINT64_MAX;
	return options->max_bytes + headers;
}

static struct wire_message source_request(const struct transfer_options *options)
{
	if (options->is_file)
		return (struct wire_message){ .type = WIRE_READ,
			                      .read = { .unit = WIRE_UNIT_BYTES,
			                                .count = UINT64_MAX,
			                                .max = options->max_bytes,
			                                .path = view_of(options->from_path) } };
	return (struct wire_message){
		.type = WIRE_PACK,
		.pack = { .max = archive_max(options),
		          .max_count = has_rules(options) ? UINT32_MAX : options->max_count,
		          .path = view_of(options->from_path) }
	};
}

static struct wire_message target_request(const struct transfer_options *options)
{
	uint8_t preview = options->is_preview ? WIRE_PREVIEW : 0;

	if (options->is_file)
		return (struct wire_message){ .type = WIRE_WRITE,
			                      .write = { .mode = options->must_be_new
			                                                 ? WIRE_WRITE_CREATE
			                                                 : WIRE_WRITE_REPLACE,
			                                 .flags = WIRE_PARENTS | preview,
			                                 .perm = options->perm,
			                                 .max = options->max_bytes,
			                                 .path = view_of(options->to_path) } };
	return (struct wire_message){ .type = WIRE_UNPACK,
		                      .unpack = { .flags = preview,
		                                  .max = options->max_bytes,
		                                  .max_count = options->max_count,
		                                  .path = view_of(options->to_path) } };
}

int transfer_start(const struct transfer_options *options, const struct transfer_events *events,
                   void *ctx, struct transfer **ret, struct error *err)
{
	struct transfer *transfer = mem_new(sizeof *transfer);
	struct wire_message from = source_request(options), to = target_request(options);

	transfer->events = events;
	transfer->ctx = ctx;
	transfer->filter = options->filter;
	transfer->from_where = options->from_where;
	transfer->to_where = options->to_where;
	transfer->is_file = options->is_file;
	transfer->is_preview = options->is_preview;
	buf_init(&transfer->queue, QUEUE_MAX);
	if (channel_open(options->from, &from, &from_events, transfer, &transfer->from, err) < 0 ||
	    channel_open(options->to, &to, &to_events, transfer, &transfer->to, err) < 0) {
		cancel_streams(transfer);
		free_transfer(transfer);
		return -1;
	}
	channel_grow_window(transfer->from, WIRE_OUT, EXTRA_WINDOW);
	*ret = transfer;
	return 0;
}

void transfer_cancel(struct transfer *transfer)
{
	if (transfer == NULL || transfer->is_ending)
		return;
	cancel_streams(transfer);
	free_transfer(transfer);
}
