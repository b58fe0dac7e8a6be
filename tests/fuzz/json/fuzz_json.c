/* fuzz_json.c - any text is an error with a reason, or it survives a round trip, and the parser
 * builds no more than json_scan() has counted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"
#include "json/json.h"
#include "json/scan.h"

static const struct json_limits limits = { .depth = 64, .values = 200000 };

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

struct cost {
	size_t values, depth;
};

/* The recursion is limited: a value deeper than limits.depth fails the check. */
static void measure(const json_t *value, size_t depth, struct cost *cost)
{
	const char *key;
	json_t *member;
	size_t i;

	cost->values++;
	if (!json_is_array(value) && !json_is_object(value))
		return;
	must(++depth <= limits.depth, "a value that was read is within the depth");
	if (depth > cost->depth)
		cost->depth = depth;
	json_array_foreach (value, i, member)
		measure(member, depth, cost);
	json_object_foreach ((json_t *)(uintptr_t)value, key, member)
		measure(member, depth, cost);
}

static void check_refusal(const struct error *err, const json_t *id)
{
	must(err->kind == ERR_SYNTAX || err->kind == ERR_LIMIT || err->kind == ERR_INVALID,
	     "a refusal is of a known kind");
	must(err->msg[0] != '\0' && utf8_is_valid(view_of(err->msg)), "a refusal has a reason");
	must(id == NULL || err->kind != ERR_SYNTAX, "what is not JSON has no id");
	must(id == NULL || (!json_is_array(id) && !json_is_object(id)), "an id is a scalar");
}

static void check_cost(struct view text, const json_t *value)
{
	struct json_scan scan;
	struct cost cost = { 0 };

	json_scan(text, &scan);
	measure(value, 0, &cost);
	must(cost.values <= scan.values, "the scan never counts too few values");
	must(cost.depth == scan.depth, "the scan knows the depth");
	must(cost.values <= limits.values, "a value that was read is within the values");
}

static void check_round_trip(json_t *value)
{
	size_t len;
	AUTO_FREE char *text = json_write(value, &len);
	AUTO_JSON json_t *again = NULL;
	struct error err;

	must(utf8_is_valid((struct view){ text, len }), "what is written is UTF-8");
	must(memchr(text, '\n', len) == NULL, "what is written is one line");
	must(json_read((struct view){ text, len }, &limits, &again, NULL, &err) == 0,
	     "what is written can be read");
	must(json_equal(value, again) == 1, "what is read again is the same");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view text = { size != 0 ? (const char *)data : NULL, size };
	AUTO_JSON json_t *value = NULL, *id = NULL;
	struct error err;

	if (json_read(text, &limits, &value, &id, &err) < 0) {
		must(value == NULL, "a refusal gives no value");
		check_refusal(&err, id);
		return 0;
	}
	check_cost(text, value);
	check_round_trip(value);
	return 0;
}
