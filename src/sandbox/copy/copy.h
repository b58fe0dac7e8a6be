/* copy.h - a file or a directory from one agent's files to another's, as one would say it.
 *
 * Looks at both ends first: what the source is, where it is to be, and whether something is in
 * the way. Then the transfer. Of a directory what is in it goes over; an existing target keeps
 * what the source does not have.
 *
 *   copy_start -> progress ... -> ended, once; or copy_cancel */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "sandbox/copy/transfer.h"

struct channel;
struct copy;
struct error;
struct host_handle;
struct sandbox;

enum { COPY_ENTRIES_MAX = 200000 };
#define COPY_BYTES_MAX (UINT64_C(2) << 30)

struct copy_endpoint {
	/* Asked before each step: the channel may end meanwhile, which is NULL. */
	struct channel *(*channel)(void *ctx);
	void *ctx;
	const char *path;  /* for its agent to resolve */
	const char *where; /* in front of its errors; or NULL */
	bool is_host;      /* what comes here gets no rights for others than its owner to write */
};

/* The texts are not copied. */
struct copy_endpoint copy_host_endpoint(struct host_handle *use, const char *path,
                                        const char *where);
struct copy_endpoint copy_sandbox_endpoint(struct sandbox *sandbox, const char *path,
                                           const char *where);

const char *copy_last_name(const char *path); /* behind the last slash */

struct copy_options {
	struct copy_endpoint from, to;
	const char *name; /* of the source: for a target that is a directory. No slash in it */
	bool into;        /* a directory too goes into an existing one, under its name; so it does
	                   * if the target ends in a slash */
	bool overwrite;   /* what is there is replaced, a directory merged; else refused */
	bool gitignore;   /* leave out what the .gitignore files of the source say */
	uint64_t max_bytes;
	uint32_t max_count;
};

struct copy_result {
	struct transfer_result moved;
	uint64_t ignored;   /* entries left out by .gitignore */
	bool is_directory;  /* the source */
	const char *target; /* where it is now, for the agent there */
};

struct copy_events {
	void (*progress)(void *ctx, uint64_t bytes); /* may be NULL */
	/* Last call, from the loop; `why` NULL: it is there. */
	void (*ended)(void *ctx, const struct copy_result *result, const struct error *why);
};

/* The wish and its texts are copied. */
MUST_CHECK int copy_start(const struct copy_options *wish, const struct copy_events *events,
                          void *ctx, struct copy **ret, struct error *err);
void copy_cancel(struct copy *copy);
