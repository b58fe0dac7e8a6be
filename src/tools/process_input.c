#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/base64.h"
#include "mcp/content.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/run/process_call.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

enum { INPUT_MAX = 1024 * 1024 };

struct input_args {
	const char *process, *sandbox, *encoding;
	struct view in;
	bool close;
	int64_t rows, columns;
};

static const struct param params[] = {
	PROCESS_CALL_PARAM(struct input_args),
	{ .name = "stdin",
	  .type = PARAM_TEXT,
	  .max = INPUT_MAX,
	  .offset = offsetof(struct input_args, in),
	  .also = PARAM_ALSO("input", "text"),
	  .help = "Most programs wait for a line: end it with \\n." },
	ARG(struct input_args, encoding, ENUM, "", .values = content_encoding_names,
	    .fallback.text = "utf-8", .more = "How `stdin` is encoded."),
	ARG(struct input_args, close, BOOL, "Close the standard input afterwards."),
	ARG(struct input_args, rows, INT, "With `columns`: a new size of its terminal.",
	    .max = 1000),
	ARG(struct input_args, columns, INT, "Likewise.", .max = 1000, .also = PARAM_ALSO("cols")),
	WORK_PARAM_SANDBOX(struct input_args),
	{ 0 },
};

static const struct param output[] = {
	FIELD("process", STRING, "Id of the process."),
	FIELD("written", INT, "Bytes that were queued for the program."),
	FIELD("closed", BOOL, "Its stdin was closed."),
	FIELD("next", INT, "`since` for process_output, to read only what is printed from now on."),
	{ 0 },
};

static void answer_input(struct mcp_call *call, struct process *process,
                         const struct input_args *args, size_t written)
{
	const char *id = process_id(process);
	json_t *content = json_list(), *structured = json_obj();

	char terminal[64] = "";

	if (args->rows != 0)
		(void)snprintf(terminal, sizeof terminal,
		               "its terminal has %d rows and %d columns, ", (int)args->rows,
		               (int)args->columns);
	json_push(content,
	          mcp_text("[%s%zu bytes written to %s%s; process_output {\"process\":\"%s\","
	                   "\"wait_s\":5} shows the program's reply]",
	                   terminal, written, id, args->close ? ", and its input has ended" : "",
	                   id));
	json_set(structured, "process", json_str(id));
	json_set(structured, "written", json_int((json_int_t)written));
	json_set(structured, "closed", json_boolean(args->close));
	json_set(structured, "next", json_int((json_int_t)process_call_total(process)));
	mcp_respond_content(call, content, structured);
}

static int process_input(struct mcp_call *call, const void *args, struct error *err)
{
	const struct input_args *a = args;
	struct view bytes = a->in;
	AUTO_FREE char *decoded = NULL;
	struct sandbox *sandbox;
	struct process *process;

	if (a->encoding == encoding_names[ENCODING_BASE64]) {
		if (base64_decode(a->in, &decoded, &bytes.len, err) < 0)
			return error_wrap(err, "argument 'stdin'");
		bytes.ptr = decoded;
	}
	if ((a->rows == 0) != (a->columns == 0))
		return error_set(err, ERR_INVALID,
		                 "arguments 'rows' and 'columns': give both or none");
	if (bytes.len == 0 && !a->close && a->rows == 0)
		return error_set(err, ERR_INVALID,
		                 "argument 'stdin' is empty: give text, or close: true to end the "
		                 "program's input");
	if (process_call_find(call, a->process, a->sandbox, &sandbox, &process, err) < 0)
		return -1;
	if (process_is_over(process))
		return error_set(
		        err, ERR_INVALID,
		        "%s has ended and reads no more input: process_output says how it ended",
		        process_id(process));
	if (a->rows != 0 &&
	    process_resize(process, (uint16_t)a->rows, (uint16_t)a->columns, err) < 0)
		return -1;
	if ((bytes.len != 0 && process_write(process, bytes, err) < 0) ||
	    (a->close && process_end_input(process, err) < 0))
		return -1;
	sandbox_touch(sandbox);
	answer_input(call, process, a, bytes.len);
	return 0;
}

/* A model reads all input schemas before its first call, so the size of the terminal is described
 * only in the manual. */
static void complete_schema(const void *app, json_t *properties)
{
	(void)app;
	(void)json_object_del(properties, "rows");
	(void)json_object_del(properties, "columns");
}

const struct mcp_tool tool_process_input = {
	.name = "process_input",
	.title = "Write to a process",
	.help = "Write to the standard input of a process of run_command with `background`. Read "
	        "the reply with process_output and `wait_s`.",
	.more = "For an interpreter, a debugger or an interactive program. All other processes "
	        "got their complete input at the start. Without `pty` a program may print only "
	        "when its buffer is full or its input ends: python3 -u and stdbuf -oL help.",
	.scope = MCP_SCOPE_RUN,
	.params = params,
	.args_size = sizeof(struct input_args),
	.output = output,
	.call = process_input,
	.complete_schema = complete_schema,
};
