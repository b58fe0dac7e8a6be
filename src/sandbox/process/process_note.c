/* process_note.c - the end of a process, told to those who keep books (see process_internal.h). */
#include <stdio.h>
#include <string.h>

#include "sandbox/process/process_internal.h"
#include "sandbox/registry/history.h"
#include "sandbox/sandbox.h"

static void tell_outcome(const struct process *process, char *out, size_t size)
{
	const struct run_end *end = &process->end;

	if (process->phase == PROCESS_FAILED)
		(void)snprintf(out, size, "failed: %.80s", process->why.msg);
	else if (process->compile_failed)
		(void)snprintf(out, size, "does not compile");
	else if (end->timed_out)
		(void)snprintf(out, size, "timed out");
	else if (end->signal != 0)
		(void)snprintf(out, size, "killed by SIG%s", sigabbrev_np(end->signal));
	else
		(void)snprintf(out, size, "exit code %d", end->code);
}

void process_note_end(const struct process *process)
{
	char outcome[HISTORY_OUTCOME_MAX];

	tell_outcome(process, outcome, sizeof outcome);
	sandbox_record_run(process->processes->sandbox, process->started_s,
	                   process->ended_ms - process->started_ms, process->label, outcome);
}
