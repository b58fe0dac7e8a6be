/* image_watch.c - the free space of the file system below disk images. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/log.h"
#include "base/num.h"
#include "engine/native/spawner/internal.h"

static const uint64_t low_space = SPEC_MIB(256);

/* Sets the limit without regard to the free space of the host: if there is too little, the next
 * image_watch_check() lowers the limit again. */
int image_watch_set_limit(const struct host_resources *host, struct spawner_sandbox *sandbox,
                          uint64_t bytes, struct error *err)
{
	if (disk_image_set_limit(&host->images, sandbox->image_fs, bytes, err) < 0)
		return -1;
	sandbox->disk.image_limit = bytes;
	return 0;
}

static bool has_running_image(const struct spawner_sandbox *sandbox)
{
	return spawner_sandbox_is_running(sandbox) && sandbox->has_image;
}

static uint64_t used_bytes(const struct spawner_sandbox *sandbox)
{
	struct statvfs fs;

	return fstatvfs(sandbox->image_fs, &fs) < 0
	               ? 0
	               : (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
}

/* An overlay may give a file another stat.st_dev than its directory. */
static dev_t device_of(const struct spawner_sandbox *sandbox)
{
	struct stat st;

	return fstatat(sandbox->dir, "image", &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_dev;
}

/* The free space that stays for the host: low_space, or a sixteenth of a small file system. */
static uint64_t kept_space(const struct spawner *spawner)
{
	struct statvfs fs;

	if (fstatvfs(spawner->host.disk.dir, &fs) < 0)
		return low_space;
	return num_min(low_space, (uint64_t)fs.f_blocks * fs.f_frsize / 16);
}

/* The image may grow by `more` bytes until the next check, within the sandbox's limit. */
static void limit_growth(const struct host_resources *host, struct spawner_sandbox *sandbox,
                         uint64_t more)
{
	struct disk_watch *disk = &sandbox->disk;
	uint64_t limit = sandbox->limits.disk;
	struct error err;

	if (more < limit)
		limit = num_min(limit, used_bytes(sandbox) + more);
	if (limit == disk->image_limit)
		return;
	if (disk_image_set_limit(&host->images, sandbox->image_fs, limit, &err) < 0)
		log_warning("sandbox %s: %s", sandbox->id, err.msg);
	else if (more == 0 && !disk->is_host_full)
		log_warning("sandbox %s may write no more: the file system of the state directory "
		            "is nearly full",
		            sandbox->id);
	disk->image_limit = limit;
	disk->is_host_full = more == 0;
}

/* A write to an image succeeds while the host's disk is full, and the kernel's later write-back
 * fails: files are lost, and so is the file system if its own blocks are among them. So if the host
 * has less space than the limits of all images allow, each may grow by its part of what is left.
 * Images of other servers may be on the same disk, and have a part, too. */
void image_watch_check(struct spawner *spawner, uint64_t free_bytes)
{
	uint64_t most = 0, count = 0, all, kept, more = UINT64_MAX;
	struct disk_images_use use;
	dev_t device = 0;

	for (size_t i = 0; i < spawner->sandbox_top; i++)
		if (has_running_image(&spawner->sandboxes[i])) {
			most += spawner->sandboxes[i].limits.disk;
			device = device_of(&spawner->sandboxes[i]);
			count++;
		}
	if (count == 0)
		return;
	use = disk_images_use(&spawner->host.images, device);
	kept = kept_space(spawner) + use.owed;
	all = num_max(count, use.count);
	/* The limits of other servers' images are not known: they are assumed to be like these. */
	spawner->is_disk_short = free_bytes < most / count * all + kept;
	if (spawner->is_disk_short)
		more = (free_bytes - num_min(free_bytes, kept)) / all;
	for (size_t i = 0; i < spawner->sandbox_top; i++)
		if (has_running_image(&spawner->sandboxes[i]))
			limit_growth(&spawner->host, &spawner->sandboxes[i], more);
}
