/* files.h - one operation on the files of a sandbox, performed inside by its agent.
 *
 *   files_start -> fn, or files_cancel
 *
 * The agent resolves the path below the sandbox's root, with the rights of the sandbox's user. The
 * server never opens a file of the sandbox itself: sandboxed code could replace it by a link while
 * the server looks. An operation may be cancelled at any time; the agent then undoes a partial
 * change. */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "wire/message.h"

struct channel;
struct error;
struct files_op;

struct files_reply {
	struct wire_done done;
	struct view bytes; /* READ: the content. LIST, TREE, FIND, GREP, STAT: records */
};

/* Called exactly once, from the loop; why NULL: success. The kinds ERR_NOT_FOUND, ERR_LIMIT and
 * ERR_INVALID are distinguished, and the message names the path. The operation is freed by then. */
typedef void files_fn(void *ctx, const struct files_reply *reply, const struct error *why);

/* The request is READ, WRITE or UNPACK (of `content`, which must live until fn), STAT, LIST, TREE,
 * FIND, GREP, REMOVE or RENAME. A reply of more than `max` bytes fails with ERR_LIMIT.
 * The channel is a sandbox's (sandbox_channel()), or that of a directory of the host
 * (sandbox/porter/host.h). */
MUST_CHECK int files_start(struct channel *channel, const struct wire_message *request,
                           struct view content, size_t max, files_fn *fn, void *ctx,
                           struct files_op **ret, struct error *err);
void files_cancel(struct files_op *op); /* fn is not called; NULL is accepted */

/* Read the records of a reply one by one: start with *rest = reply->bytes. False: no more. */
bool files_next_entry(struct view *rest, struct wire_entry *ret);
bool files_next_match(struct view *rest, struct wire_match *ret);
