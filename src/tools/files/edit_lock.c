#include "tools/files/edit_lock.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "loop/loop.h"

/* All locks of this process: there is one loop, and sandbox ids are unique within a server. */
static struct list locks = { &locks, &locks };

static struct edit_lock *lock_of(struct list *node)
{
	return container_of(node, struct edit_lock, node);
}

/* The oldest lock with this key, or NULL. */
static struct edit_lock *find_first(const char *key)
{
	LIST_EACH (node, &locks)
		if (strcmp(lock_of(node)->key, key) == 0)
			return lock_of(node);
	return NULL;
}

static void notify_owner(struct edit_lock *lock)
{
	lock->is_notified = true;
	lock->acquired(lock);
}

static struct edit_lock *find_unnotified_owner(void)
{
	LIST_EACH (node, &locks)
		if (lock_of(node)->is_owner && !lock_of(node)->is_notified)
			return lock_of(node);
	return NULL;
}

/* Runs from loop_defer(). The lock that became the owner may have been released since, so the
 * owners are looked up now; and each callback may change the list, so the search starts again after
 * it. */
static void notify_new_owners(void *ctx)
{
	struct edit_lock *lock;

	(void)ctx;
	while ((lock = find_unnotified_owner()) != NULL)
		notify_owner(lock);
}

void edit_lock_acquire(struct edit_lock *lock, struct loop *loop, const char *sandbox,
                       const char *path, edit_lock_fn *acquired)
{
	AUTO_FREE char *normal = normalize_path(path);

	lock->loop = loop;
	lock->key = mem_format("%s:%s", sandbox, normal);
	lock->acquired = acquired;
	lock->is_owner = find_first(lock->key) == NULL;
	list_add(&locks, &lock->node);
	if (lock->is_owner)
		notify_owner(lock);
}

void edit_lock_release(struct edit_lock *lock)
{
	struct edit_lock *next;

	if (lock->key == NULL)
		return;
	list_remove(&lock->node);
	next = lock->is_owner ? find_first(lock->key) : NULL;
	free(TAKE_PTR(lock->key));
	if (next == NULL)
		return;
	next->is_owner = true;
	loop_defer(lock->loop, notify_new_owners, NULL);
}

/* The length of the path without its last part; 0 for the root. */
static size_t parent_len(const char *path, size_t len)
{
	while (len != 0 && path[--len] != '/')
		;
	return len;
}

char *normalize_path(const char *path)
{
	char *whole = mem_format("%s/%s", path[0] == '/' ? "" : SPEC_WORKSPACE, path);
	size_t len = 0;

	/* The result is never longer than the part read so far, so it is built in place. */
	for (const char *at = whole; *at != '\0';) {
		size_t part = strcspn(at, "/");

		if (part == 2 && at[0] == '.' && at[1] == '.') {
			len = parent_len(whole, len);
		} else if (part != 0 && !(part == 1 && at[0] == '.')) {
			whole[len++] = '/';
			memmove(whole + len, at, part);
			len += part;
		}
		at += part + (at[part] == '/');
	}
	if (len == 0)
		whole[len++] = '/';
	whole[len] = '\0';
	return whole;
}
