/* run_order.h - the output and the displays of a process as pieces, in the order of an answer.
 *
 * The order is the one in which they appeared, if it is known and nothing was cut. Otherwise all of
 * stdout comes first, then stderr, then the displays.
 *
 *   run_order_init -> run_order_next ... -> run_order_done    (the struct belongs to the caller) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/view.h"

struct run_fit;
struct run_result;

struct run_order {
	const struct run_result *result;
	const struct run_fit *fit;
	bool is_known;   /* by the entries of the process */
	size_t at;       /* index of the next entry, or of the next group */
	size_t taken[2]; /* bytes of stdout and of stderr in earlier pieces */
	char *streams[2];
	struct buf text; /* of the last piece */
	bool is_shown[64];
	size_t rest; /* index of the first display that may be missing in the entries */
};

struct run_piece {
	bool is_display;
	size_t display;   /* its index in the state */
	bool is_stderr;   /* otherwise: the stream */
	struct view text; /* valid until the next piece */
};

void run_order_init(struct run_order *order, const struct run_result *result,
                    const struct run_fit *fit);
bool run_order_next(struct run_order *order, struct run_piece *ret);
void run_order_done(struct run_order *order);
