/* fuzz_ansi_strip.c - any output of a program is stripped: no control sequence is left, and the
 * result does not depend on how the input is split. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/ansi_strip.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ansi_strip whole = { 0 }, cut = { 0 };
	char *once = mem_array(size + 1, 1), *twice = mem_array(size + 1, 1);
	size_t n = ansi_strip_bytes(&whole, (const char *)data, size, once), m = 0;

	for (size_t i = 0; i < size; i++)
		m += ansi_strip_bytes(&cut, (const char *)data + i, 1, twice + m);
	if (n > size || n != m || memcmp(once, twice, n) != 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		unsigned char byte = (unsigned char)once[i];

		if (byte == 0x7f || (byte < ' ' && strchr("\n\t\r", byte) == NULL) || byte == 0)
			abort();
		if (i != 0 && (unsigned char)once[i - 1] == 0xc2 && byte >= 0x80 && byte <= 0x9f)
			abort();
	}
	free(once);
	free(twice);
	return 0;
}
