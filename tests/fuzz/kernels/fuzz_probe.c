/* fuzz_probe.c - any output of the probe for languages gives languages of the table, with short
 * printable texts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "kernels/languages.h"

static void check_text(const char *text, size_t size)
{
	if (memchr(text, '\0', size) == NULL)
		abort();
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct language_found found;

	language_probe_parse((struct view){ (const char *)data, size }, &found);
	for (size_t i = 0; i < LANGUAGES_MAX; i++) {
		int runner = found.of[i].runner;

		check_text(found.of[i].path, sizeof(found.of[i].path));
		check_text(found.of[i].version, sizeof(found.of[i].version));
		if (runner < 0 && (found.of[i].path[0] != '\0' || found.of[i].version[0] != '\0'))
			abort();
		if (runner >= 0 &&
		    (i >= language_count || runner >= LANGUAGE_RUNNERS_MAX ||
		     languages[i].runners[runner].program == NULL || found.of[i].path[0] != '/'))
			abort();
	}
	return 0;
}
