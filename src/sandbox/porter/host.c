#include "sandbox/porter/host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "sandbox/porter/internal.h"

/* --- allowed directories ----------------------------------------------------------- */

static struct host_dir *find_dir(const struct host *host, const char *path)
{
	LIST_EACH (node, &host->dirs) {
		struct host_dir *dir = container_of(node, struct host_dir, node);

		if (!dir->is_removed && strcmp(dir->path, path) == 0)
			return dir;
	}
	return NULL;
}

int host_new(struct loop *loop, int socket, const char *const *directories, size_t count,
             enum host_roots roots, struct host **ret, struct error *err)
{
	AUTO(host) struct host *host = mem_new(sizeof *host);
	char path[HOST_PATH_SIZE];

	host->loop = loop;
	host->socket = socket;
	host->roots = roots;
	host->fixed = count;
	list_init(&host->dirs);
	list_init(&host->requests);
	if (socket >= 0) {
		if (fd_set_nonblocking(socket, err) < 0)
			return -1;
		host->watch = loop_watch_new(loop, socket, host_on_socket, host);
	}
	for (size_t i = 0; i < count; i++) {
		if (host_path_normal(directories[i], path, err) < 0)
			return -1;
		if (find_dir(host, path) == NULL)
			(void)host_dir_new(host, path, (uint32_t)i, false);
	}
	*ret = TAKE_PTR(host);
	return 0;
}

struct host *host_free(struct host *host)
{
	if (host == NULL)
		return NULL;
	while (!list_is_empty(&host->dirs))
		host_dir_free(container_of(host->dirs.next, struct host_dir, node));
	while (!list_is_empty(&host->requests)) {
		pending_request_free(
		        container_of(host->requests.next, struct pending_request, node));
	}
	(void)loop_watch_free(host->watch);
	cleanup_fd(&host->socket);
	free(host);
	return NULL;
}

void host_note_refused_root(struct host *host, const struct error *why)
{
	log_warning("a root of the client cannot be used: %s", why->msg);
	host->refused_root = *why;
}

/* An index that no directory has. The porter handles requests in their order, so the index of a
 * root that was removed is free at once. */
static int find_free_index(const struct host *host, uint32_t *ret, struct error *err)
{
	bool used[PORTER_DIRECTORIES_MAX] = { false };

	LIST_EACH (node, &host->dirs) {
		const struct host_dir *dir = container_of(node, struct host_dir, node);

		if (!dir->is_removed)
			used[dir->index] = true;
	}
	for (*ret = (uint32_t)host->fixed; *ret < PORTER_DIRECTORIES_MAX; ++*ret)
		if (!used[*ret])
			return 0;
	return error_set(err, ERR_LIMIT, "at most %d directories can be allowed",
	                 PORTER_DIRECTORIES_MAX);
}

/* The text of the path is checked here. The porter, which knows the state directory (here NULL) and
 * opens the directory, checks where it leads. */
static void add_root(struct host *host, const char *text, bool is_accepted)
{
	char path[HOST_PATH_SIZE];
	struct host_dir *dir;
	struct error err;
	uint32_t index;

	if (host_path_normal(text, path, &err) < 0 || host_path_check(path, NULL, &err) < 0) {
		host_note_refused_root(host, &err);
		return;
	}
	if (find_dir(host, path) != NULL)
		return;
	if (find_free_index(host, &index, &err) < 0) {
		host_note_refused_root(host, &err);
		return;
	}
	dir = host_dir_new(host, path, index, true);
	dir->is_accepted = is_accepted;
	if (host_request(host, PORTER_ADD_ROOT, dir, &err) < 0) {
		host_note_refused_root(host, &err);
		host_dir_remove(dir);
	}
}

static bool is_among(const char *path, const char *const *paths, size_t count)
{
	char normal[HOST_PATH_SIZE];
	struct error ignored;

	for (size_t i = 0; i < count; i++)
		if (host_path_normal(paths[i], normal, &ignored) == 0 && strcmp(normal, path) == 0)
			return true;
	return false;
}

void host_set_roots(struct host *host, const char *const *paths, size_t count)
{
	if (host->roots != HOST_ROOTS_ON)
		return;
	host->refused_root.msg[0] = '\0';
	for (struct list *node = host->dirs.next, *next; node != &host->dirs; node = next) {
		struct host_dir *dir = container_of(node, struct host_dir, node);

		next = node->next;
		if (dir->is_root && !dir->is_accepted && !dir->is_removed &&
		    !is_among(dir->path, paths, count))
			host_dir_remove(dir);
	}
	for (size_t i = 0; i < count; i++)
		add_root(host, paths[i], false);
}

void host_add_directory(struct host *host, const char *path)
{
	if (host->roots == HOST_ROOTS_ON)
		add_root(host, path, true);
}

size_t host_directory_count(const struct host *host)
{
	size_t n = 0;

	LIST_EACH (node, &host->dirs)
		n += !container_of(node, struct host_dir, node)->is_removed;
	return n;
}

static bool is_within_reach(const struct host_dir *dir, enum host_reach reach)
{
	return !dir->is_removed && (reach == HOST_ALL_DIRS || !dir->is_root);
}

/* The n-th allowed directory; those of the options come first. NULL: there is no n-th one. */
static const char *allowed_directory(const struct host *host, enum host_reach reach, size_t n)
{
	LIST_EACH (node, &host->dirs) {
		struct host_dir *dir = container_of(node, struct host_dir, node);

		if (is_within_reach(dir, reach) && n-- == 0)
			return dir->path;
	}
	return NULL;
}

/* --- handles ----------------------------------------------------------------------- */

/* The innermost allowed directory: links below it lead less far than links below an outer one. */
static struct host_dir *find_nearest_dir(const struct host *host, enum host_reach reach,
                                         const char *path)
{
	struct host_dir *best = NULL;

	LIST_EACH (node, &host->dirs) {
		struct host_dir *dir = container_of(node, struct host_dir, node);

		if (is_within_reach(dir, reach) && host_path_below(dir->path, path) != NULL &&
		    (best == NULL || strlen(dir->path) > strlen(best->path)))
			best = dir;
	}
	return best;
}

static int fail_without_directories(const struct host *host, enum host_reach reach,
                                    struct error *err)
{
	static const char *const otherwise[] = {
		[HOST_ROOTS_OFF] = "",
		[HOST_ROOTS_OFF_AS_ROOT] = (", or with --roots yes to use the client's roots, "
		                            "which are off because belljar runs as root"),
		[HOST_ROOTS_ON] = ", or use a client that declares roots in the handshake",
	};

	if (reach == HOST_ALL_DIRS && host->refused_root.msg[0] != '\0')
		return error_set(err, ERR_INVALID,
		                 "no directory of the host is allowed: the client's root cannot be "
		                 "used: %s",
		                 host->refused_root.msg);
	return error_set(
	        err, ERR_INVALID,
	        "no directory of the host is allowed: start belljar with --allow-path DIR%s",
	        otherwise[host->roots]);
}

static int fail_not_allowed(const struct host *host, enum host_reach reach, const char *path,
                            struct error *err)
{
	char list[256] = "";
	const char *allowed;
	size_t used = 0;

	for (size_t i = 0; (allowed = allowed_directory(host, reach, i)) != NULL; i++) {
		int n = snprintf(list + used, sizeof list - used, "%s%s", i != 0 ? ", " : "",
		                 UTF8_ESCAPED(view_of(allowed), 160));

		if (n < 0 || (size_t)n >= sizeof list - used) {
			(void)snprintf(list + used, sizeof list - used, ", ...");
			break;
		}
		used += (size_t)n;
	}
	return error_set(err, ERR_INVALID,
	                 "'%s' is not below an allowed directory of the host (%s): "
	                 "belljar's option --allow-path allows more",
	                 UTF8_ESCAPED(view_of(path), 160), list);
}

/* The allowed directory that the path is in; `full` becomes the absolute path. NULL and *err if
 * there is none. */
static struct host_dir *find_allowed(const struct host *host, enum host_reach reach,
                                     const char *path, char full[HOST_PATH_SIZE], struct error *err)
{
	const char *first = allowed_directory(host, reach, 0);
	AUTO_FREE char *joined = NULL;
	struct host_dir *dir;

	if (first == NULL) {
		(void)fail_without_directories(host, reach, err);
		return NULL;
	}
	/* Only a shell expands "~"; a copy would create a directory of this name. */
	if (path[0] == '~' && (path[1] == '\0' || path[1] == '/')) {
		(void)error_set(
		        err, ERR_INVALID,
		        "'%s' begins with ~, which only shells expand: use the absolute path, "
		        "or ./~ for a file of this name below %s",
		        UTF8_ESCAPED(view_of(path), 160), first);
		return NULL;
	}
	joined = path[0] == '/' ? mem_dup(path) : mem_format("%s/%s", first, path);
	if (host_path_normal(joined, full, err) < 0)
		return NULL;
	dir = find_nearest_dir(host, reach, full);
	if (dir == NULL)
		(void)fail_not_allowed(host, reach, full, err);
	return dir;
}

int host_check_path(const struct host *host, enum host_reach reach, const char *path,
                    struct error *err)
{
	char full[HOST_PATH_SIZE];

	return find_allowed(host, reach, path, full, err) != NULL ? 0 : -1;
}

/* host_open() never calls back before it has returned, also if the channel is open already. */
static void on_deferred(void *ctx)
{
	struct host_handle *handle = ctx;
	host_opened_fn *fn = handle->fn;
	struct error err;
	bool is_open = handle->dir->channel != NULL;

	handle->deferred = loop_timer_free(handle->deferred);
	handle->fn = NULL;
	if (!is_open)
		(void)error_set(&err, ERR_SYSTEM,
		                "'%s': the process that reads it has ended: try again",
		                UTF8_ESCAPED(view_of(handle->absolute), 160));
	fn(handle->ctx, is_open ? NULL : &err);
}

int host_open(struct host *host, enum host_reach reach, const char *path, host_opened_fn *fn,
              void *ctx, struct host_handle **ret, struct error *err)
{
	char full[HOST_PATH_SIZE];
	struct host_handle *handle;
	struct host_dir *dir;

	dir = find_allowed(host, reach, path, full, err);
	if (dir == NULL)
		return -1;
	if (dir->state == HOST_DIR_CLOSED) {
		if (host_request(host, PORTER_OPEN, dir, err) < 0)
			return -1;
		dir->state = HOST_DIR_REQUESTED;
	}
	loop_timer_stop(dir->idle);
	handle = mem_new(sizeof *handle);
	handle->dir = dir;
	handle->fn = fn;
	handle->ctx = ctx;
	memcpy(handle->absolute, full, strlen(full) + 1);
	handle->path = host_path_below(dir->path, handle->absolute);
	(void)snprintf(handle->label, sizeof handle->label, "in '%s' of the host",
	               UTF8_ESCAPED(view_of(dir->path), 160));
	list_add(&dir->handles, &handle->node);
	if (dir->state == HOST_DIR_OPEN) {
		handle->deferred = loop_timer_new(host->loop, on_deferred, handle);
		loop_timer_start(handle->deferred, 0);
	}
	*ret = handle;
	return 0;
}

void host_close(struct host_handle *handle)
{
	if (handle == NULL)
		return;
	list_remove(&handle->node);
	(void)loop_timer_free(handle->deferred);
	host_dir_release(handle->dir);
	free(handle);
}

bool host_handle_is_withdrawn(const struct host_handle *handle)
{
	return handle->dir->is_removed;
}

struct channel *host_handle_channel(const struct host_handle *handle)
{
	return handle->dir->state == HOST_DIR_OPEN ? handle->dir->channel : NULL;
}

const char *host_handle_path(const struct host_handle *handle)
{
	return handle->path;
}

const char *host_handle_directory(const struct host_handle *handle)
{
	return handle->dir->path;
}

const char *host_handle_absolute(const struct host_handle *handle)
{
	return handle->absolute;
}

const char *host_handle_label(const struct host_handle *handle)
{
	return handle->label;
}

const char *host_handle_name(const struct host_handle *handle)
{
	return strrchr(handle->absolute, '/') + 1;
}
