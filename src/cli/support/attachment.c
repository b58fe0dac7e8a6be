#include "cli/support/attachment.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime/runtime.h"

enum {
	GRACE_MS = 2000, /* for a program to exit after SIGTERM or SIGHUP */
	/* For a sandbox that another belljar has awake; longer than the broker of one that exits
	 * takes to remove its containers (STOP_MS in engine/docker). */
	WAIT_MS = 12000,
	RETRY_MS = 50,
	BAR_MS = 200,
	BAR_CELLS = 30,
	MB = 1000 * 1000,
};

static const int watched_signals[] = { SIGINT, SIGTERM, SIGHUP };

struct signal_watch {
	struct attachment *attachment;
	int number;
};

struct attachment {
	const struct attachment_options *wanted;
	const struct options *options;
	const struct attachment_events *events;
	void *ctx;
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
	struct loop_timer *grace; /* runs out GRACE_MS after a signal was passed on */
	struct wake_bar *bar;     /* until the sandbox is awake; or NULL */
	struct loop_timer *retry; /* tries again to wake a sandbox that another belljar has awake */
	unsigned waited_ms;
	bool is_signalled;
	bool is_ending;
	bool failed;
	struct error why;
	int status;
};

/* --- the bar ----------------------------------------------------------------------------- */

/* A bar on the terminal while the engine fetches an image. Nothing is written if standard error is
 * no terminal. */
struct wake_bar {
	struct loop_timer *timer;
	const struct attachment *attachment;
	bool is_shown;
};

static void erase_bar(struct wake_bar *bar)
{
	if (bar->is_shown)
		(void)fputs("\r\033[K", stderr);
	bar->is_shown = false;
}

static void draw_bar(struct wake_bar *bar, const struct engine_progress *progress)
{
	char cells[BAR_CELLS + 1];
	uint64_t filled = progress->total != 0 ? progress->done * BAR_CELLS / progress->total : 0;

	for (uint64_t i = 0; i < BAR_CELLS; i++)
		cells[i] = i < filled ? '#' : '.';
	cells[BAR_CELLS] = '\0';
	if (progress->total != 0)
		(void)fprintf(stderr, "\r%s [%s] %llu of %llu MB\033[K", progress->text, cells,
		              (unsigned long long)(progress->done / MB),
		              (unsigned long long)(progress->total / MB));
	else
		(void)fprintf(stderr, "\r%s ...\033[K", progress->text);
	(void)fflush(stderr);
	bar->is_shown = true;
}

static void on_bar_timer(void *ctx)
{
	struct wake_bar *bar = ctx;
	const struct sandbox *sandbox = bar->attachment->sandbox;
	const struct engine_progress *progress = sandbox != NULL ? sandbox_progress(sandbox) : NULL;

	if (progress != NULL)
		draw_bar(bar, progress);
	else
		erase_bar(bar);
	loop_timer_start(bar->timer, BAR_MS);
}

static struct wake_bar *wake_bar_new(struct attachment *attachment)
{
	struct wake_bar *bar;

	if (!isatty(STDERR_FILENO))
		return NULL;
	bar = mem_new(sizeof *bar);
	bar->attachment = attachment;
	bar->timer = loop_timer_new(attachment->loop, on_bar_timer, bar);
	loop_timer_start(bar->timer, BAR_MS);
	return bar;
}

static struct wake_bar *wake_bar_free(struct wake_bar *bar)
{
	if (bar == NULL)
		return NULL;
	erase_bar(bar);
	(void)loop_timer_free(bar->timer);
	free(bar);
	return NULL;
}

/* --- the runtime ------------------------------------------------------------------------- */

static void on_runtime_stopped(void *ctx)
{
	struct attachment *attachment = ctx;

	loop_stop(attachment->loop);
}

static void stop_runtime(struct attachment *attachment)
{
	attachment->is_ending = true;
	runtime_stop(attachment->runtime, on_runtime_stopped, attachment);
}

void attachment_stop(struct attachment *attachment, int status)
{
	if (attachment->is_ending)
		return;
	attachment->status = status;
	stop_runtime(attachment);
}

void attachment_fail(struct attachment *attachment, const struct error *why)
{
	if (attachment->is_ending)
		return;
	attachment->failed = true;
	attachment->why = *why;
	stop_runtime(attachment);
}

static void on_grace_over(void *ctx)
{
	struct attachment *attachment = ctx;

	attachment_stop(attachment, attachment->status);
}

/* Passes the first signal on to the program and gives it GRACE_MS to exit. A second signal stops
 * the loop at once. */
static void on_signal(void *ctx)
{
	const struct signal_watch *watch = ctx;
	struct attachment *attachment = watch->attachment;

	if (attachment->is_ending || attachment->is_signalled) {
		loop_stop(attachment->loop);
		return;
	}
	attachment->is_signalled = true;
	attachment->status = STATUS_SIGNAL + watch->number;
	if (!attachment->events->signal(attachment->ctx, watch->number))
		attachment_stop(attachment, attachment->status);
	else if (watch->number !=
	         SIGINT) /* Ctrl-C may only interrupt the program, which then goes on */
		loop_timer_start(attachment->grace, GRACE_MS);
}

/* Two commands that start at the same time may use the same sandbox. The other command usually ends
 * soon, so try again until WAIT_MS have passed. */
static void fail_or_retry(struct attachment *attachment, const struct error *why)
{
	if (attachment->wanted->sandbox == NULL || why->kind != ERR_INVALID ||
	    (why->errnum != EBUSY && why->errnum != EEXIST) || attachment->waited_ms >= WAIT_MS) {
		attachment_fail(attachment, why);
		return;
	}
	attachment->waited_ms += RETRY_MS;
	loop_timer_start(attachment->retry, RETRY_MS);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct attachment *attachment = ctx;
	struct error err;

	if (attachment->is_ending)
		return;
	attachment->bar = wake_bar_free(attachment->bar);
	if (why != NULL)
		fail_or_retry(attachment, why);
	else if (attachment->events->start(attachment->ctx, attachment, &err) < 0)
		attachment_fail(attachment, &err);
}

/* A sandbox keeps the limits it was created with. Refuses a limit given on this command line that
 * differs from the sandbox's. */
static int check_limits(const struct attachment *attachment, const struct spec *wanted,
                        struct error *err)
{
	const struct spec *made = &sandbox_row(attachment->sandbox)->spec;
	const struct options *options = attachment->options;

	for (size_t i = OPTION_MEMORY; i <= OPTION_GPU; i++) {
		size_t at = option_specs[i].offset - offsetof(struct options, limits);
		bool same = i == OPTION_CALLS ? made->syscalls == wanted->syscalls
		            : i == OPTION_GPU ? made->gpus == wanted->gpus
		                              : memcmp((const char *)&made->limits + at,
		                                       (const char *)&wanted->limits + at,
		                                       sizeof(uint64_t)) == 0;

		if (!same && options->sources[i] == OPTION_FROM_FLAG)
			return error_set(
			        err, ERR_INVALID,
			        "--%s: sandbox '%s' was created with another value and keeps it; "
			        "leave the option out, or remove the sandbox first",
			        option_specs[i].name, attachment->wanted->sandbox);
	}
	return 0;
}

static int check_found(const struct attachment *attachment, const struct spec *wanted,
                       struct error *err)
{
	if (attachment->wanted->must_be_awake &&
	    sandbox_row(attachment->sandbox)->state != SANDBOX_AWAKE)
		return error_set(err, ERR_INVALID,
		                 "sandbox '%s' is asleep: it has files and no processes",
		                 attachment->wanted->sandbox);
	return check_limits(attachment, wanted, err);
}

static int find_or_create_sandbox(struct attachment *attachment, struct error *err)
{
	const char *name = attachment->wanted->sandbox;
	struct manager *manager = runtime_manager(attachment->runtime);
	struct sandbox_options options = { .owner = owner_choose(attachment->options->user),
		                           .network = attachment->options->network,
		                           .name = name,
		                           .temporary = name == NULL && !attachment->wanted->keep };

	if (runtime_default_spec(attachment->runtime, attachment->options, &options.spec, err) < 0)
		return -1;
	if (name != NULL) {
		if (sandbox_find(manager, options.owner, name, &attachment->sandbox, err) == 0)
			return check_found(attachment, &options.spec, err);
		if (err->kind != ERR_NOT_FOUND || spec_is_id(name) ||
		    attachment->wanted->must_exist)
			return -1;
	}
	return sandbox_create(manager, &options, &attachment->sandbox, err);
}

static void open_sandbox(void *ctx)
{
	struct attachment *attachment = ctx;
	struct error err;

	if (attachment->is_ending)
		return;
	if (find_or_create_sandbox(attachment, &err) < 0)
		fail_or_retry(attachment, &err);
	else
		sandbox_wake(attachment->sandbox, on_awake, attachment);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct attachment *attachment = ctx;

	if (attachment->is_ending)
		return;
	if (why != NULL)
		attachment_fail(attachment, why);
	else
		open_sandbox(attachment);
}

static int run_loop(struct attachment *attachment, struct runtime_base *base, struct error *err)
{
	struct loop_signal *signals[ARRAY_LEN(watched_signals)];
	struct signal_watch watches[ARRAY_LEN(watched_signals)];

	if (runtime_new(attachment->loop, base, attachment->options, on_ready, attachment,
	                &attachment->runtime, err) < 0)
		return -1;
	attachment->grace = loop_timer_new(attachment->loop, on_grace_over, attachment);
	attachment->retry = loop_timer_new(attachment->loop, open_sandbox, attachment);
	for (size_t i = 0; i < ARRAY_LEN(watched_signals); i++) {
		watches[i] = (struct signal_watch){ attachment, watched_signals[i] };
		signals[i] = loop_signal_new(attachment->loop, watched_signals[i], on_signal,
		                             &watches[i]);
	}
	attachment->bar = wake_bar_new(attachment);
	loop_run(attachment->loop);
	attachment->bar = wake_bar_free(attachment->bar);
	attachment->is_ending = true;
	if (attachment->events->stop != NULL)
		attachment->events->stop(attachment->ctx);
	for (size_t i = 0; i < ARRAY_LEN(watched_signals); i++)
		(void)loop_signal_free(signals[i]);
	(void)loop_timer_free(attachment->grace);
	(void)loop_timer_free(attachment->retry);
	(void)runtime_free(attachment->runtime);
	return 0;
}

enum verb_result attachment_run(const struct attachment_options *wanted,
                                const struct attachment_events *events, void *ctx,
                                struct error *err)
{
	const struct options *options = wanted->call->options;
	struct attachment attachment = {
		.wanted = wanted, .options = options, .events = events, .ctx = ctx
	};
	struct runtime_base base;
	int r;

	log_set_level(options->log_level);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)owner_local();
	if (doctor_require(options, DOCTOR_ENGINE_NEXT, err) < 0)
		return err->kind == ERR_INVALID ? VERB_MISUSED : VERB_FAILED;
	if (runtime_prepare(options, &base, err) < 0 || loop_new(&attachment.loop, err) < 0 ||
	    confine_server(&(struct confine_needs){ base.state }, err) < 0)
		return VERB_FAILED;
	r = run_loop(&attachment, &base, err);
	(void)loop_free(attachment.loop);
	if (r == 0 && !attachment.failed) {
		*wanted->call->status = attachment.status;
		return VERB_DONE;
	}
	if (attachment.failed)
		*err = attachment.why;
	return VERB_FAILED;
}

int attachment_signal_status(const struct attachment *attachment)
{
	return attachment->is_signalled ? attachment->status : 0;
}

struct loop *attachment_loop(struct attachment *attachment)
{
	return attachment->loop;
}

struct sandbox *attachment_sandbox(struct attachment *attachment)
{
	return attachment->sandbox;
}

bool attachment_has_sandbox(struct attachment *attachment, const char *id_or_name)
{
	struct sandbox *found;
	struct error err;

	return sandbox_find(runtime_manager(attachment->runtime),
	                    owner_choose(attachment->options->user), id_or_name, &found, &err) == 0;
}
