#include "cli/support/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "loop/loop.h"
#include "sandbox/sandbox.h"
#include "server/confine.h"
#include "server/doctor/doctor.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"

enum {
	PATIENCE_MS = 2000,
	WAIT_MS = 5000, /* for a sandbox that another belljar has */
	AGAIN_MS = 50,
};

static const int ending_signals[] = { SIGINT, SIGTERM, SIGHUP };

struct ending {
	struct session *session;
	int number;
};

struct session {
	const struct session_wish *wish;
	const struct options *options;
	const struct session_events *events;
	void *ctx;
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
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
	struct session *session = ctx;

	loop_stop(session->loop);
}

static void end(struct session *session)
{
	session->is_ending = true;
	runtime_stop(session->runtime, on_ended, session);
}

void session_end(struct session *session, int status)
{
	if (session->is_ending)
		return;
	session->status = status;
	end(session);
}

void session_fail(struct session *session, const struct error *why)
{
	if (session->is_ending)
		return;
	session->failed = true;
	session->why = *why;
	end(session);
}

static void on_patience_over(void *ctx)
{
	struct session *session = ctx;

	session_end(session, session->status);
}

/* The program gets what we get, and a while to heed it; a second time nobody is asked. */
static void on_signal(void *ctx)
{
	const struct ending *ending = ctx;
	struct session *session = ending->session;

	if (session->is_ending || session->is_told) {
		loop_stop(session->loop);
		return;
	}
	session->is_told = true;
	session->status = STATUS_SIGNAL + ending->number;
	if (!session->events->signal(session->ctx, ending->number))
		session_end(session, session->status);
	else if (ending->number != SIGINT) /* who types that may want an answer */
		loop_timer_start(session->patience, PATIENCE_MS);
}

/* --- the sandbox ------------------------------------------------------------------------- */

/* Two that start together want the same one: it is a matter of moments. */
static void fail_or_wait(struct session *session, const struct error *why)
{
	if (session->wish->sandbox == NULL || why->kind != ERR_INVALID ||
	    (why->errnum != EBUSY && why->errnum != EEXIST) || session->waited_ms >= WAIT_MS) {
		session_fail(session, why);
		return;
	}
	session->waited_ms += AGAIN_MS;
	loop_timer_start(session->again, AGAIN_MS);
}

static void on_awake(void *ctx, const struct error *why)
{
	struct session *session = ctx;
	struct error err;

	if (session->is_ending)
		return;
	if (why != NULL)
		fail_or_wait(session, why);
	else if (session->events->start(session->ctx, session, &err) < 0)
		session_fail(session, &err);
}

/* What was asked for this once, of a sandbox that was made with something else. */
static int check_wish(const struct session *session, const struct spec *wish, struct error *err)
{
	const struct spec *made = &sandbox_row(session->sandbox)->spec;
	const struct options *options = session->options;

	for (size_t i = OPTION_MEMORY; i <= OPTION_GPU; i++) {
		size_t at = option_specs[i].offset - offsetof(struct options, limits);
		bool same = i == OPTION_CALLS ? made->syscalls == wish->syscalls
		            : i == OPTION_GPU ? made->gpus == wish->gpus
		                              : memcmp((const char *)&made->limits + at,
		                                       (const char *)&wish->limits + at,
		                                       sizeof(uint64_t)) == 0;

		if (!same && (options->flags >> i & 1) != 0)
			return error_set(err, ERR_INVALID,
			                 "--%s: sandbox '%s' was made with another value, which it "
			                 "keeps: leave the option out, or remove the sandbox first",
			                 option_specs[i].name, session->wish->sandbox);
	}
	return 0;
}

static int find_or_create(struct session *session, struct error *err)
{
	const char *name = session->wish->sandbox;
	struct manager *manager = runtime_manager(session->runtime);
	struct sandbox_options wish = { .owner = owner_local(),
		                        .name = name,
		                        .temporary = name == NULL && !session->wish->keep };

	if (runtime_default_spec(session->runtime, session->options, &wish.spec, err) < 0)
		return -1;
	if (name != NULL) {
		if (sandbox_find(manager, wish.owner, name, &session->sandbox, err) == 0)
			return check_wish(session, &wish.spec, err);
		if (err->kind != ERR_NOT_FOUND || spec_is_id(name) || session->wish->must_exist)
			return -1;
	}
	return sandbox_create(manager, &wish, &session->sandbox, err);
}

static void get_sandbox(void *ctx)
{
	struct session *session = ctx;
	struct error err;

	if (session->is_ending)
		return;
	if (find_or_create(session, &err) < 0)
		fail_or_wait(session, &err);
	else
		sandbox_wake(session->sandbox, on_awake, session);
}

static void on_ready(void *ctx, const struct error *why)
{
	struct session *session = ctx;

	if (session->is_ending)
		return;
	if (why != NULL)
		session_fail(session, why);
	else
		get_sandbox(session);
}

/* --- all of it --------------------------------------------------------------------------- */

static int run_loop(struct session *session, struct runtime_base *base, struct error *err)
{
	struct loop_signal *signals[ARRAY_LEN(ending_signals)];
	struct ending endings[ARRAY_LEN(ending_signals)];

	if (runtime_new(session->loop, base, session->options, on_ready, session, &session->runtime,
	                err) < 0)
		return -1;
	session->patience = loop_timer_new(session->loop, on_patience_over, session);
	session->again = loop_timer_new(session->loop, get_sandbox, session);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++) {
		endings[i] = (struct ending){ session, ending_signals[i] };
		signals[i] = loop_signal_new(session->loop, ending_signals[i], on_signal,
		                             &endings[i]);
	}
	loop_run(session->loop);
	session->is_ending = true;
	if (session->events->stop != NULL)
		session->events->stop(session->ctx);
	for (size_t i = 0; i < ARRAY_LEN(ending_signals); i++)
		(void)loop_signal_free(signals[i]);
	(void)loop_timer_free(session->patience);
	(void)loop_timer_free(session->again);
	(void)runtime_free(session->runtime);
	return 0;
}

enum verb_result session_run(const struct session_wish *wish, const struct session_events *events,
                             void *ctx, struct error *err)
{
	const struct options *options = wish->call->options;
	struct session session = { .wish = wish, .options = options, .events = events, .ctx = ctx };
	struct runtime_base base;
	int r;

	log_set_level(options->log_level);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)owner_local();
	if (doctor_require(options, DOCTOR_ENGINE_NEXT, err) < 0)
		return err->kind == ERR_INVALID ? VERB_MISUSED : VERB_FAILED;
	if (runtime_prepare(options, &base, err) < 0 || confine_server(err) < 0 ||
	    loop_new(&session.loop, err) < 0)
		return VERB_FAILED;
	r = run_loop(&session, &base, err);
	(void)loop_free(session.loop);
	if (r == 0 && !session.failed) {
		*wish->call->status = session.status;
		return VERB_DONE;
	}
	if (session.failed)
		*err = session.why;
	return VERB_FAILED;
}

int session_told(const struct session *session)
{
	return session->is_told ? session->status : 0;
}

struct loop *session_loop(struct session *session)
{
	return session->loop;
}

struct manager *session_manager(struct session *session)
{
	return runtime_manager(session->runtime);
}

struct sandbox *session_sandbox(struct session *session)
{
	return session->sandbox;
}
