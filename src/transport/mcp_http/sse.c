/* sse.c - HTTP+SSE of 2024-11-05: a stream whose first event names the path for POSTs.
 *
 * Everything that the server sends goes to the stream, also the responses to POSTs. The session
 * ends when the client closes the stream. */
#include <stdlib.h>

#include "base/buf.h"
#include "base/mem.h"
#include "transport/mcp_http/internal.h"

void get_sse(const struct incoming *incoming)
{
	AUTO_FREE char *endpoint = NULL;
	struct http_session *session;

	if (!media_accepts(http_get(incoming->request, "accept"), "text", "event-stream")) {
		answer_error(incoming->http, incoming->request, 406, ANSWER_TRANSPORT,
		             "Accept must include text/event-stream.");
		return;
	}
	session = http_session_new(incoming, true);
	if (session == NULL) {
		answer_error(incoming->http, incoming->request, 503, ANSWER_TRANSPORT,
		             "There are too many sessions: close some, or try again later.");
		return;
	}
	event_stream_open(&session->main, incoming->request, 0);
	endpoint = mem_format("event: endpoint\ndata: %s/messages/?session_id=%s\n\n",
	                      incoming->mount->prefix, session->id);
	http_stream_write(incoming->request, view_of(endpoint));
}

/* Both spellings of the parameter are in use. */
static struct http_session *find_sse_session(const struct incoming *incoming)
{
	const char *query = http_query(incoming->request);
	char id[SESSION_ID_LEN + 1] = "";
	struct buf value = buf_fixed(id, sizeof id);
	struct http_session *session;
	int found = http_query_get(query, "session_id", &value);

	if (found == 0)
		found = http_query_get(query, "sessionId", &value);
	if (found == 0) {
		answer_error(incoming->http, incoming->request, 400, ANSWER_TRANSPORT,
		             "session_id is missing: send the path of the endpoint event.");
		return NULL;
	}
	session = found > 0 ? http_session_find(incoming, id, true) : NULL;
	if (session == NULL)
		answer_error(incoming->http, incoming->request, 404, ANSWER_NO_SESSION,
		             "Session not found");
	return session;
}

static void on_body(struct incoming *incoming, struct view body)
{
	struct http_session *session = find_sse_session(incoming);
	struct fields fields;

	if (session == NULL)
		return;
	fields_init(&fields, incoming->http, incoming->request);
	fields_add(&fields, "Content-Type", "text/plain");
	http_respond(incoming->request, 202, fields.list, view_of("Accepted"));
	event_stream_relay(session, mcp_input_new(session->mount->server, body));
}

void post_messages(const struct incoming *incoming)
{
	read_json_body(incoming, on_body);
}
