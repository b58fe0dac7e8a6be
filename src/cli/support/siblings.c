#include "cli/support/siblings.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "cli/support/attachment.h"
#include "engine/spec.h"
#include "sandbox/copy/copy.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_path.h"

enum { DIRECTORIES_MAX = 64 * 1024 }; /* bytes of the porter's list */

/* Adds the directory that the porter may read: the path itself, or that of the file. */
static int add_directory(struct buf *directories, const char *path, bool is_directory,
                         struct error *err)
{
	const char *slash = strrchr(path, '/');
	size_t len = is_directory ? strlen(path) : slash == path ? 1 : (size_t)(slash - path);

	if (memchr(path, ':', len) != NULL)
		return error_set(err, ERR_INVALID,
		                 "--with: a directory with a colon in its name cannot be used");
	if (directories->len != 0 && buf_add(directories, view_of(":"), err) < 0)
		return -1;
	return buf_add(directories, (struct view){ path, len }, err);
}

/* The state directory holds the files of all sandboxes, which no sandbox may read. */
static int check_state(const char *path, const char *state, struct error *err)
{
	if (host_path_below(path, state) == NULL && host_path_below(state, path) == NULL)
		return 0;
	return error_set(err, ERR_INVALID,
	                 "--with '%s': it is, or contains, belljar's state directory, which "
	                 "sandboxes must not reach",
	                 UTF8_ESCAPED(view_of(path), 256));
}

static int add_path(struct siblings *siblings, const char *typed, const char *state,
                    struct buf *directories, struct error *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (siblings->count == SIBLINGS_MAX)
		return error_set(err, ERR_LIMIT, "--with: at most %d paths: name a directory",
		                 SIBLINGS_MAX);
	if (realpath(typed, path) == NULL || stat(path, &st) < 0)
		return error_sys(err, "--with '%s'", UTF8_ESCAPED(view_of(typed), 256));
	if (check_state(path, state, err) < 0)
		return -1;
	siblings->paths[siblings->count++] = mem_dup(path);
	return add_directory(directories, path, S_ISDIR(st.st_mode), err);
}

int siblings_prepare(struct siblings *siblings, const char *list, const char *state,
                     struct error *err)
{
	AUTO_FREE char *copy = list != NULL ? mem_dup(list) : NULL;
	AUTO_BUF struct buf directories;
	char real[PATH_MAX], *save = NULL;
	struct porter_config config = { 0 };

	if (realpath(state, real) != NULL)
		state = real;
	siblings->porter.socket = -1;
	buf_init(&directories, DIRECTORIES_MAX);
	for (char *path = copy != NULL ? strtok_r(copy, ":", &save) : NULL; path != NULL;
	     path = strtok_r(NULL, ":", &save))
		if (add_path(siblings, path, state, &directories, err) < 0)
			return -1;
	if (siblings->count == 0)
		return 0;
	config.paths = buf_text(&directories);
	return porter_start(&config, &siblings->porter, err);
}

/* --- copying --- */

static void copy_next(struct siblings *siblings);

static void finish_copies(struct siblings *siblings, const struct error *why)
{
	host_close(siblings->handle);
	siblings->handle = NULL;
	siblings->done(siblings->ctx, why);
}

static void on_copied(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct siblings *siblings = ctx;

	(void)result;
	siblings->copy = NULL;
	if (why != NULL) {
		finish_copies(siblings, why);
		return;
	}
	host_close(siblings->handle);
	siblings->handle = NULL;
	copy_next(siblings);
}

static void on_host_open(void *ctx, const struct error *why)
{
	static const struct copy_events events = { .ended = on_copied };
	struct siblings *siblings = ctx;
	const struct copy_options options = {
		.from = copy_host_endpoint(siblings->handle, host_handle_path(siblings->handle),
		                           host_handle_label(siblings->handle)),
		.to = copy_sandbox_endpoint(attachment_sandbox(siblings->attachment),
		                            SPEC_WORKSPACE, "in the sandbox"),
		.name = host_handle_name(siblings->handle),
		.overwrite = true,
		.max_bytes = UINT64_MAX,
		.max_count = UINT32_MAX - 1,
	};
	struct error err;

	if (why == NULL && copy_start(&options, &events, siblings, &siblings->copy, &err) == 0)
		return;
	finish_copies(siblings, why != NULL ? why : &err);
}

static void copy_next(struct siblings *siblings)
{
	struct error err;

	if (siblings->next == siblings->count)
		finish_copies(siblings, NULL);
	else if (host_open(siblings->host, HOST_ALL_DIRS, siblings->paths[siblings->next++],
	                   on_host_open, siblings, &siblings->handle, &err) < 0)
		finish_copies(siblings, &err);
}

int siblings_copy(struct siblings *siblings, struct attachment *attachment, siblings_fn *done,
                  void *ctx, struct error *err)
{
	siblings->attachment = attachment;
	siblings->done = done;
	siblings->ctx = ctx;
	if (host_new(attachment_loop(attachment), TAKE_FD(siblings->porter.socket),
	             (const char *const *)siblings->porter.directories, siblings->porter.count,
	             HOST_ROOTS_OFF, &siblings->host, err) < 0)
		return -1;
	copy_next(siblings);
	return 0;
}

void siblings_stop(struct siblings *siblings)
{
	copy_cancel(siblings->copy);
	host_close(siblings->handle);
	siblings->host = host_free(siblings->host);
}

void siblings_close(struct siblings *siblings)
{
	porter_stop(&siblings->porter);
	for (size_t i = 0; i < siblings->count; i++)
		free(siblings->paths[i]);
}
