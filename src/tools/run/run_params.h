/* run_params.h - the parameters that run_code and run_command have in common. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "mcp/param/param.h"

struct arena;
struct error;
struct process_options;
struct tools_context;

/* check_timeout() refuses more than --timeout-max, which its message names; this is only a
 * bound. */
enum { RUN_TIMEOUT_MAX_S = 1000000000, RUN_INPUT_MAX = 5 * 1024 * 1024, RUN_ENV_MAX = 256 };

struct run_params {
	const char *cwd; /* or NULL */
	struct param_map env;
	struct view in;
	double timeout_s; /* 0: absent */
};

/* Checks the arguments and puts them into the options. default_ms is the deadline if timeout_s is
 * absent. The list of variables is allocated in the arena. */
MUST_CHECK int run_params_apply(const struct run_params *params,
                                const struct tools_context *context, uint32_t default_ms,
                                struct arena *arena, struct process_options *ret,
                                struct error *err);

/* Rows for the tool's table; member_ is a struct run_params. */
/* Shows the server's default and the most of timeout_s in the schema. */
void run_params_complete_schema(const void *app, json_t *properties);

#define RUN_PARAM_STDIN(type_, member_)                                                            \
	{                                                                                          \
		.name = "stdin", .type = PARAM_TEXT, .max = RUN_INPUT_MAX,                         \
		.offset = offsetof(type_, member_.in), .also = PARAM_ALSO("input"), .help = "",    \
		.more = "Standard input."                                                          \
	}
#define RUN_PARAM_ENV(type_, member_)                                                              \
	{                                                                                          \
		.name = "env", .type = PARAM_MAP, .max = RUN_ENV_MAX, .item_max = 32 * 1024,       \
		.offset = offsetof(type_, member_.env), .also = PARAM_ALSO("envs", "environment"), \
		.help = "", .more = "Environment variables."                                       \
	}
#define RUN_PARAM_CWD(type_, member_)                                                              \
	{                                                                                          \
		.name = "cwd", .type = PARAM_STRING, .max = 4095,                                  \
		.offset = offsetof(type_, member_.cwd),                                            \
		.also = PARAM_ALSO("workdir", "working_directory"), .help = "",                    \
		.more = "Directory to start in; /workspace by default. Absolute, or relative to "  \
		        "/workspace."                                                              \
	}
#define RUN_PARAM_BACKGROUND(type_, member_, for_)                                                 \
	{                                                                                          \
		.name = "background", .type = PARAM_BOOL, .offset = offsetof(type_, member_),      \
		.also = PARAM_ALSO("run_in_background"),                                           \
		.help = "Answer at once with the id of a process that goes on" for_                \
		        ". No time limit by default.",                                             \
		.more = "See process_output, process_input and process_stop. The process has a "   \
		        "time limit only if `timeout_s` is given, and ends when the sandbox is "   \
		        "put to sleep."                                                            \
	}
#define RUN_PARAM_TIMEOUT(type_, member_)                                                          \
	{                                                                                          \
		.name = "timeout_s", .type = PARAM_NUMBER, .max = RUN_TIMEOUT_MAX_S,               \
		.offset = offsetof(type_, member_.timeout_s),                                      \
		.also = PARAM_ALSO("timeout", "timeout_seconds"), .help = "",                      \
		.more = "Seconds until the program is ended. Without it, or with 0, the server's " \
		        "default (--run-timeout) holds."                                           \
	}
