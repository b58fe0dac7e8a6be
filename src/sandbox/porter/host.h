/* host.h - directories of the host, for copying: served by agents of ours, one for each.
 *
 * The server may not have the user's rights, and does not look at files itself. A process that has
 * them, the porter, starts an agent whose root is an allowed directory; what is asked of it goes
 * through a channel like that of a sandbox. Channels are kept while in use and for a while after.
 *
 *   host_new -> host_open ... host_close -> host_free */
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

/* Takes over the socket to the porter, -1 if there is none: then nothing can be opened. The
 * directories are those the porter was given, and copied. may_add: the client's roots count too. */
MUST_CHECK int host_new(struct loop *loop, int socket, const char *const *directories, size_t count,
                        bool may_add, struct host **ret, struct error *err);
struct host *host_free(struct host *host); /* no use may be open */
DEFINE_CLEANUP(host)

bool host_accepts_roots(const struct host *host);
/* The client's roots, instead of those it had before: absolute paths. What is not fit is left out
 * and logged. */
void host_set_roots(struct host *host, const char *const *paths, size_t count);

/* How many directories are allowed, and which: those of the options first. */
size_t host_directory_count(const struct host *host);
const char *host_directory(const struct host *host, size_t n);

/* Is there a directory for it? By its letters only. */
MUST_CHECK int host_check_path(const struct host *host, const char *path, struct error *err);

/* `path` is absolute, or relative to the first allowed directory. fn is called once, from the loop:
 * from then on there is a channel. */
typedef void host_opened_fn(void *ctx, const struct error *why);
MUST_CHECK int host_open(struct host *host, const char *path, host_opened_fn *fn, void *ctx,
                         struct host_handle **ret, struct error *err);
/* At any time, also before and within fn, which is not called any more. */
void host_close(struct host_handle *use);

struct channel *host_handle_channel(const struct host_handle *use); /* NULL: it has ended */
const char *host_handle_path(const struct host_handle *use); /* for the agent: below its root */
const char *host_handle_directory(const struct host_handle *use); /* its root, absolute */
const char *host_handle_absolute(const struct host_handle *use);  /* absolute, for people */
const char *host_handle_label(const struct host_handle *use);     /* in front of its errors */
const char *host_handle_name(const struct host_handle *use);      /* the last name of it */
