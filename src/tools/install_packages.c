/* install_packages.c - the tools install_packages and list_packages: a call that runs an installer
 * in a sandbox (tools/packages/package_step.h). An installer that takes longer than a call becomes
 * a process of its own. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "mcp/call.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/packages/package_spec.h"
#include "tools/packages/package_step.h"
#include "tools/packages/project_files.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

static const struct param output[] = {
	FIELD_OPTIONAL("installed", STRINGS, "What was installed, with versions."),
	FIELD_OPTIONAL("removed", STRINGS, "What was removed, with versions."),
	FIELD_OPTIONAL("packages", STRINGS, "What is installed in the sandbox, with versions."),
	FIELD_OPTIONAL("image", STRINGS, "What the image has besides, with versions."),
	FIELD_OPTIONAL("process", STRING, "The installer, if it still runs: see process_output."),
	FIELD_OPTIONAL("note", STRING, "What to know or to do next."),
	{ 0 },
};

struct package_work {
	struct work work;
	struct package_step step;
};

static void set_strings(json_t *object, const char *key, const struct param_strings *list)
{
	json_t *all = json_list();

	for (size_t i = 0; i < list->count; i++)
		json_push(all, json_str(list->items[i]));
	if (list->count != 0)
		json_set(object, key, all);
	else
		json_decref(all);
}

static const char *find_note(const struct package_request *request,
                             const struct package_reply *reply)
{
	bool changed = reply->installed.count != 0 || reply->removed.count != 0;

	if (request->action == PACKAGE_INSTALL && !changed)
		return "everything that was asked for is there already";
	if ((request->action == PACKAGE_UNINSTALL || request->action == PACKAGE_RESET) && !changed)
		return "nothing of that is installed in the sandbox";
	if (request->action == PACKAGE_INSTALL && package_is_python(request))
		return "code can import it now, in sessions that run already too";
	return NULL;
}

static void answer_reply(struct package_work *w, const struct package_reply *reply)
{
	json_t *all = json_obj();

	if (w->step.request.action == PACKAGE_RESET)
		project_files_reset(sandbox_row(w->work.sandbox)->spec.id);
	set_strings(all, "installed", &reply->installed);
	set_strings(all, "removed", &reply->removed);
	if (w->step.request.action == PACKAGE_LIST) {
		json_t *own = json_list();

		for (size_t i = 0; i < reply->packages.count; i++)
			json_push(own, json_str(reply->packages.items[i]));
		json_set(all, "packages", own);
		set_strings(all, "image", &reply->image);
	}
	if (reply->lines.count != 0 && reply->installed.count != 0)
		json_set(all, "note", json_str(reply->lines.items[0]));
	else if (reply->lines.count != 0)
		json_set(all, "note",
		         json_format("nothing had to be installed; %s", reply->lines.items[0]));
	else
		json_set_text(all, "note", find_note(&w->step.request, reply));
	work_answer(&w->work, NULL, all);
}

static void answer_running(struct package_work *w)
{
	json_t *all = json_obj();
	char note[160];

	process_detach(w->step.process);
	json_set(all, "process", json_str(process_id(w->step.process)));
	(void)snprintf(
	        note, sizeof note,
	        "the installer still runs: process_output {\"process\":\"%s\"} waits for it; "
	        "then list_packages",
	        process_id(w->step.process));
	json_set(all, "note", json_str(note));
	w->step.process = NULL;
	work_answer(&w->work, NULL, all);
}

static void on_reply(void *ctx, const struct package_reply *reply, const struct error *why)
{
	struct package_work *w = ctx;

	if (why != NULL)
		work_fail(&w->work, why);
	else if (reply == NULL)
		answer_running(w);
	else
		answer_reply(w, reply);
}

static int start_installer(struct work *work, struct error *err)
{
	struct package_work *w = container_of(work, struct package_work, work);

	return package_step_start(&w->step, work, work->context->answer_within_ms, on_reply, w,
	                          err);
}

static void free_installer(struct work *work)
{
	package_step_done(&container_of(work, struct package_work, work)->step);
}

static const struct work_callbacks callbacks = { start_installer, work_cancel, free_installer };

/* The texts of the request live as long as the call. */
static int start_package_work(struct mcp_call *call, const struct package_request *request,
                              struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct package_step step;
	struct work *work;

	if (tools_check_manager(context, err) < 0 ||
	    package_step_prepare(&step, context, request, err) < 0)
		return -1;
	if (work_start(call, sizeof(struct package_work), &callbacks, request->sandbox, &work,
	               err) < 0) {
		package_step_done(&step);
		return -1;
	}
	container_of(work, struct package_work, work)->step = step;
	return 0;
}

/* --- install_packages ------------------------------------------------------------------- */

struct install_args {
	struct param_strings packages;
	const char *language, *action, *sandbox;
};

static const char *const actions[] = { [PACKAGE_INSTALL] = "install",
	                               [PACKAGE_UNINSTALL] = "uninstall",
	                               [PACKAGE_RESET] = "reset",
	                               NULL };

static const struct param install_params[] = {
	ARG(struct install_args, packages, STRINGS,
	    "Such as requests>=2.28, pandas[excel], lodash@4.", .max = PACKAGE_SPECS_MAX,
	    .item_max = PACKAGE_SPEC_MAX, .also = PARAM_ALSO("package", "names")),
	ARG(struct install_args, language, ENUM, "", .more = "Of the packages.",
	    .values = package_languages, .fallback.text = "python"),
	ARG(struct install_args, action, ENUM, "",
	    .more = "reset: remove everything that was installed.", .values = actions,
	    .fallback.text = "install"),
	WORK_PARAM_SANDBOX(struct install_args),
	{ 0 },
};

static enum package_action find_action(const char *name)
{
	for (int i = 0; actions[i] != NULL; i++)
		if (strcmp(actions[i], name) == 0)
			return (enum package_action)i;
	return PACKAGE_INSTALL;
}

static int install_packages(struct mcp_call *call, const void *args, struct error *err)
{
	const struct install_args *a = args;
	const struct package_request request = { .action = find_action(a->action),
		                                 .language = a->language,
		                                 .packages = a->packages,
		                                 .sandbox = a->sandbox };

	if (request.action == PACKAGE_RESET && a->packages.count != 0)
		return error_set(err, ERR_INVALID,
		                 "packages: leave them out to reset, or uninstall them");
	if (request.action != PACKAGE_RESET && a->packages.count == 0)
		return error_set(err, ERR_INVALID, "packages: name at least one");
	return start_package_work(call, &request, err);
}

static bool has_indexes(const void *app)
{
	return ((const struct tools_context *)app)->ceiling != NULL;
}

const struct mcp_tool tool_install_packages = {
	.name = "install_packages",
	.title = "Install packages",
	.help = "Install Python or JavaScript packages, also in a sandbox without a network.",
	.more = "Only the installer reaches the package index, and what another sandbox has "
	        "installed before needs no network. Packages stay as long as the "
	        "sandbox, beside those that it has anyway. JavaScript packages are found by "
	        "require(). Packages of the system (apt) cannot be installed in a sandbox.",
	.is_offered = has_indexes,
	.scope = MCP_SCOPE_RUN,
	.params = install_params,
	.args_size = sizeof(struct install_args),
	.output = output,
	.call = install_packages,
};

/* --- list_packages ---------------------------------------------------------------------- */

struct list_args {
	const char *language, *sandbox;
};

static const struct param list_params[] = {
	ARG(struct list_args, language, ENUM, "", .more = "Of the packages.",
	    .values = package_languages, .fallback.text = "python"),
	WORK_PARAM_SANDBOX(struct list_args),
	{ 0 },
};

static int list_packages(struct mcp_call *call, const void *args, struct error *err)
{
	const struct list_args *a = args;
	const struct package_request request = { .action = PACKAGE_LIST,
		                                 .language = a->language,
		                                 .sandbox = a->sandbox };

	return start_package_work(call, &request, err);
}

const struct mcp_tool tool_list_packages = {
	.name = "list_packages",
	.title = "List packages",
	.help = "List the packages of a sandbox and of its image.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = list_params,
	.args_size = sizeof(struct list_args),
	.output = output,
	.call = list_packages,
};
