/* usage.h - what a sandbox uses now: as the kernel counts it from outside where it does, else as
 * its agent sees it from inside. Files are counted by the file system where it keeps a quota, else
 * by walking them, if that takes no more than two seconds. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"

struct error;
struct sandbox;
struct usage_request;

struct usage {
	bool has_memory, has_cpu, has_processes, has_disk;
	uint64_t memory_bytes, memory_peak_bytes; /* peak 0: nobody counted */
	uint64_t cpu_us;
	uint64_t processes;
	uint64_t disk_bytes;
};

typedef void usage_fn(void *ctx, const struct usage *usage, const struct error *why);

/* The sandbox is ready. fn once, from the loop. */
MUST_CHECK int usage_request_start(struct sandbox *sandbox, usage_fn *fn, void *ctx,
                                   struct usage_request **ret, struct error *err);
void usage_request_cancel(struct usage_request *question); /* fn is not called any more */
