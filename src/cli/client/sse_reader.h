/* sse_reader.h - decodes server-sent events into lines of JSON, one for each event with data.
 *
 *   sse_reader_init -> sse_reader_feed ... -> sse_reader_done
 *
 * The bytes come from a server and are hostile: a line and the data of an event are bounded. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"

struct error;

enum { SSE_ID_MAX = 255, SSE_RETRY_MAX_MS = 30000 };

struct sse_reader {
	struct buf line, data;
	bool was_cr;                  /* the last byte was CR: an LF behind it ends no other line */
	char last_id[SSE_ID_MAX + 1]; /* of the last event that had one; "": none */
	unsigned retry_ms;            /* before a client reconnects; 0: the server has not said */
};

/* max: bytes of a line, and of the data of one event. */
void sse_reader_init(struct sse_reader *reader, size_t max);
void sse_reader_done(struct sse_reader *reader);
/* Discards an event that is incomplete; the last id stays. */
void sse_reader_restart(struct sse_reader *reader);
/* Appends the data of each complete event and a line end to *ret. Line ends within the data, which
 * in JSON can only stand between two tokens, become spaces. */
MUST_CHECK int sse_reader_feed(struct sse_reader *reader, struct view bytes, struct buf *ret,
                               struct error *err);
