/* usage_request.h - what a sandbox uses at this moment: memory, processor time, processes, disk.
 *
 * Memory, time and processes come from the sandbox's cgroup where there is one, else from the
 * agent, whose numbers programs in the sandbox can falsify. Disk comes from the file system's quota
 * where there is one, else from `du`, which is killed after two seconds: then disk is not reported.
 *
 *   usage_request_start -> fn, or usage_request_cancel */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct sandbox;
struct usage_request;

struct usage {
	bool has_memory, has_cpu, has_processes, has_disk;
	uint64_t memory_bytes, memory_peak_bytes; /* peak 0: not known */
	uint64_t cpu_us;
	uint64_t processes;
	uint64_t disk_bytes;
};

typedef void usage_fn(void *ctx, const struct usage *usage, const struct error *why);

/* The sandbox must be ready. fn is called once, from the loop; the request is freed by then. */
MUST_CHECK int usage_request_start(struct sandbox *sandbox, usage_fn *fn, void *ctx,
                                   struct usage_request **ret, struct error *err);
void usage_request_cancel(struct usage_request *request); /* fn is not called */
