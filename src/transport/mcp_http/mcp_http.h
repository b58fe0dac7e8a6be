/* mcp_http.h - MCP over HTTP: every revision, on the paths of each mount.
 *
 *   PREFIX/mcp                 Streamable HTTP of 2025-03-26 to 2025-11-25, with sessions, and the
 *                              stateless revisions, which have none
 *   PREFIX/sse, /messages/     HTTP+SSE of 2024-11-05
 *   PREFIX/...                 other paths that a mount answers itself
 *   /ports/...                 ports of sandboxes, which the caller serves
 *   /healthz, /readyz          the state of the server, for anyone
 *
 * The caller makes the HTTP server with mcp_http_request() as its handler:
 *
 *   mcp_http_new() -> http_server_new() -> ... -> mcp_http_stop() -> stopped()
 *                  -> http_server_free() -> mcp_http_free()
 *
 * An event is one write, so http_limits.max_queue must be above mcp_limits.max_line.
 *
 * Every request passes these checks, in this order: Host and Origin, path and method, is the
 * server being stopped, who is calling. A session belongs to the caller who started it; to any
 * other caller its id is unknown. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "mcp/caller.h"

struct http_request;
struct loop;
struct mcp_http;
struct mcp_server;

/* An MCP server and the prefix of its paths. */
struct mcp_http_mount {
	const char *prefix; /* "" or a path such as "/p/NAME", without a slash at the end */
	struct mcp_server *server;
	/* Answers a GET of another path of the mount, for a caller who was authenticated. `path` is
	 * the part behind the prefix. False: there is no such path. NULL: there are none. */
	bool (*serve)(void *ctx, struct http_request *request, const struct mcp_caller *caller,
	              const char *path);
	void *ctx; /* of serve() */
};

/* The result of authenticate() for one request. */
struct mcp_http_identity {
	int refusal;              /* 0: `caller` may go on; else the status, 401 or 403 */
	struct mcp_caller caller; /* copied */
	/* Which token or other proof of the caller this was, for mcp_http_close_credential(). */
	uint64_t credential;
	const char *challenge;   /* WWW-Authenticate of a refusal */
	const char *error;       /* an OAuth error code such as "invalid_token"; or NULL */
	const char *description; /* a sentence for the person who reads the refusal */
};

struct mcp_http_limits {
	size_t max_sessions;       /* of all callers */
	size_t max_owner_sessions; /* of one caller; the oldest idle one makes room */
	uint64_t
	        session_idle_ms; /* a session without a connection or a call is closed after this */
	/* Events that a session keeps for clients that come back after a cut. */
	size_t max_events;       /* of one session */
	size_t max_event_bytes;  /* of one session */
	size_t max_owner_bytes;  /* of one caller */
	size_t max_kept_bytes;   /* of all sessions */
	uint64_t events_kept_ms; /* after the last event of a stream */
	/* A POST without an answer becomes an event stream after this, for keep-alives and for
	 * resuming. */
	uint64_t silence_ms;
	uint64_t retry_ms; /* when a client reconnects to a stream that the server has closed */
};
extern const struct mcp_http_limits mcp_http_default_limits;

struct mcp_http_config {
	const struct mcp_http_mount *mounts;
	size_t mount_count;
	/* Host names of this server, besides localhost and every numeric address; ends with NULL.
	 * NULL: none. "*" stands for any name. */
	const char *const *hosts;
	/* Origins of other web pages that may use the server, such as "https://app.example.com";
	 * ends with NULL. NULL: none. */
	const char *const *origins;
	/* Decides who is calling. What *ret points to is valid until the next call. NULL: every
	 * request is `caller`'s. */
	void (*authenticate)(void *ctx, struct http_request *request,
	                     struct mcp_http_identity *ret);
	struct mcp_caller caller;
	/* Answers a request below /ports/, whose Host was checked and nothing else: `why` is NULL,
	 * or says why a web page may not use the server (Origin). NULL: there are no such paths. */
	void (*serve_port)(void *ctx, struct http_request *request, const char *why);
	/* NULL if the server is ready for calls, else the reason why not. May itself be NULL. */
	const char *(*why_not_ready)(void *ctx);
	void *ctx;
	struct mcp_http_limits limits;
};

/* For http_config.single_fields. */
extern const char *const mcp_http_single_fields[];

/* The config is copied; what it points to must outlive the object. */
struct mcp_http *mcp_http_new(struct loop *loop,
                              const struct mcp_http_config *config) RETURNS_NONNULL;

/* http_config.request; ctx is the struct mcp_http. */
void mcp_http_request(void *ctx, struct http_request *request);

/* Answers new requests with 503 and ends all streams that only carry notifications. Calls in
 * progress may finish within grace_ms, then all sessions are closed. Calls stopped() once, from the
 * loop. A second call does nothing. */
void mcp_http_stop(struct mcp_http *http, uint64_t grace_ms, void (*stopped)(void *ctx), void *ctx);

/* Closes all sessions and streams that were opened with a credential, for instance after a token
 * was revoked. Those of the caller's other tokens stay open. Not from within a callback of an MCP
 * server. */
void mcp_http_close_credential(struct mcp_http *http, uint64_t credential);

/* Sessions that are open. */
size_t mcp_http_sessions(const struct mcp_http *http);

/* Closes all sessions. The HTTP server must be freed before. */
struct mcp_http *mcp_http_free(struct mcp_http *http);
DEFINE_CLEANUP(mcp_http)
