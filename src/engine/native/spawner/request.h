/* request.h - what server and spawner say to each other.
 *
 * Packets of one fixed struct each way over a SOCK_SEQPACKET pair. The server may have been
 * taken over: the spawner checks every field, and does nothing on its behalf but with
 * sandboxes below its own directory. Descriptors go one way only, with ANSWER_MADE. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/root/home.h"
#include "engine/native/usage/disk.h"
#include "engine/spec.h"

enum request_kind {
	REQUEST_MAKE = 1,
	REQUEST_KILL,  /* number of the MAKE */
	REQUEST_ERASE, /* spec.id */
	REQUEST_LIST,  /* all directories there are */
	REQUEST_KIND_COUNT
};

struct request {
	uint32_t kind;
	uint64_t number; /* of the caller's choice, never used twice for MAKE */
	struct spec spec;
};

enum answer_kind {
	ANSWER_READY = 1, /* once, first: `report` */
	ANSWER_MADE,      /* channel, then the files of counts that `counts` names */
	ANSWER_GONE,      /* after MADE; or, with `err`, instead of it */
	ANSWER_ERASED,
	ANSWER_LISTED, /* one per directory; the last has an empty id */
	ANSWER_KIND_COUNT
};

/* What is in force, for doctor and for results. */
struct native_report {
	enum home_mode mode;
	enum cgroup_kind groups;
	unsigned has; /* CGROUP_HAS_... */
	enum disk_kind disk;
	char mode_why[240], groups_why[240], disk_why[240];
	bool usr_is_whole;
};

enum { ANSWER_FDS_MAX = 1 + CGROUP_COUNTER_FILES };

struct answer {
	uint32_t kind;
	uint64_t number;
	bool failed; /* `err` says why */
	struct error err;
	enum engine_end end; /* GONE */
	uint32_t pid;        /* MADE, as the host sees it */
	struct engine_user user;
	uint32_t counts; /* bit n: count file n came along */
	char id[SPEC_ID_LEN + 1];
	struct native_report report;
};
