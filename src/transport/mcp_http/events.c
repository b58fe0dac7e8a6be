/* events.c - event ids, and the events that a session keeps for clients that come back.
 *
 * A session keeps the newest events of all its streams, in one list, within limits of number and
 * bytes. The events of a stream that are kept are always its last ones, so one number per stream
 * tells whether a client can still get everything that it missed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "transport/mcp_http/internal.h"

struct event {
	struct list node; /* in http_session.events */
	struct event_stream *stream;
	uint64_t position;
	size_t len;
	char *bytes;
};

/* Reads a number in its one spelling: decimal, without sign, leading zeros or more than 19 digits,
 * which always fit. */
static const char *parse_number(const char *text, uint64_t *ret)
{
	size_t len = strspn(text, "0123456789");
	uint64_t number = 0;

	if (len == 0 || len > 19 || (text[0] == '0' && len > 1))
		return NULL;
	for (size_t i = 0; i < len; i++)
		number = number * 10 + (uint64_t)(text[i] - '0');
	*ret = number;
	return text + len;
}

bool event_id_parse(const char *text, struct event_id *ret)
{
	struct event_id id;

	text = parse_number(text, &id.stream);
	if (text == NULL || *text != '-')
		return false;
	text = parse_number(text + 1, &id.position);
	if (text == NULL || *text != '\0')
		return false;
	*ret = id;
	return true;
}

void event_id_format(const struct event_id *id, char out[EVENT_ID_SIZE])
{
	(void)snprintf(out, EVENT_ID_SIZE, "%" PRIu64 "-%" PRIu64, id->stream, id->position);
}

/* JSON on one line has no line end, so the message is one data line. */
char *event_format(const struct event_id *id, struct view text, size_t *ret_len)
{
	char head[EVENT_ID_SIZE + 32] = "event: message\ndata: ";
	char number[EVENT_ID_SIZE];
	size_t len;
	char *bytes;

	if (id != NULL) {
		event_id_format(id, number);
		(void)snprintf(head, sizeof head, "id: %s\nevent: message\ndata: ", number);
	}
	len = strlen(head);
	bytes = mem_resize(NULL, len + text.len + 2);
	memcpy(bytes, head, len);
	memcpy(bytes + len, text.ptr, text.len);
	len += text.len;
	bytes[len++] = '\n';
	bytes[len++] = '\n';
	*ret_len = len;
	return bytes;
}

static void remove_event(struct http_session *session, struct event *event)
{
	list_remove(&event->node);
	event->stream->first_kept = event->position + 1;
	session->event_count--;
	session->event_bytes -= event->len;
	session->owner->kept_bytes -= event->len;
	session->http->kept_bytes -= event->len;
	free(event->bytes);
	free(event);
}

/* Removes the oldest event of the session. A finished stream without events is of no use. */
static void remove_oldest(struct http_session *session)
{
	struct event *event = container_of(session->events.next, struct event, node);
	/* The analyser does not follow list links. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	struct event_stream *stream = event->stream;

	remove_event(session, event);
	if (stream->is_finished && stream->first_kept > stream->last)
		event_stream_free(stream);
}

static bool fits_limit(size_t len, size_t used, size_t max)
{
	return len <= max && used <= max - len;
}

static bool has_room(const struct http_session *session, size_t len)
{
	const struct mcp_http_limits *limits = &session->http->config.limits;

	return session->event_count < limits->max_events &&
	       fits_limit(len, session->event_bytes, limits->max_event_bytes) &&
	       fits_limit(len, session->owner->kept_bytes, limits->max_owner_bytes) &&
	       fits_limit(len, session->http->kept_bytes, limits->max_kept_bytes);
}

/* Takes over the bytes. */
static void keep_event(struct event_stream *stream, char *bytes, size_t len)
{
	struct http_session *session = stream->session;
	struct event *event;

	while (!has_room(session, len) && !list_is_empty(&session->events))
		remove_oldest(session);
	if (!has_room(session, len)) {
		stream->first_kept = stream->last + 1;
		free(bytes);
		return;
	}
	event = mem_new(sizeof *event);
	event->stream = stream;
	event->position = stream->last;
	event->bytes = bytes;
	event->len = len;
	list_add(&session->events, &event->node);
	session->event_count++;
	session->event_bytes += len;
	session->owner->kept_bytes += len;
	session->http->kept_bytes += len;
}

void events_add(struct event_stream *stream, struct view text)
{
	struct event_id id = { stream->number, ++stream->last };
	size_t len;
	char *bytes = event_format(&id, text, &len);

	if (stream->request != NULL) {
		http_stream_write(stream->request, (struct view){ bytes, len });
		stream->written = stream->last;
	}
	keep_event(stream, bytes, len);
}

bool events_has_after(const struct event_stream *stream, uint64_t position)
{
	return position <= stream->last && position + 1 >= stream->first_kept;
}

void events_replay(struct event_stream *stream, uint64_t position)
{
	LIST_EACH (node, &stream->session->events) {
		const struct event *event = container_of(node, struct event, node);

		if (event->stream == stream && event->position > position)
			http_stream_write(stream->request,
			                  (struct view){ event->bytes, event->len });
	}
	stream->written = stream->last;
}

void events_remove(struct event_stream *stream)
{
	struct list *next;

	for (struct list *node = stream->session->events.next; node != &stream->session->events;
	     node = next) {
		struct event *event = container_of(node, struct event, node);

		next = node->next;
		if (event->stream == stream)
			remove_event(stream->session, event);
	}
}
