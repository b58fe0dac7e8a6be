#include <signal.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"

/* Records events as letters, and stops the loop after `wanted` of them. */
struct record {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_signal *signal;
	char text[32];
	size_t wanted;
};

static struct record record;

static void record_event(char what)
{
	size_t len = strlen(record.text);

	assert_true(len + 1 < sizeof record.text);
	record.text[len] = what;
	if (len + 1 == record.wanted)
		loop_stop(record.loop);
}

/* The context of record_letter(). */
#define LETTER(c) (&(char){ (c) })

static void record_letter(void *ctx)
{
	record_event(*(const char *)ctx);
}

static int open_loop(void **state)
{
	struct error err;

	watchdog_start();
	record = (struct record){ 0 };
	return loop_new(&record.loop, &err);
}

static int close_loop(void **state)
{
	watchdog_stop();
	(void)loop_timer_free(record.timer);
	(void)loop_signal_free(record.signal);
	(void)loop_free(record.loop);
	return 0;
}

static void run_until(size_t wanted)
{
	record.wanted = wanted;
	loop_run(record.loop);
}

static void timers_fire_in_order_of_their_deadlines(void **state)
{
	static char names[] = "abc";
	struct loop_timer *timers[3];
	uint64_t start = clock_now_ms();

	for (size_t i = 0; i < 3; i++)
		timers[i] = loop_timer_new(record.loop, record_letter, &names[i]);
	/* Far apart: a busy machine may interrupt this process between two starts. */
	loop_timer_start(timers[0], 1000);
	loop_timer_start(timers[1], 500);
	loop_timer_start(timers[2], 0);
	run_until(3);
	assert_string_equal(record.text, "cba");
	/* libevent reads a coarse clock, which is some ticks late on a busy machine. */
	assert_true(clock_now_ms() - start >= 900);
	for (size_t i = 0; i < 3; i++)
		assert_null(loop_timer_free(timers[i]));
}

static void stopped_timer_does_not_fire(void **state)
{
	struct loop_timer *stopped = loop_timer_new(record.loop, record_letter, LETTER('s'));
	struct loop_timer *never = loop_timer_new(record.loop, record_letter, LETTER('n'));
	struct loop_timer *last = loop_timer_new(record.loop, record_letter, LETTER('l'));

	loop_timer_start(stopped, 1);
	loop_timer_stop(stopped);
	loop_timer_stop(never);
	loop_timer_start(last, 20);
	run_until(1);
	assert_string_equal(record.text, "l");
	(void)loop_timer_free(stopped);
	(void)loop_timer_free(never);
	(void)loop_timer_free(last);
}

static void second_start_replaces_the_deadline(void **state)
{
	struct loop_timer *moved = loop_timer_new(record.loop, record_letter, LETTER('m'));
	struct loop_timer *fixed = loop_timer_new(record.loop, record_letter, LETTER('f'));

	loop_timer_start(moved, 5);
	loop_timer_start(fixed, 20);
	loop_timer_start(moved, 40);
	run_until(2);
	assert_string_equal(record.text, "fm"); /* and not "mf", nor m twice */
	(void)loop_timer_free(moved);
	(void)loop_timer_free(fixed);
}

static void restart_timer(void *ctx)
{
	(void)ctx;
	loop_timer_start(record.timer, 1);
	record_event('t');
}

static void timer_fires_once_and_may_restart_itself(void **state)
{
	struct loop_timer *once = loop_timer_new(record.loop, record_letter, LETTER('o'));

	record.timer = loop_timer_new(record.loop, restart_timer, NULL);
	loop_timer_start(once, 0);
	loop_timer_start(record.timer, 1);
	run_until(5);
	assert_string_equal(record.text, "otttt");
	(void)loop_timer_free(once);
}

static void free_own_timer(void *ctx)
{
	(void)ctx;
	record.timer = loop_timer_free(record.timer);
	record_event('f');
}

static void timer_may_be_freed_in_its_callback(void **state)
{
	record.timer = loop_timer_new(record.loop, free_own_timer, NULL);
	loop_timer_start(record.timer, 0);
	run_until(1);
	assert_string_equal(record.text, "f");
	assert_null(record.timer);
}

static void defer_letter(void *ctx)
{
	loop_defer(record.loop, record_letter, ctx);
	record_event('1');
}

static void deferred_calls_run_in_order_after_the_callback(void **state)
{
	struct loop_timer *timer = loop_timer_new(record.loop, defer_letter, LETTER('d'));

	loop_defer(record.loop, record_letter, LETTER('a'));
	loop_defer(record.loop, record_letter, LETTER('b'));
	assert_string_equal(record.text, ""); /* not at once */
	run_until(2);
	loop_timer_start(timer, 0);
	run_until(4);
	assert_string_equal(record.text, "ab1d");
	(void)loop_timer_free(timer);
}

static void defer_itself(void *ctx)
{
	if (strchr(record.text, 't') == NULL) /* until the timer had its turn */
		loop_defer(record.loop, defer_itself, ctx);
	if (strlen(record.text) < 2)
		record_event('s');
}

/* A call that defers itself again and again runs once per iteration, so the timer fires. */
static void call_deferred_by_a_deferred_call_waits_for_the_next_iteration(void **state)
{
	record.timer = loop_timer_new(record.loop, record_letter, LETTER('t'));
	loop_timer_start(record.timer, 5);
	loop_defer(record.loop, defer_itself, NULL);
	run_until(3);
	assert_string_equal(record.text, "sst");
}

static void free_and_count(void *ctx)
{
	free(ctx);
	record.wanted++;
}

static void defer_once_more(void *ctx)
{
	loop_defer(record.loop, free_and_count, ctx);
}

static void freed_loop_runs_deferred_calls(void **state)
{
	loop_defer(record.loop, free_and_count, malloc(1));
	loop_defer(record.loop, defer_once_more, malloc(1));
	record.loop = loop_free(record.loop);
	assert_null(record.loop);
	assert_int_equal(record.wanted, 2);
}

static void raise_signal(void *ctx)
{
	(void)ctx;
	assert_int_equal(raise(SIGUSR1), 0);
}

static void signal_calls_its_callback(void **state)
{
	struct loop_timer *timer = loop_timer_new(record.loop, raise_signal, NULL);

	record.signal = loop_signal_new(record.loop, SIGUSR1, record_letter, LETTER('u'));
	loop_timer_start(timer, 0);
	run_until(1);
	assert_string_equal(record.text, "u");
	loop_timer_start(timer, 0);
	run_until(2); /* again: it stays registered */
	assert_string_equal(record.text, "uu");
	(void)loop_timer_free(timer);
}

static void freed_signal_restores_the_old_action(void **state)
{
	struct sigaction now;

	(void)signal(SIGUSR2, SIG_IGN);
	record.signal = loop_signal_new(record.loop, SIGUSR2, record_letter, LETTER('u'));
	assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
	assert_true(now.sa_handler != SIG_IGN);
	record.signal = loop_signal_free(record.signal);
	assert_null(record.signal);
	assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_IGN);
	(void)signal(SIGUSR2, SIG_DFL);
}

static void stop_before_run_ends_the_run(void **state)
{
	loop_stop(record.loop);
	loop_run(record.loop);
	loop_defer(record.loop, record_letter, LETTER('a'));
	run_until(1);
	assert_string_equal(record.text, "a"); /* the stop is used up */
}

static void free_functions_accept_null(void **state)
{
	assert_null(loop_free(NULL));
	assert_null(loop_timer_free(NULL));
	assert_null(loop_signal_free(NULL));
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(timers_fire_in_order_of_their_deadlines),
		WITH_LOOP(stopped_timer_does_not_fire),
		WITH_LOOP(second_start_replaces_the_deadline),
		WITH_LOOP(timer_fires_once_and_may_restart_itself),
		WITH_LOOP(timer_may_be_freed_in_its_callback),
		WITH_LOOP(deferred_calls_run_in_order_after_the_callback),
		WITH_LOOP(call_deferred_by_a_deferred_call_waits_for_the_next_iteration),
		WITH_LOOP(freed_loop_runs_deferred_calls),
		WITH_LOOP(signal_calls_its_callback),
		WITH_LOOP(freed_signal_restores_the_old_action),
		WITH_LOOP(stop_before_run_ends_the_run),
		TEST(free_functions_accept_null),
	};

	return RUN_TESTS("loop/loop", tests);
}
