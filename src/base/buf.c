#include "base/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"

enum { FIRST_CAP = 256, KEEP_CAP = 64 * 1024 };

void buf_init(struct buf *buf, size_t max)
{
	assert(max != 0 && max < SIZE_MAX / 4);
	*buf = (struct buf){ .max = max };
}

void buf_done(struct buf *buf)
{
	free(buf->ptr);
	*buf = (struct buf){ .max = buf->max };
}

/* Makes room for `more` bytes. The caller has checked them against the maximum. */
static void reserve_room(struct buf *buf, size_t more)
{
	size_t need = buf->len + more + 1;
	size_t cap = buf->cap != 0 ? buf->cap : FIRST_CAP;

	if (need <= buf->cap)
		return;
	while (cap < need)
		cap *= 2;
	if (cap > buf->max + 1)
		cap = buf->max + 1;
	buf->ptr = mem_resize(buf->ptr, cap);
	buf->cap = cap;
}

static int check_room(const struct buf *buf, size_t more, struct error *err)
{
	if (more > buf->max - buf->len)
		return error_set(err, ERR_LIMIT, "more than %zu bytes", buf->max);
	return 0;
}

int buf_add(struct buf *buf, struct view bytes, struct error *err)
{
	if (check_room(buf, bytes.len, err) < 0)
		return -1;
	if (bytes.len == 0)
		return 0;
	reserve_room(buf, bytes.len);
	memcpy(buf->ptr + buf->len, bytes.ptr, bytes.len);
	buf->len += bytes.len;
	buf->ptr[buf->len] = '\0';
	return 0;
}

int buf_printf(struct buf *buf, struct error *err, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0)
		return error_sys(err, "format text");
	if (check_room(buf, (size_t)len, err) < 0)
		return -1;
	reserve_room(buf, (size_t)len);
	va_start(args, fmt);
	(void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, fmt, args);
	va_end(args);
	buf->len += (size_t)len;
	return 0;
}

bool buf_put(struct buf *buf, struct view bytes)
{
	struct error full;

	return buf_add(buf, bytes, &full) == 0;
}

bool buf_putf(struct buf *buf, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, fmt);
	text = mem_vformat(fmt, args);
	va_end(args);
	return buf_put(buf, view_of(text));
}

void buf_truncate(struct buf *buf, size_t len)
{
	assert(len <= buf->len);
	buf->len = len;
	if (buf->ptr != NULL)
		buf->ptr[len] = '\0';
}

void buf_clear(struct buf *buf)
{
	if (buf->cap > KEEP_CAP) {
		buf_done(buf);
		return;
	}
	buf->len = 0;
	if (buf->ptr != NULL)
		buf->ptr[0] = '\0';
}

struct view buf_view(const struct buf *buf)
{
	return (struct view){ .ptr = buf->ptr, .len = buf->len };
}

const char *buf_text(const struct buf *buf)
{
	return buf->ptr != NULL ? buf->ptr : "";
}
