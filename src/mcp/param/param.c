#include "mcp/param/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {
	[PARAM_END] = "nothing",
	[PARAM_STRING] = "a string",
	[PARAM_TEXT] = "a string",
	[PARAM_ENUM] = "one of",
	[PARAM_BOOL] = "true or false",
	[PARAM_INT] = "an integer",
	[PARAM_NUMBER] = "a number",
	[PARAM_STRINGS] = "an array of strings",
	[PARAM_MAP] = "an object with string values",
	[PARAM_RECORD] = "an object",
	[PARAM_RECORDS] = "an array of objects",
	[PARAM_JSON] = "any JSON value",
};

/* Bounds beyond this one are no bounds to a reader of a message. */
#define ANY_NUMBER (INT64_MAX / 2)

bool param_has_name(const struct param *param, const char *name)
{
	for (const char *const *also = param->also; also != NULL && *also != NULL; also++)
		if (strcmp(*also, name) == 0)
			return true;
	return strcmp(param->name, name) == 0;
}

const struct param *param_find(const struct param *params, const char *name)
{
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++)
		if (param_has_name(p, name))
			return p;
	return NULL;
}

static void list_values(const struct param *param, char *out, size_t size)
{
	size_t used = (size_t)snprintf(out, size, "one of");

	for (size_t i = 0; param->values[i] != NULL && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s \"%s\"", i == 0 ? "" : ",",
		                         param->values[i]);
}

const char *param_expected(const struct param *param, char *out, size_t size)
{
	const char *name = type_names[param->type];

	switch (param->type) {
	case PARAM_ENUM:
		list_values(param, out, size);
		break;
	case PARAM_STRING:
	case PARAM_TEXT:
		if (param->min > 0)
			(void)snprintf(out, size, "%s of %" PRId64 " to %" PRId64 " bytes", name,
			               param->min, param->max);
		else
			(void)snprintf(out, size, "%s of at most %" PRId64 " bytes", name,
			               param->max);
		break;
	case PARAM_INT:
	case PARAM_NUMBER:
		if (param->max < ANY_NUMBER)
			(void)snprintf(out, size, "%s from %" PRId64 " to %" PRId64, name,
			               param->min, param->max);
		else if (param->min > -ANY_NUMBER)
			(void)snprintf(out, size, "%s from %" PRId64 " on", name, param->min);
		else
			(void)snprintf(out, size, "%s", name);
		break;
	case PARAM_STRINGS:
	case PARAM_MAP:
	case PARAM_RECORDS:
		if (param->min > 0)
			(void)snprintf(out, size, "%s with %" PRId64 " to %" PRId64 " entries",
			               name, param->min, param->max);
		else
			(void)snprintf(out, size, "%s with at most %" PRId64 " entries", name,
			               param->max);
		break;
	case PARAM_END:
	case PARAM_BOOL:
	case PARAM_RECORD:
	case PARAM_JSON:
		(void)snprintf(out, size, "%s", name);
		break;
	}
	return out;
}

/* A numeric default below the minimum means that there is no default. */
static bool has_default_number(const struct param *param)
{
	return param->type == PARAM_INT ? param->fallback.integer >= param->min
	                                : param->fallback.number >= (double)param->min;
}

/* The default as JSON; empty if there is none. */
static void format_default(const struct param *param, char *out, size_t size)
{
	out[0] = '\0';
	if ((param->type == PARAM_STRING || param->type == PARAM_ENUM) &&
	    param->fallback.text != NULL)
		(void)snprintf(out, size, "\"%s\"", param->fallback.text);
	else if (param->type == PARAM_INT && has_default_number(param))
		(void)snprintf(out, size, "%" PRId64, param->fallback.integer);
	else if (param->type == PARAM_NUMBER && has_default_number(param))
		(void)snprintf(out, size, "%g", param->fallback.number);
	else if (param->type == PARAM_BOOL)
		(void)snprintf(out, size, "%s", param->fallback.boolean ? "true" : "false");
}

const char *param_describe(const struct param *param, char *out, size_t size)
{
	char expected[200], fallback[80];

	(void)param_expected(param, expected, sizeof expected);
	format_default(param, fallback, sizeof fallback);
	if (param->required)
		(void)snprintf(out, size, "%s, required", expected);
	else if (fallback[0] != '\0')
		(void)snprintf(out, size, "%s, default %s", expected, fallback);
	else
		(void)snprintf(out, size, "%s", expected);
	return out;
}

/* Larger maxima are left out of schemas. */
enum { SHOWN_MAX = 100 * 1000 };

static json_t *new_schema(const char *type)
{
	json_t *schema = json_obj();

	json_set(schema, "type", json_str(type));
	return schema;
}

static json_t *string_schema(const struct param *param)
{
	json_t *schema = new_schema("string");

	if (param->fallback.text != NULL)
		json_set(schema, "default", json_str(param->fallback.text));
	return schema;
}

static json_t *enum_schema(const struct param *param)
{
	json_t *schema = new_schema("string");
	json_t *values = json_list();

	for (size_t i = 0; param->values[i] != NULL; i++)
		json_push(values, json_str(param->values[i]));
	json_set(schema, "enum", values);
	if (param->fallback.text != NULL)
		json_set(schema, "default", json_str(param->fallback.text));
	return schema;
}

/* A minimum of 0 or 1, and one that is far below, is left out of the schema: callers do not pass
 * less by accident. */
static json_t *number_schema(const struct param *param, bool is_input)
{
	bool whole = param->type == PARAM_INT;
	json_t *schema = new_schema(whole ? "integer" : "number");

	if (is_input && (param->min < 0 ? param->min >= -SHOWN_MAX : param->min > 1))
		json_set(schema, "minimum", json_int(param->min));
	if (is_input && param->max <= SHOWN_MAX)
		json_set(schema, "maximum", json_int(param->max));
	if (is_input && !param->required && has_default_number(param) &&
	    (param->shows_zero ||
	     (whole ? param->fallback.integer != 0 : param->fallback.number != 0)))
		json_set(schema, "default",
		         whole ? json_int(param->fallback.integer)
		               : json_num(param->fallback.number));
	return schema;
}

static json_t *array_schema(json_t *items)
{
	json_t *schema = new_schema("array");

	json_set(schema, "items", items);
	return schema;
}

static json_t *param_value_schema(const struct param *param, bool is_input)
{
	json_t *schema;

	switch (param->type) {
	case PARAM_STRING:
	case PARAM_TEXT:
		return string_schema(param);
	case PARAM_ENUM:
		return enum_schema(param);
	case PARAM_BOOL:
		schema = new_schema("boolean");
		if (is_input && (param->fallback.boolean || param->shows_zero))
			json_set(schema, "default", json_boolean(param->fallback.boolean));
		return schema;
	case PARAM_INT:
	case PARAM_NUMBER:
		return number_schema(param, is_input);
	case PARAM_STRINGS:
		return array_schema(new_schema("string"));
	case PARAM_MAP:
		/* Some clients drop a tool whose schema describes the values of a map. */
		return new_schema("object");
	case PARAM_RECORD:
		return param_schema(param->fields, is_input);
	case PARAM_RECORDS:
		return array_schema(param_schema(param->fields, is_input));
	case PARAM_JSON:
	case PARAM_END:
		break;
	}
	return json_obj();
}

json_t *param_schema(const struct param *params, bool is_input)
{
	json_t *schema = new_schema("object");
	json_t *properties = json_obj();
	json_t *required = json_list();

	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++) {
		json_t *property;

		if (p->hidden || (!is_input && !p->required))
			continue;
		property = param_value_schema(p, is_input);
		if (is_input && p->help[0] != '\0') /* without help the name is enough */
			json_set_text(property, "description", p->help);
		if (is_input)
			json_set_text(property, "x-mcp-header", p->header);
		json_set(properties, p->name, property);
		if (p->required)
			json_push(required, json_str(p->name));
	}
	json_set(schema, "properties", properties);
	if (json_array_size(required) != 0)
		json_set(schema, "required", required);
	else
		json_decref(required);
	return schema;
}
