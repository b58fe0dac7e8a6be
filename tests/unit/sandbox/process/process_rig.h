/* process_rig.h - processes in a real sandbox: the native engine, one sandbox for all tests of a
 * file. Where sandboxes cannot be made the tests are skipped. */
#pragma once
#include <signal.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "kernels/languages.h"
#include "loop/loop.h"
#include "sandbox/internal.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"
#include "unit/scratch.h"

extern char **environ;

enum { PROCESS_INPUT = 1024 * 1024, RIG_MS = 30000, RIG_HEAD = 4096, RIG_TAIL = 4096 };

static struct {
	struct options options;
	struct loop *loop;
	struct loop_timer *timer;
	struct runtime *runtime;
	struct manager *manager;
	struct sandbox *sandbox;
	bool is_told, failed;
	struct error why;
} rig;

static inline void rig_stop(void *ctx)
{
	(void)ctx;
	loop_stop(rig.loop);
}

static inline void rig_hear(void *ctx, const struct error *why)
{
	(void)ctx;
	rig.is_told = true;
	rig.failed = why != NULL;
	if (why != NULL)
		rig.why = *why;
	loop_stop(rig.loop);
}

static inline void rig_turn(uint64_t ms)
{
	loop_timer_start(rig.timer, ms);
	loop_run(rig.loop);
	loop_timer_stop(rig.timer);
}

#define RIG_UNTIL(condition, ms)                                                                   \
	do {                                                                                       \
		uint64_t end_ = clock_now_ms() + (ms);                                             \
		while (!(condition)) {                                                             \
			if (clock_now_ms() >= end_)                                                \
				fail_msg("not within %d ms: %s", (int)(ms), #condition);           \
			rig_turn(10);                                                              \
		}                                                                                  \
	} while (0)

static inline void rig_wait(void)
{
	RIG_UNTIL(rig.is_told, RIG_MS);
	rig.is_told = false;
}

static inline void rig_wake(void)
{
	sandbox_wake(rig.sandbox, rig_hear, NULL);
	rig_wait();
	if (rig.failed)
		fail_msg("%s", rig.why.msg);
}

static inline void rig_make(const char *name)
{
	struct sandbox_options wish = { .owner = owner_local(), .name = name };
	struct error err;

	CHECK_OK(runtime_default_spec(rig.runtime, &rig.options, &wish.spec, &err), err);
	wish.spec.limits.memory = SPEC_MIB(256);
	CHECK_OK(sandbox_create(rig.manager, &wish, &rig.sandbox, &err), err);
	rig_wake();
}

static inline int rig_begin(void **state)
{
	const char *flags[OPTION_COUNT] = { NULL };
	struct runtime_base base;
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN); /* as main() has it */
	if (scratch_make(state) != 0 || chmod(scratch_path, 0755) != 0)
		return -1;
	flags[OPTION_STATE_DIR] = scratch_path;
	CHECK_OK(options_load(&rig.options, FOR_EXEC, flags, environ, &err), err);
	CHECK_OK(runtime_prepare(&rig.options, &base, &err), err);
	CHECK_OK(loop_new(&rig.loop, &err), err);
	rig.timer = loop_timer_new(rig.loop, rig_stop, NULL);
	CHECK_OK(runtime_new(rig.loop, &base, &rig.options, rig_hear, NULL, &rig.runtime, &err),
	         err);
	rig_wait();
	if (rig.failed) {
		print_message("# skipped: no sandboxes here: %s\n", rig.why.msg);
		return 0;
	}
	rig.manager = runtime_manager(rig.runtime);
	rig.manager->config.process = (struct process_limits){ .head = RIG_HEAD,
		                                               .tail = RIG_TAIL,
		                                               .journal = 16 * 1024,
		                                               .file_max = 256 * 1024 * 1024,
		                                               .pixels = 1000000,
		                                               .bytes = 1000000,
		                                               .kept = 3 };
	rig_make("it");
	return 0;
}

static inline void rig_ended(void *ctx)
{
	rig_hear(ctx, NULL);
}

static inline int rig_end(void **state)
{
	runtime_stop(rig.runtime, rig_ended, NULL);
	rig_wait();
	(void)runtime_free(rig.runtime);
	(void)loop_timer_free(rig.timer);
	(void)loop_free(rig.loop);
	options_done(&rig.options);
	return scratch_remove(state);
}

#define RIG_NEEDED()                                                                               \
	do {                                                                                       \
		if (rig.sandbox == NULL)                                                           \
			SKIP_TEST("no sandboxes here");                                            \
	} while (0)
#define RUN_IN_RIG(name, all) cmocka_run_group_tests_name(name, all, rig_begin, rig_end)

/* --- processes --- */

/* A process that is freed calls this too, outside of the loop: stopping the loop then would end the
 * next rig_turn() at once. */
static inline void rig_changed(void *ctx)
{
	const struct process_watch *watch = ctx;

	if (watch->process != NULL)
		loop_stop(rig.loop);
}

/* A watch for each process that rig_start() has started. */
static inline struct process_watch *rig_watch(const struct process *process)
{
	static struct process_watch watches[64];

	for (size_t i = 0; i < ARRAY_LEN(watches); i++)
		if (watches[i].process == process)
			return &watches[i];
	return NULL;
}

static inline void rig_unwatch(struct process *process)
{
	process_unwatch(rig_watch(process));
}

static inline struct process *rig_start(const struct process_options *options)
{
	struct process *process = NULL;
	struct error err;

	struct process_watch *watch = rig_watch(NULL);

	assert_non_null(watch);
	*watch = (struct process_watch){ .fn = rig_changed, .ctx = watch };
	CHECK_OK(process_start(rig.sandbox, options, &process, &err), err);
	process_watch(process, watch);
	return process;
}

#define RIG_START(...) rig_start(&(struct process_options){ __VA_ARGS__ })
#define RIG_SH(script)                                                                             \
	.argv = (const char *const[])                                                              \
	{                                                                                          \
		"sh", "-c", script, NULL                                                           \
	}
#define RIG_CODE(l, text) .language = language_find(l), .code = VIEW(text)

static inline struct process_state rig_until_over(struct process *process)
{
	struct process_state state;

	RIG_UNTIL(process_is_over(process), RIG_MS);
	process_state(process, &state);
	return state;
}

/* All of a stream, if it is all there. */
static inline const char *rig_text(struct process *process, bool is_stderr)
{
	static char text[RIG_HEAD + RIG_TAIL + 1];
	struct process_stream stream = process_stream(process, is_stderr);

	assert_int_equal(stream.left_out, 0);
	memcpy(text, stream.head.ptr, stream.head.len);
	memcpy(text + stream.head.len, stream.tail.ptr, stream.tail.len);
	text[stream.head.len + stream.tail.len] = '\0';
	return text;
}

/* It ended as it should, and printed this. */
static inline void rig_check(struct process *process, int code, const char *out)
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

static inline void rig_run(const struct process_options *options, int code, const char *out)
{
	struct process *process = rig_start(options);

	rig_check(process, code, out);
	process_free(process);
}
#define RIG_RUN(code, out, ...) rig_run(&(struct process_options){ __VA_ARGS__ }, code, out)

/* --- languages ------------------------------------------------------------------------------- */

#define PYTHON(text) RIG_CODE("python", text)

#define PYTHON_NEEDED()                                                                            \
	do {                                                                                       \
		RIG_NEEDED();                                                                      \
		if (!rig_has("python"))                                                            \
			SKIP_TEST("no python3 here");                                              \
	} while (0)

static inline bool rig_has(const char *name)
{
	process_probe_languages(rig.sandbox, false, rig_hear, NULL);
	rig_wait();
	assert_false(rig.failed);
	return process_languages(rig.sandbox)->of[language_find(name) - languages].runner >= 0;
}
