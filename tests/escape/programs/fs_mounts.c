/* fs_mounts.c - everything that changes what is mounted, old calls and new, and new namespaces in
 * which one could (CVE-2021-3493, CVE-2023-0386, CVE-2023-2640). */
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "try.h"

enum { BIND = 4096, REMOUNT = 32, RDONLY = 1, REC = 16384, MOVE = 8192 };

static long mnt(const char *from, const char *to, const char *type, unsigned long flags)
{
	return syscall(SYS_mount, from, to, type, flags,
	               "lowerdir=/usr,upperdir=/tmp,workdir=/var/tmp");
}

static long clone_with(uint64_t flags)
{
	struct clone_args args = { .flags = flags };
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	return pid;
}

int main(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	tell("bind over /proc/sys", mnt("/tmp", "/proc/sys", NULL, BIND));
	tell("bind /proc", mnt("/proc", "/tmp", NULL, BIND | REC));
	tell("remount /usr rw", mnt(NULL, "/usr", NULL, REMOUNT | BIND));
	tell("remount /proc/sys rw", mnt(NULL, "/proc/sys", NULL, REMOUNT | BIND));
	tell("remount / suid dev", mnt(NULL, "/", NULL, REMOUNT));
	tell("move /proc", mnt("/proc", "/tmp", NULL, MOVE));
	tell("new proc", mnt("proc", "/tmp", "proc", 0));
	tell("new tmpfs", mnt("t", "/tmp", "tmpfs", 0));
	tell("new overlay", mnt("o", "/tmp", "overlay", 0));
	tell("new cgroup", mnt("c", "/tmp", "cgroup", 0));
	tell("new sysfs", mnt("s", "/tmp", "sysfs", 0));
	tell("umount a mask", syscall(SYS_umount2, "/proc/kallsyms", 2));
	tell("umount /proc/sys", syscall(SYS_umount2, "/proc/sys", 2));
	tell("fsopen", syscall(SYS_fsopen, "overlay", 0));
	tell("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	tell("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE));
	tell("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0));
	tell("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof attr));
	tell("unshare user", unshare(CLONE_NEWUSER));
	tell("unshare user and mounts", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	tell("unshare mounts", unshare(CLONE_NEWNS));
	tell("clone3 user", clone_with(CLONE_NEWUSER));
	tell("clone3 user and mounts", clone_with(CLONE_NEWUSER | CLONE_NEWNS));
	tell("setns", setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS));
	return 0;
}
