/* json_walk.h - where an object's members stand in a JSON text.
 *
 * For editing a text without writing it anew. The text must have passed json_read(): the
 * walk only looks for where things begin and end, and trusts that it is well formed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

/* Offsets into the text. */
struct json_place {
	size_t open, close;   /* of its braces */
	size_t first_key;     /* of the first member; 0: the object is empty */
	size_t last_end;      /* behind the last member's value */
	bool found;           /* the member that was looked for */
	size_t before_key;    /* behind the brace or comma before it */
	size_t key;           /* its key */
	size_t value, behind; /* its value, and the first byte behind that */
};

/* The first byte that is not blank. */
size_t json_walk_start(struct view text);

/* The object whose brace is at `open`, and its member `key` if it has one. */
struct json_place json_walk(struct view text, size_t open, const char *key);
