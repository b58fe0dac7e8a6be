#include "server/doctor/probe_room.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Our group below root, from the "0::/path" line. */
static bool find_group(const char *root, char out[PATH_MAX])
{
	char line[PATH_MAX];
	bool found = false;
	FILE *file = fopen("/proc/self/cgroup", "re");

	if (file == NULL)
		return false;
	while (!found && fgets(line, sizeof line, file) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		found = strncmp(line, "0::/", 4) == 0;
	}
	(void)fclose(file);
	return found && snprintf(out, PATH_MAX, "%s%s", root, line + 3) < PATH_MAX;
}

static FILE *open_in(const char *group, const char *name)
{
	char path[PATH_MAX + 64];

	(void)snprintf(path, sizeof path, "%s/%s", group, name);
	return fopen(path, "re");
}

static bool is_alone(const char *group)
{
	FILE *file = open_in(group, "cgroup.procs");
	char line[32];
	size_t others = 0;

	if (file == NULL)
		return false;
	while (fgets(line, sizeof line, file) != NULL)
		others += strtol(line, NULL, 10) != (long)getpid();
	(void)fclose(file);
	return others == 0;
}

static bool move(const char *group, pid_t pid)
{
	char path[PATH_MAX + 64], text[16];
	AUTO_FD int fd = -1;
	int len = snprintf(text, sizeof text, "%d", pid);

	(void)snprintf(path, sizeof path, "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	return fd >= 0 && write(fd, text, (size_t)len) == len;
}

void room_plan(struct room *room, const char *root)
{
	struct statfs fs;
	FILE *events;

	room->group[0] = '\0';
	if (statfs(root, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC ||
	    !find_group(root, room->group) || !is_alone(room->group)) {
		room->group[0] = '\0';
		return;
	}
	/* The root of the tree may have both. */
	events = open_in(room->group, "cgroup.events");
	if (events == NULL) {
		room->group[0] = '\0';
		return;
	}
	(void)fclose(events);
	(void)snprintf(room->aside, sizeof room->aside, "%s/belljar-doctor-%d", room->group,
	               getpid());
}

void room_make(const struct room *room, pid_t parent)
{
	if (room->group[0] == '\0' || mkdir(room->aside, 0755) < 0)
		return;
	if (!move(room->aside, parent))
		(void)rmdir(room->aside);
}

void room_leave(const struct room *room)
{
	if (room->group[0] == '\0')
		return;
	(void)move(room->group, getpid());
	(void)rmdir(room->aside);
}
