/* execution_prompt.c - the prompt agent_system_prompt of the profile execution-client: how to work
 * in the sandbox, with every skill and every function of /tools. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/profiles/internal.h"
#include "tools/resources/resources.h"

enum { PROMPT_MAX = 256 * 1024 };

static const char guide[] =
        "You work in a sandbox: a Linux system of your own, without network, in which you are the "
        "user coderunner.\n"
        "- execute_bash runs a command with bash. Python is python3. Commands start in "
        "/workspace, and files stay from call to call.\n"
        "- read_file and write_file take absolute paths. read_file can read some lines of a long "
        "file.\n"
        "- Put what the user should get into /artifacts.\n"
        "- Write a program and run it instead of many small commands. Print only what you need to "
        "see.\n";

static void add_skills(const struct skills *skills, struct buf *text)
{
	if (skills == NULL || skills_count(skills) == 0)
		return;
	buf_putf(text, "\n## Skills\nEach skill says how to do something well. Read its file "
	               "before you begin such a task.\n");
	for (size_t i = 0; i < skills_count(skills); i++) {
		const struct skill_info skill = skills_info(skills, i);

		buf_putf(text, "- %s: %s (/skills/%s/%s)\n", skill.name, skill.description,
		         skill.id, skill.file);
	}
}

static void add_functions(const struct module_reply *reply, struct buf *text)
{
	const struct module_item *items = reply->functions.items;

	if (reply->functions.count == 0)
		return;
	buf_putf(text, "\n## Tools\nThese Python functions are in /tools. Import them in your "
	               "programs: `from tools.MODULE import FUNCTION`. read_docstring shows how "
	               "to use one.\n");
	for (size_t i = 0; i < reply->functions.count; i++) {
		const char *dot = strrchr(items[i].name, '.');

		buf_putf(text, "- tools.%.*s: %s%s%s\n",
		         dot != NULL ? (int)(dot - items[i].name) : 0, items[i].name,
		         items[i].signature, items[i].doc[0] != '\0' ? " - " : "", items[i].doc);
	}
	if ((json_int_t)reply->functions.count < reply->total)
		buf_putf(text, "- ... and %lld more: look at the files in /tools\n",
		         (long long)reply->total - (long long)reply->functions.count);
}

static void answer_prompt(struct mcp_call *call, const struct tools_context *context,
                          const struct module_reply *reply, struct profile_work *w)
{
	AUTO_BUF struct buf text;

	buf_init(&text, PROMPT_MAX);
	buf_put(&text, view_of(guide));
	add_skills(context->skills, &text);
	if (reply != NULL)
		add_functions(reply, &text);
	if (w != NULL)
		call = work_take_call(&w->file.work);
	mcp_respond_messages(call, "How to work in the sandbox",
	                     json_list_of(mcp_message("user", mcp_text_view(buf_view(&text)))));
}

static void on_functions(void *ctx, const struct module_reply *reply, const struct error *why)
{
	struct profile_work *w = ctx;

	if (why != NULL)
		work_fail(&w->file.work, why);
	else
		answer_prompt(NULL, w->file.work.context, reply, w);
}

static void begin_functions(struct profile_work *w)
{
	struct error err;

	if (module_help_start(
	            &w->help, &w->file.work,
	            &(struct module_query){ .directory = "/tools", .with_functions = true },
	            on_functions, w, &err) < 0)
		work_fail(&w->file.work, &err);
}

/* The functions are read in the sandbox, so a server without /tools needs none. */
static int get_prompt(struct mcp_call *call, const void *args, struct error *err)
{
	const struct tools_context *context = mcp_call_app(call);
	struct sandbox *sandbox;

	(void)args;
	if (context->tools_dir == NULL) {
		answer_prompt(call, context, NULL, NULL);
		return 0;
	}
	if (profile_execution_sandbox(context, mcp_call_owner(call), NULL, &sandbox, err) < 0)
		return -1;
	profile_work_start(call, sandbox, begin_functions, NULL);
	return 0;
}

const struct mcp_prompt execution_client_prompt = {
	.name = "agent_system_prompt",
	.title = "System prompt of an agent",
	.help = "How to work in the sandbox, with all skills and all functions of /tools.",
	.get = get_prompt,
};
