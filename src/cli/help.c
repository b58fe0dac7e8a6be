#include "cli/support/help_text.h"
#include "cli/verb.h"

static enum verb_result run_help(const struct verb_call *call, struct error *err)
{
	(void)err;
	if (call->operands[0] == NULL)
		help_text_print_all();
	else
		help_text_print_verb(verb_find(call->operands[0]));
	return VERB_DONE;
}

const struct verb verb_help = {
	.name = "help",
	.operand = "VERB",
	.operand_choice = verb_name_at,
	.summary = "Explain a verb, or list them all.",
	.run = run_help,
};
