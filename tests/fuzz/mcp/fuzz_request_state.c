/* fuzz_request_state.c - a client sends any requestState. None is accepted, because none was made
 * with the key; a payload that was made with it is read as it was written. */
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "mcp/ask/request_state.h"

static const struct request_state_scope scope = { .owner = "me", .method = "tools/call" };

/* The input as an answer of an earlier round. */
static void check_round_trip(const struct request_state_key *key, const char *answer)
{
	AUTO_JSON json_t *answers = json_obj();
	AUTO_FREE char *encoded = NULL;
	struct request_state read;
	struct error err;

	json_set(answers, "key", json_str(answer));
	encoded = request_state_encode(
	        key, &scope,
	        &(struct request_state){ .until_ms = 5, .round = 2, .answers = answers });
	if (strlen(encoded) > REQUEST_STATE_MAX)
		return;
	fuzz_check(request_state_decode(key, &scope, encoded, &read, &err) == 0);
	fuzz_check(read.round == 2 && json_equal(read.answers, answers));
	json_decref(read.answers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = mem_dup_len((const char *)data, size);
	struct request_state_key key = { { 1, 2, 3 } };
	struct request_state read;
	struct error err;

	fuzz_check(request_state_decode(&key, &scope, text, &read, &err) < 0);
	check_round_trip(&key, text);
	return 0;
}
