#include "tools/run/process_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/call.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/run/answer/run_result.h"
#include "tools/run/answer/run_text.h"
#include "tools/run/wait/wait_port.h"
#include "tools/run/wait/wait_process.h"
#include "tools/run/wait/wait_text.h"
#include "tools/support/work.h"

/* Bytes of an answer for everything besides output, and the fewest bytes of output in it. */
enum { STATUS_ROOM = 2000, OUTPUT_MIN = 256 };

struct process_call {
	struct mcp_call *call;
	const struct tools_context *context;
	struct process_call_options options;
	struct wait_process wait;
	struct wait_text text;
	struct wait_port port;
	char awaited[200]; /* remark about what the call waited for */
};

/* --- finding the process ---------------------------------------------------------------------- */

struct sandbox_search {
	const char *name;
	bool is_found;
};

static bool has_name(const struct sandbox_row *row, const char *name)
{
	return strcmp(row->spec.id, name) == 0 ||
	       (row->name[0] != '\0' && strcmp(row->name, name) == 0);
}

static bool compare_sandbox(void *ctx, const struct sandbox_row *row)
{
	struct sandbox_search *search = ctx;

	search->is_found = has_name(row, search->name);
	return !search->is_found;
}

/* Sets the error for a process that is not in the sandbox of this name: perhaps there is no such
 * sandbox either. */
static int set_not_in_sandbox(const struct mcp_call *call, const char *id, const char *name,
                              struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox_search search = { .name = name };

	if (manager_each(context->manager, mcp_call_owner(call), compare_sandbox, &search, err) < 0)
		return -1;
	if (!search.is_found)
		return error_set(err, ERR_NOT_FOUND,
		                 "argument 'sandbox': there is no sandbox \"%s\"; list_sandboxes "
		                 "lists yours",
		                 UTF8_ESCAPED(view_of(name), 80));
	return error_set(err, ERR_NOT_FOUND,
	                 "argument 'process': there is no process \"%s\" in that sandbox; "
	                 "sandbox_info lists its processes",
	                 UTF8_ESCAPED(view_of(id), 40));
}

static int set_not_found(const char *id, struct error *err)
{
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	return error_set(err, ERR_NOT_FOUND,
	                 "argument 'process': there is no process \"%s\"; sandbox_info lists the "
	                 "processes of a sandbox, and processes end when it sleeps or is reset",
	                 UTF8_ESCAPED(view_of(id), 40));
}

int process_call_find(const struct mcp_call *call, const char *id, const char *name,
                      struct sandbox **ret_sandbox, struct process **ret, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox *sandbox;
	struct process *process;

	if (tools_check_manager(context, err) < 0)
		return -1;
	if (manager_find_process(context->manager, mcp_call_owner(call), id, &sandbox, &process,
	                         err) < 0)
		return name != NULL ? set_not_in_sandbox(call, id, name, err)
		                    : set_not_found(id, err);
	if (name != NULL && !has_name(sandbox_row(sandbox), name))
		return set_not_in_sandbox(call, id, name, err);
	*ret_sandbox = sandbox;
	*ret = process;
	return 0;
}

/* --- the answer ------------------------------------------------------------------------------- */

uint64_t process_call_total(struct process *process)
{
	return process_stream(process, false).total + process_stream(process, true).total;
}

/* Output of a process from some offset on. */
struct output_part {
	struct buf out, errors;
	uint64_t next, lost;
};

/* Whether run_text_clean() replaces bytes by characters of up to three bytes. */
static bool grows_as_text(const struct buf *buf)
{
	struct view v = buf_view(buf);

	return v.len != 0 && (!utf8_is_valid(v) || memchr(v.ptr, '\0', v.len) != NULL);
}

static void read_output(struct output_part *part, struct process *process, uint64_t since,
                        size_t limit)
{
	struct buf *only;
	size_t rest = 0;

	process_read(process, since, limit, &part->out, &part->errors, &part->next, &part->lost);
	if ((grows_as_text(&part->out) || grows_as_text(&part->errors)) &&
	    limit / 3 >= OUTPUT_MIN) {
		buf_clear(&part->out);
		buf_clear(&part->errors);
		process_read(process, since, limit / 3, &part->out, &part->errors, &part->next,
		             &part->lost);
	}
	/* The beginning of a character whose other bytes are still to come is left for the next
	 * call. Offsets count both streams together, so that works only if one of them is empty. */
	only = part->out.len != 0 ? &part->out : &part->errors;
	if (part->out.len == 0 || part->errors.len == 0)
		rest = run_text_unfinished(buf_view(only));
	if (rest < only->len &&
	    (!process_is_over(process) || part->next < process_call_total(process))) {
		buf_truncate(only, only->len - rest);
		part->next -= rest;
	}
}

static void send_answer(struct process_call *pc, const struct run_result *result)
{
	json_t *content, *structured;
	struct run_fit fit;

	run_result_fit(result, &fit);
	run_result_make(result, &fit, NULL, &content, &structured);
	run_fit_done(&fit);
	mcp_respond_content(pc->call, content, structured);
}

static void answer_with_log(struct process_call *pc, struct process *process,
                            const struct run_result *seen)
{
	struct run_result result = *seen;
	size_t max = result.max > STATUS_ROOM + OUTPUT_MIN ? result.max - STATUS_ROOM : OUTPUT_MIN;
	size_t limit = pc->options.limit == 0 || pc->options.limit > max ? max : pc->options.limit;
	uint64_t since = pc->options.since >= 0 ? (uint64_t)pc->options.since
	                                        : process_read_offset(process);
	struct process_entry entries[PROCESS_ENTRIES_MAX];
	struct process_state state = *result.state;
	struct output_part part = { .lost = 0 };

	buf_init(&part.out, limit);
	buf_init(&part.errors, limit);
	read_output(&part, process, since, limit);
	process_set_read_offset(process, part.next);
	result.has_more = part.next < result.next;
	result.next = part.next;
	result.lost = part.lost;
	if (state.display_count == 0) {
		state.entries = entries;
		state.entry_count = process_read_entries(process, since + part.lost, part.next,
		                                         entries);
		result.state = &state;
	}
	result.out.head = buf_view(&part.out);
	result.errors.head = buf_view(&part.errors);
	result.out.tail = result.errors.tail = (struct view){ NULL, 0 };
	result.out.left_out = result.errors.left_out = 0;
	/* The read offset has moved behind this output, so nothing of it may be cut now. */
	result.max = (run_text_room(limit) + STATUS_ROOM) * 3;
	send_answer(pc, &result);
	buf_done(&part.out);
	buf_done(&part.errors);
}

/* Says whether the text or the port that the call waited for is there. */
static const char *describe_awaited(struct process_call *pc, struct process *process)
{
	char text[100];

	if (pc->options.until.len != 0) {
		/* The end of the process ends the wait before its last output was searched. */
		bool is_found = wait_text_search(&pc->text, process);

		(void)snprintf(pc->awaited, sizeof pc->awaited, "\"%s\" %s",
		               utf8_escape(pc->options.until, text, sizeof text),
		               is_found ? "was printed" : "was not printed");
	} else if (pc->options.port != 0)
		(void)snprintf(pc->awaited, sizeof pc->awaited,
		               pc->port.is_open ? "port %u is open" : "nothing listens on port %u",
		               pc->options.port);
	return pc->awaited[0] != '\0' ? pc->awaited : NULL;
}

static void answer_call(struct process_call *pc, struct sandbox *sandbox, struct process *process)
{
	struct process_state state;
	struct run_result result = { .state = &state,
		                     .process = process_id(process),
		                     .remark = pc->options.remark,
		                     .programs_place = pc->context->programs_place,
		                     .limits_of = sandbox,
		                     .max = pc->context->max_output };

	if (!process_is_over(process) && pc->options.running_remark != NULL)
		result.remark = pc->options.running_remark;
	if (result.remark == NULL)
		result.remark = describe_awaited(pc, process);
	process_state(process, &state);
	run_result_streams(&result, process);
	result.next = result.out_bytes + result.error_bytes;
	if (pc->options.sandbox != NULL)
		result.sandbox = sandbox_row(sandbox)->spec.id;
	/* A process has a log only after it was detached from its first call. Before that, the
	 * answer has the beginning and the end of the output that are kept in memory. */
	if (process_is_detached(process))
		answer_with_log(pc, process, &result);
	else
		send_answer(pc, &result);
}

/* --- waiting ---------------------------------------------------------------------------------- */

static void free_process_call(struct process_call *pc)
{
	wait_process_stop(&pc->wait);
	wait_port_stop(&pc->port);
	wait_text_done(&pc->text);
	free(pc);
}

static bool has_new_output(void *ctx, struct process *process)
{
	struct process_call *pc = ctx;
	uint64_t since = pc->options.since >= 0 ? (uint64_t)pc->options.since
	                                        : process_read_offset(process);

	return pc->options.until_output && process_call_total(process) > since;
}

static bool is_enough(void *ctx, struct process *process)
{
	struct process_call *pc = ctx;

	if (pc->options.until.len != 0)
		return wait_text_search(&pc->text, process);
	if (pc->options.port != 0)
		return pc->port.is_open;
	return has_new_output(pc, process);
}

/* The sandbox is looked up each time, because it may be deleted while the call waits. */
static struct sandbox *find_sandbox(void *ctx)
{
	struct process_call *pc = ctx;
	struct sandbox *sandbox = NULL;
	struct process *process = NULL;
	struct error err;

	return process_call_find(pc->call, pc->options.process, pc->options.sandbox, &sandbox,
	                         &process, &err) == 0
	               ? sandbox
	               : NULL;
}

static void on_port_open(void *ctx)
{
	struct process_call *pc = ctx;

	wait_process_wake(&pc->wait);
}

static void on_waited(void *ctx)
{
	struct process_call *pc = ctx;
	struct sandbox *sandbox = NULL;
	struct process *process = NULL;
	struct error err;

	if (process_call_find(pc->call, pc->options.process, pc->options.sandbox, &sandbox,
	                      &process, &err) < 0)
		mcp_respond_tool_error(pc->call, &err);
	else
		answer_call(pc, sandbox, process);
	free_process_call(pc);
}

static void on_cancel(struct mcp_call *call, void *ctx)
{
	mcp_respond_content(call, json_list(), NULL);
	free_process_call(ctx);
}

int process_call_start(struct mcp_call *call, const struct process_call_options *options,
                       struct error *err)
{
	uint64_t now = clock_now_ms();
	struct process_call *pc;
	struct sandbox *sandbox = NULL;
	struct process *process = NULL;
	struct wait_options wait = { .call = call,
		                     .began_ms = now,
		                     .until_ms = now + options->wait_ms,
		                     .is_enough = is_enough,
		                     .fn = on_waited };

	if (process_call_find(call, options->process, options->sandbox, &sandbox, &process, err) <
	    0)
		return -1;
	sandbox_touch(sandbox);
	pc = mem_new(sizeof *pc);
	pc->call = call;
	pc->context = mcp_call_app(call);
	pc->options = *options;
	/* A text may have been printed before: without `since` it is searched from the
	 * beginning. */
	wait_text_init(&pc->text, options->until,
	               options->since >= 0 ? (uint64_t)options->since : 0);
	pc->port = (struct wait_port){
		.port = options->port, .find_sandbox = find_sandbox, .fn = on_port_open, .ctx = pc
	};
	if (is_enough(pc, process) || options->wait_ms == 0 || process_is_over(process)) {
		answer_call(pc, sandbox, process);
		free_process_call(pc);
		return 0;
	}
	wait.ctx = pc;
	wait_process_start(&pc->wait, process, &wait);
	if (options->port != 0)
		wait_port_start(&pc->port, mcp_call_loop(call));
	mcp_call_on_cancel(call, on_cancel, pc);
	return 0;
}
