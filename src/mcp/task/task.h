/* task.h - tasks: calls whose result the client fetches later, by an id.
 *
 *   task_start --- working --- completed, failed        the handler has responded
 *                     |   \--- cancelled                tasks/cancel, or the session was closed
 *                     \--- input_required --- working   the handler asks the client (ask.h)
 *
 * There are two forms. In 2025-11-25 the client asks for a task and gets its result by
 * tasks/result; the work ends with the session. In the stateless era the server decides, tasks/get
 * has the result, and the work goes on when the connection is closed, except on stdio. A task
 * belongs to an owner: for any other owner its id is unknown. A task that has ended is kept until
 * its time is over, or until the results of the owner's later tasks need its room (max_held).
 *
 * The server owns all tasks. The call of a task lives until its handler responds. */
#pragma once
#include "base/clock.h"
#include "base/list.h"
#include "json/json.h"

struct loop_timer;
struct mcp_call;
struct mcp_server;

enum task_status {
	TASK_WORKING,
	TASK_INPUT_REQUIRED,
	TASK_COMPLETED,
	TASK_FAILED,
	TASK_CANCELLED,
};

enum {
	TASK_ID_SIZE = 32, /* 26 characters of 130 random bits, and a prefix */
	TASK_MESSAGE_SIZE = 256,
	TASK_TTL_MS = 3600 * 1000, /* from its creation, unless the client asks for another time */
	TASK_TTL_MIN_MS = 1000,
	TASK_TTL_MAX_MS = 24 * 3600 * 1000,
	TASK_POLL_MS = 1000,
};

struct mcp_task {
	struct list node; /* in mcp_server.tasks */
	struct mcp_server *server;
	struct mcp_call *call; /* NULL after the handler has responded */
	char id[TASK_ID_SIZE];
	char *owner;
	enum task_status status;
	char message[TASK_MESSAGE_SIZE]; /* statusMessage; "": none */
	char created[CLOCK_TEXT_SIZE], updated[CLOCK_TEXT_SIZE];
	uint64_t ttl_ms;
	json_t *result, *error;   /* of the response; NULL: none */
	size_t bytes;             /* of result or error */
	struct loop_timer *timer; /* frees the task */
	struct list waiters;      /* calls of tasks/result */
};

/* Responds to the request of the call with a new task; the call goes on as that task. ttl_ms 0: the
 * default. False: the owner has too many tasks, and nothing was done. */
bool task_start(struct mcp_call *call, uint64_t ttl_ms);
/* The handler has responded. Takes over the JSON-RPC response; NULL: there is none. */
void task_finish(struct mcp_task *task, json_t *response);
void task_cancel(struct mcp_task *task);
void task_free(struct mcp_task *task);

void task_set_status(struct mcp_task *task, enum task_status status);
void task_set_message(struct mcp_task *task, const char *text);
bool task_has_ended(const struct mcp_task *task);

/* NULL: this owner has no task with the id. */
struct mcp_task *task_find(const struct mcp_server *server, const char *owner, const char *id);
/* The members of a task in the form of the era. */
json_t *task_describe(const struct mcp_task *task, bool is_stateless);
/* Adds result, error or inputRequests, as tasks/get of the stateless era has them. */
void task_add_details(const struct mcp_task *task, json_t *object);
/* {"io.modelcontextprotocol/related-task": {...}} for the _meta of messages about the task. */
json_t *task_related_meta(const struct mcp_task *task);

/* task_methods.c */
/* Responds to a call of tasks/result with the end of the task. */
void task_respond_result(struct mcp_call *call, const struct mcp_task *task);
/* Whether the tool may be called like this; false: an error has been sent. Notes in the call that
 * the client wants a task. */
struct mcp_tool;
bool task_check_request(struct mcp_call *call, const struct mcp_tool *tool);
