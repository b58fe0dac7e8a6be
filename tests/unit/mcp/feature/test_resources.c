/* resources/list, templates/list, read, subscribe and unsubscribe; notifications of updates. */
#include "unit/mcp/fake_client.h"

#define READ(uri)           REQUEST("resources/read", "{\"uri\":\"" uri "\"}")
#define READ_STATELESS(uri) REQUEST("resources/read", "{\"uri\":\"" uri "\"," STATELESS_META "}")
#define MISSING(code, text, uri)                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":" code ",\"message\":\"" text           \
	"\",\"data\":{\"uri\":\"" uri "\"}}}"
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

static int fail_system(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_SYSTEM, "the disk is gone");
}

static int fail_not_found(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_NOT_FOUND, "it was here yesterday");
}

static int fail_invalid(struct mcp_call *call, const void *args, struct error *err)
{
	(void)call, (void)args;
	return error_set(err, ERR_INVALID, "not like this");
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
static const struct mcp_resource broken = { .uri = "r://broken", .name = "b", .read = fail_system };
static const struct mcp_resource lost = { .uri = "r://lost", .name = "l", .read = fail_not_found };
static const struct mcp_resource refused = { .uri = "r://no", .name = "n", .read = fail_invalid };
static const struct mcp_resource slow = { .uri = "r://slow", .name = "s", .read = peer_hold };
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
	                                    .read = fail_not_found,
	                                    .check = fail_not_found };
static const struct mcp_template *const templates[] = { &files, &fallen, NULL };
static const struct mcp_template place = { .uri_template = "r://{+path}",
	                                   .name = "place",
	                                   .params = params,
	                                   .args_size = sizeof(struct args),
	                                   .read = fail_not_found };
static const struct mcp_template *const places[] = { &place, NULL };

static void check(const char *line, const char *want)
{
	peer_check(&(struct mcp_config){ .resources = all, .templates = templates }, line, want);
}

static void lists_have_the_members_of_the_revision(void **state)
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
	struct peer peer;

	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200];

		(void)snprintf(line, sizeof line,
		               REQUEST("initialize", "{\"protocolVersion\":\"%s\"}"),
		               cases[i].revision);
		peer_send(&peer, line);
		(void)peer_next(&peer);
		peer_send(&peer, REQUEST("resources/list", "{}"));
		CHECK_NEXT(&peer, cases[i].resources);
		peer_send(&peer, REQUEST("resources/templates/list", "{}"));
		CHECK_NEXT(&peer, cases[i].templates);
	}
	peer_send(&peer, REQUEST("resources/list", "{" STATELESS_META "}"));
	CHECK_NEXT(&peer,
	           RESULT("{\"resources\":[" TEXT
	                  ",\"title\":\"Text\",\"description\":\"Some text.\"," ICONS MIME "," BLOB
	                  "],\"ttlMs\":7,\"cacheScope\":\"private\"," STATELESS_FIELDS "}"));
	peer_send(&peer, REQUEST("resources/templates/list", "{" STATELESS_META "}"));
	CHECK_NEXT(&peer, RESULT("{\"resourceTemplates\":[" FILES
	                         ",\"title\":\"Files\",\"description\":\"All files.\"," ICONS MIME
	                         "," FALLEN
	                         "],\"ttlMs\":7,\"cacheScope\":\"private\"," STATELESS_FIELDS "}"));
	peer_close(&peer);
}

static void text_and_blob_are_read(void **state)
{
	check(READ("r://text"),
	      RESULT("{\"contents\":[{\"uri\":\"r://text\",\"mimeType\":\"text/plain\","
	             "\"text\":\"a\\u0000b\\n\"}]}"));
	check(READ("f://u/blob"), /* the template matches too */
	      RESULT("{\"contents\":[{\"uri\":\"f://u/blob\",\"blob\":\"/wD+AQ==\"}]}"));
}

static void contents_have_cache_hints_of_zero_in_the_stateless_era(void **state)
{
	check(READ_STATELESS("r://text"),
	      RESULT("{\"contents\":[{\"uri\":\"r://text\",\"mimeType\":\"text/plain\","
	             "\"text\":\"a\\u0000b\\n\"}],\"ttlMs\":0,\"cacheScope\":\"private\"," STATELESS_FIELDS
	             "}"));
	check(READ_STATELESS("f://u/blob"),
	      RESULT("{\"contents\":[{\"uri\":\"f://u/blob\",\"blob\":\"/wD+AQ==\"}],\"ttlMs\":0,"
	             "\"cacheScope\":\"private\"," STATELESS_FIELDS "}"));
}

static void late_response_has_the_uri(void **state)
{
	struct mcp_config config = { .resources = all };
	struct peer peer;

	peer_open(&peer, &config);
	peer_send(&peer, READ("r://slow"));
	CHECK_NOTHING_SENT(&peer);
	mcp_respond_text(peer.held, NULL, VIEW("late"));
	CHECK_NEXT(&peer, RESULT("{\"contents\":[{\"uri\":\"r://slow\",\"text\":\"late\"}]}"));
	peer_close(&peer);
}

static void variables_of_a_template_are_decoded(void **state)
{
	static const struct {
		const char *uri, *text;
	} cases[] = {
		{ "f://ann/notes", "ann|notes" },
		{ "f://ann/a/b", "ann|a/b" },
		{ "f://a%2Fb/c%20d/%c3%A9", "a/b|c d/é" },
		{ "f://100%25/%2541", "100%|%41" }, /* decoded once */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char line[200], want[200];

		(void)snprintf(line, sizeof line, READ("%s"), cases[i].uri);
		(void)snprintf(want, sizeof want,
		               RESULT("{\"contents\":[{\"uri\":\"%s\",\"text\":\"%s\"}]}"),
		               cases[i].uri, cases[i].text);
		check(line, want);
	}
}

static void variable_is_checked_like_an_argument(void **state)
{
	check(READ("f://abcdefghij/x"),
	      RESULT("{\"contents\":[{\"uri\":\"f://abcdefghij/x\",\"text\":\"abcdefghij|x\"}]}"));
	check(READ("f://abcdefghijk/x"),
	      ERROR("-32602",
	            "argument 'user': expected a string of at most 10 bytes, got 11 bytes"));
	check(READ("f://a%00b/x"), ERROR("-32602", "argument 'user': contains a NUL character"));
}

static void unknown_uri_is_not_found(void **state)
{
	static const char *const uris[] = {
		"r://nope",  "r://text/",   "R://text",    "", "f://ann", "f:///x",
		"f://ann/%", "f://ann/%zz", "f://ann/%ff",
	};

	for (size_t i = 0; i < ARRAY_LEN(uris); i++) {
		char line[400], want[300];

		(void)snprintf(line, sizeof line, READ("%s"), uris[i]);
		(void)snprintf(want, sizeof want,
		               MISSING("-32002", "resource '%s' not found", "%s"), uris[i],
		               uris[i]);
		check(line, want);
		(void)snprintf(line, sizeof line, READ_STATELESS("%s"), uris[i]);
		(void)snprintf(want, sizeof want,
		               MISSING("-32602", "resource '%s' not found", "%s"), uris[i],
		               uris[i]);
		check(line, want);
	}
}

static void unknown_uri_is_escaped_in_the_error(void **state)
{
	check(READ("a\\nb"), MISSING("-32002", "resource 'a\\\\nb' not found", "a\\nb"));
}

static void error_code_depends_on_the_kind_of_failure(void **state)
{
	check(READ("r://broken"), ERROR("-32603", "the disk is gone"));
	check(READ_STATELESS("r://broken"), ERROR("-32603", "the disk is gone"));
	check(READ("r://no"), ERROR("-32602", "not like this"));
	check(READ_STATELESS("r://no"), ERROR("-32602", "not like this"));
	check(READ("r://lost"), MISSING("-32002", "it was here yesterday", "r://lost"));
	check(READ_STATELESS("r://lost"), MISSING("-32602", "it was here yesterday", "r://lost"));
	check(READ("g://%61"), MISSING("-32002", "it was here yesterday", "g://%61"));
	check(READ_STATELESS("g://%61"), MISSING("-32602", "it was here yesterday", "g://%61"));
}

static void missing_or_long_uri_is_an_error(void **state)
{
	static const char *const methods[] = { "resources/read", "resources/subscribe",
		                               "resources/unsubscribe" };
	static const char *const bad[] = { "{}", "{\"uri\":null}", "{\"uri\":5}",
		                           "{\"uri\":[\"r://text\"]}",
		                           "{\"uri\":\"r://text\\u0000\"}" };
	struct mcp_config config = { .resources = all, .resources_change = true };
	char uri[8194] = "", line[8400];
	struct peer peer;

	memset(uri, 'x', 8193);
	peer_open(&peer, &config);
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		for (size_t j = 0; j < ARRAY_LEN(bad); j++) {
			(void)snprintf(line, sizeof line, REQUEST("%s", "%s"), methods[i], bad[j]);
			peer_send(&peer, line);
			CHECK_NEXT(&peer,
			           ERROR("-32602", "'uri' must be a string of at most 8192 bytes"));
		}
		(void)snprintf(line, sizeof line, REQUEST("%s", "{\"uri\":\"%s\"}"), methods[i],
		               uri);
		peer_send(&peer, line);
		CHECK_NEXT(&peer, ERROR("-32602", "'uri' must be a string of at most 8192 bytes"));
	}
	mcp_server_resource_updated(peer.server, NULL, uri);
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void uri_of_maximum_length_is_accepted(void **state)
{
	struct mcp_config config = { .resources = all, .resources_change = true };
	char uri[8193] = "", line[8400], want[8600];
	struct peer peer;

	memset(uri, 'x', 8192);
	peer_open(&peer, &config);
	(void)snprintf(line, sizeof line, READ("%s"), uri);
	peer_send(&peer, line);
	(void)snprintf(want, sizeof want, MISSING("-32002", "resource '%.156s...' not found", "%s"),
	               uri, uri);
	CHECK_NEXT(&peer, want);
	peer_close(&peer);
	config.templates = places;
	memcpy(uri, "r://", 4);
	peer_open(&peer, &config);
	(void)snprintf(line, sizeof line, REQUEST("resources/subscribe", "{\"uri\":\"%s\"}"), uri);
	peer_send(&peer, line);
	CHECK_NEXT(&peer, RESULT("{}"));
	mcp_server_resource_updated(peer.server, NULL, uri);
	(void)snprintf(want, sizeof want, UPDATED("%s"), uri);
	CHECK_NEXT(&peer, want);
	peer_close(&peer);
}

#define SUBSCRIBE(uri)   REQUEST("resources/subscribe", "{\"uri\":\"" uri "\"}")
#define UNSUBSCRIBE(uri) REQUEST("resources/unsubscribe", "{\"uri\":\"" uri "\"}")

static void open_with_updates(struct peer *peer, size_t max_subscriptions)
{
	struct mcp_config config = { .resources = two,
		                     .templates = places,
		                     .resources_change = true,
		                     .limits = mcp_default_limits };

	config.limits.max_subscriptions = max_subscriptions;
	peer_open(peer, &config);
}

static void subscription_lasts_until_unsubscribe(void **state)
{
	struct peer peer;

	open_with_updates(&peer, 10);
	peer_send(&peer, UNSUBSCRIBE("r://text")); /* was not subscribed */
	CHECK_NEXT(&peer, RESULT("{}"));
	peer_send(&peer, SUBSCRIBE("r://text"));
	CHECK_NEXT(&peer, RESULT("{}"));
	peer_send(&peer, SUBSCRIBE("r://text")); /* has no effect */
	CHECK_NEXT(&peer, RESULT("{}"));
	peer_send(&peer, SUBSCRIBE("r://to-come"));
	CHECK_NEXT(&peer, RESULT("{}"));
	for (int i = 0; i < 2; i++) {
		mcp_server_resource_updated(peer.server, NULL, "r://text");
		mcp_server_resource_updated(peer.server, NULL, "r://tex");
		mcp_server_resource_updated(peer.server, NULL, "r://text-2");
		mcp_server_resource_updated(peer.server, NULL, "r://text/below");
		mcp_server_resource_updated(peer.server, NULL, "r://to-come");
		CHECK_NEXT(&peer, UPDATED("r://text"));
		CHECK_NEXT(&peer, UPDATED("r://text/below"));
		CHECK_NEXT(&peer, UPDATED("r://to-come"));
		CHECK_NOTHING_SENT(&peer);
	}
	peer_send(&peer, UNSUBSCRIBE("r://text"));
	CHECK_NEXT(&peer, RESULT("{}"));
	mcp_server_resource_updated(peer.server, NULL, "r://text");
	mcp_server_resource_updated(peer.server, NULL, "r://to-come");
	CHECK_NEXT(&peer, UPDATED("r://to-come"));
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void unknown_uri_cannot_be_subscribed(void **state)
{
	struct peer peer;

	open_with_updates(&peer, 10);
	peer_send(&peer, SUBSCRIBE("unknown://text"));
	CHECK_NEXT(&peer,
	           MISSING("-32002", "resource 'unknown://text' not found", "unknown://text"));
	mcp_server_resource_updated(peer.server, NULL, "unknown://text");
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);

	peer_open(&peer, &(struct mcp_config){ .templates = templates,
	                                       .resources_change = true,
	                                       .limits = mcp_default_limits });
	peer_send(&peer, SUBSCRIBE("f://anybody/file"));
	CHECK_NEXT(&peer, RESULT("{}"));
	peer_send(&peer, SUBSCRIBE("g://nobody"));
	CHECK_NEXT(&peer, MISSING("-32002", "it was here yesterday", "g://nobody"));
	mcp_server_resource_updated(peer.server, NULL, "g://nobody");
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void subscription_to_a_directory_names_what_changed(void **state)
{
	struct peer peer;

	open_with_updates(&peer, 10);
	peer_send(&peer, SUBSCRIBE("r://dir/"));
	CHECK_NEXT(&peer, RESULT("{}"));
	mcp_server_resource_updated(peer.server, NULL, "r://dir");
	CHECK_NEXT(&peer, UPDATED("r://dir"));
	mcp_server_resource_updated(peer.server, NULL, "r://dir/a/b");
	CHECK_NEXT(&peer, UPDATED("r://dir/a/b"));
	mcp_server_resource_updated(peer.server, NULL, "r://director");
	mcp_server_resources_updated(peer.server, NULL, "r://"); /* would not say what changed */
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

static void subscriptions_are_limited(void **state)
{
	static const struct {
		const char *line, *want;
	} steps[] = {
		{ SUBSCRIBE("r://1"), RESULT("{}") },
		{ SUBSCRIBE("r://2"), RESULT("{}") },
		{ SUBSCRIBE("r://3"),
		  ERROR("-32603",
		        "2 resources are subscribed (max_subscriptions); unsubscribe one first") },
		{ SUBSCRIBE("r://2"), RESULT("{}") }, /* already subscribed */
		{ UNSUBSCRIBE("r://1"), RESULT("{}") },
		{ SUBSCRIBE("r://3"), RESULT("{}") },
		{ SUBSCRIBE("r://1"),
		  ERROR("-32603",
		        "2 resources are subscribed (max_subscriptions); unsubscribe one first") },
	};
	struct peer peer;

	open_with_updates(&peer, 2);
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		peer_send(&peer, steps[i].line);
		CHECK_NEXT(&peer, steps[i].want);
	}
	mcp_server_resource_updated(peer.server, NULL, "r://1");
	mcp_server_resource_updated(peer.server, NULL, "r://2");
	mcp_server_resource_updated(peer.server, NULL, "r://3");
	CHECK_NEXT(&peer, UPDATED("r://2"));
	CHECK_NEXT(&peer, UPDATED("r://3"));
	CHECK_NOTHING_SENT(&peer);
	peer_close(&peer);
}

#define LISTEN(uri)                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/"                            \
	"listen\",\"params\":{\"notifications\":{"                                                 \
	"\"resourceSubscriptions\":[\"" uri "\"]}," STATELESS_META "}}"
#define LISTENED(method, more)                                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" method "\",\"params\":{\"_meta\":{"     \
	"\"io.modelcontextprotocol/subscriptionId\":\"L\"}," more "}}"

static void update_is_sent_to_subscribers_only(void **state)
{
	struct peer one, other, third;

	open_with_updates(&one, 10);
	peer_join(&other, one.server);
	peer_join(&third, one.server);
	peer_send(&one, SUBSCRIBE("r://text"));
	CHECK_NEXT(&one, RESULT("{}"));
	peer_send(&other, SUBSCRIBE("r://other"));
	CHECK_NEXT(&other, RESULT("{}"));
	peer_send(&third, LISTEN("r://text"));
	CHECK_NEXT(&third,
	           LISTENED("subscriptions/acknowledged",
	                    "\"notifications\":{\"resourceSubscriptions\":[\"r://text\"]}"));

	mcp_server_resource_updated(one.server, NULL, "r://text");
	CHECK_NEXT(&one, UPDATED("r://text"));
	CHECK_NEXT(&third, LISTENED("resources/updated", "\"uri\":\"r://text\""));
	mcp_server_resource_updated(one.server, NULL, "r://other");
	CHECK_NEXT(&other, UPDATED("r://other"));
	mcp_server_resource_updated(one.server, NULL, "r://nobody");
	CHECK_NOTHING_SENT(&one);
	CHECK_NOTHING_SENT(&other);
	CHECK_NOTHING_SENT(&third);

	peer_send(&other, UNSUBSCRIBE("r://text")); /* of its own session only */
	CHECK_NEXT(&other, RESULT("{}"));
	peer_leave(&third);
	mcp_server_resource_updated(one.server, NULL, "r://text");
	CHECK_NEXT(&one, UPDATED("r://text"));
	CHECK_NOTHING_SENT(&one);
	CHECK_NOTHING_SENT(&other);
	peer_leave(&other);
	peer_close(&one);
}

static void server_without_updates_has_no_subscribe_method(void **state)
{
	check(SUBSCRIBE("r://text"),
	      ERROR("-32601", "method 'resources/subscribe' is not known in revision 2025-03-26"));
	check(UNSUBSCRIBE("r://text"),
	      ERROR("-32601",
	            "method 'resources/unsubscribe' is not known in revision 2025-03-26"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lists_have_the_members_of_the_revision),
		TEST(text_and_blob_are_read),
		TEST(contents_have_cache_hints_of_zero_in_the_stateless_era),
		TEST(late_response_has_the_uri),
		TEST(variables_of_a_template_are_decoded),
		TEST(variable_is_checked_like_an_argument),
		TEST(unknown_uri_is_not_found),
		TEST(unknown_uri_is_escaped_in_the_error),
		TEST(error_code_depends_on_the_kind_of_failure),
		TEST(missing_or_long_uri_is_an_error),
		TEST(uri_of_maximum_length_is_accepted),
		TEST(subscription_lasts_until_unsubscribe),
		TEST(unknown_uri_cannot_be_subscribed),
		TEST(subscription_to_a_directory_names_what_changed),
		TEST(subscriptions_are_limited),
		TEST(update_is_sent_to_subscribers_only),
		TEST(server_without_updates_has_no_subscribe_method),
	};

	return RUN_TESTS("mcp/resources", tests);
}
