#include "base/clock.h"
#include "mcp/revision.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"

struct server_info_args {
	const char *detail;
};

static const char *const details[] = { "brief", "full", NULL };

static const struct param params[] = {
	ARG(struct server_info_args, detail, ENUM, "",
	    .more = "\"full\" adds every limit in force.", .values = details,
	    .fallback.text = "brief"),
	{ 0 },
};

static const struct param limit_fields[] = {
	FIELD("name", STRING, "The name of the option that sets it."),
	FIELD("value", INT, "The value in force."),
	FIELD("help", STRING, "What the limit bounds."),
	{ 0 },
};

static const struct param output[] = {
	FIELD("version", STRING, "The version of this server."),
	FIELD("revisions", STRINGS, "The protocol revisions it speaks."),
	FIELD("profile", STRING, "The set of tools it offers."),
	FIELD("engines", STRINGS, "The engines that run sandboxes; empty: no code can be run."),
	FIELD_OPTIONAL("why_not", STRING, "Why no code can be run."),
	FIELD("client_roots", BOOL,
	      "Whether copy_in and copy_out may use the directories that the client declares as "
	      "its roots (--roots)."),
	FIELD("uptime_s", INT, "Seconds since the server started."),
	FIELD_OPTIONAL("limits", RECORDS, "Every limit in force (detail: full).",
	               .fields = limit_fields),
	{ 0 },
};

static json_t *limits_json(const struct tools_context *context)
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

static json_t *info_json(const struct tools_context *context, bool full)
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
	json_set(info, "client_roots", json_boolean(context->uses_roots));
	json_set(info, "uptime_s",
	         json_int((json_int_t)((clock_now_ms() - context->started_ms) / 1000)));
	if (full)
		json_set(info, "limits", limits_json(context));
	return info;
}

static int server_info(struct mcp_call *call, const void *args, struct error *err)
{
	const struct server_info_args *a = args;

	(void)err;
	mcp_respond_content(call, NULL, info_json(mcp_call_app(call), a->detail == details[1]));
	return 0;
}

const struct mcp_tool tool_server_info = {
	.name = "server_info",
	.title = "Server information",
	.help = "Show the server's version, engines and limits, or why no code can be run.",
	.hints = MCP_READ_ONLY | MCP_IDEMPOTENT,
	.params = params,
	.args_size = sizeof(struct server_info_args),
	.output = output,
	.call = server_info,
};

static int read_server_info(struct mcp_call *call, const void *args, struct error *err)
{
	AUTO_JSON json_t *info = info_json(mcp_call_app(call), true);
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
