/* asks.h - the questions and answers of one call, as the files of src/mcp share them. */
#pragma once
#include "base/list.h"
#include "mcp/ask/ask.h"
#include "mcp/revision.h"

struct loop_timer;
struct mcp_session;
struct rpc_message;

/* The kinds of questions that a client answers, by the capabilities it has declared. */
enum client_ability {
	CLIENT_FORM = 1 << MCP_ASK_FORM,
	CLIENT_URL = 1 << MCP_ASK_URL,
	CLIENT_SAMPLING = 1 << MCP_ASK_SAMPLING,
	CLIENT_ROOTS = 1 << MCP_ASK_ROOTS,
	CLIENT_TASKS = 1 << MCP_QUESTION_COUNT, /* the extension of the stateless era */
};

/* Zeroed: nothing was asked. */
struct asks {
	json_t *given;     /* key -> value that the client has sent, not checked; or NULL */
	json_t *answers;   /* key -> checked answer; null: the client does not know the request */
	json_t *questions; /* key -> {method, params}: without an answer */
	unsigned kinds;    /* bits of enum client_ability that the questions need */
	unsigned round;    /* how often the client was asked */
	struct list requests;     /* struct ask_request: sent, without a response */
	struct loop_timer *timer; /* NULL: no request was sent yet */
};

/* question.c */
unsigned client_abilities(const json_t *capabilities, enum mcp_revision revision);
const char *question_method(enum mcp_question kind);
enum mcp_question question_kind(const json_t *question); /* of {method, params} */
/* Whether a client's value answers a question. `params` are those of the question. */
bool question_accepts(enum mcp_question kind, const json_t *params, const json_t *value);
/* The capabilities, as a client would declare them, for a set of enum client_ability. */
json_t *describe_abilities(unsigned abilities);

/* ask.c */
/* Reads inputResponses and requestState of the request. False: an error has been sent. */
bool asks_begin(struct mcp_call *call);
void asks_done(struct mcp_call *call);
/* Takes the answers of tasks/update. */
void asks_take_responses(struct mcp_call *call, const json_t *responses);
/* All answers are there: enters the handler again. */
void asks_resume(struct mcp_call *call);
/* Responds with -32021 in the stateless era: the client lacks these enum client_ability. */
void call_respond_unable(struct mcp_call *call, unsigned abilities);

/* ask_request.c: requests to the client of a session. */
/* Starts the time in which the questions must be answered, and stops it when the call is
 * cancelled. */
void ask_wait(struct mcp_call *call);
void ask_requests_send(struct mcp_call *call);
/* False if the message is not the response to one of the session's requests. */
bool ask_requests_receive(struct mcp_session *session, const struct rpc_message *rpc);
