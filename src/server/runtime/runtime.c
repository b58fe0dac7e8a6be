#include "server/runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "egress/dialer/dial.h"
#include "engine/native/cdi/cdi.h"
#include "engine/remote/remote.h"
#include "engine/report.h"
#include "sandbox/manager.h"
#include "sandbox/registry/instances.h"
#include "sandbox/share/share.h"
#include "server/doctor/doctor.h"
#include "server/http/http_service.h"
#include "server/runtime/internal.h"
#include "server/runtime/network.h"

enum { PROCESS_LOG_BYTES = 256 * 1024, KEPT_PROCESSES = 32 };

struct runtime {
	struct runtime_base base;
	struct engine *engine;
	struct manager *manager;
	struct share *share;                      /* or NULL */
	struct dial *dial, *mirror, *interceptor; /* or NULL */
	const struct engine_report *report;       /* NULL until `ready` */
	runtime_ready_fn *ready;
	void *ctx;
	void (*lost)(void *ctx, const struct error *why);
	void *lost_ctx;
	void (*process_ended)(void *ctx, const struct sandbox_row *row);
	void *process_ended_ctx;
};

static void free_base(struct runtime_base *base)
{
	/* The lock file says that this instance is alive. Keep it until the spawner has exited,
	 * because until then sandboxes of this instance may still run. */
	(void)waitpid(base->spawner, NULL, 0);
	instance_remove(base->servers, base->instance);
	(void)close(base->lock);
	(void)close(base->servers);
	cleanup_fd(&base->listener);
	free(base->require);
	for (size_t i = 0; i < base->target_count; i++)
		free(base->targets[i]);
	(void)cdi_free(base->gpus);
	dialer_stop(&base->dialer);
	dialer_stop(&base->mirror);
	dialer_stop(&base->interceptor);
	base->network = network_free(base->network);
	free(base->trusted);
}

void runtime_base_close(struct runtime_base *base)
{
	(void)close(base->socket);
	free_base(base);
}

static char **device_env(void *ctx, const struct spec *spec)
{
	const struct runtime *runtime = ctx;

	return gpu_env(runtime->base.gpus, spec->gpus);
}

static int connect_server(void *ctx, const char *instance, manager_connected_fn *done,
                          void *done_ctx, struct error *err)
{
	const struct runtime *runtime = ctx;

	return remote_connect(runtime->engine, instance, done, done_ctx, err);
}

static void on_process_ended(void *ctx, const struct sandbox_row *row)
{
	struct runtime *runtime = ctx;

	if (runtime->process_ended != NULL)
		runtime->process_ended(runtime->process_ended_ctx, row);
}

static void on_lost(void *ctx, const struct error *why)
{
	struct runtime *runtime = ctx;

	if (runtime->lost != NULL)
		runtime->lost(runtime->lost_ctx, why);
}

void runtime_on_process_end(struct runtime *runtime,
                            void (*fn)(void *ctx, const struct sandbox_row *row), void *ctx)
{
	runtime->process_ended = fn;
	runtime->process_ended_ctx = ctx;
}

void runtime_on_lost(struct runtime *runtime, void (*fn)(void *ctx, const struct error *why),
                     void *ctx)
{
	runtime->lost = fn;
	runtime->lost_ctx = ctx;
	remote_on_lost(runtime->engine, on_lost, runtime);
}

static void on_ready(void *ctx, const struct engine_report *report, const struct error *why)
{
	struct runtime *runtime = ctx;
	struct ceilings *ceilings = &runtime->base.ceilings;
	struct error err;

	runtime->report = report;
	if (!report->limits_memory) {
		ceilings->owner_memory = ceilings->owner_memory_without_cgroup;
		manager_set_memory_quota(runtime->manager, ceilings->owner_memory);
	}
	if (why == NULL && doctor_require_engine(runtime->base.require, report, &err) < 0)
		why = &err;
	/* The sweep starts only after these checks: it needs the engine to list the directories of
	 * sandboxes, and a server that lacks a required layer must not remove anything. */
	if (why == NULL)
		manager_sweep(runtime->manager);
	runtime->ready(runtime->ctx, why);
}

/* In memory a stream keeps its beginning and its end, as much as a result can show. */
static struct process_limits process_limits(const struct options *options)
{
	return (struct process_limits){
		.head = options->max_output / 2,
		.tail = options->max_output / 2,
		.log = PROCESS_LOG_BYTES,
		.file_max = options->output_file,
		.pixels = options->picture_pixels,
		.bytes = options->picture_bytes,
		.kept = KEPT_PROCESSES,
	};
}

int runtime_new(struct loop *loop, struct runtime_base *base, const struct options *options,
                runtime_ready_fn *ready, void *ctx, struct runtime **ret, struct error *err)
{
	struct runtime *runtime = mem_new(sizeof *runtime);
	struct manager_config config = {
		.database = runtime->base.database,
		.instance = runtime->base.instance,
		.servers = base->servers,
		.targets = (const char *const *)runtime->base.targets,
		.target_count = base->target_count,
		.device_env = device_env,
		.connect_server = connect_server,
		.ctx = runtime,
		.process_ended = on_process_ended,
		.for_person = options->verb != FOR_SERVE,
		.deletes_idle = http_service_is_wanted(options),
		.process = process_limits(options),
		.quota = { options->owner.sandboxes, options->owner.processes,
		           base->ceilings.owner_memory, base->ceilings.owner_disk },
		.limits_max = base->ceilings.max,
		.gpus_max = base->gpus_max,
	};

	runtime->base = *base;
	runtime->ready = ready;
	runtime->ctx = ctx;
	runtime->engine = remote_new(loop, base->socket, &runtime_engines[base->engine].words,
	                             on_ready, runtime);
	config.engine = runtime->engine;
	if (runtime->base.dialer.socket >= 0)
		runtime->dial = dial_new(loop, TAKE_FD(runtime->base.dialer.socket));
	if (runtime->base.mirror.socket >= 0)
		runtime->mirror = dial_new(loop, TAKE_FD(runtime->base.mirror.socket));
	if (runtime->base.interceptor.socket >= 0)
		runtime->interceptor = dial_new(loop, TAKE_FD(runtime->base.interceptor.socket));
	if (runtime->dial != NULL)
		dial_set_timeout(runtime->dial, options->gate.dial_s * 1000);
	if (runtime->interceptor != NULL)
		dial_set_timeout(runtime->interceptor, options->gate.dial_s * 1000);
	config.dial = runtime->dial;
	config.mirror = runtime->mirror;
	config.interceptor = runtime->interceptor;
	config.trusted = runtime->base.trusted;
	config.ceiling = &runtime->base.network->ceiling;
	config.secrets = &runtime->base.network->secrets;
	if (manager_new(loop, &config, &runtime->manager, err) < 0) {
		(void)runtime_free(runtime);
		return -1;
	}
	if (base->listener >= 0)
		runtime->share = share_new(loop, runtime->manager,
		                           &(struct share_config){ base->listener, base->user });
	*ret = runtime;
	return 0;
}

void runtime_stop(struct runtime *runtime, void (*done)(void *ctx), void *ctx)
{
	manager_stop(runtime->manager, done, ctx);
}

struct runtime *runtime_free(struct runtime *runtime)
{
	if (runtime == NULL)
		return NULL;
	/* Sandboxes refer to the engine's boxes: free them first. Freeing the engine closes the
	 * spawner's socket, which ends the spawner. */
	(void)share_free(runtime->share);
	(void)manager_free(runtime->manager);
	(void)dial_free(runtime->dial);
	(void)dial_free(runtime->mirror);
	(void)dial_free(runtime->interceptor);
	runtime->engine->ops->free(runtime->engine);
	free_base(&runtime->base);
	free(runtime);
	return NULL;
}

bool runtime_has_images(const struct runtime *runtime)
{
	return runtime_engines[runtime->base.engine].has_images;
}

const struct engine_ops *runtime_engine(const struct runtime *runtime)
{
	return runtime->engine->ops;
}

struct manager *runtime_manager(struct runtime *runtime)
{
	return runtime->manager;
}

const struct engine_report *runtime_report(const struct runtime *runtime)
{
	return runtime->report;
}

const struct ceilings *runtime_ceilings(const struct runtime *runtime)
{
	return &runtime->base.ceilings;
}

bool runtime_allows_gpus(const struct runtime *runtime)
{
	return runtime->base.gpus_max != 0;
}

int runtime_choose_gpu(const struct runtime *runtime, const char *which, uint64_t *ret,
                       struct error *err)
{
	uint64_t max = runtime->base.gpus_max;
	char shown[64];

	*ret = 0;
	if (strcmp(which, "none") == 0)
		return 0;
	if (max != 0 && cdi_select(runtime->base.gpus, which, ret, err) < 0)
		return -1;
	if (max != 0 && strcmp(which, "auto") == 0)
		*ret &= max;
	if (max == 0 || (*ret & ~max) != 0)
		return error_set(
		        err, ERR_LIMIT,
		        "gpu: '%s' is not allowed on this server: leave the argument out, or have "
		        "the operator start the server with --gpu-max %s",
		        utf8_escape(view_of(which), shown, sizeof shown), shown);
	return 0;
}

const struct network *runtime_network(const struct runtime *runtime)
{
	return runtime->dial != NULL ? runtime->base.network : NULL;
}

bool runtime_has_mirror(const struct runtime *runtime)
{
	return runtime->mirror != NULL;
}

int runtime_default_spec(const struct runtime *runtime, const struct options *options,
                         struct spec *ret, struct error *err)
{
	*ret = spec_default();
	ret->limits = runtime->base.ceilings.initial;
	ret->syscalls = options->calls;
	if (options->image != NULL && runtime_has_images(runtime))
		(void)snprintf(ret->image, sizeof ret->image, "%s", options->image);
	return runtime_choose_gpu(runtime, options->gpu, &ret->gpus, err);
}
