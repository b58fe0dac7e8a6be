/* spawner_internal.h - the spawner's state, for the files that serve it. */
#pragma once
#include "engine/native/spawner/answers.h"
#include "engine/native/spawner/box.h"
#include "engine/native/spawner/workshop.h"
#include "engine/native/usage/janitor.h"

/* A directory that has no name of its own yet, and one that has none any more. */
#define SPARE_PREFIX "sp_"
#define GONE_PREFIX  IDS_REMOVED_PREFIX

enum { BOXES_MAX = 1024, JANITORS_MAX = 24, ERASE_QUEUE_MAX = 4096 };

struct spawner {
	struct workshop shop;
	struct answers answers;
	int socket;
	int signals;
	struct box boxes[BOXES_MAX];
	size_t box_top; /* no box in use at or above it */
	struct janitor janitors[JANITORS_MAX];
	char erase[ERASE_QUEUE_MAX][SPEC_ID_LEN + 1]; /* what waits for a janitor: a ring */
	size_t erase_first, erase_count;
	struct box_image image;
	struct request wanted; /* see spare.h */
	uint64_t wanted_until;
	uint64_t asked;                /* when the server wanted something last */
	uint64_t disk_due, memory_due; /* when the watch looks next */
	size_t memory_next;            /* the box whose memory it looks at then */
};

/* Requests of the server: requests.c. */
void spawner_take(struct spawner *spawner, const struct request *request);
void spawner_start_erasing(struct spawner *spawner);
struct box *spawner_find(struct spawner *spawner, uint64_t number);
struct box *spawner_free_box(struct spawner *spawner); /* or NULL */
/* Or NULL. Each kind of work has places of its own: none keeps another waiting. */
struct janitor *spawner_free_janitor(struct spawner *spawner, enum janitor_kind kind);
/* Answers request `number`. */
void spawner_erase(struct spawner *spawner, const char *id, uint64_t number);
/* A directory nobody answers for any more; in a while. */
void spawner_remove(struct spawner *spawner, const char *name);

/* Processes that ended and boxes that started: deaths.c. */
void spawner_reap(struct spawner *spawner);
void spawner_started(struct spawner *spawner, struct box *box);
void spawner_hand_over(struct spawner *spawner, struct box *box);
bool spawner_bury(struct spawner *spawner); /* true: some group is still busy */
