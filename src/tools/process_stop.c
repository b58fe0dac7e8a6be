#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/process_call.h"
#include "tools/support/work.h"

enum { WAIT_MS = 5000 }; /* more than a stopped process gets before it is killed */

struct stop_args {
	const char *process, *sandbox;
	bool force;
};

static const struct param params[] = {
	PROCESS_CALL_PARAM(struct stop_args, process),
	{ .name = "force",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct stop_args, force),
	  .help = "Kill it at once (SIGKILL); a session loses its state." },
	WORK_PARAM_SANDBOX(struct stop_args, sandbox),
	{ 0 },
};

static int process_stop_call(struct mcp_call *call, const void *args, struct error *err)
{
	const struct stop_args *a = args;
	struct process_call_options options = {
		.process = a->process,
		.sandbox = a->sandbox,
		.wait_ms = WAIT_MS,
		.since = PROCESS_CALL_SINCE_LAST,
		.running_remark = "it was asked to end and still runs: try again with force",
	};
	struct sandbox *sandbox;
	struct process *process;

	if (process_call_find(call, a->process, a->sandbox, &sandbox, &process, err) < 0)
		return -1;
	if (process_is_over(process))
		options.remark = "it had ended before this call";
	else if (a->force)
		process_signal(process, SIGKILL);
	else
		process_stop(process);
	return process_call_start(call, &options, err);
}

const struct mcp_tool tool_process_stop = {
	.name = "process_stop",
	.title = "Stop a process",
	.help = "End a process with all it has started. Code in a session is interrupted, and the "
	        "session keeps its state.",
	.more = "The process is asked to end (SIGTERM) and killed a little later if it does not. "
	        "The answer says how the process ended and what it printed last. A process that "
	        "has ended already is left as it is. Nothing else in the sandbox is affected.",
	.hints = MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct stop_args),
	.output = run_result_output,
	.call = process_stop_call,
};
