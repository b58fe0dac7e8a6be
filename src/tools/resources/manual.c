#include "tools/resources/internal.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"

enum { MANUAL_MAX = 256 * 1024 };

/* The operator's options narrow a parameter: "; on this server at most 600, default 30". */
static int write_limits(const struct param *p, json_t *general, json_t *here, struct buf *buf,
                        struct error *err)
{
	static const struct {
		const char *key, *words;
	} limits[] = { { "maximum", "at most" }, { "default", "default" } };
	const char *between = "; on this server";

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		json_t *value = json_object_get(json_object_get(here, p->name), limits[i].key);

		if (!json_is_number(value) ||
		    json_equal(value,
		               json_object_get(json_object_get(general, p->name), limits[i].key)))
			continue;
		if (buf_printf(buf, err, "%s %s %g", between, limits[i].words,
		               json_number_value(value)) < 0)
			return -1;
		between = ",";
	}
	return 0;
}

/* `general` and `here` are the properties of the schema without and with the operator's limits. */
static int write_params(const struct param *params, int indent, json_t *general, json_t *here,
                        struct buf *buf, struct error *err)
{
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++) {
		char takes[300];

		if (p->hidden)
			continue;
		if (buf_printf(buf, err, "%*s- `%s` (%s", indent, "", p->name,
		               param_describe(p, takes, sizeof takes)) < 0 ||
		    write_limits(p, general, here, buf, err) < 0 ||
		    buf_printf(buf, err, "): %s%s%s\n", p->help,
		               p->more != NULL && p->help[0] != '\0' ? " " : "",
		               p->more != NULL ? p->more : "") < 0 ||
		    write_params(p->fields, indent + 2, NULL, NULL, buf, err) < 0)
			return -1;
	}
	return 0;
}

static int write_arguments(const struct mcp_tool *tool, const void *app, struct buf *buf,
                           struct error *err)
{
	json_t *general = param_schema(tool->params, true);
	json_t *here = param_schema(tool->params, true);
	int ret;

	if (tool->complete_schema != NULL && app != NULL)
		tool->complete_schema(app, json_object_get(here, "properties"));
	ret = write_params(tool->params, 0, json_object_get(general, "properties"),
	                   json_object_get(here, "properties"), buf, err);
	json_decref(general);
	json_decref(here);
	return ret;
}

/* The rows of an output table take nothing, so only their help is shown. */
static int write_output(const struct param *params, int indent, struct buf *buf, struct error *err)
{
	for (const struct param *p = params; p != NULL && p->type != PARAM_END; p++)
		if (buf_printf(buf, err, "%*s- `%s`: %s\n", indent, "", p->name, p->help) < 0 ||
		    write_output(p->fields, indent + 2, buf, err) < 0)
			return -1;
	return 0;
}

static int write_examples(const char *tool, struct buf *buf, struct error *err)
{
	bool any = false;

	for (const struct tool_example *e = tool_examples; e->tool != NULL; e++) {
		if (strcmp(e->tool, tool) != 0)
			continue;
		if ((!any && buf_printf(buf, err, "\n## Examples\n") < 0) ||
		    buf_printf(buf, err, "\n%s:\n\n    %s\n", e->what, e->arguments) < 0)
			return -1;
		any = true;
	}
	return 0;
}

int manual_write(const struct mcp_tool *tool, const void *app, struct buf *buf, struct error *err)
{
	if (buf_printf(buf, err, "# %s\n\n%s%s%s\n", tool->name, tool->help,
	               tool->more != NULL ? " " : "", tool->more != NULL ? tool->more : "") < 0)
		return -1;
	if (tool->params != NULL && (buf_printf(buf, err, "\n## Arguments\n\n") < 0 ||
	                             write_arguments(tool, app, buf, err) < 0))
		return -1;
	if (tool->output != NULL && (buf_printf(buf, err, "\n## Answer\n\n") < 0 ||
	                             write_output(tool->output, 0, buf, err) < 0))
		return -1;
	return write_examples(tool->name, buf, err);
}

struct manual_args {
	const char *name;
};

static void complete_name(void *app, const char *owner, const char *typed, json_t *values)
{
	(void)app;
	(void)owner;
	(void)typed;
	for (size_t i = 0; catalogue_tools[i] != NULL; i++)
		json_push(values, json_str(catalogue_tools[i]->name));
}

static const struct param params[] = {
	ARG_REQUIRED(struct manual_args, name, STRING, "The name of the tool.", .max = 64,
	             .complete = complete_name),
	{ 0 },
};

static int find_tool(const char *name, const struct mcp_tool **ret, struct error *err)
{
	for (size_t i = 0; catalogue_tools[i] != NULL; i++) {
		*ret = catalogue_tools[i];
		if (strcmp((*ret)->name, name) == 0)
			return 0;
	}
	return error_set(err, ERR_NOT_FOUND, "there is no tool '%s'; tools/list shows all",
	                 UTF8_ESCAPED(view_of(name), 80));
}

static int check_manual(struct mcp_call *call, const void *args, struct error *err)
{
	const struct mcp_tool *tool;

	(void)call;
	return find_tool(((const struct manual_args *)args)->name, &tool, err);
}

static int read_manual(struct mcp_call *call, const void *args, struct error *err)
{
	const struct manual_args *a = args;
	const struct mcp_tool *tool;
	AUTO_BUF struct buf buf;

	buf_init(&buf, MANUAL_MAX);
	if (find_tool(a->name, &tool, err) < 0 ||
	    manual_write(tool, mcp_call_app(call), &buf, err) < 0)
		return -1;
	mcp_respond_text(call, "text/markdown", buf_view(&buf));
	return 0;
}

const struct mcp_template template_tool_manual = {
	.uri_template = "belljar://tools/{name}",
	.name = "tool-manual",
	.title = "Manual of a tool",
	.help = "What a tool does, its arguments, its answer and examples.",
	.mime_type = "text/markdown",
	.params = params,
	.args_size = sizeof(struct manual_args),
	.read = read_manual,
	.check = check_manual,
};
