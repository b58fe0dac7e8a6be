/* header_value.h - the values of the headers Mcp-Name and Mcp-Param-*.
 *
 * A value that an HTTP header cannot carry as it is, is sent as "=?base64?...?=" with the padded
 * base64 of its UTF-8. A value without this prefix or without this suffix stands for itself. */
#pragma once
#include <stdbool.h>

#include "json/json.h"

/* True if the header's value stands for this text. False also if its base64 is not canonical. */
bool header_value_is_text(const char *value, const char *text);
/* True if the header's value stands for this JSON value: a string, true, false or an integer. An
 * integer may have a fraction of zeros in the header: "42.0" is 42. */
bool header_value_is_json(const char *value, const json_t *json);
