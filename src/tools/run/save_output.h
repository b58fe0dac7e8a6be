/* save_output.h - saves output that the answer of a call has to cut to a file in the sandbox.
 *
 * Output that is too long for memory goes to such a file while the process runs (spill.h). Output
 * that fits into memory but not into the answer is saved here, after the process has ended.
 *
 *   save_output_start -> fn -> save_output_done, which also cancels
 *
 * The struct belongs to the caller; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>

#include "sandbox/process/process.h"

struct files_op;
struct run_fit;
struct run_result;
struct sandbox;

struct save_output {
	struct sandbox *sandbox;
	struct process *process; /* has ended */
	bool is_wanted[2];       /* stdout, stderr: still to be saved */
	bool is_saved[2];
	char path[2][80];
	char *bytes; /* being written */
	struct files_op *op;
	void (*fn)(void *ctx);
	void *ctx;
};

/* Saves the streams that the fit has cut. fn is called when they are saved or cannot be,
 * perhaps from within, and not after save_output_done(). */
void save_output_start(struct save_output *save, struct sandbox *sandbox, struct process *process,
                       const struct run_result *result, const struct run_fit *fit,
                       void (*fn)(void *ctx), void *ctx);
/* Puts the paths of saved files into the result. */
void save_output_set_files(const struct save_output *save, struct run_result *result);
void save_output_done(struct save_output *save);
