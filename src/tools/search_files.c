#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/braces.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_work.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"
#include "wire/table.h"

enum {
	LIMIT_DEFAULT = 100,
	LIMIT_MAX = 1000,
	FILE_MAX = 16 * 1024 * 1024, /* larger files are not searched */
	REPLY_MAX = 8 * 1024 * 1024,
	LINE_SHOWN = 400,  /* bytes of a matching line */
	PATH_SHOWN = 4096, /* a path is to be used in other calls, so it is shown whole */
	AROUND = 60,       /* bytes of JSON around the matches */
	MATCH_USUAL = 4096,
};

struct search_files_args {
	const char *pattern, *path, *mode, *names, *sandbox;
	int64_t limit;
	bool regex, ignore_case, hidden;
};

enum { MODE_CONTENT, MODE_NAME };
static const char *const modes[] = { [MODE_CONTENT] = "content", [MODE_NAME] = "name", NULL };

static const struct param params[] = {
	ARG_REQUIRED(struct search_files_args, pattern, STRING,
	             "A text in the lines of files; with mode \"name\" a glob or a part of the "
	             "name.",
	             .more = "A glob has *, ?, [a-z], {a,b} and **/.", .also = PARAM_ALSO("query"),
	             .min = 1, .max = WIRE_PATTERN_MAX - 2),
	ARG_PATH(struct search_files_args, path, "", .fallback.text = "."),
	ARG(struct search_files_args, mode, ENUM, "", .more = "What is searched.", .values = modes,
	    .fallback.text = "content"),
	ARG(struct search_files_args, regex, BOOL, "pattern is a POSIX extended regex."),
	ARG(struct search_files_args, ignore_case, BOOL, "", .more = "a also matches A."),
	ARG(struct search_files_args, names, STRING, "Only files like *.py.",
	    .max = WIRE_PATTERN_MAX, .also = PARAM_ALSO("glob", "include")),
	ARG(struct search_files_args, hidden, BOOL, "Also .names."),
	ARG(struct search_files_args, limit, INT, "", .more = "Most matches.", .min = 1,
	    .max = LIMIT_MAX, .fallback.integer = LIMIT_DEFAULT),
	WORK_PARAM_SANDBOX(struct search_files_args),
	{ 0 },
};

static const struct param match_fields[] = {
	FIELD("path", STRING, "The path, for read_file."),
	FIELD_OPTIONAL("line", INT, "The line, counted from 1 (content)."),
	FIELD_OPTIONAL("column", INT, "The byte in the line, counted from 1 (content)."),
	FIELD_OPTIONAL("text", STRING, "The line, cut if it is long (content)."),
	FIELD_OPTIONAL("type", STRING, "file, directory, link or other (name)."),
	FIELD_OPTIONAL("size", INT, "Bytes (name)."),
	{ 0 },
};

static const struct param output[] = {
	FIELD("matches", RECORDS, "Sorted by path.", .fields = match_fields),
	FIELD("more", BOOL, "There are more matches than `limit`, or than fit into the answer."),
	{ 0 },
};

/* Both patterns as the agent reads them: braces in globs are written out, one glob on a line, and
 * an expression has no "(?i)" in front, which Perl and ripgrep know, and POSIX does not. */
struct search_patterns {
	char pattern[WIRE_PATTERN_MAX + 1], names[WIRE_PATTERN_MAX + 1];
	bool ignore_case;
};

struct search_files {
	struct file_work file;
	const struct search_files_args *args;
	struct search_patterns patterns;
	struct buf text;
	json_t *matches;
	size_t room;                 /* bytes of JSON that `matches` may still grow by */
	struct loop_timer *deadline; /* ends the search before the client gives up on the call */
};

/* The agent names files relative to the searched directory. Answers have the path in front, so that
 * other calls can use them. */
static json_t *full_path(const struct search_files *s, struct view found)
{
	const char *base = s->args->path;
	size_t len = strlen(base);

	if (strcmp(base, ".") == 0 || view_is(found, base))
		return json_str_view(found);
	return json_format("%s%s%.*s", base, base[len - 1] == '/' ? "" : "/", (int)found.len,
	                   found.ptr);
}

/* Adds a match, which it owns from now on. Its text begins at `before`, and is removed again if the
 * JSON has no room for it; false then. */
static bool push_match(struct search_files *s, json_t *match, size_t before)
{
	size_t size = file_json_size(match);

	if (size > s->room) {
		json_decref(match);
		buf_truncate(&s->text, before);
		return false;
	}
	s->room -= size;
	json_push(s->matches, match);
	return true;
}

/* Adds a line with the pattern in it. False: no room. */
static bool add_line(struct search_files *s, const struct wire_match *match)
{
	json_t *path = full_path(s, match->path), *object;
	struct view line = match->text;
	char text[LINE_SHOWN * 4 + 8];
	const size_t before = s->text.len;

	if (line.len > LINE_SHOWN)
		line.len = utf8_prefix(line.ptr, line.len, LINE_SHOWN);
	(void)utf8_escape(line, text, sizeof text);
	if (!buf_putf(&s->text, "%s:%" PRIu64 ":%s%s\n",
	              UTF8_ESCAPED(json_view(path), PATH_SHOWN + 1), match->line, text,
	              line.len < match->text.len ? "..." : "")) {
		json_decref(path);
		return false;
	}
	object = json_obj();
	json_set(object, "path", path);
	json_set(object, "line", json_int((json_int_t)match->line));
	json_set(object, "column", json_int((json_int_t)match->column));
	json_set(object, "text", json_str_view(line));
	return push_match(s, object, before);
}

/* Adds a file whose name matches. False: no room. */
static bool add_name(struct search_files *s, const struct wire_entry *entry)
{
	json_t *path = full_path(s, entry->path), *object;
	const size_t before = s->text.len;

	if (!buf_putf(&s->text, "%s%s  %" PRIu64 "\n",
	              UTF8_ESCAPED(json_view(path), PATH_SHOWN + 1),
	              entry->type == WIRE_FILE_DIRECTORY ? "/" : "", entry->size)) {
		json_decref(path);
		return false;
	}
	object = json_obj();
	json_set(object, "path", path);
	json_set(object, "type", json_str(file_type_names[entry->type]));
	json_set(object, "size", json_int((json_int_t)entry->size));
	return push_match(s, object, before);
}

/* Adds the next record of the reply. False: there are no more. */
static bool add_next(struct search_files *s, struct view *records, bool *ret_fits)
{
	struct wire_match match;
	struct wire_entry entry;

	if (s->args->mode == modes[MODE_CONTENT]) {
		if (!files_next_match(records, &match))
			return false;
		*ret_fits = add_line(s, &match);
		return true;
	}
	if (!files_next_entry(records, &entry))
		return false;
	*ret_fits = add_name(s, &entry);
	return true;
}

/* Adds the records that fit. False: some do not. A first record that alone is too large is skipped,
 * so that it does not hide the others. */
static bool add_records(struct search_files *s, struct view records)
{
	bool fits, all = true;

	while (add_next(s, &records, &fits)) {
		all &= fits;
		if (!fits && json_array_size(s->matches) != 0)
			break;
	}
	return all;
}

/* Why nothing was found, as far as the arguments tell: a pattern that was meant as an expression or
 * for names, or a list of globs, else what a search leaves out. */
static const char *describe_none(const struct search_files_args *a)
{
	const bool is_content = a->mode == modes[MODE_CONTENT];

	if (is_content && !a->regex && strpbrk(a->pattern, "*|^$\\+") != NULL)
		return ": the pattern was taken as a text; for an expression set regex to true, "
		       "for names of files set mode to \"name\"";
	if (is_content && a->names != NULL && strchr(a->names, ',') != NULL &&
	    strchr(a->names, '{') == NULL)
		return ": names is one glob; several are one in braces, such as {*.py,*.js}";
	if (!is_content)
		return a->hidden ? "" : ": hidden names are not searched";
	return a->hidden ? ": binary files and files larger than 16 MiB are not searched"
	                 : ": binary files, hidden names and files larger than 16 MiB are not "
	                   "searched";
}

static void on_found(struct file_work *file, const struct files_reply *reply)
{
	struct search_files *s = container_of(file, struct search_files, file);
	json_t *structured = json_obj(), *content = json_list();
	size_t count;
	bool more;

	more = !add_records(s, reply->bytes) || (reply->done.flags & WIRE_DONE_MORE) != 0;
	count = json_array_size(s->matches);
	json_set(structured, "matches", json_incref(s->matches));
	json_set(structured, "more", json_boolean(more));
	if (count != 0)
		json_push(content, mcp_text_view(buf_view(&s->text)));
	json_push(content, mcp_text("[%zu match%s%s]", count, count == 1 ? "" : "es",
	                            more ? "; there are more: narrow the pattern, path or names"
	                            : count == 0 ? describe_none(s->args)
	                                         : ""));
	work_answer(&file->work, content, structured);
}

static struct wire_message make_request(const struct search_files *s)
{
	const struct search_files_args *a = s->args;
	uint8_t flags = (uint8_t)((a->hidden ? WIRE_WALK_HIDDEN : 0) |
	                          (s->patterns.ignore_case ? WIRE_WALK_IGNORE_CASE : 0));
	struct wire_message request = { .type = WIRE_FIND };

	if (a->mode == modes[MODE_NAME]) {
		request.find = (struct wire_find){ .flags = flags,
			                           .depth = WIRE_DEPTH_MAX,
			                           .limit = (uint32_t)a->limit,
			                           .path = view_of(a->path),
			                           .pattern = view_of(s->patterns.pattern) };
		return request;
	}
	request.type = WIRE_GREP;
	request.grep = (struct wire_grep){
		.flags = (uint8_t)(flags | (a->regex ? WIRE_WALK_REGEX : 0)),
		.depth = WIRE_DEPTH_MAX,
		.limit = (uint32_t)a->limit,
		.max = FILE_MAX,
		.path = view_of(a->path),
		.pattern = view_of(s->patterns.pattern),
		.names = view_of(s->patterns.names),
	};
	return request;
}

static void on_deadline(void *ctx)
{
	struct search_files *s = ctx;

	file_work_fail(&s->file, ERR_LIMIT,
	               "the search was stopped after %u s (answer_within): search a smaller "
	               "directory, or only files by 'names'",
	               s->file.work.context->answer_within_ms / 1000);
}

static int start_search(struct work *work, struct error *err)
{
	struct search_files *s = container_of(work, struct search_files, file.work);
	const size_t room = work->context->max_output;
	const size_t most = (size_t)s->args->limit * MATCH_USUAL;
	struct wire_message request = make_request(s);

	if (file_memory_reserve(&s->file.reserved, most < REPLY_MAX ? most : REPLY_MAX, err) < 0)
		return -1;
	s->room = room > AROUND ? room - AROUND : 0;
	buf_init(&s->text, answer_text_room(room));
	s->matches = json_list();
	s->deadline = loop_timer_new(mcp_call_loop(work->call), on_deadline, s);
	loop_timer_start(s->deadline, work->context->answer_within_ms);
	file_work_request(&s->file, &request, (struct view){ 0 }, REPLY_MAX, on_found);
	return 0;
}

static void free_search(struct work *work)
{
	struct search_files *s = container_of(work, struct search_files, file.work);

	file_work_done(work);
	if (s->deadline != NULL)
		(void)loop_timer_free(s->deadline);
	buf_done(&s->text);
	json_decref(s->matches);
}

static const struct work_callbacks callbacks = { start_search, work_cancel, free_search };

/* Arguments that mean nothing in a mode are refused, so that no search does less than it seems
 * to. */
static int check_mode(const struct search_files_args *a, struct error *err)
{
	if (a->mode == modes[MODE_CONTENT])
		return 0;
	if (a->regex)
		return error_set(err, ERR_INVALID,
		                 "argument 'regex': names are matched by globs (*, ?, [a-z], **/); "
		                 "leave it out, or use mode \"content\"");
	if (a->names != NULL)
		return error_set(
		        err, ERR_INVALID,
		        "argument 'names': with mode \"name\" the pattern itself says which "
		        "names; leave it out");
	return 0;
}

/* Writes the globs that a pattern with braces stands for into a member of search_patterns. */
static int expand_globs(const char *arg, const char *pattern, char *ret, struct error *err)
{
	struct buf globs = buf_fixed(ret, WIRE_PATTERN_MAX + 1);

	if (braces_expand(view_of(pattern), &globs, err) < 0)
		return error_wrap(err, "argument '%s': too many alternatives in braces", arg);
	return 0;
}

static int make_patterns(const struct search_files_args *a, struct search_patterns *ret,
                         struct error *err)
{
	static const char any_case[] = "(?i)";
	const bool has_flag = a->regex && strncmp(a->pattern, any_case, strlen(any_case)) == 0;

	*ret = (struct search_patterns){ .ignore_case = a->ignore_case || has_flag };
	if (a->mode == modes[MODE_CONTENT]) {
		(void)snprintf(ret->pattern, sizeof ret->pattern, "%s",
		               a->pattern + (has_flag ? strlen(any_case) : 0));
		return a->names != NULL ? expand_globs("names", a->names, ret->names, err) : 0;
	}
	if (expand_globs("pattern", a->pattern, ret->pattern, err) < 0)
		return -1;
	/* A pattern without wildcards matches any name that contains it. */
	if (strpbrk(a->pattern, "*?[/\\") == NULL && strcmp(ret->pattern, a->pattern) == 0)
		(void)snprintf(ret->pattern, sizeof ret->pattern, "*%s*", a->pattern);
	return 0;
}

static int search_files(struct mcp_call *call, const void *args, struct error *err)
{
	const struct search_files_args *a = args;
	struct search_patterns patterns;
	struct search_files *s;
	struct work *work;

	if (work_check_path(a->path, err) < 0 || check_mode(a, err) < 0 ||
	    make_patterns(a, &patterns, err) < 0 ||
	    work_start(call, sizeof *s, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	s = container_of(work, struct search_files, file.work);
	s->file.path = a->path;
	s->args = a;
	s->patterns = patterns;
	return 0;
}

const struct mcp_tool tool_search_files = {
	.name = "search_files",
	.title = "Search files",
	.help = "Find lines with a text, or files by name, below a directory of the sandbox.",
	.more = "Answers path:line:text. Binary files and files larger than 16 MiB are not "
	        "searched, links are not followed.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct search_files_args),
	.output = output,
	.call = search_files,
};
