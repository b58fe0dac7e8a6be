#include "sandbox/usage.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "sandbox/channel.h"
#include "sandbox/sandbox.h"

struct usage_question {
	struct usage usage;
	struct channel_stream *stream;
	usage_fn *fn;
	void *ctx;
};

static void on_message(void *ctx, const struct wire_message *message)
{
	struct usage *usage = &((struct usage_question *)ctx)->usage;
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
	if ((stats->known & WIRE_STATS_DISK) != 0) {
		usage->has_disk = true;
		usage->disk_bytes = stats->disk_used;
		usage->disk_total = stats->disk_total;
		usage->files = stats->files_used;
		usage->files_total = stats->files_total;
	}
}

static void tell(struct usage_question *question, const struct error *why)
{
	const struct usage usage = question->usage;
	usage_fn *fn = question->fn;
	void *ctx = question->ctx;

	free(question);
	fn(ctx, why == NULL ? &usage : NULL, why);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	(void)done;
	tell(ctx, NULL);
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
	struct engine_counts counts;

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

int usage_ask(struct sandbox *sandbox, usage_fn *fn, void *ctx, struct usage_question **ret,
              struct error *err)
{
	const struct wire_message stats = { .type = WIRE_STATS };
	struct channel *channel = sandbox_channel(sandbox);
	struct usage_question *question;

	if (channel == NULL)
		return error_set(err, ERR_INVALID, "the sandbox is not awake");
	question = mem_new(sizeof *question);
	*question = (struct usage_question){ .fn = fn, .ctx = ctx };
	count(sandbox, &question->usage);
	if (channel_open(channel, &stats, &events, question, &question->stream, err) < 0) {
		free(question);
		return -1;
	}
	*ret = question;
	return 0;
}

void usage_drop(struct usage_question *question)
{
	channel_drop(question->stream);
	free(question);
}
