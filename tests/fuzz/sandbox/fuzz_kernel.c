/* fuzz_kernel.c - the messages of an interpreter are split in the same way however they arrive. A
 * message that is accepted keeps the rules and lies within its frame. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"
#include "sandbox/interpreter/kernel_wire.h"

static void check_within(struct view part, struct view frame)
{
	if (part.ptr < frame.ptr || part.len > frame.len ||
	    part.ptr + part.len > frame.ptr + frame.len)
		abort();
	if (!utf8_is_valid(part))
		abort();
}

static void check_shown(const struct kernel_message *message, struct view frame)
{
	check_within(message->shown.mime, frame);
	check_within(message->shown.text, frame);
	check_within(message->shown.path, frame);
	if (message->shown.id.len != 0)
		check_within(message->shown.id, frame);
	if (message->shown.mime.len == 0 || message->shown.mime.len > 128)
		abort();
	if (message->shown.path.len == 0)
		return;
	if (message->shown.text.len != 0 || message->shown.path.len > 4096 ||
	    message->shown.path.ptr[0] != '/' ||
	    memchr(message->shown.path.ptr, '\0', message->shown.path.len) != NULL)
		abort();
}

static void check_message(const struct kernel_message *message, struct view frame)
{
	switch ((int)message->type) {
	case KERNEL_READY:
		check_within(message->ready.version, frame);
		if (message->ready.version.len == 0 || message->ready.version.len > 64)
			abort();
		return;
	case KERNEL_SHOWN:
		check_shown(message, frame);
		return;
	case KERNEL_CLEARED:
		check_within(message->cleared.id, frame);
		if (message->cleared.id.len > 128)
			abort();
		return;
	case KERNEL_TEXT:
		if (frame.len != KERNEL_HEADER)
			abort();
		return;
	case KERNEL_NAMES:
		check_within(message->names.names, frame);
		if (message->names.names.len > KERNEL_NAMES_MAX)
			abort();
		return;
	case KERNEL_LEFT:
		check_within(message->left.commands, frame);
		return;
	case KERNEL_ERROR:
		check_within(message->error.name, frame);
		check_within(message->error.message, frame);
		check_within(message->error.traceback, frame);
		return;
	case KERNEL_ENDED:
		if (message->ended.signal > 64 ||
		    (message->ended.code != 0 && message->ended.signal != 0))
			abort();
		return;
	default:
		abort();
	}
}

/* Without its last byte the message is incomplete; with exactly its bytes it is complete. */
static void check_edges(struct view frame)
{
	struct view shorter = { frame.ptr, frame.len - 1 };
	struct view exact = frame;
	struct kernel_message message;
	struct error err;

	if (kernel_decode(&shorter, &message, &err) != 0 || shorter.len != frame.len - 1)
		abort();
	if (kernel_decode(&exact, &message, &err) != 1 || exact.len != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = { (const char *)data, size };
	struct kernel_message message;
	struct error err;

	for (;;) {
		struct view before = rest;
		int r = kernel_decode(&rest, &message, &err);

		if (r != 1) {
			if (rest.ptr != before.ptr || rest.len != before.len)
				abort();
			if (r == 0 && rest.len >= KERNEL_MESSAGE_MAX)
				abort(); /* a complete frame is never longer */
			return 0;
		}
		before.len -= rest.len;
		if (rest.ptr != before.ptr + before.len || before.len < KERNEL_HEADER)
			abort();
		check_message(&message, before);
		check_edges(before);
	}
}
