#include "tools/packages/project_install.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/packages/package_text.h"
#include "tools/support/work.h"

/* --- the end of the step --- */

static bool start_next_dir(struct project_install *install);

/* Releases the project, and moves the calls that waited for this one to `waiting`. */
static void leave_project(struct project_install *install, struct list *waiting)
{
	struct project *project = install->project;

	list_init(waiting);
	if (project == NULL)
		return;
	list_remove(&install->node);
	install->project = NULL;
	project_release(project);
	if (!install->is_leader)
		return;
	install->is_leader = false;
	project->is_reading = project->is_installing = false;
	while (!list_is_empty(&project->waiting)) {
		struct list *node = project->waiting.next;

		list_remove(node);
		list_add(waiting, node);
	}
}

/* Resumes the waiting calls in the order in which they came, because the cells of a session must
 * run in the order of their calls. After a reading, each call reads the files itself, because they
 * may have changed meanwhile; after an installation, all calls use its result. */
static void resume_waiting(struct list *waiting, bool has_installed, const struct error *why)
{
	while (!list_is_empty(waiting)) {
		struct project_install *other = container_of(waiting->next, struct project_install,
		                                             node);

		list_remove(&other->node);
		project_release(other->project);
		other->project = NULL;
		if (has_installed || !start_next_dir(other))
			other->fn(other->ctx, why);
	}
}

static void finish_step(struct project_install *install, const struct error *why)
{
	struct list waiting;

	leave_project(install, &waiting);
	install->fn(install->ctx, why);
	resume_waiting(&waiting, true, why);
}

/* Reports that the time of the call is over and that the installer continues as a process of the
 * sandbox. */
static int set_running(const char *process, struct error *err)
{
	return error_set(err, ERR_LIMIT,
	                 "nothing was run yet: the packages that the project lists are still being "
	                 "installed, by the process %s. process_output {\"process\":\"%s\","
	                 "\"wait_s\":30} waits for it; then run this again. process_stop ends it, "
	                 "to run without these packages",
	                 process, process);
}

/* --- the reply --- */

static void describe_reply(struct project_install *install, const struct package_reply *reply,
                           const struct error *why)
{
	struct package_text text = { .out = install->remark, .size = sizeof install->remark };
	char names[PROJECT_NAMES_SIZE];
	bool has_installed = reply->installed.count != 0;

	(void)project_read_names(&install->read, names);
	if (why != NULL)
		package_text_add(
		        &text, "the packages of %s could not be installed, so this ran %s: ", names,
		        has_installed ? "with a part of them" : "without them");
	if (why != NULL)
		package_text_add_escaped(&text, why->msg);
	else if (has_installed)
		package_text_add(&text, "installed before this run, as %s lists: ", names);
	text.size = sizeof install->remark / 2; /* the other half is for failures */
	if (why == NULL)
		package_text_add_list(&text, &reply->installed);
	text.size = sizeof install->remark;
	if (why == NULL && reply->lines.count != 0) {
		package_text_add(&text, "; ");
		package_text_add_escaped(&text, reply->lines.items[0]);
	}
	if (reply->refused.count != 0) {
		package_text_add(&text, "%s", text.used != 0 ? "; " : "");
		package_text_add(&text, "left out of %s: ", names);
		package_text_add_list(&text, &reply->refused);
	}
}

static void on_reply(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct project_install *install = ctx;
	struct error err;

	if (reply == NULL && why == NULL) {
		const char *id = process_id(install->step.process);

		(void)set_running(id, &err);
		(void)snprintf(install->project->installer, sizeof install->project->installer,
		               "%s", id);
		process_detach(install->step.process);
		install->step.process = NULL;
		finish_step(install, &err);
		return;
	}
	install->has_failed = why != NULL;
	describe_reply(install, &install->step.reply, why);
	finish_step(install, NULL);
}

/* --- the start --- */

static void start_installer(struct project_install *install)
{
	const struct work *work = install->work;
	const uint64_t now = clock_now_ms(), until = install->until_ms;
	const struct package_request request = {
		.action = PACKAGE_PROJECT,
		.language = package_languages[install->place.is_python ? 0 : 1],
		.cwd = install->project->dir,
		.files = install->options->files,
		.file_count = install->options->file_count,
	};
	struct error err;
	uint32_t within_ms = until == UINT64_MAX       ? 0
	                     : until <= now            ? 1
	                     : until - now > INT32_MAX ? INT32_MAX
	                                               : (uint32_t)(until - now);

	install->project->is_installing = true;
	if (package_step_prepare(&install->step, work->context, &request, &err) < 0 ||
	    package_step_start(&install->step, work, within_ms, on_reply, install, &err) < 0) {
		install->project->version = 0; /* the next run tries again */
		on_reply(install, NULL, &err);
	}
}

static void on_read(void *ctx)
{
	struct project_install *install = ctx;
	struct project *project = install->project;
	const uint64_t version = project_read_version(&install->read);
	bool is_new = version != 0 && version != project->version;
	struct list waiting;

	project->read_ms = clock_now_ms();
	project->version = version;
	if (is_new) {
		start_installer(install);
		return;
	}
	leave_project(install, &waiting);
	if (version != 0 || ++install->dir == install->place.dir_count || !start_next_dir(install))
		install->fn(install->ctx, NULL);
	resume_waiting(&waiting, false, NULL);
}

/* Whether the installer of an earlier call still runs. */
static bool is_installer_running(struct project *project, struct sandbox *sandbox)
{
	struct process *process;
	struct error ignored;

	if (project->installer[0] == '\0')
		return false;
	if (process_find(sandbox, project->installer, &process, &ignored) == 0 &&
	    !process_is_over(process))
		return true;
	project->installer[0] = '\0';
	return false;
}

static void on_deferred(struct project_install *install)
{
	struct error err;

	(void)set_running(install->project->installer, &err);
	finish_step(install, &err);
}

/* Whether the workspace is known to have no files. An image may bring some. */
static bool is_in_empty_workspace(const struct project_install *install)
{
	return strcmp(install->project->dir, SPEC_WORKSPACE) == 0 &&
	       !install->work->context->has_images && sandbox_is_untouched(install->work->sandbox);
}

/* Whether the files of the project must be read. The first run in a new sandbox does not wait for
 * the reply that there are none. */
static bool needs_reading(const struct project_install *install)
{
	return install->options->file_count != 0 ||
	       (!project_is_known(install->project, install->work->sandbox) &&
	        !is_in_empty_workspace(install));
}

/* Begins with the first directory from install->dir on that needs something: to be read, or an
 * installer to be waited for. False: none does. */
static bool start_next_dir(struct project_install *install)
{
	struct sandbox *sandbox = install->work->sandbox;
	struct list none; /* stays empty: no call waits for a project without an installer */

	for (; install->dir < install->place.dir_count; install->dir++) {
		struct project *project = project_find(sandbox, install->place.dirs[install->dir],
		                                       install->place.is_python);

		if (project == NULL)
			return false;
		install->project = project;
		if (project->is_reading || project->is_installing) {
			list_add(&project->waiting, &install->node);
			return true;
		}
		if (is_installer_running(project, sandbox)) {
			on_deferred(install);
			return true;
		}
		if (needs_reading(install)) {
			install->is_leader = project->is_reading = true;
			project_read_start(&install->read, sandbox, project, install->options,
			                   on_read, install);
			return true;
		}
		leave_project(install, &none);
		if (project->version != 0)
			return false;
	}
	return false;
}

bool project_install_start(struct project_install *install, const struct work *work,
                           const struct process_options *options, uint64_t until_ms,
                           project_install_fn *fn, void *ctx)
{
	if (!package_may_install(work))
		return false;
	*install = (struct project_install){
		.work = work, .options = options, .until_ms = until_ms, .fn = fn, .ctx = ctx
	};
	return project_place_find(options, &install->place) && start_next_dir(install);
}

void project_install_done(struct project_install *install)
{
	struct list waiting;
	bool has_installed;

	project_read_done(&install->read);
	package_step_done(&install->step);
	install->step = (struct package_step){ 0 };
	has_installed = install->is_leader && install->project->is_installing;
	if (has_installed)
		install->project->version = 0; /* the installer was ended with its call */
	leave_project(install, &waiting);
	resume_waiting(&waiting, has_installed, NULL);
}
