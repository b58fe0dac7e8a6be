/* buf.h - a growing byte buffer that cannot exist without a maximum.
 *
 * A stranger may decide how much we store, never how much we could store. Appending
 * past the maximum fails with ERR_LIMIT and leaves the contents as they were. The bytes
 * are followed by a terminator that does not count, so text can be used as a string.
 *
 *   buf_init -> append, clear ... -> buf_done    (the struct is the caller's) */
#pragma once
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
/* Over memory that is somebody else's, terminator included: it never grows, buf_done() is not for
 * it. */
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

void buf_clear(struct buf *buf);                /* empty; keeps at most 64 KiB allocated */
void buf_truncate(struct buf *buf, size_t len); /* keeps the first len bytes */
struct view buf_view(const struct buf *buf);
const char *buf_text(const struct buf *buf); /* terminated; "" while empty */
