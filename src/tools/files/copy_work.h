/* copy_work.h - a call that copies between the host and a sandbox: the common part of copy_in and
 * copy_out.
 *
 * copy_work_start() finds and wakes the sandbox (work.h), opens the host's directory through the
 * porter, starts a copy (sandbox/copy/copy.h) and answers the call when that ends. The work owns
 * all of them and frees them with the answer. */
#pragma once
#include "base/attr.h"
#include "mcp/param/param.h"
#include "json/json.h"

struct copy_result;
struct error;
struct mcp_call;
struct sandbox;

/* A copy that has ended well. */
struct copy_done {
	const struct copy_result *result;
	const char *source, *target; /* absolute paths, of the host or in the sandbox */
	const char *summary;         /* says in words what was copied and what was left out */
};

struct copy_work_options {
	bool is_out; /* from the sandbox to the host */
	const char *sandbox;
	const char *host;   /* absolute, or relative to the first allowed directory */
	const char *inside; /* NULL: in /workspace, under the name of the host's path */
	bool overwrite, gitignore, preview, only_directory; /* see copy.h */
	/* The names of the arguments `host` and `inside`, for errors; NULL: those of copy_in and
	 * copy_out. */
	const char *host_argument, *inside_argument;
	/* Makes the answer of a profile, as an object whose text is its JSON; NULL: the answer of
	 * copy_in and copy_out. */
	json_t *(*answer)(const struct mcp_call *call, const struct copy_done *done);
};

/* Copies *options and the two paths in it. `sandbox` is one that the caller has found; NULL: the
 * one of options->sandbox. */
MUST_CHECK int copy_work_start(struct mcp_call *call, struct sandbox *sandbox,
                               const struct copy_work_options *options, struct error *err);

/* The output table of both tools. */
extern const struct param copy_work_output[];

/* Whether copies can work: there are allowed directories, or the client may declare roots. */
bool copy_work_is_offered(const void *app);
