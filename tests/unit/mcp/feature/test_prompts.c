/* Prompts, and the completion of their arguments and of templates' variables. */
#include "unit/mcp/talk.h"

#define ASK(method, params)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(result) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define ERROR(text)                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"" text "\"}}"

struct args {
	const char *language, *topic;
};

static void many_topics(void *app, const char *typed, json_t *values)
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
	struct mcp_config config = { .prompts = prompts, .templates = templates };
	struct talk talk;

	talk_begin(&talk, &config);
	talk_say(&talk, line);
	CHECK_NEXT(&talk, want);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void lists_prompts_with_their_arguments(void **state)
{
	(void)state;
	check(ASK("prompts/list", "{}"),
	      RESULT("{\"prompts\":[{\"name\":\"teach\",\"description\":\"Teaches.\",\"arguments\":"
	             "["
	             "{\"name\":\"language\",\"description\":\"Which.\",\"required\":true},"
	             "{\"name\":\"topic\",\"description\":\"What.\",\"required\":false}]}]}"));
}

static void fills_a_prompt(void **state)
{
	(void)state;
	check(ASK("prompts/get", "{\"name\":\"teach\",\"arguments\":{\"language\":\"perl\"}}"),
	      RESULT("{\"description\":\"D\",\"messages\":[{\"role\":\"user\",\"content\":{"
	             "\"type\":\"text\","
	             "\"text\":\"perl about all\"}}]}"));
}

static void refuses_bad_prompts_with_an_error(void **state)
{
	(void)state;
	check(ASK("prompts/get", "{}"), ERROR("unknown prompt ''; prompts/list returns all names"));
	check(ASK("prompts/get", "{\"name\":\"teahc\"}"),
	      ERROR("unknown prompt 'teahc'; prompts/list returns all names"));
	check(ASK("prompts/get", "{\"name\":\"teach\"}"),
	      ERROR("argument 'language' is missing: expected a string of at most 10 bytes"));
	check(ASK("prompts/get", "{\"name\":\"teach\",\"arguments\":[]}"),
	      ERROR("'arguments' must be an object"));
	check(ASK("prompts/get", "{\"name\":\"teach\",\"arguments\":{\"language\":5}}"),
	      ERROR("argument 'language': expected a string of at most 10 bytes, got the number "
	            "5"));
}

#define COMPLETE(ref, name, value)                                                                 \
	ASK("completion/complete",                                                                 \
	    "{\"ref\":" ref ",\"argument\":{\"name\":\"" name "\",\"value\":" value "}}")
#define PROMPT   "{\"type\":\"ref/prompt\",\"name\":\"teach\"}"
#define TEMPLATE "{\"type\":\"ref/resource\",\"uri\":\"a://{language}\"}"

static void completes_from_a_table_by_prefix(void **state)
{
	(void)state;
	check(COMPLETE(PROMPT, "language", "\"p\""),
	      RESULT("{\"completion\":{\"values\":[\"python\",\"perl\"],\"total\":2,\"hasMore\":"
	             "false}}"));
	check(COMPLETE(TEMPLATE, "language", "\"\""),
	      RESULT("{\"completion\":{\"values\":[\"python\",\"perl\",\"ruby\"],\"total\":3,"
	             "\"hasMore\":false}}"));
	check(COMPLETE(PROMPT, "language", "\"P\""),
	      RESULT("{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}}"));
}

static void completes_no_more_than_a_hundred(void **state)
{
	struct mcp_config config = { .prompts = prompts };
	const json_t *completion;
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, COMPLETE(PROMPT, "topic", "\"topic\""));
	completion = json_object_get(json_object_get(json_array_get(talk.sent, 0), "result"),
	                             "completion");
	assert_int_equal(json_array_size(json_object_get(completion, "values")), 100);
	assert_int_equal(json_integer_value(json_object_get(completion, "total")), 150);
	assert_true(json_is_true(json_object_get(completion, "hasMore")));
	talk_end(&talk);
}

static void refuses_to_complete_what_there_is_not(void **state)
{
	static const char *const refs[] = { "5", "{}", "{\"type\":\"ref/prompt\",\"name\":\"x\"}",
		                            "{\"type\":\"ref/resource\",\"uri\":\"a://b\"}",
		                            "{\"type\":\"ref/else\",\"name\":\"teach\"}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(refs); i++) {
		char line[300];

		(void)snprintf(line, sizeof line, COMPLETE("%s", "language", "\"\""), refs[i]);
		check(line, ERROR("'ref' names no prompt and no resource template of this server"));
	}
	check(COMPLETE(PROMPT, "nothing", "\"\""),
	      ERROR("'argument' must hold the name of an argument and a string 'value'"));
	check(COMPLETE(PROMPT, "language", "5"),
	      ERROR("'argument' must hold the name of an argument and a string 'value'"));
	check(ASK("completion/complete", "{\"ref\":" PROMPT "}"),
	      ERROR("'argument' must hold the name of an argument and a string 'value'"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lists_prompts_with_their_arguments),
		TEST(fills_a_prompt),
		TEST(refuses_bad_prompts_with_an_error),
		TEST(completes_from_a_table_by_prefix),
		TEST(completes_no_more_than_a_hundred),
		TEST(refuses_to_complete_what_there_is_not),
	};

	return RUN_TESTS("mcp/prompts", tests);
}
