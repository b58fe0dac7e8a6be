/* turns.h - changes of one file wait for each other, in the order they came.
 *
 * An edit reads, thinks and writes; two of them at once on one file would lose the first. A file
 * is known by its sandbox and its name as it reads, without asking the sandbox: two names of one
 * file are two files here.
 *
 *   turn_take -> go, now or later -> turn_end    (the struct is the caller's, zeroed at first) */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/list.h"

struct error;
struct loop;
struct turn;

typedef void turn_fn(struct turn *turn);

struct turn {
	struct list node;
	struct loop *loop;
	char *key;
	turn_fn *go;
	bool has_file, has_begun;
};

/* `path`: absolute, or relative to /workspace. go is called from within if nobody has the file. */
void turn_take(struct turn *turn, struct loop *loop, const char *sandbox, const char *path,
               turn_fn *go);
/* Also while it waits, and if it was never taken. The next one goes when the loop comes by. */
void turn_end(struct turn *turn);

/* What all calls together may hold of files, so that many large ones at once do not take the
 * machine's memory: *held, which is the caller's and 0 at first, becomes `bytes`, or ERR_LIMIT. */
MUST_CHECK int turns_hold(size_t *held, size_t bytes, struct error *err);
void turns_let_go(size_t *held);

/* The name without ".", ".." and empty parts, as if there were no links; the caller frees. */
char *turns_plain_path(const char *path) RETURNS_NONNULL;
