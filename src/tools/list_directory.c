#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/support/file_work.h"
#include "tools/support/tree_draw.h"

enum {
	DEPTH_MAX = 10,
	LIMIT_DEFAULT = 500,
	LIMIT_MAX = 10000,
	OFFSET_MAX = 80000, /* with LIMIT_MAX still less than a sandbox tells at once */
	ANSWER_MAX = 16 * 1024 * 1024,
	NOTE_ROOM = 600,
	AROUND = 60,       /* the JSON around path and entries */
	ENTRY_USUAL = 256, /* bytes of a record */
	NAME_SIZE = 1100,  /* every byte of a name escaped */
	SHOWN = 160,
};
_Static_assert((int)DEPTH_MAX <= (int)TREE_DEPTH_MAX, "a tree must be drawable");

struct list_directory_args {
	const char *path, *sandbox;
	int64_t depth, limit, offset;
	bool hidden;
};

static const struct param params[] = {
	{ .name = "path",
	  .type = PARAM_STRING,
	  .min = 1,
	  .max = 4095,
	  .fallback.text = ".",
	  .offset = offsetof(struct list_directory_args, path),
	  .help = "The directory. Absolute, or relative to /workspace." },
	{ .name = "depth",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = DEPTH_MAX,
	  .fallback.integer = 1,
	  .offset = offsetof(struct list_directory_args, depth),
	  .help = "How many levels; more than 1 draws a tree." },
	{ .name = "hidden",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct list_directory_args, hidden),
	  .help = "Show names that start with a dot too." },
	{ .name = "limit",
	  .type = PARAM_INT,
	  .min = 1,
	  .max = LIMIT_MAX,
	  .fallback.integer = LIMIT_DEFAULT,
	  .offset = offsetof(struct list_directory_args, limit),
	  .help = "How many entries at most." },
	{ .name = "offset",
	  .type = PARAM_INT,
	  .max = OFFSET_MAX,
	  .offset = offsetof(struct list_directory_args, offset),
	  .help = "Leave out so many entries in front: what an earlier answer gave as "
	          "next_offset." },
	WORK_PARAM_SANDBOX(struct list_directory_args, sandbox),
	{ 0 },
};

static const struct param entry_fields[] = {
	{ .name = "path", .type = PARAM_STRING, .required = true, .help = "Below the directory." },
	{ .name = "type",
	  .type = PARAM_STRING,
	  .required = true,
	  .help = "\"file\", \"directory\", \"link\" or \"other\"." },
	{ .name = "size", .type = PARAM_INT, .required = true, .help = "Bytes." },
	{ .name = "modified", .type = PARAM_STRING, .required = true, .help = "UTC." },
	{ .name = "mode", .type = PARAM_STRING, .required = true, .help = "As ls shows it." },
	{ .name = "target", .type = PARAM_STRING, .help = "Where a link leads." },
	{ .name = "path_base64",
	  .type = PARAM_STRING,
	  .help = "The exact bytes of a path that is not UTF-8." },
	{ 0 },
};

static const struct param output[] = {
	{ .name = "path", .type = PARAM_STRING, .required = true, .help = "As it was given." },
	{ .name = "entries",
	  .type = PARAM_RECORDS,
	  .required = true,
	  .fields = entry_fields,
	  .help = "By name, each directory before what is in it." },
	{ .name = "next_offset", .type = PARAM_INT, .help = "There are more: go on with this." },
	{ 0 },
};

struct listing {
	struct file_work file;
	const struct list_directory_args *args;
};

static const char *const type_names[WIRE_FILE_TYPE_COUNT] = {
	[WIRE_FILE_REGULAR] = "file",
	[WIRE_FILE_DIRECTORY] = "directory",
	[WIRE_FILE_LINK] = "link",
	[WIRE_FILE_OTHER] = "other",
};

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

static struct view last_name(struct view path)
{
	const char *slash = memrchr(path.ptr, '/', path.len);
	size_t above = slash != NULL ? (size_t)(slash - path.ptr) + 1 : 0;

	return (struct view){ path.ptr + above, path.len - above };
}

static int show_entry(const struct wire_entry *entry, const char *prefix, struct buf *out,
                      struct error *full)
{
	char name[NAME_SIZE], target[SHOWN], when[FILE_TIME_SIZE], mode[11];

	(void)utf8_escape(prefix != NULL ? last_name(entry->path) : entry->path, name, sizeof name);
	(void)utf8_escape(entry->target, target, sizeof target);
	(void)file_time(entry->modified_ms, when);
	if (prefix != NULL)
		return buf_printf(out, full, "%s%s%s%s%s  %" PRIu64 "  %s\n", prefix, name,
		                  entry->type == WIRE_FILE_DIRECTORY ? "/" : "",
		                  entry->type == WIRE_FILE_LINK ? " -> " : "", target, entry->size,
		                  when);
	return buf_printf(out, full, "%s %10" PRIu64 " %s %s%s%s%s\n", mode_of(entry, mode),
	                  entry->size, when, name, entry->type == WIRE_FILE_DIRECTORY ? "/" : "",
	                  entry->type == WIRE_FILE_LINK ? " -> " : "", target);
}

static json_t *describe_entry(const struct wire_entry *entry)
{
	json_t *object = json_obj();
	char when[FILE_TIME_SIZE], mode[11];

	json_set(object, "path", json_str_view(entry->path));
	json_set(object, "type", json_str(type_names[entry->type]));
	json_set(object, "size", json_int((json_int_t)entry->size));
	json_set(object, "modified", json_str(file_time(entry->modified_ms, when)));
	json_set(object, "mode", json_str(mode_of(entry, mode)));
	if (entry->type == WIRE_FILE_LINK)
		json_set(object, "target", json_str_view(entry->target));
	if (!utf8_is_valid(entry->path)) {
		AUTO_FREE char *exact = base64_encode(entry->path);

		json_set(object, "path_base64", json_str(exact));
	}
	return object;
}

/* The entries that were asked for. Returns how many; the caller frees them. */
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

/* As many as fit into both; returns how many that were. `room`: of JSON. An entry that alone is
 * more than that is told nevertheless: nobody could go on behind it otherwise. */
static size_t show_window(const struct wire_entry *window, size_t count, bool as_tree,
                          struct buf *out, json_t *entries, size_t room)
{
	AUTO_FREE struct tree_node *nodes = mem_array(count + 1, sizeof *nodes);
	struct tree_lines lines = { 0 };
	size_t i, used = 0;

	for (i = 0; i < count; i++)
		nodes[i].depth = tree_depth(window[i].path);
	tree_mark_last(nodes, count);
	for (i = 0; i < count; i++) {
		const size_t before = out->len;
		char prefix[TREE_PREFIX_SIZE];
		struct error full;
		json_t *entry;

		if (show_entry(&window[i], as_tree ? tree_prefix(&lines, &nodes[i], prefix) : NULL,
		               out, &full) < 0)
			break;
		entry = describe_entry(&window[i]);
		used += file_json_size(entry);
		if (i != 0 && used > room) {
			json_decref(entry);
			buf_truncate(out, before);
			break;
		}
		json_push(entries, entry);
	}
	return i;
}

static json_t *note(const struct listing *l, size_t shown, bool more)
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
	return mcp_text("[%s: %zu %s%s]", path, shown, shown == 1 ? "entry" : "entries",
	                l->args->offset != 0 ? ", the last" : "");
}

static void answer(struct listing *l, struct view records)
{
	const size_t room = l->file.work.context->max_output;
	json_t *structured = json_obj(), *entries = json_list(), *content = json_list();
	AUTO_FREE struct wire_entry *window = NULL;
	AUTO_BUF struct buf text;
	size_t count, shown, around;
	bool more;

	json_set(structured, "path", json_str(l->file.path));
	around = file_json_size(structured) + AROUND;
	buf_init(&text, room > 2 * NOTE_ROOM ? room - NOTE_ROOM : NOTE_ROOM);
	count = take_window(l->args, records, &window, &more);
	shown = show_window(window, count, l->args->depth > 1, &text, entries,
	                    room > around ? room - around : 0);
	more |= shown < count;
	json_set(structured, "entries", entries);
	if (more)
		json_set(structured, "next_offset", json_int(l->args->offset + (json_int_t)shown));
	if (shown != 0)
		json_push(content, mcp_text_view(buf_view(&text)));
	json_push(content, note(l, shown, more));
	work_answer(&l->file.work, content, structured);
}

static void on_entries(struct file_work *file, const struct files_reply *said,
                       const struct error *why)
{
	if (why != NULL)
		file_work_fail_path(file, why);
	else
		answer(container_of(file, struct listing, file), said->bytes);
}

static int start(struct work *work, struct error *err)
{
	struct listing *l = container_of(work, struct listing, file.work);
	struct wire_message request = { .type = WIRE_TREE };
	size_t most = (size_t)(l->args->offset + l->args->limit + 1) * ENTRY_USUAL;

	if (file_memory_reserve(&l->file.reserved, most < ANSWER_MAX ? most : ANSWER_MAX, err) < 0)
		return -1;
	/* One more than wanted tells whether there are more: MORE also means deeper ones. */
	request.tree = (struct wire_tree){
		.flags = l->args->hidden ? WIRE_WALK_HIDDEN : 0,
		.depth = (uint16_t)l->args->depth,
		.limit = (uint32_t)(l->args->offset + l->args->limit + 1),
		.path = view_of(l->file.path),
	};
	file_work_request(&l->file, &request, (struct view){ 0 }, ANSWER_MAX, on_entries);
	return 0;
}

static const struct work_callbacks calls = { start, file_work_cancel, file_work_done };

static int list_directory(struct mcp_call *call, const void *args, struct error *err)
{
	const struct list_directory_args *a = args;
	struct listing *l;
	struct work *work;

	if (work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *l, &calls, a->sandbox, &work, err) < 0)
		return -1;
	l = container_of(work, struct listing, file.work);
	l->file.path = a->path;
	l->args = a;
	return 0;
}

const struct mcp_tool tool_list_directory = {
	.name = "list_directory",
	.title = "List a directory",
	.help = "See what is in a directory of the sandbox: names, kinds, sizes and times; with "
	        "depth "
	        "a tree. Links are shown, not followed. To find a file by name or by what is in it "
	        "use search_files.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct list_directory_args),
	.output = output,
	.call = list_directory,
};
