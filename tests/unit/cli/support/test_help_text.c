#include "cli/support/help_text.h"
#include "server/options/option_value.h"
#include "server/options/options.h"
#include "unit/cli/cli.h"

static void help_of_each_option_is_complete(void **state)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		char text[HELP_TEXT_SIZE];
		size_t len = strlen(help_text_option(&option_specs[i], text));

		if (len == 0 || text[len - 1] != '.')
			fail_msg("--%s: the text ends in '%s'", option_specs[i].name,
			         text + (len > 20 ? len - 20 : 0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(help_of_each_option_is_complete),
	};

	return RUN_TESTS("cli/help_text", tests);
}
