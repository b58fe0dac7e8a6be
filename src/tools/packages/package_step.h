/* package_step.h - a run of an installer of packages as one step of a call's work.
 *
 * The installer is a program of the sandbox with its limits. While it runs, and no longer, the
 * package indexes can be reached through a gate of its own, whose password only this run has in its
 * environment. So a sandbox without a network can install packages, and other programs in it reach
 * nothing by that.
 *
 *   package_step_prepare -> package_step_start -> fn -> package_step_done
 *
 * The struct belongs to the work; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/attr.h"
#include "base/buf.h"
#include "mcp/param/param.h"
#include "sandbox/process/process.h"
#include "tools/run/wait/wait_process.h"
#include "json/json.h"

struct error;
struct tools_context;
struct work;

enum package_action {
	PACKAGE_INSTALL,
	PACKAGE_UNINSTALL,
	PACKAGE_RESET,
	PACKAGE_LIST,
	PACKAGE_NEED,    /* installs one package, and what the project in `cwd` lists */
	PACKAGE_PROJECT, /* installs what the project in `cwd` lists */
};

/* The values of the argument `language`; the first is the default. */
extern const char *const package_languages[];

struct process_file;
struct package_request {
	enum package_action action;
	const char *language;             /* one of package_languages */
	struct param_strings packages;    /* empty for RESET, LIST and PROJECT */
	const char *argument;             /* that names them, for errors; NULL: "packages" */
	const char *sandbox;              /* NULL: the default one; for work_start() */
	const char *cwd;                  /* of the installer; NULL: the workspace */
	const struct process_file *files; /* written first */
	size_t file_count;
};
bool package_is_python(const struct package_request *request);

/* The installer's reply: see kernels/packages_python.py. */
struct package_reply {
	bool ok, no_installer;
	struct param_strings installed, removed, packages, image, lines, refused;
};

/* The installer has ended with this reply, or failed for the reason `why`. Both NULL: the time was
 * up and it still runs. */
typedef void package_step_fn(void *ctx, const struct package_reply *reply, const struct error *why);

struct package_step {
	struct package_request request;
	const struct work *work;
	struct process *process;
	struct wait_process wait;
	struct buf specs; /* the packages, each with a zero behind it */
	struct arena arena;
	json_t *json; /* the decoded text, in which the strings of the reply are */
	struct package_reply reply;
	package_step_fn *fn;
	void *ctx;
};

/* Whether an installer may be started without being asked for, in the sandbox of the work. Code in
 * the sandbox decides when that happens, and can obtain the installer's password. Without a mirror
 * the installer reaches the hosts of the indexes, to which data can be sent: a sandbox without a
 * network must not open that way by itself. */
bool package_may_install(const struct work *work);
/* Checks the request and reads the specifiers; its texts must live as long as the step. */
MUST_CHECK int package_step_prepare(struct package_step *step, const struct tools_context *context,
                                    const struct package_request *request, struct error *err);
/* Starts the installer in the work's sandbox, which is awake. fn is called after its end, or after
 * within_ms (0: only after its end). */
MUST_CHECK int package_step_start(struct package_step *step, const struct work *work,
                                  uint32_t within_ms, package_step_fn *fn, void *ctx,
                                  struct error *err);
void package_step_done(struct package_step *step);
