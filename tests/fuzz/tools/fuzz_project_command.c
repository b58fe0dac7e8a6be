/* fuzz_project_command.c - any text is a command, or code of bash. What is found is one or two
 * absolute directories without "..". The first byte chooses between the two. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "tools/packages/project_command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_options options = { .cwd = "app" };
	struct project_place place;
	char *text;

	if (size == 0)
		return 0;
	text = strndup((const char *)data + 1, size - 1);
	if (data[0] % 2 == 0)
		options.command = text;
	else {
		options.language = language_find("bash");
		options.code = (struct view){ (const char *)data + 1, size - 1 };
	}
	if (project_place_find(&options, &place)) {
		fuzz_check(place.dir_count >= 1 && place.dir_count <= 2);
		for (unsigned i = 0; i < place.dir_count; i++) {
			fuzz_check(place.dirs[i][0] == '/');
			fuzz_check(memchr(place.dirs[i], '\0', sizeof place.dirs[i]) != NULL);
			fuzz_check(strstr(place.dirs[i], "/../") == NULL);
		}
	}
	free(text);
	return 0;
}
