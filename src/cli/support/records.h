/* records.h - reading the registry and the history from a verb that runs no server. */
#pragma once
#include <stdint.h>

#include "base/attr.h"

struct error;
struct options;
struct store;

/* Opens the database, after giving up this process's privileges. *ret is NULL if no sandbox was
 * ever created in this state directory. *ret_servers, unless it is NULL, becomes the directory with
 * the servers' locks, or -1; the caller closes it. */
MUST_CHECK int records_open(const struct options *options, struct store **ret, int *ret_servers,
                            struct error *err);

enum { RECORDS_TEXT_SIZE = 32 };
/* Formats a time as 2026-01-31T23:59:59Z. Returns out. */
const char *records_when(int64_t seconds, char out[RECORDS_TEXT_SIZE]);
/* Formats a duration, such as "5 min"; a negative one counts as 0. Returns out. */
const char *records_span(int64_t seconds, char out[RECORDS_TEXT_SIZE]);
