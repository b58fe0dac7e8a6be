/* internal.h - what the files of this folder share. param_decode.c checks values against a table,
 * param_meaning.c understands those of another type. */
#pragma once
#include "mcp/param/param.h"

/* The value that is meant: `value` itself, or another one that the arena owns. Nothing is guessed:
 * a value that has no meaning, or several, is returned as it is, for the error. */
json_t *param_meaning(const struct param *param, json_t *value, struct arena *arena);
/* The same for a text of STRINGS or MAP: a number, true and false become their text. */
json_t *param_text_meaning(json_t *value, struct arena *arena);
/* Whether the value is an array, or a string that holds one as JSON. */
bool param_is_list(json_t *value);

bool param_has_name(const struct param *param, const char *name);
