#include "tools/files/changed_files.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/channel/files.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/files/edit_lock.h"

enum { REPLY_MAX = 32 * 1024, SHOWN = 120, ANSWERED_MAX = 64 };

/* Times of files have the resolution of a clock tick, a few milliseconds. A file whose time is in
 * the tick in which a run began may have been changed by the call before, so the last changes that
 * were answered are kept: the hash of sandbox and path, and the time of the change. The time of the
 * answer would not do: a run that follows at once may change the file in the same tick. */
static struct answered {
	uint64_t hash, ms;
} answered[ANSWERED_MAX];
static uint64_t answered_count;

static uint64_t hash_file(const char *sandbox, const char *path)
{
	return hash_text(hash_text(HASH_START, sandbox), path);
}

static void add_answered(uint64_t hash, uint64_t ms)
{
	answered[answered_count++ % ANSWERED_MAX] = (struct answered){ hash, ms };
}

/* Whether a change at the time `ms` was among the first `before` answers. */
static bool was_answered(uint64_t hash, uint64_t ms, uint64_t before)
{
	if (before > answered_count)
		before = answered_count;
	for (uint64_t i = before; i != 0 && i + ANSWERED_MAX > answered_count; i--) {
		const struct answered *one = &answered[(i - 1) % ANSWERED_MAX];

		if (one->hash == hash && one->ms >= ms)
			return true;
	}
	return false;
}

void changed_files_answered(const char *sandbox, const char *path)
{
	struct timespec now;

	/* Not the coarse clock: since Linux 6.13 the time of a file may be ahead of it. */
	(void)clock_gettime(CLOCK_REALTIME, &now);
	add_answered(hash_file(sandbox, path),
	             (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

uint64_t changed_files_mark(void)
{
	return answered_count;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The agent's paths are relative to the workspace, unless a file is outside of it. */
static char *absolute_path(const char *path)
{
	if (path[0] == '/')
		return mem_dup(path);
	if (strcmp(path, ".") == 0)
		return mem_dup(SPEC_WORKSPACE);
	return mem_format(SPEC_WORKSPACE "/%s", path);
}

/* Whether the file was given and not changed since. */
static bool is_given(const struct changed_files *files, const char *path, uint64_t modified_ms)
{
	if (modified_ms > files->given_until_ns / 1000000)
		return false;
	for (size_t i = 0; i < files->given_count; i++) {
		AUTO_FREE char *given = normalize_path(files->given[i].path);

		if (strcmp(given, path) == 0)
			return true;
	}
	return false;
}

static void on_reply(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct changed_files *files = ctx;
	struct view rest = why == NULL ? reply->bytes : (struct view){ 0 };
	struct wire_entry entry;

	files->op = NULL;
	while (files->count < CHANGED_FILES_MAX && files_next_entry(&rest, &entry)) {
		AUTO_FREE char *path = absolute_path(entry.path.ptr);

		uint64_t hash = hash_file(files->sandbox, path);

		if (was_answered(hash, entry.modified_ms, files->mark) ||
		    is_given(files, path, entry.modified_ms))
			continue;
		add_answered(hash, entry.modified_ms);
		files->paths[files->count++] = TAKE_PTR(path);
	}
	files->has_more = why == NULL && (reply->done.flags & WIRE_DONE_MORE) != 0;
	qsort(files->paths, files->count, sizeof files->paths[0], compare_paths);
	files->fn(files->ctx);
}

void changed_files_start(struct changed_files *files, struct sandbox *sandbox,
                         const struct changed_files_options *options, void (*fn)(void *ctx),
                         void *ctx)
{
	const struct wire_message request = {
		.type = WIRE_CHANGES,
		.changes = { .flags = options->directories ? WIRE_CHANGES_DIRECTORIES : 0,
		             .since_ns = options->since_ns,
		             .limit = CHANGED_FILES_MAX,
		             .home = view_of(options->directories ? "" : SPEC_HOME "/") },
	};
	struct channel *channel = sandbox_channel(sandbox);
	struct error err;

	*files = (struct changed_files){ .mark = options->mark,
		                         .given_until_ns = options->given_until_ns,
		                         .given = options->given,
		                         .given_count = options->given_count,
		                         .fn = fn,
		                         .ctx = ctx };
	memcpy(files->sandbox, sandbox_row(sandbox)->spec.id, sizeof files->sandbox);
	if (channel == NULL || files_start(channel, &request, (struct view){ 0 }, REPLY_MAX,
	                                   on_reply, files, &files->op, &err) < 0)
		fn(ctx);
}

void changed_files_done(struct changed_files *files)
{
	if (files->op != NULL)
		files_cancel(files->op);
	for (size_t i = 0; i < files->count; i++)
		free(files->paths[i]);
	*files = (struct changed_files){ 0 };
}

void changed_files_report(const struct changed_files *files, struct buf *text, json_t *list)
{
	if (files == NULL)
		return;
	for (size_t i = 0; i < files->count; i++) {
		static const char workspace[] = SPEC_WORKSPACE "/";
		const char *path = files->paths[i];

		if (strncmp(path, workspace, strlen(workspace)) == 0)
			path += strlen(workspace);

		buf_putf(text, "%s%s", i != 0 ? ", " : "", UTF8_ESCAPED(view_of(path), SHOWN));
		json_push(list, json_str(files->paths[i]));
	}
	if (files->has_more && files->count != 0)
		buf_putf(text, " and perhaps more");
}
