/* gate_relay.c - passes bytes between a program and the host that it has connected to (see
 * internal.h). */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/gate/internal.h"

enum {
	OUTPUT_MAX = 512 * 1024, /* more than the credit of a program, which bounds the queue */
	WINDOW_MORE = 192 * 1024,
};

/* Ends the direction to the program when the host has ended its own and all bytes are sent. The
 * agent answers with DONE when both directions have ended. */
static void end_program(struct gate_link *link)
{
	if (link->outside_ended && link->pending.len == 0 && link->stream != NULL)
		channel_send_end(link->stream, WIRE_IN);
}

/* --- from outside to the program --- */

/* Reads no more from the host: the program has its answer. A connection of plain HTTP is closed
 * after GATE_CLOSE_MS even if the program keeps its end open. */
static void close_answer(struct gate_link *link)
{
	link->outside_ended = true;
	link->input = input_free(link->input);
	end_program(link);
	if (link->is_http)
		loop_timer_start(link->timer, GATE_CLOSE_MS);
}

/* Sends bytes of the host without the values of secrets, which the host may repeat. At the end
 * bytes.len is 0. */
static void send_masked(struct gate_link *link, struct view bytes)
{
	struct secret_answer *answer = link->answer;
	AUTO_BUF struct buf out;
	struct error err;
	int r;

	buf_init(&out, (size_t)INPUT_CHUNK + SECRET_ANSWER_MORE);
	r = bytes.len != 0 ? secret_answer_take(answer, bytes, &out, &err)
	                   : secret_answer_end(answer, &out, &err);
	if (r < 0 && !answer->has_head)
		return gate_answer_instead(link, &err);
	if (r < 0)
		gate_link_log(link, false,
		              err.msg); /* the program sees an answer that is cut off */
	gate_link_send(link, buf_view(&out));
	if (r < 0 || answer->is_done)
		close_answer(link);
}

static void on_outside_bytes(void *ctx, struct view bytes)
{
	struct gate_link *link = ctx;

	link->moved_ms = clock_now_ms();
	link->has_answer = true;
	if (gate_count_bytes(link, bytes.len))
		return;
	if (link->answer != NULL)
		send_masked(link, bytes);
	else
		gate_link_send(link, bytes);
	if (link->input != NULL && (link->pending.len != 0 || link->gate->is_throttled))
		input_pause(link->input);
}

static void on_outside_end(void *ctx, const struct error *why)
{
	struct gate_link *link = ctx;

	(void)why; /* a reset is passed on as an end: the program knows how much it expected */
	if (link->answer != NULL)
		send_masked(link, (struct view){ "", 0 });
	else
		close_answer(link);
}

void gate_relay_writable(struct gate_link *link)
{
	size_t sent = link->stream != NULL
	                      ? channel_send(link->stream, WIRE_IN, buf_view(&link->pending))
	                      : 0;

	if (sent != 0) {
		memmove(link->pending.ptr, link->pending.ptr + sent, link->pending.len - sent);
		buf_truncate(&link->pending, link->pending.len - sent);
	}
	if (link->pending.len != 0)
		return;
	if (link->input != NULL && !link->gate->is_throttled)
		input_resume(link->input);
	end_program(link);
}

/* --- from the program to outside --- */

static void confirm_bytes(struct gate_link *link)
{
	size_t bytes = link->unconfirmed;

	if (link->gate->is_throttled)
		return; /* the agent sends no more until gate_relay_resume() */
	link->unconfirmed = 0;
	if (link->stream != NULL && bytes != 0)
		channel_consumed(link->stream, WIRE_OUT, bytes);
}

/* Not for plain HTTP: some servers take shutdown(2) before their answer for an aborted request. */
void gate_relay_end_outside(struct gate_link *link)
{
	if (link->program_ended && link->fd >= 0 && !link->is_http &&
	    output_pending(link->output) == 0)
		(void)shutdown(link->fd, SHUT_WR);
}

static void on_drained(void *ctx)
{
	struct gate_link *link = ctx;

	confirm_bytes(link);
	gate_relay_end_outside(link);
}

/* The host does not read any more, but its answer may still be on the way. */
static void on_write_failed(void *ctx, const struct error *why)
{
	struct gate_link *link = ctx;

	(void)why;
	link->write_failed = true;
	confirm_bytes(link);
}

static void write_outside(struct gate_link *link, struct view bytes)
{
	struct error err;

	link->moved_ms = clock_now_ms();
	if (bytes.len != 0 && !link->write_failed && output_write(link->output, bytes, &err) < 0)
		link->write_failed = true;
	if (link->write_failed || output_pending(link->output) == 0)
		confirm_bytes(link);
}

void gate_relay_head(struct gate_link *link, struct view head)
{
	struct error err;

	if (output_write(link->output, head, &err) < 0)
		link->write_failed = true;
}

/* Bytes behind a request of plain HTTP would be a second request, which was not checked. A program
 * that sends one early sends it again on a new connection, because this one is closed. */
static struct view cut_body(struct gate_link *link, struct view bytes)
{
	struct error err;
	size_t len = 0;

	if (proxy_body_take(&link->body, bytes, &len, &err) < 0) {
		gate_link_log(link, false, err.msg);
		link->write_failed = true;
		return (struct view){ bytes.ptr, 0 };
	}
	if (len < bytes.len && !link->has_extra) {
		link->has_extra = true;
		gate_link_log(link, false,
		              "a second request on the same connection: it was not forwarded");
		/* The program has its answer and takes the connection for one that is kept, because
		 * the server did not close it. With a secret the answer goes on to its end: bytes
		 * that are held back may be the beginning of a value. */
		if (link->has_answer && link->answer == NULL)
			close_answer(link);
	}
	return (struct view){ bytes.ptr, len };
}

void gate_relay_bytes(struct gate_link *link, struct view bytes)
{
	link->unconfirmed += link->head.len == 0 ? bytes.len
	                                         : 0; /* those of the head were counted */
	if (gate_count_bytes(link, bytes.len))
		return;
	write_outside(link, link->is_http ? cut_body(link, bytes) : bytes);
}

void gate_relay_resume(struct gate_link *link)
{
	if (link->state != LINK_RELAY)
		return;
	if (link->input != NULL && link->pending.len == 0)
		input_resume(link->input);
	if (link->output != NULL && output_pending(link->output) == 0)
		confirm_bytes(link);
}

/* --- the beginning and the end --- */

int gate_relay_start(struct gate_link *link, int fd, struct error *err)
{
	static const struct input_events inward = { .bytes = on_outside_bytes,
		                                    .end = on_outside_end };
	static const struct output_events outward = { on_drained, on_write_failed };
	struct loop *loop = link->gate->options.loop;

	if (output_new(loop, fd, OUTPUT_MAX, &outward, link, &link->output, err) < 0) {
		(void)close(fd);
		return -1;
	}
	link->fd = fd;
	link->input = input_new(loop, fd, &inward, link);
	channel_grow_window(link->stream, WIRE_OUT, WINDOW_MORE);
	return 0;
}

void gate_relay_stop(struct gate_link *link)
{
	link->input = input_free(link->input);
	link->output = output_free(link->output);
	if (link->fd >= 0)
		(void)close(link->fd);
	link->fd = -1;
}
