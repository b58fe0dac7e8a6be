#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/text/utf8.h"
#include "cli/client/client.h"
#include "cli/client/client_show.h"
#include "cli/client/client_tour.h"
#include "cli/support/attachment.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/options.h"

enum { ARGUMENTS_MAX = 10 * 1024 * 1024 };

static int print_list(struct client *client, const char *method, const char *key, const char *name,
                      struct error *err)
{
	AUTO_JSON json_t *entries = NULL;

	if (client_link_list(&client->link, method, key, &entries, err) < 0)
		return -1;
	if (client->as_json)
		show_json(entries);
	else
		show_list(entries, name);
	return 0;
}

static int list_tools(struct client *client, struct error *err)
{
	return print_list(client, "tools/list", "tools", "name", err);
}

static int list_prompts(struct client *client, struct error *err)
{
	return print_list(client, "prompts/list", "prompts", "name", err);
}

static int list_resources(struct client *client, struct error *err)
{
	if (print_list(client, "resources/list", "resources", "uri", err) < 0)
		return -1;
	if (client->as_json)
		return 0;
	return print_list(client, "resources/templates/list", "resourceTemplates", "uriTemplate",
	                  err);
}

static int request_result(struct client *client, const char *method, json_t *params, json_t **ret,
                          struct error *err)
{
	if (client_link_request(&client->link, method, params, ret, err) < 0)
		return -1;
	if (client->as_json)
		show_json(*ret);
	return 0;
}

static json_t *named_params(struct client *client)
{
	json_t *params = json_obj();

	json_set_text(params, "name", client->words[1]);
	json_set(params, "arguments", json_incref(client->arguments));
	return params;
}

static int call_tool(struct client *client, struct error *err)
{
	AUTO_JSON json_t *result = NULL;

	if (request_result(client, "tools/call", named_params(client), &result, err) < 0)
		return -1;
	if (!client->as_json)
		show_content(json_object_get(result, "content"), 0, 0);
	client->failed = json_is_true(json_object_get(result, "isError"));
	return 0;
}

static int get_prompt(struct client *client, struct error *err)
{
	AUTO_JSON json_t *result = NULL;
	const json_t *messages;

	if (request_result(client, "prompts/get", named_params(client), &result, err) < 0)
		return -1;
	messages = json_object_get(result, "messages");
	for (size_t i = 0; !client->as_json && i < json_array_size(messages); i++)
		show_block(json_object_get(json_array_get(messages, i), "content"), 0, 0);
	return 0;
}

static int read_resource(struct client *client, struct error *err)
{
	AUTO_JSON json_t *result = NULL;
	const json_t *contents;

	if (request_result(client, "resources/read", json_pair("uri", json_str(client->words[1])),
	                   &result, err) < 0)
		return -1;
	contents = json_object_get(result, "contents");
	for (size_t i = 0; !client->as_json && i < json_array_size(contents); i++) {
		AUTO_JSON json_t *block = json_obj();

		json_set_text(block, "type", "resource");
		json_set(block, "resource", json_incref(json_array_get(contents, i)));
		show_block(block, 0, 0);
	}
	return 0;
}

static int take_tour(struct client *client, struct error *err)
{
	return tour_run(&client->link, &client->failed, err);
}

const struct client_action client_actions[] = {
	{ "tools", "List the tools.", NULL, false, list_tools },
	{ "call", "Call a tool.", "TOOL", true, call_tool },
	{ "prompts", "List the prompts.", NULL, false, list_prompts },
	{ "prompt", "Get a prompt.", "NAME", true, get_prompt },
	{ "resources", "List the resources.", NULL, false, list_resources },
	{ "read", "Read a resource.", "URI", false, read_resource },
	{ "tour", "Call the main tools one after the other.", NULL, false, take_tour },
	{ NULL, NULL, NULL, false, NULL },
};

const struct client_action *client_find_action(const char *name)
{
	for (size_t i = 0; client_actions[i].name != NULL; i++)
		if (strcmp(client_actions[i].name, name) == 0)
			return &client_actions[i];
	return NULL;
}

/* Not in the list above: the loop cannot be started from within. */
static const struct client_action shell_action = { "shell", NULL, NULL, false, client_shell };

static const char *action_name_at(size_t i)
{
	const size_t count = ARRAY_LEN(client_actions) - 1;

	return i < count ? client_actions[i].name : i == count ? shell_action.name : NULL;
}

static int read_arguments(struct client *client, struct error *err)
{
	static const struct json_limits limits = { .depth = 64, .values = 200000 };
	const char *said = client->words[2] != NULL ? client->words[2] : "{}";
	AUTO_BUF struct buf buf;
	struct view text = view_of(said);

	buf_init(&buf, ARGUMENTS_MAX);
	if (strcmp(said, "-") == 0) {
		if (fd_read_all(STDIN_FILENO, &buf, err) < 0)
			return error_wrap(err, "arguments");
		text = buf_view(&buf);
	}
	if (json_read(text, &limits, &client->arguments, NULL, err) < 0)
		return error_wrap(err, "arguments");
	if (!json_is_object(client->arguments))
		return error_set(err, ERR_INVALID,
		                 "arguments: expected an object, such as '{\"seconds\": 1}'");
	return 0;
}

/* The first word that starts with a hyphen, and all after it, are flags for the server. */
static int take_words(struct client *client, const char *const *operands, struct error *err)
{
	size_t count = 0;

	for (; *operands != NULL && ((*operands)[0] != '-' || (*operands)[1] == '\0'); operands++) {
		if (count == CLIENT_WORDS_MAX)
			return error_set(err, ERR_INVALID, "client: unexpected argument '%s'",
			                 UTF8_ESCAPED(view_of(*operands), 80));
		client->words[count++] = *operands;
	}
	client->flags = operands;
	if (client->url != NULL && operands[0] != NULL)
		return error_set(
		        err, ERR_INVALID,
		        "client: '%s' is a flag for a server that the client starts; leave "
		        "it out with --http",
		        UTF8_ESCAPED(view_of(operands[0]), 80));
	return client->url != NULL || client->token_env == NULL
	               ? 0
	               : error_set(err, ERR_INVALID, "client: --token-env needs --http");
}

static int choose_action(struct client *client, const struct client_action **ret, struct error *err)
{
	const struct client_action *action = NULL;

	if (client->words[0] != NULL)
		action = strcmp(client->words[0], shell_action.name) == 0
		                 ? &shell_action
		                 : client_find_action(client->words[0]);
	*ret = action;
	if (action == NULL)
		return client->as_json ? error_set(err, ERR_INVALID,
		                                   "client: --json is for an action, such as call")
		                       : 0;
	if (action->operand != NULL && client->words[1] == NULL)
		return error_set(err, ERR_INVALID, "client %s: the %s is missing", action->name,
		                 action->operand);
	for (size_t i = action->operand == NULL ? 1
	                : action->takes_json    ? 3
	                                        : 2;
	     i < CLIENT_WORDS_MAX; i++)
		if (client->words[i] != NULL)
			return error_set(err, ERR_INVALID, "client %s: unexpected argument '%s'",
			                 action->name, UTF8_ESCAPED(view_of(client->words[i]), 80));
	return action->takes_json ? read_arguments(client, err) : 0;
}

static int run_tour(struct client *client, const json_t *server, struct error *err)
{
	const json_t *info = json_object_get(server, "serverInfo");
	const char *title = json_text(info, "title"), *version = json_text(info, "version");

	out("%s a server, as an MCP client does: %s",
	    client->url != NULL ? "Connected to" : "Started",
	    UTF8_ESCAPED(view_of(title != NULL ? title : "?"), 80));
	out(" %s. Each line with > is a tool call; its result follows.\n\n",
	    UTF8_ESCAPED(view_of(version != NULL ? version : "?"), 80));
	return tour_run(&client->link, &client->failed, err);
}

static int run_action(struct client *client, const struct client_action *action, struct error *err)
{
	AUTO_JSON json_t *server = NULL;

	if (client->url != NULL ? client_link_open_url(&client->link, client->url,
	                                               client->token_env, &server, err) < 0
	                        : client_link_open(&client->link, client->flags, &server, err) < 0)
		return -1;
	client->link.with_progress = isatty(STDERR_FILENO) == 1;
	if (action == NULL && isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1)
		action = &shell_action;
	return action != NULL ? action->act(client, err) : run_tour(client, server, err);
}

static enum verb_result run_client(const struct verb_call *call, struct error *err)
{
	struct client client = { .as_json = call->options->json,
		                 .url = call->options->url,
		                 .token_env = call->options->token_env };
	const struct client_action *action;
	int r;

	if (take_words(&client, call->operands, err) < 0 ||
	    choose_action(&client, &action, err) < 0) {
		json_decref(client.arguments);
		return VERB_MISUSED;
	}
	r = run_action(&client, action, err);
	client_link_close(&client.link);
	json_decref(client.arguments);
	if (r < 0 && client.link.is_cancelled) {
		*call->status = STATUS_SIGNAL + SIGINT;
		return VERB_DONE;
	}
	*call->status = client.failed ? 1 : 0;
	return r < 0 ? VERB_FAILED : VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "belljar client", "Type calls, with completion and history." },
	{ "belljar client tour", "Take a tour of the tools." },
	{ "belljar client tools", "List the tools." },
	{ "belljar client call run_code '{\"language\": \"python\", \"code\": \"print(1)\"}'",
	  "Call a tool and print its result." },
	{ "belljar client call --json run_command - <arguments.json",
	  "Read the arguments from standard input and print the whole result as JSON." },
	{ "belljar client read belljar://tools/run_code", "Print the manual of a tool." },
	{ "belljar client -- --profile code-executor", "Use the tools of a profile." },
	{ "belljar client --http https://box.example/mcp --token-env BJ_TOKEN",
	  "Use a server that runs already, with the token in BJ_TOKEN." },
	{ NULL, NULL },
};

const struct verb verb_client = {
	.name = "client",
	.operand = "ACTION",
	.operand_rest = "[ARG...]",
	.operand_choice = action_name_at,
	.summary = "Call tools from the command line, as an MCP client does.",
	.help = "Starts a server ('belljar serve', with the flags after --), performs one action, "
	        "and stops the server. With --http it uses a server that runs already, over "
	        "Streamable HTTP; SSL_CERT_FILE may name a file of certificates to trust in place "
	        "of the system's.\n\n"
	        "Without an ACTION on a terminal, and with 'shell', it reads one command per line "
	        "until Ctrl-D: a tool with its arguments as words (write_file path=a content='b') "
	        "or as JSON, or an ACTION; 'help' lists all. Tab completes names, and the arrow "
	        "keys show earlier lines. 'tour', or no ACTION without a terminal, takes a tour of "
	        "the tools: it creates a sandbox, uses it, deletes it, and prints each call and "
	        "its result.\n\n"
	        "'tools', 'prompts' and 'resources' print a list. 'call TOOL JSON' calls a tool "
	        "with these arguments, 'prompt NAME JSON' gets a prompt; JSON may be left out, and "
	        "- reads it from standard input. 'read URI' reads a resource. Text is printed as "
	        "it is, pictures as a line with their size; --json prints the whole result.\n\n"
	        "The exit status is 1 if the result of a tool is an error. The first Ctrl-C "
	        "cancels the call; the second one also stops waiting for the server to exit.",
	.examples = examples,
	.options = FOR_CLIENT,
	.run = run_client,
};
