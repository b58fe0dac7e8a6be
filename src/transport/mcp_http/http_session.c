/* http_session.c - the sessions of the handshake era, by id.
 *
 * An id has 160 random bits. It is no proof of who is calling: a session is found only by the
 * caller who started it, with the same rights, and on the same mount. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/random.h"
#include "loop/loop.h"
#include "mcp/revision.h"
#include "transport/mcp_http/internal.h"

static struct list *find_bucket(struct mcp_http *http, const char *id)
{
	return &http->buckets[hash_text(HASH_START, id) % SESSION_BUCKETS];
}

/* The scopes count: a token with fewer of them must not act through a session that was started with
 * more. */
static bool is_same_caller(const struct mcp_caller *a, const struct mcp_caller *b)
{
	return a->scopes == b->scopes && strcmp(a->owner, b->owner) == 0;
}

static bool is_in_use(const struct http_session *session)
{
	return session->main.request != NULL || session->open_count > 0;
}

/* Closes the caller's session that has not been used for the longest time, except sessions with a
 * connection or a call: many clients never send DELETE. */
static bool make_room(struct mcp_http *http, const char *owner)
{
	LIST_EACH (node, &http->sessions) {
		struct http_session *session = container_of(node, struct http_session, node);

		if (!is_in_use(session) && strcmp(session->caller.owner, owner) == 0) {
			http_session_close(session);
			return true;
		}
	}
	return false;
}

static struct http_owner *find_owner(const struct mcp_http *http, const char *name)
{
	LIST_EACH (node, &http->owners) {
		struct http_owner *owner = container_of(node, struct http_owner, node);

		if (strcmp(owner->name, name) == 0)
			return owner;
	}
	return NULL;
}

static struct http_owner *hold_owner(struct mcp_http *http, const char *name)
{
	struct http_owner *owner = find_owner(http, name);

	if (owner == NULL) {
		owner = mem_new(sizeof *owner);
		owner->name = mem_dup(name);
		list_add(&http->owners, &owner->node);
	}
	owner->session_count++;
	return owner;
}

static void release_owner(struct http_owner *owner)
{
	if (--owner->session_count > 0)
		return;
	list_remove(&owner->node);
	free(owner->name);
	free(owner);
}

static bool has_room(const struct mcp_http *http, const char *name)
{
	const struct http_owner *owner = find_owner(http, name);

	return http->session_count < http->config.limits.max_sessions &&
	       (owner == NULL || owner->session_count < http->config.limits.max_owner_sessions);
}

struct http_session *http_session_new(const struct incoming *incoming, bool is_sse)
{
	struct mcp_http *http = incoming->http;
	const char *name = incoming->caller.owner;
	struct http_session *session;

	if (!has_room(http, name) && !make_room(http, name))
		return NULL;
	session = mem_new(sizeof *session);
	session->http = http;
	session->mount = incoming->mount;
	session->caller = incoming->caller;
	session->credential = incoming->credential;
	session->owner = hold_owner(http, name);
	session->caller.owner = session->owner->name;
	session->is_sse = is_sse;
	list_init(&session->streams);
	list_init(&session->events);
	event_stream_init(&session->main, session);
	session->mcp = mcp_session_new(incoming->mount->server, &session->main.sink,
	                               &session->caller);
	random_hex(session->id, SESSION_ID_BITS);
	list_add(find_bucket(http, session->id), &session->bucket_node);
	http->session_count++;
	http_session_touch(session);
	return session;
}

struct http_session *http_session_find(const struct incoming *incoming, const char *id, bool is_sse)
{
	struct list *bucket = find_bucket(incoming->http, id);

	LIST_EACH (node, bucket) {
		struct http_session *session = container_of(node, struct http_session, bucket_node);

		if (strcmp(session->id, id) != 0)
			continue;
		/* Another caller's session is answered like one that does not exist. */
		if (session->mount != incoming->mount || session->is_sse != is_sse ||
		    !is_same_caller(&session->caller, &incoming->caller))
			return NULL;
		http_session_touch(session);
		return session;
	}
	return NULL;
}

void http_session_touch(struct http_session *session)
{
	if (session->is_closing)
		return;
	session->used_ms = clock_now_ms();
	list_remove(&session->node);
	list_add(&session->http->sessions, &session->node);
	http_sessions_schedule(session->http);
}

/* The MCP session calls done() of each stream that is not finished, which ends its response. */
void http_session_close(struct http_session *session)
{
	struct mcp_http *http = session->http;

	session->is_closing = true;
	list_remove(&session->node);
	list_remove(&session->bucket_node);
	http->session_count--;
	mcp_session_close(session->mcp);
	while (!list_is_empty(&session->streams))
		event_stream_free(
		        container_of(session->streams.next, struct event_stream, session_node));
	event_stream_disconnect(&session->main);
	events_remove(&session->main);
	release_owner(session->owner);
	free(session);
}

bool http_session_has_polling(const struct http_session *session)
{
	return strcmp(mcp_session_revision(session->mcp), mcp_revision_name(MCP_2025_11_25)) >= 0;
}

/* When the first session or the first finished stream expires, which are in order of time. */
static uint64_t next_expiry_ms(const struct mcp_http *http)
{
	const struct mcp_http_limits *limits = &http->config.limits;
	uint64_t at_ms = UINT64_MAX;

	if (!list_is_empty(&http->sessions)) {
		const struct http_session *session = container_of(http->sessions.next,
		                                                  struct http_session, node);

		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
		at_ms = session->used_ms + limits->session_idle_ms;
	}
	if (!list_is_empty(&http->finished)) {
		const struct event_stream *stream = container_of(http->finished.next,
		                                                 struct event_stream, time_node);

		at_ms = num_min(at_ms, stream->since_ms + limits->events_kept_ms);
	}
	return at_ms;
}

void http_sessions_schedule(struct mcp_http *http)
{
	uint64_t at_ms = next_expiry_ms(http);
	uint64_t now_ms;

	if (at_ms >= http->expiry_at_ms)
		return;
	now_ms = clock_now_ms();
	http->expiry_at_ms = at_ms;
	loop_timer_start(http->expiry_timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

static bool expire_session(struct mcp_http *http, uint64_t now_ms)
{
	struct http_session *session = container_of(http->sessions.next, struct http_session, node);

	if (list_is_empty(&http->sessions))
		return false;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): list links are not followed */
	if (now_ms < session->used_ms + http->config.limits.session_idle_ms)
		return false;
	if (is_in_use(session))
		http_session_touch(session);
	else
		http_session_close(session);
	return true;
}

static bool expire_stream(struct mcp_http *http, uint64_t now_ms)
{
	struct event_stream *stream = container_of(http->finished.next, struct event_stream,
	                                           time_node);

	if (list_is_empty(&http->finished) ||
	    now_ms < stream->since_ms + http->config.limits.events_kept_ms)
		return false;
	event_stream_free(stream);
	return true;
}

void http_sessions_expire(struct mcp_http *http)
{
	uint64_t now_ms = clock_now_ms();

	http->expiry_at_ms = UINT64_MAX;
	while (expire_stream(http, now_ms))
		;
	while (expire_session(http, now_ms))
		;
	http_sessions_schedule(http);
}
