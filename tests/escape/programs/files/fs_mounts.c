/* fs_mounts - tries all calls that change mounts, old and new ones, and new namespaces in which
 * that would be allowed (CVE-2021-3493, CVE-2023-0386, CVE-2023-2640). */
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../try.h"

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

	report("bind over /proc/sys", mnt("/tmp", "/proc/sys", NULL, BIND));
	report("bind /proc", mnt("/proc", "/tmp", NULL, BIND | REC));
	report("remount /usr rw", mnt(NULL, "/usr", NULL, REMOUNT | BIND));
	report("remount /proc/sys rw", mnt(NULL, "/proc/sys", NULL, REMOUNT | BIND));
	report("remount / suid dev", mnt(NULL, "/", NULL, REMOUNT));
	report("move /proc", mnt("/proc", "/tmp", NULL, MOVE));
	report("new proc", mnt("proc", "/tmp", "proc", 0));
	report("new tmpfs", mnt("t", "/tmp", "tmpfs", 0));
	report("new overlay", mnt("o", "/tmp", "overlay", 0));
	report("new cgroup", mnt("c", "/tmp", "cgroup", 0));
	report("new sysfs", mnt("s", "/tmp", "sysfs", 0));
	report("umount a mask", syscall(SYS_umount2, "/proc/kallsyms", 2));
	report("umount /proc/sys", syscall(SYS_umount2, "/proc/sys", 2));
	report("fsopen", syscall(SYS_fsopen, "overlay", 0));
	report("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	report("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE));
	report("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/usr", AT_FDCWD, "/tmp", 0));
	report("mount_setattr",
	       syscall(SYS_mount_setattr, AT_FDCWD, "/usr", 0, &attr, sizeof attr));
	report("unshare user", unshare(CLONE_NEWUSER));
	report("unshare user and mounts", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	report("unshare mounts", unshare(CLONE_NEWNS));
	report("clone3 user", clone_with(CLONE_NEWUSER));
	report("clone3 user and mounts", clone_with(CLONE_NEWUSER | CLONE_NEWNS));
	report("setns", setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS));
	return 0;
}
