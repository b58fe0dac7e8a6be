/* write.c - writes JSON values as one line.
 *
 * Jansson writes a string character by character, about 100 MB/s: an answer of 9 MiB would hold the
 * loop for 90 ms. Here a string is copied in runs between the few bytes that must be escaped. All
 * strings are well-formed UTF-8, because json_str_view() and json_read() make them so. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "json/json.h"

struct writer {
	char *text;
	size_t len, size;
};

static void reserve_bytes(struct writer *w, size_t more)
{
	if (w->size - w->len >= more)
		return;
	w->size = w->size + w->size / 2 > w->len + more ? w->size + w->size / 2 : w->len + more;
	w->text = mem_resize(w->text, w->size);
}

static void add_bytes(struct writer *w, const char *bytes, size_t len)
{
	reserve_bytes(w, len);
	memcpy(w->text + w->len, bytes, len);
	w->len += len;
}

static void add_char(struct writer *w, char c)
{
	add_bytes(w, &c, 1);
}

/* --- strings --- */

static bool must_escape(unsigned char c)
{
	return c < 0x20 || c == '"' || c == '\\';
}

/* Nonzero if one of the eight bytes must be escaped. A byte is below n if subtracting n from it
 * borrows from its high bit, which was not set; equality with c is a zero byte after XOR with c. */
static uint64_t find_escape(uint64_t word)
{
	const uint64_t ones = UINT64_MAX / 0xff, high = ones * 0x80;
	const uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');

	return (((word - ones * 0x20) & ~word) | ((quote - ones) & ~quote) |
	        ((backslash - ones) & ~backslash)) &
	       high;
}

/* The number of bytes in front of the first one that must be escaped. */
static size_t plain_run(const char *text, size_t len)
{
	size_t i = 0;
	uint64_t word;

	for (; len - i >= sizeof word; i += sizeof word) {
		memcpy(&word, text + i, sizeof word);
		if (find_escape(word) != 0)
			break;
	}
	while (i < len && !must_escape((unsigned char)text[i]))
		i++;
	return i;
}

static void add_escape(struct writer *w, unsigned char c)
{
	static const char names[] = { ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f',
		                      ['\r'] = 'r', ['"'] = '"',  ['\\'] = '\\' };
	static const char digits[] = "0123456789ABCDEF";
	const char hex[] = { '\\', 'u', '0', '0', digits[c >> 4], digits[c & 15] };
	const char name[] = { '\\', names[c] };

	if (names[c] != '\0')
		add_bytes(w, name, sizeof name);
	else
		add_bytes(w, hex, sizeof hex);
}

static void add_string(struct writer *w, const char *text, size_t len)
{
	size_t i = 0;

	reserve_bytes(w, len + 2);
	add_char(w, '"');
	while (i < len) {
		size_t run = plain_run(text + i, len - i);

		add_bytes(w, text + i, run);
		i += run;
		if (i < len)
			add_escape(w, (unsigned char)text[i++]);
	}
	add_char(w, '"');
}

/* --- values --- */

static void add_value(struct writer *w, json_t *value);

/* The fewest digits with which a real reads back as the same double. With 17 digits, which are
 * always enough, 0.1 would be 0.10000000000000001. */
static size_t digits_of(double real)
{
	size_t digits = 15;
	char text[40];

	for (; digits < 17; digits++) {
		(void)snprintf(text, sizeof text, "%.*g", (int)digits, real);
		if (strtod(text, NULL) == real)
			break;
	}
	return digits;
}

static void add_number(struct writer *w, const json_t *value)
{
	const size_t digits = json_is_real(value) ? digits_of(json_real_value(value)) : 0;
	char text[64];
	size_t len = json_dumpb(value, text, sizeof text,
	                        JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));

	if (len == 0 || len > sizeof text)
		abort(); /* no number needs as much */
	add_bytes(w, text, len);
}

static void add_array(struct writer *w, json_t *array)
{
	json_t *item;
	size_t i;

	add_char(w, '[');
	json_array_foreach (array, i, item) {
		if (i != 0)
			add_char(w, ',');
		add_value(w, item);
	}
	add_char(w, ']');
}

static void add_object(struct writer *w, json_t *object)
{
	bool is_first = true;

	add_char(w, '{');
	for (void *at = json_object_iter(object); at != NULL;
	     at = json_object_iter_next(object, at)) {
		if (!is_first)
			add_char(w, ',');
		is_first = false;
		add_string(w, json_object_iter_key(at), json_object_iter_key_len(at));
		add_char(w, ':');
		add_value(w, json_object_iter_value(at));
	}
	add_char(w, '}');
}

static void add_value(struct writer *w, json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		add_object(w, value);
		break;
	case JSON_ARRAY:
		add_array(w, value);
		break;
	case JSON_STRING:
		add_string(w, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		add_number(w, value);
		break;
	case JSON_TRUE:
		add_bytes(w, "true", 4);
		break;
	case JSON_FALSE:
		add_bytes(w, "false", 5);
		break;
	case JSON_NULL:
		add_bytes(w, "null", 4);
		break;
	}
}

char *json_write(json_t *value, size_t *ret_len)
{
	struct writer w = { 0 };

	reserve_bytes(&w, 256);
	add_value(&w, value);
	*ret_len = w.len;
	add_char(&w, '\0');
	return w.text;
}
