/* inside.h - the new process, from its first instruction to the agent's.
 *
 * It starts in new namespaces of every kind with every capability in them, and gives up one
 * after the other while it sets up: mounts, network, names, ids, capabilities, limits, system
 * calls. Each step works or the process ends, with the reason on `report`. */
#pragma once
#include "base/attr.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/root/home.h"
#include "engine/native/root/plan.h"

struct inside {
	const struct home *home;
	const struct plan *plan;
	const struct spec *spec;
	bool without_memory;        /* no cgroup limits it: rlimits have to */
	bool without_cpu;           /* nor that: it stands back behind others */
	const struct cgroup *group; /* its own */
	int image;                  /* the agent's program */
	int channel;
	int go;     /* one byte comes when the id maps are written */
	int report; /* a struct error goes here; closed by success */
};

NORETURN void inside_run(const struct inside *given);
