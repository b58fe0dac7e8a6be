/* post.c - POST of the MCP endpoint: one message of a client, of any revision. */
#include <stdio.h>
#include <string.h>

#include "mcp/revision.h"
#include "transport/mcp_http/internal.h"

/* A name in x-mcp-header of a tool; longer ones have no header. */
enum { PARAM_NAME_MAX = 128 };

static const char *get_param(void *ctx, const char *name)
{
	static const char prefix[] = "mcp-param-";
	char field[sizeof prefix + PARAM_NAME_MAX];
	size_t len = strlen(name);

	if (len > PARAM_NAME_MAX)
		return NULL;
	memcpy(field, prefix, sizeof prefix - 1);
	for (size_t i = 0; i <= len; i++) {
		char c = name[i];

		field[sizeof prefix - 1 + i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	return http_get(ctx, field);
}

struct http_session *find_session(const struct incoming *incoming)
{
	const char *id = http_get(incoming->request, "mcp-session-id");
	const char *version = http_get(incoming->request, "mcp-protocol-version");
	struct http_session *session;
	enum mcp_revision revision;

	if (id == NULL) {
		answer_error(incoming->http, incoming->request, 400, ANSWER_TRANSPORT,
		             "Mcp-Session-Id is missing: send initialize first, then the id that "
		             "its response has, with every request.");
		return NULL;
	}
	session = http_session_find(incoming, id, false);
	if (session == NULL) {
		answer_error(incoming->http, incoming->request, 404, ANSWER_NO_SESSION,
		             "Session not found");
		return NULL;
	}
	if (version != NULL &&
	    (!mcp_revision_find(version, &revision) || revision >= MCP_FIRST_STATELESS)) {
		answer_error(incoming->http, incoming->request, 400, ANSWER_TRANSPORT,
		             "MCP-Protocol-Version names no revision that has sessions: send the "
		             "one that initialize returned.");
		return NULL;
	}
	return session;
}

/* Clients of the handshake era must take both, because the server chooses. */
static bool check_accept(const struct incoming *incoming)
{
	const char *accept = http_get(incoming->request, "accept");

	if (media_accepts(accept, "application", "json") &&
	    media_accepts(accept, "text", "event-stream"))
		return true;
	answer_error(incoming->http, incoming->request, 406, ANSWER_TRANSPORT,
	             "Accept must include application/json and text/event-stream.");
	return false;
}

/* A listen request is answered by events only. */
static bool check_listen_accept(const struct incoming *incoming, const struct mcp_headers *headers)
{
	if (headers->method == NULL || strcmp(headers->method, "subscriptions/listen") != 0 ||
	    media_accepts(http_get(incoming->request, "accept"), "text", "event-stream"))
		return true;
	answer_error(incoming->http, incoming->request, 406, ANSWER_TRANSPORT,
	             "Accept must include text/event-stream for subscriptions/listen.");
	return false;
}

/* `initialize` starts a session. A client that lost its session may still send the old id. */
static struct http_session *start_session(const struct incoming *incoming)
{
	const char *id = http_get(incoming->request, "mcp-session-id");
	struct http_session *session;

	if (id != NULL && http_session_find(incoming, id, false) != NULL) {
		answer_error(incoming->http, incoming->request, 400, ANSWER_INVALID_REQUEST,
		             "The session is initialized already: send initialize without "
		             "Mcp-Session-Id to start another one.");
		return NULL;
	}
	session = http_session_new(incoming, false);
	if (session == NULL)
		answer_error(incoming->http, incoming->request, 503, ANSWER_TRANSPORT,
		             "There are too many sessions: close some with DELETE, or try again "
		             "later.");
	return session;
}

static void initialize_session(struct incoming *incoming, struct mcp_input *input,
                               const struct mcp_headers *headers)
{
	struct http_session *session = start_session(incoming);

	if (session == NULL) {
		(void)mcp_input_free(input);
		return;
	}
	event_stream_receive(incoming, session, input, headers);
	if (!mcp_session_has_handshake(session->mcp))
		http_session_close(session);
}

static void on_body(struct incoming *incoming, struct view body)
{
	const struct mcp_headers headers = {
		.version = http_get(incoming->request, "mcp-protocol-version"),
		.method = http_get(incoming->request, "mcp-method"),
		.name = http_get(incoming->request, "mcp-name"),
		.param = get_param,
		.ctx = incoming->request,
	};
	AUTO(mcp_input) struct mcp_input *input = mcp_input_new(incoming->mount->server, body);
	enum mcp_route route = mcp_input_route(input, &headers);
	struct http_session *session;

	if (route == MCP_ROUTE_ALONE) {
		if (check_listen_accept(incoming, &headers))
			event_stream_receive_alone(incoming, TAKE_PTR(input), &headers);
		return;
	}
	if (!check_accept(incoming))
		return;
	if (route == MCP_ROUTE_INITIALIZE) {
		initialize_session(incoming, TAKE_PTR(input), &headers);
		return;
	}
	session = find_session(incoming);
	if (session != NULL)
		event_stream_receive(incoming, session, TAKE_PTR(input), &headers);
}

void post_mcp(const struct incoming *incoming)
{
	read_json_body(incoming, on_body);
}
