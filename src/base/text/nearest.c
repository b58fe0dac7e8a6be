#include "base/text/nearest.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	NAME_LEN_MAX = 64,     /* longer names are never suggested; limits the table on the stack */
	SHORTENED_LEN_MIN = 3, /* shorter texts fit too many names */
};

static size_t min_of_three(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* The Damerau-Levenshtein distance: insertions, deletions, replacements and swaps of neighbours.
 * Only three rows of its table are kept, because a swap looks two rows back. */
static size_t edit_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NAME_LEN_MAX + 1];
	size_t *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		last[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *oldest = before;

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			row[j] = min_of_three(last[j] + 1, row[j - 1] + 1,
			                      last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = min_of_three(row[j], before[j - 2] + 1, SIZE_MAX);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_len];
}

/* Whether `known` begins as the typed text does, and has its other letters in the same order. */
static bool is_shortened(const char *typed, const char *known)
{
	if (*typed != *known)
		return false;
	for (; *typed != '\0' && *known != '\0'; known++)
		if (*typed == *known)
			typed++;
	return *typed == '\0';
}

void nearest_consider(struct nearest *best, const char *typed, const char *known)
{
	size_t typed_len = strlen(typed), known_len = strlen(known);
	size_t allowed = 2 * (typed_len / 3 > 1 ? typed_len / 3 : 1);
	size_t d;

	if (typed_len > NAME_LEN_MAX || known_len > NAME_LEN_MAX)
		return;
	d = 2 * edit_distance(typed, typed_len, known, known_len);
	if (d > 2 && typed_len >= SHORTENED_LEN_MIN && is_shortened(typed, known))
		d = strncmp(known, typed, typed_len) == 0 ? 2 : 3;
	else if (d >= 2 * typed_len)
		return;
	if (d > allowed || (best->name != NULL && d >= best->distance))
		return;
	best->name = known;
	best->distance = d;
}
