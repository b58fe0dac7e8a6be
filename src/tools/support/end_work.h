/* end_work.h - a call that ends all processes of a sandbox and removes its files: the common
 * part of reset_sandbox and delete_sandbox. The sandbox is held until the call is answered, and is
 * not woken. */
#pragma once
#include "base/attr.h"
#include "mcp/param/param.h"
#include "sandbox/sandbox.h"

struct error;
struct mcp_call;

/* sandbox_reset() or sandbox_delete(). */
typedef void end_work_fn(struct sandbox *sandbox, sandbox_fn *fn, void *ctx);

/* `name`: id or name, NULL for the default sandbox. `message` is the answer when `end`
 * succeeded. */
MUST_CHECK int end_work_start(struct mcp_call *call, const char *name, end_work_fn *end,
                              const char *message, struct error *err);

/* Like end_work_start(), for a sandbox that the caller has found, with an answer of the caller's,
 * which is taken over; `content` NULL: the structured content as text. */
void end_work_start_in(struct mcp_call *call, struct sandbox *sandbox, end_work_fn *end,
                       json_t *content, json_t *structured);

/* The output table of both tools. */
extern const struct param end_work_output[];
