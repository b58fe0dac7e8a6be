#include "sandbox/run/limit_check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "sandbox/channel/channel.h"
#include "sandbox/gate/gate_log.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"
#include "wire/message.h"

/* A file system counts as full when fewer bytes are left: they may be too few for any write. */
enum { FULL_WITHIN = 64 * 1024 };
/* A shell adds this number to the signal that killed its last command. */
enum { SHELL_SIGNAL = 128 };

void run_end_add_note(struct run_end *end, const char *fmt, ...)
{
	size_t used = strlen(end->note);
	va_list args;

	if (used != 0 && used + 2 < sizeof end->note)
		used += (size_t)snprintf(end->note + used, sizeof end->note - used, "; ");
	va_start(args, fmt);
	(void)vsnprintf(end->note + used, sizeof end->note - used, fmt, args);
	va_end(args);
}

/* Of commands that stand several times in a row in a list such as "sleep 1, sleep 1, make" only the
 * first is kept, and the list ends in "...", as a list does that the agent has cut. */
static void remove_repeats(char *list, size_t size)
{
	static const char more[] = ", ...";
	char *out = list, *last = NULL;
	bool has_repeats = false;

	for (char *at = list, *next; at != NULL; at = next) {
		size_t len;

		next = strstr(at, ", ");
		len = next != NULL ? (size_t)(next - at) : strlen(at);
		next = next != NULL ? next + 2 : NULL;
		if (last != NULL && (size_t)(out - last) == len && memcmp(last, at, len) == 0) {
			has_repeats = true;
			continue;
		}
		if (last != NULL) {
			memcpy(out, ", ", 2);
			out += 2;
		}
		last = memmove(out, at, len);
		out += len;
	}
	*out = '\0';
	if (has_repeats && (size_t)(out - list) + sizeof more <= size &&
	    (last == NULL || strcmp(last, "...") != 0))
		memcpy(out, more, sizeof more);
}

/* The agent and the programs of a sandbox choose the text. Without line ends and brackets it cannot
 * look like a line of belljar's own. */
void run_end_add_left(struct run_end *end, const struct sandbox *sandbox, struct view commands)
{
	static const char *const advice[] = {
		[SANDBOX_FOR_TOOLS] =
		        "to keep one, start it without & by run_command {background: true}",
		[SANDBOX_FOR_PROFILE] = "a program runs no longer than the call that starts it",
		[SANDBOX_FOR_PERSON] = "a program runs no longer than the command that starts it",
	};
	char text[WIRE_LEFT_MAX + 1];
	size_t n = 0;

	for (; n < commands.len && n < WIRE_LEFT_MAX; n++) {
		char c = commands.ptr[n];

		text[n] = c < ' ' || c > '~' || c == '[' || c == ']' ? '?' : c;
	}
	text[n] = '\0';
	remove_repeats(text, sizeof text);
	run_end_add_note(end, "processes left running were ended%s%s%s: %s", n != 0 ? " (" : "",
	                 text, n != 0 ? ")" : "", advice[sandbox_reader(sandbox)]);
}

void limit_check_start(struct limit_check *check, struct sandbox *sandbox)
{
	*check = (struct limit_check){ .sandbox = sandbox };
	check->has_counters = sandbox_refusals(sandbox, &check->before);
	check->refusals = gate_log_refusals(sandbox_gate_log(sandbox));
}

void limit_check_output(struct limit_check *check, bool is_stderr, struct view bytes)
{
	static const char *const messages[] = { SANDBOX_FILE_MAX_MESSAGES };
	static const char full[] = "No space left on device";

	for (size_t i = 0; is_stderr && i < ARRAY_LEN(messages); i++)
		if (memmem(bytes.ptr, bytes.len, messages[i], strlen(messages[i])) != NULL)
			check->met_file_max = true;
	if (is_stderr && memmem(bytes.ptr, bytes.len, full, sizeof full - 1) != NULL)
		check->met_full = true;
}

/* Programs show a refusal in their own ways, often without the text of the gate. */
static void add_refusals(const struct limit_check *check, struct run_end *end)
{
	size_t others;
	const struct gate_attempt *attempt = gate_log_refused(sandbox_gate_log(check->sandbox),
	                                                      check->refusals, &others);

	if (attempt == NULL)
		return;
	run_end_add_note(end, "network: %s", attempt->reason);
	if (others != 0)
		run_end_add_note(end, "further hosts that were refused: %zu%s", others,
		                 sandbox_reader(check->sandbox) == SANDBOX_FOR_TOOLS
		                         ? ", see sandbox_info"
		                         : "");
}

/* A process was killed while the sandbox was far from its own limit, so the limit was that of the
 * cgroup above all sandboxes. A peak of 0 is not known. */
static bool met_common_limit(struct sandbox *sandbox, const struct spec_limits *limits)
{
	struct engine_counters now;

	return sandbox_counts(sandbox, &now) && now.memory_peak != 0 &&
	       now.memory_peak < limits->memory / 4 * 3;
}

/* The counters are of the whole sandbox: if two runs are active at the same time, a limit that one
 * of them met is reported for both. */
static void compare_counters(const struct limit_check *check, struct run_end *end)
{
	const struct spec_limits *limits = &sandbox_row(check->sandbox)->spec.limits;
	const struct spec_limits *max = sandbox_ceilings(check->sandbox);
	char more[SANDBOX_MORE_SIZE], one_file[SANDBOX_FILE_MAX_SIZE];
	struct engine_counters now;

	/* The kernel sends SIGXFSZ for a write beyond RLIMIT_FSIZE. Programs ignore it from the
	 * start, but Python's subprocess gives its children the default action. */
	if (check->met_file_max || end->signal == SIGXFSZ || end->code == SHELL_SIGNAL + SIGXFSZ)
		run_end_add_note(end, "%s", sandbox_file_max(check->sandbox, one_file));
	if (!check->has_counters || !sandbox_refusals(check->sandbox, &now))
		return;
	end->out_of_memory = now.memory_kills > check->before.memory_kills;
	if (end->out_of_memory && met_common_limit(check->sandbox, limits))
		run_end_add_note(end,
		                 "memory: processes were killed, because all sandboxes of this "
		                 "server together reached their limit; run less at a time, or "
		                 "delete sandboxes");
	else if (end->out_of_memory)
		run_end_add_note(end,
		                 "memory: processes were killed, the limit is %llu MiB: use less, "
		                 "%s",
		                 (unsigned long long)(limits->memory >> 20),
		                 sandbox_more_of(check->sandbox, "memory_mb", limits->memory,
		                                 max->memory, SPEC_MIB(1), more));
	if (now.pids_refused > check->before.pids_refused)
		run_end_add_note(
		        end, "pids: processes were refused, the limit is %llu: start fewer, %s",
		        (unsigned long long)limits->pids,
		        sandbox_more_of(check->sandbox, "pids", limits->pids, max->pids, 1, more));
}

/* By subtraction, because the agent may send any number. A total of 0 is unknown. */
static bool is_nearly_used_up(uint64_t used, uint64_t total, uint64_t within)
{
	return total != 0 && (used >= total || total - used <= within);
}

/* A program may have removed what it could not write to the end. /run and /dev/shm can be full,
 * too: so the message of a program counts only if the disk is more than half full. */
static bool met_disk_limit(const struct limit_check *check, const struct wire_stats_are *stats)
{
	return is_nearly_used_up(stats->disk_used, stats->disk_total, FULL_WITHIN) ||
	       (check->met_full &&
	        is_nearly_used_up(stats->disk_used, stats->disk_total, stats->disk_total / 2));
}

/* The total of an image is the sandbox's limit, unless the disk below it is full
 * (engine/native/spawner/limit_watch.c). */
static void add_no_room(struct limit_check *check, const struct wire_stats_are *stats)
{
	char no_room[SANDBOX_FILE_MAX_SIZE];

	if (stats->disk_total + FULL_WITHIN < sandbox_row(check->sandbox)->spec.limits.disk)
		run_end_add_note(check->end,
		                 SANDBOX_NO_ROOM " on the disk of this machine: delete files, also "
		                                 "of other sandboxes");
	else
		run_end_add_note(check->end, "%s", sandbox_no_room(check->sandbox, no_room));
}

static void on_stats(void *ctx, const struct wire_message *message)
{
	struct limit_check *check = ctx;
	const struct wire_stats_are *stats = &message->stats_are;
	const struct spec_limits *limits = &sandbox_row(check->sandbox)->spec.limits;

	/* The agent is hostile, too: a wrong answer here only changes a note of its own sandbox. */
	if (message->type != WIRE_STATS_ARE || (stats->known & WIRE_STATS_DISK) == 0)
		return;
	if (met_disk_limit(check, stats)) {
		if (strstr(check->end->note, SANDBOX_ONE_FILE) == NULL)
			add_no_room(check, stats);
	} else if (is_nearly_used_up(stats->files_used, stats->files_total, 0))
		run_end_add_note(check->end,
		                 "inodes: no more files can be made, the limit is %llu: delete "
		                 "files",
		                 (unsigned long long)limits->inodes);
}

static void report_result(struct limit_check *check)
{
	check->stats = NULL;
	check->fn(check->ctx);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	(void)done;
	report_result(ctx);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)failure;
	(void)why;
	report_result(ctx);
}

static const struct channel_stream_events stats_events = { .message = on_stats,
	                                                   .done = on_done,
	                                                   .failed = on_failed };

void limit_check_finish(struct limit_check *check, struct run_end *end, void (*fn)(void *ctx),
                        void *ctx)
{
	struct channel *channel = sandbox_channel(check->sandbox);
	const struct wire_message stats = { .type = WIRE_STATS };
	struct error err;

	check->end = end;
	check->fn = fn;
	check->ctx = ctx;
	/* The end of a run counts as use: a sandbox is not put to sleep right after a long run. */
	sandbox_touch(check->sandbox);
	compare_counters(check, end);
	add_refusals(check, end);
	/* Only a failed run can have failed because the disk is full; a shell may hide that. */
	if ((end->code == 0 && end->signal == 0 && !check->met_full) || channel == NULL ||
	    channel_open(channel, &stats, &stats_events, check, &check->stats, &err) < 0)
		fn(ctx);
}

void limit_check_cancel(struct limit_check *check)
{
	if (check->stats != NULL)
		channel_cancel(check->stats);
	check->stats = NULL;
}
