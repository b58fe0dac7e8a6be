#include "egress/chunk_reader.h"

#include <stddef.h>

#include "base/num.h"

enum {
	SIZE_DIGITS_MAX = 12, /* 48 bits, so that `left` cannot overflow */
	SKIPPED_MAX = 16 * 1024,
};

enum {
	STEP_SIZE,
	STEP_EXTENSION,
	STEP_SIZE_LF,
	STEP_DATA,
	STEP_CR,
	STEP_LF,
	STEP_TRAILER,      /* at the beginning of a line */
	STEP_TRAILER_LINE, /* within one */
	STEP_TRAILER_LF,
	STEP_LAST_LF,
};

/* Digits only. strtoull() would take "+5", "0x5" and blanks in front as well; where two parsers
 * read different sizes, bytes of a body become a message of their own (request smuggling). */
static int take_size(struct chunk_reader *reader, char c)
{
	int digit = num_hex_digit(c);

	if (digit >= 0 && reader->digits < SIZE_DIGITS_MAX) {
		reader->left = reader->left * 16 + (uint64_t)digit;
		reader->digits++;
		return 0;
	}
	if (reader->digits == 0)
		return -1;
	if (c == '\r')
		reader->step = STEP_SIZE_LF;
	else if (reader->skips_extras && (c == ';' || c == ' ' || c == '\t'))
		reader->step = STEP_EXTENSION;
	else
		return -1;
	return 0;
}

/* Reads a byte of an extension or a trailer; a carriage return leads to the step `at_cr`. */
static int skip_byte(struct chunk_reader *reader, char c, uint8_t at_cr)
{
	if (c == '\r')
		reader->step = at_cr;
	else if (!reader->skips_extras || c == '\n' || ++reader->skipped > SKIPPED_MAX)
		return -1;
	return 0;
}

static int expect_byte(struct chunk_reader *reader, char c, char wanted, uint8_t next)
{
	if (c != wanted)
		return -1;
	reader->step = next;
	reader->digits = 0;
	return 0;
}

static int take_frame_byte(struct chunk_reader *reader, char c)
{
	switch (reader->step) {
	case STEP_SIZE:
		return take_size(reader, c);
	case STEP_EXTENSION:
		return skip_byte(reader, c, STEP_SIZE_LF);
	case STEP_SIZE_LF:
		return expect_byte(reader, c, '\n', reader->left != 0 ? STEP_DATA : STEP_TRAILER);
	case STEP_CR:
		return expect_byte(reader, c, '\r', STEP_LF);
	case STEP_LF:
		reader->skipped = 0; /* some servers pad the size of every chunk */
		return expect_byte(reader, c, '\n', STEP_SIZE);
	case STEP_TRAILER:
		reader->step = STEP_TRAILER_LINE;
		return skip_byte(reader, c, STEP_LAST_LF);
	case STEP_TRAILER_LINE:
		return skip_byte(reader, c, STEP_TRAILER_LF);
	case STEP_TRAILER_LF:
		return expect_byte(reader, c, '\n', STEP_TRAILER);
	default: /* STEP_LAST_LF */
		reader->is_done = c == '\n';
		return reader->is_done ? 0 : -1;
	}
}

int chunk_reader_next(struct chunk_reader *reader, struct view *bytes, struct view *ret)
{
	*ret = (struct view){ bytes->ptr, 0 };
	while (bytes->len != 0 && !reader->is_done && ret->len == 0) {
		size_t n = 1;

		if (reader->step == STEP_DATA) {
			n = reader->left < bytes->len ? (size_t)reader->left : bytes->len;
			*ret = (struct view){ bytes->ptr, n };
			reader->left -= n;
			reader->step = reader->left != 0 ? STEP_DATA : STEP_CR;
		} else if (take_frame_byte(reader, bytes->ptr[0]) < 0)
			return -1;
		bytes->ptr += n;
		bytes->len -= n;
	}
	return 0;
}
