#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"

enum {
	LINES_DEFAULT = 2000,
	LIMIT_MAX = 10 * 1000 * 1000,
	SHOWN = 160,
};

struct read_file_args {
	const char *path, *encoding, *sandbox;
	int64_t offset, limit;
	bool numbers;
};

static const struct param params[] = {
	ARG_PATH(struct read_file_args, path, "Any file the sandbox's user may read.",
	         .required = true),
	ARG(struct read_file_args, offset, INT,
	    "First line, from 1 (with base64: first byte, from 0).", .max = (int64_t)1 << 53),
	ARG(struct read_file_args, limit, INT, "Most lines (with base64: bytes); 0: 2000 lines.",
	    .max = LIMIT_MAX),
	ARG(struct read_file_args, numbers, BOOL, "Number the lines."),
	ARG_ENCODING(struct read_file_args, encoding, "\"base64\" reads the bytes of any file."),
	WORK_PARAM_SANDBOX(struct read_file_args, sandbox),
	{ 0 },
};

struct read_file {
	struct file_work file;
	const struct read_file_args *args;
	uint64_t from, count; /* in lines or bytes */
	size_t room;          /* bytes of text in the answer */
	char shown[SHOWN];    /* the path, escaped */
	const char *picture;  /* the MIME type of a picture; NULL: it is none, or not known yet */
};

static bool reads_text(const struct read_file_args *args)
{
	return args->encoding == encoding_names[ENCODING_UTF8];
}

/* The text and the note are two blocks, so that the first has nothing but the file's text. */
static json_t *content_of(struct view text, const char *note)
{
	json_t *content = json_list();

	if (text.len != 0)
		json_push(content, mcp_text_view(text));
	json_push(content, mcp_text("[%s]", note));
	return content;
}

/* --- text ------------------------------------------------------------------------------ */

/* Which lines of the file were read, and how to go on. */
static void note_text(const struct read_file *r, const struct file_lines *lines, bool more,
                      uint64_t size, bool has_bom, char *out, size_t out_size)
{
	uint64_t last = r->from + lines->count - 1;
	size_t used;

	if (lines->count == 0 && r->from == 1)
		used = (size_t)snprintf(out, out_size, "%s is empty (0 bytes)", r->shown);
	else if (lines->count == 0)
		used = (size_t)snprintf(out, out_size,
		                        "%s has fewer than %" PRIu64 " lines (%" PRIu64 " bytes)",
		                        r->shown, r->from, size);
	else if (lines->count == 1)
		used = (size_t)snprintf(out, out_size,
		                        "%s: line %" PRIu64 "%s, %" PRIu64 " bytes in all",
		                        r->shown, last, more ? "" : " (the last)", size);
	else
		used = (size_t)snprintf(out, out_size,
		                        "%s: lines %" PRIu64 " to %" PRIu64 "%s, %" PRIu64
		                        " bytes in all",
		                        r->shown, r->from, last, more ? "" : " (the last)", size);
	if (has_bom && used < out_size)
		used += (size_t)snprintf(out + used, out_size - used,
		                         "; it starts with a byte order mark");
	if (lines->is_cut && used < out_size)
		used += (size_t)snprintf(out + used, out_size - used,
		                         "; line %" PRIu64
		                         " is too long for one answer and was cut: "
		                         "encoding \"base64\" reads by bytes",
		                         last);
	if (more && used < out_size)
		(void)snprintf(out + used, out_size - used,
		               "; there is more: go on with offset %" PRIu64, last + 1);
}

/* `is_open`: the last line of `text` is cut. `more`: the file goes on behind the text. */
static void answer_text(struct read_file *r, struct view text, bool is_open, bool more,
                        uint64_t size)
{
	AUTO_BUF struct buf shown;
	struct file_lines lines;
	json_t *structured = json_obj();
	char note[NOTE_ROOM];
	json_int_t next;

	buf_init(&shown, r->room);
	file_lines_show(text, is_open, r->from, r->args->numbers, &shown, &lines);
	next = (json_int_t)r->from + (json_int_t)lines.count;
	more |= lines.is_full;
	note_text(r, &lines, more, size, r->from == 1 && file_has_bom(text), note, sizeof note);
	json_set(structured, "path", json_str(r->file.path));
	json_set(structured, "text", json_str_view(buf_view(&shown)));
	json_set(structured, "first_line", json_int((json_int_t)r->from));
	json_set(structured, "lines", json_int((json_int_t)lines.count));
	json_set(structured, "size", json_int((json_int_t)size));
	if (!more && (lines.count != 0 || r->from == 1))
		json_set(structured, "total_lines", json_int(next - 1));
	if (more)
		json_set(structured, "next_offset", json_int(next));
	json_set(structured, "note", json_str(note));
	work_answer(&r->file.work, content_of(buf_view(&shown), note), structured);
}

static void fail_binary(struct read_file *r, uint64_t size)
{
	file_work_fail(&r->file, ERR_INVALID,
	               "'%s' is binary, not UTF-8 text (%" PRIu64
	               " bytes): read it with encoding \"base64\", or look at it with a program "
	               "in the sandbox",
	               r->shown, size);
}

/* --- pictures -------------------------------------------------------------------------- */

static void on_picture(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	json_t *content = json_list();

	json_push(content, mcp_text("%s: %s, %zu bytes", r->shown, r->picture, reply->bytes.len));
	json_push(content, mcp_image(reply->bytes, r->picture));
	work_answer(&file->work, content, NULL);
}

static void request_picture(struct read_file *r, uint64_t size)
{
	const uint64_t max = r->file.work.context->picture_bytes;
	const struct wire_message request = {
		.type = WIRE_READ,
		.read = { .unit = WIRE_UNIT_BYTES,
		          .count = size,
		          .max = size,
		          .path = view_of(r->file.path) },
	};

	if (size > max) {
		file_work_fail(&r->file, ERR_LIMIT,
		               "'%s' is a picture (%s) of %" PRIu64 " bytes, and at most %" PRIu64
		               " are shown: make a smaller one in the sandbox, or read it with "
		               "encoding \"base64\"",
		               r->shown, r->picture, size, max);
		return;
	}
	if (file_work_reserve(&r->file, (size_t)size))
		file_work_request(&r->file, &request, (struct view){ 0 }, (size_t)size, on_picture);
}

static void on_text(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	struct view text = reply->bytes.len != 0 ? reply->bytes : view_of("");
	bool more, is_open;

	r->picture = r->from == 1 ? file_picture(text) : NULL;
	if (r->picture != NULL) {
		request_picture(r, reply->done.total);
		return;
	}
	more = (reply->done.flags & WIRE_DONE_MORE) != 0;
	is_open = more && text.len == r->room && text.ptr[text.len - 1] != '\n';
	if (!file_is_text(&text, is_open))
		fail_binary(r, reply->done.total);
	else
		answer_text(r, text, is_open, more, reply->done.total);
}

/* --- bytes ----------------------------------------------------------------------------- */

static void on_bytes(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	const uint64_t end = r->from + reply->bytes.len;
	AUTO_FREE char *text = base64_encode(reply->bytes);
	json_t *structured = json_obj();
	char note[NOTE_ROOM];

	(void)snprintf(note, sizeof note,
	               "%s: %zu bytes from %" PRIu64 " on, %" PRIu64 " bytes in all", r->shown,
	               reply->bytes.len, r->from, reply->done.total);
	json_set(structured, "path", json_str(file->path));
	json_set(structured, "base64", json_str(text));
	json_set(structured, "first_byte", json_int((json_int_t)r->from));
	json_set(structured, "bytes", json_int((json_int_t)reply->bytes.len));
	json_set(structured, "size", json_int((json_int_t)reply->done.total));
	if (end < reply->done.total) {
		size_t used = strlen(note);

		(void)snprintf(note + used, sizeof note - used,
		               "; there is more: go on with offset %" PRIu64, end);
		json_set(structured, "next_offset", json_int((json_int_t)end));
	}
	json_set(structured, "note", json_str(note));
	work_answer(&file->work, content_of(view_of(text), note), structured);
}

static int request_file(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	struct read_file *r = container_of(file, struct read_file, file);
	bool is_text = reads_text(r->args);
	struct wire_message request = { .type = WIRE_READ };

	(void)err;
	request.read = (struct wire_read){
		.unit = is_text ? WIRE_UNIT_LINES : WIRE_UNIT_BYTES,
		.from = r->from,
		.count = r->count,
		.max = r->room,
		.path = view_of(file->path),
	};
	file_work_request(file, &request, (struct view){ 0 }, r->room,
	                  is_text ? on_text : on_bytes);
	return 0;
}

static const struct work_callbacks callbacks = { request_file, file_work_cancel, file_work_done };

static int read_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct read_file_args *a = args;
	const struct tools_context *context = mcp_call_app(call);
	bool is_text = reads_text(a);
	struct read_file *r;
	struct work *work;

	if (work_check_path(a->path, err) < 0 ||
	    work_start(call, sizeof *r, &callbacks, a->sandbox, &work, err) < 0)
		return -1;
	r = container_of(work, struct read_file, file.work);
	r->file.path = a->path;
	r->file.is_for_file = true;
	r->args = a;
	(void)utf8_escape(view_of(a->path), r->shown, sizeof r->shown);
	r->room = answer_text_room(context->max_output);
	if (!is_text) /* Base64 makes four characters of three bytes. */
		r->room = r->room / 4 * 3;
	r->from = (uint64_t)a->offset;
	if (is_text && r->from == 0)
		r->from = 1;
	r->count = a->limit != 0 ? (uint64_t)a->limit : is_text ? LINES_DEFAULT : r->room;
	return 0;
}

/* There is no output schema: a schema would require structured content in every answer, and clients
 * that give only structured content to the model would drop the picture beside it. */
const struct mcp_tool tool_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.help = "Read a file of the sandbox: text by lines, a picture as an image, any bytes as "
	        "base64. Long files come in parts: the answer says with which offset to continue.",
	.more = "Pictures are PNG, JPEG, GIF and WebP. Any file that the sandbox's user may read "
	        "can be read, also outside /workspace. Leave `numbers` out when you copy text for "
	        "edit_file.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct read_file_args),
	.call = read_file,
};
