/* spill.h - the file inside that keeps a stream of output whole.
 *
 * Bytes are handed on to the agent as fast as it takes them; only those it has not taken yet are
 * here. `taken` says how many have gone, so that the program may print as many more: it waits for
 * its file, but never for long. A file that does not get on is given up, and what comes then is
 * taken at once and forgotten.
 *
 *   spill_new -> spill_add ... -> spill_end -> over -> spill_free */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/view.h"

struct sandbox;
struct spill;

struct spill_events {
	void (*taken)(void *ctx, size_t bytes); /* never from within spill_new() */
	void (*over)(void *ctx); /* after spill_end(), from the loop: it is as it is */
};

/* An old file of that name goes. At most `max` bytes of it are written. `first` is what was printed
 * before there was a file: nobody waits for it to be taken. */
struct spill *spill_new(struct sandbox *sandbox, const char *path, uint64_t max, struct view first,
                        struct view second, const struct spill_events *events, void *ctx);
void spill_add(struct spill *spill, struct view bytes);
void spill_end(struct spill *spill);
/* Now, whatever waits; `over` does not come. Nothing of the sandbox is touched any more. */
void spill_stop(struct spill *spill);
void spill_free(struct spill *spill); /* whatever it is doing; NULL is fine */

const char *spill_path(const struct spill *spill); /* NULL: there is no file */
const char *spill_note(const struct spill *spill); /* why not all is in it; NULL: it is */
