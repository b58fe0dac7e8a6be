/* run_result.h - the end or the state of a process as an answer: text for people and models, and
 * the same as structured content. Some clients show only the one, some only the other, so
 * nothing is in one of them alone.
 *
 * Text: stdout; stderr behind a line "[stderr]"; what the code wanted to be seen; the traceback of
 * a cell; then a line in brackets for each thing there is to say. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "mcp/param/param.h"
#include "sandbox/process/process.h"
#include "json/json.h"

struct run_result {
	const struct process_state *state;
	struct process_stream out, errors;
	uint64_t out_bytes, error_bytes; /* in all, of the process */
	const char *process;             /* its name, if it can be asked for again; or NULL */
	uint64_t next;                   /* `since` of the next question; with `process` */
	bool has_more;                   /* printed already, beyond what is told here */
	uint64_t lost;                   /* bytes before this that are not kept any more */
	const char *session;             /* NULL: it is no cell */
	const char *sandbox;             /* NULL: the caller knows which */
	const char *remark;              /* one more line; or NULL */
	uint32_t timeout_ms;             /* 0: unknown, or none */
	size_t max;                      /* bytes of text */
	/* Of each of state->shown, why it is not beside the text though it is a picture; or
	 * NULL. NULL altogether: none is. */
	const char *const *unshown;
};

/* The streams of a process and their totals, filled in. */
static inline void run_result_streams(struct run_result *result, struct process *process)
{
	result->out = process_stream(process, false);
	result->errors = process_stream(process, true);
	result->out_bytes = result->out.total;
	result->error_bytes = result->errors.total;
}

/* Whether some of stdout and of stderr would be left out. */
void run_result_cuts(const struct run_result *result, bool ret[2]);

/* A new text, and the structured value. */
void run_result_make(const struct run_result *result, char **ret_text, json_t **ret_structured);

/* Of the structured value, for a tool's record. */
extern const struct param run_result_output[];

bool run_result_is_picture(const struct process_display *shown);
