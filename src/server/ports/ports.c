#include "server/ports/ports.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/num.h"
#include "loop/loop.h"
#include "mcp/caller.h"
#include "sandbox/channel/channel.h"
#include "sandbox/sandbox.h"
#include "server/ports/internal.h"
#include "tools/catalogue.h"
#include "tools/support/port_links.h"
#include "transport/http/http.h"

enum {
	REQUEST_MAX = 65 * 1024 * 1024, /* above the largest body that the parser accepts */
	PENDING_MAX = 128 * 1024,       /* more than the HTTP server passes on at once */
	WINDOW_MORE = 192 * 1024,       /* beyond the 64 KiB of every stream */
};

/* The parts of /ports/{sandbox}/{port}/~{key}/... */
struct parts {
	char sandbox[SANDBOX_NAME_MAX + 1];
	char key[PORT_LINK_KEY + 1]; /* "": none */
	struct port_path path;
};

/* One request, from its head to the end of the answer. */
struct port_request {
	struct port_entry entry;
	struct http_request *request;  /* NULL: it has ended */
	struct sandbox *sandbox;       /* held */
	struct channel_stream *stream; /* NULL: not open yet, or ended */
	struct port_path path;
	const char *url;    /* of this server */
	char *rest;         /* memory of path.rest */
	struct buf out;     /* for the program: the request, then what the client sends */
	size_t out_start;   /* of it: sent */
	struct buf head;    /* of the answer, until it is complete */
	size_t unconfirmed; /* bytes that the client has not taken, whose credit is not given */
	bool is_link, upgrades;
	bool is_waking;   /* sandbox_wake() will call back */
	bool is_relaying; /* the head of the answer was sent */
	bool inside_ended, client_ended;
};

/* --- the end --- */

static void free_request(struct port_request *port)
{
	struct loop *loop = sandbox_loop(port->sandbox);

	port_list_remove(&port->entry);
	buf_done(&port->out);
	buf_done(&port->head);
	if (port->is_waking)
		return; /* on_awake() frees the rest */
	if (port->stream != NULL)
		channel_cancel(port->stream);
	sandbox_release(port->sandbox);
	free(port->rest);
	/* Callbacks of the stream and of the request may be on the stack. */
	loop_defer(loop, free, port);
}

static void respond_text(struct http_request *request, int status, const char *text)
{
	static const struct http_field fields[] = {
		{ "Content-Type", "text/plain; charset=utf-8" },
		{ "Content-Security-Policy", "sandbox" },
		{ "Access-Control-Allow-Origin", "*" },
		{ NULL, NULL },
	};
	AUTO_FREE char *line = mem_format("%s\n", text);

	http_respond(request, status, fields, view_of(line));
}

/* Before the head of the answer was sent: an answer of this server. Afterwards the connection is
 * closed, and the client sees that the answer is not complete. */
static void fail_request(struct port_request *port, int status, const char *why)
{
	struct http_request *request = port->request;

	port->request = NULL;
	if (request != NULL && port->is_relaying)
		http_raw_end(request);
	else if (request != NULL)
		respond_text(request, status, why);
	free_request(port);
}

static void end_entry(struct port_entry *entry, int status, const char *why)
{
	fail_request(container_of(entry, struct port_request, entry), status, why);
}

/* --- from the program to the client --- */

static void confirm_bytes(struct port_request *port)
{
	size_t bytes = port->unconfirmed;

	port->unconfirmed = 0;
	if (port->stream != NULL && bytes != 0)
		channel_consumed(port->stream, WIRE_OUT, bytes);
}

static void on_client_drained(void *ctx)
{
	struct port_request *port = ctx;

	port_list_touch(&port->entry);
	confirm_bytes(port);
}

static void send_rest(struct port_request *port);

static void on_client_bytes(void *ctx, struct view bytes)
{
	struct port_request *port = ctx;

	/* Bytes behind a request that does not switch protocols would be a second request, which
	 * was not checked. */
	if (!port->upgrades)
		return;
	port_list_touch(&port->entry);
	if (!buf_put(&port->out, bytes))
		return fail_request(port, 0, "");
	send_rest(port);
	if (port->request != NULL)
		http_raw_pause(port->request, port->out.len != 0);
}

static void on_client_ended(void *ctx)
{
	struct port_request *port = ctx;

	port->client_ended = true;
	if (port->upgrades)
		send_rest(port);
}

static const struct http_raw_events raw_events = { on_client_bytes, on_client_ended,
	                                           on_client_drained };

static void relay_bytes(struct port_request *port, struct view bytes)
{
	http_raw_write(port->request, bytes);
	if (http_queued(port->request) == 0)
		confirm_bytes(port);
}

/* The first bytes that end with an empty line; 0: it has not arrived. */
static size_t find_head_end(const struct buf *head)
{
	const char *end = head->len != 0 ? memmem(head->ptr, head->len, "\r\n\r\n", 4) : NULL;

	return end != NULL ? (size_t)(end - head->ptr) + 4 : 0;
}

static void remove_front(struct buf *buf, size_t len)
{
	memmove(buf->ptr, buf->ptr + len, buf->len - len);
	buf_truncate(buf, buf->len - len);
}

/* Handles each head that is complete: there may be answers such as "103 Early Hints" before the
 * final one, which are left out. */
static void read_heads(struct port_request *port)
{
	const struct port_answer_options options = { &port->path, port->upgrades, port->is_link,
		                                     http_get(port->request, "host"), port->url };
	struct error err;
	size_t len;

	while (!port->is_relaying && (len = find_head_end(&port->head)) != 0) {
		AUTO_BUF struct buf out;
		int status;

		buf_init(&out, 2 * PORT_ANSWER_HEAD_MAX);
		status = port_answer_head((struct view){ port->head.ptr, len }, &options, &out,
		                          &err);
		if (len > PORT_ANSWER_HEAD_MAX)
			return; /* the caller answers */
		if (status < 0)
			return fail_request(port, 502, err.msg);
		remove_front(&port->head, len);
		if (status < 200 && status != 101)
			continue;
		port->is_relaying = true;
		port->upgrades = status == 101;
		http_raw_start(port->request, status, &raw_events, port);
		http_raw_write(port->request, buf_view(&out));
		relay_bytes(port, buf_view(&port->head));
	}
}

static void on_inside_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct port_request *port = ctx;
	struct error err;

	(void)channel;
	port_list_touch(&port->entry);
	port->unconfirmed += bytes.len;
	if (port->is_relaying)
		return relay_bytes(port, bytes);
	/* The credit allows no more than the buffer holds. */
	if (buf_add(&port->head, bytes, &err) < 0)
		return fail_request(port, 502, err.msg);
	read_heads(port);
	if (!port->is_relaying && port->request != NULL && port->head.len > PORT_ANSWER_HEAD_MAX)
		fail_request(port, 502, "the answer of the program has too long a head");
}

static void on_inside_end(void *ctx, uint8_t channel)
{
	struct port_request *port = ctx;

	(void)channel;
	port->inside_ended = true;
	fail_request(port, 502, "the program has closed the connection without an answer");
}

/* --- from the client to the program --- */

static void send_rest(struct port_request *port)
{
	size_t left = port->out.len - port->out_start;

	if (port->stream == NULL)
		return;
	port->out_start += channel_send(port->stream, WIRE_IN,
	                                (struct view){ port->out.ptr + port->out_start, left });
	if (port->out_start < port->out.len)
		return;
	/* The memory of a large body is not needed any more. */
	port_list_remove_body(&port->entry);
	buf_done(&port->out);
	buf_init(&port->out, PENDING_MAX);
	port->out_start = 0;
	/* A half-closed connection makes some servers give up a request that they have not
	 * answered. */
	if (port->client_ended && port->is_relaying)
		channel_send_end(port->stream, WIRE_IN);
}

static void on_writable(void *ctx)
{
	struct port_request *port = ctx;

	port_list_touch(&port->entry);
	send_rest(port);
	if (port->is_relaying && port->out.len == 0 && port->request != NULL)
		http_raw_pause(port->request, false);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct port_request *port = ctx;

	if (message->type != WIRE_LINKED)
		return;
	channel_grow_window(port->stream, WIRE_OUT, WINDOW_MORE);
	send_rest(port);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct port_request *port = ctx;

	(void)done;
	port->stream = NULL;
	fail_request(port, 502, "the program has closed the connection without an answer");
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct port_request *port = ctx;
	char text[160];

	(void)failure;
	port->stream = NULL;
	if (why->errnum != ECONNREFUSED)
		return fail_request(port, 502, why->msg);
	(void)snprintf(text, sizeof text,
	               "No program listens on port %u in this sandbox: start one, on 127.0.0.1 or "
	               "on all addresses.",
	               port->path.port);
	fail_request(port, 502, text);
}

static const struct channel_stream_events stream_events = { .message = on_message,
	                                                    .bytes = on_inside_bytes,
	                                                    .ended = on_inside_end,
	                                                    .writable = on_writable,
	                                                    .done = on_done,
	                                                    .failed = on_failed };

/* --- the beginning --- */

static void on_closed(void *ctx)
{
	struct port_request *port = ctx;

	port->request = NULL;
	free_request(port);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct port_request *port = ctx;
	const struct wire_message request = { .type = WIRE_CONNECT, .port.port = port->path.port };
	struct channel *channel = sandbox_channel(port->sandbox);
	struct error err;

	port->is_waking = false;
	if (port->request == NULL)
		return free_request(port);
	if (why != NULL)
		return fail_request(port, 502, why->msg);
	if (channel == NULL)
		return fail_request(port, 502, "the sandbox has ended meanwhile");
	sandbox_touch(port->sandbox);
	if (channel_open(channel, &request, &stream_events, port, &port->stream, &err) < 0)
		fail_request(port, 503, err.msg);
}

static void on_body(void *ctx, struct view body)
{
	struct port_request *port = ctx;
	struct error err;

	if (port_list_add_body(&port->entry, body.len, &err) < 0)
		return fail_request(port, 503, err.msg);
	port_list_touch(&port->entry);
	port_request_head(port->request, &port->path, port->upgrades, body.len, &port->out);
	if (buf_add(&port->out, body, &err) < 0)
		return fail_request(port, 413, err.msg);
	port->is_waking = true;
	sandbox_wake(port->sandbox, on_awake, port);
}

static bool wants_websocket(struct http_request *request)
{
	const char *upgrade = http_get(request, "upgrade");

	return http_method(request) == HTTP_GET && upgrade != NULL &&
	       strcasecmp(upgrade, "websocket") == 0;
}

static void start_request(const struct ports_request *ports, struct http_request *request,
                          struct sandbox *sandbox, const struct parts *parts,
                          const struct port_link_target *target)
{
	struct port_request *port = mem_new(sizeof *port);
	struct error err;

	*port = (struct port_request){ .entry = { .sandbox = sandbox, .end = end_entry },
		                       .request = request,
		                       .sandbox = sandbox,
		                       .path = parts->path,
		                       .url = ports->tools->url,
		                       .is_link = parts->key[0] != '\0',
		                       .upgrades = wants_websocket(request) };
	(void)snprintf(port->entry.owner, sizeof port->entry.owner, "%s", target->owner);
	if (port_list_add(ports->ports, &port->entry, &err) < 0) {
		free(port);
		return respond_text(request, 503, err.msg);
	}
	port->rest = mem_dup(parts->path.rest);
	port->path.rest = port->rest;
	buf_init(&port->out, REQUEST_MAX);
	buf_init(&port->head, (size_t)WIRE_WINDOW + WINDOW_MORE);
	sandbox_hold(sandbox);
	http_on_close(request, on_closed, port);
	http_read_body(request, on_body, port);
}

/* --- who may --- */

/* Copies up to the next slash; false: it does not fit, or is empty. */
static bool take_part(const char **at, char *out, size_t size)
{
	size_t len = strcspn(*at, "/");

	if (len == 0 || len >= size)
		return false;
	memcpy(out, *at, len);
	out[len] = '\0';
	*at += len;
	return true;
}

static bool split_path(const char *path, struct parts *ret)
{
	const char *at = path + strlen("/ports/");
	char number[8];
	struct error ignored;
	uint64_t port;

	*ret = (struct parts){ 0 };
	if (!take_part(&at, ret->sandbox, sizeof ret->sandbox) || *at++ != '/' ||
	    !take_part(&at, number, sizeof number) ||
	    num_parse_u64(number, 1, UINT16_MAX, &port, &ignored) < 0)
		return false;
	if (at[0] == '/' && at[1] == '~') {
		at += 2;
		if (!take_part(&at, ret->key, sizeof ret->key))
			return false;
	}
	ret->path.port = (uint16_t)port;
	ret->path.rest = at;
	if ((size_t)(at - path) >= sizeof ret->path.prefix)
		return false;
	memcpy(ret->path.prefix, path, (size_t)(at - path));
	return true;
}

bool ports_has_link(const struct http_request *request)
{
	struct parts parts;

	return split_path(http_path(request), &parts) && parts.key[0] != '\0';
}

/* Answers the OPTIONS request that a browser sends before a request with other methods or fields
 * (CORS). Only a page that knows the link gets here. */
static void answer_preflight(struct http_request *request)
{
	static const struct http_field fields[] = {
		{ "Access-Control-Allow-Origin", "*" },
		{ "Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
		{ "Access-Control-Allow-Headers", "*" },
		{ "Access-Control-Max-Age", "600" },
		{ NULL, NULL },
	};

	http_respond(request, 204, fields, (struct view){ "", 0 });
}

/* Without the slash behind the port, relative URLs of the page would lose the port. */
static void redirect_to_slash(struct http_request *request, const struct port_path *path)
{
	AUTO_FREE char *target = mem_format("%s/", path->prefix);
	const struct http_field fields[] = { { "Location", target }, { NULL, NULL } };

	http_respond(request, 307, fields, (struct view){ "", 0 });
}

void ports_serve(const struct ports_request *ports, struct http_request *request)
{
	const struct tools_context *tools = ports->tools;
	struct port_link_target target = { 0 };
	struct sandbox *sandbox;
	struct parts parts;
	struct error err;

	if (!split_path(http_path(request), &parts))
		return respond_text(request, 404, "expected /ports/{sandbox}/{port}/...");
	if (parts.key[0] != '\0') {
		(void)snprintf(target.sandbox, sizeof target.sandbox, "%s", parts.sandbox);
		target.port = parts.path.port;
		if (!port_links_find(tools->port_links, parts.key, &target))
			return respond_text(
			        request, 403,
			        "This link has expired, or is for another port: ask for a "
			        "new one (expose_port).");
	} else if (ports->caller == NULL) {
		return respond_text(request, 401, ports->why);
	} else if ((ports->caller->scopes & MCP_SCOPE_RUN) == 0) {
		return respond_text(request, 403, "the token does not have the scope run");
	} else {
		(void)snprintf(target.owner, sizeof target.owner, "%s", ports->caller->owner);
	}
	if (tools->manager == NULL)
		return respond_text(request, 503, tools->why_not);
	if (sandbox_find(tools->manager, target.owner, parts.sandbox, &sandbox, &err) < 0)
		return respond_text(request, 404, err.msg);
	if (parts.key[0] != '\0' && http_method(request) == HTTP_OPTIONS &&
	    http_get(request, "access-control-request-method") != NULL)
		return answer_preflight(request);
	if (parts.path.rest[0] == '\0')
		return redirect_to_slash(request, &parts.path);
	start_request(ports, request, sandbox, &parts, &target);
}
