/* ask.h - questions of a handler to the client: a form for its user, a page to open, a text of its
 * model, its roots.
 *
 * A handler asks for answers by key and waits for all of them at once:
 *
 *   mcp_ask(call, "confirm", MCP_ASK_FORM, mcp_form("Delete it?", properties));
 *   if (!mcp_await_answers(call))
 *           return 0;
 *   answer = mcp_answer(call, "confirm");
 *
 * If an answer is missing, mcp_await_answers() requests it and returns false. The call does not
 * belong to the handler then: it must return 0 without using the call. When the answers are there,
 * the handler is entered again from the beginning, with the same arguments; in the stateless era
 * with another call. So a handler asks before it changes anything.
 *
 * In a session of the handshake era the questions are requests to the client. In the stateless era
 * they are a result of type input_required, and the client calls again with the answers. Answers
 * of earlier rounds travel in requestState, which only this server process can make. Within a task
 * of that era they are inputRequests of tasks/get, answered by tasks/update. */
#pragma once
#include <stdbool.h>

#include "json/json.h"

struct mcp_call;

enum mcp_question {
	MCP_ASK_FORM,     /* elicitation/create: a form, see mcp_form() */
	MCP_ASK_URL,      /* elicitation/create: a page that the user opens, see mcp_page() */
	MCP_ASK_SAMPLING, /* sampling/createMessage */
	MCP_ASK_ROOTS,    /* roots/list */
	MCP_QUESTION_COUNT
};

/* Whether the client can be asked. A handler that only wants to ask where it helps, asks if so. */
bool mcp_can_ask(const struct mcp_call *call, enum mcp_question kind);

/* Asks for the answer `key`, unless it is there. Takes over params, which may be NULL for {}. */
void mcp_ask(struct mcp_call *call, const char *key, enum mcp_question kind, json_t *params);

/* True if every question of mcp_ask() has its answer. Otherwise the handler returns 0, see above. A
 * client that cannot be asked gets an error that names what it lacks. */
bool mcp_await_answers(struct mcp_call *call);

/* Like mcp_await_answers(), for questions that are all pages, and a handler that can tell by itself
 * whether the user has completed them: a client of 2025-11-25 gets the error -32042 with the pages,
 * opens them and calls again, so that no call waits for a person. Any other client is asked. */
bool mcp_require_pages(struct mcp_call *call);

/* The result that the client sent, checked: {"action": ...} of a form or a page, with "content" by
 * its schema if the action is "accept"; {"role", "content"} of sampling; {"roots": [...]}. NULL:
 * the client has declared the ability, but does not know the request. */
const json_t *mcp_answer(const struct mcp_call *call, const char *key);
/* True if the user has accepted the form or the page. */
bool mcp_answer_is_accepted(const struct mcp_call *call, const char *key);

/* The roots of a client of the stateless era, which has no handshake in which they could be sent:
 * asks for them and passes them to mcp_config.roots. Returns like mcp_await_answers(); true at once
 * if the client has no roots, or has sent them already. */
bool mcp_await_roots(struct mcp_call *call);

/* Parameters of questions. `properties`: the fields of the form, all of them required; taken
 * over. Without fields the user just accepts or declines. */
json_t *mcp_form(const char *message, json_t *properties);
json_t *mcp_page(const char *message, const char *url);
