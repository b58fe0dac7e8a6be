/* json.h - Jansson, and what we add around it.
 *
 * This folder is the only one that includes <jansson.h>. Reading goes through
 * json_read(), which bounds depth and number of values before anything is allocated.
 * Building cannot fail: allocation failure aborts (see base/mem.h) and text that is not
 * UTF-8 is mended with U+FFFD on the way in.
 *
 * Ownership: json_set() and json_push() take over the reference they are given. */
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

/* --- reading --- */

struct json_limits {
	size_t depth;  /* arrays and objects inside one another */
	size_t values; /* values in the whole text */
};

/* One JSON text. Refused with ERR_SYNTAX: what is not JSON in UTF-8. Refused with
 * ERR_LIMIT or ERR_INVALID though it may be JSON: deeper or larger than the limits, the
 * same key twice in an object, a number no double or 64-bit integer can hold. For those
 * *ret_id, if asked for, is the value of the top level's "id" (or NULL), so that the
 * sender can be told which message was refused. */
MUST_CHECK int json_read(struct view text, const struct json_limits *limits, json_t **ret,
                         json_t **ret_id, struct error *err);

/* Borrowed; NULL if absent or of another type. Text with a NUL inside is no C string, and
 * counts as another type: cut short it could pass for something else. */
const char *json_as_text(const json_t *value);
const char *json_text(const json_t *object, const char *key);
json_t *json_member(const json_t *object, const char *key, json_type type);
bool json_has(const json_t *object, const char *key);

/* True for integers, and for reals without a fraction that fit. */
bool json_as_int(const json_t *value, json_int_t *ret);

/* A short description for error messages: the string "abc", the number 5, an array ... */
const char *json_describe(const json_t *value, char *out, size_t size);

/* --- building --- */

json_t *json_str(const char *text) RETURNS_NONNULL;
json_t *json_str_view(struct view text) RETURNS_NONNULL;
json_t *json_format(const char *fmt, ...) PRINTF_LIKE(1, 2) RETURNS_NONNULL;
json_t *json_obj(void) RETURNS_NONNULL;
json_t *json_list(void) RETURNS_NONNULL;
json_t *json_int(json_int_t value) RETURNS_NONNULL;
json_t *json_num(double value) RETURNS_NONNULL; /* whole numbers print without a fraction */

void json_set(json_t *object, const char *key, json_t *value);
void json_set_text(json_t *object, const char *key, const char *text); /* NULL: leaves it out */
void json_push(json_t *array, json_t *value);

/* One line without spaces, not terminated by a newline; the caller frees. */
char *json_write(json_t *value, size_t *ret_len) RETURNS_NONNULL;

/* For people to read: a line for each value, `indent` (at most 31) spaces a level; 0: all on
 * one line, with spaces between. Not terminated by a newline; the caller frees. */
char *json_write_indented(json_t *value, size_t indent, size_t *ret_len) RETURNS_NONNULL;
