/* stack.h - everything below the tools put together: state directory, spawner, engine, manager.
 *
 *   stack_prepare  before there is a loop, a socket or a thread: forks the spawner
 *   stack_new      the rest; `ready` tells when sandboxes can be made, or why they never will
 *   stack_end      nothing is awake any more -> stack_free */
#pragma once
#include <limits.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "sandbox/registry/registry.h"

struct cdi;
struct error;
struct loop;
struct manager;
struct native_report;
struct options;
struct stack;

enum { STACK_MOUNTS_MAX = SPEC_MOUNTS_MAX };

struct stack_base {
	char state[PATH_MAX];
	char database[PATH_MAX];
	char instance[INSTANCE_LEN + 1];
	int servers, lock; /* see sandbox/instances.h */
	pid_t spawner;
	int socket;
	char *require;                   /* layers without which it is never ready; or NULL */
	char *targets[STACK_MOUNTS_MAX]; /* where sandboxes see the directories that are offered */
	size_t target_count;
	struct cdi *gpus; /* what could be offered; or NULL */
};

MUST_CHECK int stack_prepare(const struct options *options, struct stack_base *ret,
                             struct error *err);
/* Nothing comes of it: the spawner ends. */
void stack_abandon(struct stack_base *base);

typedef void stack_ready_fn(void *ctx, const struct error *why);
/* Takes over the base, also when it fails. */
MUST_CHECK int stack_new(struct loop *loop, struct stack_base *base, const struct options *options,
                         stack_ready_fn *ready, void *ctx, struct stack **ret, struct error *err);
void stack_end(struct stack *stack, void (*done)(void *ctx), void *ctx);
/* Waits for the spawner: when this returns nothing of us is left. */
struct stack *stack_free(struct stack *stack);
DEFINE_CLEANUP(stack)

struct manager *stack_manager(struct stack *stack);
const struct native_report *stack_report(const struct stack *stack); /* once it is ready */

/* Calls fn whenever something ended that was run in a sandbox. Before any is used. */
void stack_when_ran(struct stack *stack, void (*fn)(void *ctx, const struct sandbox_row *row),
                    void *ctx);
/* Calls fn when the process that makes sandboxes is gone: nothing comes of anything any more. */
void stack_when_lost(struct stack *stack, void (*fn)(void *ctx, const struct error *why),
                     void *ctx);

/* Devices by a wish: none, auto, a number, a name. */
MUST_CHECK int stack_choose_gpu(const struct stack *stack, const char *wish, uint64_t *ret,
                                struct error *err);
/* What a sandbox gets unless somebody says otherwise. */
MUST_CHECK int stack_spec(const struct stack *stack, const struct options *options,
                          struct spec *ret, struct error *err);
/* The state directory that was asked for, or the usual one: an absolute path. It need not exist. */
MUST_CHECK int stack_find_state(const struct options *options, char out[PATH_MAX],
                                struct error *err);
