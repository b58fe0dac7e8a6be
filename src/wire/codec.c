/* codec.c - encodes and decodes whole messages (declared in table.h). */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "wire/bytes.h"
#include "wire/table.h"

/* All members of the union have the same offset. */
#define BODY offsetof(struct wire_message, hello)

int wire_decode(const struct wire_frame *frame, struct wire_message *ret, struct error *err)
{
	const struct wire_spec *spec = wire_spec(frame->type);
	struct view rest = frame->payload;

	if (spec == NULL)
		return error_set(err, ERR_SYNTAX, "message %#x is unknown", frame->type);
	*ret = (struct wire_message){ .type = frame->type };
	if (wire_record_decode(&spec->record, &rest, (char *)ret + BODY, err) < 0)
		return error_wrap(err, "%s", spec->name);
	/* Bytes after the last field would be data that no check and no log of the message sees. */
	if (rest.len != 0)
		return error_set(err, ERR_SYNTAX, "%s: %zu bytes too many", spec->name, rest.len);
	return 0;
}

int wire_encode(const struct wire_message *message, uint32_t stream, uint8_t channel,
                struct buf *out, struct error *err)
{
	const struct wire_spec *spec = message->type < WIRE_TYPE_COUNT
	                                       ? wire_spec((uint8_t)message->type)
	                                       : NULL;
	struct wire_frame frame = { .type = (uint8_t)message->type,
		                    .channel = channel,
		                    .stream = stream };
	size_t start = out->len;
	char header[WIRE_HEADER] = { 0 };

	if (spec == NULL)
		return error_set(err, ERR_INVALID, "message %#x is unknown", message->type);
	if (buf_add(out, (struct view){ header, sizeof header }, err) < 0)
		return -1;
	if (wire_record_encode(&spec->record, (const char *)message + BODY, out, err) < 0) {
		buf_truncate(out, start);
		return error_wrap(err, "%s", spec->name);
	}
	frame.payload.len = out->len - start - WIRE_HEADER;
	if (frame.payload.len > WIRE_PAYLOAD_MAX) {
		buf_truncate(out, start);
		return error_set(err, ERR_LIMIT, "%s: %zu bytes, at most %d fit into a message",
		                 spec->name, frame.payload.len, WIRE_PAYLOAD_MAX);
	}
	wire_frame_header(&frame, out->ptr + start);
	return 0;
}

int wire_hello_version(struct view payload)
{
	if (payload.len < 6 || bytes_get32(payload.ptr) != WIRE_MAGIC)
		return -1;
	return bytes_get16(payload.ptr + 4);
}
