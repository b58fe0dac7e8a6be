#include "base/cleanup.h"
#include "mcp/ask/request_state.h"
#include "unit/test.h"

#define REFUSED                                                                                    \
	"'requestState' is not valid for this call, or is older than 600 seconds; call again "     \
	"without it"

struct state_test {
	struct request_state_key key;
	json_t *params, *answers;
	struct request_state_scope scope;
	char *text;
};

static int set_up(void **state)
{
	struct state_test *t = calloc(1, sizeof *t);

	request_state_key_init(&t->key);
	t->params = json_pack("{s:s,s:{s:i,s:i},s:s}", "name", "tool", "arguments", "a", 1, "b", 2,
	                      "requestState", "not a part");
	t->answers = json_pack("{s:{s:s}}", "confirm", "action", "accept");
	t->scope = (struct request_state_scope){ "me", "tools/call", t->params, 1000 };
	t->text = request_state_encode(
	        &t->key, &t->scope,
	        &(struct request_state){ .until_ms = 2000, .round = 3, .answers = t->answers });
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct state_test *t = *state;

	json_decref(t->params);
	json_decref(t->answers);
	free(t->text);
	free(t);
	return 0;
}

static void check_refused(const struct state_test *t, const struct request_state_scope *scope,
                          const char *text)
{
	struct request_state read;
	struct error err;

	CHECK_ERROR(request_state_decode(&t->key, scope, text, &read, &err), err, ERR_INVALID,
	            REFUSED);
}

static void state_is_read_as_it_was_written(void **state)
{
	struct state_test *t = *state;
	AUTO_JSON json_t *params = json_pack("{s:{s:i,s:i},s:s,s:i}", "arguments", "b", 2, "a", 1,
	                                     "name", "tool", "_meta", 5);
	struct request_state_scope scope = t->scope;
	struct request_state read;
	struct error err;

	scope.params = params; /* the order of members does not count, nor do other members */
	scope.now_ms = 2000;
	CHECK_OK(request_state_decode(&t->key, &scope, t->text, &read, &err), err);
	assert_int_equal(read.round, 3);
	assert_int_equal(read.until_ms, 2000);
	assert_true(json_equal(read.answers, t->answers));
	json_decref(read.answers);
}

static void state_of_another_call_is_refused(void **state)
{
	struct state_test *t = *state;
	AUTO_JSON json_t *other = json_pack("{s:s,s:{s:i,s:i}}", "name", "tool", "arguments", "a",
	                                    1, "b", 3);
	struct request_state_scope scope = t->scope;

	scope.owner = "them";
	check_refused(t, &scope, t->text);
	scope = t->scope;
	scope.method = "prompts/get";
	check_refused(t, &scope, t->text);
	scope = t->scope;
	scope.params = other;
	check_refused(t, &scope, t->text);
	scope.params = NULL;
	check_refused(t, &scope, t->text);
	scope = t->scope;
	scope.now_ms = 2001;
	check_refused(t, &scope, t->text);
}

static void state_of_another_process_is_refused(void **state)
{
	struct state_test *t = *state;

	request_state_key_init(&t->key);
	check_refused(t, &t->scope, t->text);
}

static void changed_state_is_refused(void **state)
{
	static const char *const others[] = { "", ".", "x", "e30=", "e30=.", "e30=.e30=", "..." };
	struct state_test *t = *state;
	size_t len = strlen(t->text);

	for (size_t i = 0; i < len; i++) {
		char was = t->text[i];

		t->text[i] = was == 'A' ? 'B' : 'A';
		check_refused(t, &t->scope, t->text);
		t->text[i] = '\0';
		check_refused(t, &t->scope, t->text);
		t->text[i] = was;
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		check_refused(t, &t->scope, others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(state_is_read_as_it_was_written, set_up, tear_down),
		cmocka_unit_test_setup_teardown(state_of_another_call_is_refused, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(state_of_another_process_is_refused, set_up,
		                                tear_down),
		cmocka_unit_test_setup_teardown(changed_state_is_refused, set_up, tear_down),
	};

	return RUN_TESTS("mcp/ask/request_state", tests);
}
