/* Reads just enough TOML to know which line is a table's header, which a key and which
 * only continues a value. Anything that could make this reading wrong is refused. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/utf8.h"
#include "cli/clients.h"
#include "cli/edit.h"

static const char servers_table[] = "mcp_servers";

/* --- keys --- */

enum { KEY_PARTS = 8 };

/* a."b c".d as its parts, quotes removed. Deeper keys than this are of no interest. */
struct key {
	struct view parts[KEY_PARTS];
	size_t count;
};

static bool is_bare(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '-';
}

static struct view skip(struct view v, size_t len)
{
	return (struct view){ v.ptr + len, v.len - len };
}

/* Cuts one part off *rest. False: there is none, or one with escapes in it. */
static bool take_part(struct view *rest, struct view *ret)
{
	char quote = rest->len != 0 ? rest->ptr[0] : '\0';
	size_t len = 0;

	if (quote == '"' || quote == '\'') {
		const char *end = memchr(rest->ptr + 1, quote, rest->len - 1);

		if (end == NULL)
			return false;
		*ret = (struct view){ rest->ptr + 1, (size_t)(end - rest->ptr - 1) };
		*rest = skip(*rest, ret->len + 2);
		return quote == '\'' || memchr(ret->ptr, '\\', ret->len) == NULL;
	}
	while (len < rest->len && is_bare(rest->ptr[len]))
		len++;
	*ret = (struct view){ rest->ptr, len };
	*rest = skip(*rest, len);
	return len != 0;
}

/* Leaves *rest at what follows the key. */
static bool take_key(struct view *rest, struct key *ret)
{
	*ret = (struct key){ .count = 0 };
	for (;;) {
		struct view part;

		*rest = view_trim(*rest);
		if (!take_part(rest, &part))
			return false;
		if (ret->count < KEY_PARTS)
			ret->parts[ret->count++] = part;
		*rest = view_trim(*rest);
		if (rest->len == 0 || rest->ptr[0] != '.')
			return true;
		*rest = skip(*rest, 1);
	}
}

/* --- statements --- */

/* Follows a value through its strings and brackets to the end of the line. `*depth`
 * brackets stay open. False: a string does not end. */
static bool follow_value(struct view value, size_t *depth)
{
	for (size_t i = 0; i < value.len; i++) {
		char c = value.ptr[i];

		if (c == '#')
			return true;
		if (c == '[' || c == '{')
			++*depth;
		else if ((c == ']' || c == '}') && *depth > 0)
			--*depth;
		if (c != '"' && c != '\'')
			continue;
		for (i++; i < value.len && value.ptr[i] != c; i++)
			if (c == '"' && value.ptr[i] == '\\')
				i++;
		if (i >= value.len)
			return false;
	}
	return true;
}

enum where { IN_ROOT, IN_SERVERS, IN_OURS, IN_OTHER };

struct scan {
	const struct entry *entry;
	const char *wanted; /* the lines our table should have */
	enum where where;   /* the table the current line is in */
	size_t depth;       /* open brackets of the current value */
	bool found;         /* our table */
	size_t start, end;  /* its lines: from the header to behind the last statement */
	size_t known;       /* statements in it that are ours, word for word */
	size_t line;        /* number of the current one */
};

static int refuse_line(const struct scan *scan, const char *why, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "line %zu %s", scan->line, why);
}

static int scan_header(struct scan *scan, struct view line, size_t at, struct error *err)
{
	bool array = view_starts(line, "[[");
	struct view rest = skip(line, array ? 2 : 1);
	struct key key;

	if (!take_key(&rest, &key) || !view_starts(rest, array ? "]]" : "]"))
		return refuse_line(scan, "is not a table header we can read", err);
	scan->where = IN_OTHER;
	if (!view_is(key.parts[0], servers_table))
		return 0;
	if (array)
		return refuse_line(scan, "makes mcp_servers an array", err);
	if (key.count == 1)
		scan->where = IN_SERVERS;
	if (key.count != 2 || !view_is(key.parts[1], scan->entry->name))
		return 0;
	if (scan->found)
		return refuse_line(scan, "defines our table a second time", err);
	scan->where = IN_OURS;
	scan->found = true;
	scan->start = at;
	return 0;
}

static bool is_wanted_line(const struct scan *scan, struct view line)
{
	struct view rest = view_of(scan->wanted), wanted;

	while (view_next_line(&rest, &wanted)) {
		wanted = view_trim(wanted);
		if (wanted.len == line.len && memcmp(wanted.ptr, line.ptr, line.len) == 0)
			return true;
	}
	return false;
}

static int scan_statement(struct scan *scan, struct view line, struct error *err)
{
	struct view rest = line;
	struct key key;

	if (!take_key(&rest, &key) || !view_starts(rest, "="))
		return refuse_line(scan, "is neither a table header nor 'key = value'", err);
	if (scan->where == IN_ROOT && view_is(key.parts[0], servers_table))
		return refuse_line(scan, "defines mcp_servers in another form than [mcp_servers.x]",
		                   err);
	if (scan->where == IN_SERVERS && view_is(key.parts[0], scan->entry->name))
		return refuse_line(scan, "defines our entry inside [mcp_servers]", err);
	if (!follow_value(skip(rest, 1), &scan->depth))
		return refuse_line(scan, "has a string that does not end", err);
	if (scan->where == IN_OURS && is_wanted_line(scan, line))
		scan->known++;
	return 0;
}

static int scan_line(struct scan *scan, struct view line, size_t at, struct error *err)
{
	line = view_trim(line);
	if (scan->depth > 0) {
		if (!follow_value(line, &scan->depth))
			return refuse_line(scan, "has a string that does not end", err);
		return 0;
	}
	if (line.len == 0 || line.ptr[0] == '#')
		return 0;
	if (line.ptr[0] == '[')
		return scan_header(scan, line, at, err);
	return scan_statement(scan, line, err);
}

/* Blank lines and comments at the end of our table belong to what follows it. */
static bool is_substance(struct view line)
{
	line = view_trim(line);
	return line.len != 0 && line.ptr[0] != '#';
}

static int scan_text(struct scan *scan, struct view text, struct error *err)
{
	struct view rest = text, line;

	while (view_next_line(&rest, &line)) {
		scan->line++;
		if (scan_line(scan, line, (size_t)(line.ptr - text.ptr), err) < 0)
			return -1;
		if (scan->where == IN_OURS && is_substance(line))
			scan->end = text.len - rest.len;
	}
	if (scan->depth > 0)
		return error_set(err, ERR_UNSUPPORTED, "the last value does not end");
	return 0;
}

/* --- the edit --- */

static int check_text(struct view text, struct error *err)
{
	if (!utf8_valid(text) || (text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL))
		return error_set(err, ERR_SYNTAX, "not UTF-8 text");
	if (text.len != 0 && (memmem(text.ptr, text.len, "\"\"\"", 3) != NULL ||
	                      memmem(text.ptr, text.len, "'''", 3) != NULL))
		return error_set(err, ERR_UNSUPPORTED, "it has multi-line strings");
	return 0;
}

static int write_text(struct view text, const struct scan *scan, const char *newline,
                      struct buf *ret, struct error *err)
{
	size_t start = scan->found ? scan->start : text.len;
	size_t end = scan->found ? scan->end : text.len;
	bool ended = start == 0 || text.ptr[start - 1] == '\n';

	if (buf_add(ret, (struct view){ text.ptr, start }, err) < 0 ||
	    (!ended && buf_add(ret, view_of(newline), err) < 0) ||
	    (!scan->found && start != 0 && buf_add(ret, view_of(newline), err) < 0) ||
	    buf_add(ret, view_of(scan->wanted), err) < 0)
		return -1;
	return buf_add(ret, skip(text, end), err);
}

enum edit_result edit_toml(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err)
{
	const char *newline = text.len != 0 && memmem(text.ptr, text.len, "\r\n", 2) != NULL
	                              ? "\r\n"
	                              : "\n";
	AUTO_FREE char *wanted = entry_toml(entry, newline);
	struct scan scan = { .entry = entry, .wanted = wanted };

	if (view_trim(text).len == 0)
		text = view_of("");
	if (check_text(text, err) < 0 || scan_text(&scan, text, err) < 0)
		return EDIT_FAILED;
	if (scan.found && scan.known == 2)
		return EDIT_NOTHING;
	if (write_text(text, &scan, newline, ret, err) < 0)
		return EDIT_FAILED;
	return scan.found ? EDIT_REPLACED : EDIT_ADDED;
}
