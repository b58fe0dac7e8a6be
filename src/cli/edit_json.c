#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/clients.h"
#include "cli/edit.h"
#include "cli/json_walk.h"
#include "json/json.h"

static const struct json_limits limits = { .depth = 200, .values = 1000000 };

/* --- writing in the file's own manner --- */

struct writer {
	struct view text;    /* the old text */
	struct buf *out;     /* the new one */
	const char *newline; /* "" if the file is all on one line */
	struct view unit;    /* one level of indentation */
};

/* The blanks behind the last line break among these. */
static struct view indent_in(struct view blanks)
{
	for (size_t i = blanks.len; i > 0; i--)
		if (blanks.ptr[i - 1] == '\n')
			return (struct view){ blanks.ptr + i, blanks.len - i };
	return (struct view){ blanks.ptr, 0 };
}

static bool has_newline(struct view v)
{
	return v.len != 0 && memchr(v.ptr, '\n', v.len) != NULL;
}

static struct view before_first(struct view text, const struct json_place *object)
{
	return (struct view){ text.ptr + object->open + 1, object->first_key - object->open - 1 };
}

/* The indentation of the line a member's key stands on. */
static struct view member_indent(struct view text, const struct json_place *object)
{
	return indent_in(
	        (struct view){ text.ptr + object->before_key, object->key - object->before_key });
}

static struct writer writer_for(struct view text, const struct json_place *root, struct buf *out)
{
	struct writer writer = { text, out, "\n", view_of("  ") };
	struct view blanks;

	if (root->first_key == 0)
		return writer;
	blanks = before_first(text, root);
	writer.unit = indent_in(blanks);
	if (!has_newline(blanks))
		writer.newline = "";
	else if (memchr(blanks.ptr, '\r', blanks.len) != NULL)
		writer.newline = "\r\n";
	return writer;
}

static int put_text(const struct writer *writer, const char *text, struct error *err)
{
	return buf_add(writer->out, view_of(text), err);
}

/* The old text from one offset up to another. */
static int put_old(const struct writer *writer, size_t from, size_t to, struct error *err)
{
	return buf_add(writer->out, (struct view){ writer->text.ptr + from, to - from }, err);
}

static int put_break(const struct writer *writer, struct view indent, size_t depth,
                     struct error *err)
{
	if (put_text(writer, writer->newline, err) < 0 || buf_add(writer->out, indent, err) < 0)
		return -1;
	for (size_t i = 0; i < depth; i++)
		if (buf_add(writer->out, writer->unit, err) < 0)
			return -1;
	return 0;
}

/* The value, its inner lines indented below `indent`. */
static int put_value(const struct writer *writer, const json_t *value, struct view indent,
                     struct error *err)
{
	bool one_line = writer->newline[0] == '\0';
	AUTO_FREE char *text = json_dumps(value, one_line ? 0 : JSON_INDENT(1));
	struct view rest, line;

	if (text == NULL)
		abort();
	for (rest = view_of(text); view_next_line(&rest, &line);) {
		size_t depth = strspn(line.ptr, " "); /* one space a level */

		if (line.ptr != text && put_break(writer, indent, depth, err) < 0)
			return -1;
		if (buf_add(writer->out, (struct view){ line.ptr + depth, line.len - depth }, err) <
		    0)
			return -1;
	}
	return 0;
}

static int put_member(const struct writer *writer, const char *key, const json_t *value,
                      struct view indent, struct error *err)
{
	AUTO_JSON json_t *name = json_str(key);
	size_t len;
	AUTO_FREE char *quoted = json_write(name, &len);

	if (put_text(writer, quoted, err) < 0 || put_text(writer, ": ", err) < 0)
		return -1;
	return put_value(writer, value, indent, err);
}

/* --- the edit --- */

/* Behind the last member, set off as the first one is. */
static int append_member(struct writer writer, const struct json_place *object, const char *key,
                         const json_t *value, struct error *err)
{
	struct view blanks = before_first(writer.text, object);

	if (!has_newline(blanks))
		writer.newline = "";
	if (put_old(&writer, 0, object->last_end, err) < 0 || put_text(&writer, ",", err) < 0 ||
	    buf_add(writer.out, blanks, err) < 0 ||
	    put_member(&writer, key, value, indent_in(blanks), err) < 0)
		return -1;
	return put_old(&writer, object->last_end, writer.text.len, err);
}

/* Into an empty object, whose own line is indented by `outer`. */
static int fill_object(const struct writer *writer, const struct json_place *object,
                       const char *key, const json_t *value, struct view outer, struct error *err)
{
	AUTO_FREE char *indent = mem_format("%.*s%.*s", (int)outer.len, outer.ptr,
	                                    (int)writer->unit.len, writer->unit.ptr);

	if (put_old(writer, 0, object->open + 1, err) < 0 || put_break(writer, outer, 1, err) < 0 ||
	    put_member(writer, key, value, view_of(indent), err) < 0 ||
	    put_break(writer, outer, 0, err) < 0)
		return -1;
	return put_old(writer, object->close, writer->text.len, err);
}

static int insert_member(const struct writer *writer, const struct json_place *object,
                         const char *key, const json_t *value, struct view outer, struct error *err)
{
	if (object->first_key != 0)
		return append_member(*writer, object, key, value, err);
	return fill_object(writer, object, key, value, outer, err);
}

static int replace_value(const struct writer *writer, const struct json_place *object,
                         const json_t *value, struct error *err)
{
	if (put_old(writer, 0, object->value, err) < 0 ||
	    put_value(writer, value, member_indent(writer->text, object), err) < 0)
		return -1;
	return put_old(writer, object->behind, writer->text.len, err);
}

/* What the user added to the entry, such as "env", does not make it another one. */
static bool covers(const json_t *old, json_t *wanted)
{
	const char *key;
	json_t *value;

	json_object_foreach(wanted, key,
	                    value) if (!json_equal(json_object_get(old, key), value)) return false;
	return true;
}

static enum edit_result edit_root(struct view text, const json_t *parsed, const struct entry *entry,
                                  struct buf *ret, struct error *err)
{
	const char *servers_key = entry->client->servers_key;
	AUTO_JSON json_t *wanted = entry_json(entry);
	struct json_place root = json_walk(text, json_walk_start(text), servers_key), servers;
	struct writer writer = writer_for(text, &root, ret);
	const json_t *old;
	int r;

	if (!root.found) {
		AUTO_JSON json_t *fresh = json_obj();

		json_set(fresh, entry->name, json_incref(wanted));
		r = insert_member(&writer, &root, servers_key, fresh, view_of(""), err);
		return r < 0 ? EDIT_FAILED : EDIT_ADDED;
	}
	servers = json_walk(text, root.value, entry->name);
	if (!servers.found) {
		r = insert_member(&writer, &servers, entry->name, wanted,
		                  member_indent(text, &root), err);
		return r < 0 ? EDIT_FAILED : EDIT_ADDED;
	}
	old = json_object_get(json_object_get(parsed, servers_key), entry->name);
	if (covers(old, wanted))
		return EDIT_NOTHING;
	r = replace_value(&writer, &servers, wanted, err);
	return r < 0 ? EDIT_FAILED : EDIT_REPLACED;
}

enum edit_result edit_json(struct view text, const struct entry *entry, struct buf *ret,
                           struct error *err)
{
	const char *servers_key = entry->client->servers_key;
	AUTO_JSON json_t *parsed = NULL;
	const json_t *servers;
	char got[80];

	if (view_trim(text).len == 0)
		text = view_of("{}\n");
	if (json_read(text, &limits, &parsed, NULL, err) < 0) {
		(void)error_wrap(err, "not plain JSON (it may hold comments or trailing commas)");
		return EDIT_FAILED;
	}
	if (!json_is_object(parsed)) {
		(void)error_set(err, ERR_INVALID, "expected a JSON object, got %s",
		                json_describe(parsed, got, sizeof got));
		return EDIT_FAILED;
	}
	servers = json_object_get(parsed, servers_key);
	if (servers != NULL && !json_is_object(servers)) {
		(void)error_set(err, ERR_INVALID, "%s: expected an object, got %s", servers_key,
		                json_describe(servers, got, sizeof got));
		return EDIT_FAILED;
	}
	return edit_root(text, parsed, entry, ret, err);
}
