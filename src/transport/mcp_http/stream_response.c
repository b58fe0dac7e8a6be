/* stream_response.c - the HTTP response that carries an event stream: plain JSON or events. */
#include <stdio.h>

#include "transport/mcp_http/internal.h"

static const char keep_alive[] = ": keep-alive\n\n";

void stream_end_waiting(struct event_stream *stream, enum stream_state state)
{
	list_remove(&stream->time_node);
	stream->state = state;
}

static void add_session_id(const struct event_stream *stream, struct fields *fields)
{
	const struct http_session *session = stream->session;

	if (session == NULL || session->is_sse)
		return;
	/* A session whose initialize failed is closed at once. */
	if (!stream->is_initialize || mcp_session_has_handshake(session->mcp))
		fields_add(fields, "Mcp-Session-Id", session->id);
}

void stream_start_events(struct event_stream *stream)
{
	struct fields fields;

	if (stream->state == STREAM_WAITING)
		stream_end_waiting(stream, STREAM_EVENTS);
	fields_init(&fields, stream->http, stream->request);
	fields_add(&fields, "Content-Type", "text/event-stream");
	fields_add(&fields, "Cache-Control", "no-cache, no-transform");
	fields_add(&fields, "X-Accel-Buffering", "no");
	add_session_id(stream, &fields);
	http_stream_start(stream->request, 200, fields.list, keep_alive);
}

/* Older clients fail on an event without data. */
void stream_write_first_event(struct event_stream *stream, uint64_t position)
{
	const struct event_id id = { stream->number, position };
	char number[EVENT_ID_SIZE];
	char text[EVENT_ID_SIZE + 64];

	if (stream->session == NULL || !http_session_has_polling(stream->session))
		return;
	event_id_format(&id, number);
	(void)snprintf(text, sizeof text, "id: %s\nretry: %llu\ndata: \n\n", number,
	               (unsigned long long)stream->http->config.limits.retry_ms);
	http_stream_write(stream->request, view_of(text));
}

static int get_status(const struct mcp_message *message)
{
	switch (message->outcome) {
	case MCP_OUTCOME_OK:
		break;
	case MCP_OUTCOME_BAD_REQUEST:
		return 400;
	case MCP_OUTCOME_NOT_FOUND:
		return 404;
	case MCP_OUTCOME_FORBIDDEN:
		return 403;
	}
	return 200;
}

void stream_respond_json(struct event_stream *stream, const struct mcp_message *message)
{
	struct http_request *request = stream->request;
	char challenge[96];
	struct fields fields;

	stream_end_waiting(stream, STREAM_ENDED);
	stream->request = NULL;
	fields_init(&fields, stream->http, request);
	fields_add(&fields, "Content-Type", "application/json");
	fields_add(&fields, "Cache-Control", "no-store");
	add_session_id(stream, &fields);
	if (message->outcome == MCP_OUTCOME_FORBIDDEN) {
		(void)snprintf(challenge, sizeof challenge,
		               "Bearer error=\"insufficient_scope\", scope=\"%s\"",
		               mcp_scope_name(message->scope));
		fields_add(&fields, "WWW-Authenticate", challenge);
	}
	http_respond(request, get_status(message), fields.list, message->text);
}

void stream_write_event(struct event_stream *stream, struct view text)
{
	size_t len;
	AUTO_FREE char *bytes = event_format(NULL, text, &len);

	http_stream_write(stream->request, (struct view){ bytes, len });
}

void event_stream_disconnect(struct event_stream *stream)
{
	struct http_request *request = stream->request;

	if (request == NULL)
		return;
	stream->request = NULL;
	http_stream_end(request);
}
