#include "tools/python_scan.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum { TAB = 8, INDENT_MAX = 10000 };

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

static bool is_word(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9');
}

static struct view skip(struct view v, size_t n)
{
	return (struct view){ v.ptr + n, v.len - n };
}

/* --- strings ---------------------------------------------------------------------------- */

struct literal {
	size_t len; /* all of it */
	struct view body;
	bool is_raw, is_text; /* f and b are no docstrings */
};

static size_t prefix_len(struct view text)
{
	size_t n = 0;

	while (n < 3 && n < text.len && strchr("rRbBuUfFtT", text.ptr[n]) != NULL &&
	       text.ptr[n] != '\0')
		n++;
	return n < text.len && (text.ptr[n] == '"' || text.ptr[n] == '\'') ? n : SIZE_MAX;
}

/* A string that never ends stops where its line does, or with the text. */
static bool read_literal(struct view text, struct literal *ret)
{
	size_t prefix = prefix_len(text), at, quotes;
	char quote;

	if (prefix == SIZE_MAX)
		return false;
	quote = text.ptr[prefix];
	quotes = text.len - prefix >= 3 && text.ptr[prefix + 1] == quote &&
	                         text.ptr[prefix + 2] == quote
	                 ? 3
	                 : 1;
	*ret = (struct literal){ .is_text = true };
	for (size_t i = 0; i < prefix; i++) {
		ret->is_raw |= text.ptr[i] == 'r' || text.ptr[i] == 'R';
		ret->is_text &= strchr("rRuU", text.ptr[i]) != NULL;
	}
	at = prefix + quotes;
	ret->body.ptr = text.ptr + at;
	for (; at < text.len; at++) {
		if (text.ptr[at] == '\\') {
			at++;
			continue;
		}
		if (quotes == 1 && text.ptr[at] == '\n')
			break;
		if (text.ptr[at] != quote || text.len - at < quotes ||
		    (quotes == 3 && (text.ptr[at + 1] != quote || text.ptr[at + 2] != quote)))
			continue;
		ret->body.len = (size_t)(text.ptr + at - ret->body.ptr);
		ret->len = at + quotes;
		return true;
	}
	if (at > text.len)
		at = text.len;
	ret->body.len = (size_t)(text.ptr + at - ret->body.ptr);
	ret->len = at;
	return true;
}

size_t python_skip(struct view text)
{
	struct literal literal;
	const char *end;

	if (text.len != 0 && text.ptr[0] == '#') {
		end = memchr(text.ptr, '\n', text.len);
		return end != NULL ? (size_t)(end - text.ptr) : text.len;
	}
	return read_literal(text, &literal) ? literal.len : 0;
}

/* A whole word or number, so that its last letters are not taken for a string's prefix; else a
 * string, a comment, or one character. */
static size_t token(struct view text)
{
	size_t n = python_skip(text);

	if (n != 0)
		return n;
	while (n < text.len && is_word(text.ptr[n]))
		n++;
	return n != 0 ? n : 1;
}

/* --- lines ------------------------------------------------------------------------------ */

static void count_bracket(char c, size_t *depth)
{
	if (c == '(' || c == '[' || c == '{')
		(*depth)++;
	else if ((c == ')' || c == ']' || c == '}') && *depth != 0)
		(*depth)--;
}

/* Takes the white space in front off. */
static size_t take_indent(struct view *rest)
{
	size_t indent = 0;

	while (rest->len != 0 && strchr(" \t\r\f", rest->ptr[0]) != NULL && rest->ptr[0] != '\0') {
		if (rest->ptr[0] == '\t')
			indent = indent / TAB * TAB + TAB;
		else if (rest->ptr[0] == '\f')
			indent = 0;
		else if (rest->ptr[0] == ' ')
			indent++;
		*rest = skip(*rest, 1);
	}
	return indent < INDENT_MAX ? indent : INDENT_MAX;
}

static struct view take_statement(struct view *rest)
{
	struct view text = { rest->ptr, 0 };
	size_t depth = 0;

	while (rest->len != 0) {
		char c = rest->ptr[0];
		size_t n = token(*rest);

		if (c == '\n' && depth == 0)
			break;
		if (c == '\\' && rest->len >= 2 && rest->ptr[1] == '\n')
			n = 2;
		else if (c == '\\' && rest->len >= 3 && rest->ptr[1] == '\r' &&
		         rest->ptr[2] == '\n')
			n = 3;
		if (n == 1)
			count_bracket(c, &depth);
		text.len += n;
		*rest = skip(*rest, n);
	}
	if (rest->len != 0)
		*rest = skip(*rest, 1);
	return view_trim(text);
}

bool python_next_line(struct view *rest, struct python_line *ret)
{
	while (rest->len != 0) {
		size_t indent = take_indent(rest);

		if (rest->len == 0)
			return false;
		if (rest->ptr[0] == '#')
			*rest = skip(*rest, python_skip(*rest));
		if (rest->len != 0 && rest->ptr[0] == '\n') {
			*rest = skip(*rest, 1);
			continue;
		}
		if (rest->len == 0)
			return false;
		*ret = (struct python_line){ indent, take_statement(rest) };
		if (ret->text.len != 0)
			return true;
	}
	return false;
}

size_t python_head(struct view text)
{
	size_t depth = 0, at = 0;

	while (at < text.len) {
		size_t n = token(skip(text, at));

		if (n == 1 && text.ptr[at] == ':' && depth == 0)
			return at;
		if (n == 1)
			count_bracket(text.ptr[at], &depth);
		at += n;
	}
	return text.len;
}

/* "(" and what closes it stand close to what they enclose; a comma that only ends a list written
 * over several lines goes. */
static void tidy(struct buf *out, char next, bool had_newline)
{
	if (strchr(")]}", next) == NULL || next == '\0')
		return;
	if (out->len != 0 && out->ptr[out->len - 1] == ' ')
		buf_truncate(out, out->len - 1);
	if (had_newline && out->len != 0 && out->ptr[out->len - 1] == ',')
		buf_truncate(out, out->len - 1);
}

void python_one_line(struct view text, struct buf *out)
{
	bool had_newline = false;
	struct error full;

	while (text.len != 0) {
		size_t n = token(text);
		char c = text.ptr[0], last = out->len != 0 ? out->ptr[out->len - 1] : ' ';

		if (c == '#' || c == '\\' || strchr(" \t\r\n\f", c) != NULL) {
			had_newline |= c == '\n' || c == '#';
			if (strchr(" ([{", last) == NULL && buf_add(out, view_of(" "), &full) < 0)
				return;
		} else {
			tidy(out, c, had_newline);
			had_newline = false;
			if (buf_add(out, (struct view){ text.ptr, n }, &full) < 0)
				return;
		}
		text = skip(text, n);
	}
}

/* --- docstrings -------------------------------------------------------------------------- */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static size_t put_utf8(uint32_t point, char *out)
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
		point = 0xfffd;
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	if (point < 0x10000) {
		out[0] = (char)(0xe0 | point >> 12);
		out[1] = (char)(0x80 | (point >> 6 & 0x3f));
		out[2] = (char)(0x80 | (point & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | point >> 18);
	out[1] = (char)(0x80 | (point >> 12 & 0x3f));
	out[2] = (char)(0x80 | (point >> 6 & 0x3f));
	out[3] = (char)(0x80 | (point & 0x3f));
	return 4;
}

/* \x41, \u0041, \U00000041: `digits` of them behind two characters. 0: they are not there. */
static size_t put_hex(struct view text, size_t digits, char *out, size_t *ret_len)
{
	uint32_t point = 0;

	if (text.len < 2 + digits)
		return 0;
	for (size_t i = 0; i < digits; i++) {
		int value = hex_value(text.ptr[2 + i]);

		if (value < 0)
			return 0;
		point = point << 4 | (uint32_t)value;
	}
	*ret_len = put_utf8(point, out);
	return 2 + digits;
}

/* What the escape at the front says. Returns how much of the text it is; never writes more than
 * that. */
static size_t put_escape(struct view text, char *out, size_t *ret_len)
{
	static const char letters[] = "abfnrtv\\'\"", values[] = "\a\b\f\n\r\t\v\\'\"";
	char c = text.len > 1 ? text.ptr[1] : '\0';
	const char *letter = c != '\0' ? strchr(letters, c) : NULL;
	size_t n = 0;

	*ret_len = 1;
	if (letter != NULL) {
		out[0] = values[letter - letters];
		return 2;
	}
	if (c == '\n') {
		*ret_len = 0;
		return 2;
	}
	if (c >= '0' && c <= '7') {
		uint32_t point = 0;

		for (n = 1; n < text.len && n <= 3 && text.ptr[n] >= '0' && text.ptr[n] <= '7'; n++)
			point = point << 3 | (uint32_t)(text.ptr[n] - '0');
		*ret_len = put_utf8(point, out);
		return n;
	}
	if (c == 'x' || c == 'u' || c == 'U')
		n = put_hex(text, c == 'x' ? 2 : c == 'u' ? 4 : 8, out, ret_len);
	if (n != 0)
		return n;
	out[0] = '\\';
	return 1;
}

/* Adds what the literal says to `said`, which has room for all of the statement. */
static void say(const struct literal *literal, char *said, size_t *len)
{
	struct view rest = literal->body;

	while (rest.len != 0) {
		size_t n = 1, written = 1;

		if (!literal->is_raw && rest.ptr[0] == '\\')
			n = put_escape(rest, said + *len, &written);
		else
			said[*len] = rest.ptr[0];
		*len += written;
		rest = skip(rest, n);
	}
}

static size_t indent_of(struct view line, size_t *ret_bytes)
{
	struct view rest = line;
	size_t indent = take_indent(&rest);

	*ret_bytes = line.len - rest.len;
	return indent;
}

/* The least indentation of all lines but the first; those that are blank do not count. */
static size_t margin_of(struct view text)
{
	size_t margin = INDENT_MAX, bytes;
	struct view line;

	(void)view_next_line(&text, &line);
	while (view_next_line(&text, &line)) {
		size_t indent = indent_of(line, &bytes);

		if (bytes != line.len && indent < margin)
			margin = indent;
	}
	return margin;
}

static bool add_clean(struct view line, size_t margin, bool is_first, struct buf *out)
{
	size_t bytes, indent = indent_of(line, &bytes);
	struct error full;

	line = skip(line, bytes);
	while (line.len != 0 && strchr(" \t\r", line.ptr[line.len - 1]) != NULL)
		line.len--;
	for (size_t i = margin; !is_first && line.len != 0 && i < indent; i++)
		if (buf_add(out, view_of(" "), &full) < 0)
			return false;
	if (buf_add(out, line, &full) == 0)
		return buf_add(out, view_of("\n"), &full) == 0;
	line.len = utf8_prefix(line.ptr, line.len, out->max - out->len);
	(void)!buf_add(out, line, &full);
	return false;
}

static void clean(struct view text, struct buf *out)
{
	size_t margin = margin_of(text);
	struct view line;
	bool is_first = true;

	while (view_next_line(&text, &line)) {
		if (!add_clean(line, margin, is_first, out))
			return;
		is_first = false;
	}
}

/* Blank lines around it go. */
static void strip(struct buf *out)
{
	size_t blank = 0;

	while (out->len != 0 && out->ptr[out->len - 1] == '\n')
		buf_truncate(out, out->len - 1);
	while (blank < out->len && out->ptr[blank] == '\n')
		blank++;
	if (blank == 0)
		return;
	memmove(out->ptr, out->ptr + blank, out->len - blank);
	buf_truncate(out, out->len - blank);
}

bool python_docstring(struct view text, struct buf *out)
{
	AUTO_FREE char *said = mem_new(text.len + 4);
	size_t len = 0;
	bool any = false;

	while (text.len != 0) {
		struct literal literal;
		size_t n = 1;

		if (read_literal(text, &literal)) {
			if (!literal.is_text)
				return false;
			say(&literal, said, &len);
			any = true;
			n = literal.len;
		} else if (text.ptr[0] == '#') {
			n = python_skip(text);
		} else if (text.ptr[0] == '\0' || strchr(" \t\r\n\\", text.ptr[0]) == NULL) {
			return false;
		}
		text = skip(text, n);
	}
	if (!any)
		return false;
	clean((struct view){ said, len }, out);
	strip(out);
	return true;
}
