#include "sandbox/usage.h"

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
	struct channel_stream *stream; /* until it has answered; */
	struct run *walk;              /* then this counts files */
	char said[1024];               /* by it */
	size_t said_len;
	usage_fn *fn;
	void *ctx;
};

enum { WALK_MS = 2000 };

static void on_message(void *ctx, const struct wire_message *message)
{
	struct usage_request *question = ctx;
	struct usage *usage = &question->usage;
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
	/* Without a quota these are the numbers of the whole file system. */
	if ((stats->known & WIRE_STATS_DISK) != 0 && stats->disk_total <= question->disk_limit) {
		usage->has_disk = true;
		usage->disk_bytes = stats->disk_used;
	}
}

static void tell(struct usage_request *question, const struct error *why)
{
	const struct usage usage = question->usage;
	usage_fn *fn = question->fn;
	void *ctx = question->ctx;

	free(question);
	fn(ctx, why == NULL ? &usage : NULL, why);
}

/* --- counting files by walking them ----------------------------------------------------------- */

static void on_walk_output(void *ctx, bool is_stderr, struct view bytes)
{
	struct usage_request *question = ctx;
	size_t room = sizeof question->said - 1 - question->said_len;
	size_t len = bytes.len < room ? bytes.len : room;

	run_consumed(question->walk, is_stderr, bytes.len);
	if (is_stderr)
		return;
	memcpy(question->said + question->said_len, bytes.ptr, len);
	question->said_len += len;
}

/* Lines of a number of KiB and a path. */
static void on_walk_ended(void *ctx, const struct run_end *end)
{
	struct usage_request *question = ctx;
	char *line = question->said, *rest = NULL;

	if (end->signal == 0 && !end->timed_out) /* 1: some directories may not be read */
		for (line = strtok_r(line, "\n", &rest); line != NULL;
		     line = strtok_r(NULL, "\n", &rest)) {
			question->usage.has_disk = true;
			question->usage.disk_bytes += strtoull(line, NULL, 10) * 1024;
		}
	tell(question, NULL);
}

static void on_walk_failed(void *ctx, const struct error *why)
{
	(void)why; /* the rest can be told without it */
	tell(ctx, NULL);
}

static int walk(struct usage_request *question)
{
	static const char *const argv[] = { "du", "-skx", SPEC_WORKSPACE, SPEC_HOME, "/tmp", NULL };
	static const struct run_events walk_events = { .output = on_walk_output,
		                                       .ended = on_walk_ended,
		                                       .failed = on_walk_failed };
	const struct run_options wish = { .argv = argv, .deadline_ms = WALK_MS };
	struct error ignored;

	return run_start(question->sandbox, &wish, &walk_events, question, &question->walk,
	                 &ignored);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct usage_request *question = ctx;

	(void)done;
	question->stream = NULL;
	if (question->usage.has_disk || walk(question) < 0)
		tell(question, NULL);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	tell(ctx, why);
}

static const struct channel_stream_events events = { .message = on_message,
	                                             .done = on_done,
	                                             .failed = on_failed };

static void count(struct sandbox *sandbox, struct usage *usage)
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
	struct usage_request *question;

	if (channel == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	question = mem_new(sizeof *question);
	*question = (struct usage_request){ .sandbox = sandbox,
		                            .disk_limit = sandbox_row(sandbox)->spec.limits.disk,
		                            .fn = fn,
		                            .ctx = ctx };
	count(sandbox, &question->usage);
	if (channel_open(channel, &stats, &events, question, &question->stream, err) < 0) {
		free(question);
		return -1;
	}
	*ret = question;
	return 0;
}

void usage_request_cancel(struct usage_request *question)
{
	if (question->stream != NULL)
		channel_cancel(question->stream);
	if (question->walk != NULL)
		run_cancel(question->walk);
	free(question);
}
