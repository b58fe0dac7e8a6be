/* fuzz_param.c - any arguments are an error that names the argument, or fill the struct within its
 * limits. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "fuzz/fuzz.h"
#include "mcp/param/param.h"

struct edit {
	const char *old;
	bool all;
};

struct args {
	const char *text, *colour;
	struct view raw;
	int64_t count;
	double ratio;
	struct param_strings names;
	struct param_map env;
	struct param_records edits;
};

static const char *const colours[] = { "red", "green", NULL };

#define AT(member) .offset = offsetof(struct args, member), .help = "h"

static const struct param edit_fields[] = {
	{ .name = "old",
	  .type = PARAM_STRING,
	  .required = true,
	  .max = 4,
	  .offset = offsetof(struct edit, old),
	  .help = "h" },
	{ .name = "all", .type = PARAM_BOOL, .offset = offsetof(struct edit, all), .help = "h" },
	{ 0 },
};

static const struct param params[] = {
	{ .name = "text", .type = PARAM_STRING, .min = 1, .max = 5, AT(text) },
	{ .name = "raw", .type = PARAM_TEXT, .max = 3, AT(raw) },
	{ .name = "colour", .type = PARAM_ENUM, .values = colours, AT(colour) },
	{ .name = "count", .type = PARAM_INT, .min = -7, .max = 600, AT(count) },
	{ .name = "ratio", .type = PARAM_NUMBER, .min = 0, .max = 1, AT(ratio) },
	{ .name = "names", .type = PARAM_STRINGS, .max = 2, .item_max = 3, AT(names) },
	{ .name = "env", .type = PARAM_MAP, .max = 2, .item_max = 3, AT(env) },
	{ .name = "edits",
	  .type = PARAM_RECORDS,
	  .fields = edit_fields,
	  .max = 2,
	  .record_size = sizeof(struct edit),
	  AT(edits) },
	{ 0 },
};

static void check_bounds(const struct args *a)
{
	const struct edit *edits = a->edits.items;

	fuzz_check(a->text == NULL || (strlen(a->text) >= 1 && strlen(a->text) <= 5));
	fuzz_check(a->raw.len <= 3 && a->count >= -7 && a->count <= 600);
	fuzz_check(a->ratio >= 0 && a->ratio <= 1);
	fuzz_check(a->colour == NULL || a->colour == colours[0] || a->colour == colours[1]);
	fuzz_check(a->names.count <= 2 && a->env.count <= 2 && a->edits.count <= 2);
	for (size_t i = 0; i < a->names.count; i++)
		fuzz_check(strlen(a->names.items[i]) <= 3);
	for (size_t i = 0; i < a->env.count; i++)
		fuzz_check(strlen(a->env.items[i].name) <= 3 && strlen(a->env.items[i].value) <= 3);
	for (size_t i = 0; i < a->edits.count; i++)
		fuzz_check(strlen(edits[i].old) <= 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_limits limits = { .depth = 64, .values = 200000 };
	AUTO_JSON json_t *value = NULL;
	struct arena arena = { 0 };
	struct args a = { 0 };
	struct error err;

	if (json_read((struct view){ (const char *)data, size }, &limits, &value, NULL, &err) < 0 ||
	    !json_is_object(value))
		return 0;
	if (param_decode(params, value, &arena, &a, &err) == 0)
		check_bounds(&a);
	else
		fuzz_check(strncmp(err.msg, "argument '", 10) == 0);
	arena_done(&arena);
	return 0;
}
