#include "sandbox/share/share.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/watch.h"
#include "sandbox/share/internal.h"

/* The kernel recorded the ids of the peer when it connected; a process cannot change them. */
static bool is_user(const struct share *share, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof peer;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && len == sizeof peer &&
	       peer.uid == share->config.user;
}

static void on_connection(void *ctx)
{
	struct share *share = ctx;
	/* cppcheck-suppress nullPointer ; the address of the peer is not wanted */
	int fd = accept4(share->config.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		return;
	if (!is_user(share, fd)) {
		log_warning("a process of another user connected to this server's socket and was "
		            "refused");
		(void)close(fd);
	} else if (share->count >= GUESTS_MAX) {
		log_warning("%d processes use sandboxes of this server, another one was refused",
		            GUESTS_MAX);
		(void)close(fd);
	} else {
		relay_new(share, fd);
	}
}

struct share *share_new(struct loop *loop, struct manager *manager,
                        const struct share_config *config)
{
	struct share *share = mem_new(sizeof *share);

	share->loop = loop;
	share->manager = manager;
	share->config = *config;
	list_init(&share->relays);
	share->watch = loop_watch_new(loop, config->listener, on_connection, share);
	return share;
}

/* A relay that waits for a callback of a sandbox stays in memory: freeing the manager makes that
 * callback, as one of the loop's deferred calls, and the callback frees the relay. */
struct share *share_free(struct share *share)
{
	if (share == NULL)
		return NULL;
	(void)loop_watch_free(share->watch);
	while (!list_is_empty(&share->relays)) {
		struct relay *relay = container_of(share->relays.next, struct relay, node);

		list_remove(&relay->node);
		relay_close(relay);
	}
	loop_defer(share->loop, free, share);
	return NULL;
}
