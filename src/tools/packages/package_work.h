/* package_work.h - a call that runs an installer of packages in a sandbox (package_step.h): the
 * common part of install_packages and list_packages. An installer that takes longer than a call
 * becomes a process of its own. */
#pragma once
#include "base/attr.h"
#include "mcp/param/param.h"
#include "tools/packages/package_step.h"

struct error;
struct mcp_call;

/* The texts must live as long as the call. */
MUST_CHECK int package_work_start(struct mcp_call *call, const struct package_request *request,
                                  struct error *err);

/* The output table of both tools. */
extern const struct param package_work_output[];
