#include "base/error.h"
#include "cli/support/screen.h"
#include "cli/verb.h"
#include "server/options/options.h"

static const char script[] = "command -v bash >/dev/null 2>&1 && exec bash; PS1='$ ' exec sh";

static enum verb_result run_shell(const struct verb_call *call, struct error *err)
{
	const char *name = call->operands[0];
	const char *const argv[] = {
		"sh", "-c", script, "sh", name != NULL ? name : "belljar", NULL
	};

	if (name != NULL && !option_specs[OPTION_SANDBOX].accepts(name)) {
		(void)error_set(err, ERR_INVALID, "shell: the sandbox must be %s",
		                option_specs[OPTION_SANDBOX].expected);
		return VERB_MISUSED;
	}
	return screen_run(&(struct screen_options){ call, name, argv, "shell" }, err);
}

static const struct verb_example examples[] = {
	{ "belljar shell", "Open a shell in a temporary sandbox." },
	{ "belljar shell work", "Open a shell in the sandbox 'work', which is kept." },
	{ NULL, NULL },
};

const struct verb verb_shell = {
	.name = "shell",
	.operand = "SANDBOX",
	.summary = "Open a shell in a sandbox.",
	.help = "Runs bash, or sh where bash is missing, on a terminal of its own in a sandbox. "
	        "SANDBOX is a name or an id; a sandbox with a new name is created and kept. "
	        "Without SANDBOX a temporary sandbox is created, and removed when the shell exits. "
	        "A sandbox that a server has awake is used beside that server. "
	        "All keys go to the shell; leave it with 'exit' or Ctrl-D. The exit status is the "
	        "shell's.\n\n"
	        "Programs may draw on the terminal. Escape sequences that set the title or the "
	        "clipboard, or that make the terminal reply, are filtered out.",
	.examples = examples,
	.options = FOR_SHELL,
	.run = run_shell,
};
