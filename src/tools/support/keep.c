#include "tools/support/keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"
#include "tools/support/run_result.h"

static void step(struct keep *keep);

static void on_written(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct keep *keep = ctx;
	bool is_stderr = !keep->wanted[0];

	(void)answer;
	keep->op = NULL;
	free(keep->bytes);
	keep->bytes = NULL;
	keep->wanted[is_stderr] = false;
	keep->is_there[is_stderr] = why == NULL;
	step(keep);
}

/* True: its answer will come. */
static bool write_file(struct keep *keep, bool is_stderr)
{
	struct channel *channel = sandbox_channel(keep->sandbox);
	const struct process_stream stream = process_stream(keep->process, is_stderr);
	size_t len = stream.head.len + stream.tail.len;
	char *path = keep->path[is_stderr];
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;

	if (channel == NULL)
		return false;
	process_file_path(keep->process, is_stderr, path, sizeof keep->path[0]);
	keep->bytes = mem_new(len + 1);
	memcpy(keep->bytes, stream.head.ptr, stream.head.len);
	if (stream.tail.len != 0)
		memcpy(keep->bytes + stream.head.len, stream.tail.ptr, stream.tail.len);
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = 0644,
		                             .max = len,
		                             .path = view_of(path) };
	return files_start(channel, &request, (struct view){ keep->bytes, len }, 0, on_written,
	                   keep, &keep->op, &err) == 0;
}

static void step(struct keep *keep)
{
	for (int i = 0; i < 2; i++) {
		if (keep->wanted[i] && write_file(keep, i != 0))
			return;
		keep->wanted[i] = false;
	}
	keep->fn(keep->ctx);
}

static bool needs_file(const struct process_stream *stream, bool is_cut)
{
	return is_cut && stream->file == NULL && stream->left_out == 0;
}

void keep_begin(struct keep *keep, struct sandbox *sandbox, struct process *process,
                const struct run_result *result, keep_fn *fn, void *ctx)
{
	bool is_cut[2];

	*keep = (struct keep){ .sandbox = sandbox, .process = process, .fn = fn, .ctx = ctx };
	run_result_cuts(result, is_cut);
	keep->wanted[0] = needs_file(&result->out, is_cut[0]);
	keep->wanted[1] = needs_file(&result->errors, is_cut[1]);
	step(keep);
}

void keep_name(const struct keep *keep, struct run_result *result)
{
	if (keep->is_there[0])
		result->out.file = keep->path[0];
	if (keep->is_there[1])
		result->errors.file = keep->path[1];
}

void keep_done(struct keep *keep)
{
	if (keep->op != NULL)
		files_cancel(keep->op);
	keep->op = NULL;
	free(keep->bytes);
	keep->bytes = NULL;
}
