/* disk_image_use.c - how much the images of all servers still take of a disk (see disk_image.c).
 *
 * A spawner sees neither the files of other servers nor on which disk they are. So the link
 * loops/loopN has stat.st_dev of the file that is attached to this device: a link takes no block of
 * a full disk. One that is missing or out of date only makes a share of the disk wrong. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "engine/native/root/internal.h"

enum { REQUEST_BYTES = 1280 * 1024 }; /* at most, of a loop device */

void disk_image_note_device(const struct disk_images *images, const char *loop, int file)
{
	char text[32];
	struct stat st;

	if (fstat(file, &st) < 0)
		return;
	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)st.st_dev);
	(void)unlinkat(images->loops, loop, 0);
	(void)!symlinkat(text, images->loops, loop);
}

static bool is_on_device(const struct disk_images *images, const char *loop, dev_t device)
{
	char text[32], link[32] = "";

	(void)snprintf(text, sizeof text, "%llu", (unsigned long long)device);
	return readlinkat(images->loops, loop, link, sizeof link - 1) > 0 &&
	       strcmp(link, text) == 0;
}

/* Bytes that have blocks in the image, but wait for the loop device: requests of unknown size. */
static uint64_t waiting_bytes(const struct disk_images *images, const char *loop)
{
	char text[64] = "";
	AUTO_FD int file = -1;
	const char *writes;

	(void)snprintf(text, sizeof text, "../../block/%.16s/inflight", loop);
	file = openat(images->sysfs, text, O_RDONLY | O_CLOEXEC);
	memset(text, 0, sizeof text);
	if (file < 0 || read(file, text, sizeof text - 1) <= 0)
		return 0;
	writes = strrchr(text, ' '); /* "READS WRITES", aligned */
	return writes == NULL ? 0 : strtoull(writes, NULL, 10) * REQUEST_BYTES;
}

struct disk_images_use disk_images_use(const struct disk_images *images, dev_t device)
{
	struct disk_images_use use = { 0 };
	DIR *dir = fd_open_dir(images->sysfs, ".");
	const struct dirent *entry;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		char path[64];
		uint64_t blocks;

		if (!is_on_device(images, entry->d_name, device))
			continue;
		(void)snprintf(path, sizeof path, "%.16s/delayed_allocation_blocks", entry->d_name);
		blocks = fd_read_number(images->sysfs, path);
		use.count++;
		use.owed += blocks == UINT64_MAX
		                    ? 0
		                    : blocks * DISK_IMAGE_BLOCK; /* unmounted meanwhile */
		use.owed += waiting_bytes(images, entry->d_name);
	}
	if (dir != NULL)
		(void)closedir(dir);
	return use;
}
