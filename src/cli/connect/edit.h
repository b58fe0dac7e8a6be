/* edit.h - inserts belljar's entry into the text of a client's JSON file, or updates it there.
 *
 * Every byte outside the entry stays as it is: comments, order, spacing, the form of numbers. A
 * text that cannot be edited safely is refused with the reason. */
#pragma once
#include "base/view.h"
#include "json/json.h"

struct buf;
struct entry;
struct error;

enum edit_result { EDIT_FAILED = -1, EDIT_ADDED, EDIT_REPLACED, EDIT_NOTHING };

/* Appends the new text to *ret; appends nothing with EDIT_NOTHING, when the entry is there already.
 * A blank text counts as an empty file. *ret_kept becomes the list of options of `belljar serve`
 * that an existing entry keeps because the new one names none, or NULL; the caller releases it. */
enum edit_result edit_json(struct view text, const struct entry *entry, struct buf *ret,
                           json_t **ret_kept, struct error *err);
