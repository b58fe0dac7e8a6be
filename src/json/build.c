#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "json/json.h"

static void *allocate_value(size_t size)
{
	return mem_resize(NULL, size);
}

/* Jansson does not handle every failed allocation; mem_resize() aborts instead of failing. This
 * runs before main(), so that no value is allocated by one allocator and freed by another. */
static void __attribute__((constructor)) set_allocator(void)
{
	json_set_alloc_funcs(allocate_value, free);
}

/* Jansson's constructors return NULL only when memory runs out. */
static json_t *must_have(json_t *value)
{
	if (value == NULL)
		abort();
	return value;
}

/* Replaces each byte that is not part of a well-formed character by U+FFFD. */
static char *replace_invalid(struct view text, size_t *ret_len)
{
	static const char replacement[] = "\xef\xbf\xbd";
	char *valid = mem_new(text.len * 3 + 1);
	char *out = valid;

	while (text.len != 0) {
		size_t n = utf8_char_len(text);
		size_t step = n != 0 ? n : 1;

		memcpy(out, n != 0 ? text.ptr : replacement, n != 0 ? n : 3);
		out += n != 0 ? n : 3;
		text.ptr += step;
		text.len -= step;
	}
	*ret_len = (size_t)(out - valid);
	return valid;
}

json_t *json_str_view(struct view text)
{
	AUTO_FREE char *valid = NULL;
	size_t len;

	if (text.len == 0)
		return must_have(json_string(""));
	if (utf8_is_valid(text))
		return must_have(json_stringn_nocheck(text.ptr, text.len));
	valid = replace_invalid(text, &len);
	return must_have(json_stringn_nocheck(valid, len));
}

json_t *json_str(const char *text)
{
	return json_str_view(view_of(text));
}

json_t *json_format(const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = mem_vformat(fmt, args);
	va_end(args);
	return json_str(text);
}

json_t *json_obj(void)
{
	return must_have(json_object());
}

json_t *json_list(void)
{
	return must_have(json_array());
}

json_t *json_int(json_int_t value)
{
	return must_have(json_integer(value));
}

json_t *json_num(double value)
{
	if (value == floor(value) && fabs(value) < 0x1p53)
		return json_int((json_int_t)value);
	return must_have(json_real(value));
}

void json_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, must_have(value)) < 0)
		abort();
}

json_t *json_list_of(json_t *value)
{
	json_t *list = json_list();

	json_push(list, value);
	return list;
}

json_t *json_pair(const char *key, json_t *value)
{
	json_t *object = json_obj();

	json_set(object, key, value);
	return object;
}

void json_set_text(json_t *object, const char *key, const char *text)
{
	if (text != NULL)
		json_set(object, key, json_str(text));
}

void json_push(json_t *array, json_t *value)
{
	if (json_array_append_new(array, must_have(value)) < 0)
		abort();
}

/* The smallest number of digits, at least `least`, with which every real in the value reads back
 * as the same double. With 17 digits, which are always enough, 0.1 would be 0.10000000000000001. */
static size_t digits_needed(json_t *value, size_t least)
{
	json_t *item;
	char text[40];
	size_t i;

	if (json_is_real(value)) {
		for (; least < 17; least++) {
			(void)snprintf(text, sizeof text, "%.*g", (int)least,
			               json_real_value(value));
			if (strtod(text, NULL) == json_real_value(value))
				break;
		}
	} else if (json_is_array(value)) {
		json_array_foreach (value, i, item)
			least = digits_needed(item, least);
	} else if (json_is_object(value)) {
		for (void *at = json_object_iter(value); at != NULL;
		     at = json_object_iter_next(value, at))
			least = digits_needed(json_object_iter_value(at), least);
	}
	return least;
}

static char *dump_value(json_t *value, size_t flags, size_t *ret_len)
{
	char *text = json_dumps(value, flags | JSON_ENCODE_ANY |
	                                       JSON_REAL_PRECISION(digits_needed(value, 15)));

	if (text == NULL)
		abort();
	*ret_len = strlen(text);
	return text;
}

char *json_write_sorted(json_t *value, size_t *ret_len)
{
	return dump_value(value, JSON_COMPACT | JSON_SORT_KEYS, ret_len);
}

char *json_write_indented(json_t *value, size_t indent, size_t *ret_len)
{
	if (indent > JSON_MAX_INDENT)
		abort();
	return dump_value(value, JSON_INDENT(indent), ret_len);
}
