/* Reads just enough TOML to know which line is a table's header, which a key and which
 * only continues a value. Anything that could make this reading wrong is refused. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"

static const char servers_table[] = "mcp_servers";
static const char byte_order_mark[] = "\xef\xbb\xbf";

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

/* Follows a value through its strings and brackets up to a comment or the end of the line;
 * *ret is that part of it. `*depth` brackets stay open. False: a string does not end. */
static bool follow_value(struct view value, size_t *depth, struct view *ret)
{
	size_t i;

	for (i = 0; i < value.len && value.ptr[i] != '#'; i++) {
		char c = value.ptr[i];

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
	*ret = view_trim((struct view){ value.ptr, i });
	return true;
}

enum where { IN_ROOT, IN_SERVERS, IN_OURS, IN_OTHER };

/* One of our values as it is in the text, over several lines if it must be. */
struct found {
	bool there;
	struct view value;
};

struct scan {
	const struct entry *entry;
	struct view text;
	enum where where; /* the table the current line is in */
	size_t depth;     /* open brackets of the current value */
	bool found;       /* our table */
	bool addressed;   /* it is for a server at an address */
	size_t start;     /* its header */
	size_t inside;    /* behind the header's line */
	size_t end;       /* behind its last statement */
	size_t line;      /* number of the current one */
	struct found values[ENTRY_TOML_KEYS];
	struct found *current; /* whose value may go on in the next line; or NULL */
};

static int refuse_line(const struct scan *scan, const char *why, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED, "line %zu %s", scan->line, why);
}

/* ENTRY_TOML_KEYS: not one of ours. */
static size_t our_key(struct view part)
{
	size_t i = 0;

	while (i < ENTRY_TOML_KEYS && !view_is(part, entry_toml_keys[i]))
		i++;
	return i;
}

/* Nothing more but a comment. */
static bool is_end(struct view rest)
{
	rest = view_trim(rest);
	return rest.len == 0 || rest.ptr[0] == '#';
}

/* [mcp_servers.OURS] or a table below it. */
static int scan_our_header(struct scan *scan, const struct key *key, struct view line,
                           struct error *err)
{
	if (key->count > 2 && our_key(key->parts[2]) != ENTRY_TOML_KEYS)
		return refuse_line(scan, "makes our command or args a table", err);
	if (key->count > 2)
		return 0;
	if (scan->found)
		return refuse_line(scan, "defines our table a second time", err);
	scan->where = IN_OURS;
	scan->found = true;
	scan->start = (size_t)(line.ptr - scan->text.ptr);
	return 0;
}

static int scan_header(struct scan *scan, struct view line, struct error *err)
{
	bool array = view_starts(line, "[[");
	size_t brackets = array ? 2 : 1;
	struct view rest = skip(line, brackets);
	struct key key;

	if (!take_key(&rest, &key) || !view_starts(rest, array ? "]]" : "]") ||
	    !is_end(skip(rest, brackets)))
		return refuse_line(scan, "is not a table header we can read", err);
	scan->where = IN_OTHER;
	if (!view_is(key.parts[0], servers_table))
		return 0;
	if (array)
		return refuse_line(scan, "makes mcp_servers an array", err);
	if (key.count == 1)
		scan->where = IN_SERVERS;
	if (key.count < 2 || !view_is(key.parts[1], scan->entry->name))
		return 0;
	return scan_our_header(scan, &key, line, err);
}

/* A statement of our table: which of our values it is, if any. */
static int scan_ours(struct scan *scan, const struct key *key, struct error *err)
{
	size_t ours = our_key(key->parts[0]);

	if (view_is(key->parts[0], "url"))
		scan->addressed = true;
	if (ours == ENTRY_TOML_KEYS)
		return 0;
	if (key->count > 1)
		return refuse_line(scan, "makes our command or args a table", err);
	if (scan->values[ours].there)
		return refuse_line(scan, "sets our command or args a second time", err);
	scan->values[ours].there = true;
	scan->current = &scan->values[ours];
	return 0;
}

static int scan_statement(struct scan *scan, struct view line, struct error *err)
{
	struct view rest = line, value;
	struct key key;

	scan->current = NULL;
	if (!take_key(&rest, &key) || !view_starts(rest, "="))
		return refuse_line(scan, "is neither a table header nor 'key = value'", err);
	if (scan->where == IN_ROOT && view_is(key.parts[0], servers_table))
		return refuse_line(scan, "defines mcp_servers in another form than [mcp_servers.x]",
		                   err);
	if (scan->where == IN_SERVERS && view_is(key.parts[0], scan->entry->name))
		return refuse_line(scan, "defines our entry inside [mcp_servers]", err);
	if (scan->where == IN_OURS && scan_ours(scan, &key, err) < 0)
		return -1;
	if (!follow_value(skip(rest, 1), &scan->depth, &value))
		return refuse_line(scan, "has a string that does not end", err);
	if (scan->current != NULL)
		scan->current->value = value;
	return 0;
}

static int scan_continued(struct scan *scan, struct view line, struct error *err)
{
	struct view value;

	if (!follow_value(line, &scan->depth, &value))
		return refuse_line(scan, "has a string that does not end", err);
	if (scan->current != NULL)
		scan->current->value.len = (size_t)(value.ptr + value.len -
		                                    scan->current->value.ptr);
	return 0;
}

static int scan_line(struct scan *scan, struct view line, struct error *err)
{
	line = view_trim(line);
	if (scan->depth > 0)
		return scan_continued(scan, line, err);
	if (line.len == 0 || line.ptr[0] == '#')
		return 0;
	if (line.ptr[0] == '[')
		return scan_header(scan, line, err);
	return scan_statement(scan, line, err);
}

static int scan_text(struct scan *scan, struct error *err)
{
	struct view rest = scan->text, line;

	if (view_starts(rest, byte_order_mark))
		rest = skip(rest, strlen(byte_order_mark));
	while (view_next_line(&rest, &line)) {
		bool found = scan->found;

		scan->line++;
		if (scan_line(scan, line, err) < 0)
			return -1;
		if (found != scan->found)
			scan->inside = scan->text.len - rest.len;
		/* Blank lines and comments at its end belong to what follows it. */
		if (scan->where == IN_OURS && !is_end(line))
			scan->end = scan->text.len - rest.len;
	}
	if (scan->depth > 0)
		return error_set(err, ERR_UNSUPPORTED, "the last value does not end");
	return 0;
}

/* --- the edit --- */

/* What our table should hold, and the line ends it is written with. */
struct wanted {
	const char *newline;
	char *values[ENTRY_TOML_KEYS];
	char *table; /* all of it */
};

static int check_text(struct view text, struct error *err)
{
	if (!utf8_is_valid(text) || (text.len != 0 && memchr(text.ptr, '\0', text.len) != NULL))
		return error_set(err, ERR_SYNTAX, "not UTF-8 text");
	if (text.len != 0 && (memmem(text.ptr, text.len, "\"\"\"", 3) != NULL ||
	                      memmem(text.ptr, text.len, "'''", 3) != NULL))
		return error_set(err, ERR_UNSUPPORTED, "it has multi-line strings");
	return 0;
}

static int put_old(const struct scan *scan, size_t from, size_t to, struct buf *ret,
                   struct error *err)
{
	return buf_add(ret, (struct view){ scan->text.ptr + from, to - from }, err);
}

static int end_line(const struct scan *scan, size_t at, const struct wanted *wanted,
                    struct buf *ret, struct error *err)
{
	if (at == 0 || scan->text.ptr[at - 1] == '\n')
		return 0;
	return buf_add(ret, view_of(wanted->newline), err);
}

static int append_table(const struct scan *scan, const struct wanted *wanted, struct buf *ret,
                        struct error *err)
{
	size_t len = scan->text.len;

	if (put_old(scan, 0, len, ret, err) < 0 || end_line(scan, len, wanted, ret, err) < 0 ||
	    (len != 0 && buf_add(ret, view_of(wanted->newline), err) < 0))
		return -1;
	return buf_add(ret, view_of(wanted->table), err);
}

static int replace_table(const struct scan *scan, const struct wanted *wanted, struct buf *ret,
                         struct error *err)
{
	if (put_old(scan, 0, scan->start, ret, err) < 0 ||
	    buf_add(ret, view_of(wanted->table), err) < 0)
		return -1;
	return put_old(scan, scan->end, scan->text.len, ret, err);
}

/* What is missing goes right below the header: further down another table may begin. */
static int put_missing(const struct scan *scan, const struct wanted *wanted, struct buf *ret,
                       struct error *err)
{
	for (size_t i = 0; i < ENTRY_TOML_KEYS; i++)
		if (!scan->values[i].there && buf_printf(ret, err, "%s = %s%s", entry_toml_keys[i],
		                                         wanted->values[i], wanted->newline) < 0)
			return -1;
	return 0;
}

/* Which of our values stands first in the text. */
static size_t first_value(const struct scan *scan)
{
	const struct found *command = &scan->values[ENTRY_TOML_COMMAND];
	const struct found *args = &scan->values[ENTRY_TOML_ARGS];

	return command->there && args->there && args->value.ptr < command->value.ptr
	               ? ENTRY_TOML_ARGS
	               : ENTRY_TOML_COMMAND;
}

/* Our values anew, where they stand; all else in the table stays. */
static int merge_table(const struct scan *scan, const struct wanted *wanted, struct buf *ret,
                       struct error *err)
{
	size_t at = scan->inside, first = first_value(scan);

	if (put_old(scan, 0, at, ret, err) < 0 || end_line(scan, at, wanted, ret, err) < 0 ||
	    put_missing(scan, wanted, ret, err) < 0)
		return -1;
	for (size_t n = 0; n < ENTRY_TOML_KEYS; n++) {
		size_t i = (first + n) % ENTRY_TOML_KEYS, start;
		const struct found *old = &scan->values[i];

		if (!old->there)
			continue;
		start = (size_t)(old->value.ptr - scan->text.ptr);
		if (put_old(scan, at, start, ret, err) < 0 ||
		    buf_add(ret, view_of(wanted->values[i]), err) < 0)
			return -1;
		at = start + old->value.len;
	}
	return put_old(scan, at, scan->text.len, ret, err);
}

static bool is_covered(const struct scan *scan, const struct wanted *wanted)
{
	if (!scan->found || scan->addressed)
		return false;
	for (size_t i = 0; i < ENTRY_TOML_KEYS; i++)
		if (!scan->values[i].there || !view_is(scan->values[i].value, wanted->values[i]))
			return false;
	return true;
}

static enum edit_result edit_scanned(const struct scan *scan, const struct wanted *wanted,
                                     struct buf *ret, struct error *err)
{
	int r;

	if (is_covered(scan, wanted))
		return EDIT_NOTHING;
	if (!scan->found)
		r = append_table(scan, wanted, ret, err);
	else if (scan->addressed)
		r = replace_table(scan, wanted, ret, err);
	else
		r = merge_table(scan, wanted, ret, err);
	if (r < 0)
		return EDIT_FAILED;
	return scan->found ? EDIT_REPLACED : EDIT_ADDED;
}

enum edit_result edit_toml(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err)
{
	const bool crlf = text.len != 0 && memmem(text.ptr, text.len, "\r\n", 2) != NULL;
	struct scan scan = { .entry = entry, .text = text };
	struct wanted wanted = { .newline = crlf ? "\r\n" : "\n" };
	enum edit_result result;

	if (view_trim(text).len == 0)
		scan.text = view_of("");
	if (check_text(scan.text, err) < 0 || scan_text(&scan, err) < 0)
		return EDIT_FAILED;
	wanted.table = entry_toml(entry, wanted.newline);
	for (size_t i = 0; i < ENTRY_TOML_KEYS; i++)
		wanted.values[i] = entry_toml_value(entry, i);
	result = edit_scanned(&scan, &wanted, ret, err);
	for (size_t i = 0; i < ENTRY_TOML_KEYS; i++)
		free(wanted.values[i]);
	free(wanted.table);
	return result;
}
