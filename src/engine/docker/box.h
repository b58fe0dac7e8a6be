/* box.h - one sandbox that is awake, or being started or ended, for the files box*.c.
 *
 *   box.c         image -> volumes -> container -> connection -> start -> HELLO -> STARTED
 *   box_end.c     the agent exits, or REQUEST_KILL -> the container is removed -> ENDED
 *   box_limits.c  changes of limits
 *
 * The steps follow one another. A request to kill waits for the call under way: a container whose
 * creation is given up half-way could appear later. */
#pragma once
#include "engine/docker/internal.h"

struct box {
	struct list node;
	struct broker *broker;
	uint64_t number;
	struct spec spec;
	struct prepared_image image;
	char container[DOCKER_ID_MAX]; /* "" until it exists */
	struct attach *attach;
	int channel;                     /* the server's end, until it is sent */
	struct docker_container started; /* from its start on */
	struct loop_timer *hello_timer;  /* not NULL: waits for HELLO */
	size_t volumes_left;             /* calls without an answer */
	bool has_volume_error;
	bool has_retried; /* the creation was repeated once */
	bool is_busy;     /* a call is under way that must be answered first */
	bool is_started, is_killed, is_removing;
	bool is_limiting;      /* a change of limits is under way */
	bool is_detached;      /* the connection has ended, while a call was under way */
	struct error detached; /* why the connection ended; empty if the daemon closed it */
	bool failed;           /* `why` is to be reported */
	struct error why;
	enum engine_end end;
	uint64_t erase_number;   /* of a REQUEST_ERASE that waits for the end; or 0 */
	struct install *install; /* of Python, on the network of this box; or NULL */
};

struct box *box_find(struct broker *broker, uint64_t number);
struct box *box_find_id(struct broker *broker, const char *id);

/* HELLO has arrived, or does not arrive: reports the start. */
void box_on_hello(void *ctx);

/* --- box_end.c --- */

/* Removes the container, if there is one, and reports the end. */
void box_remove(struct box *box);
void box_fail(struct box *box, const struct error *why);
/* To be called when a call has been answered. True: the box was killed meanwhile, and ends now. */
bool box_end_if_killed(struct box *box);
/* The event of the connection. */
void box_on_attach_end(void *ctx, const struct error *why);
