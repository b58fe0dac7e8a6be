/* http_listen.h - opens the sockets that an HTTP server listens on.
 *
 * Called before the process is confined (server/confine.h): the options of accepted sockets are
 * those of their listener, so no other system call is needed for a connection than accept4(2). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

struct error;

/* "unix:" and the longest path of a socket, or an address with its port. */
enum { HTTP_LISTEN_NAME_SIZE = 128 };

struct http_listen {
	int fd;        /* listens; non-blocking, close-on-exec; the caller closes it */
	bool is_local; /* a loopback address or a unix socket */
	bool is_unix;
	char name[HTTP_LISTEN_NAME_SIZE]; /* "127.0.0.1:8000", "[::]:8000" or "unix:/run/x.sock" */
};

enum { HTTP_LISTEN_OPEN_MAX = 2 };
/* Opens one address:
 *
 *   127.0.0.1:8000  [::1]:8000   an address and a port; port 0 takes any free one
 *   localhost:8000               127.0.0.1, and ::1 where the machine has IPv6
 *   :8000                        every address of the machine
 *   unix:/run/belljar.sock       a socket with mode 0600; one that no process listens on any more
 *                                is replaced
 *
 * Writes one or two sockets. */
MUST_CHECK int http_listen_open(const char *address, struct http_listen ret[HTTP_LISTEN_OPEN_MAX],
                                size_t *ret_count, struct error *err);
/* Checks an address without opening it; *ret_local tells whether only this machine reaches it. */
MUST_CHECK int http_listen_check(const char *address, bool *ret_local, struct error *err);

/* Takes over the sockets that systemd passes (LISTEN_PID, LISTEN_FDS), at most `max`, and removes
 * these variables from the environment. *ret_count is 0 if there are none. */
MUST_CHECK int http_listen_inherited(struct http_listen *ret, size_t max, size_t *ret_count,
                                     struct error *err);
