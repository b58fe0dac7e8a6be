#include "mcp/content.h"
#include "tools/catalogue.h"
#include "tools/support/params.h"

struct getting_started_args {
	const char *task;
};

static const struct param params[] = {
	ARG(struct getting_started_args, task, STRING, "What you want done, in your own words.",
	    .max = 4000),
	{ 0 },
};

static const char guide[] =
        "You are connected to Belljar, which runs code in a sandbox: a small Linux system of your "
        "own that cannot reach this machine's files. How to work here:\n"
        "- Run code with run_code; give it a session name to keep variables until the next call. "
        "Run programs with run_command. A program that takes long goes on as a process, which "
        "process_output, process_input and process_stop work on.\n"
        "- Your files are in /workspace and stay between calls. Use read_file, write_file, "
        "edit_file, list_directory, search_files and delete_path rather than shell commands: "
        "their answers are bounded, and their errors say what to do.\n"
        "- Figures come back as pictures by themselves. Give the user files to keep with "
        "copy_out; copy_in brings the user's files into the sandbox.\n"
        "- The first call makes the sandbox. Leave `sandbox` out unless you need several; "
        "reset_sandbox empties it.\n"
        "- Large outputs are cut: the answer says which file has all of it, or with which offset "
        "to continue.\n"
        "- When a call is refused, the error names the limit and what to do; server_info and "
        "sandbox_info show what is in force.";

static int getting_started(struct mcp_call *call, const void *args, struct error *err)
{
	const struct getting_started_args *a = args;
	const struct tools_context *context = mcp_call_app(call);
	json_t *messages = json_list();

	(void)err;
	json_push(
	        messages,
	        mcp_message(
	                "user",
	                mcp_text("%s%s%s%s%s", guide,
	                         context->tools_dir != NULL
	                                 ? "\n- Python modules of the user's own can be imported: "
	                                   "tool_help shows what they offer."
	                                 : "",
	                         context->skills_dir != NULL
	                                 ? "\n- Skills, which say how to do something well, are "
	                                   "in /skills: read a SKILL.md before you begin."
	                                 : "",
	                         a->task != NULL ? "\n\nThe task: " : "",
	                         a->task != NULL ? a->task : "")));
	mcp_respond_messages(call, "How to work with Belljar", messages);
	return 0;
}

const struct mcp_prompt prompt_getting_started = {
	.name = "getting_started",
	.title = "Getting started",
	.help = "How to work in a sandbox of this server; then begin a task.",
	.params = params,
	.args_size = sizeof(struct getting_started_args),
	.get = getting_started,
};
