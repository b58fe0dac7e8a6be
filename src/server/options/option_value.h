/* option_value.h - one option's value: reading from text or JSON, checking, storing, describing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "server/options/options.h"
#include "json/json.h"

struct option_value {
	bool given;
	uint64_t number;  /* numbers, sizes, flags (0, 1), choices (the index) */
	const char *text; /* texts and paths; belongs to the source */
};

/* All values from one source: the flags, the environment, the file, the defaults. */
struct option_layer {
	struct option_value values[OPTION_COUNT];
};

MUST_CHECK int option_value_read(const struct option_spec *spec, const char *text,
                                 struct option_value *ret, struct error *err);
MUST_CHECK int option_value_read_json(const struct option_spec *spec, const json_t *json,
                                      struct option_value *ret, struct error *err);
void option_value_store(const struct option_spec *spec, const struct option_value *value,
                        struct options *options);

enum { OPTION_TEXT_SIZE = 160 };
/* Describes the allowed values: "one of error, warning, ...". Returns out. */
const char *option_expected(const struct option_spec *spec, char out[OPTION_TEXT_SIZE]);
/* The default as a user would write it, in `out` or static; NULL: there is none. */
const char *option_default_text(const struct option_spec *spec, char out[OPTION_TEXT_SIZE]);
/* A number or size as a user would write it. Returns out. */
const char *option_number_text(const struct option_spec *spec, uint64_t value,
                               char out[OPTION_TEXT_SIZE]);
/* Writes 10485760 as "10M". Returns out. */
const char *option_size_text(uint64_t bytes, char *out, size_t size);
