/* op_walk.c - what is below a directory: all of it (TREE), or what has a name like this (FIND).
 *
 * Where the walk goes is told in walk.h. MORE means that at least one more entry was there
 * when the limit had been reached, or that a path was too long to be told; of TREE also
 * that the depth allowed cut something off. */
#include <errno.h>

#include "agent/files/entry.h"
#include "agent/files/glob.h"
#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "agent/files/walk.h"
#include "base/cleanup.h"
#include "base/error.h"

static int start(const struct job *job, struct view path, unsigned depth, bool hidden,
                 struct walk *walk, struct error *err)
{
	int dir = path_open_directory(job, path, err);

	if (dir < 0)
		return -1;
	walk_init(walk, dir, depth, hidden);
	return 0;
}

/* Sends the entries that match, or all if glob is NULL. */
static int send_entries(struct job *job, struct walk *walk, struct glob *glob, uint32_t limit,
                        struct wire_done *done, struct error *err)
{
	struct walk_entry entry;
	int got;

	while ((got = walk_next(walk, &entry, err)) > 0) {
		if (glob != NULL && !glob_match(glob, entry.path))
			continue;
		if (done->count == limit) {
			done->flags |= WIRE_DONE_MORE;
			return 0;
		}
		if (entry_send(job, entry.path, &entry.st, entry.dir, entry.name, err) < 0)
			return -1;
		done->count++;
	}
	return got;
}

static int finish(struct job *job, bool cut, struct wire_done *answer, struct wire_done *done,
                  struct error *err)
{
	if (job_flush(job, err) < 0)
		return -1;
	if (cut)
		answer->flags |= WIRE_DONE_MORE;
	*done = *answer;
	return 0;
}

static int failed_at(struct view path, struct error *err)
{
	char shown[PATH_SHOW_SIZE];

	return err->errnum == EPIPE ? -1 : error_wrap(err, "%s", path_show(path, shown));
}

int op_tree(struct job *job, const struct wire_tree *request, struct wire_done *done,
            struct error *err)
{
	AUTO_WALK struct walk walk = { 0 };
	struct wire_done answer = { 0 };

	if (start(job, request->path, request->depth, (request->flags & WIRE_WALK_HIDDEN) != 0,
	          &walk, err) < 0)
		return -1;
	walk.batch = (size_t)request->limit + 1;
	if (send_entries(job, &walk, NULL, request->limit, &answer, err) < 0)
		return failed_at(request->path, err);
	return finish(job, walk.deeper || walk.lost, &answer, done, err);
}

int op_find(struct job *job, const struct wire_find *request, struct wire_done *done,
            struct error *err)
{
	AUTO_WALK struct walk walk = { 0 };
	struct wire_done answer = { 0 };
	struct glob glob;

	if (glob_init(&glob, request->pattern, (request->flags & WIRE_WALK_IGNORE_CASE) != 0, err) <
	    0)
		return -1;
	if (start(job, request->path, request->depth, (request->flags & WIRE_WALK_HIDDEN) != 0,
	          &walk, err) < 0)
		return -1;
	if (send_entries(job, &walk, &glob, request->limit, &answer, err) < 0)
		return failed_at(request->path, err);
	return finish(job, walk.lost, &answer, done, err);
}
