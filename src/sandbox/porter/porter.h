/* porter.h - the process that opens directories of the host for copies.
 *
 * The porter is forked before the server gives up its rights and before it reads a byte from its
 * client. On request of the server (host.h) it starts an agent in one of its directories and passes
 * back the channel's descriptor; it does nothing else. The directories of the options are opened
 * before the fork, and the server names them by their index. Only if the options accept the
 * client's roots may the server name further directories, by path.
 *
 * The server is not trusted. Before the porter reads its first request it keeps no capability that
 * it does not need, and Landlock and a seccomp filter confine it and every agent to file operations
 * below those directories.
 *
 *   porter_start -> the socket goes to host_new() -> porter_stop
 *
 * The struct is the caller's; it owns the texts and, until host_new() takes it over, the socket. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

struct porter_config {
	/* "DIR:DIR", each absolute or relative to the working directory; NULL: none. */
	const char *paths;
	const char *directory; /* one more, which may have a colon in its name; or NULL */
	const char *state;     /* the state directory, as realpath(3) tells it; NULL: none */
	bool accepts_roots;    /* the client's roots are allowed too */
	uint64_t exports;      /* trusted kinds that copies may write (trusted_names.h) */
};

enum { PORTER_DIRECTORIES_MAX = 64 };

struct porter {
	pid_t pid;  /* 0: there is no process, because nothing is allowed */
	int socket; /* the server's end, close-on-exec; -1: none, or taken over */
	size_t count;
	char *directories[PORTER_DIRECTORIES_MAX]; /* those of the options, absolute */
};

/* Must be called before there is a loop or a thread. Returns when the porter is confined.
 * ERR_INVALID: the options are wrong. */
MUST_CHECK int porter_start(const struct porter_config *config, struct porter *ret,
                            struct error *err);
/* Closes the socket if it is still here, waits for the process, which exits when the last copy of
 * the socket is closed, and frees the list. */
void porter_stop(struct porter *porter);
