/* One owner's sandboxes do not exist for another, whichever tool, resource or completion is asked
 * and however well the id is guessed: the answer is the same as for an id nobody has. */
#include <ctype.h>

#include "tools/catalogue.h"
#include "tools/resources/internal.h"
#include "unit/mcp/talk.h"
#include "unit/sandbox/lifecycle.h"

static const char unknown[] = "sb_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/* A session of somebody on the same manager. */
struct guest {
	struct tools_context context;
	struct talk talk;
};

static size_t no_layers(void *ctx, const struct tools_layer **ret)
{
	(void)ctx;
	*ret = NULL;
	return 0;
}

static void admit(struct guest *guest, struct world *w, const char *owner)
{
	struct mcp_config config = { .name = "test",
		                     .version = "1",
		                     .tools = catalogue_tools,
		                     .resources = catalogue_resources,
		                     .templates = catalogue_templates,
		                     .prompts = catalogue_prompts,
		                     .limits = mcp_default_limits,
		                     .app = &guest->context };

	guest->context = (struct tools_context){ .version = "1",
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
	guest->talk = (struct talk){ .sink = { talk_on_send, talk_is_busy }, .loop = w->loop };
	guest->talk.sent = json_list();
	guest->talk.server = mcp_server_new(w->loop, &config);
	guest->talk.session = mcp_session_new(guest->talk.server, &guest->talk.sink);
}

static void dismiss(struct guest *guest)
{
	mcp_session_close(guest->talk.session);
	(void)mcp_server_free(guest->talk.server);
	json_decref(guest->talk.sent);
}

/* The answer as text, with the name that was asked for left out of it. The caller frees. */
static char *ask(struct guest *guest, struct world *w, const char *method, json_t *params,
                 const char *name)
{
	json_t *message = json_pack("{ss si ss so}", "jsonrpc", "2.0", "id", 1, "method", method,
	                            "params", params);
	char *line = json_dumps(message, JSON_COMPACT), *answer, *at;

	talk_say(&guest->talk, line);
	for (int i = 0; i < 10 && json_array_size(guest->talk.sent) == 0; i++)
		run_turns(w);
	answer = strdup(talk_next(&guest->talk));
	for (at = answer; (at = strstr(at, name)) != NULL; at++) /* as a word of its own */
		if (!isalnum((unsigned char)at[-1]) && !isalnum((unsigned char)at[strlen(name)]))
			memmove(at, at + strlen(name), strlen(at + strlen(name)) + 1);
	free(line);
	json_decref(message);
	return answer;
}

static char *call(struct guest *guest, struct world *w, const struct tool_example *example,
                  const char *sandbox)
{
	json_t *arguments = json_loads(example->arguments, 0, NULL);

	assert_non_null(arguments);
	assert_int_equal(json_object_set_new(arguments, "sandbox", json_string(sandbox)), 0);
	return ask(guest, w, "tools/call",
	           json_pack("{ss so}", "name", example->tool, "arguments", arguments), sandbox);
}

static bool takes_sandbox(const char *tool)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++)
		if (strcmp(catalogue_tools[i]->name, tool) == 0)
			return catalogue_tools[i]->params != NULL &&
			       param_find(catalogue_tools[i]->params, "sandbox") != NULL;
	return false;
}

static void no_tool_reaches_anothers_sandbox(void **state)
{
	struct world *w = *state;
	const char *const names[] = { sandbox_row(w->sandbox)->spec.id, "it" };
	struct guest guest;
	unsigned asked = 0;

	admit(&guest, w, "them");
	for (const struct tool_example *e = tool_examples; e->tool != NULL; e++) {
		if (!takes_sandbox(e->tool))
			continue;
		asked++;
		for (size_t i = 0; i < ARRAY_LEN(names); i++) {
			char *theirs = call(&guest, w, e, names[i]);
			char *nobodys = call(&guest, w, e, i == 0 ? unknown : "un");

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
	dismiss(&guest);
}

static void no_resource_does_either(void **state)
{
	struct world *w = *state;
	const char *const names[] = { sandbox_row(w->sandbox)->spec.id, "it" };
	struct guest guest;

	admit(&guest, w, "them");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char uri[80], other[80];
		const char *nobody = i == 0 ? unknown : "un";
		char *theirs, *nobodys;

		(void)snprintf(uri, sizeof uri, "sandbox://%s/workspace/x", names[i]);
		(void)snprintf(other, sizeof other, "sandbox://%s/workspace/x", nobody);
		theirs = ask(&guest, w, "resources/read", json_pack("{ss}", "uri", uri), names[i]);
		nobodys = ask(&guest, w, "resources/read", json_pack("{ss}", "uri", other), nobody);
		assert_string_equal(theirs, nobodys);
		assert_non_null(strstr(theirs, "\"error\""));
		free(theirs);
		free(nobodys);
	}
	dismiss(&guest);
}

static void lists_and_completions_have_ones_own_only(void **state)
{
	struct world *w = *state;
	const char *id = sandbox_row(w->sandbox)->spec.id;
	struct guest them, me;
	char *text;

	admit(&them, w, "them");
	admit(&me, w, "me");
	text = ask(&them, w, "tools/call", json_pack("{ss}", "name", "list_sandboxes"), "-");
	assert_non_null(strstr(text, "0 sandboxes"));
	assert_null(strstr(text, id));
	free(text);
	text = ask(&me, w, "tools/call", json_pack("{ss}", "name", "list_sandboxes"), "-");
	assert_non_null(strstr(text, "1 sandbox"));
	assert_non_null(strstr(text, id));
	free(text);
	text = ask(&them, w, "completion/complete",
	           json_pack("{s{ss ss} s{ss ss}}", "ref", "type", "ref/resource", "uri",
	                     "sandbox://{id}/{+path}", "argument", "name", "id", "value", ""),
	           "-");
	assert_non_null(strstr(text, "\"values\":[]"));
	free(text);
	dismiss(&them);
	dismiss(&me);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(no_tool_reaches_anothers_sandbox),
		IN_WORLD(no_resource_does_either),
		IN_WORLD(lists_and_completions_have_ones_own_only),
	};

	return RUN_TESTS("tools/owners", tests);
}
