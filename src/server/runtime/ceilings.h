/* ceilings.h - the limits of sandboxes on this machine: the defaults, and the most that the creator
 * of a sandbox may have.
 *
 * A ceiling is the operator's --X-max; else --X, if the operator set it by a flag, the environment
 * or the file; else a share of what the machine has. Commands in a terminal (exec, run, shell) are
 * the operator's own: their only ceiling is the machine. No default and no ceiling is more than the
 * machine has, so that a default made for a large machine works on a small one.
 *
 * The spawner gets the ceilings before the server reads its first byte from a client, and refuses
 * every request above them: a server that was taken over cannot raise them. */
#pragma once
#include "engine/spec.h"

struct options;

struct ceilings {
	struct spec_limits initial; /* of a sandbox whose creator sets nothing else */
	struct spec_limits max;
	uint64_t memory_together; /* bytes that all sandboxes of this server use together */
	/* Quotas of one owner: the sums of the limits; 0: no limit. Without a cgroup over all
	 * sandboxes nothing but the sum of their limits protects the machine's memory. */
	uint64_t owner_memory, owner_memory_without_cgroup, owner_disk;
};

/* `machine` is the result of machine_read(). Logs what is lowered. */
void ceilings_find(const struct options *options, const struct spec_limits *machine,
                   struct ceilings *ret);
