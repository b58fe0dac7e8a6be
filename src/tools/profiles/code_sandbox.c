/* code_sandbox.c - the profile code-sandbox: containers and their workspaces. */
#include "tools/profiles/code_sandbox.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "base/text/utf8.h"
#include "tools/catalogue.h"
#include "tools/support/end_work.h"

enum {
	SHOWN = 80,
	NAMED_MAX = 16, /* directories of workspaces that are looked up for one call */
};

#define CONTAINER_NAME "code-sandbox"
#define WORKSPACES     "/app/workspaces/"
#define ID_CHARS       "0123456789abcdefghijklmnopqrstuvwxyz-"
#define ALONE          "/app"
#define IMAGE          "python:3.9-slim"

static void respond_error(struct mcp_call *call, const struct error *why)
{
	mcp_respond_content(call, NULL, profile_result(false, "error", "%s", why->msg));
}

/* --- containers and workspaces ----------------------------------------------------------- */

const char *code_sandbox_given(const char *argument)
{
	return argument != NULL && argument[0] != '\0' ? argument : NULL;
}

static bool is_persistent(const struct sandbox_row *row)
{
	const char *mode = sandbox_label(row, "mode");

	return mode != NULL && strcmp(mode, "persistent") == 0;
}

/* ERR_NOT_FOUND without a text: the container has no such workspace. */
static int find_workspace(const struct mcp_call *call, const char *container, const char *id,
                          struct sandbox **ret, struct error *err)
{
	struct sandbox *found;
	const char *owner;

	if (profile_find_sandbox(call, id, &found, err) < 0)
		return -1;
	owner = sandbox_label(sandbox_row(found), "container");
	if (owner == NULL || strcmp(owner, container) != 0)
		return error_set(err, ERR_NOT_FOUND, "no workspace");
	*ret = found;
	return 0;
}

/* Sets *ret to the first workspace of the container whose directory the text names. The lookups of
 * a call are counted: each is a query of the database, and a text may have megabytes. */
static bool find_named(const struct mcp_call *call, const char *container, const char *text,
                       size_t *count, struct sandbox **ret)
{
	char id[SANDBOX_NAME_MAX + 1];
	struct error ignored;

	if (text == NULL)
		return false;
	while (*count < NAMED_MAX && (text = strstr(text, WORKSPACES)) != NULL) {
		++*count;
		text += strlen(WORKSPACES);
		(void)snprintf(id, sizeof id, "%.*s", (int)strspn(text, ID_CHARS), text);
		if (find_workspace(call, container, id, ret, &ignored) == 0)
			return true;
	}
	return false;
}

/* All workspaces of the original are directories of one container, so its clients may leave out
 * workspace_id and name the directory. Here the directory is in the workspace's own sandbox. */
static void find_by_path(const struct mcp_call *call, const struct code_sandbox_args *a,
                         struct sandbox **ret)
{
	const char *const paths[] = { a->dest_dir, a->file_name, a->dest_path,
		                      a->container_src_path };
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		if (find_named(call, a->container_id, paths[i], &count, ret))
			return;
	for (size_t i = 0; i < a->commands.count; i++)
		if (find_named(call, a->container_id, a->commands.items[i], &count, ret))
			return;
}

int code_sandbox_find(const struct mcp_call *call, const struct code_sandbox_args *a,
                      struct sandbox **ret, char base[CODE_SANDBOX_BASE_SIZE], struct error *err)
{
	char container[SHOWN], workspace[SHOWN], text[CODE_SANDBOX_TEXT_SIZE];
	const char *id = code_sandbox_given(a->workspace_id), *mode = NULL;

	(void)utf8_escape(view_of(a->container_id), container, sizeof container);
	if (profile_find_sandbox(call, a->container_id, ret, err) == 0)
		mode = sandbox_label(sandbox_row(*ret), "mode");
	else if (err->kind != ERR_NOT_FOUND)
		return -1;
	if (mode == NULL) /* a workspace has none, and is no container */
		return error_set(err, ERR_NOT_FOUND, "%s",
		                 code_sandbox_text(call, TEXT_NO_CONTAINER, container, NULL, text));
	(void)snprintf(base, CODE_SANDBOX_BASE_SIZE, ALONE);
	if (id == NULL) {
		if (is_persistent(sandbox_row(*ret)))
			find_by_path(call, a, ret);
		return 0;
	}
	if (find_workspace(call, a->container_id, id, ret, err) < 0) {
		(void)utf8_escape(view_of(id), workspace, sizeof workspace);
		return err->kind != ERR_NOT_FOUND
		               ? -1
		               : error_set(err, ERR_NOT_FOUND, "%s",
		                           code_sandbox_text(call, TEXT_NO_WORKSPACE, container,
		                                             workspace, text));
	}
	(void)snprintf(base, CODE_SANDBOX_BASE_SIZE, WORKSPACES "%s", id);
	return 0;
}

int code_sandbox_resolve(const char *base, const char *path, char **ret, struct error *err)
{
	const size_t len = strlen(base);

	if (strncmp(base, WORKSPACES, strlen(WORKSPACES)) == 0 &&
	    strncmp(path, WORKSPACES, strlen(WORKSPACES)) == 0 &&
	    (strncmp(path, base, len) != 0 || (path[len] != '/' && path[len] != '\0')))
		return error_set(err, ERR_INVALID,
		                 "'%s' is in another workspace: pass the workspace_id of that one",
		                 UTF8_ESCAPED(view_of(path), SHOWN));
	return profile_resolve(base, path, ret, err);
}

int code_sandbox_start(struct mcp_call *call, const void *args, struct error *err)
{
	char base[CODE_SANDBOX_BASE_SIZE];
	struct profile_work *w;
	struct sandbox *sandbox;

	if (code_sandbox_find(call, args, &sandbox, base, err) < 0)
		return profile_refuse(call, err);
	w = profile_work_start(call, sandbox, profile_tool_begin(call), args);
	(void)snprintf(w->base, sizeof w->base, "%s", base);
	w->file.home = w->base;
	return 0;
}

/* Where the programs of a sandbox come from, if not from the image that the caller has named. */
static const char *describe_image(const struct mcp_call *call, const char *image,
                                  bool is_persistent, char out[CODE_SANDBOX_TEXT_SIZE])
{
	const struct tools_context *context = mcp_call_app(call);
	char shown[SHOWN];

	(void)utf8_escape(view_of(image), shown, sizeof shown);
	out[0] = '\0';
	switch (profile_image_of(call, image, IMAGE)) {
	case PROFILE_IMAGE_NONE:
		return code_sandbox_text(call, TEXT_NO_IMAGES, context->engine, shown, out);
	case PROFILE_IMAGE_OPERATOR:
		return code_sandbox_text(call, TEXT_OTHER_IMAGE, context->spec.image, shown, out);
	case PROFILE_IMAGE_NAMED:
		break;
	}
	return is_persistent && strcmp(image, IMAGE) != 0
	               ? code_sandbox_text(call, TEXT_IMAGE_UNUSED, shown, NULL, out)
	               : out;
}

static void on_workspace(struct file_work *file, const struct files_reply *reply)
{
	struct profile_work *w = container_of(file, struct profile_work, file);
	const struct code_sandbox_args *a = w->args;
	const struct sandbox_row *row = sandbox_row(file->work.sandbox);
	const char *container = sandbox_label(row, "container");
	const struct mcp_call *call = file->work.call;
	char note[CODE_SANDBOX_TEXT_SIZE], text[CODE_SANDBOX_TEXT_SIZE];
	json_t *object = json_obj();

	(void)reply;
	json_set(object, "success", json_true());
	json_set(object, "container_id", json_str(container != NULL ? container : row->spec.id));
	json_set(object, "workspace_id", container != NULL ? json_str(row->name) : json_null());
	json_set(object, "workspace_path", json_str(w->base));
	json_set(object, "mode", json_str(container != NULL ? "persistent" : "standalone"));
	(void)describe_image(call, a->image, container != NULL, note);
	(void)code_sandbox_text(call, container != NULL ? TEXT_WORKSPACE_READY : TEXT_SANDBOX_READY,
	                        note, NULL, text);
	json_set(object, "message", json_str(text));
	profile_answer(w, object);
}

static void begin_workspace(struct profile_work *w)
{
	w->file.path = w->base;
	file_work_make_directory(&w->file, w->base, on_workspace);
}

/* Persistent containers have the usual image. */
static int create_workspace(struct mcp_call *call, struct sandbox **ret,
                            char base[CODE_SANDBOX_BASE_SIZE], struct error *err)
{
	struct sandbox_options options = profile_options(call);
	char labels[128] = "", name[32];
	struct sandbox *container;

	options.name = CONTAINER_NAME;
	options.labels = "profile=code-sandbox\0mode=persistent\0";
	if (profile_set_image(call, IMAGE, IMAGE, &options.spec, err) < 0 ||
	    profile_get_sandbox(mcp_call_app(call), &options, &container, err) < 0)
		return -1;
	(void)snprintf(name, sizeof name, "ws-%016" PRIx64, random_number());
	(void)snprintf(labels, sizeof labels - 1, "profile=code-sandbox%ccontainer=%s", '\0',
	               sandbox_row(container)->spec.id);
	(void)snprintf(base, CODE_SANDBOX_BASE_SIZE, WORKSPACES "%s", name);
	options.name = name;
	options.labels = labels;
	return profile_get_sandbox(mcp_call_app(call), &options, ret, err);
}

static int create_alone(struct mcp_call *call, const char *image, struct sandbox **ret,
                        char base[CODE_SANDBOX_BASE_SIZE], struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox_options options = profile_options(call);

	(void)snprintf(base, CODE_SANDBOX_BASE_SIZE, ALONE);
	options.labels = "profile=code-sandbox\0mode=standalone\0";
	options.temporary = true;
	return tools_check_manager(context, err) < 0 ||
	                       profile_set_image(call, image, IMAGE, &options.spec, err) < 0
	               ? -1
	               : sandbox_create(context->manager, &options, ret, err);
}

static int sandbox_initialize(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	const struct code_sandbox_args *a = args;
	const bool alone = !a->use_persistent || context->no_persistent;
	char base[CODE_SANDBOX_BASE_SIZE];
	struct sandbox *sandbox = NULL;
	struct profile_work *w;
	int created;

	created = alone ? create_alone(call, a->image, &sandbox, base, err)
	                : create_workspace(call, &sandbox, base, err);
	if (created < 0)
		return profile_refuse(call, err);
	w = profile_work_start(call, sandbox, begin_workspace, a);
	(void)snprintf(w->base, sizeof w->base, "%s", base);
	return 0;
}

/* {"success": true, "message": ...} */
static json_t *describe_success(const struct mcp_call *call, enum code_sandbox_message message)
{
	char text[CODE_SANDBOX_TEXT_SIZE];

	return profile_result(true, "message", "%s",
	                      code_sandbox_text(call, message, NULL, NULL, text));
}

static int clean_workspace(struct mcp_call *call, const void *args, struct error *err)
{
	char base[CODE_SANDBOX_BASE_SIZE];
	struct sandbox *sandbox;

	if (code_sandbox_find(call, args, &sandbox, base, err) < 0)
		return profile_refuse(call, err);
	end_work_start_in(call, sandbox, sandbox_reset, NULL, describe_success(call, TEXT_CLEANED));
	return 0;
}

static int sandbox_stop(struct mcp_call *call, const void *args, struct error *err)
{
	const struct code_sandbox_args *a = args;
	char base[CODE_SANDBOX_BASE_SIZE];
	struct sandbox *sandbox;

	if (code_sandbox_find(call, a, &sandbox, base, err) < 0)
		return profile_refuse(call, err);
	if (a->is_persistent || is_persistent(sandbox_row(sandbox)))
		mcp_respond_content(call, NULL, describe_success(call, TEXT_KEPT));
	else
		end_work_start_in(call, sandbox, sandbox_delete, NULL,
		                  describe_success(call, TEXT_STOPPED));
	return 0;
}

/* --- the records ------------------------------------------------------------------------- */

#define A struct code_sandbox_args
static const struct param initialize_params[] = {
	ARG(A, image, STRING, "The image that programs come from, in standalone mode.", .max = 255,
	    .fallback.text = IMAGE),
	ARG(A, use_persistent, BOOL,
	    "A workspace of the container that stays; false: a sandbox of its own.",
	    .fallback.boolean = true),
	{ 0 },
};
static const struct param clean_params[] = {
	CODE_SANDBOX_CONTAINER,
	PROFILE_ID(A, workspace_id, .required = true, .min = 1),
	{ 0 },
};
static const struct param stop_params[] = {
	CODE_SANDBOX_CONTAINER,
	ARG(A, is_persistent, BOOL, "A persistent container is kept.", .shows_zero = true),
	{ 0 },
};
#undef A

#define TOOL(name_, ...) PROFILE_TOOL(struct code_sandbox_args, name_, name_, NULL, __VA_ARGS__)
TOOL(sandbox_initialize, initialize_params, MCP_SCOPE_RUN, 0,
     "Get a workspace to run commands in. Answers the ids that the other tools take.");
TOOL(clean_workspace, clean_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Remove all files of a workspace and end its programs.");
TOOL(sandbox_stop, stop_params, MCP_SCOPE_RUN, MCP_DESTRUCTIVE,
     "Stop a container and remove it; a persistent one is kept.");
#undef TOOL

static const struct mcp_tool *const tools[] = {
	&record_sandbox_initialize.record,       &code_sandbox_sandbox_exec.record,
	&code_sandbox_write_file_sandbox.record, &code_sandbox_copy_file.record,
	&code_sandbox_copy_project.record,       &code_sandbox_copy_file_from_sandbox.record,
	&record_clean_workspace.record,          &record_sandbox_stop.record,
	&code_sandbox_get_container_logs.record, NULL,
};

static const struct profile_setting settings[] = {
	{ "gpu", NULL, "auto" },
	{ "images", NULL, IMAGE },
	{ 0 },
};

const struct profile profile_code_sandbox = {
	.name = "code-sandbox",
	.server = "code-sandbox-mcp",
	.title = "code-sandbox-mcp",
	.help = "Runs commands in isolated workspaces.",
	.instructions = "Call sandbox_initialize first, and pass its container_id and workspace_id "
	                "to the other tools. Relative paths are below the workspace; there is no "
	                "network. Files of the user's machine are copied with copy_file, "
	                "copy_project and copy_file_from_sandbox.",
	.tools = tools,
	.settings = settings,
	.memory = SPEC_MIB(256),
	.cpu = 1000,
	.no_network = "packages of a requirements.txt in the workspace, and those that a script "
	              "imports, are installed before a command runs Python",
	.respond_error = respond_error,
};
