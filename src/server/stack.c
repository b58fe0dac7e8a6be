#include "server/stack.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/native/native.h"
#include "loop/loop.h"
#include "sandbox/instances.h"
#include "sandbox/manager.h"
#include "server/options.h"

struct stack {
	struct stack_base base;
	struct engine *engine;
	struct manager *manager;
	struct native_report report;
	stack_ready_fn *ready;
	void *ctx;
};

static void free_base(struct stack_base *base)
{
	(void)waitpid(base->spawner, NULL, 0);
	instance_end(base->servers, base->instance);
	(void)close(base->lock);
	(void)close(base->servers);
	for (size_t i = 0; i < base->target_count; i++)
		free(base->targets[i]);
}

static void on_ready(void *ctx, const struct native_report *report, const struct error *why)
{
	struct stack *stack = ctx;

	stack->report = *report;
	if (why == NULL)
		manager_sweep(stack->manager);
	stack->ready(stack->ctx, why);
}

int stack_new(struct loop *loop, struct stack_base *base, stack_ready_fn *ready, void *ctx,
              struct stack **ret, struct error *err)
{
	struct stack *stack = mem_new(sizeof *stack);
	struct manager_config config = {
		.database = stack->base.database,
		.instance = stack->base.instance,
		.servers = base->servers,
		.targets = (const char *const *)stack->base.targets,
		.target_count = base->target_count,
	};

	stack->base = *base;
	stack->ready = ready;
	stack->ctx = ctx;
	stack->engine = native_new(loop, base->socket, on_ready, stack);
	config.engine = stack->engine;
	if (manager_new(loop, &config, &stack->manager, err) < 0) {
		(void)stack_free(stack);
		return -1;
	}
	*ret = stack;
	return 0;
}

void stack_end(struct stack *stack, void (*done)(void *ctx), void *ctx)
{
	manager_end(stack->manager, done, ctx);
}

struct stack *stack_free(struct stack *stack)
{
	if (stack == NULL)
		return NULL;
	(void)manager_free(stack->manager);
	stack->engine->calls->free(stack->engine);
	free_base(&stack->base);
	free(stack);
	return NULL;
}

struct manager *stack_manager(struct stack *stack)
{
	return stack->manager;
}

const struct native_report *stack_report(const struct stack *stack)
{
	return &stack->report;
}

struct spec stack_spec(const struct options *options)
{
	struct spec spec = spec_default();

	spec.limits = options->limits;
	spec.calls = options->calls;
	return spec;
}
