#include "tools/run/answer/run_end_text.h"

#include <stdio.h>
#include <string.h>

#include "tools/run/answer/run_result.h"
#include "tools/run/answer/run_text.h"

/* The text in place of missing output. Earlier answers of process_output may have had some. */
static const char *describe_silence(const struct run_result *r, bool is_cell)
{
	if (r->process != NULL && r->out_bytes + r->error_bytes != 0)
		return "no new output arrived";
	return is_cell ? "no output arrived"
	               : "no output arrived (a program that buffers it needs stdbuf -oL, or to "
	                 "flush)";
}

/* Says what happened to the process when its time was over. A Bash cell that replaces the traps of
 * its interpreter ends the interpreter when SIGINT arrives. */
static const char *describe_time_out(const struct process_state *state, bool is_cell)
{
	if (!is_cell)
		return "the program and all it started were ended";
	if (!state->state_is_lost)
		return "the cell was interrupted";
	return state->end.signal != 0 ? "the cell ignored the interrupt and was killed"
	                              : "the cell was interrupted, which ended its interpreter";
}

void run_end_describe(const struct run_result *r, bool is_silent, char out[RUN_END_SIZE])
{
	const struct process_state *state = r->state;
	const struct run_end *end = &state->end;
	bool is_cell = r->session != NULL;
	const char *silence = describe_silence(r, is_cell);
	uint64_t ms = r->timeout_ms != 0 ? r->timeout_ms : state->elapsed_ms;
	char name[24];

	out[0] = '\0';
	if (end->timed_out)
		(void)snprintf(out, RUN_END_SIZE, "timed out after %g s: %s; %s", (double)ms / 1000,
		               describe_time_out(state, is_cell),
		               is_silent ? silence : "what arrived is above");
	else if (end->signal != 0)
		(void)snprintf(out, RUN_END_SIZE, "killed by %s",
		               run_text_signal(end->signal, name));
	else if (state->end.compile_failed)
		(void)snprintf(out, RUN_END_SIZE,
		               "the code does not compile: exit code %d of the compiler",
		               end->code);
	else if ((end->code != 0 && (!is_cell || state->error_name == NULL)) ||
	         (r->process != NULL && !is_silent && !r->has_more))
		(void)snprintf(out, RUN_END_SIZE, "exit code %d", end->code);
	else if (is_silent)
		(void)snprintf(out, RUN_END_SIZE, "%.*s%s",
		               (int)(strstr(silence, " arrived") - silence), silence,
		               is_cell ? "" : "; exit code 0");
}
