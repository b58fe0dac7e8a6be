/* interpreter_pool.c - the spare interpreters of a sandbox (see internal.h). */
#include "sandbox/interpreter/interpreter_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "kernels/kernels.h"
#include "loop/loop.h"
#include "sandbox/interpreter/internal.h"
#include "sandbox/sandbox.h"

enum {
	/* An unused spare is killed after this time. A spare that serves a single run (Node) costs
	 * as much to replace as it saves, so it is killed earlier. */
	EXPIRY_MS = 300000,
	SINGLE_RUN_EXPIRY_MS = 60000,
	STARTING_MAX = 2, /* spares that start at the same time */
	SPARES_MAX = 32,  /* of a sandbox, borrowed ones included */
	WAIT_MS = 10,     /* how often waiting runs look for a spare */
};

struct spare {
	struct list node;
	struct interpreter_pool *pool;
	const struct kernel_program *program;
	char *path;
	struct interpreter *interpreter;
	bool is_borrowed;
	bool has_own_env;          /* started with the environment of one run */
	struct loop_timer *expiry; /* kills it after a time without use */
};

static const struct interpreter_owner_events spare_events;

/* --- one spare -------------------------------------------------------------------------------- */

static void free_spare(struct spare *spare)
{
	list_remove(&spare->node);
	(void)loop_timer_free(spare->expiry);
	free(spare->path);
	free(spare);
}

static void kill_spare(struct spare *spare)
{
	interpreter_kill(spare->interpreter);
	free_spare(spare);
}

static void on_expiry(void *ctx)
{
	kill_spare(ctx);
}

static void start_expiry(struct spare *spare)
{
	loop_timer_start(spare->expiry,
	                 spare->program->is_reusable ? EXPIRY_MS : SINGLE_RUN_EXPIRY_MS);
}

/* A spare whose execution has just ended is free as well, though its idle event, which clears
 * is_borrowed, comes with the next turn of the loop. */
static bool is_free(const struct spare *spare)
{
	if (interpreter_has_exited(spare->interpreter))
		return false;
	return !spare->is_borrowed || (interpreter_is_idle(spare->interpreter) &&
	                               interpreter_is_reusable(spare->interpreter));
}

static struct spare *find_free_spare(struct interpreter_pool *pool,
                                     const struct kernel_program *program, const char *path,
                                     const struct spare *except)
{
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it does not follow the links */
	LIST_EACH (node, &pool->spares) {
		struct spare *spare = container_of(node, struct spare, node);

		if (spare != except && spare->program == program &&
		    strcmp(spare->path, path) == 0 && is_free(spare) && !spare->has_own_env)
			return spare;
	}
	return NULL;
}

/* Kills spares of the same program with another path: a guess that was wrong, or a program that is
 * no longer the first along PATH. */
static void kill_outdated_spares(struct interpreter_pool *pool,
                                 const struct kernel_program *program, const char *path)
{
	for (struct list *node = pool->spares.next, *next; node != &pool->spares; node = next) {
		struct spare *spare = container_of(node, struct spare, node);

		next = node->next;
		if (spare->program == program && !spare->is_borrowed &&
		    strcmp(spare->path, path) != 0)
			kill_spare(spare);
	}
}

static int start_spare(struct interpreter_pool *pool, const struct kernel_program *program,
                       const char *path, const char *const *env, struct spare **ret,
                       struct error *err)
{
	const struct interpreter_options options = {
		.program = program, .path = path, .env = env, .former = pool->former
	};
	struct spare *spare = mem_new(sizeof *spare);

	kill_outdated_spares(pool, program, path);
	spare->pool = pool;
	spare->program = program;
	spare->path = mem_dup(path);
	spare->has_own_env = env != NULL;
	spare->expiry = loop_timer_new(sandbox_loop(pool->sandbox), on_expiry, spare);
	if (interpreter_start(pool->sandbox, &options, &spare_events, spare, &spare->interpreter,
	                      err) < 0) {
		free_spare(spare);
		return -1;
	}
	list_add(&pool->spares, &spare->node);
	*ret = spare;
	return 0;
}

/* A failure is found again by the run that needs the spare. */
void interpreter_pool_add_spare(struct interpreter_pool *pool, const struct kernel_program *program,
                                const char *path)
{
	struct spare *spare;
	struct error err;

	if (sandbox_channel(pool->sandbox) != NULL &&
	    find_free_spare(pool, program, path, NULL) == NULL &&
	    start_spare(pool, program, path, NULL, &spare, &err) == 0)
		start_expiry(spare);
}

/* A borrowed spare has come back, or a new one is ready. One free spare of a kind is enough. */
static void on_idle(void *ctx)
{
	struct spare *spare = ctx;
	bool is_surplus = find_free_spare(spare->pool, spare->program, spare->path, spare) != NULL;

	spare->is_borrowed = false;
	if (!list_is_empty(&spare->pool->waiters))
		loop_timer_start(spare->pool->wait_timer, 0);
	if (spare->has_own_env || !interpreter_is_reusable(spare->interpreter) || is_surplus)
		kill_spare(spare);
	else
		start_expiry(spare);
}

/* Frees a spare whose interpreter is gone. An interpreter that ends with its run is replaced at
 * once, so that the next run finds one; without its path, which was looked for along PATH, when the
 * languages are known (processes_start_spare()). */
static void remove_spare(struct spare *spare)
{
	struct interpreter_pool *pool = spare->pool;
	const struct kernel_program *program = spare->program;
	bool is_used_up = !program->is_reusable && spare->is_borrowed && !spare->has_own_env &&
	                  spare->path[0] == '/';
	char *path = TAKE_PTR(spare->path);

	free_spare(spare);
	if (is_used_up)
		interpreter_pool_add_spare(
		        pool, program->waiting != NULL ? program->waiting : program, path);
	free(path);
}

static void on_gone(void *ctx, const char *why)
{
	(void)why;
	remove_spare(ctx);
}

static void on_names(void *ctx, struct view names)
{
	const struct spare *spare = ctx;
	char *former = spare->pool->former;

	memcpy(former, names.ptr, names.len);
	former[names.len] = '\0';
}

static const struct interpreter_owner_events spare_events = { on_idle, on_gone, on_names };

/* --- borrowing -------------------------------------------------------------------------------- */

int pool_borrow(struct interpreter_pool *pool, const struct kernel_program *program,
                const char *path, const char *const *env, struct interpreter **ret,
                struct error *err)
{
	struct spare *spare = env == NULL ? find_free_spare(pool, program, path, NULL) : NULL;

	if (spare == NULL && program->once != NULL)
		program = program->once;
	if (spare == NULL && start_spare(pool, program, path, env, &spare, err) < 0)
		return -1;
	spare->is_borrowed = true;
	loop_timer_stop(spare->expiry);
	*ret = spare->interpreter;
	return 0;
}

bool interpreter_pool_has_spare(struct interpreter_pool *pool, const struct kernel_program *program)
{
	LIST_EACH (node, &pool->spares)
		if (container_of(node, struct spare, node)->program == program)
			return true;
	return false;
}

bool pool_has_capacity(struct interpreter_pool *pool, const struct kernel_program *program,
                       const char *path)
{
	unsigned starting = 0, all = 0;

	if (find_free_spare(pool, program, path, NULL) != NULL)
		return true;
	LIST_EACH (node, &pool->spares) {
		all++;
		if (!interpreter_is_started(container_of(node, struct spare, node)->interpreter))
			starting++;
	}
	return starting < STARTING_MAX && all < SPARES_MAX;
}

/* Gives every waiting run, in the order of arrival, a chance to borrow; those that find no capacity
 * wait again. */
static void wake_waiters(void *ctx)
{
	struct interpreter_pool *pool = ctx;
	struct list waiting;

	list_init(&waiting);
	while (!list_is_empty(&pool->waiters)) {
		struct list *first = pool->waiters.next;

		list_remove(first);
		list_add(&waiting, first);
	}
	while (!list_is_empty(&waiting)) {
		struct pool_waiter *waiter = container_of(waiting.next, struct pool_waiter, node);

		list_remove(&waiter->node);
		waiter->fn(waiter->ctx);
	}
	if (!list_is_empty(&pool->waiters))
		loop_timer_start(pool->wait_timer, WAIT_MS);
}

void pool_wait(struct interpreter_pool *pool, struct pool_waiter *waiter)
{
	list_add(&pool->waiters, &waiter->node);
	loop_timer_start(pool->wait_timer, WAIT_MS);
}

void pool_kill(struct interpreter_pool *pool, struct interpreter *interpreter)
{
	LIST_EACH (node, &pool->spares) {
		struct spare *spare = container_of(node, struct spare, node);

		if (spare->interpreter != interpreter)
			continue;
		interpreter_kill(interpreter);
		remove_spare(spare);
		return;
	}
}

/* --- the pool --------------------------------------------------------------------------------- */

static void kill_all_spares(struct interpreter_pool *pool)
{
	while (!list_is_empty(&pool->spares))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		kill_spare(container_of(pool->spares.next, struct spare, node));
}

/* A borrowed spare is handled like one with an environment of its own: it is killed when its run
 * has ended, and no other run gets it. */
void interpreter_pool_renew(struct interpreter_pool *pool)
{
	for (struct list *node = pool->spares.next, *next; node != &pool->spares; node = next) {
		struct spare *spare = container_of(node, struct spare, node);

		next = node->next;
		if (spare->is_borrowed)
			spare->has_own_env = true;
		else
			kill_spare(spare);
	}
}

struct interpreter_pool *interpreter_pool_new(struct sandbox *sandbox)
{
	struct interpreter_pool *pool = mem_new(sizeof *pool);

	pool->sandbox = sandbox;
	list_init(&pool->spares);
	list_init(&pool->sessions);
	list_init(&pool->waiters);
	pool->wait_timer = loop_timer_new(sandbox_loop(sandbox), wake_waiters, pool);
	return pool;
}

void interpreter_pool_set_loss_reason(struct interpreter_pool *pool, const char *why)
{
	pool->loss_reason = why;
}

void interpreter_pool_stop(struct interpreter_pool *pool, const char *why)
{
	pool->loss_reason = NULL;
	kill_all_spares(pool);
	LIST_EACH (node, &pool->sessions) {
		struct session *session = container_of(node, struct session, node);

		if (session->interpreter != NULL)
			(void)session_kill(session, why);
	}
}

void interpreter_pool_free(struct interpreter_pool *pool)
{
	if (pool == NULL)
		return;
	kill_all_spares(pool);
	(void)loop_timer_free(pool->wait_timer);
	while (!list_is_empty(&pool->sessions))
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not follow the links */
		session_free(container_of(pool->sessions.next, struct session, node));
	free(pool);
}
