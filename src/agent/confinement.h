/* confinement.h - seccomp filters and Landlock for programs and workers.
 *
 * WELCOME brings the filters as bytes; the kernel checks them when they are loaded. Landlock denies
 * making device nodes, and ioctl() on devices outside /dev; it is not meant to divide users or runs
 * from each other. But each program is in a domain of its own, and the kernel lets no process trace
 * one of another domain: where /proc is mounted with hidepid, programs therefore do not see those
 * of other runs. Both hold for a process and all its descendants and cannot be undone. The agent
 * and the keepers are not confined by either. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/rights/landlock.h"
#include "wire/message.h"

struct error;

struct confinement {
	struct landlock landlock;
	struct confinement_filter {
		size_t count; /* of instructions; 0: no filter */
		struct sock_filter code[WIRE_FILTER_MAX / sizeof(struct sock_filter)];
	} programs, workers;
};

/* Copies the filters, and makes the ruleset if WELCOME asks for Landlock and the kernel has it. */
MUST_CHECK int confinement_init(struct confinement *confine, const struct wire_welcome *welcome,
                                struct error *err);

/* In a child: confines the calling process. Called last, because the filter may deny what the steps
 * before it need. */
MUST_CHECK int confinement_apply_program(const struct confinement *confine, struct error *err);
MUST_CHECK int confinement_apply_worker(const struct confinement *confine, struct error *err);
