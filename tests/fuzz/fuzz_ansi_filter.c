/* fuzz_screen.c - whatever a program draws: nothing passes that makes the terminal answer or
 * reaches past the screen, what passed once passes again, and it does not matter how it was cut. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/ansi_filter.h"

/* Written against what terminals do, not against the filter. */
static void check(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char byte = (unsigned char)text[i];
		size_t end = i + 2;

		if (byte == 0 || byte == 0x05 || byte == 0x7f)
			abort();
		if (byte == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] >= 0x80 &&
		    (unsigned char)text[i + 1] <= 0x9f)
			abort();
		if (byte != 0x1b)
			continue;
		if (i + 1 == len || strchr("[()78DEHM=>c", text[i + 1]) == NULL)
			abort();
		if (text[i + 1] != '[')
			continue;
		while (end < len && (text[end] < '@' || text[end] > '~'))
			end++;
		if (end >= len || strchr("cintwxy{|}~", text[end]) != NULL ||
		    memchr(text + i, '$', end - i) != NULL ||
		    memchr(text + i, '>', end - i) != NULL)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ansi_filter whole = { 0 }, cut = { 0 }, again = { 0 };
	size_t room = size + ANSI_FILTER_HELD_MAX;
	char *once = mem_array(room, 1), *twice = mem_array(room, 1);
	char *thrice = mem_array(room + ANSI_FILTER_HELD_MAX, 1), reset[ANSI_FILTER_RESET_MAX];
	size_t n = ansi_filter_bytes(&whole, (const char *)data, size, once), m = 0;

	for (size_t i = 0; i < size; i++)
		m += ansi_filter_bytes(&cut, (const char *)data + i, 1, twice + m);
	if (n > size || n != m || memcmp(once, twice, n) != 0)
		abort();
	check(once, n);
	if (ansi_filter_bytes(&again, once, n, thrice) != n || memcmp(once, thrice, n) != 0)
		abort();
	n = ansi_filter_reset(&whole, reset);
	if (n >= sizeof reset)
		abort();
	check(reset, n);
	free(once);
	free(twice);
	free(thrice);
	return 0;
}
