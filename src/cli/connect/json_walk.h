/* json_walk.h - finds the offsets of an object's members in a JSON text, to edit the text in place.
 *
 * The text must have passed json_read(): json_walk() relies on its syntax being right. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

/* Offsets into the text. */
struct json_place {
	size_t open, close;   /* the object's braces */
	size_t first_key;     /* the first member's key; 0: the object is empty */
	size_t last_end;      /* the first byte after the last member's value */
	bool found;           /* the object has the wanted member; the rest is about it */
	size_t before_key;    /* the first byte after the brace or comma before it */
	size_t key;           /* its key */
	size_t value, behind; /* its value, and the first byte after that */
};

/* The offset of the first byte that is not blank. */
size_t json_walk_start(struct view text);

/* Walks the object whose brace is at `open`, looking for the member `key`. */
struct json_place json_walk(struct view text, size_t open, const char *key);
