#include "tools/run/answer/run_result.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "mcp/content.h"
#include "tools/files/changed_files.h"
#include "tools/run/answer/pictures.h"
#include "tools/run/answer/run_end_text.h"
#include "tools/run/answer/run_hint.h"
#include "tools/run/answer/run_order.h"
#include "tools/run/answer/run_text.h"

enum { SILENT_MS = 1500, QUEUED_MS = 1000 };

/* An answer while it is put together. */
struct answer {
	const struct run_result *r;
	const struct run_fit *fit;
	struct buf text;   /* what the process has printed and displayed */
	struct buf status; /* what belljar says about it, one line each */
	struct buf notes;  /* the structured field `note` */
	json_t *structured, *files, *values;
	json_t *content;       /* blocks in front of `text` */
	json_t *pictures;      /* blocks to send; or NULL */
	size_t pictures_taken; /* how many of them are in `content` */
	bool is_truncated;
	bool is_value_cut;   /* a displayed text is not whole */
	size_t display_room; /* bytes left for displays and the traceback */
};

static void add_text(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* All parts were bounded before, so the buffer has room; if not, the text is left out. */
static void add_text(struct buf *buf, const char *fmt, ...)
{
	AUTO_FREE char *line = NULL;
	va_list args;

	va_start(args, fmt);
	line = mem_vformat(fmt, args);
	va_end(args);
	buf_put(buf, view_of(line));
}

/* Ends the current line, if it is not empty. */
static void break_line(struct buf *buf)
{
	if (buf->len != 0 && buf->ptr[buf->len - 1] != '\n')
		add_text(buf, "\n");
}

static void add_status(struct answer *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void add_status(struct answer *a, const char *fmt, ...)
{
	AUTO_FREE char *line = NULL;
	va_list args;

	va_start(args, fmt);
	line = mem_vformat(fmt, args);
	va_end(args);
	break_line(&a->status);
	add_text(&a->status, RUN_TEXT_MARK "%s]", line);
}

static void add_note(struct answer *a, const char *text)
{
	add_text(&a->notes, "%s%s", a->notes.len != 0 ? "; " : "", text);
}

/* A sentence that is a status line and in the structured content. */
static void add_sentence(struct answer *a, const char *text)
{
	add_status(a, "%s", text);
	add_note(a, text);
}

/* A copy of a displayed text, cut to the room that is left for displays. Sets *is_cut if so. */
static char *copy_display(struct answer *a, struct view text, bool *is_cut, size_t *ret_len)
{
	struct process_stream whole = { .total = text.len, .head = text };
	AUTO_BUF struct buf buf;

	buf_init(&buf, run_text_room(text.len) + 64);
	if (run_text_fit(&whole, a->display_room, &buf) != 0)
		a->is_truncated = *is_cut = true;
	a->display_room -= buf.len < a->display_room ? buf.len : a->display_room;
	*ret_len = buf.len;
	return mem_dup_len(buf_text(&buf), buf.len);
}

/* --- displays and exceptions ------------------------------------------------------------------ */

/* Appends "NAME: MESSAGE" for an exception without a traceback. */
static void add_error_line(struct answer *a)
{
	const struct process_state *state = a->r->state;
	AUTO_FREE char *line = mem_format("%s: %s", state->error_name, state->error_message);

	run_text_clean(view_of(line), &a->text);
}

static void add_error(struct answer *a)
{
	const struct process_state *state = a->r->state;
	AUTO_FREE char *traceback = NULL;
	json_t *error;
	size_t len;

	if (state->error_name == NULL)
		return;
	traceback = copy_display(
	        a, view_of(state->error_traceback != NULL ? state->error_traceback : ""),
	        &a->is_truncated, &len);
	break_line(&a->text);
	if (len != 0)
		add_text(&a->text, "%s", traceback);
	else
		add_error_line(a);
	error = json_obj();
	json_set(error, "name", json_str(state->error_name));
	json_set(error, "message", json_str(state->error_message));
	json_set(error, "traceback", json_str(traceback));
	json_set(a->structured, "error", error);
}

static const char *why_unshown(const struct run_result *r, size_t i)
{
	if (!pictures_is_picture(&r->state->displays[i]))
		return NULL;
	return r->unshown != NULL ? r->unshown[i] : "read_file shows it";
}

static void add_display_path(struct answer *a, const struct process_display *display,
                             const char *unshown)
{
	const char *what = strncmp(display->mime, "image/", 6) == 0 ? "picture" : display->mime;

	AUTO_BUF struct buf path;

	/* The path is chosen by code in the sandbox, so it could imitate a status line. */
	buf_init(&path, run_text_room(strlen(display->path)));
	run_text_clean(view_of(display->path), &path);
	break_line(&a->text);
	if (unshown != NULL)
		add_text(&a->text, RUN_TEXT_MARK "%s: %s (%s)]", what, buf_text(&path), unshown);
	else
		add_text(&a->text, RUN_TEXT_MARK "%s: %s]", what, buf_text(&path));
	json_push(a->files, json_str(display->path));
}

/* Ends the current block of text. */
static void end_text_block(struct answer *a)
{
	if (a->text.len != 0)
		json_push(a->content, mcp_text_view(buf_view(&a->text)));
	buf_clear(&a->text);
}

/* The blocks of pictures are in the order of the displays; a display has one if nothing says why it
 * is not shown. */
static void add_picture(struct answer *a, size_t display)
{
	const struct run_result *r = a->r;
	json_t *block = json_array_get(a->pictures, a->pictures_taken);

	if (block == NULL || !pictures_is_picture(&r->state->displays[display]) ||
	    why_unshown(r, display) != NULL)
		return;
	a->pictures_taken++;
	end_text_block(a);
	json_push(a->content, json_incref(block));
}

static void add_display(struct answer *a, size_t i)
{
	const struct process_display *display = &a->r->state->displays[i];
	json_t *value = json_obj();
	size_t len;

	json_set(value, "mime", json_str(display->mime));
	if (display->path != NULL) {
		add_display_path(a, display, why_unshown(a->r, i));
		json_set(value, "path", json_str(display->path));
		add_picture(a, i);
	} else {
		struct view whole = { display->text, display->text_len };
		AUTO_FREE char *text = copy_display(a, whole, &a->is_value_cut, &len);

		break_line(&a->text);
		if (strcmp(display->mime, "text/plain") != 0)
			add_text(&a->text, RUN_TEXT_MARK "%s]\n", display->mime);
		add_text(&a->text, "%s", text);
		json_set(value, "text", json_str(text));
	}
	json_push(a->values, value);
}

/* --- status lines ----------------------------------------------------------------------------- */

static void add_left_out(struct answer *a, const struct process_stream *stream, const char *name,
                         uint64_t total, uint64_t missing)
{
	char all[32], some[32];

	if (missing == 0)
		return;
	(void)run_text_count(total, all);
	(void)run_text_count(missing, some);
	if (stream->file == NULL && stream->file_note != NULL)
		add_status(a, "%s bytes of %s, %s left out in the middle; they were not kept: %s",
		           all, name, some, stream->file_note);
	else if (stream->file == NULL)
		add_status(a,
		           "%s bytes of %s, %s left out in the middle; they were not kept: print "
		           "less, or print to a file",
		           all, name, some);
	else if (stream->file_note != NULL)
		add_status(a, "%s bytes of %s, %s left out in the middle; %s has a part of it: %s",
		           all, name, some, stream->file, stream->file_note);
	else
		add_status(a, "%s bytes of %s, %s left out in the middle; all of it is in %s", all,
		           name, some, stream->file);
}

/* A value is not kept in a file, as output is. */
static void add_cut_value(struct answer *a)
{
	if (a->is_value_cut)
		add_sentence(a, "a value is too long and was cut: print a part of it, or write it "
		                "to a file");
}

static void add_exit(struct answer *a)
{
	const struct run_end *end = &a->r->state->end;
	char words[RUN_END_SIZE], name[24];

	run_end_describe(a->r, a->text.len == 0 && json_array_size(a->content) == 0, words);
	if (words[0] != '\0' || end->note[0] != '\0')
		add_status(a, "%s%s%s", words, words[0] != '\0' && end->note[0] != '\0' ? ": " : "",
		           end->note);
	if (end->timed_out)
		add_note(a, words);
	if (end->note[0] != '\0')
		add_note(a, end->note);
	if (end->timed_out)
		add_sentence(a, "for more time pass a larger timeout_s, or background: true");
	if (end->signal != 0)
		json_set(a->structured, "signal", json_str(run_text_signal(end->signal, name)));
	else
		json_set(a->structured, "exit_code", json_int(end->code));
	if (a->r->state->end.compile_failed)
		json_set(a->structured, "compile_error", json_true());
}

static void add_loss(struct answer *a, const char *when, const char *why)
{
	char line[400];

	(void)snprintf(line, sizeof line, "the session's state %s: %s", when, why);
	add_sentence(a, line);
	json_set(a->structured, "state_lost", json_true());
}

static void add_session(struct answer *a)
{
	const struct process_state *state = a->r->state;
	bool was_killed = state->phase == PROCESS_ENDED && state->end.signal != 0;
	char line[80];

	/* The time limit of a cell begins with its turn, so duration_ms can be far above it. */
	(void)snprintf(line, sizeof line,
	               "for %.1f s the call waited for an earlier cell of its session",
	               (double)state->queued_ms / 1000);
	if (state->queued_ms >= QUEUED_MS)
		add_sentence(a, line);
	if (state->state_was_lost)
		add_loss(a, "was lost before this call, and the session started again",
		         state->why_lost != NULL ? state->why_lost : "its interpreter ended");
	if (state->state_is_lost)
		add_loss(a, "is lost, and the next call with this session starts again",
		         was_killed ? "its interpreter was killed" : "its interpreter ended");
}

static void add_changed(struct answer *a)
{
	AUTO_BUF struct buf names, clean;

	buf_init(&names, 4096);
	buf_init(&clean, run_text_room(4096));
	changed_files_report(a->r->changed, &names, a->files);
	run_text_clean(buf_view(&names), &clean); /* a name may have the mark in it */
	if (clean.len != 0)
		add_status(a, "files changed: %s", buf_text(&clean));
	if (clean.len != 0 && a->r->changed->has_more)
		add_note(a, "perhaps more files were changed");
}

/* A program that runs for a while and has printed nothing may keep its output in a buffer. A poll
 * cannot show that, and models take it for a program that hangs. */
static void add_silence(struct answer *a)
{
	const struct run_result *r = a->r;

	if (r->state->phase == PROCESS_RUNNING && r->session == NULL &&
	    r->out_bytes + r->error_bytes == 0 && r->state->elapsed_ms >= SILENT_MS)
		add_sentence(a, "no output so far: a program that buffers it needs stdbuf -oL, or "
		                "to flush");
}

static void add_process(struct answer *a)
{
	const struct run_result *r = a->r;
	bool is_running = r->state->phase < PROCESS_ENDED;
	bool is_waiting = r->session != NULL && r->state->phase == PROCESS_PREPARING;
	char limit[48] = "";

	if (is_running || r->process != NULL)
		json_set(a->structured, "running", json_boolean(is_running));
	if (r->process == NULL)
		return;
	json_set(a->structured, "process", json_str(r->process));
	json_set(a->structured, "next", json_int((json_int_t)r->next));
	if (r->has_more)
		json_set(a->structured, "more", json_true());
	if (!is_running && !r->has_more)
		return;
	if (r->timeout_ms != 0)
		(void)snprintf(limit, sizeof limit, " (for at most %g s)",
		               (double)r->timeout_ms / 1000);
	if (r->has_more)
		add_status(a,
		           "%s %s, and there is more to read: call process_output "
		           "{\"process\":\"%s\",\"since\":%" PRIu64 "}",
		           r->process, is_running ? "is running" : "has ended", r->process,
		           r->next);
	else
		add_status(a,
		           "%s%s%s%s: for more call process_output "
		           "{\"process\":\"%s\",\"since\":%" PRIu64 ",\"wait_s\":30}",
		           is_waiting ? "" : "running as ", r->process,
		           is_waiting ? " waits for its session to start or be free" : "", limit,
		           r->process, r->next);
	add_silence(a);
}

/* --- the whole answer ------------------------------------------------------------------------- */

/* Appends output and displays, with a heading where the stream changes. Each piece begins on a line
 * of its own: otherwise the end of one piece and the beginning of the next could together imitate a
 * line of belljar. */
static void add_pieces(struct answer *a)
{
	bool is_stderr = false;
	struct run_order order;
	struct run_piece piece;

	run_order_init(&order, a->r, a->fit);
	while (run_order_next(&order, &piece)) {
		if (piece.is_display) {
			add_display(a, piece.display);
			continue;
		}
		break_line(&a->text);
		if (piece.is_stderr != is_stderr)
			add_text(&a->text, RUN_TEXT_MARK "%s]\n",
			         piece.is_stderr ? "stderr" : "stdout");
		is_stderr = piece.is_stderr;
		(void)!buf_add(&a->text, piece.text, &(struct error){ 0 });
	}
	run_order_done(&order);
}

static void add_output(struct answer *a)
{
	const struct run_result *r = a->r;

	if (r->lost != 0)
		add_text(&a->text,
		         RUN_TEXT_MARK "%" PRIu64 " bytes before this are no longer kept]\n",
		         r->lost);
	add_pieces(a);
	if (json_array_size(a->values) != 0)
		json_set(a->structured, "values", json_incref(a->values));
	json_decref(a->values);
	json_set(a->structured, "stdout", json_str_view(buf_view(&a->fit->out)));
	json_set(a->structured, "stderr", json_str_view(buf_view(&a->fit->errors)));
}

/* A file is named only if the answer leaves output out, or if the process may print more. */
static void set_file(struct answer *a, const struct process_stream *stream, uint64_t missing,
                     const char *key)
{
	if (stream->file == NULL || (missing == 0 && a->r->process == NULL))
		return;
	json_set(a->structured, key, json_str(stream->file));
	json_push(a->files, json_str(stream->file));
	if (stream->file_note != NULL)
		add_note(a, stream->file_note);
}

static void add_end(struct answer *a)
{
	const struct process_state *state = a->r->state;
	char hint[RUN_HINT_SIZE];

	if (state->phase == PROCESS_ENDED) {
		add_exit(a);
	} else if (state->phase == PROCESS_FAILED) {
		add_status(a, "the process ended without an exit code: %s", state->why->msg);
		add_note(a, state->why->msg);
	}
	add_left_out(a, &a->r->out, "stdout", a->r->out_bytes, a->fit->out_missing);
	add_left_out(a, &a->r->errors, "stderr", a->r->error_bytes, a->fit->errors_missing);
	add_cut_value(a);
	add_changed(a);
	add_session(a);
	if (run_hint(a->r, a->fit, hint))
		add_sentence(a, hint);
	if (a->r->remark != NULL)
		add_sentence(a, a->r->remark);
	add_process(a);
}

/* Members that would say nothing are left out: see run_result.h. */
static void add_numbers(struct answer *a)
{
	const struct run_result *r = a->r;
	bool is_part = a->is_truncated || r->lost != 0;

	json_set(a->structured, "duration_ms", json_int((json_int_t)r->state->elapsed_ms));
	if (r->state->phase == PROCESS_ENDED && r->state->end.timed_out)
		json_set(a->structured, "timed_out", json_true());
	if (is_part)
		json_set(a->structured, "truncated", json_true());
	if (is_part || r->process != NULL) {
		json_set(a->structured, "stdout_bytes", json_int((json_int_t)r->out_bytes));
		json_set(a->structured, "stderr_bytes", json_int((json_int_t)r->error_bytes));
	}
	set_file(a, &r->out, a->fit->out_missing, "stdout_file");
	set_file(a, &r->errors, a->fit->errors_missing, "stderr_file");
	json_set_text(a->structured, "session", r->session);
	json_set_text(a->structured, "sandbox", r->sandbox);
}

/* A block without text is left out, unless it would be the only one. */
static json_t *make_content(struct answer *a)
{
	end_text_block(a);
	if (a->status.len != 0 || json_array_size(a->content) == 0)
		json_push(a->content, mcp_text_view(buf_view(&a->status)));
	return a->content;
}

void run_result_make(const struct run_result *result, const struct run_fit *fit, json_t *pictures,
                     json_t **ret_content, json_t **ret_structured)
{
	struct answer a = {
		.r = result,
		.fit = fit,
		.structured = json_obj(),
		.files = json_list(),
		.values = json_list(),
		.content = json_list(),
		.pictures = pictures,
		.is_truncated = fit->out_missing != 0 || fit->errors_missing != 0,
		.display_room = fit->display_room,
	};

	buf_init(&a.text, run_text_room(run_fit_len(result)) + 64 * 1024);
	buf_init(&a.status, 64 * 1024);
	buf_init(&a.notes, 4096);
	add_output(&a);
	/* An answer that does not reach the last byte of output does not report the end yet. */
	if (!result->has_more)
		add_error(&a);
	add_end(&a);
	add_numbers(&a);
	if (a.notes.len != 0)
		json_set(a.structured, "note", json_str_view(buf_view(&a.notes)));
	if (json_array_size(a.files) != 0)
		json_set(a.structured, "files", a.files);
	else
		json_decref(a.files);
	*ret_content = make_content(&a);
	*ret_structured = a.structured;
	buf_done(&a.text);
	buf_done(&a.status);
	buf_done(&a.notes);
}
