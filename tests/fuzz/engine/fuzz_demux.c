/* fuzz_demux.c - the stream of an attached container: all bytes of one feeding are used up or
 * refused, and the same bytes in two feedings give the same pieces. The first byte says where the
 * input is cut. */
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/docker/demux.h"
#include "fuzz/fuzz.h"

struct sums {
	size_t bytes[DEMUX_KIND_COUNT];
	int result;
};

static void feed(struct demux *demux, struct view rest, struct sums *sums)
{
	struct demux_piece piece;
	struct error err;

	while (sums->result >= 0 && (sums->result = demux_next(demux, &rest, &piece, &err)) > 0) {
		if (piece.bytes.len == 0 || piece.kind >= DEMUX_KIND_COUNT)
			abort();
		sums->bytes[piece.kind] += piece.bytes.len;
	}
	if (sums->result == 0 && rest.len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct demux whole = { 0 }, cut = { 0 };
	struct sums first = { 0 }, second = { 0 };
	const char *bytes = (const char *)data + 1;
	size_t at;

	if (size == 0)
		return 0;
	at = data[0] < size - 1 ? data[0] : size - 1;
	feed(&whole, (struct view){ bytes, size - 1 }, &first);
	feed(&cut, (struct view){ bytes, at }, &second);
	feed(&cut, (struct view){ bytes + at, size - 1 - at }, &second);
	for (int i = 0; i < DEMUX_KIND_COUNT; i++)
		if (first.bytes[i] != second.bytes[i])
			abort();
	return 0;
}
