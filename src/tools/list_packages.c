#include "base/error.h"
#include "tools/catalogue.h"
#include "tools/packages/package_work.h"
#include "tools/support/params.h"
#include "tools/support/work.h"

struct list_args {
	const char *language, *sandbox;
};

static const struct param params[] = {
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
	.params = params,
	.args_size = sizeof(struct list_args),
	.output = package_work_output,
	.call = list_packages,
};
