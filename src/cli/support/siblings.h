/* siblings.h - files and directories of this machine that `run --with` copies into the sandbox, so
 * that they are beside the code.
 *
 *   siblings_prepare -> siblings_copy -> siblings_stop -> siblings_close
 *
 * siblings_prepare() starts the porter, and so comes before this process gives up its rights. */
#pragma once

#include "base/attr.h"
#include "sandbox/porter/porter.h"

struct attachment;
struct error;

enum { SIBLINGS_MAX = 16 };

typedef void siblings_fn(void *ctx, const struct error *why);

struct siblings {
	struct porter porter;
	char *paths[SIBLINGS_MAX]; /* real paths */
	size_t count, next;
	struct attachment *attachment;
	struct host *host;
	struct host_handle *handle;
	struct copy *copy;
	siblings_fn *done;
	void *ctx;
};

/* `list` has paths with ':' between them; NULL: none. The caller has zeroed the struct. */
MUST_CHECK int siblings_prepare(struct siblings *siblings, const char *list, const char *state,
                                struct error *err);
/* Copies the contents of directories, and files under their names, into /workspace. */
MUST_CHECK int siblings_copy(struct siblings *siblings, struct attachment *attachment,
                             siblings_fn *done, void *ctx, struct error *err);
/* Cancels a copy under way and closes the connection to the porter. */
void siblings_stop(struct siblings *siblings);
/* Stops the porter and frees the paths, also after a failure of siblings_prepare(). */
void siblings_close(struct siblings *siblings);
