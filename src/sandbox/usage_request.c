#include "sandbox/usage_request.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/channel/channel.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"

struct usage_request {
	struct usage usage;
	struct sandbox *sandbox;
	uint64_t disk_limit;
	struct channel_stream *stream; /* of STATS; NULL once the agent has replied */
	struct run *du;                /* started after that, if disk is not known yet */
	char output[1024];             /* of du */
	size_t output_len;
	usage_fn *fn;
	void *ctx;
};

enum { DU_DEADLINE_MS = 2000 };

static void on_message(void *ctx, const struct wire_message *message)
{
	struct usage_request *request = ctx;
	struct usage *usage = &request->usage;
	const struct wire_stats_are *stats = &message->stats_are;

	if (message->type != WIRE_STATS_ARE)
		return;
	if (!usage->has_memory && (stats->known & WIRE_STATS_MEMORY) != 0) {
		usage->has_memory = true;
		usage->memory_bytes = stats->memory_bytes;
	}
	if (!usage->has_cpu && (stats->known & WIRE_STATS_CPU) != 0) {
		usage->has_cpu = true;
		usage->cpu_us = stats->cpu_us;
	}
	if (!usage->has_processes && (stats->known & WIRE_STATS_PROCESSES) != 0) {
		usage->has_processes = true;
		usage->processes = stats->processes;
	}
	/* statfs() reports the whole file system unless a project quota limits the sandbox. */
	if ((stats->known & WIRE_STATS_DISK) != 0 && stats->disk_total <= request->disk_limit) {
		usage->has_disk = true;
		usage->disk_bytes = stats->disk_used;
	}
}

static void report_usage(struct usage_request *request, const struct error *why)
{
	const struct usage usage = request->usage;
	usage_fn *fn = request->fn;
	void *ctx = request->ctx;

	free(request);
	fn(ctx, why == NULL ? &usage : NULL, why);
}

/* --- disk usage by du, where there is no quota --- */

static void on_du_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct usage_request *request = ctx;
	size_t room = sizeof request->output - 1 - request->output_len;
	size_t len = bytes.len < room ? bytes.len : room;

	run_consumed(request->du, is_stderr, bytes.len);
	if (is_stderr)
		return;
	memcpy(request->output + request->output_len, bytes.ptr, len);
	request->output_len += len;
}

/* Each line of output is a number of KiB and a path. */
static void on_du_ended(void *ctx, const struct run_end *end)
{
	struct usage_request *request = ctx;
	char *line = request->output, *rest = NULL;

	if (end->signal == 0 && !end->timed_out) /* exit code 1: some were unreadable */
		for (line = strtok_r(line, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest)) {
			request->usage.has_disk = true;
			request->usage.disk_bytes += strtoull(line, NULL, 10) * 1024;
		}
	report_usage(request, NULL);
}

static void on_du_failed(void *ctx, const struct error *why)
{
	(void)why; /* everything but disk is known: report that */
	report_usage(ctx, NULL);
}

/* Directories of the host are not counted. In an overlay over two file systems a file has another
 * stat.st_dev than its directory, so -x leaves out all files there. */
static int start_du(struct usage_request *request)
{
	bool has_mounts = sandbox_row(request->sandbox)->spec.mount_count != 0;
	const char *const argv[] = { "du",           has_mounts ? "-skx" : "-sk",
		                     SPEC_WORKSPACE, SPEC_HOME,
		                     "/tmp",         NULL };
	static const struct run_events du_events = { .output = on_du_output,
		                                     .ended = on_du_ended,
		                                     .failed = on_du_failed };
	const struct run_options options = { .argv = argv, .deadline_ms = DU_DEADLINE_MS };
	struct error ignored;

	return run_start(request->sandbox, &options, &du_events, request, &request->du, &ignored);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct usage_request *request = ctx;

	(void)done;
	request->stream = NULL;
	if (request->usage.has_disk || start_du(request) < 0)
		report_usage(request, NULL);
}

/* The agent forks for STATS, which fails while programs have all processes of the sandbox. The
 * engine's counters are known all the same, and the caller needs them most at that moment. */
static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	report_usage(ctx, failure == WIRE_FAILED_LOST ? why : NULL);
}

static const struct channel_stream_events events = { .message = on_message,
	                                             .done = on_done,
	                                             .failed = on_failed };

static void read_counters(struct sandbox *sandbox, struct usage *usage)
{
	struct engine_counters counts;

	if (!sandbox_counts(sandbox, &counts))
		return;
	*usage = (struct usage){ .has_memory = true,
		                 .has_cpu = true,
		                 .has_processes = true,
		                 .memory_bytes = counts.memory_now,
		                 .memory_peak_bytes = counts.memory_peak,
		                 .cpu_us = counts.cpu_us,
		                 .processes = counts.pids_now };
}

int usage_request_start(struct sandbox *sandbox, usage_fn *fn, void *ctx,
                        struct usage_request **ret, struct error *err)
{
	const struct wire_message stats = { .type = WIRE_STATS };
	struct channel *channel = sandbox_channel(sandbox);
	struct usage_request *request;

	if (channel == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	request = mem_new(sizeof *request);
	*request = (struct usage_request){ .sandbox = sandbox,
		                           .disk_limit = sandbox_row(sandbox)->spec.limits.disk,
		                           .fn = fn,
		                           .ctx = ctx };
	read_counters(sandbox, &request->usage);
	if (channel_open(channel, &stats, &events, request, &request->stream, err) < 0) {
		free(request);
		return -1;
	}
	*ret = request;
	return 0;
}

void usage_request_cancel(struct usage_request *request)
{
	if (request->stream != NULL)
		channel_cancel(request->stream);
	if (request->du != NULL)
		run_cancel(request->du);
	free(request);
}
