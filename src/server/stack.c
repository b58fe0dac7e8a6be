#include "server/stack.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/native/cdi/cdi.h"
#include "engine/native/native.h"
#include "loop/loop.h"
#include "sandbox/manager.h"
#include "sandbox/registry/instances.h"
#include "server/doctor/doctor.h"
#include "server/gpu_env.h"
#include "server/options/options.h"

enum { JOURNAL = 256 * 1024, KEPT = 32 };

struct stack {
	struct stack_base base;
	struct engine *engine;
	struct manager *manager;
	struct native_report report;
	stack_ready_fn *ready;
	void *ctx;
	void (*lost)(void *ctx, const struct error *why);
	void *lost_ctx;
	void (*ran)(void *ctx, const struct sandbox_row *row);
	void *ran_ctx;
};

static void free_base(struct stack_base *base)
{
	(void)waitpid(base->spawner, NULL, 0);
	instance_end(base->servers, base->instance);
	(void)close(base->lock);
	(void)close(base->servers);
	free(base->require);
	for (size_t i = 0; i < base->target_count; i++)
		free(base->targets[i]);
	(void)cdi_free(base->gpus);
}

void stack_abandon(struct stack_base *base)
{
	(void)close(base->socket);
	free_base(base);
}

static char **env_of(void *ctx, const struct spec *spec)
{
	const struct stack *stack = ctx;

	return gpu_env(stack->base.gpus, spec->gpus);
}

static void on_ran(void *ctx, const struct sandbox_row *row)
{
	struct stack *stack = ctx;

	if (stack->ran != NULL)
		stack->ran(stack->ran_ctx, row);
}

static void on_lost(void *ctx, const struct error *why)
{
	struct stack *stack = ctx;

	if (stack->lost != NULL)
		stack->lost(stack->lost_ctx, why);
}

void stack_when_ran(struct stack *stack, void (*fn)(void *ctx, const struct sandbox_row *row),
                    void *ctx)
{
	stack->ran = fn;
	stack->ran_ctx = ctx;
}

void stack_when_lost(struct stack *stack, void (*fn)(void *ctx, const struct error *why), void *ctx)
{
	stack->lost = fn;
	stack->lost_ctx = ctx;
	native_when_lost(stack->engine, on_lost, stack);
}

static void on_ready(void *ctx, const struct native_report *report, const struct error *why)
{
	struct stack *stack = ctx;
	struct error err;

	stack->report = *report;
	if (why == NULL && doctor_require_engine(stack->base.require, report, &err) < 0)
		why = &err;
	if (why == NULL)
		manager_sweep(stack->manager);
	stack->ready(stack->ctx, why);
}

/* Pieces of an output in memory: a stream's beginning and its end, as much as an answer takes. */
static struct process_limits process_limits(const struct options *options)
{
	return (struct process_limits){
		.head = options->max_output / 2,
		.tail = options->max_output / 2,
		.journal = JOURNAL,
		.file_max = options->output_file,
		.pixels = options->picture_pixels,
		.bytes = options->picture_bytes,
		.kept = KEPT,
	};
}

int stack_new(struct loop *loop, struct stack_base *base, const struct options *options,
              stack_ready_fn *ready, void *ctx, struct stack **ret, struct error *err)
{
	struct stack *stack = mem_new(sizeof *stack);
	struct manager_config config = {
		.database = stack->base.database,
		.instance = stack->base.instance,
		.servers = base->servers,
		.targets = (const char *const *)stack->base.targets,
		.target_count = base->target_count,
		.env_of = env_of,
		.env_free = gpu_env_free,
		.ctx = stack,
		.ran = on_ran,
		.ran_ctx = stack,
		.process = process_limits(options),
		.quota = { options->owner.sandboxes, options->owner.processes,
		           options->owner.memory, options->owner.disk },
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

int stack_choose_gpu(const struct stack *stack, const char *wish, uint64_t *ret, struct error *err)
{
	*ret = 0;
	if (strcmp(wish, "none") == 0)
		return 0;
	if (stack->base.gpus == NULL)
		return error_set(err, ERR_NOT_FOUND,
		                 "gpu: no device is described where --cdi-dirs says");
	return cdi_choose(stack->base.gpus, wish, ret, err);
}

int stack_spec(const struct stack *stack, const struct options *options, struct spec *ret,
               struct error *err)
{
	*ret = spec_default();
	ret->limits = options->limits;
	ret->calls = options->calls;
	return stack_choose_gpu(stack, options->gpu, &ret->gpus, err);
}
