#include <string.h>

#include "base/attr.h"
#include "cli/manual/section.h"
#include "cli/verb.h"

static const struct section {
	const char *name;
	section_fn *print;
} sections[] = {
	{ "verbs", section_verbs },
	{ "options", section_options },
	{ "environment", section_environment },
	{ "config", section_config },
	{ "tools", section_tools },
	{ "trusted", section_trusted },
};

static const char *section_name_at(size_t i)
{
	return i < ARRAY_LEN(sections) ? sections[i].name : NULL;
}

static enum verb_result run_generate(const struct verb_call *call, struct error *err)
{
	(void)err;
	for (size_t i = 0; i < ARRAY_LEN(sections); i++)
		if (strcmp(sections[i].name, call->operands[0]) == 0)
			sections[i].print();
	return VERB_DONE;
}

/* Used by scripts/manual.sh only, so it is hidden. */
const struct verb verb_generate = {
	.name = "generate",
	.operand = "SECTION",
	.operand_needed = true,
	.operand_choice = section_name_at,
	.summary = "Print a part of the manual page.",
	.hidden = true,
	.run = run_generate,
};
