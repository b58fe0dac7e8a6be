#include <signal.h>
#include <stddef.h>

#include "base/error.h"
#include "mcp/content.h"
#include "sandbox/interpreter/interpreter_pool.h"
#include "sandbox/process/process.h"
#include "tools/catalogue.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/process_call.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { WAIT_MS = 5000 }; /* more than a stopped process gets before it is killed */

struct stop_args {
	const char *process, *session, *sandbox;
	bool force;
};

static const struct param params[] = {
	ARG(struct stop_args, process, STRING, "Id from an earlier answer: \"p7\".", .min = 1,
	    .max = PROCESS_ID_MAX, .also = PARAM_ALSO("process_id", "id")),
	ARG(struct stop_args, session, STRING, "Instead: end this session, with its state.",
	    .min = 1, .max = SESSION_NAME_MAX, .also = PARAM_ALSO("session_id")),
	ARG(struct stop_args, force, BOOL, "Kill it at once (SIGKILL); a session loses its state."),
	WORK_PARAM_SANDBOX(struct stop_args),
	{ 0 },
};

struct end_session {
	struct work work;
	const char *name;
};

static int end_session(struct work *work, struct error *err)
{
	struct end_session *e = container_of(work, struct end_session, work);
	json_t *content = json_list(), *structured = json_obj();

	if (process_end_session(work->sandbox, e->name, err) < 0) {
		json_decref(content);
		json_decref(structured);
		return error_wrap(err, "argument 'session'");
	}
	/* The members that every answer of this tool has. */
	json_set(structured, "stdout", json_str(""));
	json_set(structured, "stderr", json_str(""));
	json_set(structured, "duration_ms", json_int(0));
	json_set(structured, "session", json_str(e->name));
	json_set(structured, "state_lost", json_true());
	json_push(content,
	          mcp_text("[the session '%s' has ended, and its state is gone]", e->name));
	work_answer(work, content, structured);
	return 0;
}

static const struct work_callbacks session_callbacks = { end_session, NULL, NULL };

static int process_stop_call(struct mcp_call *call, const void *args, struct error *err)
{
	const struct stop_args *a = args;
	struct work *work;
	struct process_call_options options = {
		.process = a->process,
		.sandbox = a->sandbox,
		.wait_ms = WAIT_MS,
		.since = PROCESS_CALL_SINCE_LAST,
		.running_remark = "it was asked to end and still runs: try again with force",
	};
	struct sandbox *sandbox;
	struct process *process;

	if (a->process == NULL && a->session == NULL)
		return error_set(err, ERR_INVALID,
		                 "argument 'process' is missing: expected the id of a process, or "
		                 "the name of a session as 'session'");
	if (a->process != NULL && a->session != NULL)
		return error_set(err, ERR_INVALID,
		                 "arguments 'process' and 'session': give one of them");
	if (a->session != NULL) {
		if (work_start(call, sizeof(struct end_session), &session_callbacks, a->sandbox,
		               &work, err) < 0)
			return -1;
		container_of(work, struct end_session, work)->name = a->session;
		return 0;
	}
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
	.help = "End a process with all it has started, or a session. Code in a session is "
	        "interrupted, and the session keeps its state.",
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
