/* Questions of a handler: as requests in a session, and in rounds in the stateless era. */
#include "mcp/ask/ask.h"
#include "unit/mcp/fake_client.h"

#define INITIALIZE_WITH(version, capabilities)                                                     \
	REQUEST("initialize",                                                                      \
	        "{\"protocolVersion\":\"" version "\",\"capabilities\":" capabilities "}")
#define CALL(id, name)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"method\":\"tools/call\",\"params\":{\"name\":\"" name "\"}}"
#define FORM                                                                                       \
	"{\"message\":\"Sure?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"ok\":{" \
	"\"type\":\"boolean\"}},\"required\":[\"ok\"]}}"
#define QUESTION(id, method, params)                                                               \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params ",\"id\":\"" id "\"}"
#define ANSWER(id, result) "{\"jsonrpc\":\"2.0\",\"id\":\"" id "\",\"result\":" result "}"
#define TEXT(id, text)                                                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define FAILURE(id, text)                                                                          \
	"{\"jsonrpc\":\"2.0\",\"id\":" id                                                          \
	",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true}}"

static int entered; /* times that a handler was entered */

static void respond_text(struct mcp_call *call, const char *text)
{
	json_t *content = json_list();

	json_push(content, mcp_text("%s", text));
	mcp_respond_content(call, content, NULL);
}

static json_t *ok_field(void)
{
	return json_pack("{s:{s:s}}", "ok", "type", "boolean");
}

static int confirm(struct mcp_call *call, const void *args, struct error *err)
{
	entered++;
	mcp_ask(call, "confirm", MCP_ASK_FORM, mcp_form("Sure?", ok_field()));
	if (!mcp_await_answers(call))
		return 0;
	if (mcp_answer(call, "confirm") == NULL)
		respond_text(call, "cannot be asked");
	else
		respond_text(call, mcp_answer_is_accepted(call, "confirm") ? "yes" : "no");
	return 0;
}

static int both(struct mcp_call *call, const void *args, struct error *err)
{
	mcp_ask(call, "confirm", MCP_ASK_FORM, mcp_form("Sure?", ok_field()));
	mcp_ask(call, "roots", MCP_ASK_ROOTS, NULL);
	if (!mcp_await_answers(call))
		return 0;
	respond_text(call, "both");
	return 0;
}

/* `entered` stands for what the page itself knows: the second call finds it completed. */
static int page(struct mcp_call *call, const void *args, struct error *err)
{
	if (entered++ == 0)
		mcp_ask(call, "page", MCP_ASK_URL, mcp_page("Log in.", "https://x.org/"));
	if (!mcp_require_pages(call))
		return 0;
	respond_text(call, "done");
	return 0;
}

static int endless(struct mcp_call *call, const void *args, struct error *err)
{
	static char key[16];

	(void)snprintf(key, sizeof key, "key-%d", ++entered);
	mcp_ask(call, key, MCP_ASK_FORM, mcp_form("Sure?", ok_field()));
	(void)mcp_await_answers(call);
	return 0;
}

static const struct mcp_tool confirmer = { .name = "confirm", .help = "Asks.", .call = confirm };
static const struct mcp_tool asks_both = { .name = "both", .help = "Asks.", .call = both };
static const struct mcp_tool asks_on = { .name = "endless", .help = "Asks.", .call = endless };
static const struct mcp_tool needs_page = { .name = "page", .help = "Asks.", .call = page };
static const struct mcp_tool *const tools[] = { &confirmer, &asks_both, &asks_on, &needs_page,
	                                        NULL };

static int set_up(void **state)
{
	struct peer *peer = malloc(sizeof *peer);
	struct mcp_config config = { .tools = tools };

	entered = 0;
	peer_open(peer, &config);
	*state = peer;
	return 0;
}

static int tear_down(void **state)
{
	peer_close(*state);
	free(*state);
	return 0;
}

static void shake_hands(struct peer *peer, const char *initialize)
{
	peer_send(peer, initialize);
	(void)peer_next(peer);
}

static void question_is_a_request_and_its_answer_enters_the_handler_again(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-06-18", "{\"elicitation\":{}}"));
	peer_send(peer, CALL("7", "confirm"));
	CHECK_NEXT(peer, QUESTION("ask-1", "elicitation/create", FORM));
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, ANSWER("ask-9", "{\"action\":\"accept\",\"content\":{\"ok\":true}}"));
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, ANSWER("ask-1", "{\"action\":\"accept\",\"content\":{\"ok\":true}}"));
	CHECK_NEXT(peer, TEXT("7", "yes"));
	assert_int_equal(entered, 2);
	peer_send(peer, ANSWER("ask-1", "{\"action\":\"decline\"}")); /* again: ignored */
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, CALL("8", "confirm"));
	(void)peer_next(peer);
	peer_send(peer, ANSWER("ask-2", "{\"action\":\"decline\"}"));
	CHECK_NEXT(peer, TEXT("8", "no"));
}

static void all_answers_are_awaited(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{},\"roots\":{}}"));
	peer_send(peer, CALL("1", "both"));
	CHECK_NEXT(peer, QUESTION("ask-1", "elicitation/create", FORM));
	CHECK_NEXT(peer, QUESTION("ask-2", "roots/list", "{}"));
	peer_send(peer, ANSWER("ask-2", "{\"roots\":[]}"));
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, ANSWER("ask-1", "{\"action\":\"cancel\"}"));
	CHECK_NEXT(peer, TEXT("1", "both"));
}

static void answer_that_is_not_valid_fails_the_call(void **state)
{
	static const char *const wrong[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":\"ask-%d\",\"result\":5}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"ask-%d\",\"result\":{\"action\":\"maybe\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"ask-%d\",\"result\":{\"action\":\"accept\"}}",
		"{\"jsonrpc\":\"2.0\",\"id\":\"ask-%d\",\"result\":{\"action\":\"accept\",\"content\":{"
		"\"ok\":\"yes\"}}}",
	};
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		char line[200];

		peer_send(peer, CALL("1", "confirm"));
		(void)peer_next(peer);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(line, sizeof line, wrong[i], (int)i + 1);
#pragma GCC diagnostic pop
		peer_send(peer, line);
		CHECK_NEXT(peer,
		           FAILURE("1", "the client was asked (elicitation/create) and has not "
		                        "answered: its result is not valid"));
	}
	peer_send(peer, CALL("1", "confirm"));
	(void)peer_next(peer);
	peer_send(peer,
	          "{\"jsonrpc\":\"2.0\",\"id\":\"ask-5\",\"error\":{\"code\":-32603,\"message\":"
	          "\"window\\nclosed\"}}");
	CHECK_NEXT(peer, FAILURE("1", "the client was asked (elicitation/create) and has not "
	                              "answered: window\\\\nclosed"));
}

static void client_that_does_not_know_the_request_has_no_answer(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"));
	peer_send(peer, CALL("1", "confirm"));
	(void)peer_next(peer);
	peer_send(peer,
	          "{\"jsonrpc\":\"2.0\",\"id\":\"ask-1\",\"error\":{\"code\":-32601,\"message\":"
	          "\"\"}}");
	CHECK_NEXT(peer, TEXT("1", "cannot be asked"));
}

static void client_without_the_capability_is_not_asked(void **state)
{
	static const char *const handshakes[] = {
		INITIALIZE_WITH("2025-11-25", "{}"),
		INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{\"url\":{}}}"),
		INITIALIZE_WITH("2025-03-26", "{\"elicitation\":{}}"), /* has no elicitation */
	};
	struct peer *peer = *state;

	for (size_t i = 0; i < ARRAY_LEN(handshakes); i++) {
		shake_hands(peer, handshakes[i]);
		peer_send(peer, CALL("1", "confirm"));
		CHECK_NEXT(peer, FAILURE("1", "this needs a client with the capabilities "
		                              "{\\\"elicitation\\\":{\\\"form\\\":{}}}"));
	}
}

static void cancelled_call_cancels_its_question(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"));
	peer_send(peer, CALL("1", "confirm"));
	(void)peer_next(peer);
	peer_send(peer, CANCEL("1"));
	CHECK_NEXT(peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	                 "\"requestId\":\"ask-1\",\"reason\":\"the call was cancelled\"}}");
	peer_send(peer, ANSWER("ask-1", "{\"action\":\"decline\"}"));
	CHECK_NOTHING_SENT(peer);
	assert_int_equal(entered, 1);
}

static void closing_the_session_ends_a_call_that_waits(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"));
	peer_send(peer, CALL("1", "confirm"));
	(void)peer_next(peer);
	mcp_session_close(peer->session);
	peer->session = NULL;
	CHECK_NOTHING_SENT(peer);
	assert_int_equal(entered, 1);
}

static void client_is_asked_a_limited_number_of_times(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{}}"));
	peer_send(peer, CALL("1", "endless"));
	for (int i = 1; i <= 8; i++) {
		char line[120];

		(void)peer_next(peer);
		(void)snprintf(line, sizeof line, ANSWER("ask-%d", "{\"action\":\"decline\"}"), i);
		peer_send(peer, line);
	}
	CHECK_NEXT(peer, FAILURE("1", "the client was asked 8 times without a valid answer"));
}

#define STATELESS_CALL(name, capabilities, more)                                                   \
	REQUEST("tools/call",                                                                      \
	        "{\"name\":\"" name "\"," more                                                     \
	        "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","           \
	        "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}}")

/* The requestState of a response. The caller frees. */
static char *state_of(const char *response)
{
	json_t *message = json_loads(response, 0, NULL);
	const json_t *result = json_object_get(message, "result");
	char *state;

	assert_string_equal(json_text(result, "resultType"), "input_required");
	state = strdup(json_text(result, "requestState"));
	json_decref(message);
	return state;
}

static void call_with_answer(struct peer *peer, const char *state, const char *answer)
{
	char line[2000];

	(void)snprintf(line, sizeof line,
	               STATELESS_CALL("confirm", "{\"elicitation\":{}}",
	                              "\"inputResponses\":%s,\"requestState\":\"%s\","),
	               answer, state);
	peer_send(peer, line);
}

static void stateless_call_is_answered_in_rounds(void **state)
{
	struct peer *peer = *state;
	char *first, *second;

	peer_send(peer, STATELESS_CALL("confirm", "{\"elicitation\":{}}", ""));
	first = state_of(peer_next(peer));
	call_with_answer(peer, first, "{\"other\":{\"action\":\"accept\"}}");
	second = state_of(peer_next(peer));
	assert_string_not_equal(first, second);
	call_with_answer(peer, second,
	                 "{\"confirm\":{\"action\":\"accept\",\"content\":{\"ok\":true}}}");
	CHECK_NEXT(peer,
	           RESULT("{\"content\":[{\"type\":\"text\",\"text\":\"yes\"}]," STATELESS_FIELDS
	                  "}"));
	first[3] = first[3] == 'A' ? 'B' : 'A';
	call_with_answer(peer, first, "{}");
	CHECK_NEXT(peer,
	           INVALID_PARAMS("'requestState' is not valid for this call, or is older than "
	                          "600 seconds; call again without it"));
	free(first);
	free(second);
}

static void state_of_another_owner_is_refused(void **state)
{
	struct peer *peer = *state, other;
	char *theirs;

	peer_join_as(&other, peer->server, "them");
	peer_send(&other, STATELESS_CALL("confirm", "{\"elicitation\":{}}", ""));
	theirs = state_of(peer_next(&other));
	call_with_answer(peer, theirs, "{}");
	CHECK_NEXT(peer,
	           INVALID_PARAMS("'requestState' is not valid for this call, or is older than "
	                          "600 seconds; call again without it"));
	free(theirs);
	peer_leave(&other);
}

static void stateless_client_without_the_capability_gets_its_name(void **state)
{
	struct peer *peer = *state;

	peer_send(peer, STATELESS_CALL("both", "{\"sampling\":{}}", ""));
	CHECK_NEXT(
	        peer,
	        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32021,\"message\":\"this needs a "
	        "client with the capabilities "
	        "{\\\"elicitation\\\":{\\\"form\\\":{}},\\\"roots\\\":{}}\",\"data\":{"
	        "\"requiredCapabilities\":{\"elicitation\":{\"form\":{}},\"roots\":{}}}}}");
}

static void required_page_is_an_error_that_names_it(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{\"url\":{}}}"));
	peer_send(peer, CALL("7", "page"));
	CHECK_NEXT(
	        peer,
	        "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32042,\"message\":\"the user "
	        "has to complete a page first; open it, then call again\",\"data\":{"
	        "\"elicitations\":[{\"mode\":\"url\",\"message\":\"Log in.\",\"url\":"
	        "\"https://x.org/\",\"elicitationId\":\"ask-1\"}]}}}");
	CHECK_NOTHING_SENT(peer);
	peer_send(peer, CALL("8", "page"));
	CHECK_NEXT(peer, TEXT("8", "done"));
}

static void required_page_needs_a_client_that_opens_pages(void **state)
{
	struct peer *peer = *state;

	shake_hands(peer, INITIALIZE_WITH("2025-11-25", "{\"elicitation\":{\"form\":{}}}"));
	peer_send(peer, CALL("7", "page"));
	CHECK_NEXT(peer, FAILURE("7", "this needs a client with the capabilities "
	                              "{\\\"elicitation\\\":{\\\"url\\\":{}}}"));
}

static void required_page_is_a_round_of_the_stateless_era(void **state)
{
	struct peer *peer = *state;
	const char *text;

	peer_send(peer, STATELESS_CALL("page", "{\"elicitation\":{\"url\":{}}}", ""));
	text = peer_next(peer);
	assert_non_null(strstr(text, "\"resultType\":\"input_required\""));
	assert_non_null(strstr(text, "\"url\":\"https://x.org/\""));
	assert_null(strstr(text, "-32042"));
}

#define IN_SESSION(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SESSION(question_is_a_request_and_its_answer_enters_the_handler_again),
		IN_SESSION(all_answers_are_awaited),
		IN_SESSION(answer_that_is_not_valid_fails_the_call),
		IN_SESSION(client_that_does_not_know_the_request_has_no_answer),
		IN_SESSION(client_without_the_capability_is_not_asked),
		IN_SESSION(cancelled_call_cancels_its_question),
		IN_SESSION(closing_the_session_ends_a_call_that_waits),
		IN_SESSION(client_is_asked_a_limited_number_of_times),
		IN_SESSION(stateless_call_is_answered_in_rounds),
		IN_SESSION(state_of_another_owner_is_refused),
		IN_SESSION(stateless_client_without_the_capability_gets_its_name),
		IN_SESSION(required_page_is_an_error_that_names_it),
		IN_SESSION(required_page_needs_a_client_that_opens_pages),
		IN_SESSION(required_page_is_a_round_of_the_stateless_era),
	};

	return RUN_TESTS("mcp/ask/ask", tests);
}
