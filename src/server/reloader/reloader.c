#include "server/reloader/reloader.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/process/helper.h"
#include "base/process/packet.h"
#include "loop/watch.h"
#include "server/reloader/internal.h"

int reloader_start(const char *const *paths, size_t count, struct reloader *ret, struct error *err)
{
	struct reloader reloader = { .count = count };
	struct reloader_files files = { paths, count };

	if (helper_start("reloader", reloader_serve, &files, &reloader.pid, &reloader.socket, err) <
	            0 ||
	    helper_wait("reloader", reloader.socket, err) < 0) {
		reloader_stop(&reloader);
		return -1;
	}
	*ret = reloader;
	return 0;
}

static void stop_watching(struct reloader *reloader)
{
	log_error("the reloader has ended: changes of tokens and certificates are not noticed any "
	          "more; start belljar again");
	reloader->watch = loop_watch_free(reloader->watch);
}

static void on_message(void *ctx)
{
	struct reloader *reloader = ctx;
	struct reloader_message body = { 0 };
	AUTO_FD int fd = -1;
	int r = packet_take(reloader->socket, &body, sizeof body, &fd);

	if (r == 0)
		return;
	if (r < 0 || body.index >= reloader->count) {
		stop_watching(reloader);
		return;
	}
	reloader->changed(reloader->ctx, body.index, fd, fd < 0 ? body.errnum : 0);
}

void reloader_watch(struct reloader *reloader, struct loop *loop, reloader_fn *changed, void *ctx)
{
	reloader->changed = changed;
	reloader->ctx = ctx;
	reloader->watch = loop_watch_new(loop, reloader->socket, on_message, reloader);
}

void reloader_stop(struct reloader *reloader)
{
	if (reloader->pid == 0)
		return;
	reloader->watch = loop_watch_free(reloader->watch);
	helper_stop(&reloader->pid, &reloader->socket);
}
