/* porter.h - the process that opens directories of the host for copying.
 *
 * Forked before the server gives its rights up, it keeps the caller's. All it does is start an
 * agent in a directory that is in its list, exactly as it stands there, and hand over the channel
 * (sandbox/host.h is the other end). The list is what the options allow and, if they say so, what
 * the client names as its roots, as long as it does. The agent may do nothing but file work below
 * that directory: Landlock and filters of system calls see to it, whatever the server asks. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "sandbox/porter/host_wire.h"

struct error;

struct porter_config {
	const char *paths;     /* "DIR:DIR", absolute or relative to where we are; NULL: none */
	const char *directory; /* one more, which may have a colon in its name; or NULL */
	const char *state;     /* the state directory, as realpath(3) tells it; NULL: none */
	bool may_add;          /* the client's roots count too */
};

/* Each may be called otherwise than it really is. */
enum { PORTER_ENTRIES_MAX = 2 * HOST_DIRECTORIES_MAX };

struct porter {
	pid_t pid;  /* 0: there is none, as nothing is allowed */
	int socket; /* the server's end, close-on-exec; -1: none */
	bool may_add;
	size_t count;
	char *directories[PORTER_ENTRIES_MAX];
	char *roots[PORTER_ENTRIES_MAX]; /* the client's that brought it, or NULL: it stays */
};

/* Before there is a loop or a thread. ERR_INVALID: the option is wrong, and why. */
MUST_CHECK int porter_start(const struct porter_config *config, struct porter *ret,
                            struct error *err);
/* Ends it, unless somebody took the socket over (-1) and closed it; waits, and frees. */
void porter_stop(struct porter *porter);
