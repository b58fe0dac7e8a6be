#include "tools/files/edit_text.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum {
	LINES_NAMED = 8,                /* in the error of a text that is found several times */
	FIRST_LINE_MIN = 4,             /* bytes: a shorter line, as "}", says nothing */
	DIFF_LINE_MAX = 200,            /* bytes */
	REPLACED_MAX = 100000,          /* replacements in one call */
	SEARCH_MAX = 512 * 1024 * 1024, /* bytes searched in one call: a second or less */
};

/* One edit of a call. */
struct edit_state {
	size_t number, count; /* this edit, counted from 1, of so many */
	const struct edit *edit;
	struct view text;
	struct buf *out, *diff;
	size_t replaced, may_replace;
	size_t line; /* the line of `out` that byte `counted` is in */
	size_t counted;
};

/* The next occurrence from `from` on, or NULL. */
static const char *find_next(struct view text, const char *from, struct view what)
{
	return memmem(from, (size_t)(text.ptr + text.len - from), what.ptr, what.len);
}

/* The number of the line that `at` is in, counted from 1. */
static size_t line_of(struct view text, const char *at)
{
	size_t line = 1;

	for (const char *c = text.ptr; c < at && (c = memchr(c, '\n', (size_t)(at - c))) != NULL;
	     c++)
		line++;
	return line;
}

/* --- line ends ------------------------------------------------------------------------- */

/* Whether the text has lines, and each of them ends in CR LF. */
static bool has_crlf_lines(struct view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r'))
			return false;
	return text.len != 0 && memchr(text.ptr, '\n', text.len) != NULL;
}

/* Writes the text with CR LF for each LF to `ret`, and makes *text its view. */
static int use_crlf(struct view *text, struct buf *ret, struct error *err)
{
	buf_truncate(ret, 0);
	for (size_t i = 0; i < text->len; i++)
		if ((text->ptr[i] == '\n' && buf_add(ret, view_of("\r"), err) < 0) ||
		    buf_add(ret, (struct view){ text->ptr + i, 1 }, err) < 0)
			return -1;
	if (ret->len != 0)
		*text = buf_view(ret);
	return 0;
}

static bool has_cr(struct view text)
{
	return text.len != 0 && memchr(text.ptr, '\r', text.len) != NULL;
}

/* --- errors ---------------------------------------------------------------------------- */

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static char *without_space(struct view text, size_t *ret_len)
{
	char *out = mem_new(text.len + 1);

	*ret_len = 0;
	for (size_t i = 0; i < text.len; i++)
		if (!is_space(text.ptr[i]))
			out[(*ret_len)++] = text.ptr[i];
	return out;
}

/* The line where `what` is found if white space is ignored in both; 0: nowhere. */
static size_t find_ignoring_space(struct view text, struct view what)
{
	size_t text_len, what_len, skip;
	AUTO_FREE char *bare = without_space(text, &text_len);
	AUTO_FREE char *wanted = without_space(what, &what_len);
	const char *at = what_len != 0 ? memmem(bare, text_len, wanted, what_len) : NULL;

	if (at == NULL)
		return 0;
	skip = (size_t)(at - bare);
	for (size_t i = 0; i < text.len; i++)
		if (!is_space(text.ptr[i]) && skip-- == 0)
			return line_of(text, text.ptr + i);
	return 0;
}

/* The line that is the first one of `what`, which has several; 0: there is none. */
static size_t find_first_line(struct view text, struct view what)
{
	struct view line, first;

	if (!view_next_line(&what, &first) || what.len == 0)
		return 0;
	first = view_trim(first);
	for (size_t n = 1; first.len >= FIRST_LINE_MIN && view_next_line(&text, &line); n++) {
		line = view_trim(line);
		if (line.len == first.len && memcmp(line.ptr, first.ptr, first.len) == 0)
			return n;
	}
	return 0;
}

static int set_not_found(const struct edit_state *e, struct error *err)
{
	size_t line = find_ignoring_space(e->text, e->edit->old);
	size_t first = find_first_line(e->text, e->edit->old);
	char shown[80], where[128] = " (0 times): read the file and copy it exactly";

	if (line != 0)
		(void)snprintf(where, sizeof where,
		               "; line %zu differs from it only in white space (indentation, tabs, "
		               "line ends): read the file and copy it exactly",
		               line);
	else if (first != 0)
		(void)snprintf(where, sizeof where,
		               "; line %zu is as its first line, but the lines behind differ: read "
		               "on from there and copy them exactly",
		               first);
	return error_set(
	        err, ERR_NOT_FOUND, "edit %zu of %zu: its old text \"%s\" was not found%s%s",
	        e->number, e->count, utf8_escape(e->edit->old, shown, sizeof shown), where,
	        e->number > 1 && line == 0 ? "; edits before this one may have changed it" : "");
}

static int set_ambiguous(const struct edit_state *e, size_t times, struct error *err)
{
	const char *at = e->text.ptr;
	char lines[120] = "";
	size_t used = 0;

	for (size_t i = 0; i < times && i < LINES_NAMED && used < sizeof lines; i++) {
		at = find_next(e->text, at, e->edit->old);
		if (at == NULL)
			break;
		used += (size_t)snprintf(lines + used, sizeof lines - used, "%s%zu",
		                         i == 0 ? "" : ", ", line_of(e->text, at));
		at++;
	}
	return error_set(err, ERR_INVALID,
	                 "edit %zu of %zu: its old text \"%s\" was found %zu times (lines %s%s): "
	                 "add the text around it to make it unique, or set all to true",
	                 e->number, e->count, UTF8_ESCAPED(e->edit->old, 80), times, lines,
	                 times > LINES_NAMED ? ", ..." : "");
}

static int check_edit(const struct edit_state *e, struct error *err)
{
	if (e->edit->old.len == 0)
		return error_set(err, ERR_INVALID,
		                 "edit %zu of %zu: its old text is empty; write_file makes or "
		                 "replaces a whole file",
		                 e->number, e->count);
	if (e->edit->old.len == e->edit->new.len &&
	    memcmp(e->edit->old.ptr, e->edit->new.ptr, e->edit->old.len) == 0)
		return error_set(err, ERR_INVALID,
		                 "edit %zu of %zu: old and new text are the same: leave it out",
		                 e->number, e->count);
	return 0;
}

/* --- the diff -------------------------------------------------------------------------- */

/* Adds each line with its sign. False: no room. */
static bool show_lines(struct buf *diff, char sign, struct view lines)
{
	struct view line;

	while (view_next_line(&lines, &line)) {
		size_t len = line.len <= DIFF_LINE_MAX
		                     ? line.len
		                     : utf8_prefix(line.ptr, line.len, DIFF_LINE_MAX);

		if (!buf_putf(diff, "%c%.*s%s\n", sign, (int)len, line.ptr,
		              len < line.len ? "..." : ""))
			return false;
	}
	return true;
}

/* Adds a hunk to the diff, whole or not at all. The first that does not fit ends the diff: its
 * maximum becomes its length, which also tells the caller that it is not complete. */
static void show_hunk(struct edit_state *e, struct view before, size_t start)
{
	struct view after = { buf_text(e->out) + start, e->out->len - start };
	size_t whole = e->diff->len;

	for (; e->counted < start; e->counted++)
		e->line += e->out->ptr[e->counted] == '\n';
	if (e->diff->max == whole)
		return;
	if (buf_putf(e->diff, "@@ line %zu @@\n", e->line) && show_lines(e->diff, '-', before) &&
	    show_lines(e->diff, '+', after))
		return;
	buf_truncate(e->diff, whole);
	e->diff->max = whole;
}

/* --- the edit --------------------------------------------------------------------------- */

/* The end of the lines that change when the occurrence at `at` is replaced. */
static const char *end_of_lines(const struct edit_state *e, const char *at)
{
	const char *behind = at + e->edit->old.len, *end = e->text.ptr + e->text.len;
	struct view new = e->edit->new;
	const char *newline;

	/* Whole lines for whole lines: the line behind them does not change. */
	if (behind[-1] == '\n' && new.len != 0 && new.ptr[new.len - 1] == '\n')
		return behind;
	newline = behind < end ? memchr(behind, '\n', (size_t)(end - behind)) : NULL;
	return newline != NULL ? newline + 1 : end;
}

static int add_range(struct buf *out, const char *from, const char *to, struct error *err)
{
	return buf_add(out, (struct view){ from, (size_t)(to - from) }, err);
}

/* Replaces the occurrence at `at` and those that share lines with it. *from moves behind them. */
static int replace_hunk(struct edit_state *e, const char *at, const char **from, struct error *err)
{
	const char *start = at, *end = end_of_lines(e, at), *rest;
	size_t out_start;

	while (start > *from && start[-1] != '\n')
		start--;
	if (add_range(e->out, *from, start, err) < 0)
		return -1;
	out_start = e->out->len;
	rest = start;
	while (at != NULL && at < end) {
		if (at + e->edit->old.len >= end) /* this occurrence reaches into further lines */
			end = end_of_lines(e, at);
		if (add_range(e->out, rest, at, err) < 0 || buf_add(e->out, e->edit->new, err) < 0)
			return -1;
		rest = at + e->edit->old.len;
		e->replaced++;
		at = e->edit->all ? find_next(e->text, rest, e->edit->old) : NULL;
	}
	if (add_range(e->out, rest, end, err) < 0)
		return -1;
	show_hunk(e, (struct view){ start, (size_t)(end - start) }, out_start);
	*from = end;
	return 0;
}

/* Whether a second occurrence overlaps the only one, as of "}\n}\n" in "}\n}\n}\n": either may be
 * meant. */
static bool overlaps_itself(const struct edit_state *e)
{
	const char *at = find_next(e->text, e->text.ptr, e->edit->old);

	return at != NULL && find_next(e->text, at + 1, e->edit->old) != NULL;
}

static int make_edit(struct edit_state *e, struct error *err)
{
	const char *from = e->text.ptr, *at;
	size_t times = 0;

	if (check_edit(e, err) < 0)
		return -1;
	for (at = from; (at = find_next(e->text, at, e->edit->old)) != NULL; at += e->edit->old.len)
		if (++times > e->may_replace && e->edit->all)
			break;
	if (times == 0)
		return set_not_found(e, err);
	if (times == 1 && !e->edit->all && overlaps_itself(e))
		times = 2;
	if (times > 1 && !e->edit->all)
		return set_ambiguous(e, times, err);
	if (times > e->may_replace)
		return error_set(err, ERR_LIMIT,
		                 "edit %zu of %zu: its old text is found too often: at most %d "
		                 "replacements are made in one call; change the file with a "
		                 "program, for example sed",
		                 e->number, e->count, REPLACED_MAX);
	while ((at = find_next(e->text, from, e->edit->old)) != NULL)
		if (replace_hunk(e, at, &from, err) < 0)
			return error_wrap(err, "edit %zu of %zu: the new text", e->number,
			                  e->count);
		else if (!e->edit->all)
			break;
	return add_range(e->out, from, e->text.ptr + e->text.len, err);
}

/* Each edit searches the whole text, so a call with many edits of a large file could block the
 * loop. `searched`: bytes so far; `left`: edits that are still to be made. */
static int check_search(size_t text_len, size_t searched, size_t left, struct error *err)
{
	if (searched <= SEARCH_MAX && text_len <= (SEARCH_MAX - searched) / left)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "too many edits for a text of %zu bytes: bytes times edits may be at "
	                 "most %d in one call; make fewer edits at once, or change the file with "
	                 "a program, for example sed",
	                 text_len, SEARCH_MAX);
}

int edit_text(struct view text, const struct edit *edits, size_t count, struct buf *ret,
              struct buf *diff, size_t *ret_replaced, struct error *err)
{
	AUTO_BUF struct buf other; /* edits read one of the two buffers and write the other */
	AUTO_BUF struct buf old, new;
	struct buf *in = &other, *out = ret;
	size_t replaced = 0, searched = 0;
	bool is_crlf = has_crlf_lines(text);

	buf_init(&other, ret->max);
	buf_init(&old, ret->max);
	buf_init(&new, ret->max);
	for (size_t i = 0; i < count; i++) {
		struct edit edit = edits[i];
		struct edit_state e = { .number = i + 1,
			                .count = count,
			                .edit = &edit,
			                .text = text,
			                .out = out,
			                .diff = diff,
			                .may_replace = REPLACED_MAX - replaced,
			                .line = 1 };
		struct buf *swap = in;

		buf_truncate(out, 0);
		if (is_crlf && !has_cr(edit.old) && !has_cr(edit.new) &&
		    (use_crlf(&edit.old, &old, err) < 0 || use_crlf(&edit.new, &new, err) < 0))
			return error_wrap(err, "edit %zu of %zu", i + 1, count);
		if (check_search(text.len, searched, count - i, err) < 0 || make_edit(&e, err) < 0)
			return -1;
		searched += text.len;
		replaced += e.replaced;
		text = buf_view(out);
		if (text.ptr == NULL)
			text.ptr = "";
		in = out;
		out = swap;
	}
	if (in == &other) {
		struct buf result = other;

		other = *ret;
		*ret = result;
	}
	*ret_replaced = replaced;
	return 0;
}
