/* host_internal.h - what the files of host.h share.
 *
 *   host.c        which directories there are, and who uses them
 *   host_place.c  one directory: the porter is asked for an agent, the agent is greeted */
#pragma once
#include <stdbool.h>

#include "base/list.h"
#include "sandbox/porter/host.h"
#include "sandbox/porter/host_wire.h"

enum place_state { PLACE_CLOSED, PLACE_ASKED, PLACE_GREETING, PLACE_OPEN };

/* A directory and the agent there. */
struct place {
	struct list node; /* in host->places */
	struct host *host;
	char path[HOST_PATH_SIZE];
	bool is_root; /* the client's; may be taken away */
	bool is_gone; /* it was, but is in use */
	bool is_busy; /* it calls back */
	enum place_state state;
	struct channel *channel;
	struct loop_timer *idle;
	struct list uses;
};

struct host_handle {
	struct list node; /* in place->uses */
	struct place *place;
	host_opened_fn *fn; /* NULL: it has been told */
	void *ctx;
	bool is_due;             /* to be told in this round */
	struct loop_timer *soon; /* the channel was there already */
	char full[HOST_PATH_SIZE];
	const char *path;
	char where[200];
};

/* A question that was not answered yet, maybe not even sent: the porter may be slow. */
struct question {
	struct list node;
	enum host_question_kind kind;
	struct place *place; /* NULL: gone meanwhile */
	bool is_sent;
	char *path;
};

struct host {
	struct loop *loop;
	int socket;
	struct loop_watch *watch;
	bool may_add;
	struct list places; /* those of the options first */
	struct list questions;
};

/* --- host_place.c --- */

struct place *host_place_new(struct host *host, const char *path, bool is_root) RETURNS_NONNULL;
void host_place_free(struct place *place);
/* Nobody uses it any more, for now or for good. */
void host_place_rest(struct place *place);
MUST_CHECK int host_ask(struct host *host, enum host_question_kind kind, struct place *place,
                        struct error *err);
void host_drop_root(struct place *place);
void host_question_free(struct question *question);
void host_on_ready(void *host); /* the porter has answered, or has room for questions */
