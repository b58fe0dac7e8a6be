#include <inttypes.h>
#include <linux/mount.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "engine/native/root/root.h"
#include "engine/root_files.h"

enum {
	SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	SAFEST = SAFE | MOUNT_ATTR_NOEXEC,
	/* A read-only mount does not stop write(2) to a device, only changes of mode and times. */
	NODE = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
};

/* A woken sandbox's upper layer was written by untrusted programs. With metacopy, index or
 * redirects, extended attributes of the upper layer choose files of the lower one, so they are off
 * whatever the kernel's defaults are; userxattr switches redirects off and is the only kind of
 * attribute an unprivileged overlay can have. */
#define OVERLAY "userxattr,index=off,metacopy=off,xino=off"

#define STEP(kind, target, source, options, attrs)                                                 \
	{                                                                                          \
		kind, target, source, options, attrs, false                                        \
	}
#define MOUNT(target, type, options, attrs) STEP(STEP_MOUNT, target, type, options, attrs)
#define SYMLINK(target, source)             STEP(STEP_SYMLINK, target, source, NULL, 0)

#define DEVICE(name)         STEP(STEP_BIND_FILE, "dev/" name, "/dev/" name, NULL, NODE)
#define USER_DIR(target)     STEP(STEP_USER_DIR, target, NULL, NULL, 0)
#define PUBLIC_DIR(target)   STEP(STEP_PUBLIC_DIR, target, NULL, NULL, 0)
#define SET_READONLY(target) STEP(STEP_SET_READONLY, target, NULL, NULL, MOUNT_ATTR_RDONLY)

#define LIMIT_USER(name, text)     STEP(STEP_WRITE, "proc/sys/user/max_" name, text, NULL, 0)
#define NO_NAMESPACES(kind)        LIMIT_USER(kind "_namespaces", "0")
#define LIMIT_NETWORK(file, value) STEP(STEP_WRITE, "proc/sys/net/" file, value, NULL, 0)
#define MASK_PROC(name)            STEP(STEP_MASK, "proc/" name, NULL, NULL, 0)
#define READONLY_PROC(name)                                                                        \
	STEP(STEP_BIND_READONLY, "proc/" name, NULL, NULL, MOUNT_ATTR_RDONLY | SAFEST)

/* /dev is a tmpfs of the sandbox's own, never a directory of its files: a symbolic link planted
 * there would redirect the bind mounts. devpts is an instance of the sandbox's own, so no terminal
 * of the host can be opened; max= keeps one sandbox from using up the host's terminals. */
static const struct mount_step devices[] = {
	MOUNT("dev", "tmpfs", "mode=755,size=64k,nr_inodes=256",
	      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
	DEVICE("null"),
	DEVICE("zero"),
	DEVICE("full"),
	DEVICE("random"),
	DEVICE("urandom"),
	DEVICE("tty"),
	SYMLINK("dev/fd", "/proc/self/fd"),
	SYMLINK("dev/stdin", "/proc/self/fd/0"),
	SYMLINK("dev/stdout", "/proc/self/fd/1"),
	SYMLINK("dev/stderr", "/proc/self/fd/2"),
	SYMLINK("dev/ptmx", "pts/ptmx"),
	MOUNT("dev/pts", "devpts", "ptmxmode=0666,mode=0620,max=64",
	      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC),
	MOUNT("dev/shm", "tmpfs", "mode=1777,size=64m,nr_inodes=4096", SAFE),
};

/* A new sandbox has the first two directories; a program may have removed them since. The next two
 * are where programs of some profiles expect their files (tools/profiles). The others are for
 * programs that install something; no program inside is root, so every user may write there.
 *
 * None of them is in the skeleton. For a directory that both layers have, overlayfs keeps a list of
 * all names in kernel memory that no cgroup counts, one for each open(2) after a change: with a few
 * hundred descriptors a program took gigabytes. A directory of the upper layer alone has no such
 * list. */
static const struct mount_step writable_dirs[] = {
	USER_DIR("workspace"),   USER_DIR("home/coderunner"), USER_DIR("app"),
	USER_DIR("artifacts"),   PUBLIC_DIR("media"),         PUBLIC_DIR("mnt"),
	PUBLIC_DIR("opt"),       PUBLIC_DIR("srv"),           PUBLIC_DIR("tmp"),
	PUBLIC_DIR("var/cache"), PUBLIC_DIR("var/lib"),       PUBLIC_DIR("var/log"),
	PUBLIC_DIR("var/tmp"),
};

/* These steps come after the nodes of graphics processors, which need /dev writable. */
static const struct mount_step run_dir[] = {
	SET_READONLY("dev"),
	MOUNT("run", "tmpfs", "mode=1777,size=1m,nr_inodes=1024", SAFE),
};

_Static_assert(SPEC_AGENT_ID == 999, "the option gid= below has this id");

/* hidepid hides the agent from programs, which have another id; the agent's group 999 sees all
 * processes. With a single id that group is not mapped, and the agent has the programs' own id. */
static const struct mount_step proc_hiding_agent = MOUNT("proc", "proc",
                                                         "hidepid=invisible,gid=999", SAFEST);
static const struct mount_step proc_single_id = MOUNT("proc", "proc", NULL, SAFEST);

/* The sandbox's network namespace begins with the host's values. These bound memory that no cgroup
 * counts: options of one socket, connections that wait in a listener's queue with their unread
 * bytes, and connections that belong to no process any more. Older kernels show no net/core here
 * and have one optmem_max for the whole machine, 20480 unless the host raised it. */
static const struct mount_step network_limits[] = {
	LIMIT_NETWORK("core/optmem_max", "20480"),
	LIMIT_NETWORK("core/somaxconn", "1024"),
	LIMIT_NETWORK("ipv4/tcp_rmem", "4096 131072 4194304"),
	LIMIT_NETWORK("ipv4/tcp_max_tw_buckets", "8192"),
	LIMIT_NETWORK("ipv4/tcp_orphan_retries", "2"),
};

/* In the order of the list: fanotify(7) is refused; nested namespaces are forbidden, because most
 * privilege escalations in the kernel start from the capabilities of a new user namespace; files
 * with facts about the machine, its kernel addresses or its other users are covered; files that
 * change the kernel's settings become read-only. */
static const struct mount_step proc[] = {
	LIMIT_USER("fanotify_groups", "0"),
	LIMIT_USER("fanotify_marks", "0"),
	NO_NAMESPACES("user"),
	NO_NAMESPACES("net"),
	NO_NAMESPACES("pid"),
	NO_NAMESPACES("ipc"),
	NO_NAMESPACES("uts"),
	NO_NAMESPACES("cgroup"),
	NO_NAMESPACES("time"),
	NO_NAMESPACES("mnt"),
#define X(name) MASK_PROC(name),
	ROOT_MASKED_PROC(X)
#undef X
	        READONLY_PROC("sys"),
	READONLY_PROC("driver"),
	READONLY_PROC("tty"),
};

/* --- making ------------------------------------------------------------------------ */

static int add_steps(struct mount_plan *plan, const struct mount_step *steps, size_t count,
                     struct error *err)
{
	if (count > MOUNT_PLAN_MAX - plan->count)
		return error_set(err, ERR_LIMIT,
		                 "the sandbox's root needs more than %d mounts "
		                 "and files",
		                 MOUNT_PLAN_MAX);
	memcpy(plan->steps + plan->count, steps, count * sizeof *steps);
	plan->count += count;
	return 0;
}

/* Without room the text is cut and text_used becomes the size, which mount_plan_make() refuses. */
static PRINTF_LIKE(2, 3) const char *add_text(struct mount_plan *plan, const char *fmt, ...)
{
	char *out = plan->text + plan->text_used;
	size_t room = sizeof plan->text - plan->text_used;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(out, room, fmt, args);
	va_end(args);
	plan->text_used += n >= 0 && (size_t)n < room ? (size_t)n + 1 : room;
	return out;
}

/* An overlay needs two lower layers if it has no upper one; /empty is the second. */
static int add_overlay(struct mount_plan *plan, const char *target, const char *lower,
                       struct error *err)
{
	const struct mount_step step = MOUNT(target, "overlay",
	                                     add_text(plan, "lowerdir=%s:/empty," OVERLAY, lower),
	                                     SAFE | MOUNT_ATTR_RDONLY);

	return add_steps(plan, &step, 1, err);
}

/* `upper` and `work` are relative to the current directory, so /proc/mounts inside shows no path of
 * the host. volatile: neither fsync(2) inside nor the unmount waits for the host's disk. Writes to
 * a file that was opened with O_SYNC or O_DSYNC still do: overlayfs opens the file of the upper
 * layer with the same flags. */
static int add_root(struct mount_plan *plan, struct error *err)
{
	static const struct mount_step step = MOUNT(
	        "", "overlay", "lowerdir=/skeleton,upperdir=upper,workdir=work,volatile," OVERLAY,
	        SAFE);

	return add_steps(plan, &step, 1, err);
}

/* A read-only bind mount shares the inodes of the host: flock(2), inotify(7) and connect(2) to a
 * socket file work across sandboxes. An overlay has inodes of its own. But an overlay does not show
 * file systems mounted below its lower layer; in that case a recursive bind mount is used. */
static int add_programs(struct mount_plan *plan, const struct base_tree *tree, const char *name,
                        struct error *err)
{
	const char *source = add_text(plan, "/%s", name);
	const struct mount_step bind = { STEP_BIND, name, source, NULL, SAFE | MOUNT_ATTR_RDONLY,
		                         true };

	return tree->usr_is_single_mount ? add_overlay(plan, name, source, err)
	                                 : add_steps(plan, &bind, 1, err);
}

static bool has_target(const struct mount_plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->steps[i].target, target) == 0)
			return true;
	return false;
}

/* Two processors may share a node or a file, which is then bound once. */
static int add_gpu_file(struct mount_plan *plan, const char *target, const char *source,
                        uint32_t attrs, struct error *err)
{
	const struct mount_step step = { STEP_BIND_FILE, target, source, NULL, attrs, false };

	return has_target(plan, target) ? 0 : add_steps(plan, &step, 1, err);
}

static int add_gpu(struct mount_plan *plan, const struct cdi_device *gpu, unsigned number,
                   struct error *err)
{
	for (size_t i = 0; i < gpu->node_count; i++)
		if (add_gpu_file(plan, add_text(plan, "%s", gpu->nodes[i].path + 1),
		                 add_text(plan, "/gpu/%u/%zu", number, i), 0, err) < 0)
			return -1;
	for (size_t i = 0; i < gpu->mount_count; i++) {
		const char *path = gpu->mounts[i].path;

		/* The host's /usr and /lib are mounted already. */
		if (strncmp(path, "/usr/", 5) == 0 || strncmp(path, "/lib", 4) == 0)
			continue;
		if (add_gpu_file(plan, add_text(plan, "%s", path + 1),
		                 add_text(plan, "/gpu/%u/f%zu", number, i),
		                 SAFE | MOUNT_ATTR_RDONLY, err) < 0)
			return -1;
	}
	return 0;
}

/* The spec comes from the server: a processor that the base tree does not have is refused. */
static int add_gpus(struct mount_plan *plan, const struct base_tree *tree, const struct cdi *gpus,
                    const struct spec *spec, struct error *err)
{
	if ((spec->gpus & ~tree->gpus) != 0)
		return error_set(
		        err, ERR_NOT_FOUND,
		        "gpus: not all devices of the set 0x%llx can be used on this machine",
		        (unsigned long long)spec->gpus);
	for (unsigned i = 0; gpus != NULL && i < gpus->count; i++)
		if ((spec->gpus >> i & 1) != 0 && add_gpu(plan, &gpus->devices[i], i, err) < 0)
			return -1;
	return 0;
}

static int add_mounts(struct mount_plan *plan, const struct spec *spec, struct error *err)
{
	for (unsigned i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *mount = &spec->mounts[i];

		if (add_overlay(plan, add_text(plan, "%s", mount->target + 1),
		                add_text(plan, "/mounts/%u", mount->source), err) < 0)
			return -1;
	}
	return 0;
}

/* inotify instances and watches count for the user of the host who owns the spawner's namespace, as
 * well as for the sandbox. Without a limit of its own, one sandbox could take all that the user
 * may have. */
static int add_inotify_limits(struct mount_plan *plan, const struct kernel_shares *shares,
                              struct error *err)
{
	const struct mount_step limits[] = {
		LIMIT_USER("inotify_instances",
		           add_text(plan, "%" PRIu64, shares->inotify_instances)),
		LIMIT_USER("inotify_watches", add_text(plan, "%" PRIu64, shares->inotify_watches)),
	};

	return add_steps(plan, limits, ARRAY_LEN(limits), err);
}

/* /dev comes after the spec's mounts, and /proc last: a mount of the spec never covers them. */
static int add_all(struct mount_plan *plan, enum userns_mode mode, const struct base_tree *tree,
                   const struct skeleton *skeleton, const struct kernel_shares *shares,
                   const struct cdi *gpus, const struct spec *spec, struct error *err)
{
	if (add_root(plan, err) < 0 || add_programs(plan, tree, "usr", err) < 0)
		return -1;
	for (size_t i = 0; skeleton->program_dirs[i] != NULL; i++)
		if (add_programs(plan, tree, skeleton->program_dirs[i], err) < 0)
			return -1;
	if (add_steps(plan, writable_dirs, ARRAY_LEN(writable_dirs), err) < 0 ||
	    add_mounts(plan, spec, err) < 0 ||
	    add_steps(plan, devices, ARRAY_LEN(devices), err) < 0 ||
	    add_gpus(plan, tree, gpus, spec, err) < 0 ||
	    add_steps(plan, run_dir, ARRAY_LEN(run_dir), err) < 0 ||
	    add_steps(plan, mode == USERNS_SINGLE_ID ? &proc_single_id : &proc_hiding_agent, 1,
	              err) < 0 ||
	    add_steps(plan, network_limits, ARRAY_LEN(network_limits), err) < 0 ||
	    add_inotify_limits(plan, shares, err) < 0)
		return -1;
	return add_steps(plan, proc, ARRAY_LEN(proc), err);
}

int mount_plan_make(enum userns_mode mode, const struct base_tree *tree,
                    const struct skeleton *skeleton, const struct kernel_shares *shares,
                    const struct cdi *gpus, const struct spec *spec, struct mount_plan *ret,
                    struct error *err)
{
	ret->count = ret->text_used = 0;
	if (add_all(ret, mode, tree, skeleton, shares, gpus, spec, err) < 0)
		return -1;
	if (ret->text_used >= sizeof ret->text)
		return error_set(err, ERR_LIMIT,
		                 "the paths of all mounts have more than %zu bytes together: "
		                 "use shorter ones",
		                 sizeof ret->text);
	return 0;
}
