/* process_rig.h - processes in a real sandbox of the native engine. All tests of a file share one
 * sandbox; on a machine that cannot make sandboxes the tests are skipped. */
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
#include "server/runtime/runtime.h"
#include "unit/scratch.h"

/* RIG_MS is long, because the machine may be busy; a test that passes does not wait for it. */
enum { PROCESS_INPUT = 1024 * 1024, RIG_MS = 60000, RIG_HEAD = 4096, RIG_TAIL = 4096 };

struct rig {
	struct options options;
	struct loop *loop;
	struct loop_timer *timer;
	struct runtime *runtime;
	struct manager *manager;
	struct sandbox *sandbox; /* NULL: no sandboxes on this machine */
	bool is_answered, failed;
	struct error why;
};
extern struct rig rig;

/* --- the loop --- */

void rig_turn(uint64_t ms); /* runs the loop for at most so long */
/* A callback for requests: notes the result and stops the loop. */
void rig_on_answer(void *ctx, const struct error *why);
void rig_wait(void); /* for rig_on_answer() */

#define RIG_UNTIL(condition, ms)                                                                   \
	do {                                                                                       \
		uint64_t end_ = clock_now_ms() + (ms);                                             \
		while (!(condition)) {                                                             \
			if (clock_now_ms() >= end_)                                                \
				fail_msg("not within %d ms: %s", (int)(ms), #condition);           \
			rig_turn(10);                                                              \
		}                                                                                  \
	} while (0)

/* --- the sandbox --- */

int rig_begin(void **state);
int rig_end(void **state);
void rig_make(const char *name); /* a new sandbox, awake */
void rig_wake(void);
void rig_sleep(void);
void rig_delete(void);

#define RIG_NEEDED()                                                                               \
	do {                                                                                       \
		if (rig.sandbox == NULL)                                                           \
			SKIP_TEST("no sandboxes here");                                            \
	} while (0)
#define RUN_IN_RIG(name, all) cmocka_run_group_tests_name(name, all, rig_begin, rig_end)

/* --- processes --- */

/* Starts a process with a watch that stops the loop at every change. */
struct process *rig_start(const struct process_options *options);
void rig_unwatch(struct process *process);
struct process_state rig_until_over(struct process *process);
/* A complete stream. The text is valid until the next call. */
const char *rig_text(struct process *process, bool is_stderr);
/* Waits for the end, and checks the exit status and, unless NULL, stdout. */
void rig_check(struct process *process, int code, const char *out);
void rig_run(const struct process_options *options, int code, const char *out);

#define RIG_START(...)          rig_start(&(struct process_options){ __VA_ARGS__ })
#define RIG_RUN(code, out, ...) rig_run(&(struct process_options){ __VA_ARGS__ }, code, out)
#define RIG_SH(script)                                                                             \
	.argv = (const char *const[])                                                              \
	{                                                                                          \
		"sh", "-c", script, NULL                                                           \
	}
#define RIG_CODE(l, text) .language = language_find(l), .code = VIEW(text)

/* --- languages --- */

const char *rig_language_path(const char *name); /* NULL: the sandbox does not have it */

#define LANGUAGE_NEEDED(name)                                                                      \
	do {                                                                                       \
		RIG_NEEDED();                                                                      \
		if (rig_language_path(name) == NULL)                                               \
			SKIP_TEST("no " name " here");                                             \
	} while (0)
#define PYTHON(text)    RIG_CODE("python", text)
#define PYTHON_NEEDED() LANGUAGE_NEEDED("python")
