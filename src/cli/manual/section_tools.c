#include "cli/manual/section.h"
#include "cli/support/out.h"
#include "tools/catalogue.h"

static void print_params(const struct param *params)
{
	if (params == NULL)
		return;
	out(".Bl -tag -width Ds\n");
	for (const struct param *p = params; p->type != PARAM_END; p++) {
		char takes[300];

		if (p->hidden)
			continue;
		out(".It Cm %s\n", p->name);
		if (p->help[0] != '\0')
			section_text(p->help);
		if (p->more != NULL)
			section_text(p->more);
		out("Takes\n");
		section_text(param_describe(p, takes, sizeof takes));
		print_params(p->fields);
	}
	out(".El\n");
}

void section_tools(void)
{
	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; catalogue_tools[i] != NULL; i++) {
		out(".It Cm %s\n", catalogue_tools[i]->name);
		section_text(catalogue_tools[i]->help);
		if (catalogue_tools[i]->more != NULL)
			section_text(catalogue_tools[i]->more);
		print_params(catalogue_tools[i]->params);
	}
	out(".El\n");
}
