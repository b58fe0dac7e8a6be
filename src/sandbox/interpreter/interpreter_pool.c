#include "sandbox/interpreter/interpreter_pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/interpreter.h"
#include "sandbox/sandbox.h"

enum {
	STAYS_MS = 300000, /* without anybody who needs it */
	STAYS_ONCE_MS = 60000,
	STARTING_MAX = 2, /* at a time */
	SPARES_MAX = 32,  /* of a sandbox, borrowed ones too */
	LOOK_MS = 10,
};

struct spare {
	struct list node;
	struct kernels *kernels;
	const struct kernel_program *program;
	char *path;
	struct interpreter *interpreter;
	bool is_borrowed;
	bool is_single;            /* it has an environment of its own */
	struct loop_timer *expiry; /* nobody needs it */
};

static const struct interpreter_owner owner;

/* --- spares ----------------------------------------------------------------------------------- */

static void release(struct spare *spare)
{
	list_remove(&spare->node);
	(void)loop_timer_free(spare->expiry);
	free(spare->path);
	free(spare);
}

static void drop(struct spare *spare)
{
	interpreter_drop(spare->interpreter);
	release(spare);
}

static void on_expiry(void *ctx)
{
	drop(ctx);
}

static void wait_for_use(struct spare *spare)
{
	loop_timer_start(spare->expiry, spare->program->is_reusable ? STAYS_MS : STAYS_ONCE_MS);
}

/* One whose run has just ended is, though on_idle() is still to come. */
static bool is_free(const struct spare *spare)
{
	return !spare->is_borrowed || (interpreter_is_idle(spare->interpreter) &&
	                               interpreter_is_sound(spare->interpreter));
}

static struct spare *find_waiting(struct kernels *kernels, const struct kernel_program *program,
                                  const char *path, const struct spare *but)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it does not follow the links */
	LIST_EACH (node, &kernels->spares) {
		struct spare *spare = container_of(node, struct spare, node);

		if (spare != but && spare->program == program && strcmp(spare->path, path) == 0 &&
		    is_free(spare) && !spare->is_single)
			return spare;
	}
	return NULL;
}

static int start(struct kernels *kernels, const struct kernel_program *program, const char *path,
                 const char *const *env, struct spare **ret, struct error *err)
{
	const struct interpreter_wish wish = { .program = program, .path = path, .env = env };
	struct spare *spare = mem_new(sizeof *spare);

	spare->kernels = kernels;
	spare->program = program;
	spare->path = mem_dup(path);
	spare->is_single = env != NULL;
	spare->expiry = loop_timer_new(sandbox_loop(kernels->sandbox), on_expiry, spare);
	if (interpreter_start(kernels->sandbox, &wish, &owner, spare, &spare->interpreter, err) <
	    0) {
		release(spare);
		return -1;
	}
	list_add(&kernels->spares, &spare->node);
	*ret = spare;
	return 0;
}

/* For one that is gone with its run. Whether it works out is seen when somebody needs it. */
static void replace(struct kernels *kernels, const struct kernel_program *program, const char *path)
{
	struct spare *spare;
	struct error err;

	if (sandbox_channel(kernels->sandbox) != NULL &&
	    find_waiting(kernels, program, path, NULL) == NULL &&
	    start(kernels, program, path, NULL, &spare, &err) == 0)
		wait_for_use(spare);
}

/* It was lent, and has come back; or it was made ahead. */
static void on_idle(void *ctx)
{
	struct spare *spare = ctx;
	bool is_surplus = find_waiting(spare->kernels, spare->program, spare->path, spare) != NULL;

	spare->is_borrowed = false;
	if (!list_is_empty(&spare->kernels->turns))
		loop_timer_start(spare->kernels->look, 0);
	if (spare->is_single || !interpreter_is_sound(spare->interpreter) || is_surplus)
		drop(spare);
	else
		wait_for_use(spare);
}

static void end_of(struct spare *spare)
{
	struct kernels *kernels = spare->kernels;
	const struct kernel_program *program = spare->program;
	bool is_used_up = !program->is_reusable && spare->is_borrowed && !spare->is_single;
	char *path = TAKE_PTR(spare->path);

	release(spare);
	if (is_used_up)
		replace(kernels, program, path);
	free(path);
}

static void on_gone(void *ctx, const char *why)
{
	(void)why;
	end_of(ctx);
}

static const struct interpreter_owner owner = { on_idle, on_gone };

int kernels_borrow(struct kernels *kernels, const struct kernel_program *program, const char *path,
                   const char *const *env, struct interpreter **ret, struct error *err)
{
	struct spare *spare = env == NULL ? find_waiting(kernels, program, path, NULL) : NULL;

	if (spare == NULL && start(kernels, program, path, env, &spare, err) < 0)
		return -1;
	spare->is_borrowed = true;
	loop_timer_stop(spare->expiry);
	*ret = spare->interpreter;
	return 0;
}

bool kernels_have_one(struct kernels *kernels, const struct kernel_program *program,
                      const char *path)
{
	unsigned starting = 0, all = 0;

	if (find_waiting(kernels, program, path, NULL) != NULL)
		return true;
	LIST_EACH (node, &kernels->spares) {
		all++;
		if (!interpreter_is_up(container_of(node, struct spare, node)->interpreter))
			starting++;
	}
	return starting < STARTING_MAX && all < SPARES_MAX;
}

/* Whoever is first takes one, or waits again. */
static void look(void *ctx)
{
	struct kernels *kernels = ctx;
	struct list waiting;

	list_init(&waiting);
	while (!list_is_empty(&kernels->turns)) {
		struct list *first = kernels->turns.next;

		list_remove(first);
		list_add(&waiting, first);
	}
	while (!list_is_empty(&waiting)) {
		struct kernels_turn *turn = container_of(waiting.next, struct kernels_turn, node);

		list_remove(&turn->node);
		turn->begin(turn->ctx);
	}
	if (!list_is_empty(&kernels->turns))
		loop_timer_start(kernels->look, LOOK_MS);
}

void kernels_wait(struct kernels *kernels, struct kernels_turn *turn)
{
	list_add(&kernels->turns, &turn->node);
	loop_timer_start(kernels->look, LOOK_MS);
}

void kernels_discard(struct kernels *kernels, struct interpreter *interpreter)
{
	LIST_EACH (node, &kernels->spares) {
		struct spare *spare = container_of(node, struct spare, node);

		if (spare->interpreter != interpreter)
			continue;
		interpreter_drop(interpreter);
		end_of(spare);
		return;
	}
}

/* --- all of them ------------------------------------------------------------------------------ */

static void drop_spares(struct kernels *kernels)
{
	while (!list_is_empty(&kernels->spares))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		drop(container_of(kernels->spares.next, struct spare, node));
}

struct kernels *kernels_new(struct sandbox *sandbox)
{
	struct kernels *kernels = mem_new(sizeof *kernels);

	kernels->sandbox = sandbox;
	list_init(&kernels->spares);
	list_init(&kernels->sessions);
	list_init(&kernels->turns);
	kernels->look = loop_timer_new(sandbox_loop(sandbox), look, kernels);
	return kernels;
}

void kernels_down(struct kernels *kernels, const char *why)
{
	drop_spares(kernels);
	LIST_EACH (node, &kernels->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (session->interpreter != NULL)
			(void)session_lose(session, why);
	}
}

void kernels_free(struct kernels *kernels)
{
	if (kernels == NULL)
		return;
	drop_spares(kernels);
	(void)loop_timer_free(kernels->look);
	while (!list_is_empty(&kernels->sessions))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		session_free(container_of(kernels->sessions.next, struct session, node));
	free(kernels);
}
