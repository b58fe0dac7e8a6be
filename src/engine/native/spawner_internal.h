/* spawner_internal.h - the spawner's state, for the files that serve it. */
#pragma once
#include "engine/native/answers.h"
#include "engine/native/box.h"
#include "engine/native/janitor.h"
#include "engine/native/workshop.h"

enum { BOXES_MAX = 1024, JANITORS_MAX = 16, ERASE_QUEUE_MAX = 4096 };

struct spawner {
	struct workshop shop;
	struct answers answers;
	int socket;
	int signals;
	struct box boxes[BOXES_MAX];
	size_t box_top; /* no box in use at or above it */
	struct janitor janitors[JANITORS_MAX];
	struct {
		char id[SPEC_ID_LEN + 1];
		uint64_t number;
	} erase[ERASE_QUEUE_MAX]; /* what waits for a janitor: a ring */
	size_t erase_first, erase_count;
	struct box_spare spare;
	uint64_t disk_due, memory_due; /* when the watch looks next */
};

/* Requests of the server: requests.c. */
void spawner_take(struct spawner *spawner, const struct request *request);
void spawner_start_erasing(struct spawner *spawner);
struct box *spawner_find(struct spawner *spawner, uint64_t number);
struct janitor *spawner_free_janitor(struct spawner *spawner); /* or NULL */

/* Processes that ended and boxes that started: deaths.c. */
void spawner_reap(struct spawner *spawner);
void spawner_started(struct spawner *spawner, struct box *box);
bool spawner_bury(struct spawner *spawner); /* true: some group is still busy */
