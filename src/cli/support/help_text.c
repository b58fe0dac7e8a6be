#include "cli/support/help_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/option_value.h"
#include "server/options/options.h"

enum { VERB_COLUMN = 14, OPTION_COLUMN = 26, EXAMPLE_COLUMN = 6 };

void help_text_print_all(void)
{
	const struct verb *verb;

	out("usage: belljar [VERB] [OPTION...]\n\n");
	out_wrapped(
	        0, 0,
	        "Lets AI assistants run untrusted code in sandboxes. Belljar is a server of the "
	        "Model Context Protocol (MCP): the assistant's client starts it and talks to it "
	        "over standard input and output, or connects to it over HTTP.");
	out("\nVerbs:\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++) {
		if (verb->hidden)
			continue;
		out("  %-*s", VERB_COLUMN - 2, verb->name);
		out_wrapped(VERB_COLUMN, VERB_COLUMN, verb->summary);
	}
	out("\nStart here:\n"
	    "  belljar doctor     what this machine offers\n"
	    "  belljar connect    how to add belljar to an MCP client\n\n");
	out_wrapped(
	        0, 0,
	        "Without a verb belljar serves, unless standard input is a terminal. See 'belljar "
	        "help VERB' and the manual page, belljar(1).");
}

static const char *range_text(const struct option_spec *spec, char *text, size_t size)
{
	char min[24], max[24];

	if (spec->type == OPTION_TYPE_SIZE)
		(void)snprintf(text, size, "%s to %s", option_size_text(spec->min, min, sizeof min),
		               option_size_text(spec->max, max, sizeof max));
	else
		(void)snprintf(text, size, "%" PRIu64 " to %" PRIu64, spec->min, spec->max);
	return text;
}

const char *help_text_option(const struct option_spec *spec, char out_text[HELP_TEXT_SIZE])
{
	char expected[OPTION_TEXT_SIZE], buffer[OPTION_TEXT_SIZE];
	const char *initial = option_default_text(spec, buffer), *limits = "";

	switch (spec->type) {
	case OPTION_TYPE_NUMBER:
	case OPTION_TYPE_SIZE:
		limits = range_text(spec, expected, sizeof expected);
		break;
	case OPTION_TYPE_CHOICE:
	case OPTION_TYPE_TEXT:
		limits = option_expected(spec, expected);
		break;
	case OPTION_TYPE_FLAG:
	case OPTION_TYPE_PATH:
		break;
	}
	if (initial != NULL) /* the parenthesis precedes the full stop of the help */
		(void)snprintf(out_text, HELP_TEXT_SIZE, "%.*s (%s; default %s).",
		               (int)strlen(spec->help) - 1, spec->help, limits, initial);
	else
		(void)snprintf(out_text, HELP_TEXT_SIZE, "%s", spec->help);
	return out_text;
}

static void print_option(const struct option_spec *spec)
{
	char left[64], text[HELP_TEXT_SIZE];
	int len = snprintf(left, sizeof left, "  --%s%s%s", spec->name,
	                   spec->word != NULL ? " " : "", spec->word != NULL ? spec->word : "");

	/* A flag that reaches into the column of the texts has its text on the next line. */
	out("%s%s", left, len >= OPTION_COLUMN ? "\n" : "");
	out_wrapped(OPTION_COLUMN, len >= OPTION_COLUMN ? 0 : (size_t)len,
	            help_text_option(spec, text));
}

/* Picks the option that is the example for environment variables and the configuration file: the
 * first one with a default, else the first. NULL: the verb has none. */
static const struct option_spec *pick_example(const struct verb *verb)
{
	const struct option_spec *first = NULL;
	char initial[OPTION_TEXT_SIZE];

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if ((option_specs[i].verbs & verb->options) == 0 || option_specs[i].flag_only)
			continue;
		if (option_default_text(&option_specs[i], initial) != NULL)
			return &option_specs[i];
		if (first == NULL)
			first = &option_specs[i];
	}
	return first;
}

/* Lists the options that are flags only, as ", --sandbox, --timeout". */
static void list_flags(const struct verb *verb, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < OPTION_COUNT && used < size; i++)
		if (option_specs[i].flag_only && (option_specs[i].verbs & verb->options) != 0)
			used += (size_t)snprintf(text + used, size - used, ", --%s",
			                         option_specs[i].name);
}

static void print_sources(const struct verb *verb, const struct option_spec *example)
{
	bool has_config = (option_specs[OPTION_CONFIG].verbs & verb->options) != 0;
	char variable[OPTION_NAME_SIZE], key[OPTION_NAME_SIZE], flags[100], text[500];

	(void)option_variable(example, variable);
	list_flags(verb, flags, sizeof flags);
	if (example->in_file)
		(void)snprintf(text, sizeof text,
		               "Each option%s%s is also an environment variable: %s for --%s.",
		               flags[0] != '\0' ? " but " : "", flags[0] != '\0' ? flags + 2 : "",
		               variable, example->name);
	else
		(void)snprintf(text, sizeof text, "The environment variable %s stands for --%s.",
		               variable, example->name);
	out("\n");
	out_wrapped(0, 0, text);
	if (!example->in_file)
		return;
	(void)snprintf(text, sizeof text,
	               "%s%s may stand in the configuration file, as a key such as %s. "
	               "A flag wins over the environment, the environment over the file. The file "
	               "is $XDG_CONFIG_HOME/belljar/belljar.json (usually "
	               "~/.config/belljar/belljar.json), or else /etc/belljar/belljar.json.",
	               has_config ? "All but --config" : "They", has_config ? flags : "",
	               option_key(example, key));
	out_wrapped(0, 0, text);
}

static void print_options(const struct verb *verb)
{
	const struct option_spec *example = pick_example(verb);

	out("\nOptions:\n");
	for (size_t i = 0; i < OPTION_COUNT; i++)
		if ((option_specs[i].verbs & verb->options) != 0)
			print_option(&option_specs[i]);
	out("  -h, --help");
	out_wrapped(OPTION_COLUMN, strlen("  -h, --help"), "Print this help.");
	if (example != NULL)
		print_sources(verb, example);
}

static void print_choices(const struct verb *verb)
{
	char text[400];
	size_t used = (size_t)snprintf(text, sizeof text, "%s is one of:", verb->operand);
	const char *choice;

	for (size_t i = 0; (choice = verb->operand_choice(i)) != NULL && used < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s %s",
		                         i != 0 ? "," : "", choice);
	out("\n");
	out_wrapped(0, 0, text);
}

void help_text_print_verb(const struct verb *verb)
{
	out("usage: belljar %s%s", verb->name, verb->options != 0 ? " [OPTION...]" : "");
	if (verb->operand != NULL)
		out(verb->operand_needed ? " %s" : " [%s]", verb->operand);
	if (verb->operand_rest != NULL)
		out(" %s", verb->operand_rest);
	out("\n\n");
	out_wrapped(0, 0, verb->summary);
	if (verb->help != NULL) {
		out("\n");
		out_wrapped(0, 0, verb->help);
	}
	if (verb->operand_choice != NULL)
		print_choices(verb);
	print_options(verb);
	if (verb->examples == NULL)
		return;
	out("\nExamples:\n");
	for (const struct verb_example *example = verb->examples; example->command; example++) {
		out("  %s\n", example->command);
		out_wrapped(EXAMPLE_COLUMN, 0, example->what);
	}
}
