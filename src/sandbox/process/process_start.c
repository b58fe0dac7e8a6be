/* process_start.c - from a wish to the first thing that runs (see process_internal.h). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/sandbox.h"

enum { FILE_PERM = 0644 };

/* --- the wish, copied ------------------------------------------------------------------------- */

static const char *copy_text(struct arena *arena, const char *text)
{
	return text != NULL ? arena_text(arena, text) : NULL;
}

static struct view copy_bytes(struct arena *arena, struct view bytes)
{
	char *copy = arena_new(arena, bytes.len + 1, 1);

	if (bytes.len != 0)
		memcpy(copy, bytes.ptr, bytes.len);
	return (struct view){ copy, bytes.len };
}

static const char *const *copy_list(struct arena *arena, const char *const *list)
{
	const char **copy;
	size_t count = 0;

	if (list == NULL)
		return NULL;
	while (list[count] != NULL)
		count++;
	copy = arena_new(arena, count + 1, sizeof *copy);
	for (size_t i = 0; i < count; i++)
		copy[i] = arena_text(arena, list[i]);
	return copy;
}

void process_copy_wish(struct process *process, const struct process_options *wish)
{
	struct arena *arena = &process->arena;
	struct process_options *copy = &process->wish;
	struct process_file *files = arena_new(arena, wish->file_count + 1, sizeof *files);

	*copy = *wish;
	copy->argv = copy_list(arena, wish->argv);
	copy->code = copy_bytes(arena, wish->code);
	copy->session = copy_text(arena, wish->session);
	copy->args = copy_list(arena, wish->args);
	for (size_t i = 0; i < wish->file_count; i++) {
		files[i].path = copy_text(arena, wish->files[i].path);
		files[i].content = copy_bytes(arena, wish->files[i].content);
	}
	copy->files = files;
	copy->env = copy_list(arena, wish->env);
	copy->cwd = copy_text(arena, wish->cwd);
	copy->in = copy_bytes(arena, wish->in);
}

/* --- its name --------------------------------------------------------------------------------- */

static void set_id(struct process *process)
{
	static unsigned last; /* of this server */

	(void)snprintf(process->id, sizeof process->id, "p%u", ++last);
}

static void label_program(struct process *process)
{
	char words[sizeof process->label * 2];
	struct buf text = buf_fixed(words, sizeof words);
	struct error full;

	words[0] = '\0';
	for (size_t i = 0; process->wish.argv[i] != NULL; i++)
		if (buf_printf(&text, &full, "%s%.100s", i != 0 ? " " : "", process->wish.argv[i]) <
		    0)
			break;
	(void)utf8_escape(buf_view(&text), process->label, sizeof process->label);
}

static void label_code(struct process *process)
{
	struct view rest = view_trim(process->wish.code);
	struct view line = { "", 0 };
	char shown[96];

	(void)view_next_line(&rest, &line);
	(void)utf8_escape(view_trim(line), shown, sizeof shown);
	(void)snprintf(process->label, sizeof process->label, "%s: %s",
	               process->wish.language->name, shown);
}

/* --- files first ------------------------------------------------------------------------------ */

static void write_files(struct process *process);

static void on_written(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct process *process = ctx;

	(void)answer;
	process->op = NULL;
	if (why != NULL) {
		struct error err = *why;

		(void)error_wrap(&err, "files");
		process_fail(process, &err);
		return;
	}
	process->files_written++;
	write_files(process);
}

static void start_what_was_wished(struct process *process)
{
	struct error err;

	if (process->wish.argv != NULL) {
		if (process_run_program(process, process->wish.argv, true,
		                        process->wish.deadline_ms, &process_run_events, &err) < 0)
			process_fail(process, &err);
		return;
	}
	if (probe_found(process->processes->probe)->known)
		process_run_code(process);
	else
		process_look(process);
}

static void write_files(struct process *process)
{
	const struct process_file *file = &process->wish.files[process->files_written];
	struct wire_message request = { .type = WIRE_WRITE };
	struct channel *channel = sandbox_channel(process->processes->sandbox);
	struct error err;

	if (process->files_written == process->wish.file_count) {
		start_what_was_wished(process);
		return;
	}
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = FILE_PERM,
		                             .max = file->content.len,
		                             .path = view_of(file->path) };
	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox ended");
	else if (files_start(channel, &request, file->content, 0, on_written, process, &process->op,
	                     &err) == 0)
		return;
	(void)error_wrap(&err, "files: %s", file->path);
	process_fail(process, &err);
}

void process_prepare(struct process *process)
{
	write_files(process);
}

/* --- calls ------------------------------------------------------------------------------------ */

static void on_turn(void *ctx)
{
	process_prepare(ctx);
}

static void on_told(void *ctx)
{
	struct process *process = ctx;

	if (process->fn != NULL)
		process->fn(process->ctx);
}

static struct process *make(struct sandbox *sandbox, const struct process_options *wish)
{
	const struct process_limits *limits = sandbox_process_limits(sandbox);
	struct loop *loop = sandbox_loop(sandbox);
	struct process *process = mem_new(sizeof *process);

	process->processes = sandbox_processes(sandbox);
	process->tell = loop_timer_new(loop, on_told, process);
	process->clock = loop_timer_new(loop, process_on_clock, process);
	process->started_ms = clock_now_ms();
	process->started_s = time(NULL);
	process_copy_wish(process, wish);
	for (int i = 0; i < 2; i++) {
		process->sinks[i].process = process;
		process->sinks[i].is_stderr = i;
		capture_init(&process->sinks[i].capture, limits->head, limits->tail);
	}
	journal_init(&process->journal, limits->journal);
	buf_init(&process->in, wish->in.len + PROCESS_INPUT_MAX);
	if (wish->argv != NULL)
		label_program(process);
	else
		label_code(process);
	return process;
}

static int check(const struct sandbox *sandbox, const struct process_options *wish,
                 struct error *err)
{
	if (sandbox_channel(sandbox) == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	if ((wish->argv == NULL) == (wish->language == NULL) ||
	    (wish->argv != NULL && wish->argv[0] == NULL))
		return error_set(err, ERR_INVALID, "either a program or code is to be run");
	if (wish->session != NULL && wish->language == NULL)
		return error_set(err, ERR_INVALID, "session: it is for code, not for programs");
	if (wish->session != NULL && (wish->terminal || wish->keep_input))
		return error_set(err, ERR_INVALID,
		                 "session: its cells have neither a terminal nor input to come");
	return 0;
}

int process_start(struct sandbox *sandbox, const struct process_options *wish, struct process **ret,
                  struct error *err)
{
	struct process *process;

	if (check(sandbox, wish, err) < 0 || sandbox_admit_process(sandbox, err) < 0)
		return -1;
	process = make(sandbox, wish);
	list_add(&process->processes->all, &process->node);
	sandbox_hold(sandbox);
	if (wish->detached)
		process_detach(process);
	process->cell = (struct session_cell){ .begin = on_turn, .ctx = process };
	if (wish->session != NULL && session_join(process->processes->kernels, wish->session,
	                                          wish->language, &process->cell, err) < 0) {
		process_free(process);
		return -1;
	}
	set_id(process);
	if (wish->session == NULL)
		process_prepare(process);
	*ret = process;
	return 0;
}
