/* edit.h - inserts belljar's entry into the text of a client's JSON file, or updates it there.
 *
 * Every byte outside the entry stays as it is: comments, order, spacing, the form of numbers. A
 * text that cannot be edited safely is refused with the reason. */
#pragma once
#include "base/view.h"

struct buf;
struct entry;
struct error;

enum edit_result { EDIT_FAILED = -1, EDIT_ADDED, EDIT_REPLACED, EDIT_NOTHING };

/* Appends the new text to *ret; appends nothing with EDIT_NOTHING, when the entry is there already.
 * A blank text counts as an empty file. */
enum edit_result edit_json(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err);
