/* run_result.h - the state or the end of a process as the answer of a call: text for users and
 * models, and the same as structured content. Some clients show only the text, others only the
 * structured content, so each of the two has everything, once. A member that would be false, or
 * that only counts what stands beside it, is left out of the structured content.
 *
 *   (fill in a struct run_result) -> run_result_fit -> run_result_make -> run_fit_done
 *
 * The first block of the content is what the process made: stdout; stderr behind a line; displayed
 * values; the traceback of a cell, in the order in which they appeared (run_order.h). A picture is
 * a block of its own between them. The last block is what belljar says about the run, one status
 * line each. What belljar says begins with RUN_TEXT_MARK in all blocks, which output cannot imitate
 * (run_text.h). */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "mcp/param/param.h"
#include "sandbox/process/process.h"
#include "json/json.h"

struct changed_files;
struct sandbox;

struct run_result {
	const struct process_state *state;
	struct process_stream out, errors;
	uint64_t out_bytes, error_bytes; /* printed by the process in all */
	const char *process;             /* id, if later calls can use it; or NULL */
	uint64_t next;                   /* with `process`: `since` of the next process_output */
	bool has_more;                   /* the process has printed more than this answer has */
	uint64_t lost;       /* bytes in front of this answer that are not kept any more */
	const char *session; /* NULL: not a cell */
	const char *sandbox; /* id, if the caller has named one; or NULL */
	const char *remark;  /* one more status line; or NULL */
	bool knows_packages; /* the remark is about packages that were installed or missing */
	const char *programs_place;          /* of tools_context */
	struct sandbox *limits_of;           /* whose limits hints may name; or NULL */
	uint32_t timeout_ms;                 /* 0: unknown or none */
	size_t max;                          /* bytes of text */
	const struct changed_files *changed; /* that the run has left; NULL: not known */
	/* For each of state->displays: why its picture is not sent beside the text, or NULL. A NULL
	 * array: no pictures are sent. */
	const char *const *unshown;
};

/* Output that was cut to the limit of an answer. This is the only place where output is fitted. */
struct run_fit {
	struct buf out, errors;               /* as text */
	uint64_t out_missing, errors_missing; /* bytes of output that are left out */
	size_t display_room;                  /* bytes for displays and the traceback */
};

/* Sets the streams of a process and their totals. */
static inline void run_result_streams(struct run_result *result, struct process *process)
{
	result->out = process_stream(process, false);
	result->errors = process_stream(process, true);
	result->out_bytes = result->out.total;
	result->error_bytes = result->errors.total;
}

/* Fits the output into result->max. The fit stays valid as long as state, streams and max do not
 * change, so it can be made before the other fields of the result are known. */
void run_result_fit(const struct run_result *result, struct run_fit *ret);
void run_fit_done(struct run_fit *fit); /* zeroed is allowed */
/* Bytes of all output and displays before they are fitted. */
size_t run_fit_len(const struct run_result *result);

/* Makes the content and the structured content. `pictures`: blocks that are shown; or NULL. */
void run_result_make(const struct run_result *result, const struct run_fit *fit, json_t *pictures,
                     json_t **ret_content, json_t **ret_structured);

/* The schema of the structured content, for a tool's record (run_result_schema.c). */
extern const struct param run_result_output[];
