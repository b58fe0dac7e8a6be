#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/nearest.h"
#include "base/text/utf8.h"
#include "mcp/param/internal.h"

enum { NAMES_SIZE = 400 }; /* of the names that an error lists */

/* The position of a value in the arguments, for messages: "edits[3].old". */
struct place {
	char path[200];
};

struct decoder {
	struct arena *arena;
	struct error *err;
};

static int decode_members(struct decoder *d, const struct param *params, json_t *object,
                          const struct place *at, char *ret);

static struct place place_of_member(const struct place *at, const char *name)
{
	struct place inner;

	(void)snprintf(inner.path, sizeof inner.path, "%.120s%s%s", at->path,
	               at->path[0] != '\0' ? "." : "", UTF8_ESCAPED(view_of(name), 64));
	return inner;
}

static struct place place_of_entry(const struct place *at, size_t index)
{
	struct place inner;

	(void)snprintf(inner.path, sizeof inner.path, "%.150s[%zu]", at->path, index);
	return inner;
}

/* Lists the names that a caller may use, with commas between; "" if there are none. */
static const char *list_names(const struct param *params, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++)
		if (!p->hidden && used < size)
			used += (size_t)snprintf(out + used, size - used, "%s%s",
			                         used != 0 ? ", " : "", p->name);
	return out;
}

static int set_type_error(struct decoder *d, const struct param *param, json_t *value,
                          const struct place *at)
{
	char expected[200], got[80], names[NAMES_SIZE];

	(void)list_names(param->fields, names, sizeof names);
	return error_set(d->err, ERR_INVALID, "argument '%s': expected %s, got %s%s%s", at->path,
	                 param_expected(param, expected, sizeof expected),
	                 json_describe(value, got, sizeof got),
	                 names[0] != '\0' ? "; an object has: " : "", names);
}

static int set_size_error(struct decoder *d, const struct param *param, size_t size,
                          const struct place *at)
{
	char expected[200];

	return error_set(d->err, ERR_LIMIT, "argument '%s': expected %s, got %zu", at->path,
	                 param_expected(param, expected, sizeof expected), size);
}

/* A string of at most max bytes without NUL. */
static int decode_c_string(struct decoder *d, json_t *value, size_t max, const struct place *at,
                           const char **ret)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value);
	char got[80];

	if (text == NULL)
		return error_set(d->err, ERR_INVALID, "argument '%s': expected a string, got %s",
		                 at->path, json_describe(value, got, sizeof got));
	if (len > max)
		return error_set(
		        d->err, ERR_LIMIT,
		        "argument '%s': expected a string of at most %zu bytes, got %zu bytes",
		        at->path, max, len);
	if (strlen(text) != len)
		return error_set(d->err, ERR_INVALID, "argument '%s': contains a NUL character",
		                 at->path);
	*ret = text;
	return 0;
}

static int decode_string(struct decoder *d, const struct param *param, json_t *value,
                         const struct place *at, void *ret)
{
	size_t len = json_string_length(value);

	if (!json_is_string(value))
		return set_type_error(d, param, value, at);
	if (len < (size_t)param->min)
		return set_size_error(d, param, len, at);
	return decode_c_string(d, value, (size_t)param->max, at, ret);
}

static int decode_text(struct decoder *d, const struct param *param, json_t *value,
                       const struct place *at, void *ret)
{
	size_t len = json_string_length(value);

	if (!json_is_string(value))
		return set_type_error(d, param, value, at);
	if (len < (size_t)param->min || len > (size_t)param->max)
		return set_size_error(d, param, len, at);
	*(struct view *)ret = (struct view){ json_string_value(value), len };
	return 0;
}

static int decode_enum(struct decoder *d, const struct param *param, json_t *value,
                       const struct place *at, void *ret)
{
	const char *text = json_string_value(value);

	for (size_t i = 0; text != NULL && param->values[i] != NULL; i++) {
		if (!view_is((struct view){ text, json_string_length(value) }, param->values[i]))
			continue;
		*(const char **)ret = param->values[i];
		return 0;
	}
	return set_type_error(d, param, value, at);
}

static int decode_bool(struct decoder *d, const struct param *param, json_t *value,
                       const struct place *at, void *ret)
{
	if (!json_is_boolean(value))
		return set_type_error(d, param, value, at);
	*(bool *)ret = json_is_true(value);
	return 0;
}

static int decode_int(struct decoder *d, const struct param *param, json_t *value,
                      const struct place *at, void *ret)
{
	json_int_t number;

	if (!json_as_int(value, &number) || number < param->min || number > param->max)
		return set_type_error(d, param, value, at);
	*(int64_t *)ret = number;
	return 0;
}

static int decode_number(struct decoder *d, const struct param *param, json_t *value,
                         const struct place *at, void *ret)
{
	double number = json_number_value(value);

	if (!json_is_number(value) || number < (double)param->min || number > (double)param->max)
		return set_type_error(d, param, value, at);
	*(double *)ret = number;
	return 0;
}

static int decode_strings(struct decoder *d, const struct param *param, json_t *value,
                          const struct place *at, void *ret)
{
	struct param_strings *list = ret;
	size_t count = json_array_size(value);

	if (!json_is_array(value))
		return set_type_error(d, param, value, at);
	if (count > (size_t)param->max || count < (size_t)param->min)
		return set_size_error(d, param, count, at);
	list->items = arena_new(d->arena, count + 1, sizeof *list->items);
	for (; list->count < count; list->count++) {
		struct place entry = place_of_entry(at, list->count);

		json_t *item = param_text_meaning(json_array_get(value, list->count), d->arena);

		if (decode_c_string(d, item, param->item_max, &entry, &list->items[list->count]) <
		    0)
			return -1;
	}
	return 0;
}

static int decode_map(struct decoder *d, const struct param *param, json_t *value,
                      const struct place *at, void *ret)
{
	struct param_map *map = ret;
	size_t count = json_object_size(value);
	const char *key;
	json_t *item;

	if (!json_is_object(value))
		return set_type_error(d, param, value, at);
	if (count > (size_t)param->max || count < (size_t)param->min)
		return set_size_error(d, param, count, at);
	map->items = arena_new(d->arena, count + 1, sizeof *map->items);
	json_object_foreach (value, key, item) {
		struct place entry = place_of_member(at, key);
		struct param_pair *pair = &map->items[map->count++];

		if (strlen(key) > param->item_max)
			return error_set(d->err, ERR_LIMIT,
			                 "argument '%s': its name is longer than %zu bytes",
			                 entry.path, param->item_max);
		pair->name = key;
		item = param_text_meaning(item, d->arena);
		if (decode_c_string(d, item, param->item_max, &entry, &pair->value) < 0)
			return -1;
	}
	return 0;
}

static int decode_record(struct decoder *d, const struct param *param, json_t *value,
                         const struct place *at, void *ret)
{
	if (!json_is_object(value))
		return set_type_error(d, param, value, at);
	return decode_members(d, param->fields, value, at, ret);
}

static int decode_records(struct decoder *d, const struct param *param, json_t *value,
                          const struct place *at, void *ret)
{
	struct param_records *list = ret;
	struct param one = *param; /* describes one entry in error messages */
	size_t count = json_array_size(value);

	if (!json_is_array(value))
		return set_type_error(d, param, value, at);
	if (count > (size_t)param->max || count < (size_t)param->min)
		return set_size_error(d, param, count, at);
	one.type = PARAM_RECORD;
	list->items = arena_new(d->arena, count + 1, param->record_size);
	for (; list->count < count; list->count++) {
		struct place entry = place_of_entry(at, list->count);
		char *item = (char *)list->items + list->count * param->record_size;

		if (decode_record(d, &one, json_array_get(value, list->count), &entry, item) < 0)
			return -1;
	}
	return 0;
}

static int decode_json(struct decoder *d, const struct param *param, json_t *value,
                       const struct place *at, void *ret)
{
	(void)d;
	(void)param;
	(void)at;
	*(json_t **)ret = value;
	return 0;
}

typedef int decode_fn(struct decoder *d, const struct param *param, json_t *value,
                      const struct place *at, void *ret);

static decode_fn *const decoders[] = {
	[PARAM_STRING] = decode_string,   [PARAM_TEXT] = decode_text,
	[PARAM_ENUM] = decode_enum,       [PARAM_BOOL] = decode_bool,
	[PARAM_INT] = decode_int,         [PARAM_NUMBER] = decode_number,
	[PARAM_STRINGS] = decode_strings, [PARAM_MAP] = decode_map,
	[PARAM_RECORD] = decode_record,   [PARAM_RECORDS] = decode_records,
	[PARAM_JSON] = decode_json,
};

static int decode_value(struct decoder *d, const struct param *param, json_t *value,
                        const struct place *at, void *ret)
{
	value = param_meaning(param, value, d->arena);
	return decoders[param->type](d, param, value, at, ret);
}

/* Callers compare an ENUM with the table's own pointers. The literal of the fallback may be another
 * pointer with the same text, so the value is looked up. */
static const char *enum_value(const struct param *param, const char *text)
{
	for (size_t i = 0; text != NULL && param->values[i] != NULL; i++)
		if (strcmp(param->values[i], text) == 0)
			return param->values[i];
	return text;
}

static void set_fallback(const struct param *param, void *ret)
{
	if (param->type == PARAM_STRING)
		*(const char **)ret = param->fallback.text;
	else if (param->type == PARAM_ENUM)
		*(const char **)ret = enum_value(param, param->fallback.text);
	else if (param->type == PARAM_INT)
		*(int64_t *)ret = param->fallback.integer;
	else if (param->type == PARAM_NUMBER)
		*(double *)ret = param->fallback.number;
	else if (param->type == PARAM_BOOL)
		*(bool *)ret = param->fallback.boolean;
}

static int set_unknown_error(struct decoder *d, const struct param *params, const char *key,
                             const struct place *at)
{
	struct place inner = place_of_member(at, key);
	struct nearest best = { 0 };
	char names[NAMES_SIZE];

	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++)
		if (!p->hidden) {
			nearest_consider(&best, key, p->name);
			for (const char *const *also = p->also; also != NULL && *also; also++)
				nearest_consider(&best, key, *also);
		}
	if (list_names(params, names, sizeof names)[0] == '\0')
		return error_set(d->err, ERR_INVALID,
		                 "argument '%s' is not known, and there are no others: leave it "
		                 "out",
		                 inner.path);
	if (best.name != NULL)
		return error_set(d->err, ERR_INVALID,
		                 "argument '%s' is not known; did you mean '%s'? There are: %s",
		                 inner.path, param_find(params, best.name)->name, names);
	return error_set(d->err, ERR_INVALID, "argument '%s' is not known; there are: %s",
	                 inner.path, names);
}

/* The value of a member, or NULL if it is for another parameter: two may share a name if one of
 * them is a list, which gets the arrays. */
static json_t *value_for(const struct param *param, const struct param *params, json_t *object,
                         const char *name)
{
	json_t *value = json_object_get(object, name);

	for (const struct param *p = params; value != NULL && p->type != PARAM_END; p++)
		if (p != param && param_has_name(p, name) &&
		    param_is_list(value) != (param->type == PARAM_STRINGS))
			return NULL;
	return value;
}

/* Finds the value of a parameter under its name or one of its other names. An argument that is
 * given under two names is refused: which of them counts would be a guess. */
static int find_value(struct decoder *d, const struct param *param, const struct param *params,
                      json_t *object, const struct place *at, json_t **ret)
{
	const char *found = param->name;

	*ret = value_for(param, params, object, param->name);
	for (const char *const *also = param->also; also != NULL && *also != NULL; also++) {
		json_t *value = value_for(param, params, object, *also);

		if (value == NULL || json_is_null(value))
			continue;
		if (*ret != NULL && !json_is_null(*ret))
			return error_set(
			        d->err, ERR_INVALID,
			        "arguments '%s' and '%s' are the same: give only one of them",
			        place_of_member(at, found).path, *also);
		*ret = value;
		found = *also;
	}
	return 0;
}

static int decode_members(struct decoder *d, const struct param *params, json_t *object,
                          const struct place *at, char *ret)
{
	const char *key;
	json_t *item;

	json_object_foreach (object, key, item)
		if (param_find(params, key) == NULL)
			return set_unknown_error(d, params, key, at);
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++) {
		struct place inner = place_of_member(at, p->name);
		char expected[200];
		json_t *value;

		if (find_value(d, p, params, object, at, &value) < 0)
			return -1;
		if (value != NULL && (!json_is_null(value) || p->type == PARAM_JSON)) {
			if (decode_value(d, p, value, &inner, ret + p->offset) < 0)
				return -1;
		} else if (p->required) {
			return error_set(d->err, ERR_INVALID,
			                 "argument '%s' is missing: expected %s", inner.path,
			                 param_expected(p, expected, sizeof expected));
		} else {
			set_fallback(p, ret + p->offset);
		}
	}
	return 0;
}

int param_decode(const struct param *params, json_t *object, struct arena *arena, void *ret,
                 struct error *err)
{
	struct decoder d = { .arena = arena, .err = err };
	const struct place top = { "" };

	return decode_members(&d, params, object, &top, ret);
}
