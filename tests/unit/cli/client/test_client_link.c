/* Conversations with servers of every kind: started as `belljar client` starts its own, this
 * program plays them. */
#include "cli/client/client_link.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "unit/test.h"

/* --- the servers --- */

#define HELLO "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"serverInfo\":{\"name\":\"x\"}}}\n"

static const struct play {
	const char *name;
	const char *lines[4]; /* said after the first, second ... line that was heard */
} plays[] = {
	{ "good", { HELLO, "", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"it\":\"works\"}}\n" } },
	{ "chatty",
	  { HELLO, "",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n"
	    "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
	    /* heard the answer to the ping */
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"it\":\"works\"}}\n" } },
	{ "refusing",
	  { HELLO, "",
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"no "
	    "\\u001b]0;x\"}"
	    "}\n" } },
	{ "empty", { HELLO, "", "{\"jsonrpc\":\"2.0\",\"id\":2}\n" } },
	{ "garbage", { HELLO, "", "what?\n" } },
	{ "list", { HELLO, "", "[]\n" } },
	{ "paged",
	  { HELLO, "",
	    "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":"
	    "\"c\"}"
	    "}\n",
	    "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":[{\"name\":\"b\"}]}}\n" } },
	{ "mute", { HELLO } },
	{ "gone", { NULL } },
};

static int serve(const char *name)
{
	char heard[4096];

	for (size_t i = 0; i < ARRAY_LEN(plays); i++) {
		if (strcmp(plays[i].name, name) != 0)
			continue;
		for (size_t k = 0; k < ARRAY_LEN(plays[i].lines) && plays[i].lines[k] != NULL;
		     k++) {
			if (fgets(heard, sizeof heard, stdin) == NULL)
				return 0;
			(void)fputs(plays[i].lines[k], stdout);
			(void)fflush(stdout);
		}
		while (strcmp(name, "gone") != 0 && fgets(heard, sizeof heard, stdin) != NULL)
			;
	}
	return 0;
}

static int request_once(const char *server, const char *method, json_t **ret, struct error *err)
{
	const char *const flags[] = { server, NULL };
	AUTO_JSON json_t *hello = NULL;
	struct link link;
	int r = client_link_open(&link, flags, &hello, err);

	if (r == 0)
		r = strcmp(method, "tools/list") == 0
		            ? client_link_list(&link, method, "tools", ret, err)
		            : client_link_request(&link, method, NULL, ret, err);
	client_link_close(&link);
	return r;
}

static void request_skips_other_messages(void **state)
{
	static const char *const servers[] = { "good", "chatty" };

	for (size_t i = 0; i < ARRAY_LEN(servers); i++) {
		AUTO_JSON json_t *result = NULL;
		struct error err;

		CHECK_OK(request_once(servers[i], "tools/call", &result, &err), err);
		assert_string_equal(json_text(result, "it"), "works");
	}
}

static void request_reports_what_is_wrong_with_the_server(void **state)
{
	static const struct {
		const char *server, *want;
	} cases[] = {
		{ "refusing", "tools/call was refused: no \\x1b]0;x (-32602)" },
		{ "empty", "tools/call: the response has no result" },
		{ "garbage", "message of the server: " },
		{ "list", "message of the server: not a JSON object" },
		{ "gone", "the server " },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *result = NULL;
		struct error err;

		assert_int_equal(request_once(cases[i].server, "tools/call", &result, &err), -1);
		if (strncmp(err.msg, cases[i].want, strlen(cases[i].want)) != 0)
			fail_msg("%s: %s", cases[i].server, err.msg);
	}
}

static void list_requests_every_page(void **state)
{
	AUTO_JSON json_t *tools = NULL;
	struct error err;

	CHECK_OK(request_once("paged", "tools/list", &tools, &err), err);
	assert_int_equal(json_array_size(tools), 2);
	assert_string_equal(json_text(json_array_get(tools, 1), "name"), "b");
}

static void interrupt_cancels_the_request(void **state)
{
	AUTO_JSON json_t *result = NULL;
	uint64_t began = clock_now_ms();
	struct error err;
	pid_t us = getpid(), child = fork();

	if (child == 0) {
		(void)usleep(200 * 1000);
		(void)kill(us, SIGINT);
		_exit(0);
	}
	assert_int_equal(request_once("mute", "tools/call", &result, &err), -1);
	assert_string_equal(err.msg, "interrupted: the call was cancelled");
	assert_true(clock_now_ms() - began < 60000);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void open_refuses_too_many_flags(void **state)
{
	const char *flags[102] = { NULL };
	AUTO_JSON json_t *hello = NULL;
	struct link link;
	struct error err;

	for (size_t i = 0; i < 101; i++)
		flags[i] = "--x";
	assert_int_equal(client_link_open(&link, flags, &hello, &err), -1);
	assert_string_equal(err.msg, "101 flags for the server: at most 100");
	client_link_close(&link);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_skips_other_messages),
		cmocka_unit_test(request_reports_what_is_wrong_with_the_server),
		cmocka_unit_test(list_requests_every_page),
		cmocka_unit_test(interrupt_cancels_the_request),
		cmocka_unit_test(open_refuses_too_many_flags),
	};

	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	return cmocka_run_group_tests_name("client_link", tests, NULL, NULL);
}
