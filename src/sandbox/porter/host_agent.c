/* host_agent.c - the server's end: requests to the porter, and the agent of each directory. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/process/packet.h"
#include "base/text/utf8.h"
#include "engine/filter/filter.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "sandbox/channel/channel.h"
#include "sandbox/porter/internal.h"

enum { IDLE_MS = 30000 }; /* how long an agent is kept after its last handle was closed */

/* --- directories ------------------------------------------------------------------- */

static void detach_requests(struct host_dir *dir)
{
	LIST_EACH (node, &dir->host->requests) {
		struct pending_request *request = container_of(node, struct pending_request, node);

		if (request->dir == dir)
			request->dir = NULL;
	}
}

void host_dir_free(struct host_dir *dir)
{
	detach_requests(dir);
	list_remove(&dir->node);
	(void)channel_free(dir->channel);
	(void)loop_timer_free(dir->idle);
	free(dir);
}

static void on_idle(void *ctx)
{
	struct host_dir *dir = ctx;

	dir->channel = channel_free(dir->channel);
	dir->state = HOST_DIR_CLOSED;
}

struct host_dir *host_dir_new(struct host *host, const char *path, uint32_t index, bool is_root)
{
	struct host_dir *dir = mem_new(sizeof *dir);

	dir->host = host;
	dir->index = index;
	dir->is_root = is_root;
	memcpy(dir->path, path, strlen(path) + 1);
	dir->idle = loop_timer_new(host->loop, on_idle, dir);
	list_init(&dir->handles);
	list_add(&host->dirs, &dir->node);
	return dir;
}

void host_dir_release(struct host_dir *dir)
{
	if (dir->is_calling || !list_is_empty(&dir->handles))
		return;
	if (dir->is_removed)
		host_dir_free(dir);
	else
		loop_timer_start(dir->idle, IDLE_MS);
}

static struct host_handle *next_due(struct host_dir *dir)
{
	LIST_EACH (node, &dir->handles) {
		struct host_handle *handle = container_of(node, struct host_handle, node);

		if (handle->is_due)
			return handle;
	}
	return NULL;
}

/* Calls fn of every handle that waits now. Each callback may close its own handle or another one,
 * or open a new one, so the list is searched again after each; is_calling keeps the directory. */
static void call_handles(struct host_dir *dir, const struct error *why)
{
	struct host_handle *handle;

	LIST_EACH (node, &dir->handles) {
		handle = container_of(node, struct host_handle, node);
		handle->is_due = handle->fn != NULL && handle->deferred == NULL;
	}
	dir->is_calling = true;
	while ((handle = next_due(dir)) != NULL) {
		host_opened_fn *fn = handle->fn;

		handle->is_due = false;
		handle->fn = NULL;
		fn(handle->ctx, why);
	}
	dir->is_calling = false;
	host_dir_release(dir);
}

/* --- the agent of a directory ------------------------------------------------------ */

static void on_ready(void *ctx)
{
	struct host_dir *dir = ctx;

	dir->state = HOST_DIR_OPEN;
	call_handles(dir, NULL);
}

static void fail_dir(struct host_dir *dir, const struct error *why)
{
	struct error err = *why;

	dir->channel = channel_free(dir->channel);
	dir->state = HOST_DIR_CLOSED;
	(void)error_wrap(&err, "'%s' cannot be opened", UTF8_ESCAPED(view_of(dir->path), 160));
	call_handles(dir, &err);
}

static void on_failed(void *ctx, const struct error *why)
{
	fail_dir(ctx, why);
}

static const struct channel_events channel_events = { .ready = on_ready, .failed = on_failed };

/* The agent's root is ".", the directory it was started in. No path is resolved a second time, so a
 * rename after the porter's check changes nothing. */
static int start_handshake(struct host_dir *dir, const struct porter_reply *reply, int fd,
                           struct error *err)
{
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.uid = reply->uid,
		.gid = reply->gid,
		.root = view_of("."),
		.workspace = view_of("/"),
		.programs =
		        filter_for_workers(), /* the porter's own filter denies execve() anyway */
		.workers = filter_for_workers(),
	};

	buf_init(&groups, PORTER_GROUPS_MAX * sizeof(uint32_t));
	for (uint32_t i = 0; i < reply->group_count && i < PORTER_GROUPS_MAX; i++)
		if (wire_numbers_add(&welcome.groups, &groups, reply->groups[i], err) < 0) {
			(void)close(fd);
			return -1;
		}
	dir->state = HOST_DIR_HANDSHAKE;
	return channel_new(dir->host->loop, fd, &welcome, &channel_events, dir, &dir->channel, err);
}

/* --- the porter -------------------------------------------------------------------- */

void pending_request_free(struct pending_request *request)
{
	list_remove(&request->node);
	free(request->path);
	free(request);
}

static bool send_request(const struct host *host, const struct pending_request *request)
{
	struct porter_request packet = { .kind = request->kind, .index = request->index };

	memcpy(packet.path, request->path, strlen(request->path));
	return send(host->socket, &packet, sizeof packet, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

/* Sends in order until the socket's buffer is full; the rest is sent when the socket is writable.
 * If the porter has exited, host_on_socket() notices it when it reads the socket. */
static void send_pending(struct host *host)
{
	bool is_full = false;

	LIST_EACH (node, &host->requests) {
		struct pending_request *request = container_of(node, struct pending_request, node);

		if (request->is_sent)
			continue;
		request->is_sent = send_request(host, request);
		if (!request->is_sent) {
			is_full = errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
			break;
		}
	}
	loop_watch_write(host->watch, is_full);
}

int host_request(struct host *host, enum porter_request_kind kind, struct host_dir *dir,
                 struct error *err)
{
	struct pending_request *request;

	if (host->socket < 0)
		return error_set(err, ERR_SYSTEM,
		                 "the process that opens directories of the host has ended: "
		                 "start belljar again");
	request = mem_new(sizeof *request);
	request->kind = kind;
	request->dir = kind != PORTER_REMOVE_ROOT ? dir : NULL;
	request->index = dir->index;
	request->path = mem_dup(kind == PORTER_ADD_ROOT ? dir->path : "");
	list_add(&host->requests, &request->node);
	send_pending(host);
	return 0;
}

void host_dir_remove(struct host_dir *dir)
{
	struct error ignored; /* without a porter there is no list to remove it from */

	dir->is_removed = true;
	(void)!host_request(dir->host, PORTER_REMOVE_ROOT, dir, &ignored);
	host_dir_release(dir);
}

static void take_reply(struct host *host, const struct porter_reply *reply, int fd)
{
	struct pending_request *request;
	struct host_dir *dir;
	struct error err;

	if (list_is_empty(&host->requests)) {
		cleanup_fd(&fd);
		return;
	}
	request = container_of(host->requests.next, struct pending_request, node);
	/* The analyser does not follow list links. NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	dir = request->dir;
	list_remove(&request->node);
	if (dir == NULL || request->kind != PORTER_OPEN) {
		cleanup_fd(&fd);
		if (dir != NULL && !dir->is_removed && reply->failed) {
			host_note_refused_root(host, &reply->err);
			host_dir_remove(dir);
		}
	} else if (reply->failed || fd < 0) {
		cleanup_fd(&fd);
		/* The kernel drops the descriptor if the server has no free number for it. */
		errno = EMFILE;
		(void)error_sys(&err, "the reply carries no descriptor");
		fail_dir(dir, reply->failed ? &reply->err : &err);
	} else if (start_handshake(dir, reply, fd, &err) < 0)
		fail_dir(dir, &err);
	pending_request_free(request);
}

/* The porter has exited: fails every request that has no reply. */
static void fail_all_requests(struct host *host)
{
	struct porter_reply gone = { .failed = true };

	(void)error_set(
	        &gone.err, ERR_SYSTEM,
	        "the process that opens directories of the host has ended: start belljar again");
	host->watch = loop_watch_free(host->watch);
	cleanup_fd(&host->socket);
	host->socket = -1;
	while (!list_is_empty(&host->requests))
		take_reply(host, &gone, -1);
}

void host_on_socket(void *ctx)
{
	static struct porter_reply reply; /* large; the program has one thread */
	struct host *host = ctx;
	int fd, r;

	send_pending(host);
	r = packet_take(host->socket, &reply, sizeof reply, &fd);
	if (r == 0)
		return;
	if (r < 0) {
		fail_all_requests(host);
		return;
	}
	reply.err.msg[sizeof reply.err.msg - 1] = '\0';
	take_reply(host, &reply, fd);
}
