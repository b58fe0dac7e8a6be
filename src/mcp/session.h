/* session.h - the MCP session of one client, independent of the transport.
 *
 * The transport passes each received message to the session, which sends its messages through
 * sinks. Each request is handled by itself: one with a protocol version in its _meta belongs to the
 * stateless era, any other to the handshake of the session. One session serves both.
 *
 *   mcp_session_new() -> mcp_session_receive() ... -> mcp_session_close()
 *
 * A transport with one connection per client (stdio) passes text to mcp_session_receive(), and
 * everything is sent to the session's own sink. Over HTTP each POST has a sink of its own:
 *
 *   mcp_input_new(text) -> mcp_input_route() -> find or make the session
 *                       -> mcp_session_receive_on(session, input, sink, headers)
 *                       -> sink.send() any number of times -> sink.done()
 *
 * The responses to a POST, and the notifications and requests of its calls, go to the sink of the
 * POST; everything else goes to the session's own sink. The transport owns all sinks. */
#pragma once
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/view.h"
#include "mcp/caller.h"

struct error;
struct mcp_input;
struct mcp_server;
struct mcp_session;

enum mcp_message_kind { MCP_NOTIFICATION, MCP_REQUEST, MCP_RESPONSE };

/* How a response is reported over HTTP if nothing was sent before it. */
enum mcp_outcome {
	MCP_OUTCOME_OK,          /* 200 */
	MCP_OUTCOME_BAD_REQUEST, /* 400 */
	MCP_OUTCOME_NOT_FOUND,   /* 404: the stateless era does not have the method */
	MCP_OUTCOME_FORBIDDEN,   /* 403: the caller lacks a scope */
};

/* A message to the client. `text` has no line end and is valid until send() returns. A batch of
 * responses is one message. */
struct mcp_message {
	struct view text;
	enum mcp_message_kind kind;
	enum mcp_outcome outcome; /* of a response */
	enum mcp_scope scope;     /* FORBIDDEN: what the caller lacks */
};

/* Where messages are sent. The transport embeds it in its own object. */
struct mcp_sink {
	void (*send)(struct mcp_sink *sink, const struct mcp_message *message);
	/* True if the client reads too slowly: progress and log messages are then dropped. */
	bool (*is_busy)(struct mcp_sink *sink);
	/* Of mcp_session_receive_on() only, and called exactly once, perhaps from within: every
	 * request of the message was answered or cancelled, and the sink is not used any more. If
	 * nothing was sent, there was no request in the message, or it was cancelled. */
	void (*done)(struct mcp_sink *sink);
	/* A handler wants the connection closed and the client to come back for the rest of the
	 * stream; NULL: the transport cannot resume streams. */
	void (*close_stream)(struct mcp_sink *sink);
};

/* The sink must outlive the session. *caller is copied. */
struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink,
                                    const struct mcp_caller *caller);

/* Ends listen requests with a result, cancels all calls and frees the session. Every sink of
 * mcp_session_receive_on() that is in use gets done() from within. No sink is used after. Must not
 * be called from within a function of a sink. */
void mcp_session_close(struct mcp_session *session);

void mcp_session_receive(struct mcp_session *session, struct view text);
/* Sends an error response for a message of which the transport has only the first and the last
 * bytes; the response has the id of the request if it is among them. */
void mcp_session_reject(struct mcp_session *session, struct view first, struct view last,
                        const struct error *why);

/* --- HTTP --- */

/* The headers of a POST that say what its body says. Values have no spaces around them; NULL: the
 * header is absent. */
struct mcp_headers {
	const char *version; /* MCP-Protocol-Version */
	const char *method;  /* Mcp-Method */
	const char *name;    /* Mcp-Name */
	/* The value of the header Mcp-Param-{name}, or NULL. The argument is {name}. */
	const char *(*param)(void *ctx, const char *name);
	void *ctx;
};

/* Which session a message belongs to. */
enum mcp_route {
	/* The message is invalid or belongs to the stateless era: a session of its own, which is
	 * closed after done(), or before, if the client closes the connection. */
	MCP_ROUTE_ALONE,
	MCP_ROUTE_INITIALIZE, /* starts a session */
	MCP_ROUTE_SESSION,    /* belongs to the session that Mcp-Session-Id names */
};

/* The body of a POST after parsing. A body that is no JSON is an input too. */
struct mcp_input *mcp_input_new(const struct mcp_server *server, struct view text);
struct mcp_input *mcp_input_free(struct mcp_input *input);
DEFINE_CLEANUP(mcp_input)

enum mcp_route mcp_input_route(const struct mcp_input *input, const struct mcp_headers *headers);

/* Takes over the input. `headers` are used until the function returns, `sink` until done(). */
void mcp_session_receive_on(struct mcp_session *session, struct mcp_input *input,
                            struct mcp_sink *sink, const struct mcp_headers *headers);

/* True after `initialize` was answered with a result. */
bool mcp_session_has_handshake(const struct mcp_session *session);
/* The revision that the handshake of the session has chosen, such as "2025-11-25"; before the
 * handshake "2025-03-26". */
const char *mcp_session_revision(const struct mcp_session *session);
