#include "cli/completion/completion.h"

#include <string.h>

#include "base/attr.h"

static const struct shell {
	const char *name;
	void (*print)(void);
} shells[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};

static const char *shell_name_at(size_t i)
{
	return i < ARRAY_LEN(shells) ? shells[i].name : NULL;
}

static enum verb_result run_completion(const struct verb_call *call, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(shells); i++)
		if (strcmp(shells[i].name, call->operands[0]) == 0)
			shells[i].print();
	return VERB_DONE;
}

static const struct verb_example examples[] = {
	{ "source <(belljar completion bash)",
	  "Load it into this shell; in ~/.bashrc, into every shell." },
	{ "belljar completion zsh >~/.zfunc/_belljar", "Install it in a directory of $fpath." },
	{ "belljar completion fish >~/.config/fish/completions/belljar.fish",
	  "Install it for fish." },
	{ NULL, NULL },
};

const struct verb verb_completion = {
	.name = "completion",
	.operand = "SHELL",
	.operand_needed = true,
	.operand_choice = shell_name_at,
	.summary = "Print a completion script for a shell.",
	.examples = examples,
	.run = run_completion,
};
