/* demux.h - takes the stream of an attached container apart into standard output and error.
 *
 * Docker puts a header of 8 bytes in front of every piece: the number of the stream, three zeros,
 * and the length in big endian. A hostile length does no harm, because it is only counted down and
 * nothing is allocated by it. The struct is the caller's; all zeros is its initial state. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct error;

enum demux_kind { DEMUX_STDIN, DEMUX_STDOUT, DEMUX_STDERR, DEMUX_DAEMON, DEMUX_KIND_COUNT };

struct demux {
	unsigned char head[8];
	size_t head_len; /* bytes of the header that have arrived */
	uint32_t left;   /* bytes of the piece that have not arrived */
};

struct demux_piece {
	enum demux_kind kind; /* DEMUX_DAEMON: a message of the daemon itself */
	struct view bytes;    /* not empty; in the caller's memory */
};

/* Moves the next bytes of one stream from *rest to *ret. 1: there are some. 0: *rest is empty. -1:
 * the header is not one that Docker sends. */
MUST_CHECK int demux_next(struct demux *demux, struct view *rest, struct demux_piece *ret,
                          struct error *err);
/* Whether the stream may end here: not within a header or a piece. */
MUST_CHECK int demux_check_end(const struct demux *demux, struct error *err);
