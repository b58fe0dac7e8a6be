#include "cli/support/process_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "cli/support/attachment.h"
#include "cli/support/out.h"
#include "cli/support/records.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"
#include "json/json.h"

enum {
	SHOWN_MAX = 1000,
	ENTRIES_MAX = 4000, /* of /proc */
	LIST_MAX = 1024 * 1024,
	TEXT_MAX = 4096,   /* bytes of stat, uptime and cmdline */
	COMMAND_MAX = 160, /* bytes of a command line that are shown */
};

#define LINE "%7s %7s  %-9s %9s %9s  %s\n"

/* Numbers of /proc/PID/stat, see proc_pid_stat(5). */
struct process_numbers {
	uint64_t parent, cpu_ticks, start_ticks, pages;
	char name[64]; /* of the program, for a process without a command line */
};

struct process_list {
	struct attachment *attachment;
	struct files_op *op;
	json_t *json; /* NULL: lines are printed */
	uint64_t uptime_s;
	uint64_t pids[SHOWN_MAX];
	size_t count, at;
	struct process_numbers numbers; /* of pids[at] */
	bool has_lines;
};

static void start_request(struct process_list *list, const struct wire_message *request, size_t max,
                          files_fn *fn)
{
	struct channel *channel = sandbox_channel(attachment_sandbox(list->attachment));
	struct error err;

	if (channel == NULL)
		(void)error_set(&err, ERR_SYSTEM, "the sandbox has ended");
	else if (files_start(channel, request, (struct view){ "", 0 }, max, fn, list, &list->op,
	                     &err) == 0)
		return;
	attachment_fail(list->attachment, &err);
}

static void read_file(struct process_list *list, const char *path, files_fn *fn)
{
	const struct wire_message request = { .type = WIRE_READ,
		                              .read = { .unit = WIRE_UNIT_BYTES,
		                                        .count = TEXT_MAX,
		                                        .max = TEXT_MAX,
		                                        .path = view_of(path) } };

	start_request(list, &request, TEXT_MAX, fn);
}

/* --- printing --- */

static void print_process(struct process_list *list, struct view command)
{
	const struct process_numbers *numbers = &list->numbers;
	uint64_t ticks_s = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t started_s = numbers->start_ticks / ticks_s;
	uint64_t age_s = list->uptime_s > started_s ? list->uptime_s - started_s : 0;
	uint64_t memory_kib = numbers->pages * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	double cpu_s = (double)numbers->cpu_ticks / (double)ticks_s;
	char text[4 * COMMAND_MAX + 1], age[RECORDS_TEXT_SIZE], pid[24], parent[24], memory[32],
	        cpu[32];

	(void)utf8_escape(command, text, sizeof text);
	if (list->json != NULL) {
		json_t *object = json_obj();

		json_set(object, "pid", json_int((json_int_t)list->pids[list->at]));
		json_set(object, "parent", json_int((json_int_t)numbers->parent));
		json_set(object, "age_s", json_int((json_int_t)age_s));
		json_set(object, "cpu_s", json_real(cpu_s));
		json_set(object, "memory_kib", json_int((json_int_t)memory_kib));
		json_set_text(object, "command", text);
		json_push(list->json, object);
		return;
	}
	(void)snprintf(pid, sizeof pid, "%llu", (unsigned long long)list->pids[list->at]);
	(void)snprintf(parent, sizeof parent, "%llu", (unsigned long long)numbers->parent);
	(void)snprintf(memory, sizeof memory, "%.1f MiB", (double)memory_kib / 1024);
	(void)snprintf(cpu, sizeof cpu, "%.1f s", cpu_s);
	if (!list->has_lines)
		out(LINE, "PID", "PARENT", "AGE", "CPU", "MEMORY", "COMMAND");
	list->has_lines = true;
	out(LINE, pid, parent, records_span((int64_t)age_s, age), cpu, memory, text);
}

static void end_list(struct process_list *list)
{
	if (list->json == NULL && !list->has_lines)
		out("No process runs in this sandbox.\n");
	attachment_stop(list->attachment, 0);
}

/* --- one process after the other --- */

static void read_next(struct process_list *list);

/* The arguments in /proc/PID/cmdline end with zeros. A kernel thread or a zombie has none. */
static void on_command(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct process_list *list = ctx;
	char text[COMMAND_MAX];
	size_t len = 0;

	list->op = NULL;
	if (why == NULL) {
		len = reply->bytes.len < sizeof text ? reply->bytes.len : sizeof text;
		for (size_t i = 0; i < len; i++)
			text[i] = reply->bytes.ptr[i] != '\0' ? reply->bytes.ptr[i] : ' ';
		while (len != 0 && text[len - 1] == ' ')
			len--;
	}
	print_process(list, len != 0 ? (struct view){ text, len } : view_of(list->numbers.name));
	list->at++;
	read_next(list);
}

/* The name in parentheses is chosen by the program and may have spaces and parentheses itself, so
 * the last parenthesis ends it. */
static bool parse_stat(struct view text, struct process_numbers *ret)
{
	enum { PARENT = 2, USER = 12, SYSTEM = 13, START = 20, PAGES = 22 };
	char copy[TEXT_MAX + 1], *name, *at;

	*ret = (struct process_numbers){ 0 };
	if (text.len > TEXT_MAX)
		return false;
	memcpy(copy, text.ptr, text.len);
	copy[text.len] = '\0';
	name = strchr(copy, '(');
	at = strrchr(copy, ')');
	if (name == NULL || at == NULL || at < name)
		return false;
	(void)snprintf(ret->name, sizeof ret->name, "[%.*s]", (int)(at - name - 1), name + 1);
	for (int field = 1; (at = strchr(at, ' ')) != NULL; field++) {
		uint64_t value = strtoull(++at, NULL, 10);

		if (field == PARENT)
			ret->parent = value;
		else if (field == USER || field == SYSTEM)
			ret->cpu_ticks += value;
		else if (field == START)
			ret->start_ticks = value;
		else if (field == PAGES)
			ret->pages = value;
	}
	return true;
}

static void on_stat(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct process_list *list = ctx;
	char path[64];

	list->op = NULL;
	/* The process may have exited since /proc was listed. */
	if (why != NULL || !parse_stat(reply->bytes, &list->numbers)) {
		list->at++;
		read_next(list);
		return;
	}
	(void)snprintf(path, sizeof path, "/proc/%llu/cmdline",
	               (unsigned long long)list->pids[list->at]);
	read_file(list, path, on_command);
}

static void read_next(struct process_list *list)
{
	char path[64];

	if (list->at == list->count) {
		end_list(list);
		return;
	}
	(void)snprintf(path, sizeof path, "/proc/%llu/stat",
	               (unsigned long long)list->pids[list->at]);
	read_file(list, path, on_stat);
}

/* --- the list --- */

static int compare_pids(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return *left < *right ? -1 : *left > *right;
}

static void on_entries(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct process_list *list = ctx;
	struct view rest;
	struct wire_entry entry;

	list->op = NULL;
	if (why != NULL) {
		attachment_fail(list->attachment, why);
		return;
	}
	rest = reply->bytes;
	while (list->count < SHOWN_MAX && files_next_entry(&rest, &entry)) {
		char name[24];
		struct error err;

		(void)snprintf(name, sizeof name, "%.*s", (int)entry.path.len, entry.path.ptr);
		if (entry.path.len < sizeof name &&
		    num_parse_u64(name, 2, INT32_MAX, &list->pids[list->count], &err) == 0)
			list->count++;
	}
	qsort(list->pids, list->count, sizeof *list->pids, compare_pids);
	read_next(list);
}

static void on_uptime(void *ctx, const struct files_reply *reply, const struct error *why)
{
	const struct wire_message request = {
		.type = WIRE_LIST, .list = { .limit = ENTRIES_MAX, .path = view_of("/proc") }
	};
	struct process_list *list = ctx;
	char text[32];

	list->op = NULL;
	if (why != NULL) {
		attachment_fail(list->attachment, why);
		return;
	}
	(void)snprintf(text, sizeof text, "%.*s", (int)reply->bytes.len, reply->bytes.ptr);
	list->uptime_s = strtoull(text, NULL, 10);
	start_request(list, &request, LIST_MAX, on_entries);
}

static int start_list(void *ctx, struct attachment *attachment, struct error *err)
{
	struct process_list *list = ctx;

	(void)err;
	list->attachment = attachment;
	read_file(list, "/proc/uptime", on_uptime);
	return 0;
}

static bool pass_signal(void *ctx, int number)
{
	(void)ctx;
	(void)number;
	return false;
}

static void stop_list(void *ctx)
{
	struct process_list *list = ctx;

	files_cancel(list->op);
	list->op = NULL;
}

static const struct attachment_events events = { start_list, pass_signal, stop_list };

enum verb_result process_list_run(const struct verb_call *call, const char *sandbox,
                                  struct error *err)
{
	static struct process_list list;
	const struct attachment_options options = {
		.call = call, .sandbox = sandbox, .must_exist = true, .must_be_awake = true
	};
	AUTO_JSON json_t *report = NULL;
	AUTO_FREE char *text = NULL;
	enum verb_result result;
	size_t len;

	list = (struct process_list){ 0 };
	if (call->options->json) {
		report = json_obj();
		list.json = json_list();
		json_set(report, "processes", list.json);
	}
	result = attachment_run(&options, &events, &list, err);
	if (result == VERB_DONE && report != NULL) {
		text = json_write(report, &len);
		out("%s\n", text);
	}
	return result;
}
