/* records.h - looking at what servers wrote down, without being one. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct options;
struct store;

/* Gives up our rights on the way. *ret is NULL if nothing has ever been made here. *ret_servers,
 * if asked for: the directory of their locks (see sandbox/instances.h), or -1; the caller closes
 * it. */
MUST_CHECK int records_open(const struct options *options, struct store **ret, int *ret_servers,
                            struct error *err);

enum { RECORDS_TEXT_SIZE = 32 };
/* A moment as 2026-01-31T23:59:59Z. Returns out. */
const char *records_when(int64_t seconds, char out[RECORDS_TEXT_SIZE]);
/* A time as people say it, "5 min"; less than none is none. Returns out. */
const char *records_span(int64_t seconds, char out[RECORDS_TEXT_SIZE]);
