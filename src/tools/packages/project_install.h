/* project_install.h - the packages that a project lists, installed before its first run: the step
 * of a run's work in front of the process.
 *
 *   project_install_start -> fn -> project_install_done
 *
 * A project is a directory with a requirements.txt, a pyproject.toml or a package.json, in which a
 * run starts Python or Node (project_command.h). Each version of these files is dealt with once
 * while the sandbox is awake (project_files.h). Only what the sandbox does not have in a suitable
 * version is installed. A failure is reported and does not prevent the run.
 *
 * Calls that run the same project meanwhile wait until the files are read and the installer has
 * ended, and then go on in the order in which they came. The struct belongs to the work; zeroed, it
 * is inactive. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "tools/packages/package_step.h"
#include "tools/packages/project_command.h"
#include "tools/packages/project_files.h"

struct error;
struct process_options;
struct work;

enum { PROJECT_REMARK_MAX = 1000 };

/* why NULL: the run can begin. Else it cannot yet: the installer takes longer than the call may. */
typedef void project_install_fn(void *ctx, const struct error *why);

struct project_install {
	struct project_place place;
	unsigned dir; /* index of the directory that is looked at */
	struct project *project;
	struct project_read read;
	struct package_step step;
	struct list node; /* in project->waiting */
	const struct work *work;
	const struct process_options *options;
	uint64_t until_ms;
	bool is_leader; /* further calls wait for what this one reads or installs */
	bool has_failed;
	char remark[PROJECT_REMARK_MAX]; /* what was installed or left out; "": nothing to tell */
	project_install_fn *fn;
	void *ctx;
};

/* False: there is nothing to do before the run of these options, and fn is not called. until_ms: of
 * clock_now_ms(); the call must be answered by then. The options must live as long as the step. */
bool project_install_start(struct project_install *install, const struct work *work,
                           const struct process_options *options, uint64_t until_ms,
                           project_install_fn *fn, void *ctx);
void project_install_done(struct project_install *install);
