/* fuzz_front_matter.c - the front matter of a SKILL.md of any bytes gives two printable lines. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/utf8.h"
#include "fuzz/fuzz.h"
#include "tools/resources/internal.h"

static void check(const char *line, size_t size)
{
	if (memchr(line, '\0', size) == NULL || !utf8_is_valid(view_of(line)) ||
	    strpbrk(line, "\n\r\t\x1b") != NULL)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct front_matter front;

	front_matter_read((struct view){ (const char *)data, size }, &front);
	check(front.name, sizeof front.name);
	check(front.description, sizeof front.description);
	if (front.body > size)
		abort();
	return 0;
}
