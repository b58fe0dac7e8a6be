/* The edit is found in a copy of the text whose comments are blanked (jsonc.h) and is made in the
 * original: both have the same offsets. A new member goes after the comments that follow the last
 * one, so that a comment stays with the member it is about. */
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/connect/clients.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"
#include "cli/connect/json_walk.h"
#include "cli/connect/jsonc.h"
#include "json/json.h"

static const struct json_limits limits = { .depth = 200, .values = 1000000 };

struct writer {
	struct view text;     /* the old text */
	struct view plain;    /* the same without comments */
	struct buf *out;      /* the new one */
	const char *line_end; /* the file's line end */
	const char *newline;  /* line_end, or "" where the object is on one line */
	struct view unit;     /* one level of indentation */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool has_newline(struct view text, size_t from, size_t to)
{
	return to > from && memchr(text.ptr + from, '\n', to - from) != NULL;
}

/* The run of spaces and tabs at an offset. */
static struct view blanks_at(struct view text, size_t at)
{
	size_t end = at;

	while (end < text.len && (text.ptr[end] == ' ' || text.ptr[end] == '\t'))
		end++;
	return (struct view){ text.ptr + at, end - at };
}

/* The indentation of the line with offset `to`, if that line begins after `from`. */
static struct view indent_between(const struct writer *writer, size_t from, size_t to)
{
	for (size_t i = to; i > from; i--)
		if (writer->plain.ptr[i - 1] == '\n')
			return blanks_at(writer->text, i);
	return (struct view){ writer->text.ptr, 0 };
}

static struct view member_indent(const struct writer *writer, const struct json_place *object)
{
	return indent_between(writer, object->before_key, object->key);
}

static struct writer writer_for(struct view text, struct view plain, const struct json_place *root,
                                struct buf *out)
{
	struct writer writer = { text, plain, out, "\n", NULL, view_of("  ") };

	if (memmem(plain.ptr, plain.len, "\r\n", 2) != NULL)
		writer.line_end = "\r\n";
	writer.newline = writer.line_end;
	if (root->first_key == 0)
		return writer;
	writer.unit = indent_between(&writer, root->open, root->first_key);
	if (!has_newline(plain, root->open, root->first_key))
		writer.newline = "";
	return writer;
}

static int put_text(const struct writer *writer, const char *text, struct error *err)
{
	return buf_add(writer->out, view_of(text), err);
}

/* Copies the old text from one offset to another. */
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

/* Writes the value, with its inner lines indented below `indent`. */
static int put_value(const struct writer *writer, json_t *value, struct view indent,
                     struct error *err)
{
	bool one_line = writer->newline[0] == '\0';
	size_t len;
	AUTO_FREE char *text = json_write_indented(value, one_line ? 0 : 1, &len);
	struct view rest = { text, len }, line;

	while (view_next_line(&rest, &line)) {
		size_t depth = strspn(line.ptr, " "); /* one space a level */

		if (line.ptr != text && put_break(writer, indent, depth, err) < 0)
			return -1;
		if (buf_add(writer->out, (struct view){ line.ptr + depth, line.len - depth }, err) <
		    0)
			return -1;
	}
	return 0;
}

static int put_member(const struct writer *writer, const char *key, json_t *value,
                      struct view indent, struct error *err)
{
	AUTO_JSON json_t *name = json_str(key);
	size_t len;
	AUTO_FREE char *quoted = json_write(name, &len);

	if (put_text(writer, quoted, err) < 0 || put_text(writer, ": ", err) < 0)
		return -1;
	return put_value(writer, value, indent, err);
}

/* The text between the last member, or the opening brace, and the closing brace. */
struct tail {
	size_t start, end; /* a trailing comma and comments; equal: there are none */
	bool comma;
	bool breaks; /* a newline follows, which may end a line comment */
};

static struct tail tail_of(const struct writer *writer, const struct json_place *object)
{
	struct tail tail = { .end = object->close };

	tail.start = object->first_key != 0 ? object->last_end : object->open + 1;
	while (tail.end > tail.start && is_blank(writer->text.ptr[tail.end - 1]))
		tail.end--;
	for (size_t i = tail.start; i < tail.end; i++)
		if (writer->text.ptr[i] == ',' && writer->plain.ptr[i] == '\t')
			tail.comma = true;
	tail.breaks = tail.end > tail.start && has_newline(writer->text, tail.end, object->close);
	return tail;
}

/* Adds a member after the last one, separated as the first one is. */
static int append_member(struct writer writer, const struct json_place *object, const char *key,
                         json_t *value, struct error *err)
{
	struct tail tail = tail_of(&writer, object);
	struct view gap = blanks_at(writer.text, object->open + 1);
	const char *between = "";

	if (has_newline(writer.plain, object->open, object->first_key)) {
		gap = indent_between(&writer, object->open, object->first_key);
		between = writer.line_end;
	} else {
		writer.newline = "";
		if (tail.breaks)
			between = writer.line_end;
	}
	if (put_old(&writer, 0, tail.start, err) < 0 ||
	    (!tail.comma && put_text(&writer, ",", err) < 0) ||
	    put_old(&writer, tail.start, tail.end, err) < 0 ||
	    put_text(&writer, between, err) < 0 || buf_add(writer.out, gap, err) < 0 ||
	    put_member(&writer, key, value, gap, err) < 0 ||
	    (tail.comma && put_text(&writer, ",", err) < 0))
		return -1;
	return put_old(&writer, tail.end, writer.text.len, err);
}

/* Adds a member to an empty object, whose own line is indented by `outer`. */
static int fill_object(struct writer writer, const struct json_place *object, const char *key,
                       json_t *value, struct view outer, struct error *err)
{
	struct tail tail = tail_of(&writer, object);
	AUTO_FREE char *indent = mem_format("%.*s%.*s", (int)outer.len, outer.ptr,
	                                    (int)writer.unit.len, writer.unit.ptr);

	if (tail.breaks)
		writer.newline = writer.line_end;
	if (put_old(&writer, 0, tail.end, err) < 0 || put_break(&writer, outer, 1, err) < 0 ||
	    put_member(&writer, key, value, view_of(indent), err) < 0 ||
	    put_break(&writer, outer, 0, err) < 0)
		return -1;
	return put_old(&writer, object->close, writer.text.len, err);
}

static int replace_value(struct writer writer, const struct json_place *object, json_t *value,
                         struct error *err)
{
	if (!has_newline(writer.plain, object->before_key, object->key))
		writer.newline = "";
	if (put_old(&writer, 0, object->value, err) < 0 ||
	    put_value(&writer, value, member_indent(&writer, object), err) < 0)
		return -1;
	return put_old(&writer, object->behind, writer.text.len, err);
}

/* `object` is the result of json_walk() for `key`; its own line is indented by `outer`. */
static int set_member(const struct writer *writer, const struct json_place *object, const char *key,
                      json_t *value, struct view outer, struct error *err)
{
	if (object->found)
		return replace_value(*writer, object, value, err);
	if (object->first_key != 0)
		return append_member(*writer, object, key, value, err);
	return fill_object(*writer, object, key, value, outer, err);
}

/* Members of an entry for a server at a URL. */
static const char *const url_keys[] = { "url", "httpUrl", "serverUrl" };

/* True if the old entry reaches a server in the same way as the wanted one: by a command, or by a
 * URL under the same key. Any other entry is replaced as a whole, because a client that finds a URL
 * and a command in one entry may choose either. */
static bool is_same_way(const json_t *old, const struct entry *entry)
{
	if (!json_is_object(old) || (entry->url != NULL && json_has(old, "command")))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(url_keys); i++) {
		bool is_wanted = entry->url != NULL &&
		                 strcmp(entry->client->url_key, url_keys[i]) == 0;

		if (json_has(old, url_keys[i]) != is_wanted)
			return false;
	}
	return true;
}

/* The options of the entry as a new list, if it starts `belljar serve` with some; NULL if not. */
static json_t *find_options(const json_t *old)
{
	const json_t *args = json_member(old, "args", JSON_ARRAY);
	const char *verb = json_as_text(json_array_get(args, 0));
	AUTO_JSON json_t *options = json_list();

	if (json_array_size(args) < 2 || verb == NULL || strcmp(verb, "serve") != 0)
		return NULL;
	for (size_t i = 1; i < json_array_size(args); i++) {
		json_t *option = json_array_get(args, i);

		if (json_as_text(option) == NULL)
			return NULL;
		json_push(options, json_incref(option));
	}
	return TAKE_PTR(options);
}

/* True if the entry has all wanted members; members the user added, such as "env", do not
 * matter. */
static bool has_members(const json_t *old, json_t *wanted)
{
	const char *key;
	json_t *value;

	json_object_foreach (wanted, key, value)
		if (!json_equal(json_object_get(old, key), value))
			return false;
	return true;
}

/* One change: the entry as a whole, or one member of it. */
struct step {
	const char *servers_key, *name;
	const char *key; /* NULL: the whole entry */
	json_t *value;   /* borrowed */
};

/* The text has passed check_text(). */
static int apply_step(struct view text, const struct step *step, struct buf *ret, struct error *err)
{
	AUTO_BUF struct buf plain;
	struct json_place root, servers, entry;
	struct writer writer;

	buf_init(&plain, text.len);
	if (jsonc_blank(text, &plain, err) < 0)
		return -1;
	root = json_walk(buf_view(&plain), json_walk_start(buf_view(&plain)), step->servers_key);
	writer = writer_for(text, buf_view(&plain), &root, ret);
	if (!root.found) {
		AUTO_JSON json_t *fresh = json_obj();

		json_set(fresh, step->name, json_incref(step->value));
		return set_member(&writer, &root, step->servers_key, fresh, view_of(""), err);
	}
	servers = json_walk(buf_view(&plain), root.value, step->name);
	if (step->key == NULL)
		return set_member(&writer, &servers, step->name, step->value,
		                  member_indent(&writer, &root), err);
	entry = json_walk(buf_view(&plain), servers.value, step->key);
	return set_member(&writer, &entry, step->key, step->value, member_indent(&writer, &servers),
	                  err);
}

/* Sets the wanted members in an existing entry, one after the other. */
static int merge_members(struct view text, const json_t *old, json_t *wanted, struct step step,
                         struct buf *ret, struct error *err)
{
	AUTO_BUF struct buf now;

	buf_init(&now, ret->max);
	if (buf_add(&now, text, err) < 0)
		return -1;
	json_object_foreach (wanted, step.key, step.value) {
		struct buf next;

		if (json_equal(json_object_get(old, step.key), step.value))
			continue;
		buf_init(&next, ret->max);
		if (apply_step(buf_view(&now), &step, &next, err) < 0) {
			buf_done(&next);
			return -1;
		}
		buf_done(&now);
		now = next;
	}
	return buf_add(ret, buf_view(&now), err);
}

static enum edit_result edit_checked(struct view text, const json_t *parsed,
                                     const struct entry *entry, struct buf *ret, json_t **ret_kept,
                                     struct error *err)
{
	const json_t *servers = json_object_get(parsed, entry->client->servers_key);
	const json_t *old = json_object_get(servers, entry->name);
	AUTO_JSON json_t *wanted = entry_json(entry);
	AUTO_JSON json_t *kept = NULL;
	struct step step = { entry->client->servers_key, entry->name, NULL, wanted };
	int r;

	if (!is_same_way(old, entry)) {
		r = apply_step(text, &step, ret, err);
	} else {
		if (json_has(old, "type")) /* an old "sse" would be wrong now */
			json_set_text(wanted, "type", entry->url != NULL ? "http" : "stdio");
		if (entry->url == NULL && entry->options == NULL)
			kept = find_options(old);
		if (kept != NULL)
			json_set(wanted, "args", json_incref(json_object_get(old, "args")));
		*ret_kept = TAKE_PTR(kept);
		if (has_members(old, wanted))
			return EDIT_NOTHING;
		r = merge_members(text, old, wanted, step, ret, err);
	}
	if (r < 0)
		return EDIT_FAILED;
	return old != NULL ? EDIT_REPLACED : EDIT_ADDED;
}

static int check_text(struct view plain, const char *servers_key, json_t **ret, struct error *err)
{
	AUTO_JSON json_t *parsed = NULL;
	const json_t *servers;
	char got[80];

	if (json_read(plain, &limits, &parsed, NULL, err) < 0)
		return err->kind == ERR_SYNTAX ? error_wrap(err, "not JSON") : -1;
	if (!json_is_object(parsed))
		return error_set(err, ERR_INVALID, "expected a JSON object, got %s",
		                 json_describe(parsed, got, sizeof got));
	servers = json_object_get(parsed, servers_key);
	if (servers != NULL && !json_is_object(servers))
		return error_set(err, ERR_INVALID, "%s: expected an object, got %s", servers_key,
		                 json_describe(servers, got, sizeof got));
	*ret = TAKE_PTR(parsed);
	return 0;
}

/* Adds braces to a file that is empty or has comments only. */
static int add_braces(struct buf *whole, struct buf *plain, struct error *err)
{
	struct view text = buf_view(whole);

	if (view_trim(buf_view(plain)).len != 0)
		return 0;
	if (view_trim(text).len == 0)
		buf_clear(whole);
	else if (text.ptr[text.len - 1] != '\n' && buf_add(whole, view_of("\n"), err) < 0)
		return -1;
	buf_clear(plain);
	if (buf_add(whole, view_of("{}\n"), err) < 0)
		return -1;
	return jsonc_blank(buf_view(whole), plain, err);
}

enum edit_result edit_json(struct view text, const struct entry *entry, struct buf *ret,
                           json_t **ret_kept, struct error *err)
{
	AUTO_JSON json_t *parsed = NULL;
	AUTO_BUF struct buf whole;
	AUTO_BUF struct buf plain;

	*ret_kept = NULL;
	buf_init(&whole, ret->max);
	buf_init(&plain, ret->max);
	if (buf_add(&whole, text, err) < 0)
		return EDIT_FAILED;
	if (jsonc_blank(text, &plain, err) < 0) {
		(void)error_wrap(err, "not JSON");
		return EDIT_FAILED;
	}
	if (add_braces(&whole, &plain, err) < 0 ||
	    check_text(buf_view(&plain), entry->client->servers_key, &parsed, err) < 0)
		return EDIT_FAILED;
	return edit_checked(buf_view(&whole), parsed, entry, ret, ret_kept, err);
}
