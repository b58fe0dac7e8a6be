/* The prepared sandbox: invisible until a call takes it, and deleted if another one is needed. */
#include <signal.h>

#include "unit/sandbox/lifecycle.h"

static struct sandbox_options make_options(void)
{
	return (struct sandbox_options){ .owner = "me", .name = "new", .spec = spec_default() };
}

/* Deletes the world's sandbox, then prepares one. */
static void prepare(struct world *w)
{
	const struct sandbox_options options = make_options();

	sandbox_delete(w->sandbox, NULL, NULL);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	w->fake.makes = w->fake.kills = w->fake.erases = 0;
	manager_prepare(w->manager, &options);
	assert_int_equal(w->fake.makes, 1);
}

static bool count_row(void *ctx, const struct sandbox_row *row)
{
	(void)row;
	++*(unsigned *)ctx;
	return true;
}

static unsigned count_rows(struct world *w)
{
	unsigned count = 0;
	struct error err;

	CHECK_OK(manager_each(w->manager, "me", count_row, &count, &err), err);
	return count;
}

static void create_takes_prepared_sandbox(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = make_options();
	struct result ready = { 0 };
	struct sandbox *made;
	struct error err;

	prepare(w);
	assert_int_equal(count_rows(w), 0);
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(w->fake.makes, 1);
	assert_string_equal(read_row(w, "new").spec.id, w->fake.made.id);
	assert_int_equal(read_row(w, "new").state, SANDBOX_CREATING);
	sandbox_wake(made, on_result, &ready);
	(void)close(connect_agent(w));
	assert_result(&ready, "");
	assert_int_equal(read_row(w, "new").state, SANDBOX_AWAKE);
	assert_false(read_row(w, "new").temporary);
}

static void ready_prepared_sandbox_is_awake_at_once(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = make_options();
	struct result asleep = { 0 };
	struct sandbox *made;
	struct error err;
	int agent;

	prepare(w);
	agent = connect_agent(w);
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(read_row(w, "new").state, SANDBOX_AWAKE);
	assert_non_null(sandbox_channel(made));
	sandbox_sleep(made, on_result, &asleep);
	report_ended(w, ENGINE_END_KILLED);
	assert_result(&asleep, "");
	assert_int_equal(read_row(w, "new").state, SANDBOX_ASLEEP);
	(void)close(agent);
}

static void other_sandbox_deletes_prepared_one(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = make_options();
	const struct engine_events *events;
	struct sandbox *made;
	struct error err;
	void *ctx;

	prepare(w);
	events = w->fake.box.events;
	ctx = w->fake.box.ctx;
	options.spec.limits.memory /= 2;
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(w->fake.makes, 2);
	assert_int_equal(w->fake.kills, 1);
	events->ended(ctx, ENGINE_END_KILLED, "why not");
	report_erased(w);
	assert_int_equal(count_rows(w), 1);
}

static void waking_deletes_prepared_sandbox(void **state)
{
	struct world *w = *state;
	struct sandbox *old;

	prepare(w);
	old = add_sleeping_sandbox(w);
	sandbox_wake(old, NULL, NULL);
	assert_int_equal(w->fake.kills, 1);
	assert_int_equal(w->fake.makes, 2);
}

static void variables_need_another_sandbox(void **state)
{
	static const char env[SANDBOX_ENV_MAX] = "A=1";
	struct world *w = *state;
	struct sandbox_options options = make_options();
	struct sandbox *made;
	struct error err;

	prepare(w);
	options.env = env;
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(w->fake.makes, 2);
}

static void prepared_sandbox_that_ends_is_erased(void **state)
{
	struct world *w = *state;
	const struct sandbox_options options = make_options();
	struct sandbox *made;
	struct error err;

	prepare(w);
	(void)close(connect_agent(w));
	run_turns(w);
	report_ended(w, ENGINE_END_AGENT_DIED);
	assert_int_equal(w->fake.erases, 1);
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	assert_int_equal(w->fake.makes, 2);
	report_erased(w);
	assert_int_equal(count_rows(w), 1);
}

static void nothing_is_prepared_beside_default(void **state)
{
	struct world *w = *state;
	struct sandbox_options options = make_options();
	struct sandbox *made;
	struct error err;

	prepare(w);
	options.name = "default";
	CHECK_OK(sandbox_create(w->manager, &options, &made, &err), err);
	manager_prepare(w->manager, &options);
	assert_int_equal(w->fake.makes, 1);
}

static void stop_deletes_prepared_sandbox(void **state)
{
	struct world *w = *state;

	prepare(w);
	manager_stop(w->manager, stop_loop, w->loop);
	assert_int_equal(w->fake.kills, 1);
	report_ended(w, ENGINE_END_KILLED);
	report_erased(w);
	assert_int_equal(w->fake.erases, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_WORLD(create_takes_prepared_sandbox),
		IN_WORLD(ready_prepared_sandbox_is_awake_at_once),
		IN_WORLD(other_sandbox_deletes_prepared_one),
		IN_WORLD(waking_deletes_prepared_sandbox),
		IN_WORLD(variables_need_another_sandbox),
		IN_WORLD(prepared_sandbox_that_ends_is_erased),
		IN_WORLD(nothing_is_prepared_beside_default),
		IN_WORLD(stop_deletes_prepared_sandbox),
	};

	(void)signal(SIGPIPE, SIG_IGN); /* as the server: an agent may close its end */
	return RUN_TESTS("prepared sandbox", tests);
}
