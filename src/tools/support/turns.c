#include "tools/support/turns.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "engine/spec.h"
#include "loop/loop.h"

enum { HELD_MAX = 64 * 1024 * 1024 };

/* One for the process, as there is one loop: sandboxes have their ids from one manager. */
static struct list turns = { &turns, &turns };
static size_t held_by_all;

static struct turn *turn_of(struct list *node)
{
	return container_of(node, struct turn, node);
}

/* Who came first of those that want this file; NULL: nobody does. */
static struct turn *first_for(const char *key)
{
	LIST_EACH (node, &turns)
		if (strcmp(turn_of(node)->key, key) == 0)
			return turn_of(node);
	return NULL;
}

static void begin(struct turn *turn)
{
	turn->has_begun = true;
	turn->go(turn);
}

static struct turn *next_due(void)
{
	LIST_EACH (node, &turns)
		if (turn_of(node)->has_file && !turn_of(node)->has_begun)
			return turn_of(node);
	return NULL;
}

/* Whoever was due when this was deferred may be gone, so it is found only now. Each one that begins
 * may end at once and change the list. */
static void begin_due(void *ctx)
{
	struct turn *turn;

	(void)ctx;
	while ((turn = next_due()) != NULL)
		begin(turn);
}

void turn_take(struct turn *turn, struct loop *loop, const char *sandbox, const char *path,
               turn_fn *go)
{
	char *plain = turns_plain_path(path);

	turn->loop = loop;
	turn->key = mem_format("%s:%s", sandbox, plain);
	turn->go = go;
	free(plain);
	turn->has_file = first_for(turn->key) == NULL;
	list_add(&turns, &turn->node);
	if (turn->has_file)
		begin(turn);
}

void turn_end(struct turn *turn)
{
	struct turn *next;

	if (turn->key == NULL)
		return;
	list_remove(&turn->node);
	next = turn->has_file ? first_for(turn->key) : NULL;
	free(TAKE_PTR(turn->key));
	if (next == NULL)
		return;
	next->has_file = true;
	loop_defer(turn->loop, begin_due, NULL);
}

int turns_hold(size_t *held, size_t bytes, struct error *err)
{
	size_t others = held_by_all - *held;

	if (bytes > HELD_MAX - others)
		return error_set(err, ERR_LIMIT,
		                 "too many large files at once: calls under way hold %zu bytes of "
		                 "at most %d, and this one needs %zu; try again when they are done",
		                 others, HELD_MAX, bytes);
	held_by_all = others + bytes;
	*held = bytes;
	return 0;
}

void turns_let_go(size_t *held)
{
	held_by_all -= *held;
	*held = 0;
}

/* Without the last part; the root has none. */
static size_t parent(const char *path, size_t len)
{
	while (len != 0 && path[--len] != '/')
		;
	return len;
}

char *turns_plain_path(const char *path)
{
	char *whole = mem_format("%s/%s", path[0] == '/' ? "" : SPEC_WORKSPACE, path);
	size_t len = 0;

	for (const char *at = whole; *at != '\0';) {
		size_t part = strcspn(at, "/");

		if (part == 2 && at[0] == '.' && at[1] == '.') {
			len = parent(whole, len);
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
