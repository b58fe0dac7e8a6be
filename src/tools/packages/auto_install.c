#include "tools/packages/auto_install.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/packages/package_text.h"
#include "tools/support/work.h"

enum { FAILURES = 32, FAILURE_MS = 600000, ERRORS_MAX = 8192 };
#define REPEATED " and ran this again; what it did before the import, it did twice"

/* --- packages that could not be installed --- */

/* A program that is run again and again with the same missing module must not make the index be
 * asked each time. */
static struct failure {
	uint64_t at_ms;
	char sandbox[SPEC_ID_LEN + 1];
	char package[PACKAGE_SPEC_MAX + 1];
	char why[300];
} failures[FAILURES];
static size_t next_failure;

static void add_failure(const struct auto_install *install, const struct sandbox *sandbox,
                        const char *why)
{
	struct failure *failure = &failures[next_failure++ % FAILURES];

	failure->at_ms = clock_now_ms();
	(void)snprintf(failure->sandbox, sizeof failure->sandbox, "%s",
	               sandbox_row(sandbox)->spec.id);
	(void)snprintf(failure->package, sizeof failure->package, "%s", install->missing.package);
	(void)snprintf(failure->why, sizeof failure->why, "%.299s", why);
}

static const struct failure *find_failure(const struct auto_install *install,
                                          const struct sandbox *sandbox)
{
	const uint64_t now = clock_now_ms();

	for (size_t i = 0; i < FAILURES; i++)
		if (failures[i].at_ms != 0 && now - failures[i].at_ms < FAILURE_MS &&
		    strcmp(failures[i].package, install->missing.package) == 0 &&
		    strcmp(failures[i].sandbox, sandbox_row(sandbox)->spec.id) == 0)
			return &failures[i];
	return NULL;
}

/* --- the end of the installer --- */

static void describe_installed(struct auto_install *install, const struct package_reply *reply)
{
	struct package_text text = { .out = install->remark,
		                     .size = sizeof install->remark - sizeof REPEATED };

	package_text_add(&text, "the module '%s' was missing, so belljar installed ",
	                 install->missing.module);
	package_text_add_list(&text, &reply->installed);
	text.size = sizeof install->remark;
	package_text_add(&text, "%s", REPEATED);
}

static void describe_failed(struct auto_install *install, const char *when, const char *why)
{
	struct package_text text = { .out = install->remark, .size = sizeof install->remark };

	package_text_add(
	        &text, "the module '%s' is missing, and the package %s could not be installed%s: ",
	        install->missing.module, install->missing.package, when);
	package_text_add_escaped(&text, why);
}

static void on_reply(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct auto_install *install = ctx;
	bool is_installed = reply != NULL && reply->installed.count != 0;

	if (is_installed) {
		describe_installed(install, reply);
	} else if (reply == NULL && why == NULL) {
		(void)snprintf(install->remark, sizeof install->remark,
		               "the module '%s' is missing; %s is being installed as %s: run this "
		               "again when that has ended",
		               install->missing.module, install->missing.package,
		               process_id(install->step.process));
		process_detach(install->step.process);
		install->step.process = NULL;
	} else {
		const char *reason = why != NULL ? why->msg
		                                 : "it is installed, without that module";

		describe_failed(install, "", reason);
		add_failure(install, install->step.work->sandbox, reason);
	}
	install->is_installed = is_installed;
	install->fn(install->ctx, is_installed);
}

/* --- the start --- */

/* `dir`: where the project of the run is, below its working directory; empty: there. */
static bool can_repeat(const struct process_options *options, struct view *dir)
{
	*dir = (struct view){ "", 0 };
	if (options->language != NULL)
		return true;
	if (options->command != NULL)
		return package_command_is_simple(options->command, dir);
	return options->argv != NULL && package_command_is_simple(options->argv[0], dir);
}

/* The directory for the installer. One that does not exist makes the installer fail, as it did the
 * run. */
static const char *find_dir(struct auto_install *install, const struct process_options *options,
                            struct view dir)
{
	const char *base = options->cwd != NULL && dir.len != 0 && dir.ptr[0] != '/' ? options->cwd
	                                                                             : "";

	if (dir.len == 0)
		return options->cwd;
	(void)snprintf(install->dir, sizeof install->dir, "%s%s%.*s", base,
	               base[0] != '\0' ? "/" : "", (int)dir.len, dir.ptr);
	return install->dir;
}

static struct view end_of_stderr(struct process *process)
{
	struct process_stream stream = process_stream(process, true);
	struct view end = stream.tail.len != 0 ? stream.tail : stream.head;

	if (end.len > ERRORS_MAX)
		end = (struct view){ end.ptr + (end.len - ERRORS_MAX), ERRORS_MAX };
	return end;
}

bool auto_install_start(struct auto_install *install, const struct work *work,
                        struct process *process, const struct process_options *options,
                        uint32_t within_ms, auto_install_fn *fn, void *ctx)
{
	struct package_request request = { .action = PACKAGE_NEED };
	struct view dir;
	const struct failure *failure;
	struct process_state state;
	struct error err;

	if (!package_may_install(work) || install->was_tried || !can_repeat(options, &dir))
		return false;
	process_state(process, &state);
	if (!package_missing_find(&state, end_of_stderr(process), &install->missing))
		return false;
	failure = find_failure(install, work->sandbox);
	if (failure != NULL) {
		describe_failed(install, " a moment ago (install_packages tries again)",
		                failure->why);
		return false;
	}
	install->was_tried = true;
	install->fn = fn;
	install->ctx = ctx;
	install->name = install->missing.package;
	request.cwd = find_dir(install, options, dir);
	request.language = package_languages[install->missing.is_python ? 0 : 1];
	request.packages = (struct param_strings){ .count = 1, .items = &install->name };
	if (package_step_prepare(&install->step, work->context, &request, &err) < 0)
		return false;
	return package_step_start(&install->step, work, within_ms, on_reply, install, &err) == 0;
}

void auto_install_done(struct auto_install *install)
{
	package_step_done(&install->step);
	install->step = (struct package_step){ 0 };
}
