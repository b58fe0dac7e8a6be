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
#include "sandbox/porter/host_internal.h"
#include "sandbox/porter/host_path.h"

/* --- which directories there are ----------------------------------------------------- */

static struct place *find_place(const struct host *host, const char *path)
{
	LIST_EACH (node, &host->places) {
		struct place *place = container_of(node, struct place, node);

		if (!place->is_gone && strcmp(place->path, path) == 0)
			return place;
	}
	return NULL;
}

int host_new(struct loop *loop, int socket, const char *const *directories, size_t count,
             bool may_add, struct host **ret, struct error *err)
{
	AUTO(host) struct host *host = mem_new(sizeof *host);
	char path[HOST_PATH_SIZE];

	host->loop = loop;
	host->socket = socket;
	host->may_add = may_add && socket >= 0;
	list_init(&host->places);
	list_init(&host->questions);
	if (socket >= 0) {
		if (fd_set_nonblocking(socket, err) < 0)
			return -1;
		host->watch = loop_watch_new(loop, socket, host_on_ready, host);
	}
	for (size_t i = 0; i < count; i++) {
		if (host_path_normal(directories[i], path, err) < 0)
			return -1;
		if (find_place(host, path) == NULL)
			(void)host_place_new(host, path, false);
	}
	*ret = TAKE_PTR(host);
	return 0;
}

struct host *host_free(struct host *host)
{
	if (host == NULL)
		return NULL;
	while (!list_is_empty(&host->places))
		host_place_free(container_of(host->places.next, struct place, node));
	while (!list_is_empty(&host->questions)) {
		host_question_free(container_of(host->questions.next, struct question, node));
	}
	(void)loop_watch_free(host->watch);
	cleanup_fd(&host->socket);
	free(host);
	return NULL;
}

bool host_accepts_roots(const struct host *host)
{
	return host->may_add;
}

static void add_root(struct host *host, const char *text)
{
	char path[HOST_PATH_SIZE];
	struct place *place;
	struct error err;

	if (host_path_normal(text, path, &err) < 0 || host_path_check(path, NULL, &err) < 0) {
		log_warning("a root of the client cannot be used: %s", err.msg);
		return;
	}
	if (find_place(host, path) != NULL)
		return;
	if (host_directory_count(host) >= HOST_DIRECTORIES_MAX) {
		log_warning("the client's root '%s' cannot be used: at most %d directories", path,
		            HOST_DIRECTORIES_MAX);
		return;
	}
	place = host_place_new(host, path, true);
	if (host_ask(host, HOST_ADD, place, &err) < 0) {
		log_warning("the client's root '%s' cannot be used: %s", path, err.msg);
		host_drop_root(place);
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
	if (!host->may_add)
		return;
	for (struct list *node = host->places.next, *next; node != &host->places; node = next) {
		struct place *place = container_of(node, struct place, node);

		next = node->next;
		if (place->is_root && !place->is_gone && !is_among(place->path, paths, count))
			host_drop_root(place);
	}
	for (size_t i = 0; i < count; i++)
		add_root(host, paths[i]);
}

size_t host_directory_count(const struct host *host)
{
	size_t n = 0;

	LIST_EACH (node, &host->places)
		n += !container_of(node, struct place, node)->is_gone;
	return n;
}

const char *host_directory(const struct host *host, size_t n)
{
	LIST_EACH (node, &host->places) {
		struct place *place = container_of(node, struct place, node);

		if (!place->is_gone && n-- == 0)
			return place->path;
	}
	return NULL;
}

/* --- using one ------------------------------------------------------------------------------ */

/* The one that is nearest: its links may lead less far. */
static struct place *holder(const struct host *host, const char *path)
{
	struct place *best = NULL;

	LIST_EACH (node, &host->places) {
		struct place *place = container_of(node, struct place, node);

		if (!place->is_gone && host_path_below(place->path, path) != NULL &&
		    (best == NULL || strlen(place->path) > strlen(best->path)))
			best = place;
	}
	return best;
}

static int no_directory(const struct host *host, struct error *err)
{
	return error_set(err, ERR_INVALID,
	                 "no directory of the host is allowed: start belljar with --allow-path "
	                 "DIR%s",
	                 host->may_add ? ", or use a client that declares roots in the handshake"
	                               : "");
}

static int not_allowed(const struct host *host, const char *path, struct error *err)
{
	char list[256] = "", shown[160];
	size_t used = 0;

	for (size_t i = 0; i < host_directory_count(host); i++) {
		int n = snprintf(
		        list + used, sizeof list - used, "%s%s", i != 0 ? ", " : "",
		        utf8_escape(view_of(host_directory(host, i)), shown, sizeof shown));

		if (n < 0 || (size_t)n >= sizeof list - used) {
			(void)snprintf(list + used, sizeof list - used, ", ...");
			break;
		}
		used += (size_t)n;
	}
	return error_set(err, ERR_INVALID,
	                 "'%s' is not below a directory of the host that is allowed (%s): "
	                 "belljar's option --allow-path allows more",
	                 utf8_escape(view_of(path), shown, sizeof shown), list);
}

/* NULL and *err: there is none. */
static struct place *find_holder(const struct host *host, const char *path,
                                 char full[HOST_PATH_SIZE], struct error *err)
{
	const char *first = host_directory(host, 0);
	AUTO_FREE char *joined = NULL;
	struct place *place;

	if (first == NULL) {
		(void)no_directory(host, err);
		return NULL;
	}
	joined = path[0] == '/' ? mem_dup(path) : mem_format("%s/%s", first, path);
	if (host_path_normal(joined, full, err) < 0)
		return NULL;
	place = holder(host, full);
	if (place == NULL)
		(void)not_allowed(host, full, err);
	return place;
}

int host_check_path(const struct host *host, const char *path, struct error *err)
{
	char full[HOST_PATH_SIZE];

	return find_holder(host, path, full, err) != NULL ? 0 : -1;
}

static void on_soon(void *ctx)
{
	struct host_handle *use = ctx;
	host_opened_fn *fn = use->fn;
	struct error err;
	bool is_open = use->place->channel != NULL;
	char shown[160];

	use->soon = loop_timer_free(use->soon);
	use->fn = NULL;
	if (!is_open)
		(void)error_set(&err, ERR_SYSTEM, "'%s' cannot be reached any more",
		                utf8_escape(view_of(use->full), shown, sizeof shown));
	fn(use->ctx, is_open ? NULL : &err);
}

int host_open(struct host *host, const char *path, host_opened_fn *fn, void *ctx,
              struct host_handle **ret, struct error *err)
{
	char full[HOST_PATH_SIZE], shown[160];
	struct host_handle *use;
	struct place *place;

	place = find_holder(host, path, full, err);
	if (place == NULL)
		return -1;
	if (place->state == PLACE_CLOSED) {
		if (host_ask(host, HOST_OPEN, place, err) < 0)
			return -1;
		place->state = PLACE_ASKED;
	}
	loop_timer_stop(place->idle);
	use = mem_new(sizeof *use);
	use->place = place;
	use->fn = fn;
	use->ctx = ctx;
	memcpy(use->full, full, strlen(full) + 1);
	use->path = host_path_below(place->path, use->full);
	(void)snprintf(use->where, sizeof use->where, "in '%s' of the host",
	               utf8_escape(view_of(place->path), shown, sizeof shown));
	list_add(&place->uses, &use->node);
	if (place->state == PLACE_OPEN) {
		use->soon = loop_timer_new(host->loop, on_soon, use);
		loop_timer_start(use->soon, 0);
	}
	*ret = use;
	return 0;
}

void host_close(struct host_handle *use)
{
	if (use == NULL)
		return;
	list_remove(&use->node);
	(void)loop_timer_free(use->soon);
	host_place_rest(use->place);
	free(use);
}

struct channel *host_handle_channel(const struct host_handle *use)
{
	return use->place->state == PLACE_OPEN ? use->place->channel : NULL;
}

const char *host_handle_path(const struct host_handle *use)
{
	return use->path;
}

const char *host_handle_directory(const struct host_handle *use)
{
	return use->place->path;
}

const char *host_handle_absolute(const struct host_handle *use)
{
	return use->full;
}

const char *host_handle_label(const struct host_handle *use)
{
	return use->where;
}

const char *host_handle_name(const struct host_handle *use)
{
	return strrchr(use->full, '/') + 1;
}
