/* janitor.h - work that takes its time, each piece in a process of its own.
 *
 * A tree a sandbox leaves behind may have millions of entries, and its processes as many
 * descriptors; counting or removing them must not hold anybody up. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/native/ids/ids.h"
#include "engine/native/usage/disk.h"
#include "engine/spec.h"

enum janitor_kind { JANITOR_REMOVE, JANITOR_COUNT, JANITOR_MEMORY, JANITOR_KINDS };

struct janitor_job {
	enum janitor_kind kind;
	int parent; /* of the directory `name` */
	const char *name;
	uint64_t number;        /* REMOVE: 0. Else whose files or memory it is */
	struct ids_block ids;   /* REMOVE: to be given back */
	struct disk_use enough; /* COUNT: more need not be counted */
	int proc;               /* not REMOVE: for what its processes hold */
	pid_t pid;              /* not REMOVE: its first process */
};

struct janitor {
	pid_t pid; /* 0: this place is free */
	enum janitor_kind kind;
	uint64_t number;
	struct ids_block ids;
	char name[SPEC_ID_LEN + 1];
	int result; /* a struct janitor_result comes here */
};

struct janitor_result {
	bool failed;
	struct error err;
	enum janitor_kind kind;
	struct disk_use use; /* COUNT; MEMORY: bytes */
};

MUST_CHECK int janitor_start(struct janitor *janitor, const struct janitor_job *job,
                             struct error *err);
/* Its process has ended. */
struct janitor_result janitor_end(struct janitor *janitor);
