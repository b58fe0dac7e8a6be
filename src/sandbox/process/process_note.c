/* process_note.c - the end of a process, told to those who keep books (see process_internal.h). */
#include <stdio.h>
#include <string.h>

#include "base/text/utf8.h"
#include "sandbox/process/process_internal.h"
#include "sandbox/registry/history.h"
#include "sandbox/sandbox_internal.h"

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
	const struct sandbox *sandbox = process->processes->sandbox;
	struct manager *manager = sandbox->manager;
	struct history_row row = { .started_s = process->started_s,
		                   .duration_ms = process->ended_ms - process->started_ms };
	char outcome[HISTORY_OUTCOME_MAX];

	memcpy(row.sandbox, sandbox->row.spec.id, sizeof row.sandbox);
	memcpy(row.owner, sandbox->row.owner, sizeof row.owner);
	(void)utf8_escape(view_of(process->label), row.what, sizeof row.what);
	tell_outcome(process, outcome, sizeof outcome);
	(void)utf8_escape(view_of(outcome), row.outcome, sizeof row.outcome);
	if (!sandbox->row.throw_away) /* nothing of it is to stay */
		history_add(manager, &row);
	if (manager->config.ran != NULL)
		manager->config.ran(manager->config.ran_ctx, &sandbox->row);
}
