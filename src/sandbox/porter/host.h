/* host.h - the server's access to directories of the host, for copies.
 *
 * The server has no rights on the user's files and opens none itself. The porter (porter.h), a
 * process that kept the user's rights, starts an agent whose root is one allowed directory. File
 * operations go to that agent through a channel like the one of a sandbox, so a hostile path or
 * symbolic link leads no further than that directory. An agent is started on first use and kept
 * while in use and for 30 seconds after.
 *
 *   host_new -> host_open ... host_close -> host_free
 *
 * struct host owns the socket to the porter, the channels and the handles' directories; the caller
 * owns each handle until host_close(). */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/cleanup.h"

struct channel;
struct error;
struct host;
struct host_handle;
struct loop;

/* Whether the directories that the client declares as its roots are allowed too. */
enum host_roots {
	HOST_ROOTS_OFF,
	HOST_ROOTS_OFF_AS_ROOT, /* the options do not ask for them, and belljar runs as root */
	HOST_ROOTS_ON,
};

/* Which of the allowed directories a caller may use. Roots belong to the client that declared
 * them: other clients of the server must neither use them nor learn their names. */
enum host_reach { HOST_FIXED_DIRS, HOST_ALL_DIRS };

/* Takes over the socket to the porter; -1 if there is none: then nothing can be opened. The
 * directories are those of the porter, in its order, and are copied. */
MUST_CHECK int host_new(struct loop *loop, int socket, const char *const *directories, size_t count,
                        enum host_roots roots, struct host **ret, struct error *err);
struct host *host_free(struct host *host); /* every handle must be closed */
DEFINE_CLEANUP(host)

/* How many directories are allowed now, roots of the client included. */
size_t host_directory_count(const struct host *host);

/* Replaces the client's roots, which are absolute paths. A root that cannot be allowed is left out
 * and logged. A removed root stays usable for the handles that are open. */
void host_set_roots(struct host *host, const char *const *paths, size_t count);

/* Allows one more directory, which the user has accepted. It stays when the roots change. */
void host_add_directory(struct host *host, const char *path);

/* Fails unless the path's text is below an allowed directory. Does not access any file. */
MUST_CHECK int host_check_path(const struct host *host, enum host_reach reach, const char *path,
                               struct error *err);

/* Opens a path that is absolute, or relative to the first allowed directory. fn is called once,
 * from the loop, when the channel is ready; `why` says why it is not. */
typedef void host_opened_fn(void *ctx, const struct error *why);
MUST_CHECK int host_open(struct host *host, enum host_reach reach, const char *path,
                         host_opened_fn *fn, void *ctx, struct host_handle **ret,
                         struct error *err);
/* May be called at any time, also before fn, which is not called then, and from within fn. */
void host_close(struct host_handle *handle);

/* True: the path's directory is a root that is not allowed any more. The porter may refuse a root
 * after a path was found to be below it: host_open() then looks among the other directories. */
bool host_handle_is_withdrawn(const struct host_handle *handle);
struct channel *host_handle_channel(const struct host_handle *handle); /* NULL: it has failed */
/* The path for the agent: relative to its root. */
const char *host_handle_path(const struct host_handle *handle);
const char *host_handle_directory(
        const struct host_handle *handle);                          /* the agent's root, absolute */
const char *host_handle_absolute(const struct host_handle *handle); /* the path on the host */
const char *host_handle_label(const struct host_handle *handle);    /* a prefix for errors */
const char *host_handle_name(const struct host_handle *handle);     /* the path's last component */
