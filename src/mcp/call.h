/* call.h - one request of a client while a handler works on it.
 *
 * A handler gets the call and its decoded arguments. It responds at once, or keeps the pointer and
 * responds later from the event loop. Every call must be responded to exactly once, by one of the
 * mcp_respond_*() functions, even after it was cancelled (the response is then discarded).
 * Responding ends the call: the pointer and the arguments must not be used afterwards.
 *
 *   handler --- respond -----------------------------------------> freed
 *      \--- keep the pointer --- progress, log --- respond ------> freed
 *             \--- on_cancel: stop the work, then respond -------> freed */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "mcp/level.h"
#include "json/json.h"

struct error;
struct loop;
struct mcp_call;

/* Returns 0 if it has responded or will. Returns -1 to respond with *err: a tool's result with
 * isError, for other methods a JSON-RPC error. */
typedef int mcp_handler_fn(struct mcp_call *call, const void *args, struct error *err);

/* The client has sent notifications/cancelled for the call, or the session is closed. The
 * function may respond. */
typedef void mcp_cancel_fn(struct mcp_call *call, void *ctx);

/* Can be set once; NULL unsets it. Without it the handler's work goes on after a cancellation. */
void mcp_call_on_cancel(struct mcp_call *call, mcp_cancel_fn *fn, void *ctx);

void *mcp_call_app(const struct mcp_call *call); /* mcp_config.app */
/* On whose behalf the call is made (mcp_caller.owner). Valid as long as the call. */
const char *mcp_call_owner(const struct mcp_call *call);
/* Whether the client runs on this machine for the user who started the server, so that directories
 * which it declares as its roots can be used (mcp_caller.has_roots). */
bool mcp_call_has_roots(const struct mcp_call *call);
/* The language of the client's user (mcp_caller.language), such as "zh"; "": not known. */
const char *mcp_call_language(const struct mcp_call *call);
/* Closes the connection that the response would be sent on; the client comes back for the response
 * by itself. Returns false if the transport cannot resume streams: nothing is closed then. */
bool mcp_call_close_stream(struct mcp_call *call);
struct loop *mcp_call_loop(const struct mcp_call *call);
/* The struct mcp_tool, mcp_resource, mcp_template or mcp_prompt that was called. Where the record
 * is a member of a larger struct, container_of() finds that. */
const void *mcp_call_record(const struct mcp_call *call);

/* Turns the call into a task: the client gets the id of the task now, and fetches the result, which
 * the handler responds with as usual, later. Returns false if the client has not declared tasks, or
 * the tool does not support them (mcp_tool.task), or the owner has too many: the call goes on as it
 * is. True if the call is a task already. Clients of 2025-11-25 ask for a task themselves. */
bool mcp_call_start_task(struct mcp_call *call);
bool mcp_call_is_task(const struct mcp_call *call);

/* Sends notifications/progress if the request has a progress token. Values that do not increase
 * are dropped, and so is everything above ten messages a second on average. total 0: unknown. The
 * text is also the status message of a task. */
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *fmt, ...)
        PRINTF_LIKE(4, 5);
/* Sends notifications/message if the client wants messages of this level. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);

/* The functions that respond take over the references of the JSON values they are given. */

/* The result of tools/call. content: an array of content blocks; NULL: `structured` as text. */
void mcp_respond_content(struct mcp_call *call, json_t *content, json_t *structured);
/* The result of a tool that failed, with isError: the model reads the message. */
void mcp_respond_tool_error(struct mcp_call *call, const struct error *err);
/* A JSON-RPC error: the server is at fault (-32603). Tools report their own failures with
 * mcp_respond_tool_error(). */
void mcp_respond_error(struct mcp_call *call, const char *message);
/* The contents of resources/read. */
void mcp_respond_text(struct mcp_call *call, const char *mime_type, struct view text);
void mcp_respond_blob(struct mcp_call *call, const char *mime_type, struct view bytes);
/* The result of prompts/get: an array of messages. */
void mcp_respond_messages(struct mcp_call *call, const char *description, json_t *messages);
