#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_tree.h"
#include "tools/files/file_work.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"

enum {
	DEPTH_MAX = 10, /* not more than FILE_TREE_DEPTH_MAX */
	LIMIT_DEFAULT = 500,
	LIMIT_MAX = 10000,
	OFFSET_MAX = 80000, /* with LIMIT_MAX less than the agent sends in one reply */
	REPLY_MAX = 16 * 1024 * 1024,
	AROUND = 60,       /* bytes of JSON around the path and the entries */
	ENTRY_USUAL = 256, /* bytes of a record in the reply */
	NAME_SIZE = 1100,  /* a name of 255 bytes with each byte escaped as \xNN */
	SHOWN = 160,
	WHEN_SIZE = FILE_TIME_SIZE + 8,
};

struct list_directory_args {
	const char *path, *sandbox;
	int64_t depth, limit, offset;
	bool hidden, detail;
};

static const struct param params[] = {
	ARG_PATH(struct list_directory_args, path, "", .fallback.text = "."),
	ARG(struct list_directory_args, depth, INT, "Levels; more than 1 draws a tree.", .min = 1,
	    .max = DEPTH_MAX, .fallback.integer = 1),
	ARG(struct list_directory_args, hidden, BOOL, "Also .names."),
	ARG(struct list_directory_args, limit, INT, "", .more = "Most entries.", .min = 1,
	    .max = LIMIT_MAX, .fallback.integer = LIMIT_DEFAULT),
	ARG(struct list_directory_args, offset, INT, "",
	    .more = "next_offset of an earlier answer.", .max = OFFSET_MAX),
	ARG(struct list_directory_args, detail, BOOL, "Also owners and exact times."),
	WORK_PARAM_SANDBOX(struct list_directory_args),
	{ 0 },
};

static const struct param entry_fields[] = {
	FIELD("path", STRING, "The path below the directory."),
	FIELD("type", STRING, "\"file\", \"directory\", \"link\" or \"other\"."),
	FIELD("size", INT, "Bytes."),
	FIELD("modified", STRING, "When it was changed last (UTC)."),
	FIELD("mode", STRING, "The permissions as ls shows them."),
	FIELD_OPTIONAL("uid", INT, "The id of its user; with detail."),
	FIELD_OPTIONAL("gid", INT, "The id of its group; with detail."),
	FIELD_OPTIONAL("target", STRING, "Where a link leads."),
	FIELD_OPTIONAL("path_base64", STRING, "The exact bytes of a path that is not UTF-8."),
	{ 0 },
};

static const struct param output[] = {
	FIELD_PATH,
	FIELD("entries", RECORDS, "Sorted by name; a directory comes before its entries.",
	      .fields = entry_fields),
	FIELD_OPTIONAL("hidden", BOOL, "false: names that start with a dot are left out."),
	FIELD_OPTIONAL("next_offset", INT, "There are more entries: the offset for the next call."),
	{ 0 },
};

struct list_directory {
	struct file_work file;
	const struct list_directory_args *args;
	bool is_file; /* the path is that of a file */
};

/* "-rwxr-xr-x" */
static const char *mode_of(const struct wire_entry *entry, char out[11])
{
	static const char letters[] = "rwxrwxrwx";

	out[0] = "-dl?"[entry->type];
	for (unsigned i = 0; i < 9; i++)
		out[1 + i] = '-';
	for (unsigned i = 0; i < 9; i++)
		if ((entry->perm >> (8 - i) & 1) != 0)
			out[1 + i] = letters[i];
	out[10] = '\0';
	return out;
}

/* "2026-11-16 11:25", or with `exact` "2026-11-16 11:25:03.120". */
static const char *entry_time(const struct wire_entry *entry, bool exact, char out[WHEN_SIZE])
{
	char minutes[FILE_TIME_SIZE];

	(void)snprintf(out, WHEN_SIZE, "%s", file_time(entry->modified_ms, minutes));
	if (exact)
		(void)snprintf(out, WHEN_SIZE, "%s:%02u.%03u", minutes,
		               (unsigned)(entry->modified_ms / 1000 % 60),
		               (unsigned)(entry->modified_ms % 1000));
	return out;
}

/* One line of text; `prefix` is the tree in front of a name, NULL: no tree. */
static int show_entry(const struct wire_entry *entry, const char *prefix, bool detail,
                      struct buf *out, struct error *full)
{
	char name[NAME_SIZE], target[SHOWN], when[WHEN_SIZE], mode[11], owner[24] = "";

	(void)utf8_escape(prefix != NULL ? file_tree_name(entry) : entry->path, name, sizeof name);
	(void)utf8_escape(entry->target, target, sizeof target);
	(void)entry_time(entry, detail, when);
	if (detail)
		(void)snprintf(owner, sizeof owner, " %" PRIu32 ":%" PRIu32, entry->uid,
		               entry->gid);
	if (prefix != NULL)
		return buf_printf(out, full, "%s%s%s%s%s  %s%s%s%" PRIu64 "  %s\n", prefix, name,
		                  entry->type == WIRE_FILE_DIRECTORY ? "/" : "",
		                  entry->type == WIRE_FILE_LINK ? " -> " : "", target,
		                  detail ? mode_of(entry, mode) : "", owner, detail ? "  " : "",
		                  entry->size, when);
	return buf_printf(out, full, "%s%s %10" PRIu64 " %s %s%s%s%s\n", mode_of(entry, mode),
	                  owner, entry->size, when, name,
	                  entry->type == WIRE_FILE_DIRECTORY ? "/" : "",
	                  entry->type == WIRE_FILE_LINK ? " -> " : "", target);
}

static json_t *entry_json(const struct wire_entry *entry, bool detail)
{
	json_t *object = json_obj();
	char when[WHEN_SIZE], mode[11];

	json_set(object, "path", json_str_view(entry->path));
	json_set(object, "type", json_str(file_type_names[entry->type]));
	json_set(object, "size", json_int((json_int_t)entry->size));
	json_set(object, "modified", json_str(entry_time(entry, detail, when)));
	json_set(object, "mode", json_str(mode_of(entry, mode)));
	if (detail) {
		json_set(object, "uid", json_int(entry->uid));
		json_set(object, "gid", json_int(entry->gid));
	}
	if (entry->type == WIRE_FILE_LINK)
		json_set(object, "target", json_str_view(entry->target));
	if (!utf8_is_valid(entry->path)) {
		AUTO_FREE char *exact = base64_encode(entry->path);

		json_set(object, "path_base64", json_str(exact));
	}
	return object;
}

/* Takes `limit` entries from `offset` on. Returns how many there are; the caller frees *ret. */
static size_t take_window(const struct list_directory_args *args, struct view records,
                          struct wire_entry **ret, bool *ret_more)
{
	struct wire_entry *window = mem_array((size_t)args->limit, sizeof *window), entry;
	size_t skip = (size_t)args->offset, count = 0;

	*ret_more = false;
	while (files_next_entry(&records, &entry)) {
		if (skip != 0) {
			skip--;
		} else if (count == (size_t)args->limit) {
			*ret_more = true;
			break;
		} else {
			window[count++] = entry;
		}
	}
	*ret = window;
	return count;
}

/* --- the answer -------------------------------------------------------------------------- */

/* Adds the entries as text and as JSON, as many as fit into both. Returns how many that were. The
 * first entry is added even if its JSON is longer than `room`: otherwise a caller could never get
 * past it. */
static size_t show_window(const struct wire_entry *window, size_t count,
                          const struct list_directory_args *args, struct buf *out, json_t *entries,
                          size_t room)
{
	struct file_tree tree;
	size_t i, used = 0;

	file_tree_init(&tree, window, count);
	for (i = 0; i < count; i++) {
		const size_t before = out->len;
		char prefix[FILE_TREE_PREFIX_SIZE];
		struct error full;
		json_t *entry;

		(void)file_tree_prefix(&tree, i, prefix);
		if (show_entry(&window[i], args->depth > 1 ? prefix : NULL, args->detail, out,
		               &full) < 0)
			break;
		entry = entry_json(&window[i], args->detail);
		used += file_json_size(entry);
		if (i != 0 && used > room) {
			json_decref(entry);
			buf_truncate(out, before);
			break;
		}
		json_push(entries, entry);
	}
	file_tree_done(&tree);
	return i;
}

/* How much was listed, and how to go on. */
static json_t *note_of(const struct list_directory *l, size_t shown, bool more)
{
	char path[SHOWN];
	size_t next = (size_t)l->args->offset + shown;

	(void)utf8_escape(view_of(l->file.path), path, sizeof path);
	if (shown == 0 && l->args->offset == 0)
		return mcp_text("[%s is empty%s]", path,
		                l->args->hidden ? "" : ", or has only hidden names");
	if (more)
		return mcp_text("[%s: %zu entries from %zu on; there are more: go on with offset "
		                "%zu]",
		                path, shown, (size_t)l->args->offset, next);
	return mcp_text("[%s: %zu %s%s%s]", path, shown, shown == 1 ? "entry" : "entries",
	                l->args->offset != 0 ? ", the last" : "",
	                l->args->hidden || l->is_file ? "" : ", without hidden names");
}

static void answer_entries(struct list_directory *l, struct view records)
{
	const size_t room = l->file.work.context->max_output;
	json_t *structured = json_obj(), *entries = json_list(), *content = json_list();
	AUTO_FREE struct wire_entry *window = NULL;
	AUTO_BUF struct buf text;
	size_t count, shown, around;
	bool more;

	json_set(structured, "path", json_str(l->file.path));
	around = file_json_size(structured) + AROUND;
	buf_init(&text, answer_text_room(room));
	count = take_window(l->args, records, &window, &more);
	shown = show_window(window, count, l->args, &text, entries,
	                    room > around ? room - around : 0);
	more |= shown < count;
	json_set(structured, "entries", entries);
	if (!l->args->hidden && !l->is_file)
		json_set(structured, "hidden", json_false());
	if (more)
		json_set(structured, "next_offset", json_int(l->args->offset + (json_int_t)shown));
	if (shown != 0)
		json_push(content, mcp_text_view(buf_view(&text)));
	json_push(content, note_of(l, shown, more));
	work_answer(&l->file.work, content, structured);
}

static void on_entries(struct file_work *file, const struct files_reply *reply)
{
	answer_entries(container_of(file, struct list_directory, file), reply->bytes);
}

/* The path of a file lists that file. */
static void on_no_entries(struct file_work *file, const struct error *why)
{
	if (why->errnum == ENOTDIR) {
		container_of(file, struct list_directory, file)->is_file = true;
		file_work_stat(file, file->path, false, on_entries);
	} else {
		file_work_fail_path(file, why);
	}
}

static int request_entries(struct work *work, struct error *err)
{
	struct list_directory *l = container_of(work, struct list_directory, file.work);
	struct wire_message request = { .type = WIRE_TREE };
	size_t most = (size_t)(l->args->offset + l->args->limit + 1) * ENTRY_USUAL;

	if (file_memory_reserve(&l->file.reserved, most < REPLY_MAX ? most : REPLY_MAX, err) < 0)
		return -1;
	/* One entry more than wanted shows whether there are more. The flag MORE of the reply does
	 * not: it is also set for entries that are deeper than `depth`. */
	request.tree = (struct wire_tree){
		.flags = l->args->hidden ? WIRE_WALK_HIDDEN : 0,
		.depth = (uint16_t)l->args->depth,
		.limit = (uint32_t)(l->args->offset + l->args->limit + 1),
		.path = view_of(l->file.path),
	};
	file_work_request_or(&l->file, &request, (struct view){ 0 }, REPLY_MAX, on_entries,
	                     on_no_entries);
	return 0;
}

static const struct work_callbacks callbacks = { request_entries, work_cancel, file_work_done };

static int list_directory(struct mcp_call *call, const void *args, struct error *err)
{
	const struct list_directory_args *a = args;
	struct list_directory *l;
	struct work *work;

	if (work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *l, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	l = container_of(work, struct list_directory, file.work);
	l->file.path = a->path;
	l->args = a;
	return 0;
}

const struct mcp_tool tool_list_directory = {
	.name = "list_directory",
	.title = "List a directory",
	.help = "List a directory of the sandbox: names, types, sizes, times.",
	.more = "Links are shown, not followed. To find a file by its name or its content use "
	        "search_files.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct list_directory_args),
	.output = output,
	.call = list_directory,
};
