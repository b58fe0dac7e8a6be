/* client_show.h - prints the results of a server as text for the user. The results are untrusted:
 * on a terminal, escape sequences are removed from them. */
#pragma once
#include <stddef.h>

#include "json/json.h"

/* Prints the content blocks of a tools/call result: of each text at most `lines` lines (0: all),
 * indented by `indent` spaces. */
void show_content(const json_t *blocks, size_t indent, size_t lines);
/* Prints one content block: text, or a line that describes a picture, a sound or a file. */
void show_block(const json_t *block, size_t indent, size_t lines);
/* Prints a list of tools, prompts or resources with their descriptions; `name` is the member that
 * names an entry. */
void show_list(const json_t *list, const char *name);
/* Prints the value on one line. */
void show_json(json_t *value);
/* Shows a progress message on standard error, in place of the one before; NULL clears the line. */
void show_progress(const json_t *params);
