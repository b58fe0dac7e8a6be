/* reloader.h - the process that opens the operator's files again when they change.
 *
 * The token file and the TLS certificate with its key can be replaced while the server runs, but
 * the server has given up the right to open them (server/confine.h). The reloader is forked before
 * that, keeps the right to read these files and nothing else, and watches them with inotify(7).
 * When one has changed, the reloader opens it and passes the descriptor to the server. It never
 * reads a byte from the server, so a server that was taken over cannot use it.
 *
 * A file that is replaced by rename(2), written in place or reached through links that change
 * is noticed at once; where inotify does not work (NFS), within RELOADER_POLL_MS.
 *
 *   reloader_start -> (the caller reads the files, gives up its rights) -> reloader_watch
 *                  -> changed() ... -> reloader_stop
 *
 * The struct is the caller's. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;
struct loop;
struct loop_watch;

enum { RELOADER_FILES_MAX = 4, RELOADER_POLL_MS = 5000 };

/* A file has changed. fd is open for reading and is closed when the callback returns; -1: the file
 * cannot be opened, for the reason errnum. */
typedef void reloader_fn(void *ctx, size_t index, int fd, int errnum);

struct reloader {
	pid_t pid;  /* 0: not started */
	int socket; /* the server's end; -1: none */
	struct loop_watch *watch;
	size_t count;
	reloader_fn *changed;
	void *ctx;
};

/* Forks. `paths` are RELOADER_FILES_MAX or fewer, named by their index later. Changes after this
 * function has returned are reported. Must be called before there is a loop or a thread. */
MUST_CHECK int reloader_start(const char *const *paths, size_t count, struct reloader *ret,
                              struct error *err);
void reloader_watch(struct reloader *reloader, struct loop *loop, reloader_fn *changed, void *ctx);
/* Ends the process and waits for it. Does nothing if it was not started. */
void reloader_stop(struct reloader *reloader);
