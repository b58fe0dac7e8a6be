/* call.h - one request that a handler works on.
 *
 * A handler gets the call and its decoded arguments. It may answer at once or keep the
 * pointer and answer later from the loop. The one rule: every call is answered exactly
 * once, by one of the answering functions below, also after it was cancelled (the
 * answer then goes nowhere). Answering ends the call; the pointer is dead afterwards.
 *
 *   handler ---- answer ------------------------------------> gone
 *      \--- keep --- progress, log ... --- answer -----------> gone
 *             \--- on_cancel: stop the work, then answer ----> gone
 *
 * Arguments stay valid until the answer. Loop thread only. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "mcp/level.h"
#include "json/json.h"

struct error;
struct loop;
struct mcp_call;

/* 0: answered, or will be. -1: refused; the core answers with *err (for a tool a result
 * with isError, else a JSON-RPC error). */
typedef int mcp_handler_fn(struct mcp_call *call, const void *args, struct error *err);

/* The client cancelled the call or went away. May answer from within. */
typedef void mcp_cancel_fn(struct mcp_call *call, void *ctx);

/* At most one; without it a cancelled call simply runs to its unheard answer. */
void mcp_call_on_cancel(struct mcp_call *call, mcp_cancel_fn *fn, void *ctx);
bool mcp_call_is_cancelled(const struct mcp_call *call);

void *mcp_call_app(const struct mcp_call *call); /* what the server was made with */
struct loop *mcp_call_loop(const struct mcp_call *call);
/* The struct mcp_tool, mcp_resource, mcp_template or mcp_prompt it is for: records that are part
 * of something larger lead to it. */
const void *mcp_call_record(const struct mcp_call *call);

/* Sent only if the client asked for progress, only while it grows, and at most ten a
 * second on average. total 0: unknown. */
void mcp_call_progress(struct mcp_call *call, double progress, double total, const char *fmt, ...)
        PRINTF_LIKE(4, 5);
/* A log message to this client, if it wants that severity. */
void mcp_call_log(struct mcp_call *call, enum mcp_level level, const char *logger, const char *fmt,
                  ...) PRINTF_LIKE(4, 5);

/* --- answering; all take over the JSON they are given --- */

/* A tool's result. content: an array of blocks; NULL: the structured value as text. */
void mcp_respond_content(struct mcp_call *call, json_t *content, json_t *structured);
/* A tool's own failure, as a result the model reads. */
void mcp_respond_tool_error(struct mcp_call *call, const struct error *err);
/* A resource's contents. */
void mcp_respond_text(struct mcp_call *call, const char *mime_type, struct view text);
void mcp_respond_blob(struct mcp_call *call, const char *mime_type, struct view bytes);
/* A prompt: an array of messages. */
void mcp_respond_messages(struct mcp_call *call, const char *description, json_t *messages);
