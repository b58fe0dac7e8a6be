/* encoding.h - Latin-1 (ISO 8859-1) and UTF-16 from and to UTF-8.
 *
 * Each function appends to `ret`, whose maximum bounds the result. What is not valid in the source
 * encoding, or cannot be expressed in the target encoding, is ERR_SYNTAX with its position. */
#pragma once
#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;

MUST_CHECK int latin1_decode(struct view bytes, struct buf *ret, struct error *err);
MUST_CHECK int latin1_encode(struct view text, struct buf *ret, struct error *err);
/* A byte order mark decides the byte order and is left out; without one, it is little-endian. */
MUST_CHECK int utf16_decode(struct view bytes, struct buf *ret, struct error *err);
/* Writes little-endian without a byte order mark. */
MUST_CHECK int utf16_encode(struct view text, struct buf *ret, struct error *err);
