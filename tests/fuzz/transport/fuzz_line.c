/* fuzz_line.c - a byte stream gives the same lines however it is split. The first byte chooses
 * the size of the pieces, the rest is the stream. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "transport/line_reader.h"

enum { LINE_MAX_BYTES = 64 };

static void add_line(struct buf *seen, struct view bytes)
{
	struct error err;

	if (buf_add(seen, bytes, &err) < 0 || buf_add(seen, (struct view){ "\n", 1 }, &err) < 0)
		abort();
}

static void on_line(void *ctx, struct view line)
{
	if (line.len == 0 || line.len > LINE_MAX_BYTES || memchr(line.ptr, '\n', line.len) != NULL)
		abort();
	add_line(ctx, line);
}

static void on_too_long(void *ctx, struct view first, struct view last)
{
	if (first.len > LINE_READER_EDGE_MAX || last.len > LINE_READER_EDGE_MAX)
		abort();
	add_line(ctx, view_of("(too long)"));
}

static const struct line_reader_events events = { on_line, on_too_long };

static void read_lines(struct view bytes, size_t piece, struct buf *seen)
{
	struct line_reader reader;

	line_reader_init(&reader, LINE_MAX_BYTES, &events, seen);
	for (size_t at = 0; at < bytes.len; at += piece) {
		size_t left = bytes.len - at;

		line_reader_feed(&reader,
		                 (struct view){ bytes.ptr + at, left < piece ? left : piece });
		if (reader.partial.len > LINE_MAX_BYTES + 4) /* byte order mark and CR */
			abort();
	}
	line_reader_end(&reader);
	line_reader_done(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf whole;
	AUTO_BUF struct buf pieces;
	struct view bytes;

	buf_init(&whole, 1 << 24);
	buf_init(&pieces, 1 << 24);
	if (size == 0)
		return 0;
	bytes = (struct view){ (const char *)data + 1, size - 1 };
	read_lines(bytes, bytes.len + 1, &whole);
	read_lines(bytes, (size_t)data[0] % 16 + 1, &pieces);
	if (whole.len != pieces.len ||
	    (whole.len != 0 && memcmp(whole.ptr, pieces.ptr, whole.len) != 0))
		abort();
	return 0;
}
