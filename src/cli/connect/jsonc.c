#include "cli/connect/jsonc.h"

#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"

static const char byte_order_mark[] = "\xef\xbb\xbf";

/* The state of one pass over the text. */
struct blanking {
	char *copy; /* the text, blanked up to `at` */
	size_t len, at;
	char before;  /* the last byte before `at` that is neither blank nor comment; '\0': none */
	bool closes;  /* that byte is a comma, and it follows a value */
	size_t comma; /* the offset of that comma */
};

static int set_syntax_error(size_t at, const char *what, struct error *err)
{
	return error_set(err, ERR_SYNTAX, "%s at byte %zu", what, at + 1);
}

static bool is_next(const struct blanking *b, const char *text)
{
	return view_starts((struct view){ b->copy + b->at, b->len - b->at }, text);
}

static void blank_until(struct blanking *b, size_t end)
{
	memset(b->copy + b->at, ' ', end - b->at);
	b->at = end;
}

static int blank_line_comment(struct blanking *b, struct error *err)
{
	const char *newline = memchr(b->copy + b->at, '\n', b->len - b->at);
	size_t end = newline != NULL ? (size_t)(newline - b->copy) : b->len;
	const char *lone;

	if (newline != NULL && newline[-1] == '\r')
		end--;
	lone = memchr(b->copy + b->at, '\r', end - b->at);
	if (lone != NULL)
		return set_syntax_error((size_t)(lone - b->copy),
		                        "a carriage return inside a comment", err);
	blank_until(b, end);
	return 0;
}

static int blank_comment(struct blanking *b, struct error *err)
{
	const char *end;

	if (is_next(b, "//"))
		return blank_line_comment(b, err);
	if (b->len - b->at < 4 ||
	    (end = memmem(b->copy + b->at + 2, b->len - b->at - 2, "*/", 2)) == NULL)
		return set_syntax_error(b->at, "a comment that does not end", err);
	blank_until(b, (size_t)(end - b->copy) + 2);
	return 0;
}

static void skip_string(struct blanking *b)
{
	for (b->at++; b->at < b->len && b->copy[b->at] != '"'; b->at++)
		if (b->copy[b->at] == '\\')
			b->at++;
	b->at = b->at < b->len ? b->at + 1 : b->len;
	b->before = '"';
}

static void take_byte(struct blanking *b)
{
	char c = b->copy[b->at];

	if ((c == '}' || c == ']') && b->before == ',' && b->closes)
		b->copy[b->comma] = '\t';
	if (c == ',') {
		b->closes = b->before != '\0' && strchr("{[,:", b->before) == NULL;
		b->comma = b->at;
	}
	b->before = c;
	b->at++;
}

static int blank_next(struct blanking *b, struct error *err)
{
	char c = b->copy[b->at];

	if (c == '"')
		skip_string(b);
	else if (is_next(b, "//") || is_next(b, "/*"))
		return blank_comment(b, err);
	else if (is_next(b, byte_order_mark))
		return set_syntax_error(b->at, "a byte order mark inside the text", err);
	else if (c == ' ' || c == '\t' || c == '\r' || c == '\n')
		b->at++;
	else
		take_byte(b);
	return 0;
}

int jsonc_blank(struct view text, struct buf *ret, struct error *err)
{
	size_t start = ret->len;
	struct blanking b = { .len = text.len };

	if (text.len == 0)
		return 0;
	if (buf_add(ret, text, err) < 0)
		return -1;
	b.copy = ret->ptr + start;
	if (is_next(&b, byte_order_mark))
		blank_until(&b, strlen(byte_order_mark));
	while (b.at < b.len)
		if (blank_next(&b, err) < 0)
			return -1;
	return 0;
}
