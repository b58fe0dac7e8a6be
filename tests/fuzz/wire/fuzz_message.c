/* fuzz_message.c - encoding an accepted payload again gives the same bytes, and all its lists can
 * be read. The first byte is the type. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "wire/table.h"

static volatile uint64_t sink; /* makes the compiler read every byte */

static void check_text(struct view text)
{
	if (text.ptr[text.len] != '\0' || strlen(text.ptr) != text.len)
		abort();
}

static void walk_texts(const struct wire_texts *list)
{
	struct view rest = list->items;
	struct view text;
	size_t count = 0;

	while (wire_texts_next(&rest, &text)) {
		check_text(text);
		count++;
	}
	if (count != list->count || rest.len != 0)
		abort();
}

static void walk_field(const struct wire_field *field, const char *member)
{
	const struct view *view = (const void *)member;
	const struct wire_numbers *numbers = (const void *)member;
	const struct wire_limits *limits = (const void *)member;

	if (field->kind == WIRE_TEXT)
		check_text(*view);
	if (field->kind == WIRE_TEXT || field->kind == WIRE_BYTES || field->kind == WIRE_REST)
		for (size_t i = 0; i < view->len; i++)
			sink += (uint8_t)view->ptr[i];
	if (field->kind == WIRE_TEXTS)
		walk_texts((const void *)member);
	if (field->kind == WIRE_NUMBERS)
		for (size_t i = 0; i < numbers->count; i++)
			sink += wire_number_at(numbers, i);
	if (field->kind == WIRE_LIMITS)
		for (size_t i = 0; i < limits->count; i++)
			sink += wire_limit_at(limits, i).hard;
}

static void check_again(const struct wire_message *message, struct view payload)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	if (wire_encode(message, 1, 0, &out, &err) < 0 || out.len != WIRE_HEADER + payload.len)
		abort();
	if (payload.len != 0 && memcmp(out.ptr + WIRE_HEADER, payload.ptr, payload.len) != 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_message message;
	struct wire_frame frame = { .stream = 1 };
	const struct wire_spec *spec;
	struct error err = { .msg = "" };

	if (size == 0 || size - 1 > WIRE_PAYLOAD_MAX)
		return 0;
	frame.type = data[0];
	frame.payload = (struct view){ (const char *)data + 1, size - 1 };
	spec = wire_spec(frame.type);
	if (wire_decode(&frame, &message, &err) < 0) {
		if (err.msg[0] == '\0')
			abort();
		return 0;
	}
	if (spec == NULL || message.type != frame.type)
		abort();
	if (message.type == WIRE_HELLO && wire_hello_version(frame.payload) != WIRE_VERSION)
		abort();
	for (size_t i = 0; i < spec->record.count; i++)
		walk_field(&spec->record.fields[i],
		           (const char *)&message.hello + spec->record.fields[i].offset);
	check_again(&message, frame.payload);
	return 0;
}
