/* chunk_reader.h - takes a body of HTTP/1.1 in chunks apart: hostile input.
 *
 *   SIZE [; extension] CR LF, SIZE bytes, CR LF ... 0 CR LF, [trailers], CR LF
 *
 * The struct is the caller's, zeroed. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct chunk_reader {
	/* Set by the caller: extensions and trailers are passed over, within a limit. Otherwise
	 * they are malformed: parsers differ in them, so they could hide a second message. */
	bool skips_extras;
	bool is_done;     /* the last byte of the body was read */
	uint64_t left;    /* bytes of the current chunk that have not arrived */
	uint8_t step;     /* within the frame of a chunk */
	uint8_t digits;   /* of the chunk's size */
	unsigned skipped; /* bytes of this chunk's extensions, or of trailers */
};

/* Moves bytes from *bytes until there are bytes of a chunk, which become *ret; an empty *ret: all
 * bytes were read, or the body ends here. -1: a chunk is malformed. */
MUST_CHECK int chunk_reader_next(struct chunk_reader *reader, struct view *bytes, struct view *ret);
