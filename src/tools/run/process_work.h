/* process_work.h - work that runs a process and answers with its result: run_code and run_command.
 *
 *   process_work_start -> (the sandbox is awake) [the project lists packages: project_install] ->
 *   process_start -> wait_process -> [a module was missing: auto_install, and once more from
 *   process_start] -> changed files are listed, pictures are read and long output is saved -> the
 *   call is answered
 *
 * The process belongs to the work until the answer. If the process still runs then, it is detached,
 * and the answer has its id. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/attr.h"
#include "sandbox/process/process.h"

struct error;
struct mcp_call;

struct process_work_options {
	struct process_options process;
	struct arena arena;  /* memory of the options; process_work_start() takes it over */
	const char *sandbox; /* argument of the call: id or name; NULL: the default sandbox */
	bool is_background;  /* the call is answered at once */
	/* Pictures are sent as blocks of the answer. Only a tool without an output schema may do
	 * that: see tool_run_code. */
	bool takes_pictures;
};

/* The strings and arrays of the options must stay valid until the answer, as arguments of the call
 * do. */
MUST_CHECK int process_work_start(struct mcp_call *call, struct process_work_options *options,
                                  struct error *err);
