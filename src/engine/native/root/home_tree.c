/* home_tree.c - the spawner's own small tree. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "engine/native/root/home.h"
#include "engine/native/root/mount.h"

enum { SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

static const struct device {
	const char *name;
	unsigned major, minor;
} devices[] = {
	{ "null", 1, 3 },   { "zero", 1, 5 },    { "full", 1, 7 },
	{ "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
};

static const char *const directories[] = { "usr",  "skeleton", "sandboxes", "dev", "mounts",
	                                   "proc", "new",      "empty",     "gpu", "tmp" };

static int make_file(int root, const char *path, struct error *err)
{
	int fd = openat(root, path, O_CREAT | O_EXCL | O_NOFOLLOW | O_WRONLY | O_CLOEXEC, 0444);

	if (fd < 0)
		return error_sys(err, "make %s", path);
	(void)close(fd);
	return 0;
}

static int make_dir(int root, const char *path, struct error *err)
{
	return mkdirat(root, path, 0755) < 0 && errno != EEXIST ? error_sys(err, "make %s", path)
	                                                        : 0;
}

/* Shows what `from` is at `to`. */
static int show(int root, int from, const char *to, bool recursive, uint32_t attrs,
                struct error *err)
{
	AUTO_FD int mount = mount_copy(from, "", recursive, attrs, err);

	return mount < 0 ? -1 : mount_attach(mount, root, to, err);
}

static int open_device(const struct device *device, struct error *err)
{
	char path[64];
	struct stat st;
	int fd;

	(void)snprintf(path, sizeof path, "/dev/%s", device->name);
	fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "%s", path);
	if (fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(device->major, device->minor))
		return fd;
	(void)close(fd);
	return error_set(err, ERR_SYSTEM, "%s is not the device it should be", path);
}

/* Nodes of our own, where we may make some: locks and watches on them are not the host's. */
static bool make_devices(int root)
{
	struct error err;
	AUTO_FD int mount = mount_new("tmpfs", "mode=755,size=4k,nr_inodes=16",
	                              MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, &err);

	if (mount < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (mknodat(mount, devices[i].name, S_IFCHR | 0666,
		            makedev(devices[i].major, devices[i].minor)) < 0 ||
		    fchmodat(mount, devices[i].name, 0666, 0) < 0)
			return false;
	return mount_attach(mount, root, "dev", &err) == 0;
}

static int show_devices(int root, struct error *err)
{
	if (make_devices(root))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		AUTO_FD int fd = open_device(&devices[i], err);
		char path[64];

		(void)snprintf(path, sizeof path, "dev/%s", devices[i].name);
		if (fd < 0 || make_file(root, path, err) < 0 ||
		    show(root, fd, path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0)
			return -1;
	}
	return 0;
}

/* What is mounted below cannot be left out where we have no right to unmount it. */
static int show_directory(struct home *home, int root, const char *name, struct error *err)
{
	char path[64];
	AUTO_FD int fd = -1;
	struct error whole;

	(void)snprintf(path, sizeof path, "/%s", name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "%s", path);
	if (make_dir(root, name, err) < 0)
		return -1;
	if (show(root, fd, name, false, SAFE | MOUNT_ATTR_RDONLY, &whole) == 0)
		return 0;
	home->usr_is_whole = false;
	return show(root, fd, name, true, SAFE | MOUNT_ATTR_RDONLY, err);
}

static int show_programs(struct home *home, int root, const struct skeleton *skeleton,
                         struct error *err)
{
	home->usr_is_whole = true;
	if (show_directory(home, root, "usr", err) < 0)
		return -1;
	for (size_t i = 0; skeleton->over[i] != NULL; i++)
		if (show_directory(home, root, skeleton->over[i], err) < 0)
			return -1;
	return 0;
}

/* Both are whole paths without links. */
static bool is_within(const char *path, const char *directory)
{
	size_t len = strlen(directory);

	return strcmp(directory, "/") == 0 ||
	       (strncmp(path, directory, len) == 0 && (path[len] == '\0' || path[len] == '/'));
}

/* What would show the host's processes, devices and services, or other sandboxes. */
static int check_source(const char *source, const char *state, struct error *err)
{
	static const char *const never[] = { "/proc", "/sys", "/dev", "/run" };
	char path[PATH_MAX], own[PATH_MAX];

	if (realpath(source, path) == NULL)
		return error_sys(err, "'%s'", source);
	if (realpath(state, own) == NULL)
		return error_sys(err, "'%s'", state);
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		if (is_within(path, never[i]))
			return error_set(err, ERR_INVALID,
			                 "'%s': what is in %s is not for sandboxes; name another "
			                 "directory",
			                 source, never[i]);
	if (is_within(own, path) || is_within(path, own))
		return error_set(err, ERR_INVALID,
		                 "'%s' and the state directory '%s' may not hold one another: "
		                 "sandboxes would see others' files",
		                 source, own);
	return 0;
}

static int show_mounts(int root, const struct home_parts *parts, struct error *err)
{
	for (size_t i = 0; i < parts->mount_count; i++) {
		char path[64];
		AUTO_FD int fd = -1;

		(void)snprintf(path, sizeof path, "mounts/%zu", i);
		if (make_dir(root, path, err) < 0 ||
		    check_source(parts->mounts[i], parts->state, err) < 0)
			return -1;
		fd = open(parts->mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return error_sys(err, "'%s'", parts->mounts[i]);
		if (show(root, fd, path, false, SAFE | MOUNT_ATTR_RDONLY, err) < 0)
			return error_wrap(err, "'%s' (nothing may be mounted below it)",
			                  parts->mounts[i]);
	}
	return 0;
}

static int show_node(int root, const struct cdi_node *node, const char *path, struct error *err)
{
	AUTO_FD int fd = open(node->host_path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, "%s", node->host_path);
	if (!S_ISCHR(st.st_mode) && !S_ISBLK(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is not a device", node->host_path);
	if ((node->type == 'c' && !S_ISCHR(st.st_mode)) ||
	    (node->type == 'b' && !S_ISBLK(st.st_mode)) ||
	    (node->major >= 0 && node->major != major(st.st_rdev)) ||
	    (node->minor >= 0 && node->minor != minor(st.st_rdev)))
		return error_set(err, ERR_INVALID,
		                 "%s is another device than its specification says",
		                 node->host_path);
	if (make_file(root, path, err) < 0)
		return -1;
	return show(root, fd, path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
}

static int show_file(int root, const struct cdi_mount *file, const char *path, struct error *err)
{
	AUTO_FD int fd = open(file->host_path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_sys(err, "%s", file->host_path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is neither a file nor a directory",
		                 file->host_path);
	if ((S_ISDIR(st.st_mode) ? make_dir : make_file)(root, path, err) < 0)
		return -1;
	return show(root, fd, path, false, SAFE | MOUNT_ATTR_RDONLY, err);
}

static int show_gpu(int root, const struct cdi_device *gpu, size_t number, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof path, "gpu/%zu", number);
	if (make_dir(root, path, err) < 0)
		return -1;
	for (size_t i = 0; i < gpu->node_count; i++) {
		(void)snprintf(path, sizeof path, "gpu/%zu/%zu", number, i);
		if (show_node(root, &gpu->nodes[i], path, err) < 0)
			return error_wrap(err, "%s", gpu->name);
	}
	for (size_t i = 0; i < gpu->mount_count; i++) {
		(void)snprintf(path, sizeof path, "gpu/%zu/f%zu", number, i);
		if (show_file(root, &gpu->mounts[i], path, err) < 0)
			return error_wrap(err, "%s", gpu->name);
	}
	return 0;
}

/* For the agent's program where memory cannot be executed; one for each sandbox that is awake. */
static int show_room(int root, struct error *err)
{
	AUTO_FD int mount = mount_new("tmpfs", "mode=700,size=256m,nr_inodes=2048", SAFE, err);

	return mount < 0 ? -1 : mount_attach(mount, root, "tmp", err);
}

static int fill(struct home *home, int root, const struct home_parts *parts, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(directories); i++)
		if (make_dir(root, directories[i], err) < 0)
			return -1;
	if (show(root, home->proc, "proc", true, 0, err) < 0 || show_devices(root, err) < 0 ||
	    show_programs(home, root, parts->skeleton, err) < 0 ||
	    show(root, parts->skeleton->dir, "skeleton", false, SAFE | MOUNT_ATTR_RDONLY, err) <
	            0 ||
	    show(root, parts->disk->dir, &HOME_SANDBOXES[1], false, SAFE, err) < 0 ||
	    show_mounts(root, parts, err) < 0 || show_room(root, err) < 0)
		return -1;
	for (size_t i = 0; parts->gpus != NULL && i < parts->gpus->count; i++) {
		struct error unusable;

		if (show_gpu(root, &parts->gpus->devices[i], i, &unusable) == 0)
			home->gpus |= UINT64_C(1) << i;
		else
			log_warning("%s cannot be offered: %s", parts->gpus->devices[i].name,
			            unusable.msg);
	}
	return 0;
}

int home_settle(struct home *home, const struct home_parts *parts, struct error *err)
{
	AUTO_FD int root = -1;
	mode_t before;
	int r;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_sys(err, "keep our mounts to ourselves");
	root = mount_new("tmpfs", "mode=755,size=4m,nr_inodes=4096", SAFE, err);
	if (root < 0 || mount_attach(root, AT_FDCWD, parts->state, err) < 0)
		return -1;
	/* Sandboxes start in it, and are nobody to it. */
	before = umask(022);
	r = fill(home, root, parts, err);
	(void)umask(before);
	if (r < 0 || mount_become_root(root, err) < 0)
		return error_wrap(err, "the spawner's tree");
	/* The tree itself is finished; what is mounted in it keeps its own attributes. */
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
	    0)
		return error_sys(err, "close the spawner's tree");
	return 0;
}
