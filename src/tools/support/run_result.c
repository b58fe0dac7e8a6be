#include "tools/support/run_result.h"

#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "tools/support/run_text.h"

/* Of the room for text: so much is kept for the lines in brackets. */
enum { STATUS_ROOM = 1500, SMALLEST = 512 };

/* All that is told, while it is put together. */
struct telling {
	const struct run_result *r;
	struct buf text;  /* of the whole answer */
	struct buf notes; /* of `note` */
	struct buf out, errors;
	json_t *structured, *files;
	uint64_t out_missing, errors_missing; /* bytes */
	bool is_truncated;
	size_t rich; /* bytes left for values and traceback */
};

static void say(struct buf *buf, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Every part was bounded before; what does not fit after all is the end of a line. */
static void say(struct buf *buf, const char *fmt, ...)
{
	AUTO_FREE char *line = NULL;
	struct error err;
	va_list args;

	va_start(args, fmt);
	line = mem_vformat(fmt, args);
	va_end(args);
	(void)!buf_add(buf, view_of(line), &err);
}

/* A line of its own begins. */
static void break_line(struct buf *buf)
{
	if (buf->len != 0 && buf->ptr[buf->len - 1] != '\n')
		say(buf, "\n");
}

static void note(struct telling *t, const char *text)
{
	say(&t->notes, "%s%s", t->notes.len != 0 ? "; " : "", text);
}

bool run_result_is_picture(const struct process_display *shown)
{
	static const char *const mimes[] = { "image/png", "image/jpeg", "image/gif", "image/webp" };

	for (size_t i = 0; i < ARRAY_LEN(mimes); i++)
		if (strcmp(shown->mime, mimes[i]) == 0)
			return shown->path != NULL;
	return false;
}

/* --- how much of what --- */

static size_t min_of(size_t a, size_t b)
{
	return a < b ? a : b;
}

static size_t max_of(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t less(size_t a, size_t b)
{
	return a > b ? a - b : 0;
}

static size_t kept(const struct process_stream *stream)
{
	return stream->head.len + stream->tail.len;
}

static size_t rich_len(const struct process_state *state)
{
	size_t len = state->error_traceback != NULL ? strlen(state->error_traceback) : 0;

	for (size_t i = 0; i < state->display_count; i++)
		len += state->shown[i].text_len + 100;
	return len;
}

/* Each of the three has a third for sure; what one does not need is the others'. */
static void share_out(struct telling *t)
{
	const struct run_result *r = t->r;
	size_t room = max_of(less(r->max, STATUS_ROOM), SMALLEST), third = room / 3;
	size_t out = kept(&r->out), rich = rich_len(r->state);
	size_t errors = min_of(kept(&r->errors),
	                       max_of(third, less(room, out + min_of(rich, third))));

	/* Text may be shorter or longer than the bytes it was made of: what is longer is cut to
	 * its share, what is shorter leaves room that nobody uses. */
	t->rich = min_of(rich, max_of(third, less(room, out + errors)));
	errors = max_of(errors, third);
	t->errors_missing = run_text_fit(&r->errors, errors, &t->errors);
	/* The line in a gap comes out of the room for the lines in brackets. */
	t->out_missing = run_text_fit(&r->out, less(room, min_of(t->errors.len, errors) + t->rich),
	                              &t->out);
	t->is_truncated = t->errors_missing != 0 || t->out_missing != 0;
}

/* Text that somebody else made, cut to what is left of the room for such. */
static char *cut_rich(struct telling *t, struct view text, size_t *ret_len)
{
	struct process_stream whole = { .total = text.len, .head = text };
	AUTO_BUF struct buf buf;

	buf_init(&buf, run_text_room(text.len) + 64);
	if (run_text_fit(&whole, t->rich, &buf) != 0)
		t->is_truncated = true;
	t->rich = less(t->rich, buf.len);
	*ret_len = buf.len;
	return mem_dup_len(buf_text(&buf), buf.len);
}

/* --- values and exceptions --- */

static void tell_error(struct telling *t)
{
	const struct process_state *state = t->r->state;
	AUTO_FREE char *traceback = NULL;
	json_t *error;
	size_t len;

	if (state->error_name == NULL)
		return;
	traceback = cut_rich(
	        t, view_of(state->error_traceback != NULL ? state->error_traceback : ""), &len);
	break_line(&t->text);
	if (len != 0)
		say(&t->text, "%s", traceback);
	else
		say(&t->text, "%s: %s", state->error_name, state->error_message);
	error = json_obj();
	json_set(error, "name", json_str(state->error_name));
	json_set(error, "message", json_str(state->error_message));
	json_set(error, "traceback", json_str(traceback));
	json_set(t->structured, "error", error);
}

static const char *unshown_why(const struct run_result *r, size_t i)
{
	if (!run_result_is_picture(&r->state->shown[i]))
		return NULL;
	return r->unshown != NULL ? r->unshown[i] : "read_file shows it";
}

static void tell_path(struct telling *t, const struct process_display *shown, const char *unshown)
{
	const char *what = strncmp(shown->mime, "image/", 6) == 0 ? "picture" : shown->mime;

	break_line(&t->text);
	if (unshown != NULL)
		say(&t->text, "[%s: %s (%s)]", what, shown->path, unshown);
	else
		say(&t->text, "[%s: %s]", what, shown->path);
	json_push(t->files, json_str(shown->path));
}

static void tell_values(struct telling *t)
{
	const struct process_state *state = t->r->state;
	json_t *values = json_list();

	for (size_t i = 0; i < state->display_count; i++) {
		const struct process_display *shown = &state->shown[i];
		json_t *value = json_obj();
		size_t len;

		json_set(value, "mime", json_str(shown->mime));
		if (shown->path != NULL) {
			tell_path(t, shown, unshown_why(t->r, i));
			json_set(value, "path", json_str(shown->path));
		} else {
			AUTO_FREE char *text = cut_rich(
			        t, (struct view){ shown->text, shown->text_len }, &len);

			break_line(&t->text);
			if (strcmp(shown->mime, "text/plain") != 0)
				say(&t->text, "[%s]\n", shown->mime);
			say(&t->text, "%s", text);
			json_set(value, "text", json_str(text));
		}
		json_push(values, value);
	}
	if (json_array_size(values) != 0)
		json_set(t->structured, "values", values);
	else
		json_decref(values);
}

/* --- lines in brackets --- */

static const char *signal_name(int number, char out[24])
{
	const char *name = sigabbrev_np(number);

	if (name != NULL)
		(void)snprintf(out, 24, "SIG%s", name);
	else
		(void)snprintf(out, 24, "signal %d", number);
	return out;
}

static void tell_left_out(struct telling *t, const struct process_stream *stream, const char *name,
                          uint64_t total, uint64_t missing)
{
	char all[32], some[32];

	if (missing == 0)
		return;
	break_line(&t->text);
	say(&t->text, "[%s bytes of %s, %s left out in the middle; ", run_text_count(total, all),
	    name, run_text_count(missing, some));
	if (stream->file == NULL)
		say(&t->text, "they were not kept: have it print less, or into a file]");
	else if (stream->file_note != NULL)
		say(&t->text, "%s has a part of it: %s]", stream->file, stream->file_note);
	else
		say(&t->text, "the whole is in %s]", stream->file);
}

/* What is said of the end, without brackets; "" if there is nothing to say. */
static void end_words(const struct telling *t, char *out, size_t size)
{
	const struct process_state *state = t->r->state;
	const struct run_end *end = &state->end;
	bool is_silent = t->text.len == 0, is_cell = t->r->session != NULL;
	uint64_t ms = t->r->timeout_ms != 0 ? t->r->timeout_ms : state->elapsed_ms;
	char name[24];

	out[0] = '\0';
	if (end->timed_out)
		(void)snprintf(out, size, "timed out after %g s: %s; %s", (double)ms / 1000,
		               !is_cell ? "the program and all it started were ended"
		               : state->state_is_lost
		                       ? "the cell did not heed an interrupt, and was killed"
		                       : "the cell was interrupted",
		               is_silent ? "it had printed nothing" : "what it printed is above");
	else if (end->signal != 0)
		(void)snprintf(out, size, "killed by %s", signal_name(end->signal, name));
	else if (state->compile_failed)
		(void)snprintf(out, size, "it does not compile: exit code %d of the compiler",
		               end->code);
	else if (end->code != 0 && (!is_cell || state->error_name == NULL))
		(void)snprintf(out, size, "exit code %d", end->code);
	else if (is_silent)
		(void)snprintf(out, size, is_cell ? "no output" : "no output; exit code 0");
}

static void tell_exit(struct telling *t)
{
	const struct run_end *end = &t->r->state->end;
	char words[160], name[24];

	end_words(t, words, sizeof words);
	if (words[0] != '\0' || end->note[0] != '\0') {
		break_line(&t->text);
		say(&t->text, "[%s%s%s]", words,
		    words[0] != '\0' && end->note[0] != '\0' ? ": " : "", end->note);
	}
	if (end->note[0] != '\0')
		note(t, end->note);
	if (end->signal != 0)
		json_set(t->structured, "signal", json_str(signal_name(end->signal, name)));
	else
		json_set(t->structured, "exit_code", json_int(end->code));
	if (t->r->state->compile_failed)
		json_set(t->structured, "compile_error", json_true());
}

static void tell_loss(struct telling *t, const char *when, const char *why)
{
	break_line(&t->text);
	say(&t->text, "[the session's state %s: %s]", when, why);
	json_set(t->structured, "state_lost", json_true());
	note(t, why);
}

static void tell_session(struct telling *t)
{
	const struct process_state *state = t->r->state;
	bool was_killed = state->phase == PROCESS_ENDED && state->end.signal != 0;

	if (state->state_was_lost)
		tell_loss(t, "was lost before this ran, and it began anew",
		          state->why_lost != NULL ? state->why_lost : "its interpreter ended");
	if (state->state_is_lost)
		tell_loss(t, "is lost, and the next call with it begins anew",
		          was_killed ? "its interpreter was killed" : "its interpreter ended");
}

static void tell_remark(struct telling *t)
{
	if (t->r->remark == NULL)
		return;
	break_line(&t->text);
	say(&t->text, "[%s]", t->r->remark);
	note(t, t->r->remark);
}

static void tell_process(struct telling *t)
{
	const struct run_result *r = t->r;
	bool is_running = r->state->phase < PROCESS_ENDED;

	json_set(t->structured, "running", json_boolean(is_running));
	if (r->process == NULL)
		return;
	json_set(t->structured, "process", json_str(r->process));
	json_set(t->structured, "next", json_int((json_int_t)r->next));
	if (r->has_more)
		json_set(t->structured, "more", json_true());
	if (!is_running && !r->has_more)
		return;
	break_line(&t->text);
	if (r->has_more)
		say(&t->text, "[%s%s, and there is more to read: ", r->process,
		    is_running ? " is running" : " has ended");
	else if (r->session != NULL && r->state->phase == PROCESS_PREPARING)
		say(&t->text, "[%s waits for what runs in its session: for more ", r->process);
	else
		say(&t->text, "[running as %s: for more ", r->process);
	say(&t->text, "call process_output {\"process\":\"%s\",\"since\":%" PRIu64 "%s}]",
	    r->process, r->next, r->has_more ? "" : ",\"wait_s\":30");
}

/* --- all of it --- */

static void tell_output(struct telling *t)
{
	const struct run_result *r = t->r;

	if (r->lost != 0)
		say(&t->text, "... %" PRIu64 " bytes before this are not kept any more ...\n",
		    r->lost);
	(void)!buf_add(&t->text, buf_view(&t->out), &(struct error){ 0 });
	if (t->errors.len != 0) {
		break_line(&t->text);
		say(&t->text, "[stderr]\n");
		(void)!buf_add(&t->text, buf_view(&t->errors), &(struct error){ 0 });
	}
	json_set(t->structured, "stdout", json_str_view(buf_view(&t->out)));
	json_set(t->structured, "stderr", json_str_view(buf_view(&t->errors)));
}

/* Of what is whole in the answer nobody needs a file. */
static void set_file(struct telling *t, const struct process_stream *stream, uint64_t missing,
                     const char *key)
{
	if (stream->file == NULL || (missing == 0 && t->r->process == NULL))
		return;
	json_set(t->structured, key, json_str(stream->file));
	json_push(t->files, json_str(stream->file));
	if (stream->file_note != NULL)
		note(t, stream->file_note);
}

static void tell_end(struct telling *t)
{
	const struct process_state *state = t->r->state;

	if (state->phase == PROCESS_ENDED) {
		tell_exit(t);
	} else if (state->phase == PROCESS_FAILED) {
		break_line(&t->text);
		say(&t->text, "[it ended without an exit code: %s]", state->why->msg);
		note(t, state->why->msg);
	}
	tell_left_out(t, &t->r->out, "stdout", t->r->out_bytes, t->out_missing);
	tell_left_out(t, &t->r->errors, "stderr", t->r->error_bytes, t->errors_missing);
	tell_session(t);
	tell_remark(t);
	tell_process(t);
}

static void tell_numbers(struct telling *t)
{
	const struct run_result *r = t->r;

	json_set(t->structured, "duration_ms", json_int((json_int_t)r->state->elapsed_ms));
	json_set(t->structured, "timed_out",
	         json_boolean(r->state->phase == PROCESS_ENDED && r->state->end.timed_out));
	json_set(t->structured, "truncated", json_boolean(t->is_truncated || r->lost != 0));
	json_set(t->structured, "stdout_bytes", json_int((json_int_t)r->out_bytes));
	json_set(t->structured, "stderr_bytes", json_int((json_int_t)r->error_bytes));
	set_file(t, &r->out, t->out_missing, "stdout_file");
	set_file(t, &r->errors, t->errors_missing, "stderr_file");
	json_set_text(t->structured, "session", r->session);
	json_set_text(t->structured, "sandbox", r->sandbox);
}

static void begin_output(struct telling *t)
{
	buf_init(&t->out, run_text_room(kept(&t->r->out)) + 128);
	buf_init(&t->errors, run_text_room(kept(&t->r->errors)) + 128);
	share_out(t);
}

void run_result_cuts(const struct run_result *result, bool ret[2])
{
	struct telling t = { .r = result };

	begin_output(&t);
	ret[0] = t.out_missing != 0;
	ret[1] = t.errors_missing != 0;
	buf_done(&t.out);
	buf_done(&t.errors);
}

void run_result_make(const struct run_result *result, char **ret_text, json_t **ret_structured)
{
	struct telling t = { .r = result, .structured = json_obj(), .files = json_list() };
	size_t kept_all = kept(&result->out) + kept(&result->errors) + rich_len(result->state);

	begin_output(&t);
	buf_init(&t.text, run_text_room(kept_all) + 64 * 1024);
	buf_init(&t.notes, 4096);
	tell_output(&t);
	/* An answer that stops before the last byte printed does not tell the end yet. */
	if (!result->has_more) {
		tell_values(&t);
		tell_error(&t);
	}
	tell_end(&t);
	tell_numbers(&t);
	if (t.notes.len != 0)
		json_set(t.structured, "note", json_str_view(buf_view(&t.notes)));
	if (json_array_size(t.files) != 0)
		json_set(t.structured, "files", t.files);
	else
		json_decref(t.files);
	*ret_text = mem_dup_len(buf_text(&t.text), t.text.len);
	*ret_structured = t.structured;
	buf_done(&t.out);
	buf_done(&t.errors);
	buf_done(&t.text);
	buf_done(&t.notes);
}
