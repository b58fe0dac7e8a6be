/* keep.h - output that is whole in memory but not in the answer goes to a file in the sandbox, like
 * output that is too long for memory did while it was printed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "sandbox/process/process.h"

struct files_op;
struct run_result;
struct sandbox;

typedef void keep_fn(void *ctx);

/* Zeroed: nothing is kept. */
struct keep {
	struct sandbox *sandbox;
	struct process *process; /* has ended */
	bool wanted[2];          /* of stdout, of stderr */
	bool is_there[2];
	char path[2][80];
	char *bytes; /* being written */
	struct files_op *op;
	keep_fn *fn;
	void *ctx;
};

/* What the answer would leave out. fn when it is written or cannot be, perhaps from within; never
 * after keep_done(). */
void keep_begin(struct keep *keep, struct sandbox *sandbox, struct process *process,
                const struct run_result *result, keep_fn *fn, void *ctx);
/* The files it made, as if the process had made them. */
void keep_name(const struct keep *keep, struct run_result *result);
void keep_done(struct keep *keep);
