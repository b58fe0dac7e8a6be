#include <string.h>

#include "cli/completion.h"
#include "cli/out.h"

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
	out("complete -c belljar -n 'not __belljar_bare; and test (__belljar_verb) = %s' -a '",
	    verb->name);
	for (size_t i = 0; (choice = verb->operand_choice(i)) != NULL; i++)
		out("%s%s", i != 0 ? " " : "", choice);
	out("'\n");
}

void completion_fish(void)
{
	const struct verb *verb;

	out("%s", head);
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++)
		if (!verb->hidden)
			print_verb(verb);
}
