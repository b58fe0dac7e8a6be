/* intercept_exchange.c - one request of a program and the host's answer, between two TLS
 * connections (see internal.h).
 *
 * Both directions go on at the same time, because a host may answer before it has read the body.
 * Bytes are read from one side only when all bytes before are written to the other, so memory is
 * bounded. The gate ends a connection that is silent for too long, by closing its descriptor. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "egress/intercept/internal.h"
#include "egress/net_secrets.h"
#include "egress/proxy_http.h"
#include "egress/secret_answer.h"

enum { CHUNK = 16 * 1024, HEAD_MS = 60000 };

struct exchange {
	struct side *program, *host;
	struct proxy_body body;      /* of the request */
	struct secret_answer answer; /* of the host */
	struct buf to_host, to_program;
	bool program_ended;     /* the program sends nothing any more */
	bool host_closed_input; /* the host reads nothing any more */
	bool is_answered;       /* `to_program` has the end of the answer */
};

/* Removes the first bytes. */
static void cut_front(struct buf *buf, size_t len)
{
	memmove(buf->ptr, buf->ptr + len, buf->len - len);
	buf_truncate(buf, buf->len - len);
}

/* An answer of our own, in place of the host's. */
static void answer_error(struct exchange *exchange, const char *status, const struct error *why)
{
	buf_clear(&exchange->to_program);
	buf_putf(&exchange->to_program,
	         "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
	         "Content-Length: %zu\r\nConnection: close\r\n\r\n%s\n",
	         status, strlen(why->msg) + 1, why->msg);
	exchange->is_answered = true;
	exchange->body.is_done = true;
}

/* --- the request --- */

/* Keeps the bytes that belong to the body; what follows would be a second request. */
static int add_body(struct exchange *exchange, struct view bytes, struct error *err)
{
	size_t len = 0;

	if (proxy_body_take(&exchange->body, bytes, &len, err) < 0)
		return -1;
	return buf_add(&exchange->to_host, (struct view){ bytes.ptr, len }, err);
}

static int begin_request(struct exchange *exchange, const struct buf *received, size_t head_len,
                         const struct net_host *name, uint16_t port, struct error *err)
{
	struct proxy_request request;
	AUTO_BUF struct buf head;

	buf_init(&head, 2 * (size_t)PROXY_HEAD_MAX);
	if (proxy_origin_read((struct view){ received->ptr, head_len }, name, port, &request, &head,
	                      err) < 0 ||
	    net_secrets_insert(exchange->answer.secrets, name, port, buf_view(&head),
	                       &exchange->answer.mask, &exchange->to_host, err) < 0)
		return -1;
	exchange->answer.is_to_head = request.is_head;
	exchange->body = request.body;
	return add_body(exchange,
	                (struct view){ received->ptr + head_len, received->len - head_len }, err);
}

/* Reads until the head is complete. False: the program has ended, or is too slow. */
static bool read_head(struct side *program, struct buf *received, size_t *ret_len,
                      struct error *err)
{
	uint64_t end_ms = clock_now_ms() + HEAD_MS;
	char bytes[CHUNK];

	*ret_len = 0;
	err->msg[0] = '\0';
	for (;;) {
		ssize_t n = side_read(program, bytes, sizeof bytes);
		uint64_t now = clock_now_ms();
		struct pollfd ready = { .fd = program->fd, .events = program->reading };

		if (n == SIDE_WAIT) {
			if (now >= end_ms || poll(&ready, 1, (int)(end_ms - now)) != 1)
				return false;
			continue;
		}
		if (n <= 0)
			return false;
		if (buf_add(received, (struct view){ bytes, (size_t)n }, err) < 0 ||
		    proxy_head_length(buf_view(received), ret_len, err) < 0 || *ret_len != 0)
			return true;
	}
}

/* --- bytes --- */

/* The functions below return true if they have moved bytes. */

/* Reads on only when the program has taken all of the answer, so a slow program keeps no bytes of
 * the host in memory. What follows a complete answer is never read: it would be a second answer. */
static bool read_host(struct exchange *exchange)
{
	struct secret_answer *answer = &exchange->answer;
	char bytes[CHUNK];
	struct error err;
	ssize_t n;
	int r;

	if (exchange->is_answered || exchange->to_program.len != 0)
		return false;
	n = side_read(exchange->host, bytes, sizeof bytes);
	if (n == SIDE_WAIT)
		return false;
	r = n > 0 ? secret_answer_take(answer, (struct view){ bytes, (size_t)n },
	                               &exchange->to_program, &err)
	          : secret_answer_end(answer, &exchange->to_program, &err);
	if (r < 0 && !answer->has_head)
		answer_error(exchange, "502 Bad Gateway", &err);
	exchange->is_answered = exchange->is_answered || r < 0 || answer->is_done;
	return true;
}

static bool write_program(struct exchange *exchange, bool *ret_gone)
{
	ssize_t n;

	if (exchange->to_program.len == 0)
		return false;
	n = side_write(exchange->program, buf_view(&exchange->to_program));
	*ret_gone = n == SIDE_FAILED;
	if (n <= 0)
		return false;
	cut_front(&exchange->to_program, (size_t)n);
	return true;
}

static bool reads_program(const struct exchange *exchange)
{
	return !exchange->body.is_done && !exchange->program_ended &&
	       !exchange->host_closed_input && exchange->to_host.len == 0;
}

/* A body that breaks the rules of HTTP ends the exchange: the host could read it as two requests,
 * of which the second was never checked. */
static bool read_program(struct exchange *exchange)
{
	char bytes[CHUNK];
	struct error err;
	ssize_t n;

	if (!reads_program(exchange))
		return false;
	n = side_read(exchange->program, bytes, sizeof bytes);
	if (n == SIDE_WAIT)
		return false;
	if (n <= 0)
		exchange->program_ended = true;
	else if (add_body(exchange, (struct view){ bytes, (size_t)n }, &err) < 0) {
		if (!exchange->answer.has_head)
			answer_error(exchange, "400 Bad Request", &err);
		exchange->is_answered = true;
	}
	return true;
}

static bool write_host(struct exchange *exchange)
{
	ssize_t n;

	if (exchange->to_host.len == 0 || exchange->host_closed_input)
		return false;
	n = side_write(exchange->host, buf_view(&exchange->to_host));
	if (n == SIDE_FAILED) {
		exchange->host_closed_input = true; /* its answer may still be on the way */
		return true;
	}
	if (n <= 0)
		return false;
	cut_front(&exchange->to_host, (size_t)n);
	return true;
}

/* Waits until something can be moved. False: the program is gone. */
static bool wait_for_bytes(const struct exchange *exchange)
{
	const struct side *program = exchange->program, *host = exchange->host;
	int to_program = exchange->to_program.len != 0 ? program->writing : 0;
	int from_program = reads_program(exchange) ? program->reading : 0;
	int to_host = exchange->to_host.len != 0 && !exchange->host_closed_input ? host->writing
	                                                                         : 0;
	int from_host = exchange->to_program.len == 0 && !exchange->is_answered ? host->reading : 0;
	struct pollfd fds[] = {
		{ .fd = program->fd, .events = (short)(to_program | from_program) },
		{ .fd = host->fd, .events = (short)(to_host | from_host) },
	};

	if (fds[1].events == 0)
		fds[1].fd = -1; /* poll() reports a hang-up that is not asked for, too */
	if (poll(fds, 2, -1) < 0 && errno != EINTR)
		return false;
	return (fds[0].revents & (POLLHUP | POLLERR)) == 0;
}

static void pass_bytes(struct exchange *exchange)
{
	bool is_gone = false;

	while (!is_gone && !(exchange->is_answered && exchange->to_program.len == 0)) {
		bool has_moved = read_host(exchange);

		has_moved = write_program(exchange, &is_gone) || has_moved;
		has_moved = read_program(exchange) || has_moved;
		has_moved = write_host(exchange) || has_moved;
		if (!has_moved && !is_gone && !wait_for_bytes(exchange))
			is_gone = true;
	}
}

void exchange_run(struct side *program, struct side *host, const struct net_host *name,
                  uint16_t port, const struct net_secrets *secrets)
{
	static struct exchange exchange; /* large; the process has one connection */
	AUTO_BUF struct buf received;
	struct error err;
	size_t head_len;

	exchange = (struct exchange){ .program = program, .host = host };
	secret_answer_init(&exchange.answer, secrets);
	buf_init(&exchange.to_host, 2 * (size_t)PROXY_HEAD_MAX + CHUNK);
	buf_init(&exchange.to_program, (size_t)CHUNK + SECRET_ANSWER_MORE);
	buf_init(&received, PROXY_HEAD_MAX + CHUNK);
	if (read_head(program, &received, &head_len, &err)) {
		if (head_len == 0 ||
		    begin_request(&exchange, &received, head_len, name, port, &err) < 0) {
			buf_clear(&exchange.to_host);
			answer_error(&exchange, "400 Bad Request", &err);
		}
		pass_bytes(&exchange);
	}
	/* Without its end in TLS, a program sees that an answer without a length was cut off. */
	side_close(program, host->was_cut && exchange.answer.body == SECRET_BODY_TO_END);
	side_close(host, false);
	secret_answer_done(&exchange.answer);
	buf_done(&exchange.to_host);
	buf_done(&exchange.to_program);
}
