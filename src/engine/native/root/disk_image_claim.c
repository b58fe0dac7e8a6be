/* disk_image_claim.c - what the mounted images of all servers may still take of a disk (see
 * disk_image.c).
 *
 * A write to an image succeeds while the disk below is full, and the kernel's later write-back
 * fails: files are lost, and so is the file system if its own blocks are among them. So at every
 * moment all images on a disk together may grow by no more than the disk has.
 *
 * Claim. Each image has a claim: the bytes of the disk that its file may have at most, which are
 * the limit in force and all inode tables. What the image may still take is the claim less the
 * blocks that the file has. A write or a deletion in an image changes these blocks and the free
 * space of the disk alike, so only two things make the sum of all claims too large: a claim that is
 * raised, and other programs that write to the disk.
 *
 * Raising. A spawner raises a claim only while it holds the lock on loops/, and only by what the
 * disk has beyond all claims. Lowering needs no lock. The link loops/loopN has the claim of the
 * image on this loop device: it is replaced before a limit is raised and after one was lowered, so
 * a spawner that is killed in between leaves a claim that is too large, never one that is too
 * small. A link without a mounted file system counts for nothing, and the next image on the device
 * begins without one: what a crash leaves does no harm, unless another program of the host mounts
 * an ext4 of its own on that device. So where room is short, links are removed whose file is not
 * that of the device. A link takes no block of a full disk.
 *
 * Blocks of a file. A spawner sees only the sandboxes of its own server. The link has the handle
 * of the file (name_to_handle_at(2)), by which all files of the same disk can be found. Without
 * handles the image counts as if its file had no blocks, which makes shares smaller, not larger.
 *
 * Not counted: of the space that stays free for the host, an image without a claim, whose sandbox
 * has no program yet, may take a MiB; and an image may take 8 to 64 MiB, and one that starts its
 * inode tables, while others have claimed all there is (spawner/image_watch.c). None starts after
 * half of that space is gone. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/num.h"
#include "engine/native/root/internal.h"

enum {
	HANDLE_MAX = 64, /* bytes; 8 of ext4, 40 of btrfs */
	LINK_SIZE = 2 * HANDLE_MAX + 112,
	LOCK_TRIES = 100,
};

union handle {
	struct file_handle head;
	unsigned char room[sizeof(struct file_handle) + HANDLE_MAX];
};

struct link {
	struct disk_claim claim;
	uint64_t device; /* stat.st_dev of the file */
	uint64_t inode;
	int type; /* of the handle */
	char handle[2 * HANDLE_MAX + 1];
};

static void print_handle(int dir, struct link *link)
{
	union handle handle = { .head.handle_bytes = HANDLE_MAX };
	int mount;

	link->handle[0] = '\0';
	if (name_to_handle_at(dir, DISK_IMAGE_NAME, &handle.head, &mount, 0) < 0)
		return;
	link->type = handle.head.handle_type;
	for (unsigned i = 0; i < handle.head.handle_bytes; i++)
		(void)snprintf(link->handle + 2 * (size_t)i, 3, "%02x", handle.head.f_handle[i]);
}

/* The bytes of the disk that the file of a link has. `disk` is a directory of that disk. */
static uint64_t used_bytes(const struct link *link, int disk)
{
	union handle handle = { .head.handle_type = link->type,
		                .head.handle_bytes = (unsigned)strlen(link->handle) / 2 };
	AUTO_FD int file = -1;
	struct stat st;

	for (size_t i = 0; i < handle.head.handle_bytes; i++)
		handle.head.f_handle[i] = (unsigned char)(num_hex_digit(link->handle[2 * i]) << 4 |
		                                          num_hex_digit(link->handle[2 * i + 1]));
	if (handle.head.handle_bytes != 0)
		file = open_by_handle_at(disk, &handle.head, O_PATH | O_CLOEXEC);
	return file < 0 || fstat(file, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static bool read_link(const struct disk_images *images, const char *loop, struct link *ret)
{
	char text[LINK_SIZE] = "", *at = text;
	uint64_t numbers[5]; /* and then the handle */
	size_t len;

	if (readlinkat(images->loops, loop, text, sizeof text - 1) <= 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		numbers[i] = strtoull(at, &at, 16);
		if (*at++ != ' ')
			return false; /* an earlier version's */
	}
	len = strspn(at, "0123456789abcdef");
	if (len > 2 * HANDLE_MAX || len % 2 != 0 || at[len] != '\0')
		return false;
	*ret = (struct link){ .device = numbers[0],
		              .inode = numbers[1],
		              .claim = { numbers[2], numbers[3] },
		              .type = (int)numbers[4] };
	memcpy(ret->handle, at, len);
	return true;
}

int disk_image_claim(const struct disk_images *images, int dir, int mount,
                     const struct disk_claim *claim, struct error *err)
{
	char loop[DISK_IMAGE_LOOP_SIZE], temporary[DISK_IMAGE_LOOP_SIZE + 8], text[LINK_SIZE];
	struct link link = { .claim = *claim };
	struct stat st;

	if (!disk_image_loop_name(images, mount, loop) ||
	    fstatat(dir, DISK_IMAGE_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "find the loop device of a disk image");
	print_handle(dir, &link);
	(void)snprintf(text, sizeof text, "%" PRIx64 " %" PRIx64 " %" PRIx64 " %" PRIx64 " %x %s",
	               (uint64_t)st.st_dev, (uint64_t)st.st_ino, claim->most, claim->wanted,
	               (unsigned)link.type, link.handle);
	(void)snprintf(temporary, sizeof temporary, "%s.new", loop);
	(void)unlinkat(images->loops, temporary, 0);
	if (symlinkat(text, images->loops, temporary) < 0 ||
	    renameat(images->loops, temporary, images->loops, loop) < 0)
		return error_sys(err, "note the claim of a disk image");
	return 0;
}

/* A spawner that is stopped while it holds the lock must not keep others from their work. */
bool disk_claims_lock(const struct disk_images *images, bool waits)
{
	const struct timespec pause = { .tv_nsec = 1000000 };

	for (int i = 0; flock(images->loops, LOCK_EX | LOCK_NB) < 0; i++) {
		if (!waits || i >= LOCK_TRIES)
			return false;
		(void)nanosleep(&pause, NULL);
	}
	return true;
}

void disk_claims_unlock(const struct disk_images *images)
{
	(void)flock(images->loops, LOCK_UN);
}

/* Whether the device has another file, or none (ENXIO). If that is not known, the claim counts. */
static bool is_of_earlier_image(const struct disk_images *images, const char *loop,
                                const struct link *link)
{
	AUTO_FD int device = openat(images->dev, loop, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct loop_info64 info;

	if (device < 0)
		return false;
	if (ioctl(device, LOOP_GET_STATUS64, &info) < 0)
		return errno == ENXIO;
	return info.lo_inode != link->inode;
}

void disk_claims_sweep(const struct disk_images *images)
{
	AUTO_DIR DIR *dir = fd_open_dir(images->loops, ".");
	const struct dirent *entry;
	struct link link;

	/* Under the lock no spawner gives a device its first claim. */
	if (dir == NULL || !disk_claims_lock(images, false))
		return;
	while ((entry = readdir(dir)) != NULL)
		if (read_link(images, entry->d_name, &link) &&
		    is_of_earlier_image(images, entry->d_name, &link))
			(void)unlinkat(images->loops, entry->d_name, 0);
	disk_claims_unlock(images);
}

struct disk_claims disk_claims_read(const struct disk_images *images, int disk, dev_t device)
{
	struct disk_claims all = { 0 };
	DIR *dir = fd_open_dir(images->sysfs, ".");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		struct link link;
		uint64_t used, most;

		if (!read_link(images, entry->d_name, &link) || link.device != (uint64_t)device)
			continue;
		used = used_bytes(&link, disk);
		most = num_max(link.claim.most, link.claim.wanted);
		all.count++;
		all.claimed += link.claim.most - num_min(link.claim.most, used);
		all.wanted += most - num_min(most, used);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return all;
}
