/* run_call.h - a call that starts something in a sandbox and tells how it ended: what run_code
 * and run_command have in common.
 *
 * The process is the call's until it is answered. One that then still runs is left to the sandbox,
 * and the answer has its name. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "mcp/param/param.h"
#include "tools/support/follow.h"
#include "tools/support/keep.h"
#include "tools/support/pictures.h"
#include "tools/support/work.h"

struct error;
struct files_op;
struct process;
struct process_options;

struct run_call {
	struct work work; /* first */
	uint64_t began_ms;
	const void *args;    /* of the tool */
	const char *session; /* NULL: it is no cell */
	bool is_named;       /* the caller chose the sandbox */
	bool is_background;  /* it is answered at once */
	bool takes_pictures; /* the tool has no schema that forbids them */
	uint32_t timeout_ms; /* 0: none */
	struct files_op *op; /* a look at its directory before it starts */
	int (*start)(struct run_call *run, struct error *err);
	struct process *process;
	struct follow follow;
	struct pictures pictures;
	struct keep keep;
};

/* work_start() of a run: start() is the tool's, and calls run_call_start(). */
MUST_CHECK int run_call_begin(struct mcp_call *call, const struct work_callbacks *calls,
                              const struct run_call *like, const char *sandbox, struct error *err);
MUST_CHECK int run_call_start(struct run_call *run, struct process_options *wish,
                              struct error *err);
/* start() when `cwd` is known to be a directory: waiting interpreters find out only when the code
 * should run, and then it looks like the code's own failure. */
MUST_CHECK int run_call_start_in(struct run_call *run, const char *cwd,
                                 int (*start)(struct run_call *run, struct error *err),
                                 struct error *err);
/* For the tool's struct work_callbacks. */
void run_call_cancel(struct work *work);
void run_call_done(struct work *work);

/* --- what both take --- */

/* 0: what the server has for all; `when_absent` tells it. */
MUST_CHECK int run_call_timeout(const struct tools_context *context, double wanted_s,
                                uint32_t when_absent_ms, uint32_t *ret_ms, struct error *err);
MUST_CHECK int run_call_check_env(const struct param_map *env, struct error *err);
/* NAME=value of each, NULL at the end; the caller frees with run_call_free_list(). */
char **run_call_env(const struct param_map *env);
void run_call_free_list(char ***list);
#define AUTO_LIST CLEANUP(run_call_free_list)
/* NULL is fine. */
MUST_CHECK int run_call_check_cwd(const char *cwd, struct error *err);

enum { RUN_TIMEOUT_MOST_S = 7 * 24 * 3600, RUN_INPUT_MOST = 5 * 1024 * 1024, RUN_ENV_MOST = 256 };
#define RUN_PARAM_STDIN(type_, member_)                                                            \
	{                                                                                          \
		.name = "stdin", .type = PARAM_TEXT, .max = RUN_INPUT_MOST,                        \
		.offset = offsetof(type_, member_),                                                \
		.help = "What it can read from its standard input; without it that is empty."      \
	}
#define RUN_PARAM_ENV(type_, member_)                                                              \
	{                                                                                          \
		.name = "env", .type = PARAM_MAP, .max = RUN_ENV_MOST, .item_max = 32 * 1024,      \
		.offset = offsetof(type_, member_),                                                \
		.help = "Environment variables, over those every program gets."                    \
	}
#define RUN_PARAM_CWD(type_, member_)                                                              \
	{                                                                                          \
		.name = "cwd", .type = PARAM_STRING, .max = 4095,                                  \
		.offset = offsetof(type_, member_),                                                \
		.help = "Directory to start in: absolute, or below /workspace, which is the "      \
		        "default."                                                                 \
	}
