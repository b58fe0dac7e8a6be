/* edit_lock.h - a lock on one file of a sandbox, so that calls that change it run one at a time.
 *
 * edit_file reads a file, edits the text in memory and writes it back. Two such calls at once on
 * one file would lose the changes of the first. Calls that change a file therefore take its lock
 * first; they get it in the order in which they asked.
 *
 * The lock's key is the sandbox's id and the normalized path. No request goes to the sandbox for
 * it, so two paths that lead to one file (a symbolic link, a hard link) are two locks.
 *
 *   edit_lock_acquire -> acquired(), at once or later -> edit_lock_release
 *
 * The struct is the caller's and is zeroed before the first use. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/list.h"

struct edit_lock;
struct loop;

typedef void edit_lock_fn(struct edit_lock *lock);

struct edit_lock {
	struct list node; /* in the list of all locks, oldest first */
	struct loop *loop;
	char *key;              /* NULL: not acquired, or released */
	edit_lock_fn *acquired; /* the caller's callback */
	bool is_owner;          /* false: waits behind another lock with the same key */
	bool is_notified;       /* acquired() was called */
};

/* If no other lock has this key, edit_lock_acquire() calls acquired() itself; otherwise the loop
 * calls acquired() when the locks before this one are released. `path` is absolute, or relative to
 * /workspace. */
void edit_lock_acquire(struct edit_lock *lock, struct loop *loop, const char *sandbox,
                       const char *path, edit_lock_fn *acquired);
/* Releases the lock, or ends its wait; does nothing for a lock that was never acquired. acquired()
 * of the next waiting lock is called from the loop, never from within this call. */
void edit_lock_release(struct edit_lock *lock);

/* The path as absolute text without ".", ".." and empty parts. Symbolic links are not looked at.
 * The caller frees. */
char *normalize_path(const char *path) RETURNS_NONNULL;
