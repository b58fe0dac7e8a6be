#include "unit/loop/run_loop.h"

#include <signal.h>
#include <unistd.h>

#include "loop/loop.h"

enum { WATCHDOG_S = 120 };

static void on_alarm(int signo)
{
	static const char text[] = "Bail out! the loop did not end\n";

	(void)signo;
	_exit(write(STDOUT_FILENO, text, sizeof text - 1) < 0 ? 2 : 1);
}

void watchdog_start(void)
{
	(void)signal(SIGALRM, on_alarm);
	(void)alarm(WATCHDOG_S);
}

void watchdog_stop(void)
{
	(void)alarm(0);
}

static void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

void run_loop_for(struct loop *loop, uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(loop, stop_loop, loop);

	loop_timer_start(timer, ms);
	loop_run(loop);
	(void)loop_timer_free(timer);
}
