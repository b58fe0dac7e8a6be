/* internal.h - what the files of the mirror share.
 *
 *   mirror.c        the process, and the route of a request
 *   mirror_page.c   pages: from the cache, or from an index
 *   mirror_file.c   files: likewise, verified
 *   mirror_reply.c  answers to installers
 *   fetch.c         one request to an index, over connections that the dialer has checked
 *   package_cache.c digest.c page_pip.c page_npm.c   see their headers */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/dialer/dialer_service.h"
#include "egress/mirror/mirror.h"
#include "egress/mirror/package_cache.h"
#include "egress/mirror/pages.h"

enum { MIRROR_PAGE_MAX = 48 * 1024 * 1024, MIRROR_SILENCE_S = 20 };

/* One request, in its child process. */
struct mirror {
	const struct mirror_config *config;
	const struct upstream *upstream;
	struct package_cache cache;
	int fd; /* of the installer */
};

/* --- fetch.c --- */

struct fetch {
	const char *url, *accept; /* accept NULL: anything */
	uint64_t max;             /* bytes; more is an error */
	/* The answer is 200, and has this many bytes; UINT64_MAX: unknown. May be NULL. */
	void (*begin)(void *ctx, uint64_t length);
	/* -1: the installer does not read any more. */
	int (*bytes)(void *ctx, struct view bytes);
	void *ctx;
	/* The result. */
	long status; /* of HTTP; 0: there was no answer */
	char final_url[PAGE_URL_MAX + 1];
};

/* Succeeds if there was an answer of 200 and bytes() got all of it. Follows redirections, within
 * the hosts of the indexes. */
MUST_CHECK int fetch_run(const struct mirror *mirror, struct fetch *fetch, struct error *err);
/* Resolves an address of a page that came from `base`. */
MUST_CHECK int fetch_resolve(const char *base, const char *url, char ret[PAGE_URL_MAX + 1],
                             struct error *err);

/* --- mirror_page.c --- */

struct mirror_page {
	bool is_npm;
	const char *name;           /* checked */
	struct buf text;            /* as the index sent it */
	char url[PAGE_URL_MAX + 1]; /* that the text came from */
};

/* ERR_NOT_FOUND: the index has no such project. */
MUST_CHECK int mirror_page_read(const struct mirror *mirror, struct mirror_page *page,
                                struct error *err);

/* --- mirror_file.c --- */

/* Answers with the file. */
void mirror_file_send(const struct mirror *mirror, const struct mirror_page *page,
                      const struct page_file *file);

/* --- mirror_reply.c --- */

/* length UINT64_MAX: the end of the connection ends the body. -1: the installer is gone. */
int mirror_reply_head(const struct mirror *mirror, const char *type, uint64_t length);
int mirror_reply_bytes(const struct mirror *mirror, struct view bytes);
void mirror_reply_error(const struct mirror *mirror, const struct error *why);
