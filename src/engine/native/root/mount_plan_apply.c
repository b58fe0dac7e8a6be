/* mount_plan_apply.c - does the steps of a mount plan in the new process's namespaces.
 *
 * The process has all capabilities in its own user namespace, and the base tree is still mounted. A
 * target that a program replaced by a symbolic link before the sandbox slept must not lead a mount
 * or a write out of the new root (CVE-2019-19921 and its successors), so every target is opened
 * with openat2(2) and RESOLVE_NO_SYMLINKS, and used by descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/tree/open_child.h"
#include "engine/native/root/internal.h"

enum { TARGET_MAX = 1024, WRITES_MAX = 32 };

static int open_target(int root, const char *path, int flags)
{
	return open_resolved(root, path[0] != '\0' ? path : ".", flags, 0,
	                     RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* Opens the directory that `path` is in, making directories that are missing; *last is the name in
 * it. */
static int open_parent_dir(int root, const char *path, const char **last, struct error *err)
{
	char part[TARGET_MAX];
	int dir = open_target(root, "", O_PATH | O_DIRECTORY);

	for (*last = path; dir >= 0 && strchr(*last, '/') != NULL;) {
		size_t len = strcspn(*last, "/");
		AUTO_FD int above = dir;

		if (len >= sizeof part)
			return error_set(err, ERR_LIMIT, "/%s: a name has more than %d bytes", path,
			                 TARGET_MAX - 1);
		memcpy(part, *last, len);
		part[len] = '\0';
		if (mkdirat(above, part, 0755) < 0 && errno != EEXIST)
			return error_sys(err, "make /%s", path);
		/* The name may exist as a link or a file of the sandbox: the mode of opening, not
		 * mkdirat(2), decides whether it is a directory. */
		dir = open_target(above, part, O_PATH | O_DIRECTORY);
		*last += len + 1;
	}
	return dir >= 0 ? dir
	                : error_sys(err,
	                            "/%s: files of the sandbox are in the way (reset the sandbox)",
	                            path);
}

/* Programs have written the upper layer, so a link or a file may stand in the place of a directory
 * here: open_target() follows no link, and such a sandbox does not wake. */
static int open_mount_point(int root, const char *path, struct error *err)
{
	AUTO_FD int parent = -1;
	const char *last;
	int dir = open_target(root, path, O_PATH | O_DIRECTORY);

	if (dir >= 0)
		return dir;
	parent = open_parent_dir(root, path, &last, err);
	if (parent < 0)
		return -1;
	if (mkdirat(parent, last, 0755) < 0 && errno != EEXIST)
		return error_sys(err, "make /%s", path);
	dir = open_target(parent, last, O_PATH | O_DIRECTORY);
	return dir >= 0 ? dir
	                : error_sys(err,
	                            "/%s: files of the sandbox are in the way (reset the sandbox)",
	                            path);
}

static int attach_at(int root, const char *target, int mount, struct error *err)
{
	AUTO_FD int point = open_mount_point(root, target, err);

	return point < 0 ? -1 : mount_attach(mount, point, "", err);
}

/* --- one function per kind of step --------------------------------------------------- */

static int apply_mount(int root, const struct mount_step *step, struct error *err)
{
	AUTO_FD int mount = mount_create(step->source, step->options, step->attrs, err);

	return mount < 0 ? -1 : attach_at(root, step->target, mount, err);
}

static int apply_bind(int root, const struct mount_step *step, struct error *err)
{
	AUTO_FD int mount = mount_clone(-1, step->source, step->recursive, step->attrs, err);

	return mount < 0 ? -1 : attach_at(root, step->target, mount, err);
}

static int apply_bind_file(int root, const struct mount_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent_dir(root, step->target, &last, err);
	AUTO_FD int mount = -1;
	AUTO_FD int file = -1;
	struct stat st;

	if (parent < 0)
		return -1;
	mount = mount_clone(-1, step->source, false, step->attrs, err);
	if (mount < 0)
		return -1;
	if (fstat(mount, &st) == 0 && S_ISDIR(st.st_mode))
		return attach_at(root, step->target, mount, err);
	/* O_NONBLOCK: a FIFO of the sandbox under this name would block the open(2) for ever. */
	file = openat(parent, last, O_CREAT | O_NOFOLLOW | O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0444);
	if (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode))
		return error_sys(err, "make /%s", step->target);
	return mount_attach(mount, file, "", err);
}

static int apply_symlink(int root, const struct mount_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent_dir(root, step->target, &last, err);

	if (parent < 0)
		return -1;
	return symlinkat(step->source, parent, last) < 0 ? error_sys(err, "link /%s", step->target)
	                                                 : 0;
}

/* A program may have taken its user's own access away; then no further program could start
 * there. */
static void restore_owner_access(int parent, const char *name)
{
	AUTO_FD int dir = open_target(parent, name, O_RDONLY | O_DIRECTORY);
	struct stat st;

	if (dir >= 0 && fstat(dir, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		(void)fchmod(dir, (st.st_mode & 07777) | S_IRWXU);
}

static int apply_user_dir(int root, const struct mount_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent_dir(root, step->target, &last, err);

	if (parent < 0)
		return -1;
	if (mkdirat(parent, last, 0755) < 0) {
		if (errno != EEXIST)
			return error_sys(err, "make /%s", step->target);
		restore_owner_access(parent, last);
		return 0;
	}
	if (fchownat(parent, last, SPEC_UID, SPEC_GID, AT_SYMLINK_NOFOLLOW) < 0)
		return error_sys(err, "change the owner of /%s", step->target);
	return 0;
}

/* mkdirat(2) applies the umask to the mode, so fchmodat(2) sets it. With a single id, id 0 is not
 * mapped: fchownat(2) fails with EINVAL, and the directory keeps the user as its owner. */
static int apply_public_dir(int root, const struct mount_step *step, struct error *err)
{
	const char *last;
	AUTO_FD int parent = open_parent_dir(root, step->target, &last, err);

	if (parent < 0)
		return -1;
	if (mkdirat(parent, last, 0700) < 0)
		return errno == EEXIST ? 0 : error_sys(err, "make /%s", step->target);
	if (fchmodat(parent, last, 01777, 0) < 0)
		return error_sys(err, "set the mode of /%s", step->target);
	if (fchownat(parent, last, 0, 0, AT_SYMLINK_NOFOLLOW) < 0 && errno != EINVAL)
		return error_sys(err, "change the owner of /%s", step->target);
	return 0;
}

/* Kernels differ in which files /proc has: a missing one needs no mask. The masks are the base
 * tree's /dev/null and /empty, never the sandbox's, which could be something else
 * (CVE-2025-31133). */
static int apply_mask(int root, const struct mount_step *step, struct error *err)
{
	AUTO_FD int point = open_target(root, step->target, O_PATH);
	AUTO_FD int mount = -1;
	struct stat st;

	if (point < 0)
		return errno == ENOENT ? 0 : error_sys(err, "/%s", step->target);
	if (fstat(point, &st) < 0)
		return error_sys(err, "/%s", step->target);
	mount = mount_clone(-1, S_ISDIR(st.st_mode) ? "/empty" : "/dev/null", false,
	                    MOUNT_ATTR_RDONLY, err);
	return mount < 0 ? -1 : mount_attach(mount, point, "", err);
}

static int apply_bind_readonly(int root, const struct mount_step *step, struct error *err)
{
	AUTO_FD int point = open_target(root, step->target, O_PATH);
	AUTO_FD int mount = -1;

	if (point < 0)
		return errno == ENOENT ? 0 : error_sys(err, "/%s", step->target);
	mount = mount_clone(point, "", false, step->attrs, err);
	return mount < 0 ? -1 : mount_attach(mount, point, "", err);
}

static int apply_set_readonly(int root, const struct mount_step *step, struct error *err)
{
	AUTO_FD int point = open_target(root, step->target, O_PATH);

	return point < 0 ? error_sys(err, "/%s", step->target)
	                 : mount_set_attrs(point, false, step->attrs, err);
}

/* Files of STEP_WRITE are opened in their turn, because a later step makes /proc/sys read-only, but
 * are written at the end: with max_mnt_namespaces at 0 the kernel refuses open_tree(2) clones
 * too. */
static struct {
	int file;
	const struct mount_step *step;
} writes[WRITES_MAX];
static size_t write_count;

static int apply_write(int root, const struct mount_step *step, struct error *err)
{
	int file = open_target(root, step->target, O_WRONLY);

	if (file < 0 && errno == ENOENT)
		return 0;
	if (file < 0)
		return error_sys(err, "/%s", step->target);
	if (write_count == WRITES_MAX)
		return error_set(err, ERR_LIMIT, "more than %d files to write", WRITES_MAX);
	writes[write_count].file = file;
	writes[write_count++].step = step;
	return 0;
}

static int finish_writes(struct error *err)
{
	for (size_t i = 0; i < write_count; i++) {
		const struct mount_step *step = writes[i].step;

		if (write(writes[i].file, step->source, strlen(step->source)) < 0)
			return error_sys(err, "write '%s' to /%s", step->source, step->target);
		(void)close(writes[i].file);
	}
	return 0;
}

static int (*const appliers[STEP_KIND_COUNT])(int root, const struct mount_step *step,
                                              struct error *err) = {
	[STEP_MOUNT] = apply_mount,
	[STEP_BIND] = apply_bind,
	[STEP_BIND_FILE] = apply_bind_file,
	[STEP_SYMLINK] = apply_symlink,
	[STEP_USER_DIR] = apply_user_dir,
	[STEP_PUBLIC_DIR] = apply_public_dir,
	[STEP_MASK] = apply_mask,
	[STEP_BIND_READONLY] = apply_bind_readonly,
	[STEP_SET_READONLY] = apply_set_readonly,
	[STEP_WRITE] = apply_write,
};

/* pivot_root(2) requires the new root to be a mount point, so the overlay is attached at /new
 * before anything is mounted in it. */
int mount_plan_apply(const struct mount_plan *plan, struct error *err)
{
	const struct mount_step *first = &plan->steps[0];
	AUTO_FD int root = mount_create(first->source, first->options, first->attrs, err);

	if (root < 0 || mount_attach(root, AT_FDCWD, "/new", err) < 0)
		return -1;
	for (size_t i = 1; i < plan->count; i++) {
		const struct mount_step *step = &plan->steps[i];

		if (appliers[step->kind](root, step, err) < 0)
			return err->msg[0] == '/' ? -1 : error_wrap(err, "/%s", step->target);
	}
	return finish_writes(err) < 0 ? -1 : mount_pivot_root(root, err);
}
