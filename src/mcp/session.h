/* session.h - one client's connection, whichever transport carries it.
 *
 * The transport hands in each message as text and gets each answer through the sink. A
 * session decides per message how to read it: a request that claims the stateless era
 * stands alone, any other belongs to the connection's handshake, and one session serves
 * both.
 *
 *   new --- receive ... --- close (cancels what runs) --- gone */
#pragma once
#include <stdbool.h>

#include "base/view.h"

struct error;
struct mcp_server;
struct mcp_session;

/* Embedded in the transport's object. */
struct mcp_sink {
	/* One message, without line end. The text is the session's. */
	void (*send)(struct mcp_sink *sink, struct view text);
	/* The client does not keep up: what may be left out, is. */
	bool (*is_busy)(struct mcp_sink *sink);
};

struct mcp_session *mcp_session_new(struct mcp_server *server, struct mcp_sink *sink);

void mcp_session_receive(struct mcp_session *session, struct view text);
/* For a message the transport could not even read whole. */
void mcp_session_reject(struct mcp_session *session, const struct error *why);

/* Ends listen streams with their result, cancels calls, frees. Nothing is sent after. */
void mcp_session_close(struct mcp_session *session);
