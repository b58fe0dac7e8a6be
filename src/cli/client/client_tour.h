/* client_tour.h - a guided tour: calls the main tools one after the other and prints the
 * results. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"

struct error;
struct link;

/* *ret_failed becomes true if the result of a tool was an error. */
MUST_CHECK int tour_run(struct link *link, bool *ret_failed, struct error *err);
