#include <stddef.h>

#include "base/error.h"
#include "tools/catalogue.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/process_call.h"
#include "tools/run/wait/wait_text.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct output_args {
	const char *process, *sandbox;
	int64_t since, limit;
	double wait_s;
	bool until_end;
	const char *until;
	int64_t port;
};

static const struct param params[] = {
	PROCESS_CALL_PARAM(struct output_args),
	ARG(struct output_args, since, INT,
	    "`next` of an earlier answer; 0: the beginning; -1: after the last answer.",
	    .min = PROCESS_CALL_SINCE_LAST, .max = INT64_C(1) << 53,
	    .fallback.integer = PROCESS_CALL_SINCE_LAST,
	    .more = "The first byte to read, counted over both streams."),
	ARG(struct output_args, wait_s, NUMBER,
	    "Most seconds to wait, for new output or as said below.", .max = 3600,
	    .more = "The end of the process ends every wait, and the answer comes sooner if a call "
	            "may not take so long. With `until_end`, `until` or `port` the default is as "
	            "long as a call may take."),
	ARG(struct output_args, until_end, BOOL, "Wait for its end, or all of `wait_s`."),
	ARG(struct output_args, until, STRING, "Wait for this text.", .min = 1,
	    .max = WAIT_TEXT_MAX,
	    .more = "Output from `since` on counts, all of it by default. The text is compared "
	            "with the bytes as printed, terminal escapes included."),
	ARG(struct output_args, port, INT, "Wait for a server on this port.", .max = 65535),
	ARG(struct output_args, limit, INT, "", .max = 1024 * 1024,
	    .more = "Most bytes of output."),
	WORK_PARAM_SANDBOX(struct output_args),
	{ 0 },
};

static int process_output(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct output_args *a = args;
	bool is_for_output = !a->until_end && a->until == NULL && a->port == 0;
	uint64_t wait_ms = a->wait_s > 0 || is_for_output ? (uint64_t)(a->wait_s * 1000)
	                                                  : context->answer_within_ms;
	const struct process_call_options options = {
		.process = a->process,
		.sandbox = a->sandbox,
		.wait_ms = wait_ms < context->answer_within_ms ? (uint32_t)wait_ms
		                                               : context->answer_within_ms,
		.until_output = is_for_output,
		.until = view_of(a->until != NULL ? a->until : ""),
		.port = (uint16_t)a->port,
		.since = a->since,
		.limit = (size_t)a->limit,
	};

	if (a->until != NULL && a->port != 0)
		return error_set(err, ERR_INVALID,
		                 "arguments 'until' and 'port': give one of them, and the other in "
		                 "a second call");
	return process_call_start(call, &options, err);
}

const struct mcp_tool tool_process_output = {
	.name = "process_output",
	.title = "Read a process's output",
	.help = "Read what a process has printed since the last answer, whether it still runs, and "
	        "how it ended. Better wait here than call again.",
	.more = "Processes come from run_command with `background`, and from calls that took too "
	        "long. What Belljar says begins with \"[belljar: \", which no program can print. "
	        "The oldest output of a process that prints much is dropped; the answer says how "
	        "many bytes are missing. Processes end when their sandbox is put to sleep.",
	.hints = MCP_READ_ONLY,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct output_args),
	.output = run_result_output,
	.call = process_output,
};
