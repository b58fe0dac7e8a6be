/* copy_rules.h - the .gitignore files below a directory, found and read through its agent.
 *
 * From the top down: those in a directory that is left out are not read. */
#pragma once
#include "base/attr.h"
#include "base/cleanup.h"

struct copy_endpoint;
struct copy_rules;
struct error;
struct ignore;

/* Once, from the loop. The rules live until copy_rules_free(). */
typedef void copy_rules_fn(void *ctx, const struct ignore *ignore, const struct error *why);

/* The end must outlive it. */
MUST_CHECK int copy_rules_read(const struct copy_endpoint *end, copy_rules_fn *fn, void *ctx,
                               struct copy_rules **ret, struct error *err);
/* At any time, also from within fn; before fn it is not called any more. */
struct copy_rules *copy_rules_free(struct copy_rules *rules);
DEFINE_CLEANUP(copy_rules)
