/* get.c - GET and DELETE of the MCP endpoint: a session's own stream, a stream that lost its
 * connection, and the end of a session. */

#include "mcp/revision.h"
#include "transport/mcp_http/internal.h"

/* The stateless era has neither GET nor DELETE. */
static bool check_era(const struct incoming *incoming)
{
	const char *version = http_get(incoming->request, "mcp-protocol-version");
	enum mcp_revision revision;

	if (version == NULL || !mcp_revision_find(version, &revision) ||
	    revision < MCP_FIRST_STATELESS)
		return true;
	answer_not_allowed(incoming->http, incoming->request, "POST, OPTIONS");
	return false;
}

static struct event_stream *find_stream(struct http_session *session, uint64_t number)
{
	if (number == 0)
		return &session->main;
	LIST_EACH (node, &session->streams) {
		struct event_stream *stream = container_of(node, struct event_stream, session_node);

		if (stream->number == number)
			return stream;
	}
	return NULL;
}

/* Only a stream of events has ids. The ids of a stream whose events are gone are unknown, too. */
static struct event_stream *find_resumable(struct http_session *session, const char *last_id,
                                           uint64_t *ret_position)
{
	struct event_stream *stream;
	struct event_id id;

	if (!event_id_parse(last_id, &id))
		return NULL;
	stream = find_stream(session, id.stream);
	if (stream == NULL || stream->state != STREAM_EVENTS ||
	    !events_has_after(stream, id.position))
		return NULL;
	*ret_position = id.position;
	return stream;
}

void get_mcp(const struct incoming *incoming)
{
	const char *last_id = http_get(incoming->request, "last-event-id");
	struct http_session *session;
	struct event_stream *stream;
	uint64_t position;

	if (!check_era(incoming))
		return;
	if (!media_accepts(http_get(incoming->request, "accept"), "text", "event-stream")) {
		answer_error(incoming->http, incoming->request, 406, ANSWER_TRANSPORT,
		             "Accept must include text/event-stream.");
		return;
	}
	session = find_session(incoming);
	if (session == NULL)
		return;
	stream = &session->main;
	position = stream->written;
	if (last_id != NULL)
		stream = find_resumable(session, last_id, &position);
	if (stream == NULL) {
		answer_error(incoming->http, incoming->request, 400, ANSWER_TRANSPORT,
		             "Last-Event-ID is unknown: its stream has ended or its events are not "
		             "kept any more.");
		return;
	}
	if (stream->request != NULL) {
		answer_error(incoming->http, incoming->request, 409, ANSWER_TRANSPORT,
		             "The stream is open on another connection.");
		return;
	}
	event_stream_open(stream, incoming->request, position);
}

void delete_mcp(const struct incoming *incoming)
{
	struct http_session *session;

	if (!check_era(incoming))
		return;
	session = find_session(incoming);
	if (session == NULL)
		return;
	http_session_close(session);
	answer_empty(incoming->http, incoming->request, 200);
}
