/* run_loop.h - runs an event loop in a test for a while, with a watchdog against loops that
 * hang. */
#pragma once
#include <stdint.h>

struct loop;

/* Ends the test program with a message if watchdog_stop() is not called within two minutes. */
void watchdog_start(void);
void watchdog_stop(void);

/* Runs the loop for `ms` milliseconds, or until a callback stops it. */
void run_loop_for(struct loop *loop, uint64_t ms);
