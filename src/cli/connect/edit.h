/* edit.h - puts our entry into the text of a client's file.
 *
 * Everything else in the text stays byte for byte as it is: order, spacing, numbers.
 * What cannot be edited safely is refused, and nothing was changed. */
#pragma once
#include "base/view.h"

struct buf;
struct entry;
struct error;

enum edit_result { EDIT_FAILED = -1, EDIT_ADDED, EDIT_REPLACED, EDIT_NOTHING };

/* Appends the new text to *ret, unless there is nothing to do. A blank text counts as an
 * empty file. */
enum edit_result edit_json(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err);
enum edit_result edit_toml(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err);
