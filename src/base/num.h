/* num.h - numbers from text: the whole text, in range, or an error that says why. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;

MUST_CHECK int num_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                             struct error *err);
/* The same with an optional K, M or G (powers of 1024) behind it. */
MUST_CHECK int num_parse_size(const char *text, uint64_t min, uint64_t max, uint64_t *ret,
                              struct error *err);
