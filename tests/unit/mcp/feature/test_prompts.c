/* prompts/list, prompts/get and completion/complete. */
#include "unit/mcp/fake_client.h"

struct args {
	const char *language, *topic;
};

static void many_topics(void *app, const char *owner, const char *typed, json_t *values)
{
	(void)app;
	assert_non_null(typed);
	for (int i = 0; i < 150; i++)
		json_push(values, json_format("topic-%03d", i));
	json_push(values, json_str("other"));
}

static const char *const languages[] = { "python", "perl", "ruby", NULL };

static const struct param params[] = {
	{ .name = "language",
	  .type = PARAM_STRING,
	  .required = true,
	  .max = 10,
	  .values = languages,
	  .offset = offsetof(struct args, language),
	  .help = "Which." },
	{ .name = "topic",
	  .type = PARAM_STRING,
	  .max = 20,
	  .complete = many_topics,
	  .offset = offsetof(struct args, topic),
	  .help = "What." },
	{ 0 },
};

static const struct mcp_prompt teach;

static int get(struct mcp_call *call, const void *args, struct error *err)
{
	const struct args *a = args;
	json_t *messages = json_list();

	(void)err;
	assert_ptr_equal(mcp_call_record(call), &teach);
	json_push(messages, mcp_message("user", mcp_text("%s about %s", a->language,
	                                                 a->topic != NULL ? a->topic : "all")));
	mcp_respond_messages(call, "D", messages);
	return 0;
}

static const struct mcp_prompt teach = { .name = "teach",
	                                 .title = "Teach",
	                                 .help = "Teaches.",
	                                 .params = params,
	                                 .args_size = sizeof(struct args),
	                                 .get = get };
static const struct mcp_prompt *const prompts[] = { &teach, NULL };
static const struct mcp_template about = { .uri_template = "a://{language}",
	                                   .name = "about",
	                                   .params = params,
	                                   .args_size = sizeof(struct args),
	                                   .read = get };
static const struct mcp_template *const templates[] = { &about, NULL };

static void check(const char *line, const char *want)
{
	peer_check(&(struct mcp_config){ .prompts = prompts, .templates = templates }, line, want);
}

static void prompts_are_listed_with_their_arguments(void **state)
{
	check(REQUEST("prompts/list", "{}"),
	      RESULT("{\"prompts\":[{\"name\":\"teach\",\"description\":\"Teaches.\",\"arguments\":"
	             "["
	             "{\"name\":\"language\",\"description\":\"Which.\",\"required\":true},"
	             "{\"name\":\"topic\",\"description\":\"What.\",\"required\":false}]}]}"));
}

static void prompt_is_filled_with_arguments(void **state)
{
	check(REQUEST("prompts/get", "{\"name\":\"teach\",\"arguments\":{\"language\":\"perl\"}}"),
	      RESULT("{\"description\":\"D\",\"messages\":[{\"role\":\"user\",\"content\":{"
	             "\"type\":\"text\","
	             "\"text\":\"perl about all\"}}]}"));
}

static void invalid_prompt_requests_are_errors(void **state)
{
	check(REQUEST("prompts/get", "{}"),
	      INVALID_PARAMS("unknown prompt ''; prompts/list returns all names"));
	check(REQUEST("prompts/get", "{\"name\":\"teahc\"}"),
	      INVALID_PARAMS("unknown prompt 'teahc'; prompts/list returns all names"));
	check(REQUEST("prompts/get", "{\"name\":\"teach\"}"),
	      INVALID_PARAMS(
	              "argument 'language' is missing: expected a string of at most 10 bytes"));
	check(REQUEST("prompts/get", "{\"name\":\"teach\",\"arguments\":[]}"),
	      INVALID_PARAMS("'arguments' must be an object"));
	check(REQUEST("prompts/get", "{\"name\":\"teach\",\"arguments\":{\"language\":5}}"),
	      INVALID_PARAMS(
	              "argument 'language': expected a string of at most 10 bytes, got the number "
	              "5"));
}

#define COMPLETE(ref, name, value)                                                                 \
	REQUEST("completion/complete",                                                             \
	        "{\"ref\":" ref ",\"argument\":{\"name\":\"" name "\",\"value\":" value "}}")
#define PROMPT   "{\"type\":\"ref/prompt\",\"name\":\"teach\"}"
#define TEMPLATE "{\"type\":\"ref/resource\",\"uri\":\"a://{language}\"}"

static void completion_finds_values_by_prefix(void **state)
{
	check(COMPLETE(PROMPT, "language", "\"p\""),
	      RESULT("{\"completion\":{\"values\":[\"python\",\"perl\"],\"total\":2,\"hasMore\":"
	             "false}}"));
	check(COMPLETE(TEMPLATE, "language", "\"\""),
	      RESULT("{\"completion\":{\"values\":[\"python\",\"perl\",\"ruby\"],\"total\":3,"
	             "\"hasMore\":false}}"));
	check(COMPLETE(PROMPT, "language", "\"P\""),
	      RESULT("{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}}"));
}

static void completion_returns_at_most_a_hundred_values(void **state)
{
	struct mcp_config config = { .prompts = prompts };
	const json_t *completion;
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, COMPLETE(PROMPT, "topic", "\"topic\""));
	completion = json_object_get(json_object_get(json_array_get(peer.sent, 0), "result"),
	                             "completion");
	assert_int_equal(json_array_size(json_object_get(completion, "values")), 100);
	assert_int_equal(json_integer_value(json_object_get(completion, "total")), 150);
	assert_true(json_is_true(json_object_get(completion, "hasMore")));
	peer_close(&peer);
}

static void completion_of_unknown_references_and_arguments_is_an_error(void **state)
{
	static const char *const refs[] = { "5", "{}", "{\"type\":\"ref/prompt\",\"name\":\"x\"}",
		                            "{\"type\":\"ref/resource\",\"uri\":\"a://b\"}",
		                            "{\"type\":\"ref/else\",\"name\":\"teach\"}" };

	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		char line[300];

		(void)snprintf(line, sizeof line, COMPLETE("%s", "language", "\"\""), refs[i]);
		check(line,
		      INVALID_PARAMS(
		              "'ref' names no prompt and no resource template of this server"));
	}
	check(COMPLETE(PROMPT, "nothing", "\"\""),
	      INVALID_PARAMS("'argument' must hold the name of an argument and a string 'value'"));
	check(COMPLETE(PROMPT, "language", "5"),
	      INVALID_PARAMS("'argument' must hold the name of an argument and a string 'value'"));
	check(REQUEST("completion/complete", "{\"ref\":" PROMPT "}"),
	      INVALID_PARAMS("'argument' must hold the name of an argument and a string 'value'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(prompts_are_listed_with_their_arguments),
		TEST(prompt_is_filled_with_arguments),
		TEST(invalid_prompt_requests_are_errors),
		TEST(completion_finds_values_by_prefix),
		TEST(completion_returns_at_most_a_hundred_values),
		TEST(completion_of_unknown_references_and_arguments_is_an_error),
	};

	return RUN_TESTS("mcp/prompts", tests);
}
