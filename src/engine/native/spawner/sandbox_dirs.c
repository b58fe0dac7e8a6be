/* sandbox_dirs.c - the directories of sandboxes: created, locked, renamed, listed, removed.
 *
 * Directory names in sandboxes/ are an id ("sb_..."), a spare's name ("sp_...") or the name of a
 * directory that is being removed ("gn_..."). A server that uses a directory holds a flock(2) on
 * it, because other servers may share the state directory. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "engine/native/spawner/internal.h"

/* --- one sandbox -------------------------------------------------------------------- */

static int make_dir(int parent, const char *path, mode_t mode, const struct host_resources *host,
                    uint32_t owner, struct error *err)
{
	if (mkdirat(parent, path, 0700) < 0)
		return error_sys(err, "make %s", path);
	if (host->userns.mode != USERNS_SINGLE_ID && fchownat(parent, path, owner, owner, 0) < 0)
		return error_sys(err, "change the owner of %s", path);
	if (mode != 0700 && fchmodat(parent, path, mode, 0) < 0)
		return error_sys(err, "set the mode of %s", path);
	return 0;
}

/* No program has run in the sandbox yet, so no part of these paths can be a link. */
static int make_layers(const struct host_resources *host, int dir, const struct ids_block *ids,
                       struct error *err)
{
	uint32_t files = host->userns.ids.files;

	if (make_dir(dir, "work", 0700, host, files, err) < 0 ||
	    make_dir(dir, "upper", 0755, host, files, err) < 0 ||
	    make_dir(dir, "upper/workspace", 0755, host, ids->user, err) < 0 ||
	    make_dir(dir, "upper/home", 0755, host, files, err) < 0)
		return -1;
	return make_dir(dir, "upper" SPEC_HOME, 0755, host, ids->user, err);
}

/* Two overlays with the same upper directory corrupt it, so the lock is held as long as the sandbox
 * runs. */
static int lock_dir(const struct host_resources *host, struct spawner_sandbox *sandbox,
                    struct error *err)
{
	sandbox->dir = openat(host->disk.dir, sandbox->id,
	                      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sandbox->dir < 0)
		return error_sys(err, "open the directory of sandbox %s", sandbox->id);
	if (flock(sandbox->dir, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERR_INVALID, "sandbox %s is awake in another server",
		                 sandbox->id);
	return 0;
}

static int set_quota(const struct host_resources *host, const struct spawner_sandbox *sandbox,
                     struct error *err)
{
	const struct disk_usage limit = { sandbox->limits.disk, sandbox->limits.inodes };

	return disk_set_quota(&host->disk, sandbox->dir, sandbox->ids.number, &limit, err);
}

/* The directory that `upper` and `work` are in. */
static int layers_dir(const struct spawner_sandbox *sandbox)
{
	return sandbox->has_image ? sandbox->image_fs : sandbox->dir;
}

/* Without an image, for instance because no loop device is left, the disk of the sandbox is
 * watched. */
static void create_image(struct host_resources *host, struct spawner_sandbox *sandbox)
{
	struct error err;

	sandbox->image_fs = disk_image_create(&host->images, sandbox->dir, &sandbox->limits, &err);
	sandbox->has_image = sandbox->image_fs >= 0;
	if (!sandbox->has_image)
		log_warning("sandbox %s has no disk image: %s", sandbox->id, err.msg);
}

static int wake_image(const struct host_resources *host, struct spawner_sandbox *sandbox,
                      struct error *err)
{
	if (!disk_image_exists(sandbox->dir))
		return 0;
	sandbox->image_fs = disk_image_wake(&host->images, sandbox->dir, err);
	sandbox->has_image = sandbox->image_fs >= 0;
	return sandbox->has_image ? 0 : error_wrap(err, "wake sandbox %s", sandbox->id);
}

/* The owner of the directory says later which block of ids the sandbox has. The quota is set while
 * the directory is empty: existing files would not be counted. */
int sandbox_dir_create(struct host_resources *host, struct spawner_sandbox *sandbox,
                       struct error *err)
{
	if (mkdirat(host->disk.dir, sandbox->id, 0700) < 0)
		return error_sys(err, "make the directory of sandbox %s", sandbox->id);
	if (ids_claim(&host->ids, sandbox->id, &sandbox->ids, err) < 0)
		return -1;
	if (lock_dir(host, sandbox, err) < 0)
		return -1;
	if (host->userns.mode != USERNS_SINGLE_ID &&
	    fchown(sandbox->dir, sandbox->ids.agent, sandbox->ids.agent) < 0)
		return error_sys(err, "change the owner of the directory of sandbox %s",
		                 sandbox->id);
	if (host->disk.kind == DISK_QUOTA && set_quota(host, sandbox, err) < 0)
		return -1;
	if (host->disk.kind == DISK_IMAGE && disk_image_size(&sandbox->limits) != 0)
		create_image(host, sandbox);
	return make_layers(host, layers_dir(sandbox), &sandbox->ids, err);
}

#define VOLATILE "work/work/incompat/volatile"

/* The root of the sandbox belongs to the id of files that was in use when the sandbox was created.
 * That id changes only if the old one was given to a user of the host. */
static int check_root_owner(const struct host_resources *host,
                            const struct spawner_sandbox *sandbox, struct error *err)
{
	struct stat st;

	if (host->userns.mode != USERNS_ROOT)
		return 0;
	if (fstatat(layers_dir(sandbox), "upper", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "wake sandbox %s", sandbox->id);
	if (st.st_uid == host->userns.ids.files)
		return 0;
	return error_set(
	        err, ERR_INVALID,
	        "the root of sandbox %s belongs to id %u, but belljar uses %u since %u was "
	        "given to a user of this host: take it back (usermod --del-subuids, "
	        "--del-subgids), or delete the sandbox",
	        sandbox->id, st.st_uid, host->userns.ids.files, st.st_uid);
}

/* An overlay mounted with "volatile" leaves a directory that says that data may not have reached
 * the disk, and the kernel refuses to mount the layers again while it exists. This function removes
 * it, because after an ordinary end nothing is lost; after a crash of the machine, files may be as
 * old as the last write-back. */
int sandbox_dir_wake(struct host_resources *host, struct spawner_sandbox *sandbox,
                     struct error *err)
{
	int layers;

	if (ids_from_owner(&host->ids, sandbox->id, &sandbox->ids, err) < 0 ||
	    ids_check_taken(&host->ids, sandbox->id, &sandbox->ids, err) < 0 ||
	    lock_dir(host, sandbox, err) < 0 || wake_image(host, sandbox, err) < 0 ||
	    check_root_owner(host, sandbox, err) < 0)
		return -1;
	layers = layers_dir(sandbox);
	/* The disk limit may have been changed while the sandbox was asleep. */
	if (disk_has_quota(&host->disk, sandbox->dir, sandbox->ids.number) &&
	    set_quota(host, sandbox, err) < 0)
		return -1;
	/* `upper` is the sandbox's root directory: a program that may chmod(2) it can lock every
	 * later program out. */
	if (fchmodat(layers, "upper", 0755, 0) < 0)
		return error_sys(err, "wake sandbox %s", sandbox->id);
	(void)unlinkat(layers, VOLATILE "/dirty", 0);
	if (unlinkat(layers, VOLATILE, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_sys(err, "wake sandbox %s", sandbox->id);
	return 0;
}

/* The claim gets the new name before the directory does, as ids_rename() requires. */
int sandbox_dir_rename(struct host_resources *host, struct spawner_sandbox *sandbox, const char *id,
                       struct error *err)
{
	if (ids_rename(&host->ids, &sandbox->ids, id, err) < 0)
		return -1;
	if (renameat2(host->disk.dir, sandbox->id, host->disk.dir, id, RENAME_NOREPLACE) < 0)
		return error_sys(err, "name sandbox %s", id);
	memcpy(sandbox->id, id, sizeof sandbox->id);
	return 0;
}

/* The janitor's close(2) is the last, so the spawner does not wait for the unmount, unless the
 * machine has no process for a janitor. */
static bool start_unmount(struct spawner *spawner, struct spawner_sandbox *sandbox, bool is_kept)
{
	const struct janitor_job job = { .kind = JANITOR_UNMOUNT,
		                         .parent = sandbox->dir,
		                         .name = sandbox->id,
		                         .number = sandbox->number,
		                         .image_fs = sandbox->image_fs,
		                         .is_kept = is_kept };
	struct janitor *janitor = spawner_free_janitor_slot(spawner, JANITOR_UNMOUNT);
	struct error err;

	if (janitor == NULL)
		return false;
	sandbox->is_unmounting = janitor_start(janitor, &job, &err) == 0;
	(void)close(sandbox->image_fs);
	sandbox->image_fs = -1;
	return true;
}

bool sandbox_dir_unmount(struct spawner *spawner, struct spawner_sandbox *sandbox)
{
	bool is_kept = sandbox->erase_number == 0 && sandbox->number != SPARE_NUMBER;

	if (!sandbox->has_image)
		return true;
	if (sandbox->image_fs >= 0 && !start_unmount(spawner, sandbox, is_kept))
		return false;
	return !is_kept || !sandbox->is_unmounting;
}

/* A child that is being set up may have inherited the descriptor, and with it the lock, which
 * close(2) in this process alone would not release. */
void sandbox_dir_close(struct spawner_sandbox *sandbox)
{
	if (sandbox->dir < 0)
		return;
	(void)flock(sandbox->dir, LOCK_UN);
	(void)close(sandbox->dir);
	sandbox->dir = -1;
}

/* --- removing ----------------------------------------------------------------------- */

/* Failures are ignored: the directory keeps its "gn_" name, and the sweep of the next start finds
 * it. The same holds for ids that cannot be read from its owner. */
void sandbox_dirs_start_removals(struct spawner *spawner)
{
	struct host_resources *host = &spawner->host;
	struct janitor *janitor;

	while (spawner->removal_count != 0 &&
	       (janitor = spawner_free_janitor_slot(spawner, JANITOR_REMOVE)) != NULL) {
		const char *name = spawner->removals[spawner->removal_first];
		struct janitor_job job = { .kind = JANITOR_REMOVE,
			                   .parent = host->disk.dir,
			                   .name = name };
		struct error err;

		spawner->removal_first = (spawner->removal_first + 1) % REMOVALS_MAX;
		spawner->removal_count--;
		(void)!ids_from_owner(&host->ids, name, &job.ids, &err);
		(void)!janitor_start(janitor, &job, &err);
	}
}

void sandbox_dirs_remove(struct spawner *spawner, const char *name)
{
	size_t last = (spawner->removal_first + spawner->removal_count) % REMOVALS_MAX;

	if (spawner->removal_count == REMOVALS_MAX)
		return; /* the sweep of the next start finds it */
	(void)snprintf(spawner->removals[last], sizeof spawner->removals[last], "%s", name);
	spawner->removal_count++;
	sandbox_dirs_start_removals(spawner);
}

/* Renames the directory to a random name instead of the one made from the id: after a reset, the
 * earlier directory of the same id may still be being removed under that name. */
static int rename_to_random(struct host_resources *host, const char *id, char name[SPEC_ID_LEN + 1],
                            struct error *err)
{
	char random[SPEC_ID_LEN + 1];
	struct ids_block block;

	spec_new_id(random);
	(void)snprintf(name, SPEC_ID_LEN + 1, "%s%s", IDS_REMOVED_PREFIX,
	               random + sizeof IDS_REMOVED_PREFIX - 1);
	if (ids_from_owner(&host->ids, id, &block, err) < 0 ||
	    ids_rename(&host->ids, &block, name, err) < 0)
		return -1;
	return renameat2(host->disk.dir, id, host->disk.dir, name, RENAME_NOREPLACE);
}

int sandbox_dir_erase(struct spawner *spawner, const char *id, struct error *err)
{
	int all = spawner->host.disk.dir;
	AUTO_FD int dir = openat(all, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char name[SPEC_ID_LEN + 1];

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return error_sys(err, "open the directory of sandbox %s", id);
	if (flock(dir, LOCK_EX | LOCK_NB) < 0) {
		(void)error_set(err, ERR_INVALID, "sandbox %s is awake in another server", id);
		err->errnum = EBUSY;
		return -1;
	}
	(void)snprintf(name, sizeof name, "%s%s", IDS_REMOVED_PREFIX,
	               id + sizeof IDS_REMOVED_PREFIX - 1);
	if (renameat2(all, id, all, name, RENAME_NOREPLACE) < 0 &&
	    (errno != EEXIST || rename_to_random(&spawner->host, id, name, err) < 0))
		return error_sys(err, "remove sandbox %s", id);
	/* The janitor opens and locks the directory itself, and must not find this lock. */
	(void)flock(dir, LOCK_UN);
	sandbox_dirs_remove(spawner, name);
	return 0;
}

/* --- all of them --------------------------------------------------------------------- */

static bool is_unlocked(int all, const char *name)
{
	AUTO_FD int dir = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return dir >= 0 && flock(dir, LOCK_EX | LOCK_NB) == 0;
}

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

void sandbox_dirs_sweep(struct spawner *spawner)
{
	AUTO_DIR DIR *dir = fd_open_dir(spawner->host.disk.dir, ".");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strlen(entry->d_name) == SPEC_ID_LEN &&
		    (has_prefix(entry->d_name, SPARE_PREFIX) ||
		     has_prefix(entry->d_name, IDS_REMOVED_PREFIX)) &&
		    is_unlocked(dirfd(dir), entry->d_name))
			sandbox_dirs_remove(spawner, entry->d_name);
}

void sandbox_dirs_list(struct spawner *spawner, uint64_t number)
{
	struct engine_reply reply = { .kind = REPLY_LISTED, .number = number };
	AUTO_DIR DIR *dir = fd_open_dir(spawner->host.disk.dir, ".");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (spec_is_id(entry->d_name)) {
			memcpy(reply.id, entry->d_name, sizeof reply.id);
			replies_add(&spawner->replies, &reply);
		}
	reply.id[0] = '\0';
	replies_add(&spawner->replies, &reply);
}
