#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/text/base64.h"
#include "base/text/encoding.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/support/answer_room.h"
#include "tools/support/params.h"

enum {
	LINES_DEFAULT = 2000,
	LIMIT_MAX = 10 * 1000 * 1000,
	SHOWN = 160,
	/* Bytes of a picture, a blob or a UTF-16 text in one answer. In Base64 this is 5 MiB, the
	 * largest picture that models accept. */
	WHOLE_MAX = 15 * 256 * 1024,
};

struct read_file_args {
	const char *path, *encoding, *sandbox;
	int64_t offset, limit;
	bool numbers;
};

static const struct param params[] = {
	ARG_PATH(struct read_file_args, path, "", .required = true),
	ARG(struct read_file_args, offset, INT,
	    "First line, from 1 (with base64: first byte, from 0).", .max = (int64_t)1 << 53),
	ARG(struct read_file_args, limit, INT,
	    "Most lines (with base64: bytes); 0: 2000 lines (3.75 MiB).", .max = LIMIT_MAX,
	    .also = PARAM_ALSO("head", "max_lines")),
	ARG(struct read_file_args, numbers, BOOL, "Number the lines."),
	ARG_ENCODING(struct read_file_args, encoding, ""),
	WORK_PARAM_SANDBOX(struct read_file_args),
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

static bool has_encoding(const struct read_file *r, int encoding)
{
	return r->args->encoding == encoding_names[encoding];
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
		used = (size_t)snprintf(out, out_size, "%s is empty (%" PRIu64 " bytes)", r->shown,
		                        size);
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
		used += (size_t)snprintf(
		        out + used, out_size - used,
		        "; line %" PRIu64 " is too long for one answer and was cut: a command "
		        "such as `sed -n %" PRIu64
		        "p FILE | cut -b 20001-40000` shows another part of it; "
		        "offset %" PRIu64 " reads the line behind it, if there is one",
		        last, last, last + 1);
	else if (more && used < out_size)
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

/* Says which encoding may fit: UTF-16 has a byte order mark nearly always, and text in encodings of
 * one byte has no NUL. */
static void fail_encoding(struct read_file *r, struct view bytes, uint64_t size)
{
	const char *kind = "binary, not UTF-8 text", *encoding = "\"base64\"";

	if (view_starts(bytes, "\xff\xfe") || view_starts(bytes, "\xfe\xff")) {
		kind = "UTF-16, not UTF-8 text";
		encoding = "\"utf-16\"";
	} else if (has_encoding(r, ENCODING_UTF8) && memchr(bytes.ptr, '\0', bytes.len) == NULL) {
		kind = "not UTF-8 text";
		encoding = "\"latin-1\" if it is text, else \"base64\"";
	}
	file_work_fail(&r->file, ERR_INVALID,
	               "'%s' is %s (%" PRIu64 " bytes): read it with encoding %s, or look at it "
	               "with a program in the sandbox",
	               r->shown, kind, size, encoding);
}

/* Reads `count` bytes, at most WHOLE_MAX. */
static void request_bytes(struct read_file *r, uint64_t from, uint64_t count, file_work_fn *next)
{
	file_work_read(&r->file, WIRE_UNIT_BYTES, from, count, (size_t)count, next);
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
	if (size > WHOLE_MAX)
		file_work_fail(&r->file, ERR_LIMIT,
		               "'%s' is a picture (%s) of %" PRIu64
		               " bytes, and at most %d are shown: make a smaller one in the "
		               "sandbox, or read it with encoding \"base64\"",
		               r->shown, r->picture, size, WHOLE_MAX);
	else
		request_bytes(r, 0, size, on_picture);
}

static void on_text(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	struct view text = reply->bytes.len != 0 ? reply->bytes : view_of("");
	AUTO_BUF struct buf decoded;
	struct error full;
	bool more, is_open;

	buf_init(&decoded, 2 * r->room);
	r->picture = r->from == 1 ? file_picture(text) : NULL;
	if (r->picture != NULL) {
		request_picture(r, reply->done.total);
		return;
	}
	more = (reply->done.flags & WIRE_DONE_MORE) != 0;
	is_open = more && text.len == r->room && text.ptr[text.len - 1] != '\n';
	if (has_encoding(r, ENCODING_LATIN1) && text.len != 0 &&
	    latin1_decode(text, &decoded, &full) == 0)
		text = buf_view(&decoded);
	if (!file_is_text(&text, is_open))
		fail_encoding(r, text, reply->done.total);
	else
		answer_text(r, text, is_open, more, reply->done.total);
}

/* --- UTF-16 ---------------------------------------------------------------------------- */

/* Reduces *text to r->count lines from line r->from on. Returns whether lines are left behind
 * them. */
static bool select_lines(const struct read_file *r, struct view *text)
{
	struct view rest = *text, line;
	const char *start;

	for (uint64_t i = 1; i < r->from && view_next_line(&rest, &line); i++)
		;
	start = rest.ptr;
	for (uint64_t i = 0; i < r->count && view_next_line(&rest, &line); i++)
		;
	*text = (struct view){ start, (size_t)(rest.ptr - start) };
	return rest.len != 0;
}

static void on_utf16(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	AUTO_BUF struct buf decoded;
	struct view text = view_of("");
	struct error err;
	bool more;

	/* Two bytes of UTF-16 become at most three of UTF-8. */
	buf_init(&decoded, WHOLE_MAX / 2 * 3);
	if (utf16_decode(reply->bytes, &decoded, &err) < 0) {
		file_work_fail(file, ERR_INVALID,
		               "'%s' is not UTF-16 text (%s): read it with another encoding",
		               r->shown, err.msg);
		return;
	}
	if (decoded.len != 0)
		text = buf_view(&decoded);
	if (!file_is_text(&text, false)) {
		file_work_fail(file, ERR_INVALID,
		               "'%s' is not UTF-16 text (it has NUL characters): read it with "
		               "encoding \"base64\"",
		               r->shown);
		return;
	}
	more = select_lines(r, &text);
	answer_text(r, text, false, more, reply->done.total);
}

/* The line feeds of UTF-16 cannot be found byte by byte, so the file is read whole. The first reply
 * has the beginning and the file's size. */
static void on_utf16_head(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	const uint64_t size = reply->done.total;

	if (size > WHOLE_MAX)
		file_work_fail(file, ERR_LIMIT,
		               "'%s' has %" PRIu64 " bytes, and at most %d are decoded from "
		               "UTF-16: convert it in the sandbox (iconv -f UTF-16 -t UTF-8)",
		               r->shown, size, WHOLE_MAX);
	else if (size > reply->bytes.len)
		request_bytes(r, 0, size, on_utf16);
	else
		on_utf16(file, reply);
}

/* --- bytes ----------------------------------------------------------------------------- */

/* Adds how to continue to the note; returns the next offset, or 0 at the end of the file. */
static uint64_t note_bytes(const struct read_file *r, const struct files_reply *reply, char *note,
                           size_t size)
{
	const uint64_t end = r->from + reply->bytes.len, total = reply->done.total;
	size_t used = (size_t)snprintf(
	        note, size, "%s: %zu bytes from %" PRIu64 " on, %" PRIu64 " bytes in all", r->shown,
	        reply->bytes.len, r->from, total);

	if (end >= total)
		return 0;
	(void)snprintf(note + used, size - used, "; there is more: go on with offset %" PRIu64,
	               end);
	return end;
}

/* Bytes that do not fit into the text as Base64 are an embedded resource, which clients save or
 * show, and which costs the model nothing. Structured content would be given to the model instead
 * of the resource, so there is none. */
static void on_blob(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	json_t *content = json_list();
	AUTO_BUF struct buf uri;
	struct error err;
	char note[NOTE_ROOM];

	buf_init(&uri, FILE_URI_MAX);
	if (file_uri(sandbox_row(file->work.sandbox)->spec.id, file->path, &uri, &err) < 0) {
		json_decref(content);
		work_fail(&file->work, &err);
		return;
	}
	(void)note_bytes(r, reply, note, sizeof note);
	json_push(content, mcp_text("[%s]", note));
	json_push(content,
	          mcp_embedded_blob(buf_text(&uri), file_mime_type(file->path, reply->bytes),
	                            reply->bytes));
	work_answer(&file->work, content, NULL);
}

static void on_bytes(struct file_work *file, const struct files_reply *reply)
{
	struct read_file *r = container_of(file, struct read_file, file);
	const uint64_t total = reply->done.total;
	const uint64_t behind = total > r->from ? total - r->from : 0;
	const uint64_t wanted = behind < r->count ? behind : r->count;
	AUTO_FREE char *text = NULL;
	json_t *structured;
	char note[NOTE_ROOM];
	uint64_t next;

	if ((reply->done.flags & WIRE_DONE_MORE) != 0 && wanted > reply->bytes.len) {
		request_bytes(r, r->from, wanted, on_blob);
		return;
	}
	text = base64_encode(reply->bytes);
	next = note_bytes(r, reply, note, sizeof note);
	structured = json_obj();
	json_set(structured, "path", json_str(file->path));
	json_set(structured, "base64", json_str(text));
	json_set(structured, "first_byte", json_int((json_int_t)r->from));
	json_set(structured, "bytes", json_int((json_int_t)reply->bytes.len));
	json_set(structured, "size", json_int((json_int_t)total));
	if (next != 0)
		json_set(structured, "next_offset", json_int((json_int_t)next));
	json_set(structured, "note", json_str(note));
	work_answer(&file->work, content_of(view_of(text), note), structured);
}

static int request_file(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	struct read_file *r = container_of(file, struct read_file, file);
	bool by_lines = has_encoding(r, ENCODING_UTF8) || has_encoding(r, ENCODING_LATIN1);
	bool is_utf16 = has_encoding(r, ENCODING_UTF16);
	struct wire_message request = { .type = WIRE_READ };

	(void)err;
	request.read = (struct wire_read){
		.unit = by_lines ? WIRE_UNIT_LINES : WIRE_UNIT_BYTES,
		.from = is_utf16 ? 0 : r->from,
		.count = is_utf16 ? r->room : r->count,
		.max = r->room,
		.path = view_of(file->path),
	};
	file_work_request(file, &request, (struct view){ 0 }, r->room,
	                  by_lines   ? on_text
	                  : is_utf16 ? on_utf16_head
	                             : on_bytes);
	return 0;
}

static const struct work_callbacks callbacks = { request_file, work_cancel, file_work_done };

static int read_file(struct mcp_call *call, const void *args, struct error *err)
{
	const struct read_file_args *a = args;
	const struct tools_context *context = mcp_call_app(call);
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
	r->from = (uint64_t)a->offset;
	if (has_encoding(r, ENCODING_BASE64)) { /* Base64 makes four characters of three bytes. */
		r->room = r->room / 4 * 3;
		r->count = a->limit != 0 && a->limit < WHOLE_MAX ? (uint64_t)a->limit : WHOLE_MAX;
	} else {
		r->from = r->from != 0 ? r->from : 1;
		r->count = a->limit != 0 ? (uint64_t)a->limit : LINES_DEFAULT;
	}
	return 0;
}

/* There is no output schema: a schema would require structured content in every answer, and clients
 * that give only structured content to the model would drop the picture beside it. */
const struct mcp_tool tool_read_file = {
	.name = "read_file",
	.title = "Read a file",
	.help = "Read a file of the sandbox: text by lines, a picture as an image, any bytes as "
	        "base64. Long files come in parts: the answer says with which offset to continue.",
	.more = "Pictures are PNG, JPEG, GIF and WebP, of at most 3.75 MiB. With base64, bytes "
	        "that do not fit into the text of an answer are an embedded resource (a blob of "
	        "at most 3.75 MiB), without structured content. Text that is not UTF-8 is "
	        "answered as UTF-8 if `encoding` says what it is; utf-16 text has at most "
	        "3.75 MiB. Any file that the sandbox's user may read can be read, also outside "
	        "/workspace. Leave `numbers` out when you copy text for edit_file.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_FILES,
	.params = params,
	.args_size = sizeof(struct read_file_args),
	.call = read_file,
};
