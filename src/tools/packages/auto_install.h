/* auto_install.h - automatic dependencies of a run: if a module was missing, the package that
 * brings it is installed, and the caller repeats the run once.
 *
 *   auto_install_start (after the run's end) -> fn -> auto_install_done
 *
 * A package is looked for only if the operator allows packages, and not again for a while after it
 * could not be installed in a sandbox. The struct belongs to the work; zeroed, it is inactive. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "tools/packages/package_module.h"
#include "tools/packages/package_step.h"

struct process;
struct process_options;
struct work;

enum { AUTO_INSTALL_REMARK_MAX = 1000 };

/* `is_installed`: the run can be repeated. */
typedef void auto_install_fn(void *ctx, bool is_installed);

struct auto_install {
	struct package_missing missing;
	const char *name; /* missing.package, for the request */
	char dir[4096];   /* of the installer, if it is not the run's */
	struct package_step step;
	bool was_tried, is_installed;
	/* Packages that were installed, or why none was; "": no installation was tried. */
	char remark[AUTO_INSTALL_REMARK_MAX];
	auto_install_fn *fn;
	void *ctx;
};

/* Starts the installer if the run of these options, which is over, lacks a module. False: there is
 * nothing to install, and fn is not called. */
bool auto_install_start(struct auto_install *install, const struct work *work,
                        struct process *process, const struct process_options *options,
                        uint32_t within_ms, auto_install_fn *fn, void *ctx);
void auto_install_done(struct auto_install *install);
