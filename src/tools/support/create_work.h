/* create_work.h - a call that creates a sandbox and answers when the sandbox is awake. */
#pragma once
#include "base/attr.h"
#include "sandbox/sandbox.h"
#include "json/json.h"

struct error;
struct mcp_call;

/* Makes the answer's object; the text of the answer is its JSON. `args` are the call's
 * arguments. */
typedef json_t *create_work_answer_fn(const struct mcp_call *call, const struct sandbox_row *row,
                                      const void *args);

/* Creates the sandbox and answers the call. `args` must live as long as the call. */
MUST_CHECK int create_work_start(struct mcp_call *call, const struct sandbox_options *options,
                                 create_work_answer_fn *answer, const void *args,
                                 struct error *err);
