#include "base/text/ansi_filter.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"

enum { CANCEL = 0x18, SUBSTITUTE = 0x1a, BELL = 0x07, ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

/* Private modes that may be set and reset. In the order they are put back in: cursor and lines
 * last, on the first screen. */
static const struct mode {
	unsigned number;
	bool usually;
} modes[] = {
	{ 1, false },    { 5, false },    { 6, false },    { 12, false },   { 1000, false },
	{ 1002, false }, { 1003, false }, { 1006, false }, { 2004, false }, { 47, false },
	{ 1047, false }, { 1049, false }, { 7, true },     { 25, true },
};
enum { SAVED_CURSOR = 1048, INSERT_MODE = 4, INSERT_BIT = 31 };
_Static_assert(ARRAY_LEN(modes) < INSERT_BIT, "a bit for each");

static bool is_between(unsigned char byte, unsigned char first, unsigned char last)
{
	return byte >= first && byte <= last;
}

/* --- commands that are whole ------------------------------------------------------------- */

static void change(struct ansi_filter *screen, size_t bit, bool is_changed)
{
	screen->changed &= ~(1U << bit);
	screen->changed |= (unsigned)is_changed << bit;
}

/* The number at *at, which moves behind it and the semicolon that may follow. */
static bool next_number(const char **at, const char *end, unsigned *ret)
{
	if (*at >= end)
		return false;
	*ret = 0;
	for (; *at < end && is_between((unsigned char)**at, '0', '9'); (*at)++)
		*ret = *ret < 100000 ? *ret * 10 + (unsigned)(**at - '0') : *ret;
	if (*at < end)
		(*at)++;
	return true;
}

static bool find_mode(unsigned number, size_t *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (modes[i].number == number) {
			*ret = i;
			return true;
		}
	return false;
}

/* CSI ? numbers h or l: all of them are known, or none is set. */
static bool take_modes(struct ansi_filter *screen, const char *numbers, const char *end,
                       bool is_set)
{
	const char *at = numbers;
	unsigned number;
	size_t i;

	while (next_number(&at, end, &number))
		if (number != SAVED_CURSOR && !find_mode(number, &i))
			return false;
	at = numbers;
	while (next_number(&at, end, &number))
		if (find_mode(number, &i))
			change(screen, i, is_set != modes[i].usually);
	return true;
}

static bool has_only(const char *text, const char *end, const char *allowed)
{
	for (; text < end; text++)
		if (strchr(allowed, *text) == NULL)
			return false;
	return true;
}

static void forget_changes(struct ansi_filter *screen)
{
	screen->changed = 0;
	screen->has_region = false;
}

/* The cursor's shape, and a soft reset: the only ones with a character before the last. */
static bool take_shape(const char *numbers, const char *end)
{
	return end[-1] == ' ' && has_only(numbers, end - 1, "0123456789");
}

static bool take_reset(struct ansi_filter *screen, const char *numbers, const char *end)
{
	if (end[-1] != '!' || end - 1 != numbers)
		return false;
	forget_changes(screen);
	return true;
}

/* CSI numbers h or l, without a question mark: typing inserts, or does not. */
static bool take_insert(struct ansi_filter *screen, const char *numbers, const char *end,
                        bool is_set)
{
	if (end - numbers != 1 || *numbers != '0' + INSERT_MODE)
		return false;
	change(screen, INSERT_BIT, is_set);
	return true;
}

/* From "[" to the letter that ends it. */
static bool take_csi(struct ansi_filter *screen)
{
	const char *numbers = screen->held + 2, *end = screen->held + screen->held_len - 1;
	bool is_private = *numbers == '?', is_set = *end == 'h';
	char kind = *end;

	if (kind == 'q')
		return take_shape(numbers, end);
	if (kind == 'p')
		return take_reset(screen, numbers, end);
	numbers += is_private;
	if (!has_only(numbers, end, kind == 'm' ? "0123456789;:" : "0123456789;"))
		return false;
	if (kind == 'h' || kind == 'l')
		return is_private ? take_modes(screen, numbers, end, is_set)
		                  : take_insert(screen, numbers, end, is_set);
	if (is_private)
		return kind == 'J' || kind == 'K';
	if (kind == 'T') /* with more numbers it is about the mouse, and the terminal waits */
		return memchr(numbers, ';', (size_t)(end - numbers)) == NULL;
	if (kind == 'r')
		screen->has_region = numbers != end;
	return strchr("@ABCDEFGHIJKLMPSXZ`abdefgmrsu", kind) != NULL;
}

/* ESC and up to two characters. */
static bool take_escape(struct ansi_filter *screen)
{
	char first = screen->held[1];

	if (screen->held_len == 2) {
		if (first == 'c')
			forget_changes(screen);
		return strchr("78DEHM=>c", first) != NULL;
	}
	return screen->held_len == 3 && (first == '(' || first == ')') &&
	       strchr("0AB", screen->held[2]) != NULL;
}

/* --- byte by byte ------------------------------------------------------------------------ */

static void hold(struct ansi_filter *screen, unsigned char byte)
{
	if (screen->held_len < ANSI_FILTER_HELD_MAX)
		screen->held[screen->held_len] = (char)byte;
	screen->held_len++;
}

static size_t let_through(struct ansi_filter *screen, bool may_pass, char *out)
{
	size_t len = screen->held_len;

	screen->state = FILTER_TEXT;
	screen->held_len = 0;
	if (!may_pass)
		return 0;
	memcpy(out, screen->held, len);
	return len;
}

static size_t take_text(struct ansi_filter *screen, unsigned char byte, char *out)
{
	screen->state = byte == ESC ? FILTER_ESCAPE : byte == C2 ? FILTER_C2 : FILTER_TEXT;
	screen->held_len = 0;
	if (byte == ESC)
		hold(screen, byte);
	if (screen->state != FILTER_TEXT || byte == DEL ||
	    (byte < ' ' && (byte == '\0' || strchr("\a\b\t\n\r\x0e\x0f", byte) == NULL)))
		return 0;
	*out = (char)byte;
	return 1;
}

static bool begins_string(unsigned char kind)
{
	return kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_';
}

static size_t take_escaped(struct ansi_filter *screen, unsigned char byte, char *out)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(screen, byte, out);
	hold(screen, byte);
	if (screen->held_len == 2 && byte == '[')
		screen->state = FILTER_CSI;
	else if (screen->held_len == 2 && begins_string(byte))
		screen->state = FILTER_STRING;
	else if (byte >= '0')
		return let_through(screen, take_escape(screen), out);
	return 0;
}

/* A control in a command ends it and counts for itself, as in plain.h. */
static size_t take_command(struct ansi_filter *screen, unsigned char byte, char *out)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(screen, byte, out);
	hold(screen, byte);
	if (byte < '@')
		return 0;
	return let_through(screen, screen->held_len <= ANSI_FILTER_HELD_MAX && take_csi(screen),
	                   out);
}

/* U+0080 to U+009F are commands in one character. Nobody needs them: they go, with what they
 * begin. */
static void take_c1(struct ansi_filter *screen, unsigned char byte)
{
	unsigned char kind = (unsigned char)(byte - 0x40);

	screen->held_len = ANSI_FILTER_HELD_MAX + 1; /* never let through */
	screen->state = kind == '['           ? FILTER_CSI
	                : begins_string(kind) ? FILTER_STRING
	                                      : FILTER_TEXT;
}

static size_t take_second(struct ansi_filter *screen, unsigned char byte, char *out)
{
	if (is_between(byte, 0x80, 0x9f)) {
		take_c1(screen, byte);
		return 0;
	}
	if (!is_between(byte, 0xa0, 0xbf))
		return take_text(screen, byte, out);
	out[0] = (char)C2;
	return 1 + take_text(screen, byte, out + 1);
}

static size_t take_string(struct ansi_filter *screen, unsigned char byte, char *out)
{
	if (byte == '\n' || byte == ESC)
		return take_text(screen, byte, out);
	if (screen->state == FILTER_STRING_C2 && is_between(byte, 0x80, 0x9f))
		take_c1(screen, byte);
	else if (byte == BELL || byte == CANCEL || byte == SUBSTITUTE)
		screen->state = FILTER_TEXT;
	else
		screen->state = byte == C2 ? FILTER_STRING_C2 : FILTER_STRING;
	return 0;
}

size_t ansi_filter_bytes(struct ansi_filter *screen, const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)in[i];

		switch (screen->state) {
		case FILTER_TEXT:
			n += take_text(screen, byte, out + n);
			break;
		case FILTER_C2:
			n += take_second(screen, byte, out + n);
			break;
		case FILTER_ESCAPE:
			n += take_escaped(screen, byte, out + n);
			break;
		case FILTER_CSI:
			n += take_command(screen, byte, out + n);
			break;
		case FILTER_STRING:
		case FILTER_STRING_C2:
			n += take_string(screen, byte, out + n);
			break;
		}
	}
	return n;
}

size_t ansi_filter_reset(struct ansi_filter *screen, char out[ANSI_FILTER_RESET_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if ((screen->changed >> i & 1) != 0)
			n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b[?%u%c",
			                      modes[i].number, modes[i].usually ? 'h' : 'l');
	if ((screen->changed >> INSERT_BIT & 1) != 0)
		n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b[4l");
	if (screen->has_region) /* setting it moves the cursor */
		n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b%c\x1b[r\x1b%c", '7',
		                      '8');
	n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x0f\x1b(B\x1b[m\x1b>");
	*screen = (struct ansi_filter){ 0 };
	return n;
}
