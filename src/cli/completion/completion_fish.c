#include <string.h>

#include "cli/completion/completion.h"
#include "cli/support/out.h"

static const char head[] = "# fish completion for belljar, made by 'belljar completion fish'\n"
                           "function __belljar_verb\n"
                           "    set -l words (commandline -opc)\n"
                           "    if set -q words[2]; and not string match -q -- '-*' $words[2]\n"
                           "        echo $words[2]\n"
                           "    else\n"
                           "        echo serve\n"
                           "    end\n"
                           "end\n"
                           "function __belljar_bare\n"
                           "    test (count (commandline -opc)) -eq 1\n"
                           "end\n"
                           "complete -c belljar -f\n"
                           "complete -c belljar -s h -l help -d 'Print help.'\n"
                           "complete -c belljar -n __belljar_bare -l version "
                           "-d 'Print the version.'\n";

/* A verb takes one operand. True until there is one among the words that were typed, past
 * the values of options. */
static void print_search(void)
{
	out("function __belljar_wants_operand\n"
	    "    set -l skip 2\n"
	    "    for word in (commandline -opc)\n"
	    "        if test $skip -gt 0\n"
	    "            set skip (math $skip - 1)\n"
	    "            continue\n"
	    "        end\n"
	    "        switch $word\n"
	    "            case");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (option_specs[i].word != NULL)
			out(" --%s", option_specs[i].name);
	out("\n"
	    "                set skip 1\n"
	    "            case '-*'\n"
	    "            case '*'\n"
	    "                return 1\n"
	    "        end\n"
	    "    end\n"
	    "    not __belljar_bare\n"
	    "end\n");
}

static void print_quoted(const char *text)
{
	out("'");
	for (; *text != '\0'; text++)
		out(strchr("'\\", *text) != NULL ? "\\%c" : "%c", *text);
	out("'");
}

static void print_option(const struct verb *verb, const struct option_spec *spec)
{
	out("complete -c belljar -n 'test (__belljar_verb) = %s' -l %s", verb->name, spec->name);
	if (spec->type == OPTION_TYPE_PATH)
		out(" -r -F");
	else if (spec->word != NULL)
		out(" -x");
	if (spec->type == OPTION_TYPE_CHOICE) {
		out(" -a '");
		for (size_t i = 0; spec->choices[i] != NULL; i++)
			out("%s%s", i != 0 ? " " : "", spec->choices[i]);
		out("'");
	}
	out(" -d ");
	print_quoted(spec->help);
	out("\n");
}

static void print_verb(const struct verb *verb)
{
	const char *choice;

	out("complete -c belljar -n __belljar_bare -a %s -d ", verb->name);
	print_quoted(verb->summary);
	out("\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if (verb_takes(verb, &option_specs[i]))
			print_option(verb, &option_specs[i]);
	if (verb->operand_choice == NULL)
		return;
	out("complete -c belljar -n '__belljar_wants_operand; and test (__belljar_verb) = %s' "
	    "-a '",
	    verb->name);
	for (size_t i = 0; (choice = verb->operand_choice(i)) != NULL; i++)
		out("%s%s", i != 0 ? " " : "", choice);
	out("'\n");
}

void completion_fish(void)
{
	const struct verb *verb;

	out("%s", head);
	print_search();
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++)
		if (!verb->hidden)
			print_verb(verb);
}
