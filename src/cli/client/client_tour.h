/* client_tour.h - a walk through the tools, as a client sees them. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

struct error;
struct link;

/* *ret_failed: a tool answered with an error on the way. */
MUST_CHECK int tour_run(struct link *link, bool *ret_failed, struct error *err);
