/* profile_work.c - the calls of profiles: see internal.h. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/profiles/internal.h"
#include "tools/run/answer/run_hint.h"
#include "tools/support/work.h"

enum {
	SHOWN = 160,
	SIGNALLED = 128,              /* shells add the number of the signal */
	STRUCTURED_MAX = 1024 * 1024, /* bytes of an answer that is sent in both forms */
	ENVELOPE_MAX = 1024,          /* bytes of a response around its text */
};

/* --- answers ----------------------------------------------------------------------------- */

/* Bytes of the text as a string of JSON, in which a control character has up to six. */
static size_t encoded_len(struct view text)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		const unsigned char c = (unsigned char)text.ptr[i];

		if (c == '"' || c == '\\' || (c >= '\b' && c <= '\r' && c != '\v'))
			len += 2;
		else
			len += c < ' ' ? strlen("\\u0000") : 1;
	}
	return len;
}

size_t profile_answer_len(json_t *object)
{
	size_t len;
	AUTO_FREE char *text = json_write(object, &len);

	return encoded_len((struct view){ text, len });
}

/* The protocol's own answer to a message that is too long would be an error without the profile's
 * shape. */
static void answer_text(struct profile_work *w, struct view text, json_t *object, size_t object_len)
{
	const size_t max = w->file.work.context->max_message;
	const size_t len = encoded_len(text) + object_len + ENVELOPE_MAX;
	struct error err;

	if (len <= max) {
		work_answer(&w->file.work, json_list_of(mcp_text_view(text)), object);
		return;
	}
	json_decref(object);
	(void)error_set(&err, ERR_LIMIT,
	                "the answer has %zu bytes as JSON, and at most %zu can be sent "
	                "(--max-line): read or print less at once",
	                len, max);
	work_fail(&w->file.work, &err);
}

/* A long answer is sent once, as text: clients of the profiles read the text, and a message has a
 * largest size. */
void profile_answer(struct profile_work *w, json_t *object)
{
	size_t len;
	AUTO_FREE char *text = json_write(object, &len);
	const size_t both = encoded_len((struct view){ text, len }) + len + ENVELOPE_MAX;
	const bool is_long = len > STRUCTURED_MAX || both > w->file.work.context->max_message;

	if (is_long)
		json_decref(object);
	answer_text(w, (struct view){ text, len }, is_long ? NULL : object, is_long ? 0 : len);
}

void profile_answer_text(struct profile_work *w, struct view text)
{
	answer_text(w, text, NULL, 0);
}

void profile_respond_text(struct mcp_call *call, const char *fmt, ...)
{
	char shown[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(shown, sizeof shown, fmt, args);
	va_end(args);
	mcp_respond_content(call, json_list_of(mcp_text_view(view_of(shown))), NULL);
}

int profile_refuse(struct mcp_call *call, const struct error *err)
{
	tools_respond_error(call, err);
	return 0;
}

json_t *profile_result(bool success, const char *key, const char *fmt, ...)
{
	json_t *object = json_obj();
	char text[1024];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	json_set(object, "success", json_boolean(success));
	json_set(object, key, json_str(text));
	return object;
}

/* --- runs -------------------------------------------------------------------------------- */

/* Appends the kept bytes of a stream, with a line in place of those that are missing. */
static void add_stream(const struct process_stream *stream, struct buf *out)
{
	buf_put(out, stream->head);
	if (stream->left_out != 0)
		buf_putf(out, "\n[belljar: %" PRIu64 " bytes left out%s%s]\n", stream->left_out,
		         stream->file != NULL ? "; all of them: " : "",
		         stream->file != NULL ? stream->file : "");
	buf_put(out, stream->tail);
}

/* Says why a program reaches no host: tools such as pip report something else. */
static void add_network_hint(const struct profile_work *w, const struct process_state *state,
                             struct view out, struct buf *errors)
{
	const struct work *work = &w->file.work;
	const bool has_failed = state->end.code != 0 || state->end.signal != 0;

	if (sandbox_network_mode(work->sandbox) == NET_MODE_NONE &&
	    run_hint_is_network(out, buf_view(errors), has_failed))
		buf_putf(errors, "[belljar: a sandbox has no network: %s]\n",
		         work->context->no_network);
}

static void on_run_end(void *ctx)
{
	struct profile_work *w = ctx;
	const struct process_stream out = process_stream(w->step.process, false);
	const struct process_stream errors = process_stream(w->step.process, true);
	AUTO_BUF struct buf out_text, error_text;
	struct process_state state;

	buf_init(&out_text, PROFILE_OUTPUT_MAX + SHOWN);
	buf_init(&error_text, PROFILE_OUTPUT_MAX + SHOWN + sizeof state.end.note + 2 * SHOWN);
	process_state(w->step.process, &state);
	if (state.phase == PROCESS_FAILED && out.total == 0 && errors.total == 0) {
		work_fail(&w->file.work, state.why);
		return;
	}
	add_stream(&out, &out_text);
	add_stream(&errors, &error_text);
	if (state.phase == PROCESS_FAILED)
		buf_putf(&error_text, "[belljar: %s]\n", state.why->msg);
	else if (state.end.note[0] != '\0')
		buf_putf(&error_text, "[belljar: %s]\n", state.end.note);
	else
		add_network_hint(w, &state, buf_view(&out_text), &error_text);
	w->ran(w, &(struct profile_run){ .exit_code = state.phase == PROCESS_FAILED ? 1
	                                              : state.end.signal != 0
	                                                      ? SIGNALLED + state.end.signal
	                                                      : state.end.code,
	                                 .timed_out = state.end.timed_out,
	                                 .out = buf_view(&out_text),
	                                 .errors = buf_view(&error_text),
	                                 .elapsed_ms = state.elapsed_ms });
}

void profile_run(struct profile_work *w, const struct process_options *options, profile_ran_fn *ran)
{
	struct process_options limited = *options;
	struct error err;

	limited.output_max = PROFILE_OUTPUT_MAX;
	w->ran = ran;
	if (run_step_start(&w->step, &w->file.work, &limited, on_run_end, w, &err) < 0)
		work_fail(&w->file.work, &err);
}

int profile_find_language(const char *name, const struct language **ret, struct error *err)
{
	char names[360];

	*ret = language_find(name);
	if (*ret != NULL)
		return 0;
	return error_set(err, ERR_INVALID, "the language '%s' is not known; there are: %s",
	                 UTF8_ESCAPED(view_of(name), 64), language_names(names, sizeof names));
}

/* --- the work ---------------------------------------------------------------------------- */

static struct profile_work *profile_work_of(struct work *work)
{
	return container_of(work, struct profile_work, file.work);
}

static int begin_work(struct work *work, struct error *err)
{
	struct profile_work *w = profile_work_of(work);

	(void)err;
	w->begin(w);
	return 0;
}

static void free_work(struct work *work)
{
	struct profile_work *w = profile_work_of(work);

	file_work_done(work);
	run_step_done(&w->step);
	module_help_done(&w->help);
	package_step_done(&w->packages);
	free(w->words);
	code_dir_remove(&w->code, work->sandbox);
	json_decref(w->answer);
	json_decref(w->extra);
	free(w->path);
}

static const struct work_callbacks callbacks = { begin_work, work_cancel, free_work };

profile_begin_fn *profile_tool_begin(const struct mcp_call *call)
{
	/* container_of() discards const. */
	const char *record = mcp_call_record(call);
	const struct profile_tool *tool = (const void *)(record -
	                                                 offsetof(struct profile_tool, record));

	return tool->begin;
}

struct profile_work *profile_work_start(struct mcp_call *call, struct sandbox *sandbox,
                                        profile_begin_fn *begin, const void *args)
{
	struct work *work = work_start_in(call, sizeof(struct profile_work), &callbacks, sandbox);
	struct profile_work *w = profile_work_of(work);

	w->begin = begin;
	w->args = args;
	w->file.path = "";
	return w;
}

/* --- paths ------------------------------------------------------------------------------- */

/* Whether the path, read part by part, ever goes above its start. */
static bool path_climbs(const char *path)
{
	long depth = 0;

	while (*path != '\0') {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			depth--;
		else if (len != 0 && !(len == 1 && path[0] == '.'))
			depth++;
		if (depth < 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

int profile_resolve(const char *base, const char *path, char **ret, struct error *err)
{
	if (work_check_path(path, err) < 0)
		return -1;
	if (path_climbs(path))
		return error_set(err, ERR_INVALID,
		                 "'%s' leads out of %s, and is not used: name a path below it",
		                 UTF8_ESCAPED(view_of(path), SHOWN),
		                 path[0] == '/' ? "the sandbox" : base);
	*ret = path[0] == '/' ? mem_dup(path) : mem_format("%s/%s", base, path);
	return 0;
}

int profile_set_path(struct profile_work *w, const char *base, const char *path, struct error *err)
{
	free(TAKE_PTR(w->path));
	if (profile_resolve(base, path, &w->path, err) < 0)
		return -1;
	w->file.path = w->path;
	return 0;
}

int profile_split(struct profile_work *w, const char *text, struct param_strings *ret,
                  struct error *err)
{
	char *save = NULL;

	free(w->words);
	w->words = mem_dup(text);
	*ret = (struct param_strings){ .items = w->items };
	for (char *word = strtok_r(w->words, " \t\r\n", &save); word != NULL;
	     word = strtok_r(NULL, " \t\r\n", &save)) {
		if (ret->count == PROFILE_WORDS_MAX)
			return error_set(err, ERR_LIMIT, "at most %d packages at a time",
			                 PROFILE_WORDS_MAX);
		w->items[ret->count++] = word;
	}
	return 0;
}

/* --- reading ----------------------------------------------------------------------------- */

static void on_read(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);

	if ((reply->done.flags & WIRE_DONE_MORE) != 0 && reply->bytes.len >= PROFILE_TEXT_MAX)
		file_work_fail(file, ERR_LIMIT,
		               "'%s' has more than %d MiB, which no answer holds: read a part of "
		               "it with a command",
		               UTF8_ESCAPED(view_of(file->path), SHOWN), PROFILE_TEXT_MAX >> 20);
	else if (!utf8_is_valid(reply->bytes))
		file_work_fail(file, ERR_UNSUPPORTED,
		               "'%s' is not text in UTF-8, and an answer has no other bytes: "
		               "read it with a program, for example as Base64",
		               UTF8_ESCAPED(view_of(file->path), SHOWN));
	else
		w->read(file, reply);
}

void profile_read_lines(struct profile_work *w, uint64_t from, uint64_t count, file_work_fn *next)
{
	w->file.is_for_file = true;
	w->read = next;
	file_work_read(&w->file, WIRE_UNIT_LINES, from, count, PROFILE_TEXT_MAX, on_read);
}

void profile_read(struct profile_work *w, file_work_fn *next)
{
	w->file.is_for_file = true;
	w->read = next;
	file_work_read(&w->file, WIRE_UNIT_BYTES, 0, PROFILE_TEXT_MAX + 1, PROFILE_TEXT_MAX,
	               on_read);
}

/* --- sandboxes --------------------------------------------------------------------------- */

struct sandbox_options profile_options(const struct mcp_call *call)
{
	return tools_sandbox_options(mcp_call_app(call), mcp_call_owner(call));
}

static int find_owned(const struct tools_context *context, const char *owner, const char *id,
                      struct sandbox **ret, struct error *err)
{
	const char *profile;
	struct sandbox *found;

	if (tools_check_manager(context, err) < 0 ||
	    sandbox_find(context->manager, owner, id, &found, err) < 0)
		return -1;
	profile = sandbox_label(sandbox_row(found), SANDBOX_PROFILE_LABEL);
	if (profile == NULL || strcmp(profile, context->profile) != 0)
		return error_set(err, ERR_NOT_FOUND, "the sandbox is not of this profile");
	*ret = found;
	return 0;
}

int profile_find_sandbox(const struct mcp_call *call, const char *id, struct sandbox **ret,
                         struct error *err)
{
	return find_owned(mcp_call_app(call), mcp_call_owner(call), id, ret, err);
}

int profile_get_sandbox(const struct tools_context *context, const struct sandbox_options *options,
                        struct sandbox **ret, struct error *err)
{
	struct sandbox *other;

	if (find_owned(context, options->owner, options->name, ret, err) == 0)
		return 0;
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	if (sandbox_find(context->manager, options->owner, options->name, &other, err) == 0)
		return error_set(err, ERR_INVALID,
		                 "the sandbox '%s' was not made by these tools, which need one of "
		                 "this name: rename or remove it (belljar rm %s)",
		                 options->name, options->name);
	return sandbox_create(context->manager, options, ret, err);
}

enum profile_image profile_image_of(const struct mcp_call *call, const char *image,
                                    const char *usual)
{
	const struct tools_context *context = mcp_call_app(call);
	const char *chosen = context->spec.image;

	if (!context->has_images)
		return PROFILE_IMAGE_NONE;
	return strcmp(image, usual) == 0 && chosen[0] != '\0' && strcmp(chosen, usual) != 0
	               ? PROFILE_IMAGE_OPERATOR
	               : PROFILE_IMAGE_NAMED;
}

int profile_set_image(const struct mcp_call *call, const char *image, const char *usual,
                      struct spec *spec, struct error *err)
{
	if (!spec_is_image(image))
		return error_set(err, ERR_INVALID,
		                 "'%s' is not the name of an image, such as python:3",
		                 UTF8_ESCAPED(view_of(image), SHOWN));
	if (profile_image_of(call, image, usual) == PROFILE_IMAGE_NAMED)
		(void)snprintf(spec->image, sizeof spec->image, "%s", image);
	return 0;
}

const char *profile_image_note(const struct mcp_call *call, const char *image, const char *usual,
                               char out[PROFILE_IMAGE_NOTE_SIZE])
{
	const struct tools_context *context = mcp_call_app(call);
	const enum profile_image source = profile_image_of(call, image, usual);
	char shown[SHOWN];

	out[0] = '\0';
	(void)utf8_escape(view_of(image), shown, sizeof shown);
	if (source == PROFILE_IMAGE_NONE)
		(void)snprintf(out, PROFILE_IMAGE_NOTE_SIZE,
		               " The %s engine does not have the image '%s': programs come from "
		               "the machine that the server runs on.",
		               context->engine, shown);
	else if (source == PROFILE_IMAGE_OPERATOR)
		(void)snprintf(out, PROFILE_IMAGE_NOTE_SIZE,
		               " Programs come from the image '%s', which the operator of the "
		               "server has chosen instead of '%s'.",
		               context->spec.image, shown);
	return out;
}
