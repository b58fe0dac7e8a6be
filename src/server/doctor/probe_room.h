/* probe_room.h - lets the engine's trial have what a server alone in its cgroup would have.
 *
 * Version 2 gives no limits below a group that has processes, so a server goes one group down,
 * with its spawner, if nobody else is there. The doctor waits for its trial in the same group
 * and would be that somebody: it steps aside meanwhile. */
#pragma once
#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct room {
	char group[PATH_MAX]; /* ours; "": there is nothing to do */
	char aside[PATH_MAX + 32];
};

/* `root`: where version 2 is mounted. */
void room_plan(struct room *room, const char *root);
/* In the child: puts its parent aside. */
void room_make(const struct room *room, pid_t parent);
/* When the child is gone. */
void room_leave(const struct room *room);
