#include <signal.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "unit/test.h"

/* What happened, in order; stops the loop when it is as long as wanted. */
struct record {
	struct loop *loop;
	struct loop_timer *timer;
	struct loop_signal *signal;
	char text[32];
	size_t wanted;
};

static struct record record;

static void note(char what)
{
	size_t len = strlen(record.text);

	assert_true(len + 1 < sizeof record.text);
	record.text[len] = what;
	if (len + 1 == record.wanted)
		loop_stop(record.loop);
}

/* The context of note_letter(). */
#define LETTER(c) (&(char){ (c) })

static void note_letter(void *ctx)
{
	note(*(const char *)ctx);
}

static void too_late(int signo)
{
	static const char text[] = "Bail out! the loop did not end\n";

	(void)signo;
	_exit(write(STDOUT_FILENO, text, sizeof text - 1) < 0 ? 2 : 1);
}

static int open_loop(void **state)
{
	struct error err;

	(void)state;
	(void)signal(SIGALRM, too_late);
	(void)alarm(30);
	record = (struct record){ 0 };
	return loop_new(&record.loop, &err);
}

static int close_loop(void **state)
{
	(void)state;
	(void)alarm(0);
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

static void timers_fire_in_the_order_of_their_time(void **state)
{
	static char names[] = "abc";
	struct loop_timer *timers[3];
	uint64_t start = clock_now_ms();

	(void)state;
	for (size_t i = 0; i < 3; i++)
		timers[i] = loop_timer_new(record.loop, note_letter, &names[i]);
	loop_timer_start(timers[0], 40);
	loop_timer_start(timers[1], 20);
	loop_timer_start(timers[2], 0);
	run_until(3);
	assert_string_equal(record.text, "cba");
	assert_true(clock_now_ms() - start >= 39);
	for (size_t i = 0; i < 3; i++)
		assert_null(loop_timer_free(timers[i]));
}

static void a_stopped_timer_does_not_fire(void **state)
{
	struct loop_timer *stopped = loop_timer_new(record.loop, note_letter, LETTER('s'));
	struct loop_timer *never = loop_timer_new(record.loop, note_letter, LETTER('n'));
	struct loop_timer *last = loop_timer_new(record.loop, note_letter, LETTER('l'));

	(void)state;
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

static void starting_a_running_timer_moves_it(void **state)
{
	struct loop_timer *moved = loop_timer_new(record.loop, note_letter, LETTER('m'));
	struct loop_timer *fixed = loop_timer_new(record.loop, note_letter, LETTER('f'));

	(void)state;
	loop_timer_start(moved, 5);
	loop_timer_start(fixed, 20);
	loop_timer_start(moved, 40);
	run_until(2);
	assert_string_equal(record.text, "fm"); /* and not "mf", nor m twice */
	(void)loop_timer_free(moved);
	(void)loop_timer_free(fixed);
}

static void tick(void *ctx)
{
	(void)ctx;
	loop_timer_start(record.timer, 1);
	note('t');
}

static void a_timer_is_one_shot_and_may_start_itself_again(void **state)
{
	struct loop_timer *once = loop_timer_new(record.loop, note_letter, LETTER('o'));

	(void)state;
	record.timer = loop_timer_new(record.loop, tick, NULL);
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
	note('f');
}

static void a_timer_may_be_freed_in_its_own_callback(void **state)
{
	(void)state;
	record.timer = loop_timer_new(record.loop, free_own_timer, NULL);
	loop_timer_start(record.timer, 0);
	run_until(1);
	assert_string_equal(record.text, "f");
	assert_null(record.timer);
}

static void defer_letter(void *ctx)
{
	loop_defer(record.loop, note_letter, ctx);
	note('1');
}

static void deferred_calls_run_after_the_callback_in_order(void **state)
{
	struct loop_timer *timer = loop_timer_new(record.loop, defer_letter, LETTER('d'));

	(void)state;
	loop_defer(record.loop, note_letter, LETTER('a'));
	loop_defer(record.loop, note_letter, LETTER('b'));
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
		note('s');
}

/* A call that defers itself again and again gets one turn a round: timers go on. */
static void a_call_deferred_meanwhile_waits_for_the_next_round(void **state)
{
	(void)state;
	record.timer = loop_timer_new(record.loop, note_letter, LETTER('t'));
	loop_timer_start(record.timer, 5);
	loop_defer(record.loop, defer_itself, NULL);
	run_until(3);
	assert_string_equal(record.text, "sst");
}

static void free_and_note(void *ctx)
{
	free(ctx);
	record.wanted++;
}

static void defer_once_more(void *ctx)
{
	loop_defer(record.loop, free_and_note, ctx);
}

static void freeing_the_loop_runs_what_is_deferred(void **state)
{
	(void)state;
	loop_defer(record.loop, free_and_note, malloc(1));
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

static void a_signal_becomes_a_callback(void **state)
{
	struct loop_timer *timer = loop_timer_new(record.loop, raise_signal, NULL);

	(void)state;
	record.signal = loop_signal_new(record.loop, SIGUSR1, note_letter, LETTER('u'));
	loop_timer_start(timer, 0);
	run_until(1);
	assert_string_equal(record.text, "u");
	loop_timer_start(timer, 0);
	run_until(2); /* again: it stays registered */
	assert_string_equal(record.text, "uu");
	(void)loop_timer_free(timer);
}

static void freeing_a_signal_puts_its_old_action_back(void **state)
{
	struct sigaction now;

	(void)state;
	(void)signal(SIGUSR2, SIG_IGN);
	record.signal = loop_signal_new(record.loop, SIGUSR2, note_letter, LETTER('u'));
	assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
	assert_true(now.sa_handler != SIG_IGN);
	record.signal = loop_signal_free(record.signal);
	assert_null(record.signal);
	assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
	assert_true(now.sa_handler == SIG_IGN);
	(void)signal(SIGUSR2, SIG_DFL);
}

static void stop_before_the_run_ends_it_too(void **state)
{
	(void)state;
	loop_stop(record.loop);
	loop_run(record.loop);
	loop_defer(record.loop, note_letter, LETTER('a'));
	run_until(1);
	assert_string_equal(record.text, "a"); /* the stop is used up */
}

static void nothing_is_freed_without_complaint(void **state)
{
	(void)state;
	assert_null(loop_free(NULL));
	assert_null(loop_timer_free(NULL));
	assert_null(loop_signal_free(NULL));
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_loop, close_loop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(timers_fire_in_the_order_of_their_time),
		WITH_LOOP(a_stopped_timer_does_not_fire),
		WITH_LOOP(starting_a_running_timer_moves_it),
		WITH_LOOP(a_timer_is_one_shot_and_may_start_itself_again),
		WITH_LOOP(a_timer_may_be_freed_in_its_own_callback),
		WITH_LOOP(deferred_calls_run_after_the_callback_in_order),
		WITH_LOOP(a_call_deferred_meanwhile_waits_for_the_next_round),
		WITH_LOOP(freeing_the_loop_runs_what_is_deferred),
		WITH_LOOP(a_signal_becomes_a_callback),
		WITH_LOOP(freeing_a_signal_puts_its_old_action_back),
		WITH_LOOP(stop_before_the_run_ends_it_too),
		TEST(nothing_is_freed_without_complaint),
	};

	return RUN_TESTS("loop/loop", tests);
}
