/* Sandboxes of one owner do not exist for another owner. Every tool, resource and completion gives
 * the same answer for another owner's id as for an id that no sandbox has. */
#include <ctype.h>

#include "tools/catalogue.h"
#include "tools/resources/internal.h"
#include "unit/mcp/fake_client.h"
#include "unit/sandbox/lifecycle.h"

static const char unknown[] = "sb_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/* A session of one owner; all sessions share one manager. */
struct owner_session {
	struct tools_context context;
	struct peer peer;
};

static size_t no_layers(void *ctx, const struct tools_layer **ret)
{
	(void)ctx;
	*ret = NULL;
	return 0;
}

static void open_session(struct owner_session *session, struct world *w, const char *owner)
{
	struct mcp_config config = { .name = "test",
		                     .version = "1",
		                     .tools = catalogue_tools,
		                     .resources = catalogue_resources,
		                     .templates = catalogue_templates,
		                     .prompts = catalogue_prompts,
		                     .limits = mcp_default_limits,
		                     .app = &session->context };

	session->context = (struct tools_context){ .version = "1",
		                                   .profile = "default",
		                                   .manager = w->manager,
		                                   .engine = "fake",
		                                   .owner = owner,
		                                   .spec = spec_default(),
		                                   .layers = no_layers,
		                                   .answer_within_ms = 45000,
		                                   .timeout_s = 60,
		                                   .timeout_max_s = 600,
		                                   .max_output = 24000 };
	peer_join(&session->peer, mcp_server_new(w->loop, &config));
}

static void close_session(struct owner_session *session)
{
	peer_leave(&session->peer);
	(void)mcp_server_free(session->peer.server);
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
	struct owner_session session;
	unsigned asked = 0;

	open_session(&session, w, "them");
	for (const struct tool_example *e = tool_examples; e->tool != NULL; e++) {
		if (!takes_sandbox(e->tool))
			continue;
		asked++;
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			char *theirs = call_tool(&session, w, e, names[i]);
			char *nobodys = call_tool(&session, w, e, i == 0 ? unknown : "un");

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
	close_session(&session);
}

static void resources_do_not_reach_sandboxes_of_other_owners(void **state)
{
	struct world *w = *state;
	const char *const names[] = { sandbox_row(w->sandbox)->spec.id, "it" };
	struct owner_session session;

	open_session(&session, w, "them");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char uri[80], other[80];
		const char *nobody = i == 0 ? unknown : "un";
		char *theirs, *nobodys;

		(void)snprintf(uri, sizeof uri, "sandbox://%s/workspace/x", names[i]);
		(void)snprintf(other, sizeof other, "sandbox://%s/workspace/x", nobody);
		theirs = send_request(&session, w, "resources/read", json_pack("{ss}", "uri", uri),
		                      names[i]);
		nobodys = send_request(&session, w, "resources/read",
		                       json_pack("{ss}", "uri", other), nobody);
		assert_string_equal(theirs, nobodys);
		assert_non_null(strstr(theirs, "\"error\""));
		free(theirs);
		free(nobodys);
	}
	close_session(&session);
}

static void lists_and_completions_name_own_sandboxes_only(void **state)
{
	struct world *w = *state;
	const char *id = sandbox_row(w->sandbox)->spec.id;
	struct owner_session them, me;
	char *text;

	open_session(&them, w, "them");
	open_session(&me, w, "me");
	text = send_request(&them, w, "tools/call", json_pack("{ss}", "name", "list_sandboxes"),
	                    "-");
	assert_non_null(strstr(text, "0 sandboxes"));
	assert_null(strstr(text, id));
	free(text);
	text = send_request(&me, w, "tools/call", json_pack("{ss}", "name", "list_sandboxes"), "-");
	assert_non_null(strstr(text, "1 sandbox"));
	assert_non_null(strstr(text, id));
	free(text);
	text = send_request(&them, w, "completion/complete",
	                    json_pack("{s{ss ss} s{ss ss}}", "ref", "type", "ref/resource", "uri",
	                              "sandbox://{id}/{+path}", "argument", "name", "id", "value",
	                              ""),
	                    "-");
	assert_non_null(strstr(text, "\"values\":[]"));
	free(text);
	close_session(&them);
	close_session(&me);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(tools_do_not_reach_sandboxes_of_other_owners),
		IN_WORLD(resources_do_not_reach_sandboxes_of_other_owners),
		IN_WORLD(lists_and_completions_name_own_sandboxes_only),
	};

	return RUN_TESTS("tools/owners", tests);
}
