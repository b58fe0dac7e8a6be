/* fuzz_sse.c - server-sent events that `belljar client` reads give the same lines however they are
 * split. The first byte chooses the size of the pieces, the rest is the stream. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "cli/client/sse_reader.h"
#include "fuzz/fuzz.h"

enum { EVENT_MAX = 256 };

/* False: an event is too long. */
static bool read_events(struct view bytes, size_t piece, struct sse_reader *reader, struct buf *ret)
{
	struct error err;

	for (size_t at = 0; at < bytes.len; at += piece) {
		size_t left = bytes.len - at;

		if (sse_reader_feed(reader,
		                    (struct view){ bytes.ptr + at, left < piece ? left : piece },
		                    ret, &err) < 0)
			return false;
	}
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sse_reader whole, split;
	AUTO_BUF struct buf lines;
	AUTO_BUF struct buf others;
	struct view bytes;

	if (size == 0)
		return 0;
	bytes = (struct view){ (const char *)data + 1, size - 1 };
	buf_init(&lines, 1 << 24);
	buf_init(&others, 1 << 24);
	sse_reader_init(&whole, EVENT_MAX);
	sse_reader_init(&split, EVENT_MAX);
	fuzz_check(read_events(bytes, bytes.len + 1, &whole, &lines) ==
	           read_events(bytes, 1 + data[0] % 16U, &split, &others));
	fuzz_check(lines.len == others.len &&
	           (lines.len == 0 || memcmp(lines.ptr, others.ptr, lines.len) == 0));
	fuzz_check(strcmp(whole.last_id, split.last_id) == 0 && whole.retry_ms == split.retry_ms);
	fuzz_check(strlen(whole.last_id) <= SSE_ID_MAX && whole.retry_ms <= SSE_RETRY_MAX_MS);
	sse_reader_done(&whole);
	sse_reader_done(&split);
	return 0;
}
