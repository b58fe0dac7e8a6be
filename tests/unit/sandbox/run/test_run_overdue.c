/* Runs end at their deadline and after SIGKILL, whether the agent reports the end or not. */
#include <signal.h>

#include "sandbox/run/internal.h"
#include "unit/sandbox/lifecycle.h"

enum { WAIT_MS = 60000 }; /* on a busy machine; a test that passes does not wait for it */

struct outcome {
	struct world *world;
	unsigned ends;
	struct run_end end;
	char why[sizeof((struct error *)NULL)->msg]; /* of `failed` */
};

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	(void)ctx;
	(void)is_stderr;
	(void)bytes;
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct outcome *outcome = ctx;

	outcome->ends++;
	outcome->end = *end;
	loop_stop(outcome->world->loop);
}

static void on_failed(void *ctx, const struct error *why)
{
	struct outcome *outcome = ctx;

	outcome->ends++;
	(void)snprintf(outcome->why, sizeof outcome->why, "%s", why->msg);
	loop_stop(outcome->world->loop);
}

static const struct run_events events = { .output = on_output,
	                                  .ended = on_ended,
	                                  .failed = on_failed };

enum act { ACT_NONE, ACT_STOP, ACT_KILL };

static const struct row {
	const char *what;
	uint32_t deadline_ms;
	enum act act;
	bool is_started, has_exited; /* the agent reports this, and nothing else */
	bool timed_out;
	int signal, code;
	const char *note, *why;
} rows[] = {
	{ .what = "a program that is never started",
	  .deadline_ms = 1,
	  .timed_out = true,
	  .signal = SIGKILL,
	  .note = "the agent did not report the end of the program: some output may be missing" },
	{ .what = "a program that runs beyond its deadline",
	  .deadline_ms = 1,
	  .is_started = true,
	  .timed_out = true,
	  .signal = SIGKILL,
	  .note = "the agent did not report the end of the program: some output may be missing" },
	{ .what = "a stream that is not ended after its program",
	  .is_started = true,
	  .has_exited = true,
	  .code = 3,
	  .note = "the agent did not report the end of the program: some output may be missing" },
	{ .what = "a program that is stopped",
	  .act = ACT_STOP,
	  .is_started = true,
	  .why = "the agent did not report the end of the program within 0 s of SIGKILL: reset the "
	         "sandbox if the program still runs" },
	{ .what = "a program that is killed",
	  .act = ACT_KILL,
	  .is_started = true,
	  .why = "the agent did not report the end of the program within 0 s of SIGKILL: reset the "
	         "sandbox if the program still runs" },
};

static void start_row(struct world *w, const struct row *row, struct outcome *outcome)
{
	static const char *const argv[] = { "true", NULL };
	const struct run_options options = { .argv = argv, .deadline_ms = row->deadline_ms };
	struct run *run = NULL;
	struct error err;

	*outcome = (struct outcome){ .world = w };
	CHECK_OK(run_start(w->sandbox, &options, &events, outcome, &run, &err), err);
	if (row->act == ACT_STOP)
		run_stop(run);
	else if (row->act == ACT_KILL)
		run_signal(run, SIGKILL);
}

static void run_ends_without_its_agent(void **state)
{
	static struct channel_rig agent;
	struct world *w = *state;
	struct loop_timer *limit = loop_timer_new(w->loop, stop_loop, w->loop);
	struct outcome outcome;

	run_overdue_ms = 50;
	agent = (struct channel_rig){ .fd = connect_agent(w) };
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		uint32_t stream = (uint32_t)(2 * i + 1);

		start_row(w, row, &outcome);
		run_turns(w);
		if (row->is_started)
			agent_started(&agent, stream);
		if (row->has_exited)
			AGENT_SEND(&agent, stream, 0, .type = WIRE_EXITED,
			           .exited.code = (uint8_t)row->code);
		loop_timer_start(limit, WAIT_MS);
		loop_run(w->loop);
		if (outcome.ends != 1)
			fail_msg("%s: %u ends", row->what, outcome.ends);
		assert_int_equal(outcome.end.timed_out, row->timed_out);
		assert_int_equal(outcome.end.signal, row->signal);
		assert_int_equal(outcome.end.code, row->code);
		assert_string_equal(outcome.end.note, row->note != NULL ? row->note : "");
		assert_string_equal(outcome.why, row->why != NULL ? row->why : "");
	}
	assert_non_null(sandbox_channel(w->sandbox)); /* the sandbox goes on */
	(void)loop_timer_free(limit);
	(void)close(agent.fd);
}

/* A waiting interpreter that was killed gets code while the agent is asked about the disk. */
static void restart_of_the_check_does_not_lose_the_end(void **state)
{
	static const char *const argv[] = { "false", NULL };
	const struct run_options options = { .argv = argv };
	static struct channel_rig agent;
	struct world *w = *state;
	struct outcome outcome = { .world = w };
	struct run *run = NULL;
	struct error err;

	agent = (struct channel_rig){ .fd = connect_agent(w) };
	CHECK_OK(run_start(w->sandbox, &options, &events, &outcome, &run, &err), err);
	run_turns(w);
	agent_started(&agent, 1);
	AGENT_SEND(&agent, 1, 0, .type = WIRE_EXITED, .exited.code = 1);
	AGENT_SEND(&agent, 1, WIRE_OUT, .type = WIRE_END);
	AGENT_SEND(&agent, 1, WIRE_ERR, .type = WIRE_END);
	agent_done(&agent, 1);
	run_turns(w);
	assert_int_equal(outcome.ends, 0);
	run_restart_limit_check(run);
	AGENT_SEND(&agent, 3, 0, .type = WIRE_FAILED, .failed.why = WIRE_FAILED_SYSTEM,
	           .failed.message = VIEW_INIT("no statistics"));
	run_turns(w);
	assert_int_equal(outcome.ends, 1);
	assert_int_equal(outcome.end.code, 1);
	(void)close(agent.fd);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		IN_WORLD(run_ends_without_its_agent),
		IN_WORLD(restart_of_the_check_does_not_lose_the_end),
	};

	return RUN_TESTS("run_overdue", all);
}
