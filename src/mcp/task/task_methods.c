/* task_methods.c - tasks/get, tasks/result, tasks/list, tasks/cancel and tasks/update. */
#include <string.h>

#include "mcp/ask/asks.h"
#include "mcp/internal.h"
#include "mcp/task/task.h"

static bool is_stateless(const struct mcp_call *call)
{
	return mcp_revision_has(call->revision, MCP_STATELESS);
}

/* The task that params.taskId names, or NULL: the error has been sent. The tasks of other owners
 * are as unknown as ids that do not exist. */
static struct mcp_task *find_task(struct mcp_call *call)
{
	const char *id = json_text(call->params, "taskId");
	struct mcp_task *task = NULL;

	if (is_stateless(call) && (call->abilities & CLIENT_TASKS) == 0) {
		call_respond_unable(call, CLIENT_TASKS);
		return NULL;
	}
	if (id != NULL)
		task = task_find(call->server, call->owner, id);
	if (task == NULL)
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'taskId' names no task of yours; tasks are deleted when their "
		                   "time is over");
	return task;
}

void tasks_get_method(struct mcp_call *call)
{
	const struct mcp_task *task = find_task(call);
	json_t *result;

	if (task == NULL)
		return;
	result = task_describe(task, is_stateless(call));
	if (is_stateless(call))
		task_add_details(task, result);
	call_respond(call, result);
}

void tasks_cancel_method(struct mcp_call *call)
{
	struct mcp_task *task = find_task(call);

	if (task == NULL)
		return;
	if (is_stateless(call)) {
		task_cancel(task);
		call_respond(call, json_obj());
	} else if (task_has_ended(task)) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "the task has ended already");
	} else {
		task_cancel(task);
		call_respond(call, task_describe(task, false));
	}
}

void tasks_update_method(struct mcp_call *call)
{
	const json_t *responses = json_object_get(call->params, "inputResponses");
	struct mcp_task *task = find_task(call);
	struct mcp_call *asker;

	if (task == NULL)
		return;
	if (!json_is_object(responses)) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL,
		                   "'inputResponses' must be an object");
		return;
	}
	asker = task->status == TASK_INPUT_REQUIRED ? task->call : NULL;
	if (asker != NULL)
		asks_take_responses(asker, responses);
	call_respond(call, json_obj());
}

void tasks_list_method(struct mcp_call *call)
{
	json_t *all = json_list();

	LIST_EACH (node, &call->server->tasks) {
		const struct mcp_task *task = container_of(node, struct mcp_task, node);

		if (strcmp(task->owner, call->owner) == 0)
			json_push(all, task_describe(task, false));
	}
	call_respond(call, json_pair("tasks", all));
}

/* --- tasks/result --- */

void task_respond_result(struct mcp_call *call, const struct mcp_task *task)
{
	json_t *meta, *result;

	if (task->error != NULL) {
		call_respond_error(
		        call,
		        (enum rpc_code)json_integer_value(json_object_get(task->error, "code")),
		        json_incref(json_object_get(task->error, "data")), "%s",
		        json_string_value(json_object_get(task->error, "message")));
		return;
	}
	if (task->result == NULL) {
		call_respond_error(call, RPC_INVALID_PARAMS, NULL, "the task was cancelled");
		return;
	}
	result = json_copy(task->result);
	meta = task_related_meta(task);
	(void)json_object_update_missing(meta, json_object_get(result, "_meta"));
	json_set(result, "_meta", meta);
	call_respond(call, result);
}

static void on_waiter_cancelled(struct mcp_call *call, void *ctx)
{
	(void)ctx;
	list_remove(&call->waiter_node);
	call_end_without_response(call);
}

void tasks_result_method(struct mcp_call *call)
{
	struct mcp_task *task = find_task(call);

	if (task == NULL)
		return;
	if (task_has_ended(task)) {
		task_respond_result(call, task);
		return;
	}
	if (!call_reserve_limits(call))
		return;
	list_add(&task->waiters, &call->waiter_node);
	mcp_call_on_cancel(call, on_waiter_cancelled, NULL);
}

/* --- tools/call --- */

/* params.task.ttl in milliseconds, within the limits; 0 if there is none. */
static uint64_t read_ttl(const json_t *task)
{
	json_int_t ttl;

	if (!json_as_int(json_object_get(task, "ttl"), &ttl))
		return 0;
	if (ttl < TASK_TTL_MIN_MS)
		return TASK_TTL_MIN_MS;
	return ttl > TASK_TTL_MAX_MS ? TASK_TTL_MAX_MS : (uint64_t)ttl;
}

static bool check_experiment(struct mcp_call *call, const struct mcp_tool *tool)
{
	const json_t *task = json_member(call->params, "task", JSON_OBJECT);

	if (task == NULL && tool->task == MCP_TASK_REQUIRED) {
		call_respond_error(call, RPC_METHOD_NOT_FOUND, NULL,
		                   "'%s' runs as a task only: add 'task' to params", tool->name);
		return false;
	}
	if (task != NULL && tool->task == MCP_TASK_NEVER) {
		call_respond_error(call, RPC_METHOD_NOT_FOUND, NULL,
		                   "'%s' does not run as a task: leave 'task' out", tool->name);
		return false;
	}
	call->wants_task = task != NULL;
	call->task_ttl_ms = read_ttl(task);
	return true;
}

bool task_check_request(struct mcp_call *call, const struct mcp_tool *tool)
{
	if (mcp_revision_has(call->revision, MCP_TASK_EXPERIMENT))
		return check_experiment(call, tool);
	if (is_stateless(call) && tool->task == MCP_TASK_REQUIRED &&
	    (call->abilities & CLIENT_TASKS) == 0) {
		call_respond_unable(call, CLIENT_TASKS);
		return false;
	}
	return true;
}
