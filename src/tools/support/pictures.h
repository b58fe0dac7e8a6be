/* pictures.h - the pictures a process left in its sandbox, as blocks for an answer.
 *
 * They are files that sandboxed code has written, so they may be anything: each is read within
 * bounds and sent only if it begins like what it claims to be. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/view.h"
#include "sandbox/process/process.h"
#include "json/json.h"

struct files_op;
struct sandbox;

typedef void pictures_fn(void *ctx);

/* Zeroed: there is none. */
struct pictures {
	struct sandbox *sandbox;
	struct process *process; /* has ended */
	uint64_t max, left;      /* bytes: of one, of all that are still to come */
	size_t at, count;
	struct files_op *op;
	json_t *blocks; /* of those that are there */
	/* Why the one at this place of the process's list is not; NULL: it is, or is none. */
	const char *unshown[PROCESS_DISPLAYS_MAX];
	pictures_fn *fn;
	void *ctx;
};

bool pictures_are_there(struct process *process);
/* fn when all were looked at, from the loop or from within; never after pictures_done(). */
void pictures_begin(struct pictures *pictures, struct sandbox *sandbox, struct process *process,
                    uint64_t max, pictures_fn *fn, void *ctx);
void pictures_done(struct pictures *pictures);

/* Whether the bytes begin like a picture of this type, and one of a size that can be shown. */
bool pictures_is_one(const char *mime, struct view bytes);
