#include "unit/sandbox/process/process_rig.h"

extern char **environ;

struct rig rig;

/* --- the loop --------------------------------------------------------------------------------- */

static void on_timer(void *ctx)
{
	(void)ctx;
	loop_stop(rig.loop);
}

void rig_turn(uint64_t ms)
{
	loop_timer_start(rig.timer, ms);
	loop_run(rig.loop);
	loop_timer_stop(rig.timer);
}

void rig_on_answer(void *ctx, const struct error *why)
{
	(void)ctx;
	rig.is_answered = true;
	rig.failed = why != NULL;
	if (why != NULL)
		rig.why = *why;
	loop_stop(rig.loop);
}

void rig_wait(void)
{
	RIG_UNTIL(rig.is_answered, RIG_MS);
	rig.is_answered = false;
}

/* --- the sandbox ------------------------------------------------------------------------------ */

void rig_wake(void)
{
	sandbox_wake(rig.sandbox, rig_on_answer, NULL);
	rig_wait();
	if (rig.failed)
		fail_msg("%s", rig.why.msg);
}

void rig_sleep(void)
{
	sandbox_sleep(rig.sandbox, rig_on_answer, NULL);
	rig_wait();
}

void rig_delete(void)
{
	sandbox_delete(rig.sandbox, rig_on_answer, NULL);
	rig_wait();
}

void rig_make(const char *name)
{
	struct sandbox_options options = { .owner = owner_local(), .name = name };
	struct error err;

	CHECK_OK(runtime_default_spec(rig.runtime, &rig.options, &options.spec, &err), err);
	options.spec.limits.memory = SPEC_MIB(256);
	CHECK_OK(sandbox_create(rig.manager, &options, &rig.sandbox, &err), err);
	rig_wake();
}

int rig_begin(void **state)
{
	const char *flags[OPTION_COUNT] = { NULL };
	struct runtime_base base;
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN); /* as main() does */
	if (scratch_make(state) != 0 || chmod(scratch_path, 0755) != 0)
		return -1;
	flags[OPTION_STATE_DIR] = scratch_path;
	CHECK_OK(options_load(&rig.options, FOR_EXEC, flags, environ, &err), err);
	CHECK_OK(runtime_prepare(&rig.options, &base, &err), err);
	CHECK_OK(loop_new(&rig.loop, &err), err);
	rig.timer = loop_timer_new(rig.loop, on_timer, NULL);
	CHECK_OK(
	        runtime_new(rig.loop, &base, &rig.options, rig_on_answer, NULL, &rig.runtime, &err),
	        err);
	rig_wait();
	if (rig.failed) {
		print_message("# skipped: no sandboxes here: %s\n", rig.why.msg);
		return 0;
	}
	rig.manager = runtime_manager(rig.runtime);
	rig.manager->config.process = (struct process_limits){ .head = RIG_HEAD,
		                                               .tail = RIG_TAIL,
		                                               .log = 16 * 1024,
		                                               .file_max = 256 * 1024 * 1024,
		                                               .pixels = 1000000,
		                                               .bytes = 1000000,
		                                               .kept = 3 };
	rig_make("it");
	return 0;
}

static void on_stopped(void *ctx)
{
	rig_on_answer(ctx, NULL);
}

int rig_end(void **state)
{
	runtime_stop(rig.runtime, on_stopped, NULL);
	rig_wait();
	(void)runtime_free(rig.runtime);
	(void)loop_timer_free(rig.timer);
	(void)loop_free(rig.loop);
	options_done(&rig.options);
	return scratch_remove(state);
}

/* --- processes -------------------------------------------------------------------------------- */

/* A process that is freed calls this too, outside of the loop: stopping the loop then would end the
 * next rig_turn() at once. */
static void on_change(void *ctx)
{
	const struct process_watch *watch = ctx;

	if (watch->process != NULL)
		loop_stop(rig.loop);
}

/* The watch of a process; with NULL one that is free. */
static struct process_watch *find_watch(const struct process *process)
{
	static struct process_watch watches[64];

	for (size_t i = 0; i < ARRAY_LEN(watches); i++)
		if (watches[i].process == process)
			return &watches[i];
	return NULL;
}

struct process *rig_start(const struct process_options *options)
{
	struct process_watch *watch = find_watch(NULL);
	struct process *process = NULL;
	struct error err;

	assert_non_null(watch);
	*watch = (struct process_watch){ .fn = on_change, .ctx = watch };
	CHECK_OK(process_start(rig.sandbox, options, &process, &err), err);
	process_watch(process, watch);
	return process;
}

void rig_unwatch(struct process *process)
{
	process_unwatch(find_watch(process));
}

struct process_state rig_until_over(struct process *process)
{
	struct process_state state;

	RIG_UNTIL(process_is_over(process), RIG_MS);
	process_state(process, &state);
	return state;
}

const char *rig_text(struct process *process, bool is_stderr)
{
	static char text[RIG_HEAD + RIG_TAIL + 1];
	struct process_stream stream = process_stream(process, is_stderr);

	assert_int_equal(stream.left_out, 0);
	memcpy(text, stream.head.ptr, stream.head.len);
	memcpy(text + stream.head.len, stream.tail.ptr, stream.tail.len);
	text[stream.head.len + stream.tail.len] = '\0';
	return text;
}

void rig_check(struct process *process, int code, const char *out)
{
	struct process_state state = rig_until_over(process);

	if (state.phase == PROCESS_FAILED)
		fail_msg("failed: %s", state.why->msg);
	if (state.end.code != code || state.end.signal != 0)
		fail_msg("code %d signal %d; stderr: %s", state.end.code, state.end.signal,
		         rig_text(process, true));
	if (out != NULL)
		assert_string_equal(rig_text(process, false), out);
}

void rig_run(const struct process_options *options, int code, const char *out)
{
	struct process *process = rig_start(options);

	rig_check(process, code, out);
	process_free(process);
}

/* --- languages -------------------------------------------------------------------------------- */

const char *rig_language_path(const char *name)
{
	const struct language_found *found;
	ptrdiff_t i = language_find(name) - languages;

	process_probe_languages(rig.sandbox, false, rig_on_answer, NULL);
	rig_wait();
	assert_false(rig.failed);
	found = process_languages(rig.sandbox);
	return found->of[i].runner >= 0 ? found->of[i].path : NULL;
}
