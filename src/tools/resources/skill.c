#include "tools/resources/skill.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/resources/front_matter.h"
#include "tools/resources/skills.h"
#include "tools/support/file_text.h"
#include "tools/support/file_work.h"

/* --- a text, read inside ---------------------------------------------------------------- */

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
	json_t *messages = json_list();
	AUTO_FREE char *told = mem_format(
	        "Follow the skill '%s' below. Its files are in %s/%s in every sandbox: read_file "
	        "and "
	        "run_command reach them there.\n\n%.*s%s%s",
	        skill->name, w->file.work.context->skills_dir, skill->name, (int)text.len, text.ptr,
	        task != NULL ? "\n\nThe task: " : "", task != NULL ? task : "");

	json_push(messages, mcp_message("user", mcp_text_view(view_of(told))));
	mcp_respond_messages(work_take_call(&w->file.work), skill->help, messages);
}

static void on_text(struct file_work *file, const struct files_reply *answer,
                    const struct error *why)
{
	struct skill_work *w = container_of(file, struct skill_work, file);
	struct view text;

	if (why != NULL) {
		file_work_fail_path(file, why);
		return;
	}
	text = answer->bytes.len != 0 ? answer->bytes : view_of("");
	if (answer->done.total > SKILL_BYTES_MAX)
		file_work_fail(file, ERR_LIMIT,
		               "%s has %" PRIu64
		               " bytes, and a skill's text at most %d: move parts of "
		               "it to other files",
		               file->path, answer->done.total, SKILL_BYTES_MAX);
	else if (!file_is_text(&text, false))
		file_work_fail(file, ERR_INVALID, "%s is not UTF-8 text", file->path);
	else if (w->is_prompt)
		answer_prompt(w, text);
	else
		mcp_respond_text(work_take_call(&file->work), "text/markdown", text);
}

static int start(struct work *work, struct error *err)
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

static const struct work_callbacks calls = { start, file_work_cancel, file_work_done };

static int tell(struct mcp_call *call, const struct skill *skill, const char *task, bool is_prompt,
                struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct skill_work *w;
	struct work *work;

	if (context->skills_dir == NULL)
		return error_set(err, ERR_UNSUPPORTED, "sandboxes here do not see the skills");
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

/* --- by name ---------------------------------------------------------------------------- */

struct skill_args {
	const char *name, *task;
};

/* NULL: there is none, and *err says which there are. */
static const struct skill *find_skill(const struct tools_context *context, const char *name,
                                      struct error *err)
{
	size_t count = context->skills != NULL ? skills_count(context->skills) : 0, used = 0;
	char shown[80], names[200] = "";

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
		                "there are no skills here: --skills-dir says where they are");
	else
		(void)error_set(err, ERR_NOT_FOUND, "there is no skill '%s'; there are: %s",
		                utf8_escape(view_of(name), shown, sizeof shown), names);
	return NULL;
}

static void complete_name(void *app, const char *typed, json_t *values)
{
	const struct tools_context *context = app;

	(void)typed;
	for (size_t i = 0; context->skills != NULL && i < skills_count(context->skills); i++)
		json_push(values, json_str(skills_at(context->skills, i)->name));
}

#define PARAM_NAME                                                                                 \
	{                                                                                          \
		.name = "name", .type = PARAM_STRING, .required = true, .min = 1, .max = 64,       \
		.complete = complete_name, .offset = offsetof(struct skill_args, name),            \
		.help = "Of the skill."                                                            \
	}
#define PARAM_TASK                                                                                 \
	{                                                                                          \
		.name = "task", .type = PARAM_STRING, .max = 4000,                                 \
		.offset = offsetof(struct skill_args, task),                                       \
		.help = "What you want done with it, in your own words."                           \
	}

static const struct param name_params[] = { PARAM_NAME, { 0 } };
static const struct param task_params[] = { PARAM_TASK, { 0 } };
static const struct param both_params[] = { PARAM_NAME, PARAM_TASK, { 0 } };

static int read_by_name(struct mcp_call *call, const void *args, struct error *err)
{
	const struct skill_args *a = args;
	const struct skill *skill = find_skill(mcp_call_app(call), a->name, err);

	return skill == NULL ? -1 : tell(call, skill, NULL, false, err);
}

static int get_by_name(struct mcp_call *call, const void *args, struct error *err)
{
	const struct skill_args *a = args;
	const struct skill *skill = find_skill(mcp_call_app(call), a->name, err);

	return skill == NULL ? -1 : tell(call, skill, a->task, true, err);
}

const struct mcp_template template_skill = {
	.uri_template = "skill://{name}",
	.name = "skill",
	.title = "Skill",
	.help = "The text of a skill: how to do something well with what is in the sandbox.",
	.mime_type = "text/markdown",
	.params = name_params,
	.args_size = sizeof(struct skill_args),
	.read = read_by_name,
};

const struct mcp_prompt prompt_use_skill = {
	.name = "use_skill",
	.title = "Use a skill",
	.help = "Do a task the way one of the installed skills tells.",
	.params = both_params,
	.args_size = sizeof(struct skill_args),
	.get = get_by_name,
};

/* --- one record for each ---------------------------------------------------------------- */

static const struct skill *skill_of(const void *record, size_t at)
{
	return (const void *)((const char *)record - at);
}

static int read_record(struct mcp_call *call, const void *args, struct error *err)
{
	const size_t at = offsetof(struct skill, resource);

	(void)args;
	return tell(call, skill_of(mcp_call_record(call), at), NULL, false, err);
}

static int get_record(struct mcp_call *call, const void *args, struct error *err)
{
	const size_t at = offsetof(struct skill, prompt);
	const struct skill_args *a = args;

	return tell(call, skill_of(mcp_call_record(call), at), a->task, true, err);
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
}
