#include <string.h>

#include "base/error.h"
#include "tools/catalogue.h"
#include "tools/packages/package_spec.h"
#include "tools/packages/package_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

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
	WORK_PARAM_SANDBOX(struct install_args, sandbox),
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
	return package_work_start(call, &request, err);
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
	.output = package_work_output,
	.call = install_packages,
};

struct list_args {
	const char *language, *sandbox;
};

static const struct param list_params[] = {
	ARG(struct list_args, language, ENUM, "", .more = "Of the packages.",
	    .values = package_languages, .fallback.text = "python"),
	WORK_PARAM_SANDBOX(struct list_args, sandbox),
	{ 0 },
};

static int list_packages(struct mcp_call *call, const void *args, struct error *err)
{
	const struct list_args *a = args;
	const struct package_request request = { .action = PACKAGE_LIST,
		                                 .language = a->language,
		                                 .sandbox = a->sandbox };

	return package_work_start(call, &request, err);
}

const struct mcp_tool tool_list_packages = {
	.name = "list_packages",
	.title = "List packages",
	.help = "List the packages of a sandbox and of its image.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.scope = MCP_SCOPE_RUN,
	.params = list_params,
	.args_size = sizeof(struct list_args),
	.output = package_work_output,
	.call = list_packages,
};
