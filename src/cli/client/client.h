/* client.h - what the files of `belljar client` share: the connection and the actions. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "cli/client/client_link.h"
#include "json/json.h"

struct error;

enum { CLIENT_WORDS_MAX = 3 };

struct client {
	const char *words[CLIENT_WORDS_MAX]; /* the action and its operands, then NULL */
	const char *const *flags;            /* flags for the server */
	const char *url, *token_env;         /* of a server that runs already; or NULL */
	bool as_json;
	json_t *arguments; /* of the tool or prompt */
	struct link link;
	bool failed; /* the result of a tool was an error */
};

typedef int client_action_fn(struct client *client, struct error *err);

struct client_action {
	const char *name, *help; /* the help is for the interactive loop */
	const char *operand;     /* NULL: the action takes none */
	bool takes_json;         /* arguments may follow the operand */
	client_action_fn *act;
};
/* A NULL name ends the list. */
extern const struct client_action client_actions[];
const struct client_action *client_find_action(const char *name);

/* Reads commands from standard input until its end or `quit`: on a terminal with a prompt, history
 * and completion. */
MUST_CHECK int client_shell(struct client *client, struct error *err);
