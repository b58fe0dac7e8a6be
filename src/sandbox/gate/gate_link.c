/* gate_link.c - one connection of a program: its request, the decision, the answer (see
 * internal.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/random.h"
#include "egress/dialer/dial.h"
#include "egress/mirror/mirror.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "sandbox/gate/internal.h"

enum {
	PORT_FIRST = 20000, /* where another port is looked for, if a program has taken ours */
	PORT_COUNT = 40000,
};

/* --- the end --- */

void gate_link_free(struct gate_link *link)
{
	struct gate *gate = link->gate;

	list_remove(&link->node);
	gate->count--;
	if (link->state == LINK_WAITING)
		gate->waiting--;
	if (link->stream != NULL)
		channel_cancel(link->stream);
	if (link->dialing != NULL)
		dial_cancel(link->dialing);
	gate_relay_stop(link);
	(void)loop_timer_free(link->timer);
	buf_done(&link->head);
	buf_done(&link->pending);
	if (link->answer != NULL)
		secret_answer_done(link->answer);
	free(link->answer);
	link->answer = NULL;
	/* Callbacks of the stream, of the input and of the output may be on the stack. */
	loop_defer(gate->options.loop, free, link);
	gate_fill(gate);
	gate_start_queued(gate);
}

static void on_timer(void *ctx)
{
	struct gate_link *link = ctx;
	uint64_t silent_ms = clock_now_ms() - link->moved_ms;
	uint64_t limit_ms = link->is_http && link->outside_ended ? GATE_CLOSE_MS : GATE_IDLE_MS;

	if (link->state == LINK_RELAY && silent_ms < limit_ms)
		return loop_timer_start(link->timer, limit_ms - silent_ms);
	gate_link_free(link);
}

void gate_link_log(struct gate_link *link, bool is_allowed, const char *reason)
{
	char target[NET_HOST_SIZE] = "";

	if (link->host.name[0] != '\0')
		(void)net_host_text(&link->host, link->port, target);
	gate_log_add(link->gate->options.log, target, is_allowed, reason);
}

/* --- answers --- */

void gate_link_send(struct gate_link *link, struct view bytes)
{
	size_t sent = 0;

	if (link->stream == NULL)
		return;
	if (link->pending.len == 0)
		sent = channel_send(link->stream, WIRE_IN, bytes);
	if (sent < bytes.len)
		buf_put(&link->pending, (struct view){ bytes.ptr + sent, bytes.len - sent });
}

/* --- dialing --- */

/* Bytes that follow the request: of the tunnel, or of the body. */
static void forward_rest(struct gate_link *link)
{
	gate_relay_bytes(
	        link, (struct view){ link->head.ptr + link->taken, link->head.len - link->taken });
	buf_done(&link->head);
	buf_init(&link->head, WIRE_WINDOW);
}

/* The head was read before, to know the host; it is written for the server or proxy that takes
 * it. */
static int forward_head(struct gate_link *link, const struct dial_result *result, struct error *err)
{
	const struct net_secrets *secrets = link->gate->options.secrets;
	AUTO_BUF struct buf out;
	struct buf with_secrets;
	struct proxy_request request;
	struct view head = { link->head.ptr, link->taken };
	int r;

	buf_init(&out, PROXY_HEAD_MAX * 2);
	if (proxy_request_read(head, result->wants_url, result->header, &request, &out, err) < 0)
		return -1;
	if (!net_secrets_has(secrets, &link->host, link->port)) {
		gate_relay_head(link, buf_view(&out));
		return 0;
	}
	buf_init(&with_secrets, PROXY_HEAD_MAX * 2);
	link->answer = mem_new(sizeof *link->answer);
	secret_answer_init(link->answer, secrets);
	link->answer->is_to_head = request.is_head;
	r = net_secrets_insert(secrets, &link->host, link->port, buf_view(&out),
	                       &link->answer->mask, &with_secrets, err);
	if (r == 0)
		gate_relay_head(link, buf_view(&with_secrets));
	/* The allocator would pass the values of secrets on in the next buffer. */
	if (with_secrets.len != 0)
		explicit_bzero(with_secrets.ptr, with_secrets.len);
	buf_done(&with_secrets);
	return r;
}

/* The head of a request is forwarded only now, after the decision and the connection: nothing that
 * a program sends leaves the sandbox before. */
static void on_dialed(void *ctx, const struct dial_result *result, const struct error *why,
                      bool is_refused)
{
	struct gate_link *link = ctx;
	struct error err;

	link->dialing = NULL;
	if (why != NULL)
		return is_refused ? gate_answer_refusal(link, why) : gate_answer_failure(link, why);
	if (gate_relay_start(link, result->fd, &err) < 0)
		return gate_answer_failure(link, &err);
	gate_link_log(link, true, "");
	link->state = LINK_RELAY;
	link->moved_ms = clock_now_ms();
	loop_timer_start(link->timer, GATE_IDLE_MS);
	if (!link->is_http)
		gate_answer_connected(link);
	else if (forward_head(link, result, &err) < 0) {
		gate_relay_stop(link);
		return gate_answer_malformed(link, &err);
	}
	forward_rest(link);
	if (link->program_ended)
		gate_relay_end_outside(link);
}

static bool is_password(const struct gate *gate, const char *given)
{
	const char *wanted = gate->options.password;
	size_t len = strlen(wanted);
	unsigned differs = 0;

	if (strlen(given) != len)
		return false;
	/* The comparison takes the same time for every text of this length: other programs of the
	 * sandbox reach the port, and could otherwise find the password byte by byte. */
	for (size_t i = 0; i < len; i++)
		differs |= (unsigned)(wanted[i] ^ given[i]);
	return differs == 0;
}

/* A gate with a password is an installer's, which may use the mirror whatever the policy of its
 * sandbox is. */
bool gate_link_is_mirrored(const struct gate_link *link)
{
	const struct gate *gate = link->gate;
	enum net_mode mode = gate->policy.mode;

	return gate->options.mirror != NULL && link->is_http &&
	       mirror_has_host(&link->host, link->port) &&
	       (gate->options.password[0] != '\0' || mode == NET_MODE_PACKAGES ||
	        mode == NET_MODE_OPEN);
}

/* The process that is the other end of the connection; NULL: the host itself is. */
static struct dial *choose_service(const struct gate_link *link)
{
	const struct gate_options *options = &link->gate->options;

	if (gate_link_is_mirrored(link))
		return options->mirror;
	return !link->is_http && net_secrets_has_tls(options->secrets, &link->host, link->port)
	               ? options->interceptor
	               : NULL;
}

void gate_link_start(struct gate_link *link)
{
	struct gate *gate = link->gate;
	bool is_mirrored = gate_link_is_mirrored(link);
	struct error err;

	/* A link that was queued is decided again: the policy may have changed meanwhile. */
	if ((!is_mirrored && net_policy_decide(&gate->policy, gate->options.ceiling, &link->host,
	                                       link->port, &err) < 0) ||
	    gate_check_bytes(gate, &err) < 0)
		return gate_answer_refusal(link, &err);
	loop_timer_stop(link->timer);
	link->service = choose_service(link);
	link->state = LINK_QUEUED;
	if (link->service != NULL && !gate_may_serve(gate, link->service))
		return;
	link->state = LINK_DIALING;
	if (dial_start(link->service != NULL ? link->service : gate->options.dial, &link->host,
	               link->port, link->is_http, on_dialed, link, &link->dialing, &err) < 0)
		gate_answer_failure(link, &err);
}

static void decide_link(struct gate_link *link, const char *password)
{
	const struct gate *gate = link->gate;
	struct error err;

	if (gate->options.password[0] != '\0' && !is_password(gate, password)) {
		(void)error_set(&err, ERR_INVALID,
		                "this proxy is for the installer of packages only, which has its "
		                "password");
		return gate_answer_stranger(link, &err);
	}
	gate_link_start(link);
}

/* --- requests --- */

static void read_http(struct gate_link *link)
{
	AUTO_BUF struct buf out;
	struct proxy_request request;
	struct error err;
	size_t len;

	buf_init(&out, PROXY_HEAD_MAX * 2);
	if (proxy_head_length(buf_view(&link->head), &len, &err) < 0)
		return gate_answer_malformed(link, &err);
	if (len == 0)
		return;
	if (proxy_request_read((struct view){ link->head.ptr, len }, false, "", &request, &out,
	                       &err) < 0) {
		link->host = request.host;
		link->port = request.port;
		return gate_answer_malformed(link, &err);
	}
	link->taken = len;
	link->host = request.host;
	link->port = request.port;
	link->is_http = !request.is_connect;
	link->body = request.body;
	decide_link(link, request.password);
}

static void read_socks(struct gate_link *link)
{
	struct proxy_socks_reply reply;
	struct error err;
	int r = 1;

	while (r == 1 && link->socks.step != SOCKS_COMPLETE) {
		struct view rest = { link->head.ptr + link->taken, link->head.len - link->taken };

		r = proxy_socks_take(&link->socks, &rest, &reply, &err);
		link->taken = link->head.len - rest.len;
		if (reply.len != 0)
			gate_link_send(link, (struct view){ reply.bytes, reply.len });
	}
	if (r < 0)
		return gate_answer_malformed(link, &err);
	if (link->socks.step != SOCKS_COMPLETE)
		return;
	link->host = link->socks.host;
	link->port = link->socks.port;
	decide_link(link, link->socks.password);
}

static void receive_head(struct gate_link *link, struct view bytes)
{
	struct error err;

	if (link->head.len == 0 && bytes.ptr[0] == 5) {
		link->is_socks = true;
		link->socks.wants_password = link->gate->options.password[0] != '\0';
	}
	if (buf_add(&link->head, bytes, &err) < 0) {
		if (link->state == LINK_HEAD)
			gate_answer_malformed(link, &err);
		else
			gate_link_free(link); /* the credit allows no more than the buffer holds */
		return;
	}
	if (link->state != LINK_HEAD)
		return;
	if (link->is_socks)
		read_socks(link);
	else
		read_http(link);
}

/* --- the stream --- */

/* Writes to the log that a connection waits for another to end: its program only sees a delay. */
static void note_full(const struct gate *gate)
{
	char text[GATE_REASON_MAX];

	if (gate->count - gate->waiting < gate_max_links(gate))
		return;
	(void)snprintf(text, sizeof text,
	               "%u connections are open, which is the limit (--network-connections): "
	               "further ones wait",
	               gate->count - gate->waiting);
	gate_log_add(gate->options.log, "(all hosts)", true, text);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct gate_link *link = ctx;

	if (message->type != WIRE_LINKED)
		return;
	link->state = LINK_HEAD;
	link->gate->waiting--;
	loop_timer_start(link->timer, GATE_HEAD_MS);
	note_full(link->gate);
	gate_fill(link->gate);
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct gate_link *link = ctx;

	(void)channel;
	if (link->state == LINK_RELAY)
		return gate_relay_bytes(link, bytes);
	/* The request is buffered until it is decided; the rest of the credit is not given back, so
	 * that `head` has room for what may still come. */
	if (link->state == LINK_ANSWERED)
		return channel_consumed(link->stream, WIRE_OUT, bytes.len);
	link->unconfirmed += bytes.len;
	receive_head(link, bytes);
}

static void on_program_end(void *ctx, uint8_t channel)
{
	struct gate_link *link = ctx;

	(void)channel;
	link->program_ended = true;
	if (link->state == LINK_RELAY)
		gate_relay_end_outside(link);
	else if (link->state == LINK_HEAD)
		gate_link_free(link);
}

static void on_writable(void *ctx)
{
	gate_relay_writable(ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct gate_link *link = ctx;

	(void)done;
	link->stream = NULL;
	gate_link_free(link);
}

/* EADDRINUSE: a program in the sandbox listens on the gate's port already. The next port is random,
 * because a hostile program could also take a port that it can predict, and pose as the proxy of
 * other programs. */
static void move_port(struct gate *gate)
{
	gate->options.port = (uint16_t)(PORT_FIRST + random_number() % PORT_COUNT);
	if (gate->options.moved != NULL)
		gate->options.moved(gate->options.ctx);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct gate_link *link = ctx;
	struct gate *gate = link->gate;

	(void)failure;
	link->stream = NULL;
	/* Every stream that waits on the old port fails; only the first failure moves the port. */
	if (link->state == LINK_WAITING && why->errnum != EADDRINUSE)
		gate_hold_off(gate);
	else if (link->state == LINK_WAITING && link->port == gate->options.port)
		move_port(gate);
	gate_link_free(link);
}

static const struct channel_stream_events stream_events = { .message = on_message,
	                                                    .bytes = on_bytes,
	                                                    .ended = on_program_end,
	                                                    .writable = on_writable,
	                                                    .done = on_done,
	                                                    .failed = on_failed };

int gate_link_open(struct gate *gate, struct error *err)
{
	const struct wire_message request = { .type = WIRE_ACCEPT,
		                              .port.port = gate->options.port };
	struct gate_link *link = mem_new(sizeof *link);

	if (channel_open(gate->options.channel, &request, &stream_events, link, &link->stream,
	                 err) < 0) {
		free(link);
		return -1;
	}
	link->gate = gate;
	link->fd = -1;
	link->port = gate->options.port; /* until the request names another one */
	link->timer = loop_timer_new(gate->options.loop, on_timer, link);
	buf_init(&link->head, WIRE_WINDOW);
	buf_init(&link->pending, (size_t)INPUT_CHUNK + SECRET_ANSWER_MORE);
	list_add(&gate->links, &link->node);
	gate->count++;
	gate->waiting++;
	return 0;
}
