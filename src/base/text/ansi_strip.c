#include "base/text/ansi_strip.h"

#include <stdbool.h>

enum { CANCEL = 0x18, SUBSTITUTE = 0x1a, BELL = 0x07, ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

static bool is_between(unsigned char byte, unsigned char first, unsigned char last)
{
	return byte >= first && byte <= last;
}

/* True: the byte is printed. */
static bool take_text(struct ansi_strip *plain, unsigned char byte)
{
	plain->state = byte == ESC ? STRIP_ESCAPE : byte == C2 ? STRIP_C2 : STRIP_TEXT;
	if (plain->state != STRIP_TEXT || byte == DEL)
		return false;
	return byte >= ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* What follows ESC, or stands in its place: commands of one character, or the start of a long
 * one. `kind` is the letter that would follow ESC. */
static void take_kind(struct ansi_strip *plain, unsigned char kind)
{
	switch (kind) {
	case '[':
		plain->state = STRIP_CSI;
		break;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		plain->state = STRIP_STRING;
		break;
	default:
		plain->state = is_between(kind, ' ', '/') ? STRIP_ESCAPE : STRIP_TEXT;
		break;
	}
}

/* A control in a command ends it and counts for itself; so does a line's end, so that what was
 * begun and never ended hides no more than its line. */
static bool take_command(struct ansi_strip *plain, unsigned char byte)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(plain, byte);
	if (plain->state == STRIP_ESCAPE)
		take_kind(plain, byte);
	else if (byte >= '@')
		plain->state = STRIP_TEXT;
	return false;
}

static bool take_string(struct ansi_strip *plain, unsigned char byte)
{
	if (byte == '\n' || byte == ESC)
		return take_text(plain, byte);
	if (byte == BELL || byte == CANCEL || byte == SUBSTITUTE)
		plain->state = STRIP_TEXT;
	else
		plain->state = byte == C2 ? STRIP_STRING_C2 : STRIP_STRING;
	return false;
}

/* U+0080 to U+009F are commands too: ESC and a letter in one character. A first byte without a
 * second one is dropped, lest it find another. */
static bool take_second(struct ansi_strip *plain, unsigned char byte, char *out, size_t *n)
{
	if (is_between(byte, 0x80, 0x9f)) {
		take_kind(plain, (unsigned char)(byte - 0x40));
		return false;
	}
	if (is_between(byte, 0xa0, 0xbf))
		out[(*n)++] = (char)C2;
	return take_text(plain, byte);
}

size_t ansi_strip_bytes(struct ansi_strip *plain, const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)in[i];
		bool printed = false;

		switch (plain->state) {
		case STRIP_TEXT:
			printed = take_text(plain, byte);
			break;
		case STRIP_C2:
			printed = take_second(plain, byte, out, &n);
			break;
		case STRIP_ESCAPE:
		case STRIP_CSI:
			printed = take_command(plain, byte);
			break;
		case STRIP_STRING_C2:
			if (is_between(byte, 0x80, 0x9f))
				take_kind(plain, (unsigned char)(byte - 0x40));
			else
				printed = take_string(plain, byte);
			break;
		case STRIP_STRING:
			printed = take_string(plain, byte);
			break;
		}
		if (printed)
			out[n++] = (char)byte;
	}
	return n;
}
