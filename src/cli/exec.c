#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/plain.h"
#include "cli/verb.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "sandbox/run.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/doctor.h"
#include "server/options.h"
#include "server/owner.h"
#include "server/stack.h"

enum {
	QUEUE_MAX = 256 * 1024,
	STATUS_TIMED_OUT = 124, /* as timeout(1) has it */
	STATUS_DENIED = 126,    /* as shells have it */
	STATUS_MISSING = 127,
	STATUS_SIGNAL = 128,
	PATIENCE_MS = 2000,
	WAIT_MS = 5000, /* for a sandbox that another belljar has */
	AGAIN_MS = 50,
};

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

struct exec;
struct ending {
	struct exec *exec;
	int signo;
};

struct exec {
	const struct verb_call *call;
	struct loop *loop;
	struct stack *stack;
	struct sandbox *sandbox;
	struct run *run;
	struct input *input;
	struct output *output[2]; /* stdout and stderr */
	bool is_terminal[2];      /* that is */
	struct plain plain[2];
	size_t unread[2];  /* bytes of each on their way out */
	struct view typed; /* what the program has not taken yet */
	char typed_bytes[INPUT_CHUNK];
	bool input_ended;
	struct loop_timer *patience; /* with a program that was told to end */
	struct loop_timer *again;    /* to ask for a sandbox that another one has */
	unsigned waited_ms;
	bool is_told;
	bool is_ending;
	bool failed;
	struct error why;
	int status;
};

/* --- the end ----------------------------------------------------------------------------- */

static void on_ended(void *ctx)
{
	struct exec *exec = ctx;

	loop_stop(exec->loop);
}

static void end(struct exec *exec)
{
	if (exec->is_ending)
		return;
	exec->is_ending = true;
	stack_end(exec->stack, on_ended, exec);
}

static void fail(struct exec *exec, const struct error *why)
{
	if (!exec->failed)
		exec->why = *why;
	exec->failed = true;
	end(exec);
}

/* What it printed is still on its way out. */
static void end_when_written(struct exec *exec)
{
	if (exec->run == NULL && exec->unread[0] == 0 && exec->unread[1] == 0)
		end(exec);
}

/* --- its output ---------------------------------------------------------------------------- */

static void give_back(struct exec *exec, bool is_stderr)
{
	size_t bytes = exec->unread[is_stderr];

	exec->unread[is_stderr] = 0;
	if (exec->run != NULL)
		run_consumed(exec->run, is_stderr, bytes);
	else
		end_when_written(exec);
}

static void on_drained_out(void *ctx)
{
	give_back(ctx, false);
}

static void on_drained_err(void *ctx)
{
	give_back(ctx, true);
}

/* Nobody reads any more: the program would not know, so it is ended. */
static void on_output_failed(void *ctx, const struct error *why)
{
	struct exec *exec = ctx;

	exec->unread[0] = exec->unread[1] = 0;
	if (exec->run != NULL) {
		run_drop(exec->run);
		exec->run = NULL;
	}
	if (why->errnum == EPIPE) {
		exec->status = STATUS_SIGNAL + SIGPIPE;
		end(exec);
	} else
		fail(exec, why);
}

static int write_plain(struct exec *exec, bool is_stderr, struct view bytes, struct error *err)
{
	char text[4096 + 1];

	for (size_t done = 0; done < bytes.len;) {
		size_t part = bytes.len - done < sizeof text - 1 ? bytes.len - done
		                                                 : sizeof text - 1;
		size_t left = plain_filter(&exec->plain[is_stderr], bytes.ptr + done, part, text);

		if (output_write(exec->output[is_stderr], (struct view){ text, left }, err) < 0)
			return -1;
		done += part;
	}
	return 0;
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct exec *exec = ctx;
	struct error err;
	int r;

	exec->unread[is_stderr] += bytes.len;
	if (exec->is_terminal[is_stderr])
		r = write_plain(exec, is_stderr, bytes, &err);
	else
		r = output_write(exec->output[is_stderr], bytes, &err);
	if (r < 0)
		on_output_failed(exec, &err);
	else if (output_pending(exec->output[is_stderr]) == 0)
		give_back(exec, is_stderr);
}

/* --- its input ------------------------------------------------------------------------------- */

static void send_typed(struct exec *exec)
{
	size_t sent = exec->typed.len != 0 ? run_write(exec->run, exec->typed) : 0;

	exec->typed.ptr += sent;
	exec->typed.len -= sent;
	if (exec->typed.len != 0)
		return;
	if (exec->input_ended)
		run_end_input(exec->run);
	else
		input_resume(exec->input);
}

static void on_typed(void *ctx, struct view bytes)
{
	struct exec *exec = ctx;

	memcpy(exec->typed_bytes, bytes.ptr, bytes.len);
	exec->typed = (struct view){ exec->typed_bytes, bytes.len };
	input_pause(exec->input);
	if (exec->run != NULL)
		send_typed(exec);
}

static void on_input_end(void *ctx, const struct error *why)
{
	struct exec *exec = ctx;

	(void)why;
	exec->input_ended = true;
	if (exec->run != NULL && exec->typed.len == 0)
		run_end_input(exec->run);
}

static void on_writable(void *ctx)
{
	struct exec *exec = ctx;

	if (exec->typed.len != 0)
		send_typed(exec);
}

/* --- the run ---------------------------------------------------------------------------- */

static void on_run_ended(void *ctx, const struct run_end *run_end)
{
	struct exec *exec = ctx;

	exec->run = NULL;
	exec->status = run_end->timed_out     ? STATUS_TIMED_OUT
	               : run_end->signal != 0 ? STATUS_SIGNAL + run_end->signal
	                                      : run_end->code;
	if (run_end->timed_out)
		(void)fprintf(stderr, "belljar: the program was ended after %llu s\n",
		              (unsigned long long)exec->call->options->timeout_s);
	if (run_end->note[0] != '\0')
		(void)fprintf(stderr, "belljar: %s\n", run_end->note);
	end_when_written(exec);
}

static int status_of(const struct error *why)
{
	if (why->kind == ERR_NOT_FOUND)
		return STATUS_MISSING;
	if (why->kind == ERR_LIMIT)
		return STATUS_SIGNAL + SIGKILL;
	return why->errnum == EACCES || why->errnum == ENOEXEC ? STATUS_DENIED : 1;
}

static void on_run_failed(void *ctx, const struct error *why)
{
	struct exec *exec = ctx;

	exec->run = NULL;
	if (!exec->is_told) { /* else we ended it ourselves */
		exec->status = status_of(why);
		(void)fprintf(stderr, "belljar: %s\n", why->msg);
	}
	end_when_written(exec);
}

static const struct run_events run_events = { on_output, on_writable, on_run_ended, on_run_failed };
static const struct input_events input_events = { on_typed, on_input_end };
static const struct output_events out_events = { on_drained_out, on_output_failed };
static const struct output_events err_events = { on_drained_err, on_output_failed };

static int start_run(struct exec *exec, struct error *err)
{
	const struct options *options = exec->call->options;
	const struct run_wish wish = { .argv = exec->call->operands,
		                       .deadline_ms = (uint32_t)(options->timeout_s * 1000),
		                       .with_stdin = true };

	if (output_new(exec->loop, STDOUT_FILENO, QUEUE_MAX, &out_events, exec, &exec->output[0],
	               err) < 0 ||
	    output_new(exec->loop, STDERR_FILENO, QUEUE_MAX, &err_events, exec, &exec->output[1],
	               err) < 0)
		return -1;
	for (int i = 0; i < 2; i++)
		exec->is_terminal[i] = isatty(STDOUT_FILENO + i) == 1;
	if (run_start(exec->sandbox, &wish, &run_events, exec, &exec->run, err) < 0)
		return -1;
	exec->input = input_new(exec->loop, STDIN_FILENO, &input_events, exec);
	return 0;
}

/* --- the sandbox ------------------------------------------------------------------------ */

/* Two that start together want the same one: it is a matter of moments. */
static void fail_or_wait(struct exec *exec, const struct error *why)
{
	if (exec->call->options->sandbox == NULL || why->kind != ERR_INVALID ||
	    (why->errnum != EBUSY && why->errnum != EEXIST) || exec->waited_ms >= WAIT_MS) {
		fail(exec, why);
		return;
	}
	exec->waited_ms += AGAIN_MS;
	loop_timer_start(exec->again, AGAIN_MS);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct exec *exec = ctx;
	struct error err;

	if (exec->is_ending)
		return;
	if (why != NULL)
		fail_or_wait(exec, why);
	else if (start_run(exec, &err) < 0)
		fail(exec, &err);
}

/* What was asked for this once, of a sandbox that was made with something else. */
static int check_wish(const struct exec *exec, const struct spec *wish, struct error *err)
{
	const struct spec *made = &sandbox_row(exec->sandbox)->spec;
	const struct options *options = exec->call->options;

	for (size_t i = OPTION_MEMORY; i <= OPTION_GPU; i++) {
		size_t at = option_specs[i].offset - offsetof(struct options, limits);
		bool same = i == OPTION_CALLS ? made->calls == wish->calls
		            : i == OPTION_GPU ? made->gpus == wish->gpus
		                              : memcmp((const char *)&made->limits + at,
		                                       (const char *)&wish->limits + at,
		                                       sizeof(uint64_t)) == 0;

		if (!same && (options->flags >> i & 1) != 0)
			return error_set(err, ERR_INVALID,
			                 "--%s: sandbox '%s' was made with another value, which it "
			                 "keeps: leave the option out, or remove the sandbox first",
			                 option_specs[i].name, options->sandbox);
	}
	return 0;
}

static int find_or_create(struct exec *exec, struct error *err)
{
	const struct options *options = exec->call->options;
	struct manager *manager = stack_manager(exec->stack);
	struct sandbox_wish wish = { .owner = owner_local(),
		                     .name = options->sandbox,
		                     .throw_away = options->sandbox == NULL };

	if (stack_spec(exec->stack, options, &wish.spec, err) < 0)
		return -1;
	if (options->sandbox != NULL) {
		if (sandbox_find(manager, wish.owner, options->sandbox, &exec->sandbox, err) == 0)
			return check_wish(exec, &wish.spec, err);
		if (err->kind != ERR_NOT_FOUND || spec_is_id(options->sandbox))
			return -1;
	}
	return sandbox_create(manager, &wish, &exec->sandbox, err);
}

static void get_sandbox(void *ctx)
{
	struct exec *exec = ctx;
	struct error err;

	if (exec->is_ending)
		return;
	if (find_or_create(exec, &err) < 0)
		fail_or_wait(exec, &err);
	else
		sandbox_wake(exec->sandbox, on_awake, exec);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct exec *exec = ctx;

	if (exec->is_ending)
		return;
	if (why != NULL)
		fail(exec, why);
	else
		get_sandbox(exec);
}

static void on_patience_over(void *ctx)
{
	end(ctx);
}

/* The program gets what we get, and a while to heed it; a second time nobody is asked. */
static void on_signal(void *ctx)
{
	struct ending *ending = ctx;
	struct exec *exec = ending->exec;

	if (exec->is_ending || exec->is_told) {
		loop_stop(exec->loop);
		return;
	}
	exec->is_told = true;
	exec->status = STATUS_SIGNAL + ending->signo;
	if (exec->run == NULL) {
		end(exec);
		return;
	}
	run_signal(exec->run, ending->signo);
	if (ending->signo != SIGINT) /* who types that may want an answer */
		loop_timer_start(exec->patience, PATIENCE_MS);
}

/* --- the verb --------------------------------------------------------------------------- */

static int run_loop(struct exec *exec, struct stack_base *base, struct error *err)
{
	struct loop_signal *signals[ARRAY_LEN(ending_signals)];
	struct ending endings[ARRAY_LEN(ending_signals)];

	if (stack_new(exec->loop, base, on_ready, exec, &exec->stack, err) < 0)
		return -1;
	exec->patience = loop_timer_new(exec->loop, on_patience_over, exec);
	exec->again = loop_timer_new(exec->loop, get_sandbox, exec);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++) {
		endings[i] = (struct ending){ exec, ending_signals[i] };
		signals[i] = loop_signal_new(exec->loop, ending_signals[i], on_signal, &endings[i]);
	}
	loop_run(exec->loop);
	exec->is_ending = true;
	if (exec->run != NULL)
		run_drop(exec->run);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
		(void)loop_signal_free(signals[i]);
	(void)loop_timer_free(exec->patience);
	(void)loop_timer_free(exec->again);
	(void)input_free(exec->input);
	(void)output_free(exec->output[1]);
	(void)output_free(exec->output[0]);
	(void)stack_free(exec->stack);
	return 0;
}

static enum verb_result run(const struct verb_call *call, struct error *err)
{
	static struct exec exec;
	struct stack_base base;
	int r;

	exec = (struct exec){ .call = call };
	log_set_level(call->options->log_level);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)owner_local();
	if (doctor_require(call->options, DOCTOR_ENGINE_NEXT, err) < 0)
		return err->kind == ERR_INVALID ? VERB_MISUSED : VERB_FAILED;
	if (stack_prepare(call->options, &base, err) < 0 || confine_server(err) < 0)
		return VERB_FAILED;
	if (loop_new(&exec.loop, err) < 0)
		return VERB_FAILED;
	r = run_loop(&exec, &base, err);
	(void)loop_free(exec.loop);
	if (r == 0 && !exec.failed) {
		*call->status = exec.status;
		return VERB_DONE;
	}
	if (exec.failed)
		*err = exec.why;
	return VERB_FAILED;
}

static const struct verb_example examples[] = {
	{ "belljar exec python3 -c 'print(6 * 7)'", "Run a program in a new sandbox." },
	{ "echo hello | belljar exec wc -c", "It reads what belljar reads." },
	{ "belljar exec --sandbox work sh -c 'echo data > kept'", "Make a sandbox, and keep it." },
	{ "belljar exec --sandbox work cat kept", "Use it again: the files are there." },
	{ "belljar exec --memory 256M --timeout 10 ./job", "With limits." },
	{ NULL, NULL },
};

const struct verb verb_exec = {
	.name = "exec",
	.operand = "PROGRAM",
	.operand_needed = true,
	.operand_rest = true,
	.summary = "Run a program in a sandbox.",
	.help = "Makes a sandbox, runs the program in it, passes input and output through, and "
	        "removes "
	        "the sandbox. With --sandbox the sandbox is kept: it sleeps afterwards, as "
	        "files only, and wakes with the next call, with the limits it was made with. If "
	        "another "
	        "belljar has it awake, exec waits up to 5 seconds. What stands behind the "
	        "program's name is passed to it.\n\n"
	        "The exit status is the program's; 124 if its time was up, 128 and the signal's "
	        "number if a signal ended it, 137 too if a limit ended the sandbox; 127 if there "
	        "is no such program, 126 if it cannot be run. 1 means that belljar itself "
	        "failed.\n\n"
	        "On a terminal, output is shown without what would command the terminal, colours "
	        "too. Arguments may have 60 KiB in all.",
	.examples = examples,
	.options = FOR_EXEC,
	.run = run,
};
