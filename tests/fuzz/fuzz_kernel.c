/* fuzz_kernel.c - what an interpreter says is cut in the same way however it arrives; what is
 * taken keeps to the rules and lies within its frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "sandbox/interpreter/kernel_wire.h"

static void check_within(struct view part, struct view frame)
{
	if (part.ptr < frame.ptr || part.len > frame.len ||
	    part.ptr + part.len > frame.ptr + frame.len)
		abort();
	if (!utf8_is_valid(part))
		abort();
}

static void check_shown(const struct kernel_message *said, struct view frame)
{
	check_within(said->shown.mime, frame);
	check_within(said->shown.text, frame);
	check_within(said->shown.path, frame);
	if (said->shown.mime.len == 0 || said->shown.mime.len > 128)
		abort();
	if (said->shown.path.len == 0)
		return;
	if (said->shown.text.len != 0 || said->shown.path.len > 4096 ||
	    said->shown.path.ptr[0] != '/' ||
	    memchr(said->shown.path.ptr, '\0', said->shown.path.len) != NULL)
		abort();
}

static void check_said(const struct kernel_message *said, struct view frame)
{
	switch ((int)said->type) {
	case KERNEL_READY:
		check_within(said->ready.version, frame);
		if (said->ready.version.len == 0 || said->ready.version.len > 64)
			abort();
		return;
	case KERNEL_SHOWN:
		check_shown(said, frame);
		return;
	case KERNEL_ERROR:
		check_within(said->error.name, frame);
		check_within(said->error.message, frame);
		check_within(said->error.traceback, frame);
		return;
	case KERNEL_ENDED:
		if (said->ended.signal > 64 || (said->ended.code != 0 && said->ended.signal != 0))
			abort();
		return;
	default:
		abort();
	}
}

/* One byte less, and it must not be there yet; from exactly its bytes it must. */
static void check_edges(struct view frame)
{
	struct view shorter = { frame.ptr, frame.len - 1 };
	struct view exact = frame;
	struct kernel_message said;
	struct error err;

	if (kernel_take(&shorter, &said, &err) != 0 || shorter.len != frame.len - 1)
		abort();
	if (kernel_take(&exact, &said, &err) != 1 || exact.len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = { (const char *)data, size };
	struct kernel_message said;
	struct error err;

	for (;;) {
		struct view before = rest;
		int r = kernel_take(&rest, &said, &err);

		if (r != 1) {
			if (rest.ptr != before.ptr || rest.len != before.len)
				abort();
			if (r == 0 && rest.len >= KERNEL_MESSAGE_MAX)
				abort(); /* a whole frame always fits into so much */
			return 0;
		}
		before.len -= rest.len;
		if (rest.ptr != before.ptr + before.len || before.len < KERNEL_HEADER)
			abort();
		check_said(&said, before);
		check_edges(before);
	}
}
