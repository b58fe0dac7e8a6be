#include <string.h>

#include "cli/completion/completion.h"
#include "cli/support/out.h"

static const char tail[] = "  esac\n"
                           "}\n\n"
                           "if [[ ${funcstack[1]} == _belljar ]]; then\n"
                           "  _belljar \"$@\"\n"
                           "else\n"
                           "  compdef _belljar belljar\n"
                           "fi\n";

/* Within single quotes, in a specification where brackets and colons have a meaning. */
static void print_escaped(const char *text)
{
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			out("'\\''");
		else
			out(strchr("[]:\\", *text) != NULL ? "\\%c" : "%c", *text);
	}
}

static void print_option(const struct option_spec *spec)
{
	out(" \\\n      '--%s%s[", spec->name, spec->word != NULL ? "=" : "");
	print_escaped(spec->help);
	out("]");
	if (spec->word != NULL)
		out(":%s:", spec->word);
	if (spec->type == OPTION_TYPE_PATH)
		out("_files");
	if (spec->type == OPTION_TYPE_CHOICE) {
		out("(");
		for (size_t i = 0; spec->choices[i] != NULL; i++)
			out("%s%s", i != 0 ? " " : "", spec->choices[i]);
		out(")");
	}
	out("'");
}

static void print_verb(const struct verb *verb)
{
	const char *choice;

	out("  %s)\n    _arguments", verb->name);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (verb_takes(verb, &option_specs[i]))
			print_option(&option_specs[i]);
	out(" \\\n      '(- *)'{-h,--help}'[Print help.]'");
	if (verb->operand_choice != NULL) {
		out(" \\\n      '1:%s:(", verb->operand);
		for (size_t i = 0; (choice = verb->operand_choice(i)) != NULL; i++)
			out("%s%s", i != 0 ? " " : "", choice);
		out(")'");
	}
	out("\n    ;;\n");
}

void completion_zsh(void)
{
	const struct verb *verb;

	out("#compdef belljar\n"
	    "# zsh completion for belljar, made by 'belljar completion zsh'\n\n"
	    "_belljar() {\n"
	    "  local verb=serve\n"
	    "  local -a verbs=(\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++) {
		if (verb->hidden)
			continue;
		out("    '%s:", verb->name);
		print_escaped(verb->summary);
		out("'\n");
	}
	out("  )\n"
	    "  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
	    "    _describe 'verb' verbs\n"
	    "    return\n"
	    "  fi\n"
	    "  if [[ $words[2] != -* ]]; then\n"
	    "    verb=$words[2]\n"
	    "    shift words\n"
	    "    (( CURRENT-- ))\n"
	    "  fi\n"
	    "  case $verb in\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++)
		if (!verb->hidden)
			print_verb(verb);
	out("%s", tail);
}
