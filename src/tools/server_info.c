#include "base/clock.h"
#include "mcp/revision.h"
#include "tools/catalogue.h"

struct server_info_args {
	const char *detail;
};

static const char *const details[] = { "brief", "full", NULL };

static const struct param params[] = {
	{ .name = "detail",
	  .type = PARAM_ENUM,
	  .values = details,
	  .fallback.text = "brief",
	  .offset = offsetof(struct server_info_args, detail),
	  .help = "\"full\" adds each limit in force." },
	{ 0 },
};

static const struct param limit_fields[] = {
	{ .name = "name", .type = PARAM_STRING, .required = true, .help = "As in the manual." },
	{ .name = "value", .type = PARAM_INT, .required = true, .help = "What is in force." },
	{ .name = "help", .type = PARAM_STRING, .required = true, .help = "What it bounds." },
	{ 0 },
};

static const struct param output[] = {
	{ .name = "version", .type = PARAM_STRING, .required = true, .help = "Of this server." },
	{ .name = "revisions",
	  .type = PARAM_STRINGS,
	  .required = true,
	  .help = "Protocol revisions it speaks." },
	{ .name = "profile", .type = PARAM_STRING, .required = true, .help = "The set of tools." },
	{ .name = "engines",
	  .type = PARAM_STRINGS,
	  .required = true,
	  .help = "What carries sandboxes here; empty: no code can be run." },
	{ .name = "why_not", .type = PARAM_STRING, .help = "Why no code can be run." },
	{ .name = "uptime_s", .type = PARAM_INT, .required = true, .help = "Seconds since start." },
	{ .name = "limits",
	  .type = PARAM_RECORDS,
	  .fields = limit_fields,
	  .help = "Each limit in force (detail: full)." },
	{ 0 },
};

static json_t *limits(const struct tools_context *context)
{
	json_t *list = json_list();

	for (size_t i = 0; i < context->limit_count; i++) {
		const struct tools_limit *limit = &context->limits[i];
		json_t *entry = json_obj();

		json_set(entry, "name", json_str(limit->name));
		json_set(entry, "value", json_int((json_int_t)limit->value));
		json_set(entry, "help", json_str(limit->help));
		json_push(list, entry);
	}
	return list;
}

static json_t *report(const struct tools_context *context, bool full)
{
	json_t *info = json_obj();
	json_t *revisions = json_list(), *engines = json_list();

	for (int r = 0; r < MCP_REVISION_COUNT; r++)
		json_push(revisions, json_str(mcp_revision_name((enum mcp_revision)r)));
	json_set(info, "version", json_str(context->version));
	json_set(info, "revisions", revisions);
	json_set(info, "profile", json_str(context->profile));
	if (context->manager != NULL)
		json_push(engines, json_str(context->engine));
	json_set(info, "engines", engines);
	json_set_text(info, "why_not", context->manager == NULL ? context->why_not : NULL);
	json_set(info, "uptime_s",
	         json_int((json_int_t)((clock_now_ms() - context->started_ms) / 1000)));
	if (full)
		json_set(info, "limits", limits(context));
	return info;
}

static int server_info(struct mcp_call *call, const void *args, struct error *err)
{
	const struct server_info_args *a = args;

	(void)err;
	mcp_respond_content(call, NULL, report(mcp_call_app(call), a->detail == details[1]));
	return 0;
}

const struct mcp_tool tool_server_info = {
	.name = "server_info",
	.title = "Server information",
	.help = "Tell what this server is: version, protocol revisions, profile, sandbox engines "
	        "and "
	        "limits. Use it when a limit is hit, or to find out why nothing runs.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct server_info_args),
	.output = output,
	.call = server_info,
};

static int read_server_info(struct mcp_call *call, const void *args, struct error *err)
{
	AUTO_JSON json_t *info = report(mcp_call_app(call), true);
	size_t len;
	AUTO_FREE char *text = json_write(info, &len);

	(void)args;
	(void)err;
	mcp_respond_text(call, "application/json", (struct view){ text, len });
	return 0;
}

const struct mcp_resource resource_server_info = {
	.uri = "belljar://server-info",
	.name = "server-info",
	.title = "Server information",
	.help = "Version, protocol revisions, profile, engines and limits of this server.",
	.mime_type = "application/json",
	.read = read_server_info,
};
