#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/support/attend.h"
#include "tools/support/journal.h"
#include "tools/support/work.h"

enum { PATIENCE_MS = 5000 };

struct stop_args {
	const char *process, *sandbox;
	bool force;
};

static const struct param params[] = {
	JOURNAL_PARAM_PROCESS(struct stop_args, process),
	{ .name = "force",
	  .type = PARAM_BOOL,
	  .offset = offsetof(struct stop_args, force),
	  .help = "Kill it at once instead of asking first (SIGKILL, not SIGTERM). If it is code "
	          "in a "
	          "session, the session's state goes with it." },
	WORK_PARAM_SANDBOX(struct stop_args, sandbox),
	{ 0 },
};

static bool is_enough(const struct attend *attend, struct process *process)
{
	(void)attend;
	return process_is_over(process);
}

static void tell(struct attend *attend, struct sandbox *sandbox, struct process *process)
{
	const char *remark = NULL;

	if (attend->was_over)
		remark = "it had ended before";
	else if (!process_is_over(process))
		remark = "it was told to end and has not yet: try again with force";
	journal_tell(attend, sandbox, process, JOURNAL_SINCE_LAST, 0, remark);
}

static int process_stop_call(struct mcp_call *call, const void *args, struct error *err)
{
	const struct stop_args *a = args;
	struct attend attend = attend_of(call, a->process, a->sandbox, a, PATIENCE_MS);
	struct sandbox *sandbox;
	struct process *process;

	if (attend_find(attend.context, a->process, a->sandbox, &sandbox, &process, err) < 0)
		return -1;
	attend.is_enough = is_enough;
	attend.tell = tell;
	attend.was_over = process_is_over(process);
	if (!attend.was_over && a->force)
		process_signal(process, SIGKILL);
	else if (!attend.was_over)
		process_stop(process);
	return attend_begin(&attend, err);
}

const struct mcp_tool tool_process_stop = {
	.name = "process_stop",
	.title = "Stop a process",
	.help = "Use this to end a process of run_command or run_code that still runs, with all it "
	        "started. It is asked to end (SIGTERM), and killed a little later if it does not; "
	        "code in a session is interrupted, and the session keeps its state. Answers how it "
	        "ended and what it printed last. One that has ended already is left as it is. "
	        "Nothing "
	        "else in the sandbox is touched.",
	.hints = MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct stop_args),
	.output = run_result_output,
	.call = process_stop_call,
};
