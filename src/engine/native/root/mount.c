#include <fcntl.h>
#include <linux/mount.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/native/root/internal.h"

enum { OPTION_MAX = 512 };

/* glibc has wrappers for these system calls only since 2.36. */
static int fs_config(int fs, unsigned command, const char *key, const char *value)
{
	return (int)syscall(SYS_fsconfig, fs, command, key, value, 0);
}

/* A read(2) from the fsopen(2) descriptor returns the kernel's own message ("e overlay: ..."),
 * which says more than errno: the offending option, or the layer that cannot be used. */
static int fs_error(int fs, const char *type, struct error *err)
{
	char text[256];
	ssize_t n;

	(void)error_sys(err, "mount %s", type);
	n = read(fs, text, sizeof text - 1);
	if (n > 2) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
		(void)error_wrap(err, "%s", text + 2);
	}
	return -1;
}

static int set_fs_option(int fs, char *option)
{
	char *value = strchr(option, '=');

	if (value == NULL)
		return fs_config(fs, FSCONFIG_SET_FLAG, option, NULL);
	*value++ = '\0';
	return fs_config(fs, FSCONFIG_SET_STRING, option, value);
}

static int set_fs_options(int fs, const char *options)
{
	char option[OPTION_MAX];

	while (options != NULL && *options != '\0') {
		size_t len = strcspn(options, ",");

		if (len >= sizeof option)
			return -1;
		memcpy(option, options, len);
		option[len] = '\0';
		if (set_fs_option(fs, option) < 0)
			return -1;
		options += len + (options[len] == ',');
	}
	return 0;
}

/* The attributes are given to fsmount(2) itself: with a later remount there would be a moment in
 * which the mount is writable or honours setuid bits. */
int mount_create(const char *type, const char *options, uint32_t attrs, struct error *err)
{
	AUTO_FD int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int mount;

	if (fs < 0)
		return error_sys(err, "file system %s", type);
	if (set_fs_options(fs, options) < 0 || fs_config(fs, FSCONFIG_CMD_CREATE, NULL, NULL) < 0)
		return fs_error(fs, type, err);
	mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, attrs);
	return mount >= 0 ? mount : fs_error(fs, type, err);
}

int mount_set_attrs(int mount, bool recursive, uint32_t attrs, struct error *err)
{
	struct mount_attr attr = { .attr_set = attrs };

	if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | (recursive ? AT_RECURSIVE : 0),
	            &attr, sizeof attr) < 0)
		return error_sys(err, "set mount attributes (mount_setattr needs Linux 5.12)");
	return 0;
}

/* The clone gets its attributes before it is attached, so it is never visible without them. */
int mount_clone(int dir, const char *path, bool recursive, uint32_t attrs, struct error *err)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_NO_AUTOMOUNT;
	int mount = (int)syscall(SYS_open_tree, dir, path,
	                         recursive ? flags | AT_RECURSIVE : flags);

	if (mount < 0)
		return error_sys(err, "copy the mount of '%s'", path);
	if (attrs != 0 && mount_set_attrs(mount, recursive, attrs, err) < 0) {
		(void)close(mount);
		return -1;
	}
	return mount;
}

int mount_attach(int mount, int dir, const char *path, struct error *err)
{
	if (syscall(SYS_move_mount, mount, "", dir, path,
	            MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return error_sys(err, "mount at '%s'", path);
	return 0;
}

/* pivot_root(".", ".") stacks the old root on top of the new one, and umount2 with "." removes it
 * again, so no directory for the old root is needed. chroot(2) would leave the old tree mounted,
 * and a process with CAP_SYS_CHROOT could return to it. */
int mount_pivot_root(int dir, struct error *err)
{
	if (fchdir(dir) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return error_sys(err, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return error_sys(err, "unmount the old root");
	return 0;
}
