/* fuzz_ansi_filter.c - any output of a program is filtered: no sequence passes that makes the
 * terminal answer, or changes more than the screen. Filtering the result again changes nothing,
 * and the result does not depend on how the input is split. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/ansi_filter.h"
#include "fuzz/fuzz.h"

/* A second rule, from what terminals do and not from the filter's table. */
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
