/* event_stream.c - what the server sends to a client that belongs together: the sink of a POST, and
 * the life of a stream.
 *
 * The answer to a POST is plain JSON if the response is the first message of its stream. It becomes
 * an event stream if anything else is sent before, or if nothing is sent for a while: then
 * keep-alives can flow, and in a session the client can come back after a cut. A client that knows
 * events without data gets the first one, with its id, as soon as its call is in progress, so that
 * a cut at any later time loses nothing. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "transport/mcp_http/internal.h"

/* With more than this queued for a client, progress and log messages are dropped. */
enum { BUSY_BYTES = 1024 * 1024 };

static void on_closed(void *ctx)
{
	struct event_stream *stream = ctx;

	stream->request = NULL;
	/* A client that has got no event id cannot come back. */
	if (stream->state == STREAM_WAITING)
		stream_end_waiting(stream, STREAM_ENDED);
	if (stream->session == NULL)
		event_stream_close_alone(stream);
	else if (stream->session->is_sse)
		http_session_close(stream->session);
	else
		http_session_touch(stream->session);
}

static void attach_request(struct event_stream *stream, struct http_request *request)
{
	stream->request = request;
	http_on_close(request, on_closed, stream);
}

void event_stream_open(struct event_stream *stream, struct http_request *request, uint64_t position)
{
	attach_request(stream, request);
	stream_start_events(stream);
	stream_write_first_event(stream, position);
	events_replay(stream, position);
	if (stream->is_finished)
		event_stream_disconnect(stream);
}

static void on_send(struct mcp_sink *sink, const struct mcp_message *message)
{
	struct event_stream *stream = container_of(sink, struct event_stream, sink);

	if (stream->is_relay)
		stream = &stream->session->main;
	if (stream->state == STREAM_WAITING) {
		if (message->kind == MCP_RESPONSE) {
			stream_respond_json(stream, message);
			return;
		}
		if (!stream->accepts_events)
			return; /* the client takes the response and nothing else */
		stream_start_events(stream);
		stream_write_first_event(stream, 0);
	}
	if (stream->state != STREAM_EVENTS)
		return;
	if (stream->session != NULL && !stream->session->is_sse)
		events_add(stream, message->text);
	else if (stream->request != NULL)
		stream_write_event(stream, message->text);
}

static bool is_busy(struct mcp_sink *sink)
{
	const struct event_stream *stream = container_of(sink, struct event_stream, sink);

	if (stream->is_relay)
		stream = &stream->session->main;
	if (stream->request != NULL)
		return http_queued(stream->request) > BUSY_BYTES;
	return stream->session == NULL ||
	       stream->session->event_count > stream->http->config.limits.max_events / 2;
}

/* The request was cancelled, or its session closed, before anything was sent. */
static void answer_cancelled(struct event_stream *stream)
{
	struct http_request *request = stream->request;
	bool is_session_closed = stream->session != NULL && stream->session->is_closing;

	if (!is_session_closed && !stream->http->stopping) {
		stream_start_events(stream);
		event_stream_disconnect(stream);
		return;
	}
	stream_end_waiting(stream, STREAM_ENDED);
	stream->request = NULL;
	if (stream->http->stopping)
		answer_error(stream->http, request, 503, ANSWER_TRANSPORT,
		             "The server is being stopped.");
	else
		answer_error(stream->http, request, 404, ANSWER_NO_SESSION, "Session not found");
}

static void end_response(struct event_stream *stream)
{
	struct http_request *request = stream->request;

	if (request == NULL)
		return;
	if (stream->state == STREAM_EVENTS) {
		event_stream_disconnect(stream);
	} else if (stream->in_receive) {
		stream_end_waiting(stream, STREAM_ENDED);
		stream->request = NULL;
		answer_empty(stream->http, request, 202);
	} else {
		answer_cancelled(stream);
	}
}

/* Frees a stateless stream with its session, which must not be closed from within a sink. */
static void free_alone(void *ctx)
{
	struct event_stream *stream = ctx;
	struct mcp_http *http = stream->http;

	if (stream->own != NULL)
		mcp_session_close(stream->own);
	free(stream);
	mcp_http_check_stopped(http);
}

static void finish_stream(struct event_stream *stream)
{
	struct mcp_http *http = stream->http;
	struct http_session *session = stream->session;

	if (session == NULL) {
		loop_defer(http->loop, free_alone, stream);
		return;
	}
	session->open_count--;
	http_session_touch(session);
	if (stream->first_kept > stream->last) {
		event_stream_free(stream);
	} else {
		stream->since_ms = clock_now_ms();
		list_add(&http->finished, &stream->time_node);
		http_sessions_schedule(http);
	}
	mcp_http_check_stopped(http);
}

static void on_done(struct mcp_sink *sink)
{
	struct event_stream *stream = container_of(sink, struct event_stream, sink);

	end_response(stream);
	list_remove(&stream->time_node);
	stream->is_finished = true;
	list_remove(&stream->node);
	if (!stream->in_receive)
		finish_stream(stream);
}

/* The client reconnects and gets the rest of the stream then, if it has got an event id. */
static void on_close_stream(struct mcp_sink *sink)
{
	struct event_stream *stream = container_of(sink, struct event_stream, sink);

	if (stream->request == NULL || stream->is_relay ||
	    (!http_session_has_polling(stream->session) && stream->last == 0))
		return;
	if (stream->state == STREAM_WAITING) {
		stream_start_events(stream);
		stream_write_first_event(stream, 0);
	}
	event_stream_disconnect(stream);
}

void event_stream_free(struct event_stream *stream)
{
	events_remove(stream);
	list_remove(&stream->node);
	list_remove(&stream->session_node);
	list_remove(&stream->time_node);
	free(stream);
}

static struct event_stream *new_stream(struct mcp_http *http, struct http_session *session)
{
	struct event_stream *stream = mem_new(sizeof *stream);

	stream->sink = (struct mcp_sink){ on_send, is_busy, on_done, NULL };
	stream->http = http;
	stream->session = session;
	stream->first_kept = 1;
	list_add(&http->streams, &stream->node);
	if (session != NULL) {
		stream->sink.close_stream = on_close_stream;
		stream->number = ++session->last_stream;
		session->open_count++;
		http_session_touch(session);
		list_add(&session->streams, &stream->session_node);
	}
	return stream;
}

void event_stream_init(struct event_stream *stream, struct http_session *session)
{
	stream->sink = (struct mcp_sink){ on_send, is_busy, NULL, NULL };
	stream->http = session->http;
	stream->session = session;
	stream->first_kept = 1;
	stream->state = STREAM_EVENTS;
}

static void wait_for_message(struct event_stream *stream)
{
	struct mcp_http *http = stream->http;

	if (stream->state != STREAM_WAITING || !stream->accepts_events)
		return;
	if (stream->session != NULL && http_session_has_polling(stream->session)) {
		stream_start_events(stream);
		stream_write_first_event(stream, 0);
		return;
	}
	stream->since_ms = clock_now_ms();
	if (list_is_empty(&http->waiting))
		loop_timer_start(http->silence_timer, http->config.limits.silence_ms);
	list_add(&http->waiting, &stream->time_node);
}

void event_stream_receive(struct incoming *incoming, struct http_session *session,
                          struct mcp_input *input, const struct mcp_headers *headers)
{
	struct event_stream *stream = new_stream(session->http, session);

	stream->is_initialize = !mcp_session_has_handshake(session->mcp);
	stream->accepts_events = true;
	attach_request(stream, incoming->request);
	stream->in_receive = true;
	mcp_session_receive_on(session->mcp, input, &stream->sink, headers);
	stream->in_receive = false;
	if (stream->is_finished)
		finish_stream(stream);
	else
		wait_for_message(stream);
}

void event_stream_receive_alone(struct incoming *incoming, struct mcp_input *input,
                                const struct mcp_headers *headers)
{
	struct mcp_http *http = incoming->http;
	struct event_stream *stream = new_stream(http, NULL);
	const char *accept = http_get(incoming->request, "accept");

	stream->own = mcp_session_new(incoming->mount->server, &http->no_sink, &incoming->caller);
	stream->credential = incoming->credential;
	stream->accepts_events = media_accepts(accept, "text", "event-stream");
	stream->is_listen = headers->method != NULL &&
	                    strcmp(headers->method, "subscriptions/listen") == 0;
	attach_request(stream, incoming->request);
	stream->in_receive = true;
	mcp_session_receive_on(stream->own, input, &stream->sink, headers);
	stream->in_receive = false;
	if (stream->is_finished)
		free_alone(stream);
	else
		wait_for_message(stream);
}

void event_stream_relay(struct http_session *session, struct mcp_input *input)
{
	static const struct mcp_headers no_headers = { 0 };
	struct event_stream *stream = new_stream(session->http, session);

	stream->is_relay = true;
	stream->state = STREAM_ENDED;
	stream->in_receive = true;
	mcp_session_receive_on(session->mcp, input, &stream->sink, &no_headers);
	stream->in_receive = false;
	if (stream->is_finished)
		finish_stream(stream);
}

void event_stream_close_alone(struct event_stream *stream)
{
	if (stream->own != NULL)
		mcp_session_close(TAKE_PTR(stream->own));
}

/* A stream that has waited too long becomes an event stream. */
void event_streams_check_silence(struct mcp_http *http)
{
	const uint64_t silence_ms = http->config.limits.silence_ms;
	uint64_t now_ms = clock_now_ms();

	while (!list_is_empty(&http->waiting)) {
		struct event_stream *stream = container_of(http->waiting.next, struct event_stream,
		                                           time_node);
		uint64_t waited_ms = now_ms - stream->since_ms;

		if (waited_ms < silence_ms) {
			loop_timer_start(http->silence_timer, silence_ms - waited_ms);
			return;
		}
		stream_start_events(stream);
		stream_write_first_event(stream, 0);
	}
}
