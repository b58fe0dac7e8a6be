#include "tools/packages/auto_install.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "sandbox/process/process.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/support/work.h"

enum { FAILURES = 32, FAILURE_MS = 600000, ERRORS_MAX = 8192 };

/* --- packages that could not be installed --- */

/* A program that is run again and again with the same missing module must not make the index be
 * asked each time. */
static struct failure {
	uint64_t at_ms;
	char sandbox[SPEC_ID_LEN + 1];
	char package[PACKAGE_SPEC_MAX + 1];
} failures[FAILURES];
static size_t next_failure;

static void add_failure(const struct auto_install *install, const struct sandbox *sandbox)
{
	struct failure *failure = &failures[next_failure++ % FAILURES];

	failure->at_ms = clock_now_ms();
	(void)snprintf(failure->sandbox, sizeof failure->sandbox, "%s",
	               sandbox_row(sandbox)->spec.id);
	(void)snprintf(failure->package, sizeof failure->package, "%s", install->missing.package);
}

static bool has_failed(const struct auto_install *install, const struct sandbox *sandbox)
{
	const uint64_t now = clock_now_ms();

	for (size_t i = 0; i < FAILURES; i++)
		if (failures[i].at_ms != 0 && now - failures[i].at_ms < FAILURE_MS &&
		    strcmp(failures[i].package, install->missing.package) == 0 &&
		    strcmp(failures[i].sandbox, sandbox_row(sandbox)->spec.id) == 0)
			return true;
	return false;
}

/* --- the end of the installer --- */

/* Adds a text of the installer, which any program of the sandbox may have written: without bytes
 * that begin a new line, or another statement of belljar's. */
static size_t add_printable(char *out, size_t size, size_t used, const char *text)
{
	char shown[401];

	(void)utf8_escape(view_of(text), shown, sizeof shown);
	for (char *at = shown; (at = strchr(at, '[')) != NULL; at++)
		*at = '(';
	used += (size_t)snprintf(out + used, size - used, "%s", shown);
	return used < size ? used : size - 1;
}

static void describe_installed(struct auto_install *install, const struct package_reply *reply)
{
	size_t used;

	used = (size_t)snprintf(install->remark, sizeof install->remark,
	                        "the module '%s' was missing, so belljar installed",
	                        install->missing.module);
	for (size_t i = 0; i < reply->installed.count && used + 500 < sizeof install->remark; i++) {
		used = add_printable(install->remark, sizeof install->remark, used,
		                     i != 0 ? ", " : " ");
		used = add_printable(install->remark, sizeof install->remark, used,
		                     reply->installed.items[i]);
	}
	(void)snprintf(install->remark + used, sizeof install->remark - used,
	               " and ran this again; what it did before the import, it did twice");
}

static void on_reply(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct auto_install *install = ctx;
	size_t used;
	bool is_installed = reply != NULL && reply->installed.count != 0;

	if (is_installed)
		describe_installed(install, reply);
	else if (why != NULL) {
		used = (size_t)snprintf(install->remark, sizeof install->remark,
		                        "the module '%s' is missing, and the package %s could not "
		                        "be installed: ",
		                        install->missing.module, install->missing.package);
		(void)add_printable(install->remark, sizeof install->remark, used, why->msg);
	} else if (reply == NULL)
		(void)snprintf(install->remark, sizeof install->remark,
		               "the module '%s' is missing; %s is being installed as %s: run this "
		               "again when that has ended",
		               install->missing.module, install->missing.package,
		               process_id(install->step.process));
	if (reply == NULL && why == NULL) {
		process_detach(install->step.process);
		install->step.process = NULL;
	} else if (!is_installed)
		add_failure(install, install->step.work->sandbox);
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

/* Code in the sandbox decides by its error message when an installer is started, and can obtain the
 * installer's password. Without a mirror the installer reaches the hosts of the indexes, to which
 * data can be sent: a sandbox without a network must not open that way by itself. */
static bool may_start_installer(const struct work *work)
{
	const struct tools_context *context = work->context;

	return context->auto_packages && context->ceiling != NULL &&
	       (context->has_mirror || sandbox_network_mode(work->sandbox) != NET_MODE_NONE);
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
	struct process_state state;
	struct error err;

	if (!may_start_installer(work) || install->was_tried || !can_repeat(options, &dir))
		return false;
	process_state(process, &state);
	if (!package_missing_find(&state, end_of_stderr(process), &install->missing) ||
	    has_failed(install, work->sandbox))
		return false;
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
