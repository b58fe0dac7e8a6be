/* disk_image.c - the writable layer of a sandbox as a file system of its own, in a sparse file.
 *
 * Where the state directory has no project quotas, the files of a sandbox are in an ext4 file
 * system with room for the disk limit, so the kernel answers a write beyond the limit with ENOSPC.
 * The file sandboxes/ID/image is attached to a loop device, and holds the directories `upper` and
 * `work` of the overlay.
 *
 * Limit. All images have 16 GiB, or a multiple for larger limits, almost all of it holes. The part
 * beyond the limit is reserved by the file reserved_clusters in sysfs, which changes the limit of a
 * mounted image at once, up and down; growing the file system would need CAP_SYS_RESOURCE. ext4
 * sets the reserve to its default at each mount, so the spawner writes it before the sandbox
 * starts. Inode tables come in addition to the limit.
 *
 * Mount. fsmount(2) returns a descriptor of a mount that is attached nowhere. The sandbox's first
 * process attaches it over its directory in its own mount namespace and leaves it with
 * pivot_root(2); the overlay keeps the file system. The spawner keeps the descriptor, and no mount
 * namespace of the host ever has the mount. LO_FLAGS_AUTOCLEAR: when the sandbox's processes and
 * the spawner have exited, or were killed, the kernel unmounts the file system and releases the
 * loop device by itself.
 *
 * Start of a server. The first sandbox's image is made ahead in a process of its own, as a file
 * without a name, while the spawner does the rest of its start; link(2) gives it its name.
 *
 * Lock. The loop device holds the open file that LOOP_CONFIGURE was given, and with it the
 * flock(2) on that file, until the file system is unmounted. An image with a lock is in use, also
 * if the spawner that mounted it was killed a moment ago: two mounts would destroy it.
 *
 * Crash of the machine. The file system has no journal, and does not wait for the host's disk
 * (nobarrier): a flush would write the whole image out, also that of a temporary sandbox. The file
 * sandboxes/ID/boot has the boot in which the image was mounted last; if the machine has been
 * started again since, or the kernel has found errors, e2fsck(8) comes before the mount. As with
 * files in a directory, those of the last half minute may be lost.
 *
 * Space. The mount option `discard` gives deleted blocks back to the host at once: a program that
 * writes and deletes in turn, each time to other blocks, would otherwise take the whole size of the
 * image from the host's disk, whatever its limit. Deleting a file that is on the disk already takes
 * some 0.1 ms longer, in the program's own time. The disk below must have room for all that images
 * may take: see disk_image_claim.c. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"
#include "engine/native/root/internal.h"

enum {
	INODES_OWN = DISK_IMAGE_KEPT + 16, /* no program has these; 16 are for ext4 itself */
	KEPT_BYTES = 1 << 20,              /* for a sandbox that starts; it may wake full */
	ATTACH_TRIES = 64,
	LOCK_TRIES = 400,
	LOCK_WAIT_MS = 5,
};

#define IMAGE DISK_IMAGE_NAME
#define BOOT  "boot"
#define KEPT  "kept"

static const uint64_t size_least = SPEC_MIB(16 * 1024), size_most = SPEC_MIB(256 * 1024);
static const uint64_t bytes_per_inode = 16 * 1024; /* the image has no more inodes */

/* --- size --------------------------------------------------------------------------- */

uint64_t disk_image_inodes(const struct spec_limits *limits)
{
	return limits->inodes + INODES_OWN;
}

uint64_t disk_image_size(const struct spec_limits *limits)
{
	uint64_t size = size_least;

	while (size <= size_most &&
	       (size / 8 * 7 < limits->disk || size / bytes_per_inode < disk_image_inodes(limits)))
		size *= 2;
	return size <= size_most ? size : 0;
}

/* In sysfs the file system has the name of its device. With loop.max_part that is not the minor
 * number: "loop1" may be 7:16. */
bool disk_image_loop_name(const struct disk_images *images, int mount,
                          char ret[DISK_IMAGE_LOOP_SIZE])
{
	char path[64], link[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (fstat(mount, &st) < 0)
		return false;
	(void)snprintf(path, sizeof path, "../../dev/block/%u:%u", major(st.st_dev),
	               minor(st.st_dev));
	n = readlinkat(images->sysfs, path, link, sizeof link - 1);
	if (n <= 0)
		return false;
	link[n] = '\0';
	if (strrchr(link, '/') == NULL)
		return false;
	(void)snprintf(ret, DISK_IMAGE_LOOP_SIZE, "%.31s", strrchr(link, '/') + 1);
	return true;
}

/* The reserve is not a part of statvfs.f_bavail. */
int disk_image_set_limit(const struct disk_images *images, int mount, uint64_t bytes,
                         struct error *err)
{
	char text[64], name[DISK_IMAGE_LOOP_SIZE], path[DISK_IMAGE_LOOP_SIZE + 32];
	AUTO_FD int file = -1;
	struct statvfs fs;
	int len;

	if (fstatvfs(mount, &fs) < 0)
		return error_sys(err, "statvfs of a disk image");
	bytes = num_min(bytes, (uint64_t)fs.f_blocks * DISK_IMAGE_BLOCK);
	if (!disk_image_loop_name(images, mount, name))
		return error_sys(err, "find the loop device of a disk image");
	(void)snprintf(path, sizeof path, "%s/reserved_clusters", name);
	file = openat(images->sysfs, path, O_WRONLY | O_CLOEXEC);
	len = snprintf(text, sizeof text, "%llu",
	               (unsigned long long)(fs.f_blocks - bytes / DISK_IMAGE_BLOCK));
	if (file < 0 || write(file, text, (size_t)len) != len)
		return error_sys(err, "write reserved_clusters of a disk image");
	return 0;
}

/* --- what the machine has ------------------------------------------------------------ */

static const char *const tool_dirs[] = { "/usr/sbin", "/sbin" };

static int find_tools(struct disk_images *images, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(tool_dirs); i++) {
		char mke2fs[32], e2fsck[32];

		(void)snprintf(mke2fs, sizeof mke2fs, "%s/mke2fs", tool_dirs[i]);
		(void)snprintf(e2fsck, sizeof e2fsck, "%s/e2fsck", tool_dirs[i]);
		images->tools = tool_dirs[i];
		if (access(mke2fs, X_OK) == 0 && access(e2fsck, X_OK) == 0)
			return 0;
	}
	return error_set(err, ERR_UNSUPPORTED, "mke2fs and e2fsck (e2fsprogs) are not installed");
}

static void read_boot_id(char out[DISK_IMAGE_BOOT_SIZE])
{
	AUTO_FD int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, out, DISK_IMAGE_BOOT_SIZE - 1) : 0;

	out[n > 0 ? n : 0] = '\0';
}

static int open_own_dir(int parent, const char *name, struct error *err)
{
	int fd;

	if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return error_sys(err, "make %s", name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd >= 0 ? fd : error_sys(err, "open %s", name);
}

int disk_images_open(struct disk_images *ret, int parent, struct error *err)
{
	AUTO_FD int ext4 = (int)syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);

	*ret = (struct disk_images){ .dev = -1, .ahead = -1 };
	if (ext4 < 0)
		return error_sys(err, "file system ext4");
	if (find_tools(ret, err) < 0)
		return -1;
	read_boot_id(ret->boot);
	ret->control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	if (ret->control < 0)
		return error_sys(err, "/dev/loop-control");
	ret->templates = open_own_dir(parent, "images", err);
	ret->loops = open_own_dir(parent, "loops", err);
	if (ret->templates < 0 || ret->loops < 0)
		return -1;
	ret->sysfs = open("/sys/fs/ext4", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->sysfs < 0)
		return error_sys(err, "/sys/fs/ext4");
	ret->dev = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return ret->dev < 0 ? error_sys(err, "/dev") : 0;
}

/* --- attaching and mounting ---------------------------------------------------------- */

/* The kernel releases the lock a moment after the last process of the earlier mount was killed. */
static int lock_image(int file, struct error *err)
{
	const struct timespec wait = { .tv_nsec = LOCK_WAIT_MS * 1000000L };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(file, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&wait, NULL);
	}
	return error_set(err, ERR_INVALID, "its disk image is mounted already");
}

/* Another process of the host may take the free device first: LOOP_CONFIGURE then fails with
 * EBUSY. Returns the loop device. */
static int attach_image(const struct disk_images *images, int file, struct error *err)
{
	const struct loop_config config = { .fd = (unsigned)file,
		                            .block_size = DISK_IMAGE_BLOCK,
		                            .info.lo_flags = LO_FLAGS_AUTOCLEAR };

	for (int i = 0; i < ATTACH_TRIES; i++) {
		int number = ioctl(images->control, LOOP_CTL_GET_FREE);
		AUTO_FD int device = -1;
		char name[32];

		(void)snprintf(name, sizeof name, "loop%d", number);
		device = number >= 0 ? openat(images->dev, name, O_RDWR | O_CLOEXEC) : -1;
		if (device >= 0 && ioctl(device, LOOP_CONFIGURE, &config) == 0) {
			(void)unlinkat(images->loops, name, 0); /* a claim of an earlier image */
			return TAKE_FD(device);
		}
		if (errno != EBUSY)
			break;
	}
	return error_sys(err, "attach an image to a loop device");
}

static int mount_device(int device, struct error *err)
{
	char options[96];

	(void)snprintf(options, sizeof options,
	               "source=/proc/self/fd/%d,nobarrier,noinit_itable,discard,errors=remount-ro",
	               device);
	return mount_create("ext4", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, err);
}

int disk_image_mount(const struct disk_images *images, int file, struct error *err)
{
	AUTO_FD int device = attach_image(images, file, err);

	return device < 0 ? -1 : mount_device(device, err);
}

/* LOOP_CONFIGURE waits until the host's disk has all of the file, so the file is attached while it
 * is empty. Until LOOP_SET_CAPACITY the device is empty too, and udev(7), which reads new devices,
 * cannot fill the device's cache with zeros. */
static int mount_new_image(const struct disk_images *images, int file,
                           const struct spec_limits *limits, struct error *err)
{
	AUTO_FD int device = attach_image(images, file, err);

	if (device < 0 || disk_image_format(images, file, limits, err) < 0)
		return -1;
	if (ioctl(device, LOOP_SET_CAPACITY, 0) < 0)
		return error_sys(err, "set the size of a loop device");
	return mount_device(device, err);
}

void disk_image_keep_inodes(int mount, uint64_t count)
{
	(void)mkdirat(mount, KEPT, 0700);
	for (uint64_t i = 0; i < count; i++) {
		char name[32];
		int fd;

		(void)snprintf(name, sizeof name, KEPT "/%llu", (unsigned long long)i);
		fd = openat(mount, name, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0)
			(void)close(fd);
	}
}

/* --- one sandbox --------------------------------------------------------------------- */

static bool is_of_this_boot(const struct disk_images *images, int dir)
{
	AUTO_FD int fd = openat(dir, BOOT, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[DISK_IMAGE_BOOT_SIZE] = { 0 };

	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strcmp(text, images->boot) == 0;
}

/* The kernel has found errors in the file system and has stopped writing to it, so e2fsck(8) is
 * needed. The field is s_state of the superblock, its bit EXT4_ERROR_FS. */
static bool has_errors(int file)
{
	unsigned char state[2];

	return pread(file, state, sizeof state, 1024 + 0x3a) == (ssize_t)sizeof state &&
	       (state[0] & 2) != 0;
}

static int note_boot(const struct disk_images *images, int dir, struct error *err)
{
	AUTO_FD int fd = openat(dir, BOOT, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
	                        0600);
	size_t len = strlen(images->boot);

	if (fd < 0 || write(fd, images->boot, len) != (ssize_t)len)
		return error_sys(err, "write " BOOT);
	return 0;
}

bool disk_image_exists(int dir)
{
	struct stat st;

	return fstatat(dir, IMAGE, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* With CLONE_FILES the mount's descriptor is also this process's, under the number that the other
 * process exits with. */
void disk_image_start_ahead(struct disk_images *images, int sandboxes,
                            const struct spec_limits *limits)
{
	struct error err;
	int mount = -1;

	images->ahead_size = disk_image_size(limits);
	images->ahead_inodes = disk_image_inodes(limits);
	images->ahead = openat(sandboxes, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
	if (images->ahead_size == 0 || images->ahead < 0)
		return;
	images->ahead_pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, NULL, NULL, NULL, 0);
	if (images->ahead_pid != 0)
		return;
	if (lock_image(images->ahead, &err) == 0)
		mount = mount_new_image(images, images->ahead, limits, &err);
	/* A first directory makes the kernel read the tables of blocks and inodes. */
	if (mount >= 0 && mkdirat(mount, "work", 0700) == 0)
		(void)unlinkat(mount, "work", AT_REMOVEDIR);
	_exit(mount > 0 && mount <= UINT8_MAX ? mount : 0);
}

/* Returns the mount; -1: there is none. */
static int wait_for_ahead(struct disk_images *images)
{
	pid_t pid = images->ahead_pid;
	int status;

	images->ahead_pid = 0;
	if (pid <= 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status) != 0 ? WEXITSTATUS(status) : -1;
}

/* -1: there is none, or it does not fit. */
static int take_image_ahead(struct disk_images *images, int dir, const struct spec_limits *limits)
{
	AUTO_FD int file = TAKE_FD(images->ahead);
	AUTO_FD int mount = wait_for_ahead(images);

	if (mount < 0 || images->ahead_size != disk_image_size(limits) ||
	    images->ahead_inodes != disk_image_inodes(limits) ||
	    linkat(file, "", dir, IMAGE, AT_EMPTY_PATH) < 0)
		return -1;
	return TAKE_FD(mount);
}

void disk_image_end_ahead(struct disk_images *images)
{
	AUTO_FD int file = TAKE_FD(images->ahead);
	AUTO_FD int mount = wait_for_ahead(images);

	(void)file;
	(void)mount;
}

static int make_image(const struct disk_images *images, int dir, const struct spec_limits *limits,
                      struct error *err)
{
	AUTO_FD int file = openat(dir, IMAGE, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	                          0600);

	if (file < 0)
		return error_sys(err, "make an image");
	return lock_image(file, err) < 0 ? -1 : mount_new_image(images, file, limits, err);
}

/* Programs may have used up the limit or all inodes. overlayfs makes directories in `work` when it
 * is mounted, and a sandbox that cannot wake cannot delete its files either. So an image without a
 * claim has some room beyond what is used, and the files that only keep inodes are removed if
 * inodes are short. */
static int make_room(const struct disk_images *images, int mount, struct error *err)
{
	struct statvfs fs;
	uint64_t used, limit;

	if (fstatvfs(mount, &fs) < 0)
		return error_sys(err, "statvfs of a disk image");
	for (int i = 0; fs.f_ffree < DISK_IMAGE_KEPT && i < DISK_IMAGE_KEPT; i++) {
		char name[32];

		(void)snprintf(name, sizeof name, KEPT "/%d", i);
		(void)unlinkat(mount, name, 0);
	}
	used = (uint64_t)(fs.f_blocks - fs.f_bfree) * DISK_IMAGE_BLOCK;
	limit = num_min(used + KEPT_BYTES, (uint64_t)fs.f_blocks * DISK_IMAGE_BLOCK);
	return disk_image_set_limit(images, mount, limit, err);
}

int disk_image_create(struct disk_images *images, int dir, const struct spec_limits *limits,
                      struct error *err)
{
	AUTO_FD int mount = take_image_ahead(images, dir, limits);

	if (mount < 0)
		mount = make_image(images, dir, limits, err);
	if (mount >= 0 && note_boot(images, dir, err) == 0 && make_room(images, mount, err) == 0)
		return TAKE_FD(mount);
	(void)unlinkat(dir, IMAGE, 0);
	return -1;
}

void disk_image_settle(int mount)
{
	disk_image_keep_inodes(mount, DISK_IMAGE_KEPT);
}

int disk_image_wake(const struct disk_images *images, int dir, struct error *err)
{
	AUTO_FD int file = -1;
	AUTO_FD int mount = -1;

	if (images->dev < 0)
		return error_set(err, ERR_UNSUPPORTED,
		                 "its files are in a disk image, which needs root, loop devices "
		                 "and e2fsprogs");
	file = openat(dir, IMAGE, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0)
		return error_sys(err, "open its disk image");
	if (lock_image(file, err) < 0)
		return -1;
	if ((!is_of_this_boot(images, dir) || has_errors(file)) &&
	    (disk_image_check(images, file, err) < 0 || note_boot(images, dir, err) < 0))
		return -1;
	mount = disk_image_mount(images, file, err);
	if (mount < 0 || make_room(images, mount, err) < 0)
		return -1;
	return TAKE_FD(mount);
}

int disk_image_attach(int mount, const char *path, struct error *err)
{
	return mount_attach(mount, AT_FDCWD, path, err);
}
