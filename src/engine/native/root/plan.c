#include "engine/native/root/plan.h"

#include <linux/mount.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

enum {
	SAFE = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	SAFEST = SAFE | MOUNT_ATTR_NOEXEC,
	/* It can be written to all the same: only its times and mode cannot be changed. */
	NODE = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
};

/* Everything of an upper layer that could point elsewhere is off, whatever the kernel's
 * defaults are. Volatile: nothing inside can make the whole disk of the host be written out, and
 * neither does its end. */
#define OVERLAY "userxattr,index=off,metacopy=off,xino=off"

/* Nothing in it names the sandbox, and the devices are the spawner's. The agent's group may see
 * all processes, programs see their own. */
static const struct plan_step devices[] = {
	{ PLAN_NEW, "dev", "tmpfs", "mode=755,size=64k,nr_inodes=256",
	  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false },
	{ PLAN_FILE, "dev/null", "/dev/null", NULL, NODE, false },
	{ PLAN_FILE, "dev/zero", "/dev/zero", NULL, NODE, false },
	{ PLAN_FILE, "dev/full", "/dev/full", NULL, NODE, false },
	{ PLAN_FILE, "dev/random", "/dev/random", NULL, NODE, false },
	{ PLAN_FILE, "dev/urandom", "/dev/urandom", NULL, NODE, false },
	{ PLAN_FILE, "dev/tty", "/dev/tty", NULL, NODE, false },
	{ PLAN_LINK, "dev/fd", "/proc/self/fd", NULL, 0, false },
	{ PLAN_LINK, "dev/stdin", "/proc/self/fd/0", NULL, 0, false },
	{ PLAN_LINK, "dev/stdout", "/proc/self/fd/1", NULL, 0, false },
	{ PLAN_LINK, "dev/stderr", "/proc/self/fd/2", NULL, 0, false },
	{ PLAN_LINK, "dev/ptmx", "pts/ptmx", NULL, 0, false },
	{ PLAN_NEW, "dev/pts", "devpts", "ptmxmode=0666,mode=0620,max=64",
	  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, false },
	{ PLAN_NEW, "dev/shm", "tmpfs", "mode=1777,size=64m,nr_inodes=4096", SAFE, false },
};

/* Made with the sandbox; made again if a program removed them. */
static const struct plan_step own[] = {
	{ PLAN_OWN, "workspace", NULL, NULL, 0, false },
	{ PLAN_OWN, "home/coderunner", NULL, NULL, 0, false },
};

/* After the graphics processors. */
static const struct plan_step kernel[] = {
	{ PLAN_CLOSE, "dev", NULL, NULL, MOUNT_ATTR_RDONLY, false },
	{ PLAN_NEW, "run", "tmpfs", "mode=1777,size=1m,nr_inodes=1024", SAFE, false },
};

static const struct plan_step proc_for_two = { PLAN_NEW, "proc",
	                                       "proc",   "hidepid=invisible,gid=999",
	                                       SAFEST,   false };
static const struct plan_step proc_for_one = { PLAN_NEW, "proc", "proc", NULL, SAFEST, false };

#define NO_MORE(kind)                                                                              \
	{                                                                                          \
		PLAN_WRITE, "proc/sys/user/max_" kind "_namespaces", "0", NULL, 0, false           \
	}
#define MASK(path)                                                                                 \
	{                                                                                          \
		PLAN_MASK, "proc/" path, NULL, NULL, 0, false                                      \
	}
#define READ_ONLY(path)                                                                            \
	{                                                                                          \
		PLAN_READONLY, "proc/" path, NULL, NULL, MOUNT_ATTR_RDONLY | SAFEST, false         \
	}

/* No namespaces within: most ways to the kernel's errors begin with one. Then what tells about
 * the machine and its other users is hidden, and what could be changed is made read-only. */
static const struct plan_step proc[] = {
	NO_MORE("user"),       NO_MORE("net"),        NO_MORE("pid"),
	NO_MORE("ipc"),        NO_MORE("uts"),        NO_MORE("cgroup"),
	NO_MORE("time"),       NO_MORE("mnt"),        MASK("acpi"),
	MASK("asound"),        MASK("interrupts"),    MASK("kallsyms"),
	MASK("kcore"),         MASK("keys"),          MASK("key-users"),
	MASK("kmsg"),          MASK("kpagecount"),    MASK("kpageflags"),
	MASK("kpagecgroup"),   MASK("latency_stats"), MASK("pagetypeinfo"),
	MASK("sched_debug"),   MASK("schedstat"),     MASK("scsi"),
	MASK("slabinfo"),      MASK("timer_list"),    MASK("timer_stats"),
	MASK("vmallocinfo"),   MASK("sysrq-trigger"), MASK("config.gz"),
	MASK("locks"),         MASK("diskstats"),     MASK("buddyinfo"),
	MASK("zoneinfo"),      MASK("iomem"),         MASK("ioports"),
	MASK("modules"),       MASK("pressure"),      MASK("softirqs"),
	MASK("dynamic_debug"), MASK("partitions"),    MASK("swaps"),
	MASK("consoles"),      MASK("dma"),           MASK("fb"),
	MASK("mdstat"),        MASK("misc"),          MASK("mtrr"),
	MASK("bootconfig"),    MASK("vmcore"),        MASK("cmdline"),
	READ_ONLY("bus"),      READ_ONLY("fs"),       READ_ONLY("irq"),
	READ_ONLY("sys"),      READ_ONLY("driver"),   READ_ONLY("tty"),
};

/* --- making ------------------------------------------------------------------------ */

static int add(struct plan *plan, const struct plan_step *steps, size_t count, struct error *err)
{
	if (count > PLAN_MAX - plan->count)
		return error_set(err, ERR_LIMIT, "more than %d things to mount", PLAN_MAX);
	memcpy(plan->steps + plan->count, steps, count * sizeof *steps);
	plan->count += count;
	return 0;
}

/* The last text is cut if there is no room: too_long() tells. */
static PRINTF_LIKE(2, 3) const char *text(struct plan *plan, const char *fmt, ...)
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

static int add_overlay(struct plan *plan, const char *target, const char *lower, struct error *err)
{
	const struct plan_step step = { PLAN_NEW,
		                        target,
		                        "overlay",
		                        text(plan, "lowerdir=%s:/empty," OVERLAY, lower),
		                        SAFE | MOUNT_ATTR_RDONLY,
		                        false };

	return add(plan, &step, 1, err);
}

/* The working directory is the sandbox's own. */
static int add_root(struct plan *plan, struct error *err)
{
	const struct plan_step step = {
		PLAN_NEW,  "",
		"overlay", "lowerdir=/skeleton,upperdir=upper,workdir=work,volatile," OVERLAY,
		SAFE,      false
	};

	return add(plan, &step, 1, err);
}

/* An overlay has locks, watches and sockets of its own. A bind has not, but shows what is
 * mounted below. */
static int add_programs(struct plan *plan, const struct home *home, const char *name,
                        struct error *err)
{
	const struct plan_step bind = {
		PLAN_BIND, name, text(plan, "/%s", name), NULL, SAFE | MOUNT_ATTR_RDONLY, true
	};

	return home->usr_is_whole ? add_overlay(plan, name, text(plan, "/%s", name), err)
	                          : add(plan, &bind, 1, err);
}

/* Two devices may share a node, or a file. */
static bool is_planned(const struct plan *plan, const char *target)
{
	for (size_t i = 0; i < plan->count; i++)
		if (strcmp(plan->steps[i].target, target) == 0)
			return true;
	return false;
}

static int add_gpu(struct plan *plan, const struct cdi_device *gpu, unsigned number,
                   struct error *err)
{
	for (size_t i = 0; i < gpu->node_count; i++) {
		const struct plan_step node = { PLAN_FILE,
			                        text(plan, "%s", gpu->nodes[i].path + 1),
			                        text(plan, "/gpu/%u/%zu", number, i),
			                        NULL,
			                        0,
			                        false };

		if (!is_planned(plan, node.target) && add(plan, &node, 1, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < gpu->mount_count; i++) {
		const struct cdi_mount *file = &gpu->mounts[i];
		const struct plan_step step = { PLAN_FILE,
			                        text(plan, "%s", file->path + 1),
			                        text(plan, "/gpu/%u/f%zu", number, i),
			                        NULL,
			                        SAFE | MOUNT_ATTR_RDONLY,
			                        false };

		/* The machine's own programs and libraries are there already. */
		if (strncmp(file->path, "/usr/", 5) == 0 || strncmp(file->path, "/lib", 4) == 0)
			continue;
		if (!is_planned(plan, step.target) && add(plan, &step, 1, err) < 0)
			return -1;
	}
	return 0;
}

static int add_gpus(struct plan *plan, const struct home *home, const struct cdi *gpus,
                    const struct spec *spec, struct error *err)
{
	if ((spec->gpus & ~home->gpus) != 0)
		return error_set(err, ERR_NOT_FOUND, "gpus: not all of 0x%llx can be offered",
		                 (unsigned long long)spec->gpus);
	for (unsigned i = 0; gpus != NULL && i < gpus->count; i++)
		if ((spec->gpus >> i & 1) != 0 && add_gpu(plan, &gpus->devices[i], i, err) < 0)
			return -1;
	return 0;
}

static int add_mounts(struct plan *plan, const struct spec *spec, struct error *err)
{
	for (unsigned i = 0; i < spec->mount_count; i++) {
		const struct spec_mount *mount = &spec->mounts[i];

		if (add_overlay(plan, text(plan, "%s", mount->target + 1),
		                text(plan, "/mounts/%u", mount->source), err) < 0)
			return -1;
	}
	return 0;
}

static int add_all(struct plan *plan, const struct home *home, const struct skeleton *skeleton,
                   const struct cdi *gpus, const struct spec *spec, struct error *err)
{
	bool alone = home->mode == HOME_ALONE;

	if (add_root(plan, err) < 0 || add_programs(plan, home, "usr", err) < 0)
		return -1;
	for (size_t i = 0; skeleton->over[i] != NULL; i++)
		if (add_programs(plan, home, skeleton->over[i], err) < 0)
			return -1;
	if (add(plan, own, ARRAY_LEN(own), err) < 0 || add_mounts(plan, spec, err) < 0 ||
	    add(plan, devices, ARRAY_LEN(devices), err) < 0 ||
	    add_gpus(plan, home, gpus, spec, err) < 0 ||
	    add(plan, kernel, ARRAY_LEN(kernel), err) < 0 ||
	    add(plan, alone ? &proc_for_one : &proc_for_two, 1, err) < 0)
		return -1;
	return add(plan, proc, ARRAY_LEN(proc), err);
}

int plan_make(const struct home *home, const struct skeleton *skeleton, const struct cdi *gpus,
              const struct spec *spec, struct plan *ret, struct error *err)
{
	ret->count = ret->text_used = 0;
	if (add_all(ret, home, skeleton, gpus, spec, err) < 0)
		return -1;
	if (ret->text_used >= sizeof ret->text)
		return error_set(err, ERR_LIMIT, "the names of what is to be mounted are too long");
	return 0;
}
