#include "base/text/ansi_filter.h"

#include <stdio.h>
#include <string.h>

#include "base/attr.h"

enum { CANCEL = 0x18, SUBSTITUTE = 0x1a, BELL = 0x07, ESC = 0x1b, DEL = 0x7f, C2 = 0xc2 };

/* The private modes (CSI ? number h) that programs may change, in the order ansi_filter_reset()
 * undoes them: line wrap (7) and cursor (25) come after the return to the main screen (1049). */
static const struct mode {
	unsigned number;
	bool on_by_default;
} modes[] = {
	{ 1, false },    { 5, false },    { 6, false },    { 12, false },   { 1000, false },
	{ 1002, false }, { 1003, false }, { 1006, false }, { 2004, false }, { 47, false },
	{ 1047, false }, { 1049, false }, { 7, true },     { 25, true },
};
enum { SAVED_CURSOR = 1048, INSERT_MODE = 4, INSERT_BIT = 31 };
_Static_assert(ARRAY_LEN(modes) < INSERT_BIT, "every mode has a bit in `changed`");

static bool is_between(unsigned char byte, unsigned char first, unsigned char last)
{
	return byte >= first && byte <= last;
}

static void set_changed(struct ansi_filter *filter, size_t bit, bool is_changed)
{
	filter->changed &= ~(1U << bit);
	filter->changed |= (unsigned)is_changed << bit;
}

/* Parses the number at *at and moves *at behind it and its semicolon. */
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

/* CSI ? numbers h (set) or l (reset). One unknown mode removes the whole sequence. */
static bool take_modes(struct ansi_filter *filter, const char *numbers, const char *end,
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
			set_changed(filter, i, is_set != modes[i].on_by_default);
	return true;
}

static bool has_only(const char *text, const char *end, const char *allowed)
{
	for (; text < end; text++)
		if (strchr(allowed, *text) == NULL)
			return false;
	return true;
}

static void clear_changes(struct ansi_filter *filter)
{
	filter->changed = 0;
	filter->has_region = false;
}

/* CSI number SP q: the cursor's shape. */
static bool take_cursor_shape(const char *numbers, const char *end)
{
	return end[-1] == ' ' && has_only(numbers, end - 1, "0123456789");
}

/* CSI ! p: a soft reset, which restores the default modes. */
static bool take_soft_reset(struct ansi_filter *filter, const char *numbers, const char *end)
{
	if (end[-1] != '!' || end - 1 != numbers)
		return false;
	clear_changes(filter);
	return true;
}

/* CSI 4 h or l: insert mode, the only public mode that may be changed. */
static bool take_insert_mode(struct ansi_filter *filter, const char *numbers, const char *end,
                             bool is_set)
{
	if (end - numbers != 1 || *numbers != '0' + INSERT_MODE)
		return false;
	set_changed(filter, INSERT_BIT, is_set);
	return true;
}

/* A complete CSI sequence in `held`. Returns true if it may pass. */
static bool take_csi(struct ansi_filter *filter)
{
	const char *numbers = filter->held + 2, *end = filter->held + filter->held_len - 1;
	bool is_private = *numbers == '?', is_set = *end == 'h';
	char kind = *end;

	if (kind == 'q')
		return take_cursor_shape(numbers, end);
	if (kind == 'p')
		return take_soft_reset(filter, numbers, end);
	numbers += is_private;
	if (!has_only(numbers, end, kind == 'm' ? "0123456789;:" : "0123456789;"))
		return false;
	if (kind == 'h' || kind == 'l')
		return is_private ? take_modes(filter, numbers, end, is_set)
		                  : take_insert_mode(filter, numbers, end, is_set);
	if (is_private)
		return kind == 'J' || kind == 'K';
	/* CSI T with five numbers starts mouse tracking, and xterm waits for input. */
	if (kind == 'T')
		return memchr(numbers, ';', (size_t)(end - numbers)) == NULL;
	if (kind == 'r')
		filter->has_region = numbers != end;
	return strchr("@ABCDEFGHIJKLMPSXZ`abdefgmrsu", kind) != NULL;
}

/* A complete escape sequence in `held`: ESC and one or two characters. Returns true if it may
 * pass. */
static bool take_escape(struct ansi_filter *filter)
{
	char first = filter->held[1];

	if (filter->held_len == 2) {
		if (first == 'c')
			clear_changes(filter);
		return strchr("78DEHM=>c", first) != NULL;
	}
	return filter->held_len == 3 && (first == '(' || first == ')') &&
	       strchr("0AB", filter->held[2]) != NULL;
}

static void hold_byte(struct ansi_filter *filter, unsigned char byte)
{
	if (filter->held_len < ANSI_FILTER_HELD_MAX)
		filter->held[filter->held_len] = (char)byte;
	filter->held_len++;
}

/* Ends the sequence in `held` and writes it to `out` if it may pass. */
static size_t release_held(struct ansi_filter *filter, bool may_pass, char *out)
{
	size_t len = filter->held_len;

	filter->state = FILTER_TEXT;
	filter->held_len = 0;
	if (!may_pass)
		return 0;
	memcpy(out, filter->held, len);
	return len;
}

static size_t take_text(struct ansi_filter *filter, unsigned char byte, char *out)
{
	filter->state = byte == ESC ? FILTER_ESCAPE : byte == C2 ? FILTER_C2 : FILTER_TEXT;
	filter->held_len = 0;
	if (byte == ESC)
		hold_byte(filter, byte);
	if (filter->state != FILTER_TEXT || byte == DEL ||
	    (byte < ' ' && (byte == '\0' || strchr("\a\b\t\n\r\x0e\x0f", byte) == NULL)))
		return 0;
	*out = (char)byte;
	return 1;
}

static bool begins_string(unsigned char kind)
{
	return kind == ']' || kind == 'P' || kind == 'X' || kind == '^' || kind == '_';
}

/* A byte after ESC. */
static size_t take_escape_byte(struct ansi_filter *filter, unsigned char byte, char *out)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(filter, byte, out);
	hold_byte(filter, byte);
	if (filter->held_len == 2 && byte == '[')
		filter->state = FILTER_CSI;
	else if (filter->held_len == 2 && begins_string(byte))
		filter->state = FILTER_STRING;
	else if (byte >= '0')
		return release_held(filter, take_escape(filter), out);
	return 0;
}

/* A byte of a CSI sequence. A control character ends the sequence, as in ansi_strip.c. */
static size_t take_csi_byte(struct ansi_filter *filter, unsigned char byte, char *out)
{
	if (byte < ' ' || byte >= DEL)
		return take_text(filter, byte, out);
	hold_byte(filter, byte);
	if (byte < '@')
		return 0;
	return release_held(filter, filter->held_len <= ANSI_FILTER_HELD_MAX && take_csi(filter),
	                    out);
}

/* U+0080 to U+009F are the C1 controls: ESC and a letter in one character. Programs use the 7-bit
 * forms, so C1 controls are removed with the sequences they begin. */
static void take_c1(struct ansi_filter *filter, unsigned char byte)
{
	unsigned char kind = (unsigned char)(byte - 0x40);

	/* A length above the maximum: take_csi_byte() then removes the whole sequence. */
	filter->held_len = ANSI_FILTER_HELD_MAX + 1;
	filter->state = kind == '['           ? FILTER_CSI
	                : begins_string(kind) ? FILTER_STRING
	                                      : FILTER_TEXT;
}

/* The byte after 0xc2. */
static size_t take_after_c2(struct ansi_filter *filter, unsigned char byte, char *out)
{
	if (is_between(byte, 0x80, 0x9f)) {
		take_c1(filter, byte);
		return 0;
	}
	if (!is_between(byte, 0xa0, 0xbf))
		return take_text(filter, byte, out);
	out[0] = (char)C2;
	return 1 + take_text(filter, byte, out + 1);
}

/* A byte of an OSC, DCS, SOS, PM or APC string, which is removed. */
static size_t take_string(struct ansi_filter *filter, unsigned char byte, char *out)
{
	if (byte == '\n' || byte == ESC)
		return take_text(filter, byte, out);
	if (filter->state == FILTER_STRING_C2 && is_between(byte, 0x80, 0x9f))
		take_c1(filter, byte);
	else if (byte == BELL || byte == CANCEL || byte == SUBSTITUTE)
		filter->state = FILTER_TEXT;
	else
		filter->state = byte == C2 ? FILTER_STRING_C2 : FILTER_STRING;
	return 0;
}

size_t ansi_filter_bytes(struct ansi_filter *filter, const char *in, size_t len, char *out)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)in[i];

		switch (filter->state) {
		case FILTER_TEXT:
			n += take_text(filter, byte, out + n);
			break;
		case FILTER_C2:
			n += take_after_c2(filter, byte, out + n);
			break;
		case FILTER_ESCAPE:
			n += take_escape_byte(filter, byte, out + n);
			break;
		case FILTER_CSI:
			n += take_csi_byte(filter, byte, out + n);
			break;
		case FILTER_STRING:
		case FILTER_STRING_C2:
			n += take_string(filter, byte, out + n);
			break;
		}
	}
	return n;
}

size_t ansi_filter_reset(struct ansi_filter *filter, char out[ANSI_FILTER_RESET_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if ((filter->changed >> i & 1) != 0)
			n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b[?%u%c",
			                      modes[i].number, modes[i].on_by_default ? 'h' : 'l');
	if ((filter->changed >> INSERT_BIT & 1) != 0)
		n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b[4l");
	if (filter->has_region) /* CSI r moves the cursor: save (ESC 7) and restore (ESC 8) it */
		n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x1b%c\x1b[r\x1b%c", '7',
		                      '8');
	n += (size_t)snprintf(out + n, ANSI_FILTER_RESET_MAX - n, "\x0f\x1b(B\x1b[m\x1b>");
	*filter = (struct ansi_filter){ 0 };
	return n;
}
