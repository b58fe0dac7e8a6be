/* box.h - one sandbox that is awake, or being started or ended, for the files box*.c.
 *
 *   box.c         image -> volumes -> container -> connection -> start -> HELLO -> STARTED
 *   box_end.c     the agent exits, or REQUEST_KILL -> the container is removed -> ENDED
 *   box_limits.c  changes of limits
 *
 * Each step begins when the daemon has answered the one before. REQUEST_KILL waits for the answer
 * that is due: the daemon would create the container after its removal otherwise. */
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
	bool is_busy;     /* the daemon has not answered the last call */
	bool is_started, is_killed, is_removing;
	bool is_limiting;      /* the daemon has not answered a change of limits */
	bool is_detached;      /* the connection ended while is_busy */
	struct error detached; /* why the connection ended; empty if the daemon closed it */
	bool failed;           /* `why` is to be reported */
	struct error why;
	enum engine_end end;
	uint64_t erase_number;   /* of a REQUEST_ERASE that waits for the end; or 0 */
	struct install *install; /* of Python, on the network of this box; or NULL */
};

struct box *box_find(struct broker *broker, uint64_t number);
struct box *box_find_id(struct broker *broker, const char *id);

/* HELLO has arrived, or has not arrived within the time for it: connects directly if the agent
 * listens, and reports the start. */
void box_on_hello(void *ctx);

/* --- box_end.c --- */

/* Removes the container, if there is one, and reports the end. */
void box_remove(struct box *box);
void box_fail(struct box *box, const struct error *why);
/* To be called when the daemon has answered a call. True: the box was killed meanwhile, is removed
 * now, and may be freed already. */
bool box_end_if_killed(struct box *box);
/* The event `end` of the attached stream. */
void box_on_attach_end(void *ctx, const struct error *why);
