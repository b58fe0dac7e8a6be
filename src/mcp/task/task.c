#include "mcp/task/task.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "mcp/internal.h"
#include "mcp/request_meta.h"

/* A task whose work lasts longer than its time is kept for this long after its end. */
enum { KEPT_AFTER_END_MS = 60 * 1000 };

static const char *const status_names[] = {
	[TASK_WORKING] = "working",     [TASK_INPUT_REQUIRED] = "input_required",
	[TASK_COMPLETED] = "completed", [TASK_FAILED] = "failed",
	[TASK_CANCELLED] = "cancelled",
};

enum { ID_BITS = 130 };

/* The id is random: a client must not be able to guess the id of another owner's task. */
static void make_id(char out[TASK_ID_SIZE])
{
	static const char prefix[] = "t_";

	memcpy(out, prefix, sizeof prefix);
	random_base32(out + strlen(prefix), ID_BITS);
}

bool task_has_ended(const struct mcp_task *task)
{
	return task->status >= TASK_COMPLETED;
}

void task_free(struct mcp_task *task)
{
	assert(task->call == NULL && list_is_empty(&task->waiters));
	list_remove(&task->node);
	json_decref(task->result);
	json_decref(task->error);
	(void)loop_timer_free(task->timer);
	free(task->owner);
	free(task);
}

static void on_time_over(void *ctx)
{
	struct mcp_task *task = ctx;

	if (task->call == NULL && list_is_empty(&task->waiters))
		task_free(task);
	else
		loop_timer_start(task->timer, KEPT_AFTER_END_MS);
}

struct mcp_task *task_find(const struct mcp_server *server, const char *owner, const char *id)
{
	LIST_EACH (node, &server->tasks) {
		struct mcp_task *task = container_of(node, struct mcp_task, node);

		if (strcmp(task->id, id) == 0 && strcmp(task->owner, owner) == 0)
			return task;
	}
	return NULL;
}

/* --- description --- */

json_t *task_describe(const struct mcp_task *task, bool is_stateless)
{
	json_t *all = json_obj();

	json_set(all, "taskId", json_str(task->id));
	json_set(all, "status", json_str(status_names[task->status]));
	if (task->message[0] != '\0')
		json_set(all, "statusMessage", json_str(task->message));
	json_set(all, "createdAt", json_str(task->created));
	json_set(all, "lastUpdatedAt", json_str(task->updated));
	json_set(all, is_stateless ? "ttlMs" : "ttl", json_int((json_int_t)task->ttl_ms));
	json_set(all, is_stateless ? "pollIntervalMs" : "pollInterval", json_int(TASK_POLL_MS));
	return all;
}

void task_add_details(const struct mcp_task *task, json_t *object)
{
	if (task->status == TASK_INPUT_REQUIRED && task->call != NULL)
		json_set(object, "inputRequests", json_incref(task->call->asks.questions));
	if (task->status == TASK_COMPLETED && task->result != NULL)
		json_set(object, "result", json_incref(task->result));
	if (task->status == TASK_FAILED && task->error != NULL)
		json_set(object, "error", json_incref(task->error));
}

json_t *task_related_meta(const struct mcp_task *task)
{
	return json_pair(MCP_META_RELATED_TASK, json_pair("taskId", json_str(task->id)));
}

/* --- changes --- */

/* Sends notifications/tasks/status: in 2025-11-25 to the session of the task, in the stateless era
 * to the listen requests. */
static void notify_status(struct mcp_task *task)
{
	struct mcp_call *call = task->call;

	if (call != NULL && call->session != NULL && call->session->is_ready &&
	    mcp_revision_has(call->revision, MCP_TASK_EXPERIMENT))
		session_notify(call->session, call->session->sink, "notifications/tasks/status",
		               task_describe(task, false));
	listen_notify_task(task);
}

void task_set_status(struct mcp_task *task, enum task_status status)
{
	if (task->status == status || task_has_ended(task))
		return;
	task->status = status;
	(void)clock_text(task->updated);
	notify_status(task);
}

void task_set_message(struct mcp_task *task, const char *text)
{
	size_t len = utf8_prefix(text, strlen(text), sizeof task->message - 1);

	memcpy(task->message, text, len);
	task->message[len] = '\0';
	(void)clock_text(task->updated);
}

static void answer_waiters(struct mcp_task *task)
{
	while (!list_is_empty(&task->waiters)) {
		struct mcp_call *waiter = container_of(task->waiters.next, struct mcp_call,
		                                       waiter_node);

		list_remove(&waiter->waiter_node);
		waiter->on_cancel = NULL;
		task_respond_result(waiter, task);
	}
}

static void set_end(struct mcp_task *task, enum task_status status)
{
	task_set_status(task, status);
	answer_waiters(task);
}

/* The oldest of the owner's tasks that have ended, without the one whose result is new. *ret_bytes:
 * what all of them hold. */
static struct mcp_task *find_oldest_ended(const struct mcp_task *newest, size_t *ret_bytes)
{
	struct mcp_task *oldest = NULL;
	size_t bytes = 0;

	LIST_EACH (node, &newest->server->tasks) {
		struct mcp_task *task = container_of(node, struct mcp_task, node);

		/* clang's analyser loses track of list links.
		 * NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		if (strcmp(task->owner, newest->owner) != 0)
			continue;
		bytes += task->bytes;
		if (oldest == NULL && task != newest && task->call == NULL)
			oldest = task;
	}
	*ret_bytes = bytes;
	return oldest;
}

/* Bounds the memory of results that no client fetches. */
static void make_room(struct mcp_task *newest)
{
	const size_t max = newest->server->config.limits.max_held;
	struct mcp_task *oldest;
	size_t bytes, len;

	free(json_write(newest->result != NULL ? newest->result : newest->error, &len));
	newest->bytes = len;
	while ((oldest = find_oldest_ended(newest, &bytes)) != NULL && bytes > max)
		task_free(oldest);
}

void task_finish(struct mcp_task *task, json_t *response)
{
	json_t *result = json_object_get(response, "result");
	json_t *error = json_object_get(response, "error");
	bool is_cancelled = task->call->cancelled;

	if (!task_has_ended(task) && !is_cancelled) {
		task->result = json_incref(result);
		task->error = json_incref(error);
	}
	json_decref(response);
	if (task->result != NULL || task->error != NULL)
		make_room(task);
	set_end(task, is_cancelled ? TASK_CANCELLED : error != NULL ? TASK_FAILED : TASK_COMPLETED);
	task->call->task = NULL;
	task->call = NULL;
}

/* The handler may need a moment to stop; its response is dropped. */
void task_cancel(struct mcp_task *task)
{
	struct mcp_call *call = task->call;

	if (task_has_ended(task))
		return;
	set_end(task, TASK_CANCELLED);
	if (call != NULL)
		call_cancel(call);
}

/* --- start --- */

static size_t count_tasks(const struct mcp_server *server, const char *owner)
{
	size_t count = 0;

	LIST_EACH (node, &server->tasks)
		if (strcmp(container_of(node, struct mcp_task, node)->owner, owner) == 0)
			count++;
	return count;
}

static struct mcp_task *task_new(struct mcp_call *call, uint64_t ttl_ms)
{
	struct mcp_task *task = mem_new(sizeof *task);

	task->server = call->server;
	task->call = call;
	make_id(task->id);
	task->owner = mem_dup(call->owner);
	(void)clock_text(task->created);
	(void)clock_text(task->updated);
	task->ttl_ms = ttl_ms != 0 ? ttl_ms : TASK_TTL_MS;
	task->timer = loop_timer_new(call->loop, on_time_over, task);
	loop_timer_start(task->timer, task->ttl_ms);
	list_init(&task->waiters);
	list_add(&call->server->tasks, &task->node);
	return task;
}

bool task_start(struct mcp_call *call, uint64_t ttl_ms)
{
	bool is_stateless = mcp_revision_has(call->revision, MCP_STATELESS);
	json_t *result, *description;

	if (count_tasks(call->server, call->owner) >= call->server->config.limits.max_tasks)
		return false;
	call->task = task_new(call, ttl_ms);
	description = task_describe(call->task, is_stateless);
	if (is_stateless) {
		result = description;
		json_set(result, "resultType", json_str("task"));
	} else {
		result = json_obj();
		json_set(result, "task", description);
	}
	call_respond_early(call, result);
	return true;
}
