#include "tools/resources/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/files/file_text.h"
#include "tools/files/file_work.h"
#include "tools/resources/resources.h"

/* --- the text of a skill, read inside a sandbox ------------------------------------------ */

struct skill_work {
	struct file_work file;
	const struct skill *skill;
	const char *task; /* or NULL */
	bool is_prompt;
	char path[512];
};

static void answer_prompt(struct skill_work *w, struct view text)
{
	const struct skill *skill = w->skill;
	const char *task = w->task;
	AUTO_FREE char *told = mem_format(
	        "Follow the skill '%s' below. Its files are in %s/%s in every sandbox, for "
	        "read_file and run_command.\n\n%.*s%s%s",
	        skill->name, w->file.work.context->skills_dir, skill->name, (int)text.len, text.ptr,
	        task != NULL ? "\n\nThe task: " : "", task != NULL ? task : "");

	mcp_respond_messages(work_take_call(&w->file.work), skill->help,
	                     json_list_of(mcp_message("user", mcp_text_view(view_of(told)))));
}

static void on_text(struct file_work *file, const struct files_reply *reply)
{
	struct skill_work *w = container_of(file, struct skill_work, file);
	struct view text = reply->bytes.len != 0 ? reply->bytes : view_of("");

	if (reply->done.total > SKILL_BYTES_MAX)
		file_work_fail(file, ERR_LIMIT,
		               "%s has %" PRIu64
		               " bytes, and a skill's text at most %d: move parts of "
		               "it to other files",
		               file->path, reply->done.total, SKILL_BYTES_MAX);
	else if (!file_is_text(&text, false))
		file_work_fail(file, ERR_INVALID, "%s is not UTF-8 text", file->path);
	else if (w->is_prompt)
		answer_prompt(w, text);
	else
		mcp_respond_text(work_take_call(&file->work), "text/markdown", text);
}

static int request_text(struct work *work, struct error *err)
{
	struct file_work *file = container_of(work, struct file_work, work);
	const struct wire_message request = {
		.type = WIRE_READ,
		.read = { .unit = WIRE_UNIT_BYTES,
		          .count = SKILL_BYTES_MAX,
		          .max = SKILL_BYTES_MAX,
		          .path = view_of(file->path) },
	};

	(void)err;
	file_work_request(file, &request, (struct view){ 0 }, SKILL_BYTES_MAX, on_text);
	return 0;
}

static const struct work_callbacks calls = { request_text, work_cancel, file_work_done };

static int start_skill_work(struct mcp_call *call, const struct skill *skill, const char *task,
                            bool is_prompt, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct skill_work *w;
	struct work *work;

	if (context->skills_dir == NULL)
		return error_set(
		        err, ERR_UNSUPPORTED,
		        "sandboxes of this server have no skills: start it with --skills-dir DIR");
	if (work_start(call, sizeof *w, &calls, NULL, &work, err) < 0)
		return -1;
	w = container_of(work, struct skill_work, file.work);
	(void)snprintf(w->path, sizeof w->path, "%s/%s/%s", context->skills_dir, skill->name,
	               skill->file);
	w->file.path = w->path;
	w->skill = skill;
	w->task = task;
	w->is_prompt = is_prompt;
	return 0;
}

/* --- skill://{name} and use_skill: the skill is an argument ------------------------------ */

struct skill_args {
	const char *name, *task;
};

/* NULL: there is no such skill, and *err names those there are. */
static const struct skill *find_skill(const struct tools_context *context, const char *name,
                                      struct error *err)
{
	size_t count = context->skills != NULL ? skills_count(context->skills) : 0, used = 0;
	char names[200] = "";

	for (size_t i = 0; i < count; i++) {
		const struct skill *skill = skills_at(context->skills, i);

		if (strcmp(skill->name, name) == 0)
			return skill;
		if (used < sizeof names)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s%s",
			                         i == 0 ? "" : ", ", skill->name);
	}
	if (count == 0)
		(void)error_set(err, ERR_NOT_FOUND,
		                "there are no skills here: start the server with --skills-dir DIR");
	else
		(void)error_set(err, ERR_NOT_FOUND, "there is no skill '%s'; there are: %s",
		                UTF8_ESCAPED(view_of(name), 80), names);
	return NULL;
}

static void complete_name(void *app, const char *owner, const char *typed, json_t *values)
{
	const struct tools_context *context = app;

	(void)owner;
	(void)typed;
	for (size_t i = 0; context->skills != NULL && i < skills_count(context->skills); i++)
		json_push(values, json_str(skills_at(context->skills, i)->name));
}

#define PARAM_NAME                                                                                 \
	ARG_REQUIRED(struct skill_args, name, STRING, "The name of the skill.", .min = 1,          \
	             .max = 64, .complete = complete_name)
#define PARAM_TASK                                                                                 \
	ARG(struct skill_args, task, STRING, "What you want done with it, in your own words.",     \
	    .max = 4000)

static const struct param name_params[] = { PARAM_NAME, { 0 } };
static const struct param task_params[] = { PARAM_TASK, { 0 } };
static const struct param both_params[] = { PARAM_NAME, PARAM_TASK, { 0 } };

static int read_by_name(struct mcp_call *call, const void *args, struct error *err)
{
	const struct skill_args *a = args;
	const struct skill *skill = find_skill(mcp_call_app(call), a->name, err);

	return skill == NULL ? -1 : start_skill_work(call, skill, NULL, false, err);
}

static int get_by_name(struct mcp_call *call, const void *args, struct error *err)
{
	const struct skill_args *a = args;
	const struct skill *skill = find_skill(mcp_call_app(call), a->name, err);

	return skill == NULL ? -1 : start_skill_work(call, skill, a->task, true, err);
}

static int check_name(struct mcp_call *call, const void *args, struct error *err)
{
	const struct skill_args *a = args;

	return find_skill(mcp_call_app(call), a->name, err) == NULL ? -1 : 0;
}

const struct mcp_template template_skill = {
	.uri_template = "skill://{name}",
	.name = "skill",
	.title = "Skill",
	.help = "The text of a skill: how to do something well in a sandbox.",
	.mime_type = "text/markdown",
	.params = name_params,
	.args_size = sizeof(struct skill_args),
	.read = read_by_name,
	.check = check_name,
};

const struct mcp_prompt prompt_use_skill = {
	.name = "use_skill",
	.title = "Use a skill",
	.help = "Do a task as one of the installed skills describes.",
	.params = both_params,
	.args_size = sizeof(struct skill_args),
	.get = get_by_name,
};

/* --- a prompt and a resource for each skill ---------------------------------------------- */

/* The skill that a record is embedded in. container_of() would cast the const away. */
static const struct skill *skill_of(const void *record, size_t offset)
{
	return (const void *)((const char *)record - offset);
}

static int read_record(struct mcp_call *call, const void *args, struct error *err)
{
	const size_t offset = offsetof(struct skill, resource);

	(void)args;
	return start_skill_work(call, skill_of(mcp_call_record(call), offset), NULL, false, err);
}

static int get_record(struct mcp_call *call, const void *args, struct error *err)
{
	const size_t offset = offsetof(struct skill, prompt);
	const struct skill_args *a = args;

	return start_skill_work(call, skill_of(mcp_call_record(call), offset), a->task, true, err);
}

void skill_init(struct skill *skill, const char *name, const char *file,
                const struct front_matter *front)
{
	(void)snprintf(skill->name, sizeof skill->name, "%s", name);
	skill->file = file;
	skill->uri = mem_format("skill://%s", name);
	skill->prompt_name = mem_format("skill_%s", name);
	skill->title = mem_dup(front->name[0] != '\0' ? front->name : name);
	skill->help = front->description[0] != '\0' ? mem_dup(front->description)
	                                            : mem_format("The skill %s.", name);
	skill->version = mem_dup(front->version[0] != '\0' ? front->version : "1.0.0");
	skill->dependencies = mem_dup(front->dependencies);
	skill->prompt = (struct mcp_prompt){ .name = skill->prompt_name,
		                             .title = skill->title,
		                             .help = skill->help,
		                             .params = task_params,
		                             .args_size = sizeof(struct skill_args),
		                             .get = get_record };
	skill->resource = (struct mcp_resource){ .uri = skill->uri,
		                                 .name = skill->name,
		                                 .title = skill->title,
		                                 .help = skill->help,
		                                 .mime_type = "text/markdown",
		                                 .read = read_record };
}

void skill_done(struct skill *skill)
{
	free(skill->uri);
	free(skill->title);
	free(skill->help);
	free(skill->prompt_name);
	free(skill->version);
	free(skill->dependencies);
}
