/* changes.c - the files that were changed since a time (CHANGES): those of the workspace, and of
 * /tmp and the home directory itself those that programs have not hidden.
 *
 * The server asks after every run. The agent answers itself: a worker process would take a fifth of
 * the time of a short run. Programs control the directories that are read here, so nothing may
 * take long or leave these directories: the number of entries, the size of a directory and the time
 * are bounded, and no link is followed. Files beyond the bounds are left out. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/files/ops.h"
#include "agent/files/worker.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tree/open_child.h"

enum {
	ENTRIES_MAX = 1000, /* that are examined */
	TIME_MS = 200,      /* after which the search ends; only a slow disk needs so long */
	/* A larger directory is left out: overlayfs reads a merged directory completely at the
	 * first getdents(2). */
	DIRECTORY_BYTES = 128 * 1024,
	QUEUE_BYTES = 16 * 1024,
	ENTRIES_BYTES = 4096,
};

struct changes {
	const struct wire_changes *request;
	struct wire_done done;
	struct buf records;
	unsigned entries; /* examined so far */
	uint64_t until_ms;
	const char *top; /* the directory that is searched now, with a slash; "": the workspace */
	size_t queue_start, queue_end;
};

/* Paths of directories below `top` that are still to be read, each terminated. Not a part of the
 * struct, which is cleared for each request. */
static char queue[QUEUE_BYTES];

/* Hidden directories, packages and caches have many files that are no result of the program. */
static bool is_left_out(const char *name)
{
	return name[0] == '.' || strcmp(name, "node_modules") == 0 ||
	       strcmp(name, "__pycache__") == 0;
}

/* Whether a directory outside of the workspace may have results: none of the home directory, where
 * many have packages, and of /tmp none that mkdtemp(3), the JVM or the server made, the latter for
 * code (sandbox/run/code_dir.h). */
static bool is_result(const char *top, const char *name, const struct stat *st)
{
	return top[1] == 't' && (st->st_mode & 077) != 0 && strncmp(name, "belljar-", 8) != 0 &&
	       strncmp(name, "hsperf", 6) != 0;
}

static bool is_exhausted(const struct changes *changes)
{
	return changes->entries >= ENTRIES_MAX ||
	       (changes->entries % 16 == 0 && clock_now_ms() > changes->until_ms);
}

static void queue_directory(struct changes *changes, const char *path, size_t len)
{
	if (len + 1 > sizeof queue - changes->queue_end) {
		changes->done.flags |= WIRE_DONE_MORE;
		return;
	}
	memcpy(queue + changes->queue_end, path, len + 1);
	changes->queue_end += len + 1;
}

/* The time of the inode's change (ctime), which programs cannot set: `cp -p` and tar set only the
 * time of the content. */
static uint64_t changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec;
}

static void add_entry(struct changes *changes, const char *path, size_t len, const struct stat *st)
{
	struct wire_entry entry = entry_of(st);
	struct error full;

	entry.path = (struct view){ path, len };
	entry.modified_ms = changed_ns(st) / 1000000;
	if (changes->done.count >= changes->request->limit ||
	    wire_record_encode(&wire_entry_record, &entry, &changes->records, &full) < 0)
		changes->done.flags |= WIRE_DONE_MORE;
	else
		changes->done.count++;
}

static bool is_changed(const struct changes *changes, const struct stat *st)
{
	return changed_ns(st) >= changes->request->since_ns;
}

static void check_entry(struct changes *changes, const char *parent, int dir, const char *name)
{
	char path[WIRE_PATH_MAX + 1];
	size_t below = strlen(changes->top);
	struct stat st;
	int len;

	changes->entries++;
	if (is_left_out(name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	len = snprintf(path, sizeof path, "%s%s%s%s", changes->top, parent,
	               parent[0] != '\0' ? "/" : "", name);
	if (len >= (int)sizeof path)
		return;
	if (S_ISDIR(st.st_mode) && (below == 0 || is_result(changes->top, name, &st)))
		queue_directory(changes, path + below, (size_t)len - below);
	else if (S_ISREG(st.st_mode) && is_changed(changes, &st))
		add_entry(changes, path, (size_t)len, &st);
}

/* `fd` is the directory at `path` below the top, "": the top itself. */
static void read_directory(struct changes *changes, int fd, const char *path)
{
	static _Alignas(struct dirent64) char entries[ENTRIES_BYTES];
	const char *name = path[0] != '\0' ? path : ".";
	struct stat st = { 0 };
	long n;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && (changes->request->flags & WIRE_CHANGES_DIRECTORIES) != 0 &&
	    is_changed(changes, &st))
		add_entry(changes, name, strlen(name), &st);
	if (st.st_size > DIRECTORY_BYTES) {
		changes->done.flags |= WIRE_DONE_MORE;
		return;
	}
	/* opendir(3) would allocate memory, which takes as long as all the rest. */
	while ((n = getdents64(fd, (void *)entries, sizeof entries)) > 0)
		for (long at = 0; at < n;) {
			const struct dirent64 *entry = (const void *)(entries + at);

			if (is_exhausted(changes)) {
				changes->done.flags |= WIRE_DONE_MORE;
				changes->queue_start = changes->queue_end;
				return;
			}
			check_entry(changes, path, fd, entry->d_name);
			at += entry->d_reclen;
		}
}

static void search_directory(struct changes *changes, const struct agent *agent, const char *path)
{
	AUTO_FD int top = open_resolved(agent->root, path[0] != '\0' ? path : agent->workspace,
	                                O_RDONLY | O_DIRECTORY, 0,
	                                RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);

	changes->top = path;
	changes->queue_start = changes->queue_end = 0;
	read_directory(changes, top, "");
	while (changes->queue_start != changes->queue_end) {
		const char *next = queue + changes->queue_start;
		AUTO_FD int fd = open_resolved(top, next, O_RDONLY | O_DIRECTORY, 0,
		                               RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
		                                       RESOLVE_NO_XDEV);

		changes->queue_start += strlen(next) + 1;
		read_directory(changes, fd, next);
	}
}

void changes_open(struct stream *stream, const struct wire_message *message)
{
	static char records[WIRE_RECORDS_MAX + 1];
	struct changes changes = { .request = &message->changes,
		                   .records = buf_fixed(records, sizeof records),
		                   .until_ms = clock_now_ms() + TIME_MS };

	search_directory(&changes, stream->agent, "");
	if (message->changes.home.len != 0) {
		search_directory(&changes, stream->agent, "/tmp/");
		search_directory(&changes, stream->agent, message->changes.home.ptr);
	}
	if (changes.records.len != 0)
		stream_send(stream,
		            &(struct wire_message){ .type = WIRE_ENTRIES,
		                                    .records.records = buf_view(&changes.records) },
		            WIRE_OUT);
	stream_done(stream, &changes.done);
}
