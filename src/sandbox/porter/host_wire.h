/* host_wire.h - what server and porter say to each other: packets, one answer for each question,
 * in their order. Both come from the same program, so these are plain structs; the porter trusts
 * none of what it reads. */
#pragma once
#include <stdint.h>

#include "base/error.h"

enum {
	HOST_PATH_SIZE = 4096, /* terminator included */
	HOST_DIRECTORIES_MAX = 64,
	HOST_GROUPS_MAX = 64,
};

enum host_question_kind {
	HOST_OPEN,   /* an agent for this directory, please: it is in the list exactly so */
	HOST_ADD,    /* the client has this root: put it into the list */
	HOST_REMOVE, /* and has it no more: what came with it goes */
};

/* Sent up to the path's terminator. */
struct host_question {
	uint32_t kind;
	char path[HOST_PATH_SIZE];
};

/* To OPEN, if it did not fail: the channel's descriptor comes with it. */
struct host_answer {
	uint32_t failed;
	uint32_t uid, gid; /* whose rights file work has there */
	uint32_t group_count;
	uint32_t groups[HOST_GROUPS_MAX];
	struct error err;
};
