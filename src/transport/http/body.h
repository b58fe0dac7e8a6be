/* body.h - reads the body of a request from a byte stream: its declared length, or chunks.
 *
 * The reader keeps no bytes and knows no connection. Extensions of chunks and trailer fields are
 * checked, limited and dropped. The caller owns the struct and limits the length of the body.
 *
 *   body_init() -> body_next() until BODY_DONE or BODY_BAD */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"

struct head;

enum body_result {
	BODY_DATA, /* *ret_data is the next part of the body */
	BODY_MORE, /* *bytes is empty; the body is not complete */
	BODY_DONE, /* *bytes begins after the body */
	BODY_BAD,  /* the chunks are malformed */
};

enum body_state {
	BODY_STATE_LENGTH, /* `left` more bytes of a body with a declared length */
	BODY_STATE_SIZE,
	BODY_STATE_EXTENSION,
	BODY_STATE_SIZE_LF,
	BODY_STATE_CHUNK,
	BODY_STATE_CHUNK_CR,
	BODY_STATE_CHUNK_LF,
	BODY_STATE_TRAILER, /* at the beginning of a line */
	BODY_STATE_TRAILER_NAME,
	BODY_STATE_TRAILER_VALUE,
	BODY_STATE_TRAILER_LF,
	BODY_STATE_END_LF,
	BODY_STATE_DONE,
};

struct body_reader {
	enum body_state state;
	uint64_t left;     /* of the body or the chunk; while a size is read, its value so far */
	unsigned digits;   /* of the size */
	size_t extra_left; /* bytes that extensions and trailers may still have */
};

void body_init(struct body_reader *reader, const struct head *head);
/* Moves bytes from the front of *bytes. */
enum body_result body_next(struct body_reader *reader, struct view *bytes, struct view *ret_data);
