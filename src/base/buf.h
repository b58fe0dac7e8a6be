/* buf.h - a byte buffer that grows up to a maximum.
 *
 * A buffer cannot be made without a maximum, so input can never make the process allocate without
 * bound. Appending past the maximum fails with ERR_LIMIT and leaves the contents unchanged. A NUL
 * that is not counted in `len` follows the bytes, so text can be used as a C string.
 *
 *   buf_init() -> buf_add(), buf_clear() ... -> buf_done()    (the caller owns the struct) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

struct buf {
	char *ptr;  /* NULL until the first byte */
	size_t len; /* bytes in use */
	size_t cap; /* bytes allocated, terminator included */
	size_t max; /* len never exceeds this */
};

void buf_init(struct buf *buf, size_t max);
/* A buffer over the caller's memory of `size` bytes, the terminator included. The buffer never
 * grows; do not call buf_done() on it. */
static inline struct buf buf_fixed(char *ptr, size_t size)
{
	return (struct buf){ .ptr = ptr, .cap = size, .max = size - 1 };
}
void buf_done(struct buf *buf);
static inline void cleanup_buf(struct buf *buf)
{
	buf_done(buf);
}
#define AUTO_BUF CLEANUP(cleanup_buf)

MUST_CHECK int buf_add(struct buf *buf, struct view bytes, struct error *err);
MUST_CHECK int buf_printf(struct buf *buf, struct error *err, const char *fmt, ...)
        PRINTF_LIKE(3, 4);
/* The same for a text that may lose what does not fit. Returns whether there was room. */
bool buf_put(struct buf *buf, struct view bytes);
bool buf_putf(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);

void buf_clear(struct buf *buf);                /* empties; keeps at most 64 KiB allocated */
void buf_truncate(struct buf *buf, size_t len); /* keeps the first len bytes */
struct view buf_view(const struct buf *buf);
const char *buf_text(const struct buf *buf); /* terminated; "" while empty */
