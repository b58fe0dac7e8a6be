/* client_show.h - what a server answered, for people. Text is a stranger's: on a terminal, commands
 * to the terminal are left out of it. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"
#include "json/json.h"

/* Lines of text, each behind `indent` spaces, at most `lines` of them (0: all). */
void show_text(struct view text, size_t indent, size_t lines);
/* The blocks of a result of tools/call. */
void show_content(const json_t *blocks, size_t indent, size_t lines);
/* One block: text, a picture, a resource. */
void show_block(const json_t *block, size_t indent, size_t lines);
/* Names with what they are for: tools, prompts, resources. `name` is the key of the former. */
void show_list(const json_t *list, const char *name);
/* The value on one line. */
void show_json(json_t *value);
/* On standard error, over what was shown there before; NULL: wipes it. */
void show_progress(const json_t *params);
