/* Sandboxes of one owner do not exist for another owner, whose session belongs to the same server.
 * Every tool, resource and completion gives the same answer for another owner's id as for an id that
 * no sandbox has, and no notification is about another owner's files. */
#include <ctype.h>

#include "tools/catalogue.h"
#include "tools/resources/internal.h"
#include "unit/mcp/fake_client.h"
#include "unit/sandbox/lifecycle.h"

static const char unknown[] = "sb_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/* A server with one context, and two sessions of different owners. */
struct owner_session {
	struct peer peer;
};

struct shared_server {
	struct tools_context context;
	struct mcp_server *server;
	struct owner_session me, them;
};

static size_t no_layers(void *ctx, const struct tools_layer **ret)
{
	(void)ctx;
	*ret = NULL;
	return 0;
}

static void notify_changed(void *ctx, const char *owner, const char *uri)
{
	const struct shared_server *shared = ctx;

	mcp_server_resource_updated(shared->server, owner, uri);
}

static void open_server(struct shared_server *shared, struct world *w)
{
	const struct mcp_config config = { .name = "test",
		                           .version = "1",
		                           .tools = catalogue_tools,
		                           .resources = catalogue_resources,
		                           .templates = catalogue_templates,
		                           .prompts = catalogue_prompts,
		                           .resources_change = true,
		                           .limits = mcp_default_limits,
		                           .app = &shared->context };

	shared->context = (struct tools_context){ .version = "1",
		                                  .profile = "default",
		                                  .manager = w->manager,
		                                  .engine = "fake",
		                                  .spec = spec_default(),
		                                  .layers = no_layers,
		                                  .ctx = shared,
		                                  .resource_changed = notify_changed,
		                                  .answer_within_ms = 45000,
		                                  .timeout_s = 60,
		                                  .timeout_max_s = 600,
		                                  .max_output = 24000 };
	shared->server = mcp_server_new(w->loop, &config);
	peer_join_as(&shared->me.peer, shared->server, "me");
	peer_join_as(&shared->them.peer, shared->server, "them");
}

static void close_server(struct shared_server *shared)
{
	peer_leave(&shared->me.peer);
	peer_leave(&shared->them.peer);
	(void)mcp_server_free(shared->server);
}

/* Sends a request. Returns the response as text without the sandbox's name in it, so that responses
 * for two names can be compared. The caller frees. */
static char *send_request(struct owner_session *session, struct world *w, const char *method,
                          json_t *params, const char *name)
{
	json_t *message = json_pack("{ss si ss so}", "jsonrpc", "2.0", "id", 1, "method", method,
	                            "params", params);
	char *line = json_dumps(message, JSON_COMPACT), *answer, *at;

	peer_send(&session->peer, line);
	for (int i = 0; i < 10 && json_array_size(session->peer.sent) == 0; i++)
		run_turns(w);
	answer = strdup(peer_next(&session->peer));
	for (at = answer; (at = strstr(at, name)) != NULL; at++) /* only whole words */
		if (!isalnum((unsigned char)at[-1]) && !isalnum((unsigned char)at[strlen(name)]))
			memmove(at, at + strlen(name), strlen(at + strlen(name)) + 1);
	free(line);
	json_decref(message);
	return answer;
}

static char *call_tool(struct owner_session *session, struct world *w,
                       const struct tool_example *example, const char *sandbox)
{
	json_t *arguments = json_loads(example->arguments, 0, NULL);

	assert_non_null(arguments);
	assert_int_equal(json_object_set_new(arguments, "sandbox", json_string(sandbox)), 0);
	return send_request(session, w, "tools/call",
	                    json_pack("{ss so}", "name", example->tool, "arguments", arguments),
	                    sandbox);
}

static bool takes_sandbox(const char *tool)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++)
		if (strcmp(catalogue_tools[i]->name, tool) == 0)
			return catalogue_tools[i]->params != NULL &&
			       param_find(catalogue_tools[i]->params, "sandbox") != NULL;
	return false;
}

static void tools_do_not_reach_sandboxes_of_other_owners(void **state)
{
	struct world *w = *state;
	const char *const names[] = { sandbox_row(w->sandbox)->spec.id, "it" };
	struct shared_server shared;
	unsigned asked = 0;

	open_server(&shared, w);
	for (const struct tool_example *e = tool_examples; e->tool != NULL; e++) {
		if (!takes_sandbox(e->tool))
			continue;
		asked++;
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			char *theirs = call_tool(&shared.them, w, e, names[i]);
			char *nobodys = call_tool(&shared.them, w, e, i == 0 ? unknown : "un");

			assert_string_equal(theirs, nobodys);
			assert_non_null(strstr(theirs, "\"isError\":true"));
			free(theirs);
			free(nobodys);
		}
	}
	assert_true(asked >= 20);
	assert_int_equal(w->fake.makes, 1); /* the one of "me" */
	assert_int_equal(w->fake.box.kills, 0);
	assert_int_equal(w->fake.erases, 0);
	close_server(&shared);
}

static void resources_do_not_reach_sandboxes_of_other_owners(void **state)
{
	struct world *w = *state;
	const char *const names[] = { sandbox_row(w->sandbox)->spec.id, "it" };
	struct shared_server shared;

	open_server(&shared, w);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char uri[80], other[80];
		const char *nobody = i == 0 ? unknown : "un";
		char *theirs, *nobodys;

		(void)snprintf(uri, sizeof uri, "sandbox://%s/workspace/x", names[i]);
		(void)snprintf(other, sizeof other, "sandbox://%s/workspace/x", nobody);
		theirs = send_request(&shared.them, w, "resources/read",
		                      json_pack("{ss}", "uri", uri), names[i]);
		nobodys = send_request(&shared.them, w, "resources/read",
		                       json_pack("{ss}", "uri", other), nobody);
		assert_string_equal(theirs, nobodys);
		assert_non_null(strstr(theirs, "\"error\""));
		free(theirs);
		free(nobodys);
	}
	close_server(&shared);
}

static void lists_and_completions_name_own_sandboxes_only(void **state)
{
	struct world *w = *state;
	const char *id = sandbox_row(w->sandbox)->spec.id;
	struct shared_server shared;
	char *text;

	open_server(&shared, w);
	text = send_request(&shared.them, w, "tools/call",
	                    json_pack("{ss}", "name", "list_sandboxes"), "-");
	assert_non_null(strstr(text, "0 sandboxes"));
	assert_null(strstr(text, id));
	free(text);
	text = send_request(&shared.me, w, "tools/call",
	                    json_pack("{ss}", "name", "list_sandboxes"), "-");
	assert_non_null(strstr(text, "1 sandbox"));
	assert_non_null(strstr(text, id));
	free(text);
	text = send_request(&shared.them, w, "completion/complete",
	                    json_pack("{s{ss ss} s{ss ss}}", "ref", "type", "ref/resource", "uri",
	                              "sandbox://{id}/{+path}", "argument", "name", "id", "value",
	                              ""),
	                    "-");
	assert_non_null(strstr(text, "\"values\":[]"));
	free(text);
	close_server(&shared);
}

/* Both owners have subscribed to the same URI, as both may have a sandbox of the same name. */
static void notifications_are_for_the_owner_of_the_resource(void **state)
{
	static const char subscribe[] =
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\",\"params\":{"
	        "\"uri\":\"sandbox://it/workspace/\"}}";
	static const char updated[] =
	        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
	        "\"uri\":\"sandbox://it/workspace/x\"}}";
	struct world *w = *state;
	struct shared_server shared;

	open_server(&shared, w);
	peer_send(&shared.me.peer, subscribe);
	peer_send(&shared.them.peer, subscribe);
	(void)peer_next(&shared.me.peer);
	(void)peer_next(&shared.them.peer);
	notify_changed(&shared, sandbox_row(w->sandbox)->owner, "sandbox://it/workspace/x");
	CHECK_NEXT(&shared.me.peer, updated);
	CHECK_NOTHING_SENT(&shared.me.peer);
	CHECK_NOTHING_SENT(&shared.them.peer);
	close_server(&shared);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(tools_do_not_reach_sandboxes_of_other_owners),
		IN_WORLD(resources_do_not_reach_sandboxes_of_other_owners),
		IN_WORLD(lists_and_completions_name_own_sandboxes_only),
		IN_WORLD(notifications_are_for_the_owner_of_the_resource),
	};

	return RUN_TESTS("tools/owners", tests);
}
