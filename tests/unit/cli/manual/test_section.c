#include "cli/manual/section.h"
#include "server/options/options.h"
#include "unit/cli/cli.h"

static const char *text_of(const char *text)
{
	static char got[1024];
	FILE *file = tmpfile();
	int saved;

	(void)fflush(stdout);
	saved = ran_redirect(STDOUT_FILENO, file);
	section_text(text);
	(void)fflush(stdout);
	ran_restore(STDOUT_FILENO, saved, file, got, sizeof got);
	return got;
}

static void section_text_escapes_roff_characters(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "plain", "plain\n" },
		{ ".dot", "\\&.dot\n" },
		{ "'quote", "\\(aqquote\n" },
		{ "a\\b --c ~^`", "a\\eb \\-\\-c \\(ti\\(ha\\(ga\n" },
		{ "One. Two? three! Four", "One.\nTwo? three!\nFour\n" },
		{ "e.g. lower", "e.g. lower\n" },
		{ "One.\n\nTwo.", "One.\n.Pp\nTwo.\n" },
		{ "12345678901234567890123456789012345678901234567890123456789012345678 90 .x",
		  "12345678901234567890123456789012345678901234567890123456789012345678\n90 .x\n" },
		{ "12345678901234567890123456789012345678901234567890123456789012345678 .x",
		  "12345678901234567890123456789012345678901234567890123456789012345678\n\\&.x\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(text_of(cases[i].text), cases[i].want);
}

static void sections_have_every_option(void **state)
{
	char name[OPTION_NAME_SIZE], want[OPTION_NAME_SIZE + 8];
	char *options = strdup(RUN("generate", "options")->out);
	char *environment = strdup(RUN("generate", "environment")->out);
	char *config = strdup(RUN("generate", "config")->out);

	for (size_t i = 0; i < OPTION_COUNT; i++) {
		if (i == OPTION_URL) /* a flag of the same name as OPTION_HTTP */
			continue;
		(void)snprintf(want, sizeof want, ".It Ev %s\n",
		               option_variable(&option_specs[i], name));
		if (!option_specs[i].flag_only)
			CHECK_HAS(environment, want);
		else
			assert_null(strstr(environment, want));
		(void)snprintf(want, sizeof want, ".It Cm %s\n",
		               option_key(&option_specs[i], name));
		if (option_specs[i].in_file)
			CHECK_HAS(config, want);
		else
			assert_null(strstr(config, want));
	}
	CHECK_HAS(environment, ".It Ev MCP_SSE_MODE\n");
	CHECK_HAS(options, ".Ss Options of belljar connect\n");
	CHECK_HAS(options, ".It Fl \\-max\\-line Ar SIZE\nLongest message");
	CHECK_HAS(config, ".It Cm max_line\nA number, or a string such as \"10M\", as for\n"
	                  ".Fl \\-max\\-line .\n");
	free(options);
	free(environment);
	free(config);
}

static void verbs_section_leaves_out_hidden_verbs(void **state)
{
	const struct ran *ran = RUN("generate", "verbs");

	CHECK_HAS(ran->out, ".It Cm connect Oo Ar OPTION ... Oc Oo Ar CLIENT Oc "
	                    "Ar [\\-\\- OPTION...]\n");
	CHECK_HAS(ran->out, ".It Cm completion Ar SHELL\n");
	assert_null(strstr(ran->out, "generate"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(section_text_escapes_roff_characters),
		IN_SCRATCH(sections_have_every_option),
		IN_SCRATCH(verbs_section_leaves_out_hidden_verbs),
	};

	return RUN_TESTS("cli/section", tests);
}
