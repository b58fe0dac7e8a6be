/* param_meaning.c - understands values of another type than the parameter's, where only one meaning
 * is possible: models write numbers and arrays as strings, and values of lists in other
 * spellings. */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "mcp/param/internal.h"

/* The limits of JSON in a string. */
static const struct json_limits text_limits = { .depth = 16, .values = 20000 };

static void free_value(void *value)
{
	json_decref(value);
}

static json_t *own_value(struct arena *arena, json_t *value)
{
	arena_own(arena, value, free_value);
	return value;
}

static struct view text_of(const json_t *value)
{
	return view_trim(json_view(value));
}

/* The JSON in a string, if its first character is one of `starts`; or NULL. The caller releases. */
static json_t *read_text(const json_t *value, const char *starts)
{
	struct view text = text_of(value);
	struct error ignored;
	json_t *inner;

	if (text.len == 0 || strchr(starts, text.ptr[0]) == NULL ||
	    json_read(text, &text_limits, &inner, NULL, &ignored) < 0)
		return NULL;
	return inner;
}

/* "30" for 30, and "[\"a\"]" for ["a"]. */
static json_t *json_in_text(json_t *value, const char *starts, struct arena *arena)
{
	json_t *inner = read_text(value, starts);

	return inner != NULL ? own_value(arena, inner) : value;
}

/* "true" for true, and "True", as Python writes it. */
static json_t *bool_in_text(json_t *value, struct arena *arena)
{
	bool yes = view_is_nocase(text_of(value), "true");

	if (!yes && !view_is_nocase(text_of(value), "false"))
		return value;
	return own_value(arena, json_boolean(yes));
}

/* Whether two spellings are the same without case, spaces, hyphens and underscores. */
static bool is_same_word(struct view a, const char *b)
{
	size_t i = 0;

	for (;; i++, b++) {
		while (i < a.len && strchr("-_ ", a.ptr[i]) != NULL && a.ptr[i] != '\0')
			i++;
		while (*b != '\0' && strchr("-_ ", *b) != NULL)
			b++;
		if (i == a.len || *b == '\0')
			return i == a.len && *b == '\0';
		if (tolower((unsigned char)a.ptr[i]) != tolower((unsigned char)*b))
			return false;
	}
}

/* "utf8" and "UTF_8" for "utf-8". */
static json_t *listed_value(const struct param *param, json_t *value, struct arena *arena)
{
	struct view text = text_of(value);

	for (size_t i = 0; param->values[i] != NULL; i++)
		if (is_same_word(text, param->values[i]))
			return own_value(arena, json_str(param->values[i]));
	return value;
}

/* A single word for a list with only that word. What might be several words is refused. */
static json_t *list_of_word(json_t *value, struct arena *arena)
{
	struct view text = text_of(value);

	if (text.len == 0 || text.len != json_string_length(value))
		return value;
	for (size_t i = 0; i < text.len; i++)
		if (strchr(" \t\r\n,;\"'[]{}", text.ptr[i]) != NULL)
			return value;
	return own_value(arena, json_list_of(json_incref(value)));
}

json_t *param_meaning(const struct param *param, json_t *value, struct arena *arena)
{
	/* The first character of the JSON, for types whose value may be JSON in a string. */
	static const char *const starts[] = {
		[PARAM_INT] = "-0123456789", [PARAM_NUMBER] = "-0123456789", [PARAM_STRINGS] = "[",
		[PARAM_MAP] = "{",           [PARAM_RECORD] = "{",           [PARAM_RECORDS] = "[{",
		[PARAM_JSON] = NULL,
	};

	if (json_is_string(value) && param->type == PARAM_BOOL)
		value = bool_in_text(value, arena);
	else if (json_is_string(value) && param->type == PARAM_ENUM)
		value = listed_value(param, value, arena);
	else if (json_is_string(value) && starts[param->type] != NULL)
		value = json_in_text(value, starts[param->type], arena);

	if (json_is_string(value) && param->type == PARAM_STRINGS)
		return list_of_word(value, arena);
	if (json_is_object(value) && param->type == PARAM_RECORDS)
		return own_value(arena, json_list_of(json_incref(value)));
	return value;
}

json_t *param_text_meaning(json_t *value, struct arena *arena)
{
	AUTO_FREE char *text = NULL;
	size_t len;

	if (!json_is_number(value) && !json_is_boolean(value))
		return value;
	text = json_write(value, &len);
	return own_value(arena, json_str(text));
}

bool param_is_list(json_t *value)
{
	AUTO_JSON json_t *inner = json_is_string(value) ? read_text(value, "[") : NULL;

	return json_is_array(value) || inner != NULL;
}
