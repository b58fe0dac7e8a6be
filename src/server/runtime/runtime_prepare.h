/* runtime_prepare.h - the parts of runtime_prepare() that are in files of their own. Each fills in
 * members of the base. */
#pragma once
#include "base/attr.h"

struct error;
struct options;
struct runtime_base;

MUST_CHECK int runtime_read_gpus(const struct options *options, struct runtime_base *base,
                                 struct error *err);
MUST_CHECK int runtime_find_gpus_max(const struct options *options, struct runtime_base *base,
                                     struct error *err);
/* Reads the settings about networks and forks the dialer. */
MUST_CHECK int runtime_start_dialer(const struct options *options, struct runtime_base *base,
                                    struct error *err);
