/* probe_engine.h - the best witness is the engine itself: it is started in a child, as a server
 * would, makes a sandbox, runs `true` in it, and everything is removed again. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/native/spawner/spawner.h"
#include "server/doctor/probe.h"

struct trial {
	bool with_sandbox; /* asked for: without, the engine only starts */
	bool is_ready;     /* it started: the report holds */
	bool has_run;      /* the program ended well */
	uint32_t ready_ms, run_ms;
	struct spawner_report report;
	struct error why; /* of what is not so */
	const struct options *options;
};

/* Takes what the start of a server takes, and some milliseconds for the sandbox. */
void trial_run(const struct options *options, struct trial *trial);

/* Sets status, detail and fix of a check in which they are empty. */
typedef void engine_fn(const struct trial *trial, struct check *ret);

engine_fn engine_sandbox, engine_ids, engine_groups, engine_programs;
engine_fn engine_cgroups, engine_memory, engine_swap, engine_cpu, engine_processes, engine_disk;
