/* janitor.h - work on files that takes its time, each piece in a process of its own.
 *
 * A tree a sandbox leaves behind may have millions of entries; counting or removing them must
 * not hold anybody up. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/error.h"
#include "engine/native/disk.h"
#include "engine/native/ids.h"

enum janitor_kind { JANITOR_REMOVE, JANITOR_COUNT };

struct janitor {
	enum janitor_kind kind;
	uint64_t number;      /* whoever asked */
	pid_t pid;            /* 0: this place is free */
	int result;           /* a struct janitor_result comes here */
	struct ids_block ids; /* REMOVE: to be given back */
};

struct janitor_result {
	bool failed;
	struct error err;
	struct disk_use use; /* COUNT */
};

MUST_CHECK int janitor_start(struct janitor *janitor, enum janitor_kind kind, uint64_t number,
                             int parent, const char *name, const struct disk_use *enough,
                             struct error *err);
/* Its process has ended. */
struct janitor_result janitor_end(struct janitor *janitor);
