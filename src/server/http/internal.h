/* internal.h - what the files of src/server/http share.
 *
 *   http_service.c  the HTTP side of the server: start, mounts, access log, stop
 *   listeners.c     the addresses; refuses one that other machines reach without authentication
 *   secrets.c       the token file and the TLS files, and the reloader that watches them
 *   side_paths.c    paths beside MCP that profiles answer */
#pragma once
#include <stddef.h>

#include "base/attr.h"
#include "base/buf.h"
#include "server/access/access.h"
#include "server/reloader/reloader.h"
#include "transport/http/http_listen.h"

struct error;
struct http_tls;
struct options;

/* --- listeners.c: the addresses --- */

enum { LISTENERS_MAX = 64 };

struct listeners {
	struct http_listen at[LISTENERS_MAX];
	size_t count;
};

MUST_CHECK int listeners_open(const struct options *options, struct listeners *ret,
                              struct error *err);
void listeners_close(struct listeners *listeners);

/* --- secrets.c: the token file and the TLS files, as they are now --- */

/* The files, by their index in the reloader. */
enum secret_file { SECRET_TOKENS, SECRET_CERTIFICATE, SECRET_KEY, SECRET_FILES };

struct secrets {
	struct reloader reloader;
	enum secret_file files[SECRET_FILES]; /* by the reloader's index */
	char *paths[SECRET_FILES];            /* by the reloader's index */
	size_t count;
	struct access *access; /* NULL: no authentication */
	struct http_tls *tls;  /* NULL: plain HTTP */
	struct buf certificate, key;
	access_lost_fn *lost; /* for tokens that are not valid any more */
	void *ctx;
};

/* Reads the files, after the reloader has been started: it reports every later change. */
MUST_CHECK int secrets_open(const struct options *options, struct secrets *ret, struct error *err);
struct loop;
void secrets_watch(struct secrets *secrets, struct loop *loop, access_lost_fn *lost, void *ctx);
void secrets_close(struct secrets *secrets);
