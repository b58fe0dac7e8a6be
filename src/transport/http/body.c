#include "transport/http/body.h"

#include <stdbool.h>

#include "base/num.h"
#include "transport/http/chars.h"
#include "transport/http/head.h"

enum {
	SIZE_DIGITS_MAX = 8, /* of one chunk: up to 4 GiB */
	/* Bytes of all extensions and trailers of a body. They are no part of max_body, so a client
	 * could send them without end. */
	EXTRA_MAX = 16 * 1024,
};

void body_init(struct body_reader *reader, const struct head *head)
{
	*reader = (struct body_reader){
		.state = head->is_chunked ? BODY_STATE_SIZE : BODY_STATE_LENGTH,
		.left = head->length,
		.extra_left = EXTRA_MAX,
	};
}

static void end_size(struct body_reader *reader)
{
	reader->state = reader->left == 0 ? BODY_STATE_TRAILER : BODY_STATE_CHUNK;
	reader->digits = 0;
}

/* A size has at least one digit, and nothing but an extension follows it: no sign, no "0x", no
 * white space. */
static bool take_size_byte(struct body_reader *reader, char c)
{
	if (char_is(c, CHAR_HEX)) {
		if (reader->digits++ == SIZE_DIGITS_MAX)
			return false;
		reader->left = reader->left << 4 | char_hex_value(c);
		return true;
	}
	if (reader->digits == 0 || (c != '\r' && c != ';'))
		return false;
	reader->state = c == '\r' ? BODY_STATE_SIZE_LF : BODY_STATE_EXTENSION;
	return true;
}

/* Takes a byte of an extension or a trailer, which are counted: one of `class`, or `end`, which
 * leads to the state `next`. Trailers are checked and dropped: a field that comes after the body,
 * such as Authorization or Content-Length, must not change what was decided by the head. */
static bool take_extra_byte(struct body_reader *reader, char c, enum char_class class, char end,
                            enum body_state next)
{
	if (reader->extra_left == 0)
		return false;
	reader->extra_left--;
	if (c != end)
		return char_is(c, class);
	reader->state = next;
	return true;
}

static bool expect_byte(struct body_reader *reader, char c, char expected, enum body_state next)
{
	reader->state = next;
	return c == expected;
}

/* Takes one byte that is not a part of the body. */
static bool take_byte(struct body_reader *reader, char c)
{
	switch (reader->state) {
	case BODY_STATE_SIZE:
		return take_size_byte(reader, c);
	case BODY_STATE_SIZE_LF:
		end_size(reader);
		return c == '\n';
	case BODY_STATE_CHUNK_CR:
		return expect_byte(reader, c, '\r', BODY_STATE_CHUNK_LF);
	case BODY_STATE_CHUNK_LF:
		return expect_byte(reader, c, '\n', BODY_STATE_SIZE);
	case BODY_STATE_TRAILER_LF:
		return expect_byte(reader, c, '\n', BODY_STATE_TRAILER);
	case BODY_STATE_END_LF:
		return expect_byte(reader, c, '\n', BODY_STATE_DONE);
	case BODY_STATE_EXTENSION:
		return take_extra_byte(reader, c, CHAR_VALUE, '\r', BODY_STATE_SIZE_LF);
	case BODY_STATE_TRAILER:
		reader->state = BODY_STATE_TRAILER_NAME;
		return take_extra_byte(reader, c, CHAR_TOKEN, '\r', BODY_STATE_END_LF);
	case BODY_STATE_TRAILER_NAME:
		return take_extra_byte(reader, c, CHAR_TOKEN, ':', BODY_STATE_TRAILER_VALUE);
	case BODY_STATE_TRAILER_VALUE:
		return take_extra_byte(reader, c, CHAR_VALUE, '\r', BODY_STATE_TRAILER_LF);
	case BODY_STATE_LENGTH:
	case BODY_STATE_CHUNK:
	case BODY_STATE_DONE:
		break;
	}
	return false;
}

/* Takes bytes of the body or of a chunk; `next` follows the last one. */
static struct view take_data(struct body_reader *reader, struct view *bytes, enum body_state next)
{
	struct view data = { bytes->ptr, (size_t)num_min(bytes->len, reader->left) };

	reader->left -= data.len;
	bytes->ptr += data.len;
	bytes->len -= data.len;
	if (reader->left == 0)
		reader->state = next;
	return data;
}

enum body_result body_next(struct body_reader *reader, struct view *bytes, struct view *ret_data)
{
	for (;;) {
		if (reader->state == BODY_STATE_LENGTH && reader->left == 0)
			reader->state = BODY_STATE_DONE;
		if (reader->state == BODY_STATE_DONE)
			return BODY_DONE;
		if (bytes->len == 0)
			return BODY_MORE;
		if (reader->state == BODY_STATE_LENGTH || reader->state == BODY_STATE_CHUNK) {
			*ret_data = take_data(reader, bytes,
			                      reader->state == BODY_STATE_LENGTH
			                              ? BODY_STATE_DONE
			                              : BODY_STATE_CHUNK_CR);
			return BODY_DATA;
		}
		if (!take_byte(reader, *bytes->ptr))
			return BODY_BAD;
		bytes->ptr++;
		bytes->len--;
	}
}
