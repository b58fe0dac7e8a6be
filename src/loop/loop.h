/* loop.h - the event loop of the process, with timers and signals.
 *
 * This folder is the only one that includes libevent. Callbacks must not block. The objects of
 * this folder (timer, signal, input, output, socket, watch) may be freed from their own callbacks.
 * Any other object whose functions may still be on the stack is freed with loop_defer(). There is
 * one thread: nothing here may be called from another thread or from a signal handler.
 *
 * The caller frees every object before the loop. */
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
void loop_stop(struct loop *loop); /* returns from loop_run() after the callbacks that are due */

/* Calls fn once, from the loop, after the current callback has returned. */
void loop_defer(struct loop *loop, loop_fn *fn, void *ctx);
/* Runs all deferred calls now, and those they defer. A caller uses it before it frees objects that
 * deferred calls refer to. Must not be called from a callback. */
void loop_run_deferred(struct loop *loop);

/* A timer fires once per start. Starting a running timer replaces its deadline. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn *fn, void *ctx) RETURNS_NONNULL;
void loop_timer_start(struct loop_timer *timer, uint64_t ms);
void loop_timer_stop(struct loop_timer *timer);
struct loop_timer *loop_timer_free(struct loop_timer *timer);

struct loop_signal *loop_signal_new(struct loop *loop, int signo, loop_fn *fn, void *ctx);
struct loop_signal *loop_signal_free(struct loop_signal *signal);
