/* sample.h - pseudo-random values that the table of messages allows, the same for the same seed.
 *
 *   sample_init -> sample_record ...; views in a record are valid until the next sample_init() */
#pragma once
#include "base/buf.h"
#include "unit/test.h"
#include "wire/table.h"

struct sample {
	uint64_t seed;
	size_t used;
	char pool[4 * WIRE_FRAME_MAX]; /* what views point to */
};

void sample_init(struct sample *s, uint64_t seed);

uint64_t sample_number(struct sample *s);
uint64_t sample_below(struct sample *s, uint64_t count);
/* Both ends are included, and come up more often than other values. */
uint64_t sample_between(struct sample *s, uint64_t min, uint64_t max);

/* Fills in every field of a record. */
void sample_record(struct sample *s, const struct wire_record *record, void *out);

/* Whether two members have the same value. */
bool sample_same(const struct wire_field *field, const char *a, const char *b);
