/* fuzz_header.c - the value of Mcp-Name or Mcp-Param-*, compared with the text behind a line end. A
 * value that stands for a text stands for no other one. */
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "mcp/header/header_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_FREE char *text = mem_dup_len((const char *)data, size);
	AUTO_FREE char *longer = NULL;
	char *wanted = strchr(text, '\n');
	json_t *json;

	if (wanted == NULL)
		return 0;
	*wanted++ = '\0';
	longer = mem_format("%sx", wanted);
	if (header_value_is_text(text, wanted))
		fuzz_check(!header_value_is_text(text, longer));
	json = json_str(wanted);
	(void)header_value_is_json(text, json);
	json_decref(json);
	json = json_int(atoi(wanted));
	(void)header_value_is_json(text, json);
	json_decref(json);
	return 0;
}
