/* copy_work.h - a call that copies between the host and a sandbox; which way is the tool's. */
#pragma once
#include "base/attr.h"
#include "mcp/param/param.h"

struct error;
struct mcp_call;

struct copy_work_options {
	bool is_out; /* from the sandbox to the host */
	const char *sandbox;
	const char *host;   /* absolute, or relative to the first allowed directory */
	const char *inside; /* NULL: in the workspace, under the same name */
	bool overwrite, gitignore;
};

/* Its texts live as long as the call. */
MUST_CHECK int copy_work_begin(struct mcp_call *call, const struct copy_work_options *wish,
                               struct error *err);

/* What both tools answer. */
extern const struct param copy_work_output[];
