/* fake_client.h - an MCP session without a transport, and JSON-RPC messages for tests.
 *
 * A test sends lines to the session with peer_send() and takes the messages that the session has
 * sent, in order, with peer_next() or CHECK_NEXT(). */
#pragma once
#include "base/cleanup.h"
#include "loop/loop.h"
#include "mcp/call.h"
#include "mcp/content.h"
#include "mcp/mcp_server.h"
#include "mcp/session.h"
#include "unit/test.h"
#include "json/json.h"

/* The client's end of a session: it owns loop and server unless it joined another one's server. */
struct peer {
	struct mcp_sink sink;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_session *session;
	json_t *sent;          /* messages the test has not taken yet */
	bool busy;             /* what the sink's is_busy() returns */
	struct mcp_call *held; /* the last call of peer_hold() */
	int cancelled;         /* calls of peer_hold() that were cancelled */
};

/* Fills in name, version and app of the config, and the limits if they are zero. */
void peer_open(struct peer *peer, struct mcp_config *config);
void peer_close(struct peer *peer);

/* A second session of a server that another peer owns. */
void peer_join(struct peer *peer, struct mcp_server *server);
void peer_join_as(struct peer *peer, struct mcp_server *server, const char *owner);
void peer_leave(struct peer *peer);

void peer_send(struct peer *peer, const char *line);
/* The next message of the session as text, valid until the second next call; "(nothing)" if there
 * is none. */
const char *peer_next(struct peer *peer);

#define CHECK_NEXT(peer, want)   assert_string_equal(peer_next(peer), want)
#define CHECK_NOTHING_SENT(peer) assert_string_equal(peer_next(peer), "(nothing)")

/* Sends a line to a new session: `want` must be the only message it sends. */
void peer_check(const struct mcp_config *config, const char *line, const char *want);

/* A handler that keeps the call in peer->held and counts its cancellation. */
int peer_hold(struct mcp_call *call, const void *args, struct error *err);

#define REQUEST(method, params)                                                                    \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define INITIALIZE(version) REQUEST("initialize", "{\"protocolVersion\":\"" version "\"}")
#define INITIALIZED         "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CANCEL(id)                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":" id \
	"}}"
#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define ERROR(code, text)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"" text "\"}}"
#define INVALID_PARAMS(text) ERROR("-32602", text)

/* The member _meta of a request of the stateless era. */
#define STATELESS_META                                                                             \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
/* The members that every result of the stateless era has. */
#define STATELESS_FIELDS                                                                            \
	"\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"test\",\"version\":\"1\"}}," \
	"\"resultType\":\"complete\""
