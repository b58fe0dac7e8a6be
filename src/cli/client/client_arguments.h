/* client_arguments.h - the arguments of a tool as a person types them. */
#pragma once
#include "base/attr.h"
#include "json/json.h"

struct error;

/* Reads a JSON object, or words such as path=a.txt content='some text' n=3. A value may be quoted
 * as in a shell. If the schema has the argument as a string, the value is that text; else it is
 * JSON, or a text if it is no JSON. "" is an empty object. `schema` may be NULL. */
MUST_CHECK int client_arguments(const char *text, const json_t *schema, json_t **ret,
                                struct error *err);
