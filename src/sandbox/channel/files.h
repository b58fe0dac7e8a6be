/* files.h - one question or change to the files of a sandbox, done inside by its agent.
 *
 * The path is the agent's to resolve, below the sandbox's root, with the rights of its user: the
 * server never looks at a file itself. An operation may be dropped at any time; the agent then
 * undoes what is half done. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "wire/message.h"

struct channel;
struct error;
struct files_op;

struct files_reply {
	struct wire_done done;
	struct view bytes; /* READ: what was read. LIST, TREE, FIND, GREP, STAT: records */
};

/* Exactly once, from the loop; `why` NULL: it is done. ERR_NOT_FOUND, ERR_LIMIT and ERR_INVALID
 * are told apart, and the message names the path. */
typedef void files_fn(void *ctx, const struct files_reply *answer, const struct error *why);

/* READ, WRITE (of `content`, which must live until fn), STAT, LIST, TREE, FIND, GREP, MKDIR,
 * REMOVE, RENAME, REPLACE. At most `max` bytes of answer are kept: past it the operation fails
 * with ERR_LIMIT. The channel is a sandbox's (sandbox_channel()), or that of a directory of the
 * host (sandbox/host.h). */
MUST_CHECK int files_start(struct channel *channel, const struct wire_message *request,
                           struct view content, size_t max, files_fn *fn, void *ctx,
                           struct files_op **ret, struct error *err);
void files_cancel(struct files_op *op); /* fn is not called any more */

/* Records one by one: start with *rest = answer->bytes. False: there are no more. */
bool files_next_entry(struct view *rest, struct wire_entry *ret);
bool files_next_match(struct view *rest, struct wire_match *ret);
