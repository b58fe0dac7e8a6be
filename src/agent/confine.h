/* confine.h - what programs and workers may no longer do, whoever they run as.
 *
 * Filters of system calls come as bytes from the server; the kernel checks them when they are
 * loaded. With Landlock nobody makes devices, and drivers are spoken to only below /dev; it
 * divides no one from his own files, and no run from another. Both are for good, and hold for
 * everything below. The agent and the keepers stay free of them. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/rights/landlock.h"
#include "wire/message.h"

struct error;

struct confine {
	struct landlock landlock;
	struct confine_filter {
		size_t count; /* 0: no filter */
		struct sock_filter code[WIRE_FILTER_MAX / sizeof(struct sock_filter)];
	} programs, workers;
};

/* Where the kernel has no Landlock, or too old a one, there is none: see `ruleset`. */
MUST_CHECK int confine_init(struct confine *confine, const struct wire_welcome *welcome,
                            struct error *err);

/* In the child, the last thing it does with the agent's code: what follows it is confined. */
MUST_CHECK int confine_program(const struct confine *confine, struct error *err);
MUST_CHECK int confine_worker(const struct confine *confine, struct error *err);
