#include "engine/native/spawner/workshop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

static int open_directory(int parent, const char *name, mode_t mode, struct error *err)
{
	int fd;

	if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
		return error_sys(err, "make %s", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, "%s", name);
}

/* Servers with other state directories have other groups: a short word for ours. */
static void name_state(const char *state, char out[17])
{
	struct stat st = { 0 };

	(void)stat(state, &st);
	(void)snprintf(out, 17, "%llx",
	               (unsigned long long)st.st_ino ^ (unsigned long long)st.st_dev << 40);
}

static int open_groups(struct workshop *shop, const struct spawner_config *config,
                       struct error *err)
{
	char name[17];

	name_state(config->state, name);
	if (config->no_groups) {
		shop->groups = (struct cgroups){ .kind = CGROUP_NONE,
			                         .unified = -1,
			                         .unified_parent = -1,
			                         .why = "--no-cgroups" };
		for (int i = 0; i < V1_COUNT; i++)
			shop->groups.v1[i] = shop->groups.v1_parent[i] = -1;
		return 0;
	}
	if (cgroups_open(&shop->groups, name, config->instance, err) < 0)
		return -1;
	cgroups_sweep(&shop->groups, name, config->is_alive, config->ctx);
	return 0;
}

static int open_ids(struct workshop *shop, const struct spawner_config *config, struct error *err)
{
	shop->ids = (struct ids){ .home = &shop->home, .dir = -1, .sandboxes = shop->disk.dir };
	(void)snprintf(shop->ids.state, sizeof shop->ids.state, "%s", config->state);
	if (shop->home.mode == HOME_ALONE)
		return 0;
	shop->ids.dir = open_directory(AT_FDCWD, config->claims, 0700, err);
	if (shop->ids.dir < 0)
		return -1;
	ids_sweep(&shop->ids);
	return 0;
}

static int open_files(struct workshop *shop, const struct spawner_config *config, int state,
                      struct error *err)
{
	bool alone = shop->home.mode == HOME_ALONE;
	uid_t uid = alone ? shop->home.uid : shop->home.ids.files;
	gid_t gid = alone ? shop->home.gid : shop->home.ids.files;
	AUTO_FD int skeletons = open_directory(state, "skeleton", 0711, err);

	if (skeletons < 0 || skeleton_open(skeletons, uid, gid, &shop->skeleton, err) < 0)
		return -1;
	if (disk_open(&shop->disk, state, shop->home.mode == HOME_ROOT && !config->watched, err) <
	    0)
		return -1;
	/* A sandbox has to get to its own directory, whose name nobody can guess. */
	if (fchmod(shop->disk.dir, 0711) < 0)
		return error_sys(err, "mode of the directory of sandboxes");
	return 0;
}

static int open_rest(struct workshop *shop, const struct spawner_config *config, struct error *err)
{
	AUTO_FD int state = -1;
	struct home_parts parts = { .state = config->state,
		                    .skeleton = &shop->skeleton,
		                    .disk = &shop->disk,
		                    .mounts = config->mounts,
		                    .mount_count = config->mount_count };

	if (home_enter(&shop->home, config->alone, err) < 0)
		return -1;
	state = open(config->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0)
		return error_sys(err, "state directory %s", config->state);
	if (open_files(shop, config, state, err) < 0 || open_ids(shop, config, err) < 0)
		return -1;
	shop->gpus = config->gpus;
	parts.gpus = shop->gpus;
	return home_settle(&shop->home, &parts, err);
}

/* The groups are the first thing there is, and nobody else would remove them. */
int workshop_open(struct workshop *shop, const struct spawner_config *config, struct error *err)
{
	*shop = (struct workshop){ .mount_count = config->mount_count };
	if (open_groups(shop, config, err) < 0)
		return -1;
	if (open_rest(shop, config, err) == 0)
		return 0;
	cgroups_close(&shop->groups);
	return -1;
}

void workshop_close(struct workshop *shop)
{
	disk_close(&shop->disk);
	cgroups_close(&shop->groups);
}
