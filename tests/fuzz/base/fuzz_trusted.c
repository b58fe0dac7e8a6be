/* fuzz_trusted.c - any path is matched against the table of trusted files. Letters in upper case,
 * and a further name below, do not change the result. */
#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/trusted/trusted_names.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *path = mem_format("/%.*s", (int)(size < 8000 ? size : 8000), (const char *)data);
	int kind = trusted_kind_of(path, true, 0);
	char *below = mem_format("%s/x", path);

	/* A row may have exceptions below the directory that it names. */
	if (kind >= 0 && trusted_kinds[kind].except == NULL)
		fuzz_check(trusted_kind_of(below, true, 0) >= 0);
	for (char *p = path; *p != '\0'; p++)
		if ((unsigned char)*p < 0x80)
			*p = (char)toupper((unsigned char)*p);
	fuzz_check(trusted_kind_of(path, true, 0) == kind);
	free(path);
	free(below);
	return 0;
}
