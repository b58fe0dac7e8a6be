/* Resources: listed, read, not found, and told about when they change. */
#include "mcp/call.h"
#include "unit/mcp/talk.h"

#define ASK(method, params)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define READ(uri) ASK("resources/read", "{\"uri\":\"" uri "\"}")
#define CLAIM                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                   \
	"\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define READ_CLAIMED(uri) ASK("resources/read", "{\"uri\":\"" uri "\"," CLAIM "}")
#define RESULT(result)    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" result "}"
#define ERROR(code, text)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"" text "\"}}"
#define MISSING(code, text, uri)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"" text           \
	"\",\"data\":{\"uri\":\"" uri "\"}}}"
#define STAMP                                                                                      \
	"\"_meta\":{\"io.modelcontextprotocol/"                                                    \
	"serverInfo\":{\"name\":\"test\",\"version\":\"1\"}},"                                     \
	"\"resultType\":\"complete\""
#define UPDATED(uri)                                                                               \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/"                               \
	"updated\",\"params\":{\"uri\":\"" uri "\"}}"

struct args {
	const char *user, *path;
};

static int read_text(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	mcp_respond_text(call, "text/plain", VIEW("a\0b\n"));
	return 0;
}

static const struct mcp_resource blob;
static const struct mcp_template files;

static int read_blob(struct mcp_call *call, const void *args, struct error *err)
{
	(void)args, (void)err;
	assert_ptr_equal(mcp_call_record(call), &blob);
	mcp_respond_blob(call, NULL, VIEW("\xff\0\xfe\x01"));
	return 0;
}

static int read_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct args *a = args;
	char text[100];

	(void)err;
	assert_ptr_equal(mcp_call_record(call), &files);
	(void)snprintf(text, sizeof text, "%s|%s", a->user, a->path);
	mcp_respond_text(call, NULL, view_of(text));
	return 0;
}

static int break_down(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_SYSTEM, "the disk is gone");
}

static int lose(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_NOT_FOUND, "it was here yesterday");
}

static int refuse(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_INVALID, "not like this");
}

static int hold(struct mcp_call *call, const void *args, struct error *err)
{
	struct talk *talk = mcp_call_app(call);

	(void)args, (void)err;
	talk->held = call;
	return 0;
}

static const struct param params[] = {
	{ .name = "user",
	  .type = PARAM_STRING,
	  .max = 10,
	  .offset = offsetof(struct args, user),
	  .help = "Whose." },
	{ .name = "path",
	  .type = PARAM_STRING,
	  .max = 20,
	  .offset = offsetof(struct args, path),
	  .help = "Where." },
	{ 0 },
};
static const struct mcp_icon icon = { .src = "data:,x" };
static const struct mcp_resource text = { .uri = "r://text",
	                                  .name = "text",
	                                  .title = "Text",
	                                  .help = "Some text.",
	                                  .mime_type = "text/plain",
	                                  .icon = &icon,
	                                  .read = read_text };
static const struct mcp_resource blob = { .uri = "f://u/blob", .name = "blob", .read = read_blob };
static const struct mcp_resource broken = { .uri = "r://broken", .name = "b", .read = break_down };
static const struct mcp_resource lost = { .uri = "r://lost", .name = "l", .read = lose };
static const struct mcp_resource refused = { .uri = "r://no", .name = "n", .read = refuse };
static const struct mcp_resource slow = { .uri = "r://slow", .name = "s", .read = hold };
static const struct mcp_resource *const two[] = { &text, &blob, NULL };
static const struct mcp_resource *const all[] = { &text,    &blob, &broken, &lost,
	                                          &refused, &slow, NULL };
static const struct mcp_template files = { .uri_template = "f://{user}/{+path}",
	                                   .name = "files",
	                                   .title = "Files",
	                                   .help = "All files.",
	                                   .mime_type = "text/plain",
	                                   .icon = &icon,
	                                   .params = params,
	                                   .args_size = sizeof(struct args),
	                                   .read = read_file };
static const struct mcp_template fallen = { .uri_template = "g://{user}",
	                                    .name = "fallen",
	                                    .params = params,
	                                    .args_size = sizeof(struct args),
	                                    .read = lose };
static const struct mcp_template *const templates[] = { &files, &fallen, NULL };

static void check(const char *line, const char *want)
{
	struct mcp_config config = { .resources = all, .templates = templates };
	struct talk talk;

	talk_begin(&talk, &config);
	talk_say(&talk, line);
	CHECK_NEXT(&talk, want);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void resources_and_templates_are_listed_as_the_revision_knows(void **state)
{
#define NAMED(key, uri, name) "{\"" key "\":\"" uri "\",\"name\":\"" name "\""
#define TEXT                  NAMED("uri", "r://text", "text")
#define BLOB                  NAMED("uri", "f://u/blob", "blob") "}"
#define FILES                 NAMED("uriTemplate", "f://{user}/{+path}", "files")
#define FALLEN                NAMED("uriTemplate", "g://{user}", "fallen") "}"
#define ICONS                 "\"icons\":[{\"src\":\"data:,x\"}],"
#define MIME                  "\"mimeType\":\"text/plain\"}"
	static const struct {
		const char *revision, *resources, *templates;
	} cases[] = {
		{ "2024-11-05",
		  RESULT("{\"resources\":[" TEXT ",\"description\":\"Some text.\"," MIME "," BLOB
		         "]}"),
		  RESULT("{\"resourceTemplates\":[" FILES ",\"description\":\"All files.\"," MIME
		         "," FALLEN "]}") },
		{ "2025-03-26",
		  RESULT("{\"resources\":[" TEXT ",\"description\":\"Some text.\"," MIME "," BLOB
		         "]}"),
		  RESULT("{\"resourceTemplates\":[" FILES ",\"description\":\"All files.\"," MIME
		         "," FALLEN "]}") },
		{ "2025-06-18",
		  RESULT("{\"resources\":[" TEXT
		         ",\"title\":\"Text\",\"description\":\"Some text.\"," MIME "," BLOB "]}"),
		  RESULT("{\"resourceTemplates\":[" FILES
		         ",\"title\":\"Files\",\"description\":\"All files.\"," MIME "," FALLEN
		         "]}") },
		{ "2025-11-25",
		  RESULT("{\"resources\":[" TEXT
		         ",\"title\":\"Text\",\"description\":\"Some text.\"," ICONS MIME "," BLOB
		         "]}"),
		  RESULT("{\"resourceTemplates\":[" FILES
		         ",\"title\":\"Files\",\"description\":\"All files.\"," ICONS MIME
		         "," FALLEN "]}") },
	};
	struct mcp_config config = { .resources = two, .templates = templates, .cache_ms = 7 };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200];

		(void)snprintf(line, sizeof line, ASK("initialize", "{\"protocolVersion\":\"%s\"}"),
		               cases[i].revision);
		talk_say(&talk, line);
		(void)talk_next(&talk);
		talk_say(&talk, ASK("resources/list", "{}"));
		CHECK_NEXT(&talk, cases[i].resources);
		talk_say(&talk, ASK("resources/templates/list", "{}"));
		CHECK_NEXT(&talk, cases[i].templates);
	}
	talk_say(&talk, ASK("resources/list", "{" CLAIM "}"));
	CHECK_NEXT(&talk, RESULT("{\"resources\":[" TEXT
	                         ",\"title\":\"Text\",\"description\":\"Some text.\"," ICONS MIME
	                         "," BLOB "],\"ttlMs\":7,\"cacheScope\":\"private\"," STAMP "}"));
	talk_say(&talk, ASK("resources/templates/list", "{" CLAIM "}"));
	CHECK_NEXT(&talk, RESULT("{\"resourceTemplates\":[" FILES
	                         ",\"title\":\"Files\",\"description\":\"All files.\"," ICONS MIME
	                         "," FALLEN "],\"ttlMs\":7,\"cacheScope\":\"private\"," STAMP "}"));
	talk_end(&talk);
}

static void reads_text_and_bytes(void **state)
{
	(void)state;
	check(READ("r://text"),
	      RESULT("{\"contents\":[{\"uri\":\"r://text\",\"mimeType\":\"text/plain\","
	             "\"text\":\"a\\u0000b\\n\"}]}"));
	check(READ("f://u/blob"), /* the template matches too */
	      RESULT("{\"contents\":[{\"uri\":\"f://u/blob\",\"blob\":\"/wD+AQ==\"}]}"));
}

/* Unlike a list: a resource's contents may change at any time. */
static void contents_are_stale_at_once_in_the_stateless_era(void **state)
{
	(void)state;
	check(READ_CLAIMED("r://text"),
	      RESULT("{\"contents\":[{\"uri\":\"r://text\",\"mimeType\":\"text/plain\","
	             "\"text\":\"a\\u0000b\\n\"}],\"ttlMs\":0,\"cacheScope\":\"private\"," STAMP
	             "}"));
	check(READ_CLAIMED("f://u/blob"),
	      RESULT("{\"contents\":[{\"uri\":\"f://u/blob\",\"blob\":\"/wD+AQ==\"}],\"ttlMs\":0,"
	             "\"cacheScope\":\"private\"," STAMP "}"));
}

static void the_uri_outlives_the_message(void **state)
{
	struct mcp_config config = { .resources = all };
	struct talk talk;

	(void)state;
	talk_begin(&talk, &config);
	talk_say(&talk, READ("r://slow"));
	CHECK_SILENCE(&talk);
	mcp_respond_text(talk.held, NULL, VIEW("late"));
	CHECK_NEXT(&talk, RESULT("{\"contents\":[{\"uri\":\"r://slow\",\"text\":\"late\"}]}"));
	talk_end(&talk);
}

static void a_template_gets_its_variables_decoded(void **state)
{
	static const struct {
		const char *uri, *text;
	} cases[] = {
		{ "f://ann/notes", "ann|notes" },
		{ "f://ann/a/b", "ann|a/b" },
		{ "f://a%2Fb/c%20d/%c3%A9", "a/b|c d/é" },
		{ "f://100%25/%2541", "100%|%41" }, /* once */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200], want[200];

		(void)snprintf(line, sizeof line, READ("%s"), cases[i].uri);
		(void)snprintf(want, sizeof want,
		               RESULT("{\"contents\":[{\"uri\":\"%s\",\"text\":\"%s\"}]}"),
		               cases[i].uri, cases[i].text);
		check(line, want);
	}
}

static void a_variable_is_checked_like_an_argument(void **state)
{
	(void)state;
	check(READ("f://abcdefghij/x"),
	      RESULT("{\"contents\":[{\"uri\":\"f://abcdefghij/x\",\"text\":\"abcdefghij|x\"}]}"));
	check(READ("f://abcdefghijk/x"),
	      ERROR("-32602",
	            "argument 'user': expected a string of at most 10 bytes, got 11 bytes"));
	check(READ("f://a%00b/x"), ERROR("-32602", "argument 'user': contains a NUL character"));
}

static void what_is_not_there_is_not_found(void **state)
{
	static const char *const uris[] = {
		"r://nope",  "r://text/",   "R://text",    "", "f://ann", "f://ann/", "f:///x",
		"f://ann/%", "f://ann/%zz", "f://ann/%ff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(uris); i++) {
		char line[400], want[300];

		(void)snprintf(line, sizeof line, READ("%s"), uris[i]);
		(void)snprintf(want, sizeof want,
		               MISSING("-32002", "resource '%s' not found", "%s"), uris[i],
		               uris[i]);
		check(line, want);
		(void)snprintf(line, sizeof line, READ_CLAIMED("%s"), uris[i]);
		(void)snprintf(want, sizeof want,
		               MISSING("-32602", "resource '%s' not found", "%s"), uris[i],
		               uris[i]);
		check(line, want);
	}
}

static void what_is_not_there_is_shown_on_one_line(void **state)
{
	(void)state;
	check(READ("a\\nb"), MISSING("-32002", "resource 'a\\\\nb' not found", "a\\nb"));
}

static void a_handlers_failure_is_an_error_by_its_kind(void **state)
{
	(void)state;
	check(READ("r://broken"), ERROR("-32603", "the disk is gone"));
	check(READ_CLAIMED("r://broken"), ERROR("-32603", "the disk is gone"));
	check(READ("r://no"), ERROR("-32602", "not like this"));
	check(READ_CLAIMED("r://no"), ERROR("-32602", "not like this"));
	check(READ("r://lost"), MISSING("-32002", "it was here yesterday", "r://lost"));
	check(READ_CLAIMED("r://lost"), MISSING("-32602", "it was here yesterday", "r://lost"));
	check(READ("g://%61"), MISSING("-32002", "it was here yesterday", "g://%61"));
	check(READ_CLAIMED("g://%61"), MISSING("-32602", "it was here yesterday", "g://%61"));
}

static void refuses_a_uri_that_is_none_or_too_long(void **state)
{
	static const char *const methods[] = { "resources/read", "resources/subscribe",
		                               "resources/unsubscribe" };
	static const char *const bad[] = { "{}", "{\"uri\":null}", "{\"uri\":5}",
		                           "{\"uri\":[\"r://text\"]}",
		                           "{\"uri\":\"r://text\\u0000\"}" };
	struct mcp_config config = { .resources = all, .resources_change = true };
	char uri[8194] = "", line[8400];
	struct talk talk;

	(void)state;
	memset(uri, 'x', 8193);
	talk_begin(&talk, &config);
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		for (size_t j = 0; j < ARRAY_LEN(bad); j++) {
			(void)snprintf(line, sizeof line, ASK("%s", "%s"), methods[i], bad[j]);
			talk_say(&talk, line);
			CHECK_NEXT(&talk,
			           ERROR("-32602", "'uri' must be a string of at most 8192 bytes"));
		}
		(void)snprintf(line, sizeof line, ASK("%s", "{\"uri\":\"%s\"}"), methods[i], uri);
		talk_say(&talk, line);
		CHECK_NEXT(&talk, ERROR("-32602", "'uri' must be a string of at most 8192 bytes"));
	}
	mcp_server_resource_updated(talk.server, uri);
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void a_uri_of_the_greatest_length_is_taken(void **state)
{
	struct mcp_config config = { .resources = all, .resources_change = true };
	char uri[8193] = "", line[8400], want[8600];
	struct talk talk;

	(void)state;
	memset(uri, 'x', 8192);
	talk_begin(&talk, &config);
	(void)snprintf(line, sizeof line, READ("%s"), uri);
	talk_say(&talk, line);
	(void)snprintf(want, sizeof want, MISSING("-32002", "resource '%.156s...' not found", "%s"),
	               uri, uri);
	CHECK_NEXT(&talk, want);
	(void)snprintf(line, sizeof line, ASK("resources/subscribe", "{\"uri\":\"%s\"}"), uri);
	talk_say(&talk, line);
	CHECK_NEXT(&talk, RESULT("{}"));
	mcp_server_resource_updated(talk.server, uri);
	(void)snprintf(want, sizeof want, UPDATED("%s"), uri);
	CHECK_NEXT(&talk, want);
	talk_end(&talk);
}

#define SUBSCRIBE(uri)   ASK("resources/subscribe", "{\"uri\":\"" uri "\"}")
#define UNSUBSCRIBE(uri) ASK("resources/unsubscribe", "{\"uri\":\"" uri "\"}")

static void begin_changing(struct talk *talk, size_t max_subscriptions)
{
	struct mcp_config config = { .resources = two,
		                     .resources_change = true,
		                     .limits = mcp_default_limits };

	config.limits.max_subscriptions = max_subscriptions;
	talk_begin(talk, &config);
}

static void a_subscription_lasts_until_it_is_ended(void **state)
{
	struct talk talk;

	(void)state;
	begin_changing(&talk, 10);
	talk_say(&talk, UNSUBSCRIBE("r://text")); /* never was */
	CHECK_NEXT(&talk, RESULT("{}"));
	talk_say(&talk, SUBSCRIBE("r://text"));
	CHECK_NEXT(&talk, RESULT("{}"));
	talk_say(&talk, SUBSCRIBE("r://text")); /* twice is once */
	CHECK_NEXT(&talk, RESULT("{}"));
	talk_say(&talk, SUBSCRIBE("r://to-come"));
	CHECK_NEXT(&talk, RESULT("{}"));
	for (int i = 0; i < 2; i++) {
		mcp_server_resource_updated(talk.server, "r://text");
		mcp_server_resource_updated(talk.server, "r://tex");
		mcp_server_resource_updated(talk.server, "r://text/");
		mcp_server_resource_updated(talk.server, "r://to-come");
		CHECK_NEXT(&talk, UPDATED("r://text"));
		CHECK_NEXT(&talk, UPDATED("r://to-come"));
		CHECK_SILENCE(&talk);
	}
	talk_say(&talk, UNSUBSCRIBE("r://text"));
	CHECK_NEXT(&talk, RESULT("{}"));
	mcp_server_resource_updated(talk.server, "r://text");
	mcp_server_resource_updated(talk.server, "r://to-come");
	CHECK_NEXT(&talk, UPDATED("r://to-come"));
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

static void subscriptions_are_bounded(void **state)
{
	static const struct {
		const char *line, *want;
	} steps[] = {
		{ SUBSCRIBE("r://1"), RESULT("{}") },
		{ SUBSCRIBE("r://2"), RESULT("{}") },
		{ SUBSCRIBE("r://3"),
		  ERROR("-32603",
		        "2 resources are subscribed (max_subscriptions); unsubscribe one first") },
		{ SUBSCRIBE("r://2"), RESULT("{}") }, /* adds nothing */
		{ UNSUBSCRIBE("r://1"), RESULT("{}") },
		{ SUBSCRIBE("r://3"), RESULT("{}") },
		{ SUBSCRIBE("r://1"),
		  ERROR("-32603",
		        "2 resources are subscribed (max_subscriptions); unsubscribe one first") },
	};
	struct talk talk;

	(void)state;
	begin_changing(&talk, 2);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		talk_say(&talk, steps[i].line);
		CHECK_NEXT(&talk, steps[i].want);
	}
	mcp_server_resource_updated(talk.server, "r://1");
	mcp_server_resource_updated(talk.server, "r://2");
	mcp_server_resource_updated(talk.server, "r://3");
	CHECK_NEXT(&talk, UPDATED("r://2"));
	CHECK_NEXT(&talk, UPDATED("r://3"));
	CHECK_SILENCE(&talk);
	talk_end(&talk);
}

/* A second client of the same server. */
static void join(struct talk *other, const struct talk *talk)
{
	*other = (struct talk){ .sink = { talk_on_send, talk_is_busy } };
	other->sent = json_list();
	other->session = mcp_session_new(talk->server, &other->sink);
}

static void leave(struct talk *other)
{
	mcp_session_close(other->session);
	json_decref(other->sent);
}

#define LISTEN(uri)                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/"                            \
	"listen\",\"params\":{\"notifications\":{"                                                 \
	"\"resourceSubscriptions\":[\"" uri "\"]}," CLAIM "}}"
#define LISTENED(method, more)                                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":{\"_meta\":{"     \
	"\"io.modelcontextprotocol/subscriptionId\":\"L\"}," more "}}"

static void an_update_reaches_its_subscribers_and_no_one_else(void **state)
{
	struct talk one, other, third;

	(void)state;
	begin_changing(&one, 10);
	join(&other, &one);
	join(&third, &one);
	talk_say(&one, SUBSCRIBE("r://text"));
	CHECK_NEXT(&one, RESULT("{}"));
	talk_say(&other, SUBSCRIBE("r://other"));
	CHECK_NEXT(&other, RESULT("{}"));
	talk_say(&third, LISTEN("r://text"));
	CHECK_NEXT(&third,
	           LISTENED("subscriptions/acknowledged",
	                    "\"notifications\":{\"resourceSubscriptions\":[\"r://text\"]}"));

	mcp_server_resource_updated(one.server, "r://text");
	CHECK_NEXT(&one, UPDATED("r://text"));
	CHECK_NEXT(&third, LISTENED("resources/updated", "\"uri\":\"r://text\""));
	mcp_server_resource_updated(one.server, "r://other");
	CHECK_NEXT(&other, UPDATED("r://other"));
	mcp_server_resource_updated(one.server, "r://nobody");
	CHECK_SILENCE(&one);
	CHECK_SILENCE(&other);
	CHECK_SILENCE(&third);

	talk_say(&other, UNSUBSCRIBE("r://text")); /* only its own */
	CHECK_NEXT(&other, RESULT("{}"));
	leave(&third);
	mcp_server_resource_updated(one.server, "r://text");
	CHECK_NEXT(&one, UPDATED("r://text"));
	CHECK_SILENCE(&one);
	CHECK_SILENCE(&other);
	leave(&other);
	talk_end(&one);
}

static void resources_that_do_not_change_cannot_be_subscribed_to(void **state)
{
	(void)state;
	check(SUBSCRIBE("r://text"),
	      ERROR("-32601", "method 'resources/subscribe' is not known in revision 2025-03-26"));
	check(UNSUBSCRIBE("r://text"),
	      ERROR("-32601",
	            "method 'resources/unsubscribe' is not known in revision 2025-03-26"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(resources_and_templates_are_listed_as_the_revision_knows),
		TEST(reads_text_and_bytes),
		TEST(contents_are_stale_at_once_in_the_stateless_era),
		TEST(the_uri_outlives_the_message),
		TEST(a_template_gets_its_variables_decoded),
		TEST(a_variable_is_checked_like_an_argument),
		TEST(what_is_not_there_is_not_found),
		TEST(what_is_not_there_is_shown_on_one_line),
		TEST(a_handlers_failure_is_an_error_by_its_kind),
		TEST(refuses_a_uri_that_is_none_or_too_long),
		TEST(a_uri_of_the_greatest_length_is_taken),
		TEST(a_subscription_lasts_until_it_is_ended),
		TEST(subscriptions_are_bounded),
		TEST(an_update_reaches_its_subscribers_and_no_one_else),
		TEST(resources_that_do_not_change_cannot_be_subscribed_to),
	};

	return RUN_TESTS("mcp/resources", tests);
}
