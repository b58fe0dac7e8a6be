/* spill.h - a file in the sandbox that gets a complete output stream.
 *
 * Bytes are sent to the agent as fast as it accepts them; only bytes that were not sent yet are in
 * memory. `taken` reports how many were sent, so that the program may print as many more: a program
 * that prints faster than its file can be written blocks in write(2). A file that makes no progress
 * for some seconds is given up; from then on bytes are accepted and discarded at once, so that a
 * full disk never stops a program.
 *
 *   spill_new -> spill_add ... -> spill_end -> closed -> spill_free
 *
 * The spill belongs to its creator. */
#pragma once
#include <stdint.h>

#include "base/view.h"

struct sandbox;
struct spill;

struct spill_events {
	void (*taken)(void *ctx, size_t bytes); /* never from within spill_new() */
	void (*closed)(void *ctx); /* after spill_end(), from the loop: the file does not change */
};

/* Removes an old file of that name and writes at most `max` bytes. `head` and `tail` are the output
 * so far, for which `taken` is not called. */
struct spill *spill_new(struct sandbox *sandbox, const char *path, uint64_t max, struct view head,
                        struct view tail, const struct spill_events *events, void *ctx);
void spill_add(struct spill *spill, struct view bytes);
void spill_end(struct spill *spill); /* no more bytes follow */
/* Stops at once, whatever is left to write, without any further event. The sandbox and its channel
 * are not used any more. */
void spill_stop(struct spill *spill);
void spill_free(struct spill *spill); /* in any state; NULL is allowed */

const char *spill_path(const struct spill *spill); /* NULL: the file was given up */
const char *spill_note(const struct spill *spill); /* why the file is not complete; NULL: it is */
