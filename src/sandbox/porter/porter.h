/* porter.h - the process that opens directories of the host for copies.
 *
 * The porter is forked before the server gives up its rights, and keeps those of the user who
 * started belljar. On request of the server (host.h) it starts an agent in a directory of its list
 * and passes back the channel's descriptor; it does nothing else. The list holds the directories
 * that the options allow and, if the options say so, the client's roots. The server is not trusted:
 * the porter checks every request against the list, and Landlock and seccomp confine the agent to
 * file operations below that directory, whatever the server asks for.
 *
 *   porter_start -> the socket goes to host_new() -> porter_stop
 *
 * The struct is the caller's; it owns the texts and, until host_new() takes it over, the socket. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"

struct error;

struct porter_config {
	/* "DIR:DIR", each absolute or relative to the working directory; NULL: none. */
	const char *paths;
	const char *directory; /* one more, which may have a colon in its name; or NULL */
	const char *state;     /* the state directory, as realpath(3) tells it; NULL: none */
	bool accepts_roots;    /* the client's roots are allowed too */
};

enum {
	PORTER_DIRECTORIES_MAX = 64,
	/* A directory may be known by two paths: as it was named, and as realpath(3) tells it. */
	PORTER_ENTRIES_MAX = 2 * PORTER_DIRECTORIES_MAX,
};

struct porter {
	pid_t pid;  /* 0: there is no process, because nothing is allowed */
	int socket; /* the server's end, close-on-exec; -1: none, or taken over */
	bool accepts_roots;
	size_t count;
	char *directories[PORTER_ENTRIES_MAX];
	char *roots[PORTER_ENTRIES_MAX]; /* the client's root that an entry came with; NULL: none */
};

/* Must be called before there is a loop or a thread. ERR_INVALID: the options are wrong. */
MUST_CHECK int porter_start(const struct porter_config *config, struct porter *ret,
                            struct error *err);
/* Closes the socket if it is still here, waits for the process, which exits when the last copy of
 * the socket is closed, and frees the lists. */
void porter_stop(struct porter *porter);
