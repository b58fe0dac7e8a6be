/* doctor.h - what this machine offers for sandboxes, layer by layer. */
#pragma once
#include "base/attr.h"
#include "json/json.h"

struct options;

/* {"checks":[{"name","status","detail","fix"?}]} with status "on", "weaker" or "off", in
 * a fixed order; "fix" stands where the status is not "on". The caller owns it. Forks
 * short-lived children and waits for them: some milliseconds, at worst some seconds. */
json_t *doctor_report(const struct options *options) RETURNS_NONNULL;

/* What the layer of that name is for; NULL if there is no such check. */
const char *doctor_purpose(const char *name);
