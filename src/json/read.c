#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "json/json.h"
#include "json/scan.h"

/* The request id in a text that json_read() rejects. An id that occurs twice is ambiguous: none is
 * returned. */
static json_t *rejected_id(const struct json_scan *scan)
{
	if (scan->ids != 1 || scan->id.len == 0)
		return NULL;
	return json_loadb(scan->id.ptr, scan->id.len, JSON_DECODE_ANY, NULL);
}

static int set_parse_error(struct view text, const json_error_t *why, struct error *err)
{
	enum json_error_code code = json_error_code(why);
	char shown[160];

	(void)utf8_escape(view_of(why->text), shown, sizeof shown);
	/* A string that was cut inside a character is JSON: JSON.stringify() of JavaScript and
	 * json.dumps() of Python write half of a surrogate pair as an escape. */
	if (strncmp(why->text, "invalid Unicode", strlen("invalid Unicode")) == 0)
		return error_set(err, ERR_INVALID, "%s: it is half of a surrogate pair", shown);
	if (code == json_error_duplicate_key || code == json_error_numeric_overflow ||
	    code == json_error_null_byte_in_key)
		return error_set(err, ERR_INVALID, "%s", shown);
	if (text.len == 0)
		return error_set(err, ERR_SYNTAX, "empty text");
	return error_set(err, ERR_SYNTAX, "%s at byte %d", shown, why->position);
}

int json_read(struct view text, const struct json_limits *limits, json_t **ret, json_t **ret_id,
              struct error *err)
{
	struct json_scan scan;
	json_error_t why;
	json_t *value;
	const char *nul;
	int r;

	json_scan(text, &scan);
	if (scan.depth > limits->depth)
		r = error_set(err, ERR_LIMIT, "nested deeper than %zu levels (max_depth)",
		              limits->depth);
	else if (scan.values > limits->values)
		r = error_set(err, ERR_LIMIT, "more than %zu values (max_values)", limits->values);
	else if (text.len != 0 && (nul = memchr(text.ptr, '\0', text.len)) != NULL)
		/* Jansson ignores a NUL byte after a number or a literal. */
		r = error_set(err, ERR_SYNTAX, "NUL byte at byte %zu",
		              (size_t)(nul - text.ptr) + 1);
	else if ((value = json_loadb(text.ptr != NULL ? text.ptr : "", text.len,
	                             JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
	                             &why)) != NULL) {
		*ret = value;
		return 0;
	} else
		r = set_parse_error(text, &why, err);
	if (ret_id != NULL)
		*ret_id = err->kind != ERR_SYNTAX ? rejected_id(&scan) : NULL;
	return r;
}

json_t *json_member(const json_t *object, const char *key, json_type type)
{
	json_t *value = json_object_get(object, key);

	return value != NULL && json_typeof(value) == type ? value : NULL;
}

struct view json_view(const json_t *string)
{
	return (struct view){ json_string_value(string), json_string_length(string) };
}

const char *json_as_text(const json_t *value)
{
	const char *text = json_string_value(value);

	return text != NULL && strlen(text) == json_string_length(value) ? text : NULL;
}

const char *json_text(const json_t *object, const char *key)
{
	return json_as_text(json_object_get(object, key));
}

bool json_has(const json_t *object, const char *key)
{
	return json_object_get(object, key) != NULL;
}

bool json_as_int(const json_t *value, json_int_t *ret)
{
	double real;

	if (json_is_integer(value)) {
		*ret = json_integer_value(value);
		return true;
	}
	if (!json_is_real(value))
		return false;
	real = json_real_value(value);
	/* cppcheck-suppress incorrectLogicOperator ; cppcheck misreads hexadecimal floats */
	if (real != floor(real) || real < -0x1p62 || real > 0x1p62)
		return false;
	*ret = (json_int_t)real;
	return true;
}

const char *json_describe(const json_t *value, char *out, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		(void)snprintf(out, size, "the string \"%s\"", UTF8_ESCAPED(json_view(value), 48));
		break;
	case JSON_INTEGER:
		(void)snprintf(out, size, "the number %" JSON_INTEGER_FORMAT,
		               json_integer_value(value));
		break;
	case JSON_REAL:
		(void)snprintf(out, size, "the number %g", json_real_value(value));
		break;
	case JSON_OBJECT:
		(void)snprintf(out, size, "an object");
		break;
	case JSON_ARRAY:
		(void)snprintf(out, size, "an array");
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		(void)snprintf(out, size, "the boolean %s", json_is_true(value) ? "true" : "false");
		break;
	case JSON_NULL:
		(void)snprintf(out, size, "null");
		break;
	}
	return out;
}
