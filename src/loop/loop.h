/* loop.h - the one event loop everything runs on.
 *
 * This folder is the only one that includes libevent. Callbacks never block. The objects of
 * this folder may be freed from their own callbacks; any other object that is still on
 * the stack is unregistered now and freed in loop_defer(). One thread: nothing here is
 * safe from another or from a signal handler. */
#pragma once
#include <stdint.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct error;
struct loop;
struct loop_signal;
struct loop_timer;

typedef void loop_fn(void *ctx);

MUST_CHECK int loop_new(struct loop **ret, struct error *err);
struct loop *loop_free(struct loop *loop);
DEFINE_CLEANUP(loop)

void loop_run(struct loop *loop);  /* until loop_stop() */
void loop_stop(struct loop *loop); /* after the callbacks that are due now */

/* Calls fn once, after the running callback has returned. */
void loop_defer(struct loop *loop, loop_fn *fn, void *ctx);
/* Runs what is deferred, and what that defers, now: for whoever is about to free what the calls
 * are about. Not from within a callback. */
void loop_run_deferred(struct loop *loop);

/* One-shot; start again to repeat. Starting a running timer moves it. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *ctx) RETURNS_NONNULL;
void loop_timer_start(struct loop_timer *timer, uint64_t ms);
void loop_timer_stop(struct loop_timer *timer);
struct loop_timer *loop_timer_free(struct loop_timer *timer);

struct loop_signal *loop_signal_new(struct loop *loop, int signo, loop_fn *fn, void *ctx);
struct loop_signal *loop_signal_free(struct loop_signal *signal);
