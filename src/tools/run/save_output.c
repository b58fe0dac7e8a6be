#include "tools/run/save_output.h"

#include <stdlib.h>

#include "base/error.h"
#include "sandbox/channel/files.h"
#include "sandbox/sandbox.h"
#include "tools/run/answer/run_result.h"

enum { FILE_PERM = 0644 };

static void save_next(struct save_output *save);

static void on_written(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct save_output *save = ctx;
	bool is_stderr = !save->is_wanted[0];

	(void)reply;
	save->op = NULL;
	free(save->bytes);
	save->bytes = NULL;
	save->is_wanted[is_stderr] = false;
	save->is_saved[is_stderr] = why == NULL;
	save_next(save);
}

/* Returns whether on_written() will be called. */
static bool write_stream(struct save_output *save, bool is_stderr)
{
	struct channel *channel = sandbox_channel(save->sandbox);
	const struct process_stream stream = process_stream(save->process, is_stderr);
	size_t len = process_stream_kept(&stream);
	char *path = save->path[is_stderr];
	struct wire_message request = { .type = WIRE_WRITE };
	struct error err;

	if (channel == NULL)
		return false;
	process_file_path(save->process, is_stderr, path, sizeof save->path[0]);
	save->bytes = process_stream_copy(&stream);
	request.write = (struct wire_write){ .mode = WIRE_WRITE_REPLACE,
		                             .flags = WIRE_PARENTS,
		                             .perm = FILE_PERM,
		                             .max = len,
		                             .path = view_of(path) };
	if (files_start(channel, &request, (struct view){ save->bytes, len }, 0, on_written, save,
	                &save->op, &err) == 0)
		return true;
	free(save->bytes);
	save->bytes = NULL;
	return false;
}

static void save_next(struct save_output *save)
{
	for (int i = 0; i < 2; i++) {
		if (save->is_wanted[i] && write_stream(save, i != 0))
			return;
		save->is_wanted[i] = false;
	}
	save->fn(save->ctx);
}

static bool needs_file(const struct process_stream *stream, bool is_cut)
{
	return is_cut && stream->file == NULL && stream->left_out == 0;
}

void save_output_start(struct save_output *save, struct sandbox *sandbox, struct process *process,
                       const struct run_result *result, const struct run_fit *fit,
                       void (*fn)(void *ctx), void *ctx)
{
	*save = (struct save_output){
		.sandbox = sandbox, .process = process, .fn = fn, .ctx = ctx
	};
	save->is_wanted[0] = needs_file(&result->out, fit->out_missing != 0);
	save->is_wanted[1] = needs_file(&result->errors, fit->errors_missing != 0);
	save_next(save);
}

void save_output_set_files(const struct save_output *save, struct run_result *result)
{
	if (save->is_saved[0])
		result->out.file = save->path[0];
	if (save->is_saved[1])
		result->errors.file = save->path[1];
}

void save_output_done(struct save_output *save)
{
	if (save->op != NULL)
		files_cancel(save->op);
	save->op = NULL;
	free(save->bytes);
	save->bytes = NULL;
}
