/* confinement.h - seccomp filters and Landlock for programs and workers.
 *
 * WELCOME brings the filters as bytes; the kernel checks them when they are loaded. Landlock denies
 * making device nodes, and ioctl() on devices outside /dev; it is not meant to divide users or runs
 * from each other. Both hold for a process and all its descendants and cannot be undone.
 *
 * The kernel lets no process trace one of another Landlock domain, and a /proc that is mounted with
 * hidepid shows only processes that the reader may trace. So all programs are in one domain, that
 * of the agent, and `ps` of one run shows the processes of the others. An agent whose programs have
 * its own user id stays outside of their domain, which protects it from them. */
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

/* Confines the agent itself by Landlock, and so all programs that it starts later. */
MUST_CHECK int confinement_share_domain(struct confinement *confine, struct error *err);

/* In a child: confines the calling process. Called last, because the filter may deny what the steps
 * before it need. */
MUST_CHECK int confinement_apply_program(const struct confinement *confine, struct error *err);
MUST_CHECK int confinement_apply_worker(const struct confinement *confine, struct error *err);
