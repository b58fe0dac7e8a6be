/* fuzz_language.c - the language of Accept-Language or of a locale is empty, or two or three
 * lower-case letters that stand in the text. */
#include <string.h>
#include <strings.h>

#include "fuzz/fuzz.h"
#include "mcp/caller.h"

enum { TEXT_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mcp_caller caller = { .owner = "me" };
	char text[TEXT_MAX + 1];
	size_t len;

	size = size < TEXT_MAX ? size : TEXT_MAX;
	memcpy(text, data, size);
	text[size] = '\0';
	mcp_caller_set_language(&caller, text);
	len = strnlen(caller.language, sizeof caller.language);
	fuzz_check(len == 0 || len == 2 || len == 3);
	fuzz_check(strspn(caller.language, "abcdefghijklmnopqrstuvwxyz") == len);
	fuzz_check(strcasestr(text, caller.language) != NULL);
	return 0;
}
