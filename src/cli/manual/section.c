#include "cli/manual/section.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/attr.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/trusted/trusted_names.h"
#include "cli/support/help_text.h"
#include "cli/support/out.h"
#include "cli/verb.h"
#include "server/options/options.h"
#include "tools/catalogue.h"

enum { SOURCE_WIDTH = 70 }; /* leaves room for escapes below 80 */

/* Characters that roff would print as others or read as commands. */
static const struct escape {
	char character;
	const char *roff;
} escapes[] = {
	{ '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" },
	{ '`', "\\(ga" }, { '^', "\\(ha" }, { '~', "\\(ti" },
};

static const char *escape_char(char c, char plain[2])
{
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
		if (escapes[i].character == c)
			return escapes[i].roff;
	plain[0] = c;
	plain[1] = '\0';
	return plain;
}

/* Returns the number of columns printed. */
static size_t print_word(const char *word, size_t len)
{
	size_t columns = 0;

	for (size_t i = 0; i < len; i++) {
		char plain[2];
		const char *roff = escape_char(word[i], plain);

		out("%s", roff);
		columns += strlen(roff);
	}
	return columns;
}

/* True if a sentence ends with this word: mdoc wants each sentence on its own line. */
static bool ends_sentence(const char *word, size_t len)
{
	return strchr(".?!", word[len - 1]) != NULL && word[len] == ' ' &&
	       isupper((unsigned char)word[len + 1]) != 0;
}

void section_text(const char *text)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t len = strcspn(text, " \n");

		if (column != 0 && column + 1 + len > SOURCE_WIDTH) {
			out("\n");
			column = 0;
		}
		if (column != 0)
			out(" ");
		else if (*text == '.') /* at the start of a line it would be a command */
			out("\\&");
		column += 1 + print_word(text, len);
		if (text[len] == ' ' && ends_sentence(text, len)) {
			out("\n");
			column = 0;
		}
		text += len;
		if (strncmp(text, "\n\n", 2) == 0) {
			out("\n.Pp\n");
			column = 0;
		}
		text += strspn(text, " \n");
	}
	out("\n");
}

/* Prints the option as mdoc; hyphens are escaped so that they can be copied. */
static void print_flag(const struct option_spec *spec)
{
	out("Fl \\-");
	(void)print_word(spec->name, strlen(spec->name));
}

void section_verbs(void)
{
	const struct verb *verb;

	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++) {
		if (verb->hidden)
			continue;
		out(".It Cm %s%s", verb->name, verb->options != 0 ? " Oo Ar OPTION ... Oc" : "");
		if (verb->operand != NULL)
			out(verb->operand_needed ? " Ar %s" : " Oo Ar %s Oc", verb->operand);
		if (verb->operand_rest != NULL) {
			out(" Ar ");
			(void)print_word(verb->operand_rest, strlen(verb->operand_rest));
		}
		out("\n");
		section_text(verb->summary);
		if (verb->help != NULL)
			section_text(verb->help);
	}
	out(".El\n");
}

static void print_option(const struct option_spec *spec)
{
	char text[HELP_TEXT_SIZE];

	out(".It ");
	print_flag(spec);
	if (spec->word != NULL)
		out(" Ar %s", spec->word);
	out("\n");
	section_text(help_text_option(spec, text));
}

void section_options(void)
{
	const struct verb *verb;

	for (size_t i = 0; (verb = verb_at(i)) != NULL; i++) {
		if (verb->options == 0)
			continue;
		out(".Ss Options of belljar %s\n.Bl -tag -width Ds\n", verb->name);
		for (size_t j = 0; j < OPTION_COUNT; j++)
			if ((option_specs[j].verbs & verb->options) != 0)
				print_option(&option_specs[j]);
		out(".El\n");
	}
}

void section_environment(void)
{
	char name[OPTION_NAME_SIZE];

	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (option_specs[i].flag_only)
			continue;
		out(".It Ev %s\nThe same as\n.", option_variable(&option_specs[i], name));
		print_flag(&option_specs[i]);
		out(" .\n");
		if (option_specs[i].also_variable == NULL)
			continue;
		out(".It Ev %s\nThe same, as older servers name it.\n",
		    option_specs[i].also_variable);
	}
	out(".El\n");
}

/* The kind of JSON value that the option takes in the configuration file. */
static const char *json_kind(const struct option_spec *spec)
{
	switch (spec->type) {
	case OPTION_TYPE_FLAG:
		return "True or false";
	case OPTION_TYPE_NUMBER:
		return "A number";
	case OPTION_TYPE_SIZE:
		return "A number, or a string such as \"10M\"";
	case OPTION_TYPE_TEXT:
	case OPTION_TYPE_PATH:
	case OPTION_TYPE_CHOICE:
		break;
	}
	return "A string";
}

void section_config(void)
{
	char name[OPTION_NAME_SIZE];

	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (!option_specs[i].in_file)
			continue;
		out(".It Cm %s\n", option_key(&option_specs[i], name));
		out("%s, as for\n.", json_kind(&option_specs[i]));
		print_flag(&option_specs[i]);
		out(" .\n");
	}
	out(".El\n");
}

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

void section_trusted(void)
{
	out(".Bl -tag -width Ds\n");
	for (size_t i = 0; i < trusted_kind_count; i++) {
		const struct trusted_kind *kind = &trusted_kinds[i];
		bool has_except = kind->except != NULL;
		AUTO_FREE char *text = mem_format(
		        "%s%s%s%s: %s.", kind->patterns, has_except ? " (but not " : "",
		        has_except ? kind->except : "", has_except ? ")" : "", kind->reason);

		out(".It Cm %s\n", kind->name);
		section_text(text);
	}
	out(".El\n");
}
