#include "base/text/ansi_strip.h"

#include <stdbool.h>

enum { CANCEL = 0x18, SUBSTITUTE = 0x1a, BELL = 0x07, ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

static bool is_between(unsigned char byte, unsigned char first, unsigned char last)
{
	return byte >= first && byte <= last;
}

/* A byte outside of any sequence. Returns true if it stays. */
static bool take_text(struct ansi_strip *strip, unsigned char byte)
{
	strip->state = byte == ESC ? STRIP_ESCAPE : byte == C2 ? STRIP_C2 : STRIP_TEXT;
	if (strip->state != STRIP_TEXT || byte == DEL)
		return false;
	return byte >= ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/* The byte after ESC: a sequence of one character, or the beginning of a longer one. For a C1
 * control `kind` is the character that stands after ESC in its 7-bit form. */
static void take_kind(struct ansi_strip *strip, unsigned char kind)
{
	switch (kind) {
	case '[':
		strip->state = STRIP_CSI;
		break;
	case ']':
	case 'P':
	case 'X':
	case '^':
	case '_':
		strip->state = STRIP_STRING;
		break;
	default:
		strip->state = is_between(kind, ' ', '/') ? STRIP_ESCAPE : STRIP_TEXT;
		break;
	}
}

/* A byte of an escape or CSI sequence. A control character ends the sequence and is handled as if
 * it stood outside; LF too, so that a sequence that is never finished hides at most its own
 * line. */
static bool take_sequence(struct ansi_strip *strip, unsigned char byte)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(strip, byte);
	if (strip->state == STRIP_ESCAPE)
		take_kind(strip, byte);
	else if (byte >= '@')
		strip->state = STRIP_TEXT;
	return false;
}

/* A byte of an OSC, DCS, SOS, PM or APC string, which is removed up to its end or the line's
 * end. */
static bool take_string(struct ansi_strip *strip, unsigned char byte)
{
	if (byte == '\n' || byte == ESC)
		return take_text(strip, byte);
	if (byte == BELL || byte == CANCEL || byte == SUBSTITUTE)
		strip->state = STRIP_TEXT;
	else
		strip->state = byte == C2 ? STRIP_STRING_C2 : STRIP_STRING;
	return false;
}

/* The byte after 0xc2. U+0080 to U+009F are the C1 controls, which mean the same as ESC and a
 * letter. A 0xc2 without a valid second byte is removed: it could form a C1 control with a byte
 * that is printed later. */
static bool take_after_c2(struct ansi_strip *strip, unsigned char byte, char *out, size_t *n)
{
	if (is_between(byte, 0x80, 0x9f)) {
		take_kind(strip, (unsigned char)(byte - 0x40));
		return false;
	}
	if (is_between(byte, 0xa0, 0xbf))
		out[(*n)++] = (char)C2;
	return take_text(strip, byte);
}

size_t ansi_strip_bytes(struct ansi_strip *strip, const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)in[i];
		bool stays = false;

		switch (strip->state) {
		case STRIP_TEXT:
			stays = take_text(strip, byte);
			break;
		case STRIP_C2:
			stays = take_after_c2(strip, byte, out, &n);
			break;
		case STRIP_ESCAPE:
		case STRIP_CSI:
			stays = take_sequence(strip, byte);
			break;
		case STRIP_STRING_C2:
			if (is_between(byte, 0x80, 0x9f))
				take_kind(strip, (unsigned char)(byte - 0x40));
			else
				stays = take_string(strip, byte);
			break;
		case STRIP_STRING:
			stays = take_string(strip, byte);
			break;
		}
		if (stays)
			out[n++] = (char)byte;
	}
	return n;
}
