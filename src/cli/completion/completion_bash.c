#include "cli/completion/completion.h"
#include "cli/support/out.h"

static const char head[] =
        "# bash completion for belljar, made by 'belljar completion bash'\n"
        "_belljar() {\n"
        "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local verb=serve words='' operand='' i\n"
        "    COMPREPLY=()\n"
        "    # Bash cuts --name=value at the '='.\n"
        "    if [[ $cur == '=' ]]; then\n"
        "        cur=''\n"
        "    elif [[ $prev == '=' && $COMP_CWORD -ge 2 ]]; then\n"
        "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
        "    fi\n"
        "    [[ ${COMP_WORDS[1]} == -* ]] || verb=${COMP_WORDS[1]}\n";

static const char tail[] = "    mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
                           "}\n"
                           "complete -F _belljar belljar\n";

static void print_choices(const char *const *choices)
{
	for (size_t i = 0; choices[i] != NULL; i++)
		out("%s%s", i != 0 ? " " : "", choices[i]);
}

/* What may follow an option that takes a value. */
static void print_values(const struct verb *verb, const struct option_spec *spec)
{
	out("    '%s --%s')\n", verb->name, spec->name);
	if (spec->type == OPTION_TYPE_PATH) {
		out("        compopt -o filenames 2>/dev/null\n"
		    "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
		    "        return ;;\n");
	} else if (spec->type == OPTION_TYPE_CHOICE) {
		out("        words='");
		print_choices(spec->choices);
		out("' ;;\n");
	} else
		out("        return ;;\n");
}

/* A verb takes one operand. Looks for it among the words that were typed, past the values
 * of options. */
static void print_search(void)
{
	out("    for ((i = 2; i < COMP_CWORD; i++)); do\n"
	    "        case ${COMP_WORDS[i]} in\n"
	    "        =) ((i += 1)) ;;\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_specs[i].word != NULL)
			out("        --%s) [[ ${COMP_WORDS[i + 1]} == '=' ]] || ((i += 1)) ;;\n",
			    option_specs[i].name);
	out("        -*) ;;\n"
	    "        *) operand=${COMP_WORDS[i]} ;;\n"
	    "        esac\n"
	    "    done\n");
}

static void print_words(const struct verb *verb)
{
	const char *choice;

	out("        %s)\n            words='", verb->name);
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (verb_takes(verb, &option_specs[i]))
			out("--%s ", option_specs[i].name);
	out("--help'\n");
	if (verb->operand_choice != NULL) {
		out("            [[ $cur == -* || -n $operand ]] || words='");
		for (size_t i = 0; (choice = verb->operand_choice(i)) != NULL; i++)
			out("%s%s", i != 0 ? " " : "", choice);
		out("'\n");
	}
	out("            ;;\n");
}

void completion_bash(void)
{
	const struct verb *verb;
	const char *name;

	out("%s", head);
	print_search();
	out("    case \"$verb $prev\" in\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++)
		for (size_t j = 0; j < OPTION_COUNT; j++)
			if (verb_takes(verb, &option_specs[j]) && option_specs[j].word != NULL)
				print_values(verb, &option_specs[j]);
	out("    *)\n        case $verb in\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++)
		if (!verb->hidden)
			print_words(verb);
	out("        esac\n"
	    "        if [[ $COMP_CWORD -eq 1 && $cur == -* ]]; then\n"
	    "            words+=' --version'\n"
	    "        elif [[ $COMP_CWORD -eq 1 ]]; then\n"
	    "            words='");
	for (size_t i = 0; (name = verb_name_at(i)) != NULL; i++)
		out("%s%s", i != 0 ? " " : "", name);
	out("'\n        fi ;;\n    esac\n%s", tail);
}
