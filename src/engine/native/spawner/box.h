/* box.h - one sandbox in the spawner's hands: its process, its group, its directory.
 *
 *   box_start -> (its report pipe is read) box_is_started -> box_kill -> box_bury */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "engine/native/cgroup/cgroup.h"
#include "engine/native/ids/ids.h"
#include "engine/native/spawner/request.h"
#include "engine/native/spawner/workshop.h"

struct box {
	uint64_t number; /* of the request that made it; 0: this place is free */
	char id[SPEC_ID_LEN + 1];
	pid_t pid;
	int report;  /* until it has started; then -1 */
	int dir;     /* its directory, locked */
	int channel; /* the server's end, until it is handed over; then -1 */
	struct cgroup group;
	struct ids_block ids;
	struct spec_limits limits;
	uint64_t erase; /* the request to erase it that waits for its end; or 0 */
	bool failed;    /* it was not made: `why`. Told when it is buried */
	struct error why;
	bool is_fresh; /* made now, not woken */
	bool is_killed;
	bool is_dead;          /* its process is; the group may be there still */
	enum engine_end end;   /* what it will have ended by, if it ends now */
	uint64_t memory_kills; /* counted when it died */
	/* What the watch knows: see watch.h. */
	struct {
		struct disk_use used;      /* when it was counted last */
		struct disk_use free_then; /* of the file system, at that time */
		struct disk_use free_next; /* at the start of the count under way */
		struct disk_use most;      /* it may have: the limits, or what it woke with */
		bool is_watched;           /* no quota counts for it */
		bool is_counted;           /* since it began */
		bool counting;
		unsigned failures; /* of counts, one after the other */
	} disk;
};

/* The agent's program, a copy for the next sandbox. Made ahead, because it takes time. */
struct box_image {
	int fd; /* or -1 */
};
void box_prepare(struct box_image *ahead);

MUST_CHECK int box_start(struct workshop *shop, struct box_image *ahead,
                         const struct request *request, struct box *box, struct error *err);
/* There is something on `report`. 1: the agent runs. 0: not yet. -1: it failed; it is dying. */
int box_is_started(struct workshop *shop, struct box *box, struct error *err);
/* It has got this far with no name of its own: it is sandbox `id` from now on. */
MUST_CHECK int box_name(struct workshop *shop, struct box *box, const char *id, struct error *err);
void box_kill(struct box *box, enum engine_end end);
void box_failed(struct box *box, const struct error *why); /* and is killed */
/* Its process is reaped. False: its group is not empty yet, try again. */
bool box_bury(struct box *box);
