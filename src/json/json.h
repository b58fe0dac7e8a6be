/* json.h - Jansson with limits on input, and with constructors that cannot fail.
 *
 * This folder is the only one that includes <jansson.h>. json_read() checks depth and number of
 * values before it allocates anything. Building cannot fail: running out of memory aborts (see
 * base/mem.h), and bytes that are not UTF-8 are replaced by U+FFFD.
 *
 * Ownership: constructors return a new reference; json_set() and json_push() take over the
 * reference of the value they are given; everything else borrows. */
#pragma once
#include <jansson.h>
#include <stdbool.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

static inline void cleanup_json(json_t **value)
{
	json_decref(*value);
}
#define AUTO_JSON CLEANUP(cleanup_json)

struct json_limits {
	size_t depth;  /* nested arrays and objects */
	size_t values; /* values in the whole text, members and elements included */
};

/* Parses one JSON text. ERR_SYNTAX: the text is not JSON in UTF-8. ERR_LIMIT: it is deeper or
 * larger than the limits. ERR_INVALID: an object has the same key twice, or a number fits neither
 * a double nor a 64-bit integer. With ERR_LIMIT and ERR_INVALID *ret_id, unless ret_id is NULL,
 * is the value of "id" in the top-level object (or NULL), so that the error response can name the
 * request. */
MUST_CHECK int json_read(struct view text, const struct json_limits *limits, json_t **ret,
                         json_t **ret_id, struct error *err);

/* These functions return NULL if the value is absent or of another type. A string that contains
 * U+0000 counts as another type: as a C string it would be cut there, and could pass a check that
 * the whole string would not pass. */
const char *json_as_text(const json_t *value);
const char *json_text(const json_t *object, const char *key); /* the string member `key` */
struct view json_view(const json_t *string); /* all of a string, with any U+0000 in it */
json_t *json_member(const json_t *object, const char *key, json_type type);

bool json_has(const json_t *object, const char *key);

/* False if the value is neither an integer nor a real without a fraction within 62 bits. */
bool json_as_int(const json_t *value, json_int_t *ret);

/* Describes a value for error messages: the string "abc", the number 5, an array. Returns out. */
const char *json_describe(const json_t *value, char *out, size_t size);

json_t *json_str(const char *text) RETURNS_NONNULL;
json_t *json_str_view(struct view text) RETURNS_NONNULL;
json_t *json_format(const char *fmt, ...) PRINTF_LIKE(1, 2) RETURNS_NONNULL;
json_t *json_obj(void) RETURNS_NONNULL;
json_t *json_pair(const char *key, json_t *value) RETURNS_NONNULL; /* an object with one member */
json_t *json_list(void) RETURNS_NONNULL;
json_t *json_list_of(json_t *value) RETURNS_NONNULL; /* an array with one element */
json_t *json_int(json_int_t value) RETURNS_NONNULL;
json_t *json_num(double value) RETURNS_NONNULL; /* an integer if value is one */

void json_set(json_t *object, const char *key, json_t *value);
void json_set_text(json_t *object, const char *key, const char *text); /* NULL: sets nothing */
void json_push(json_t *array, json_t *value);

/* The value as one line without spaces and without LF; the caller frees. */
char *json_write(json_t *value, size_t *ret_len) RETURNS_NONNULL;

/* Like json_write(), with the members of each object in the order of their names: equal values give
 * equal texts. */
char *json_write_sorted(json_t *value, size_t *ret_len) RETURNS_NONNULL;

/* The value as text for people: one value per line, indented by `indent` spaces (at most 31) per
 * level. With 0 everything is on one line, with spaces. No LF at the end; the caller frees. */
char *json_write_indented(json_t *value, size_t indent, size_t *ret_len) RETURNS_NONNULL;
