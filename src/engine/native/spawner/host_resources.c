/* host_resources.c - opens what the spawner starts sandboxes with. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/native/spawner/internal.h"

static int open_directory(int parent, const char *name, mode_t mode, struct error *err)
{
	int fd;

	if (mkdirat(parent, name, mode) < 0 && errno != EEXIST)
		return error_sys(err, "make %s", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, "open %s", name);
}

/* A short name of the state directory, part of the names of its servers' cgroups: a server sweeps
 * only cgroups of servers whose locks it can see, and those are in the state directory. */
static void hash_state_path(const char *state, char out[17])
{
	struct stat st = { 0 };

	(void)stat(state, &st);
	(void)snprintf(out, 17, "%llx",
	               (unsigned long long)st.st_ino ^ (unsigned long long)st.st_dev << 40);
}

static int open_cgroups(struct host_resources *host, const struct spawner_options *options,
                        struct error *err)
{
	char name[17];

	hash_state_path(options->state, name);
	if (options->no_cgroups) {
		host->cgroups = (struct cgroups){ .kind = CGROUP_NONE,
			                          .unified = -1,
			                          .unified_parent = -1,
			                          .why = "--no-cgroups" };
		for (int i = 0; i < V1_COUNT; i++)
			host->cgroups.v1[i] = host->cgroups.v1_parent[i] = -1;
		return 0;
	}
	if (cgroups_open(&host->cgroups, name, options->instance, err) < 0)
		return -1;
	cgroups_sweep(&host->cgroups, name, options->is_alive, options->ctx);
	if (cgroups_limit_memory(&host->cgroups, options->memory_together, err) == 0)
		return 0;
	cgroups_close(&host->cgroups);
	return -1;
}

static int open_ids(struct host_resources *host, const struct spawner_options *options,
                    struct error *err)
{
	host->ids = (struct ids){ .userns = &host->userns,
		                  .taken = options->ids.taken,
		                  .dir = -1,
		                  .sandboxes = host->disk.dir };
	(void)snprintf(host->ids.state, sizeof host->ids.state, "%s", options->state);
	if (host->userns.mode == USERNS_SINGLE_ID)
		return 0;
	host->ids.dir = open_directory(AT_FDCWD, options->claims, 0700, err);
	if (host->ids.dir < 0)
		return -1;
	if (host->userns.mode == USERNS_ROOT)
		ids_unlisted_source("/etc", host->unlisted);
	host->taken_blocks = ids_sweep(&host->ids, &host->taken_why);
	if (host->taken_blocks != 0)
		log_warning("%u sandboxes do not wake: %s", host->taken_blocks,
		            host->taken_why.msg);
	return ids_check_range(&host->ids, err);
}

/* The programs of all sandboxes read the files of a skeleton, so other users must not be able to
 * replace them. */
static bool is_own_directory(int dir)
{
	struct stat st;

	return fstat(dir, &st) == 0 && st.st_uid == geteuid() &&
	       (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Where the shared directory cannot be used, as in a read-only home, the state directory has
 * skeletons of its own. */
static int open_skeleton(const struct spawner_options *options, int state, uid_t uid, gid_t gid,
                         struct skeleton *ret, struct error *err)
{
	AUTO_FD int shared = open_directory(AT_FDCWD, options->skeletons, 0711, err);
	AUTO_FD int own = -1;

	if (shared >= 0 && is_own_directory(shared) &&
	    skeleton_open(shared, uid, gid, ret, err) == 0)
		return 0;
	own = open_directory(state, "skeleton", 0711, err);
	return own < 0 ? -1 : skeleton_open(own, uid, gid, ret, err);
}

/* Sandboxes that have an image wake also with quotas, and with --no-quota. */
static void open_images(struct host_resources *host, const struct spawner_options *options,
                        int state)
{
	struct error err;
	AUTO_FD int shared = open_directory(AT_FDCWD, options->skeletons, 0711, &err);
	char *why = host->disk.why;
	size_t size = sizeof host->disk.why, len;

	host->images = (struct disk_images){ .dev = -1, .ahead = -1 };
	if (options->no_quota)
		(void)snprintf(why, size, "--no-quota");
	if (host->userns.mode != USERNS_ROOT)
		return;
	len = strlen(why);
	/* Servers share templates of images as they share skeletons. */
	if (disk_images_open(&host->images,
	                     shared >= 0 && is_own_directory(shared) ? shared : state, &err) < 0)
		(void)snprintf(why + len, size - len, "; no disk images: %.*s", (int)sizeof err.msg,
		               err.msg);
	else if (host->disk.kind == DISK_WATCHED && !options->no_quota)
		host->disk.kind = DISK_IMAGE;
	if (host->disk.kind == DISK_IMAGE && host->wants_first)
		disk_image_start_ahead(&host->images, host->disk.dir, &options->first->limits);
}

static int open_files(struct host_resources *host, const struct spawner_options *options, int state,
                      struct error *err)
{
	bool single = host->userns.mode == USERNS_SINGLE_ID;
	uid_t uid = single ? host->userns.uid : host->userns.ids.files;
	gid_t gid = single ? host->userns.gid : host->userns.ids.files;

	if (disk_open(&host->disk, state, host->userns.mode == USERNS_ROOT && !options->no_quota,
	              err) < 0)
		return -1;
	host->wants_first = options->first != NULL && !spec_is_any_in(host->disk.dir, ".");
	open_images(host, options, state);
	if (open_skeleton(options, state, uid, gid, &host->skeleton, err) < 0)
		return -1;
	/* A sandbox's first process has ids of its own and must reach its own directory. Search
	 * permission without read permission: it cannot list the others, and an id has 128 random
	 * bits. */
	if (fchmod(host->disk.dir, 0711) < 0)
		return error_sys(err, "set the mode of the directory of sandboxes");
	return 0;
}

static int open_all_but_cgroups(struct host_resources *host, const struct spawner_options *options,
                                struct error *err)
{
	struct base_tree_sources sources = { .state = options->state,
		                             .skeleton = &host->skeleton,
		                             .mounts = options->mounts,
		                             .mount_count = options->mount_count,
		                             .gpus = options->gpus };
	AUTO_FD int state = -1;

	if (userns_enter(&host->userns, &options->ids, err) < 0)
		return -1;
	kernel_shares_read(host->userns.proc, &host->shares);
	state = open(options->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (state < 0)
		return error_sys(err, "open the state directory %s", options->state);
	if (open_files(host, options, state, err) < 0 || open_ids(host, options, err) < 0)
		return -1;
	sources.proc = host->userns.proc;
	sources.sandboxes = host->disk.dir;
	return base_tree_enter(&host->tree, &sources, err);
}

/* cgroups_open() creates directories that only this process would remove, so a later failure
 * removes them. */
int host_resources_open(struct host_resources *host, const struct spawner_options *options,
                        struct error *err)
{
	*host = (struct host_resources){ .gpus = options->gpus,
		                         .mount_count = options->mount_count,
		                         .ceilings = options->ceilings,
		                         .gpus_max = options->gpus_max,
		                         .memory_sum = options->memory_sum,
		                         .lock_objects = lock_watch_open() };
	if (open_cgroups(host, options, err) < 0)
		return -1;
	if (open_all_but_cgroups(host, options, err) == 0)
		return 0;
	cgroups_close(&host->cgroups);
	return -1;
}

void host_resources_close(struct host_resources *host)
{
	disk_close(&host->disk);
	cgroups_close(&host->cgroups);
}
