/* base_tree.c - assembles the spawner's own mount tree and enters it. */
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
#include "engine/native/root/internal.h"
#include "engine/shared_dir.h"

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

/* Bind mount of the open file or directory `from` at `to`. The source is a descriptor that was
 * checked, never a path that could be exchanged after the check. */
static int bind_fd(int root, int from, const char *to, bool recursive, uint32_t attrs,
                   struct error *err)
{
	AUTO_FD int mount = mount_clone(from, "", recursive, attrs, err);

	return mount < 0 ? -1 : mount_attach(mount, root, to, err);
}

/* --- devices ------------------------------------------------------------------------ */

/* A symbolic link or another node in the host's /dev would become a device of every sandbox. */
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
	return error_set(err, ERR_SYSTEM, "%s is not character device %u:%u", path, device->major,
	                 device->minor);
}

/* Nodes on a tmpfs of our own, where mknod(2) is allowed (root of the host): flock(2) and
 * inotify(7) on an inode of the host would be a channel between sandboxes and host processes. */
static bool make_devices(int root)
{
	struct error err;
	AUTO_FD int mount = mount_create("tmpfs", "mode=755,size=4k,nr_inodes=16",
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

static int add_devices(int root, struct error *err)
{
	if (make_devices(root))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		AUTO_FD int fd = open_device(&devices[i], err);
		char path[64];

		(void)snprintf(path, sizeof path, "dev/%s", devices[i].name);
		if (fd < 0 || make_file(root, path, err) < 0 ||
		    bind_fd(root, fd, path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err) < 0)
			return -1;
	}
	return 0;
}

/* --- programs ----------------------------------------------------------------------- */

/* In a user namespace the kernel locks mounts that cover a directory: a non-recursive clone, which
 * would uncover the directory, fails with EINVAL. Then all mounts below are cloned too. */
static int add_program_dir(struct base_tree *tree, int root, const char *name, struct error *err)
{
	char path[64];
	AUTO_FD int fd = -1;
	struct error locked;

	(void)snprintf(path, sizeof path, "/%s", name);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return error_sys(err, "%s", path);
	if (make_dir(root, name, err) < 0)
		return -1;
	if (bind_fd(root, fd, name, false, SAFE | MOUNT_ATTR_RDONLY, &locked) == 0)
		return 0;
	tree->usr_is_single_mount = false;
	return bind_fd(root, fd, name, true, SAFE | MOUNT_ATTR_RDONLY, err);
}

/* The links of a merged /usr, such as /lib64. An executable names its loader by such a path
 * (/lib64/ld-linux-x86-64.so.2), and the spawner executes mke2fs(8) and e2fsck(8) in this tree. */
static void add_program_links(int root)
{
	for (size_t i = 0; skeleton_program_dirs[i] != NULL; i++) {
		char path[64], target[PATH_MAX];
		ssize_t n;

		(void)snprintf(path, sizeof path, "/%s", skeleton_program_dirs[i]);
		n = readlink(path, target, sizeof target - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		(void)!symlinkat(target, root, skeleton_program_dirs[i]);
	}
}

static int add_programs(struct base_tree *tree, int root, const struct skeleton *skeleton,
                        struct error *err)
{
	tree->usr_is_single_mount = true;
	add_program_links(root);
	if (add_program_dir(tree, root, "usr", err) < 0)
		return -1;
	for (size_t i = 0; skeleton->program_dirs[i] != NULL; i++)
		if (add_program_dir(tree, root, skeleton->program_dirs[i], err) < 0)
			return -1;
	return 0;
}

/* --- the operator's directories ------------------------------------------------------ */

/* Never recursive: a mount below the directory may be anything, and the operator named only the
 * directory itself. */
static int add_mounts(int root, const struct base_tree_sources *sources, struct error *err)
{
	for (size_t i = 0; i < sources->mount_count; i++) {
		char path[64];
		AUTO_FD int fd = -1;

		(void)snprintf(path, sizeof path, "mounts/%zu", i);
		if (make_dir(root, path, err) < 0 ||
		    shared_dir_check(sources->mounts[i], sources->state, err) < 0)
			return -1;
		fd = open(sources->mounts[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			return error_sys(err, "'%s'", sources->mounts[i]);
		if (bind_fd(root, fd, path, false, SAFE | MOUNT_ATTR_RDONLY, err) < 0)
			return error_wrap(err, "'%s' (nothing may be mounted below it)",
			                  sources->mounts[i]);
	}
	return 0;
}

/* --- graphics processors ------------------------------------------------------------- */

/* A CDI file names a device by path. Device numbers are compared where the file states them, so a
 * path that was reused for another device is refused. */
static int add_gpu_node(int root, const struct cdi_node *node, const char *path, struct error *err)
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
	return bind_fd(root, fd, path, false, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, err);
}

static int add_gpu_file(int root, const struct cdi_mount *file, const char *path, struct error *err)
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
	return bind_fd(root, fd, path, false, SAFE | MOUNT_ATTR_RDONLY, err);
}

static int add_gpu(int root, const struct cdi_device *gpu, size_t number, struct error *err)
{
	char path[64];

	(void)snprintf(path, sizeof path, "gpu/%zu", number);
	if (make_dir(root, path, err) < 0)
		return -1;
	for (size_t i = 0; i < gpu->node_count; i++) {
		(void)snprintf(path, sizeof path, "gpu/%zu/%zu", number, i);
		if (add_gpu_node(root, &gpu->nodes[i], path, err) < 0)
			return error_wrap(err, "%s", gpu->name);
	}
	for (size_t i = 0; i < gpu->mount_count; i++) {
		(void)snprintf(path, sizeof path, "gpu/%zu/f%zu", number, i);
		if (add_gpu_file(root, &gpu->mounts[i], path, err) < 0)
			return error_wrap(err, "%s", gpu->name);
	}
	return 0;
}

/* A processor that cannot be used is left out with a warning: sandboxes without a GPU still
 * work. */
static void add_gpus(struct base_tree *tree, int root, const struct cdi *gpus)
{
	struct error unusable;

	for (size_t i = 0; gpus != NULL && i < gpus->count; i++)
		if (add_gpu(root, &gpus->devices[i], i, &unusable) == 0)
			tree->gpus |= UINT64_C(1) << i;
		else
			log_warning("%s cannot be offered: %s", gpus->devices[i].name,
			            unusable.msg);
}

/* --- all parts ----------------------------------------------------------------------- */

/* Where vm.memfd_noexec forbids executing a memfd, the agent's program is an unlinked file here;
 * the limits leave room for one per running sandbox. */
static int add_tmp(int root, struct error *err)
{
	AUTO_FD int mount = mount_create("tmpfs", "mode=700,size=256m,nr_inodes=2048", SAFE, err);

	return mount < 0 ? -1 : mount_attach(mount, root, "tmp", err);
}

static int fill_tree(struct base_tree *tree, int root, const struct base_tree_sources *sources,
                     struct error *err)
{
	const struct skeleton *skeleton = sources->skeleton;

	for (size_t i = 0; i < ARRAY_LEN(directories); i++)
		if (make_dir(root, directories[i], err) < 0)
			return -1;
	/* A new procfs in a user namespace is allowed only if a complete one is already mounted, so
	 * the host's is cloned with all mounts below it. A sandbox gets a procfs of its own. */
	if (bind_fd(root, sources->proc, "proc", true, 0, err) < 0 || add_devices(root, err) < 0 ||
	    add_programs(tree, root, skeleton, err) < 0 ||
	    bind_fd(root, skeleton->dir, "skeleton", false, SAFE | MOUNT_ATTR_RDONLY, err) < 0 ||
	    bind_fd(root, sources->sandboxes, &BASE_TREE_SANDBOXES[1], false, SAFE, err) < 0 ||
	    add_mounts(root, sources, err) < 0 || add_tmp(root, err) < 0)
		return -1;
	add_gpus(tree, root, sources->gpus);
	return 0;
}

int base_tree_enter(struct base_tree *ret, const struct base_tree_sources *sources,
                    struct error *err)
{
	struct base_tree tree = { 0 };
	AUTO_FD int root = -1;
	mode_t before;
	int r;

	/* With shared propagation, which is systemd's default, every mount made here would appear
	 * in the host's namespace, and unmounting the old root could unmount the host's. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return error_sys(err, "make mounts private");
	root = mount_create("tmpfs", "mode=755,size=4m,nr_inodes=4096", SAFE, err);
	if (root < 0 || mount_attach(root, AT_FDCWD, sources->state, err) < 0)
		return -1;
	/* A sandbox's first process walks this tree under an id that owns none of it. */
	before = umask(022);
	r = fill_tree(&tree, root, sources, err);
	(void)umask(before);
	if (r < 0 || mount_pivot_root(root, err) < 0)
		return error_wrap(err, "the spawner's tree");
	/* Read-only for the tmpfs itself; the mounts on it keep their own attributes. A sandbox's
	 * copy of the tree is then read-only too, also while its first process still has
	 * CAP_DAC_OVERRIDE. */
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
	    0)
		return error_sys(err, "make the spawner's tree read-only");
	*ret = tree;
	return 0;
}
