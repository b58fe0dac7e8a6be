/* session.h - the MCP session of one connection, independent of the transport.
 *
 * The transport passes each received message to the session, which sends its messages through the
 * sink. Each request is handled by itself: one with a protocol version in its _meta belongs to the
 * stateless era, any other to the handshake of the connection. One session serves both.
 *
 *   mcp_session_new() -> mcp_session_receive() ... -> mcp_session_close()
 *
 * The transport owns the sink, which must outlive the session. */
#pragma once
#include <stdbool.h>

#include "base/view.h"

struct error;
struct mcp_server;
struct mcp_session;

/* Where the session sends messages. The transport embeds it in its own object. */
struct mcp_sink {
	/* Sends one message. The text has no line end and is valid until send() returns. */
	void (*send)(struct mcp_sink *sink, struct view text);
	/* True if the client reads too slowly: progress and log messages are then dropped. */
	bool (*is_busy)(struct mcp_sink *sink);
};

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink);

void mcp_session_receive(struct mcp_session *session, struct view text);
/* Sends an error response for a message that the transport could not read completely. */
void mcp_session_reject(struct mcp_session *session, const struct error *why);

/* Ends listen requests with a result, cancels all calls and frees the session. Nothing is sent
 * after. */
void mcp_session_close(struct mcp_session *session);
