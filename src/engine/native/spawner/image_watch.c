/* image_watch.c - the limits of disk images, and the claims that go with them
 * (root/disk_image_claim.c).
 *
 * An eighth of what the disk below has left is for sandboxes that start. The rest is shared by the
 * images that are mounted, of all servers: each has the limit it wants, if that is room enough for
 * all. Otherwise each may grow by the same part of it, and the spawner looks fifty times a second.
 *
 * A sandbox that starts takes an eighth of what no image has claimed, if the rest is gone. Where
 * others have claimed all, an image has 8 to 64 MiB beyond what it uses at each look all the same,
 * until the other spawners look and lower their claims. So each sandbox can write at once. That is
 * a 128th of the free space, or is taken from what stays free for the host: programs cannot fill
 * the rest before the next looks. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/error.h"
#include "base/log.h"
#include "base/num.h"
#include "engine/native/spawner/internal.h"

static const uint64_t low_space = SPEC_MIB(256);
static const uint64_t most_unclaimed = SPEC_MIB(64);
static const uint64_t least_raise = SPEC_MIB(1); /* less is not worth the lock */

/* Why a limit is raised. Only a check does not wait for the lock: it comes again. */
enum raise_reason { AT_START, ON_REQUEST, AT_CHECK };

struct image_state {
	uint64_t used;     /* bytes of files, also of those that are in memory only */
	uint64_t most;     /* limit that the image has room for */
	uint64_t on_disk;  /* bytes of the disk below that the image's file has */
	uint64_t overhead; /* inode tables and their like, which no limit counts */
	dev_t device;      /* an overlay may give a file another one than its directory */
};

static bool read_image(const struct spawner_sandbox *sandbox, struct image_state *ret)
{
	struct statvfs fs;
	struct stat st;

	if (fstatvfs(sandbox->image_fs, &fs) < 0 ||
	    fstatat(sandbox->dir, "image", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret = (struct image_state){ .used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize,
		                     .most = (uint64_t)fs.f_blocks * fs.f_frsize,
		                     .on_disk = (uint64_t)st.st_blocks * 512,
		                     .device = st.st_dev };
	ret->overhead = (uint64_t)st.st_size - num_min((uint64_t)st.st_size, ret->most);
	return true;
}

/* The host keeps low_space, or a sixteenth of a small disk, free of images. */
static uint64_t kept_for_host(const struct statvfs *fs)
{
	return num_min(low_space, (uint64_t)fs->f_blocks * fs->f_frsize / 16);
}

/* The free space of the disk that images may take. */
static uint64_t free_for_images(const struct host_resources *host)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (fstatvfs(host->disk.dir, &fs) < 0)
		return 0;
	free_bytes = (uint64_t)fs.f_bfree * fs.f_frsize;
	return free_bytes - num_min(free_bytes, kept_for_host(&fs));
}

/* Each image may have so many bytes beyond its use although others have claimed all. */
static uint64_t least_room(const struct host_resources *host, uint64_t free_bytes)
{
	struct statvfs fs;
	uint64_t kept;

	if (fstatvfs(host->disk.dir, &fs) < 0)
		return 0;
	kept = num_min(kept_for_host(&fs), (uint64_t)fs.f_bfree * fs.f_frsize);
	return num_min(most_unclaimed, num_max(kept / 32, free_bytes / 128));
}

/* Each sandbox that starts on a full disk takes some of what is kept for the host: at least its
 * inode tables, which no limit counts. So none starts after half of that is gone, or enough of them
 * would fill the disk, and files in all images would be lost. */
static int check_host_space(const struct host_resources *host, struct error *err)
{
	struct statvfs fs;
	uint64_t free_bytes;

	if (fstatvfs(host->disk.dir, &fs) < 0)
		return error_sys(err, "statvfs of the state directory");
	free_bytes = (uint64_t)fs.f_bfree * fs.f_frsize;
	if (free_bytes >= kept_for_host(&fs) / 2)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "disk: the file system of the state directory has only %llu MiB left, and "
	                 "a sandbox starts with at least %llu MiB: delete sandboxes, or have the "
	                 "operator delete other files there",
	                 (unsigned long long)(free_bytes >> 20),
	                 (unsigned long long)(kept_for_host(&fs) >> 21));
}

/* A write that moves bytes from the free space to an image while the claims are read must not count
 * twice, so the free space is read before and after them. */
static struct disk_claims read_claims(const struct host_resources *host, dev_t device,
                                      uint64_t *free_bytes)
{
	uint64_t before = free_for_images(host);
	struct disk_claims all = disk_claims_read(&host->images, host->disk.dir, device);

	*free_bytes = num_min(before, free_for_images(host));
	return all;
}

/* Images whose sandboxes have started may claim seven eighths of the free bytes of a disk. */
static uint64_t without_reserve(uint64_t free_bytes)
{
	return free_bytes - free_bytes / 8;
}

static uint64_t wanted_limit(const struct spawner_sandbox *sandbox, const struct image_state *image)
{
	return num_min(sandbox->limits.disk, image->most);
}

static int note_claim(const struct host_resources *host, struct spawner_sandbox *sandbox,
                      const struct image_state *image, uint64_t most, struct error *err)
{
	const struct disk_claim claim = { most, wanted_limit(sandbox, image) + image->overhead };

	if (disk_image_claim(&host->images, sandbox->dir, sandbox->image_fs, &claim, err) < 0)
		return -1;
	sandbox->disk.claimed = most;
	return 0;
}

/* Files that exceed the limit stay, and programs may have written until it was in force: the claim
 * follows from what is used after that. */
static int lower_limit(const struct host_resources *host, struct spawner_sandbox *sandbox,
                       uint64_t limit, struct error *err)
{
	struct image_state image;

	if (disk_image_set_limit(&host->images, sandbox->image_fs, limit, err) < 0)
		return -1;
	sandbox->disk.image_limit = limit;
	if (!read_image(sandbox, &image))
		return error_sys(err, "read the size of a disk image");
	return note_claim(host, sandbox, &image, num_max(limit, image.used) + image.overhead, err);
}

/* How much a claim may grow where `claimed` of the free bytes are the claims of all images. */
static uint64_t claim_step(uint64_t free_bytes, uint64_t claimed, enum raise_reason reason)
{
	uint64_t shared = without_reserve(free_bytes);
	uint64_t room = shared - num_min(shared, claimed);
	uint64_t unclaimed = free_bytes - num_min(free_bytes, claimed);

	return reason == AT_START ? num_max(room, unclaimed / 8) : room;
}

/* The caller holds the lock of the claims. */
static int raise_limit(const struct host_resources *host, struct spawner_sandbox *sandbox,
                       uint64_t limit, enum raise_reason reason, struct error *err)
{
	struct disk_watch *disk = &sandbox->disk;
	struct image_state image;
	struct disk_claims all;
	uint64_t free_bytes, claimed, tables;

	if (!read_image(sandbox, &image))
		return error_sys(err, "read the size of a disk image");
	all = read_claims(host, image.device, &free_bytes);
	claimed = num_max(disk->claimed, image.on_disk);
	tables = num_min(free_bytes - num_min(free_bytes, all.claimed),
	                 image.overhead - num_min(image.overhead, claimed));
	claimed += tables + claim_step(free_bytes, all.claimed + tables, reason);
	claimed -= num_min(claimed, image.overhead);
	claimed = num_max(claimed, image.used + least_room(host, free_bytes));
	limit = num_max(num_min(limit, claimed), num_max(disk->image_limit, image.used));
	if (note_claim(host, sandbox, &image, limit + image.overhead, err) < 0 ||
	    disk_image_set_limit(&host->images, sandbox->image_fs, limit, err) < 0)
		return -1;
	disk->image_limit = limit;
	return 0;
}

static int raise_locked(const struct host_resources *host, struct spawner_sandbox *sandbox,
                        uint64_t limit, enum raise_reason reason, struct error *err)
{
	int r;

	if (!disk_claims_lock(&host->images, reason != AT_CHECK))
		return 0; /* the next check tries again */
	r = raise_limit(host, sandbox, limit, reason, err);
	disk_claims_unlock(&host->images);
	return r;
}

int image_watch_start(struct spawner *spawner, struct spawner_sandbox *sandbox, struct error *err)
{
	if (check_host_space(&spawner->host, err) < 0 ||
	    raise_locked(&spawner->host, sandbox, sandbox->limits.disk, AT_START, err) < 0)
		return -1;
	if (sandbox->disk.image_limit >= sandbox->limits.disk)
		return 0;
	spawner->is_disk_short = true;
	disk_claims_sweep(&spawner->host.images);
	return 0;
}

int image_watch_set_limit(const struct host_resources *host, struct spawner_sandbox *sandbox,
                          uint64_t bytes, struct error *err)
{
	const uint64_t before = sandbox->limits.disk;
	struct image_state image;
	int r;

	if (!read_image(sandbox, &image))
		return error_sys(err, "read the size of a disk image");
	if (bytes > image.most)
		return error_set(err, ERR_LIMIT,
		                 "disk: the files of this sandbox are in an image with room for "
		                 "%llu MiB: create another sandbox with that limit",
		                 (unsigned long long)(image.most >> 20));
	sandbox->limits.disk = bytes;
	r = bytes < sandbox->disk.image_limit ? lower_limit(host, sandbox, bytes, err)
	                                      : raise_locked(host, sandbox, bytes, ON_REQUEST, err);
	if (r < 0)
		sandbox->limits.disk = before;
	return r;
}

/* --- the check ----------------------------------------------------------------------- */

/* The share of an image on a disk that is short; `more` is what it may take beyond what it has. */
static uint64_t due_limit(const struct spawner_sandbox *sandbox, const struct image_state *image,
                          uint64_t more)
{
	uint64_t wanted = wanted_limit(sandbox, image), limit;

	if (more >= wanted + image->overhead)
		return wanted;
	limit = image->on_disk + more - num_min(image->on_disk + more, image->overhead);
	return num_min(wanted, num_max(limit, image->used));
}

static void note_full(struct spawner_sandbox *sandbox, const struct image_state *image)
{
	struct disk_watch *disk = &sandbox->disk;
	bool is_full = disk->image_limit <= image->used &&
	               disk->image_limit < wanted_limit(sandbox, image);

	if (is_full && !disk->is_host_full)
		log_warning("sandbox %s may write no more: the file system of the state directory "
		            "is nearly full",
		            sandbox->id);
	disk->is_host_full = is_full;
}

static void check_image(const struct host_resources *host, struct spawner_sandbox *sandbox,
                        uint64_t more)
{
	const struct disk_watch *disk = &sandbox->disk;
	struct image_state image;
	struct error err;
	uint64_t due;
	int r = 0;

	if (!read_image(sandbox, &image))
		return;
	due = due_limit(sandbox, &image, more);
	if (due < disk->image_limit)
		r = lower_limit(host, sandbox, due, &err);
	else if (due >= disk->image_limit + least_raise ||
	         (due > disk->image_limit && due == wanted_limit(sandbox, &image)))
		r = raise_locked(host, sandbox, due, AT_CHECK, &err);
	if (r < 0)
		log_warning("sandbox %s: %s", sandbox->id, err.msg);
	note_full(sandbox, &image);
}

void image_watch_check(struct spawner *spawner)
{
	const struct host_resources *host = &spawner->host;
	struct disk_claims all = { 0 };
	uint64_t free_bytes = 0, more = UINT64_MAX;

	for (size_t i = 0; i < spawner->sandbox_top; i++) {
		struct spawner_sandbox *sandbox = &spawner->sandboxes[i];
		struct image_state image;

		if (!spawner_sandbox_is_running(sandbox) || !sandbox->has_image)
			continue;
		if (all.count == 0 && read_image(sandbox, &image)) {
			all = read_claims(host, image.device, &free_bytes);
			spawner->is_disk_short = without_reserve(free_bytes) < all.wanted;
			if (spawner->is_disk_short)
				more = without_reserve(free_bytes) / num_max(all.count, 1);
		}
		check_image(host, sandbox, more);
		spawner->is_disk_short |= sandbox->disk.image_limit < sandbox->limits.disk;
	}
}
