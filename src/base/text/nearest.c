#include "base/text/nearest.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 64, SHORTEST_START = 3 };

static size_t least(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Insertions, deletions, replacements and swaps of neighbours, by rows of the usual table;
 * a swap looks two rows back. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][LONGEST + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = least(last[j] + 1, row[j - 1] + 1,
			               last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1, SIZE_MAX);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_len];
}

void nearest_consider(struct nearest *best, const char *typed, const char *known)
{
	size_t typed_len = strlen(typed), known_len = strlen(known);
	size_t allowed = typed_len / 3 > 1 ? typed_len / 3 : 1;
	size_t d;

	if (typed_len > LONGEST || known_len > LONGEST)
		return;
	d = distance(typed, typed_len, known, known_len);
	if (d > 1 && typed_len >= SHORTEST_START && strncmp(known, typed, typed_len) == 0)
		d = 1;
	if (d > allowed || (best->name != NULL && d >= best->distance))
		return;
	best->name = known;
	best->distance = d;
}
