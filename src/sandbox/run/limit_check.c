#include "sandbox/run/limit_check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sandbox/channel/channel.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"

enum { FULL_WITHIN = 64 * 1024 };

void run_note(struct run_end *end, const char *fmt, ...)
{
	size_t used = strlen(end->note);
	va_list args;

	if (used != 0 && used + 2 < sizeof end->note)
		used += (size_t)snprintf(end->note + used, sizeof end->note - used, "; ");
	va_start(args, fmt);
	(void)vsnprintf(end->note + used, sizeof end->note - used, fmt, args);
	va_end(args);
}

void limit_check_start(struct limit_check *judge, struct sandbox *sandbox)
{
	*judge = (struct limit_check){ .sandbox = sandbox };
	judge->is_counted = sandbox_counts(sandbox, &judge->before);
}

static void compare(const struct limit_check *judge, struct run_end *end)
{
	const struct spec_limits *limits = &sandbox_row(judge->sandbox)->spec.limits;
	struct engine_counters now;

	if (end->signal == SIGXFSZ)
		run_note(end, "file-size: a file was to be larger than %llu MiB",
		         (unsigned long long)(limits->file_size >> 20));
	if (!judge->is_counted || !sandbox_counts(judge->sandbox, &now))
		return;
	end->out_of_memory = now.memory_kills > judge->before.memory_kills;
	end->out_of_pids = now.pids_refused > judge->before.pids_refused;
	if (end->out_of_memory)
		run_note(end, "memory: processes were killed, the limit is %llu MiB",
		         (unsigned long long)(limits->memory >> 20));
	if (end->out_of_pids)
		run_note(end, "pids: processes were refused, the limit is %llu",
		         (unsigned long long)limits->pids);
}

static void on_stats(void *ctx, const struct wire_message *message)
{
	struct limit_check *judge = ctx;
	const struct wire_stats_are *stats = &message->stats_are;
	const struct spec_limits *limits = &sandbox_row(judge->sandbox)->spec.limits;

	if (message->type != WIRE_STATS_ARE || (stats->known & WIRE_STATS_DISK) == 0)
		return;
	/* The last bytes may be too few for anything. */
	if (stats->disk_total != 0 && stats->disk_used + FULL_WITHIN >= stats->disk_total) {
		judge->end->out_of_disk = true;
		run_note(judge->end, "disk: no room is left, the limit is %llu MiB",
		         (unsigned long long)(limits->disk >> 20));
	} else if (stats->files_total != 0 && stats->files_used >= stats->files_total) {
		judge->end->out_of_disk = true;
		run_note(judge->end, "inodes: no more files can be made, the limit is %llu",
		         (unsigned long long)limits->inodes);
	}
}

static void tell(struct limit_check *judge)
{
	judge->stats = NULL;
	judge->fn(judge->ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	(void)done;
	tell(ctx);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	(void)why;
	tell(ctx);
}

static const struct channel_stream_events stats_events = { .message = on_stats,
	                                                   .done = on_done,
	                                                   .failed = on_failed };

/* A program that failed may have failed for want of room. */
void limit_check_finish(struct limit_check *judge, struct run_end *end, void (*fn)(void *ctx),
                        void *ctx)
{
	struct channel *channel = sandbox_channel(judge->sandbox);
	const struct wire_message stats = { .type = WIRE_STATS };
	struct error err;

	judge->end = end;
	judge->fn = fn;
	judge->ctx = ctx;
	sandbox_touch(judge->sandbox);
	compare(judge, end);
	if ((end->code == 0 && end->signal == 0) || channel == NULL ||
	    channel_open(channel, &stats, &stats_events, judge, &judge->stats, &err) < 0)
		fn(ctx);
}

void limit_check_cancel(struct limit_check *judge)
{
	if (judge->stats != NULL)
		channel_cancel(judge->stats);
	judge->stats = NULL;
}
