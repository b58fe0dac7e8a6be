/* process_start.c - a new process: its options, id and label (see internal.h). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "kernels/kernels.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/process/internal.h"
#include "sandbox/sandbox.h"

/* --- a copy of the options -------------------------------------------------------------------- */

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

static void copy_options(struct process *process, const struct process_options *options)
{
	struct arena *arena = &process->arena;
	struct process_options *copy = &process->options;
	struct process_file *files = arena_new(arena, options->file_count + 1, sizeof *files);

	*copy = *options;
	copy->argv = copy_list(arena, options->argv);
	copy->command = copy_text(arena, options->command);
	copy->code = copy_bytes(arena, options->code);
	copy->session = copy_text(arena, options->session);
	copy->args = copy_list(arena, options->args);
	for (size_t i = 0; i < options->file_count; i++) {
		files[i].path = copy_text(arena, options->files[i].path);
		files[i].content = copy_bytes(arena, options->files[i].content);
	}
	copy->files = files;
	copy->env = copy_list(arena, options->env);
	copy->cwd = copy_text(arena, options->cwd);
	copy->in = copy_bytes(arena, options->in);
}

/* --- id and label ----------------------------------------------------------------------------- */

/* The number of the last process of an owner, in this server. */
struct last_id {
	struct list node;
	unsigned number;
	char owner[];
};

static struct last_id *find_last_id(const char *owner)
{
	static struct list all = { &all, &all };
	struct last_id *last;

	LIST_EACH (node, &all) {
		last = container_of(node, struct last_id, node);
		if (strcmp(last->owner, owner) == 0)
			return last;
	}
	last = mem_new(sizeof *last + strlen(owner) + 1);
	memcpy(last->owner, owner, strlen(owner) + 1);
	list_add(&all, &last->node);
	return last;
}

/* Each owner's processes are counted by themselves: gaps between numbers would tell one owner how
 * much others do. */
static void set_id(struct process *process)
{
	struct last_id *last = find_last_id(sandbox_row(process->processes->sandbox)->owner);

	(void)snprintf(process->id, sizeof process->id, "p%u", ++last->number);
}

/* The label is shown in lists and kept in the history, so bytes of untrusted code are escaped. */
static void label_program(struct process *process)
{
	char words[sizeof process->label * 2];
	struct buf text = buf_fixed(words, sizeof words);

	words[0] = '\0';
	for (size_t i = 0; process->options.argv[i] != NULL; i++)
		if (!buf_putf(&text, "%s%.100s", i != 0 ? " " : "", process->options.argv[i]))
			break;
	(void)utf8_escape(buf_view(&text), process->label, sizeof process->label);
}

static void label_code(struct process *process)
{
	struct view rest = view_trim(process->options.code);
	struct view line = { "", 0 };

	(void)view_next_line(&rest, &line);
	(void)snprintf(process->label, sizeof process->label, "%s: %s",
	               process->options.language->name, UTF8_ESCAPED(view_trim(line), 96));
}

/* Users expect bash; some images have only sh. */
void process_choose_shell(struct process *process)
{
	const struct language_found *found = language_cache_get(process->processes->languages);
	const struct language *bash = language_find("bash");
	bool has_bash = found->known && bash != NULL && found->of[bash - languages].runner >= 0;
	const char **argv = arena_new(&process->arena, 4, sizeof *argv);

	argv[0] = has_bash ? "bash" : "/bin/sh";
	argv[1] = "-c";
	argv[2] = process->options.command;
	process->options.argv = argv;
	label_program(process);
}

/* --- the start -------------------------------------------------------------------------------- */

static void on_turn(void *ctx)
{
	struct process *process = ctx;

	process->queued_ms = clock_now_ms() - process->started_ms;
	process_prepare(process);
}

static void on_notify_timer(void *ctx)
{
	struct process *process = ctx;

	for (struct list *node = process->watches.next; node != &process->watches;) {
		struct process_watch *watch = container_of(node, struct process_watch, node);

		node = node->next; /* a callback may end its own watch */
		watch->fn(watch->ctx);
	}
}

static struct process *new_process(struct sandbox *sandbox, const struct process_options *options)
{
	const struct process_limits *limits = sandbox_process_limits(sandbox);
	const size_t half = options->output_max / 2;
	const size_t head = half != 0 ? half : limits->head, tail = half != 0 ? half : limits->tail;
	struct process *process = mem_new(sizeof *process);

	process->processes = sandbox_processes(sandbox);
	list_init(&process->watches);
	process->notify_timer = loop_timer_new(sandbox_loop(sandbox), on_notify_timer, process);
	process->started_ms = clock_now_ms();
	process->started_s = time(NULL);
	copy_options(process, options);
	for (int i = 0; i < 2; i++) {
		process->sinks[i].process = process;
		process->sinks[i].is_stderr = i;
		capture_init(&process->sinks[i].capture, head, tail);
	}
	output_log_init(&process->log, limits->log);
	buf_init(&process->in, options->in.len + PROCESS_INPUT_MAX);
	process->cell = (struct session_cell){ .turn = on_turn, .ctx = process };
	if (options->command != NULL)
		process_choose_shell(process);
	else if (options->argv != NULL)
		label_program(process);
	else {
		label_code(process);
		process->lacks_input = options->in.len == 0 && !options->keep_input &&
		                       language_reads_input(options->language, options->code);
		process->lacks_value = options->keep_input && options->language->kernel != NULL &&
		                       !options->language->kernel->runs_cells_only;
	}
	return process;
}

static int check_options(const struct sandbox *sandbox, const struct process_options *options,
                         struct error *err)
{
	int kinds = (options->argv != NULL) + (options->command != NULL) +
	            (options->language != NULL);

	if (sandbox_channel(sandbox) == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	if (kinds != 1 || (options->argv != NULL && options->argv[0] == NULL))
		return error_set(err, ERR_INVALID,
		                 "set exactly one of a program, a command and code");
	if (options->session != NULL && options->language == NULL)
		return error_set(err, ERR_INVALID,
		                 "session: only code can run in a session, not a program");
	if (options->session != NULL && options->keep_input)
		return error_set(err, ERR_INVALID, "session: the stdin of a cell cannot stay open");
	return 0;
}

int process_start(struct sandbox *sandbox, const struct process_options *options,
                  struct process **ret, struct error *err)
{
	struct process *process;

	if (check_options(sandbox, options, err) < 0 || sandbox_admit_process(sandbox, err) < 0)
		return -1;
	process = new_process(sandbox, options);
	list_add(&process->processes->all, &process->node);
	sandbox_hold(sandbox);
	/* Output of a detached process goes to its log from the first byte on. */
	if (options->detached)
		process_detach(process);
	if (options->session != NULL &&
	    session_join(process->processes->interpreters, options->session, options->language,
	                 &process->cell, err) < 0) {
		process_free(process);
		return -1;
	}
	set_id(process);
	if (options->session == NULL)
		process_prepare(process);
	*ret = process;
	return 0;
}
