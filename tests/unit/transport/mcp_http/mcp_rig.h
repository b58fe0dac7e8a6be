/* mcp_rig.h - MCP over HTTP on fake requests, with an MCP server whose tools the test controls.
 *
 *   quick   responds at once
 *   hold    is kept in rig.held; the test responds
 *   talk    sends a log message, then is kept in rig.held
 *   poll    closes its stream, then is kept in rig.held
 *   secret  needs the scope admin */
#pragma once
#include "loop/loop.h"
#include "mcp/mcp_server.h"
#include "transport/mcp_http/mcp_http.h"
#include "unit/test.h"
#include "unit/transport/mcp_http/fake_http.h"

enum { RIG_REQUESTS_MAX = 32 };

struct rig {
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_http *http;
	struct mcp_http_config config;
	struct mcp_call *held;
	bool cancelled;   /* the held call */
	const char *user; /* what authenticate() says; NULL: refused */
	unsigned scopes;
	uint64_t credential;
	struct http_request *requests[RIG_REQUESTS_MAX];
	size_t request_count;
	int stopped;
};

/* Fill rig->config's hosts, origins and limits between the two. */
void mcp_rig_init(struct rig *rig);
void mcp_rig_start(struct rig *rig);
void mcp_rig_done(struct rig *rig);

/* Makes, sends and keeps a request until mcp_rig_done(). */
struct http_request *mcp_rig_send(struct rig *rig, const char *body, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
/* POST /mcp with the usual fields; session: NULL for none. */
struct http_request *mcp_rig_post(struct rig *rig, const char *session, const char *body);
/* POST /mcp in the stateless era, of tools/call of this tool. */
struct http_request *mcp_rig_call_alone(struct rig *rig, const char *tool);
/* Starts a session of this revision and writes its id. */
void mcp_rig_initialize(struct rig *rig, const char *revision, char id[64]);
/* All three, with the usual configuration. */
void mcp_rig_begin(struct rig *rig, const char *revision, char id[64]);
/* Responds to the held call with a text. */
void mcp_rig_respond(struct rig *rig, const char *text);

#define CALL_TOOL(name)                                                                            \
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"" name     \
	"\"}}"

/* The request has this status, a JSON-RPC error with this code, and a message that has `part`. */
void check_http_error(struct http_request *request, int status, int code, const char *part);
