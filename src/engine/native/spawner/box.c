#include "engine/native/spawner/box.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/agent_image.h"
#include "engine/native/root/plan.h"
#include "engine/native/spawner/inside.h"
#include "engine/native/spawner/verify.h"

/* That of cgroups comes later: it begins where the process is when it is made. */
enum {
	NAMESPACES = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
	             CLONE_NEWUTS,
};

/* --- its directory ------------------------------------------------------------------ */

static int make_dir(int parent, const char *path, mode_t mode, const struct workshop *shop,
                    uint32_t owner, struct error *err)
{
	if (mkdirat(parent, path, 0700) < 0)
		return error_sys(err, "make %s", path);
	if (shop->home.mode != HOME_ALONE && fchownat(parent, path, owner, owner, 0) < 0)
		return error_sys(err, "give %s away", path);
	if (mode != 0700 && fchmodat(parent, path, mode, 0) < 0)
		return error_sys(err, "mode of %s", path);
	return 0;
}

/* Nobody has been in it yet: plain paths will do. */
static int fill_directory(struct workshop *shop, int dir, const struct ids_block *ids,
                          struct error *err)
{
	uint32_t files = shop->home.ids.files;

	if (make_dir(dir, "work", 0700, shop, files, err) < 0 ||
	    make_dir(dir, "upper", 01777, shop, files, err) < 0 ||
	    make_dir(dir, "upper/workspace", 0755, shop, ids->user, err) < 0 ||
	    make_dir(dir, "upper/home", 0755, shop, files, err) < 0)
		return -1;
	return make_dir(dir, "upper" SPEC_HOME, 0755, shop, ids->user, err);
}

/* Held for as long as it is awake: two overlays on the same files would destroy them. */
static int open_directory(struct workshop *shop, struct box *box, struct error *err)
{
	box->dir = openat(shop->disk.dir, box->id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (box->dir < 0)
		return error_sys(err, "the directory of sandbox %s", box->id);
	if (flock(box->dir, LOCK_EX | LOCK_NB) < 0)
		return error_set(err, ERR_INVALID, "sandbox %s is awake in another server",
		                 box->id);
	return 0;
}

static int make_directory(struct workshop *shop, struct box *box, struct error *err)
{
	const struct disk_use most = { box->limits.disk, box->limits.inodes };

	if (mkdirat(shop->disk.dir, box->id, 0700) < 0)
		return error_sys(err, "make the directory of sandbox %s", box->id);
	if (ids_claim(&shop->ids, box->id, &box->ids, err) < 0)
		return -1;
	if (open_directory(shop, box, err) < 0)
		return -1;
	if (shop->home.mode != HOME_ALONE && fchown(box->dir, box->ids.agent, box->ids.agent) < 0)
		return error_sys(err, "give the directory of sandbox %s away", box->id);
	if (shop->disk.kind == DISK_QUOTA &&
	    disk_limit(&shop->disk, box->dir, box->ids.number, &most, err) < 0)
		return -1;
	return fill_directory(shop, box->dir, &box->ids, err);
}

#define VOLATILE "work/work/incompat/volatile"

/* The kernel leaves a note that data may not have been written out, and refuses to go on with
 * it. It may be ours from the last time; after a crash of the whole machine files may be as old
 * as the last write-back. */
static int reopen_directory(struct workshop *shop, struct box *box, struct error *err)
{
	if (ids_from_owner(&shop->ids, box->id, &box->ids, err) < 0 ||
	    open_directory(shop, box, err) < 0)
		return -1;
	/* Who owns the root may have closed it, for the next process too. */
	if (fchmodat(box->dir, "upper", 01777, 0) < 0)
		return error_sys(err, "wake sandbox %s", box->id);
	(void)unlinkat(box->dir, VOLATILE "/dirty", 0);
	if (unlinkat(box->dir, VOLATILE, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_sys(err, "wake sandbox %s", box->id);
	return 0;
}

/* --- its process -------------------------------------------------------------------- */

/* If the whole machine runs out of memory, sandboxes go before the host's own programs. */
#define FIRST_TO_GO "500"

static int write_proc(struct workshop *shop, const struct box *box, const char *file,
                      const char *text, struct error *err)
{
	char path[64];
	AUTO_FD int fd = -1;

	(void)snprintf(path, sizeof path, "%d/%s", box->pid, file);
	fd = openat(shop->home.proc, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return error_sys(err, "write %s", file);
	return 0;
}

static int write_map(struct workshop *shop, const struct box *box, const char *file, bool gids,
                     struct error *err)
{
	char text[IDS_MAP_SIZE];

	ids_map(&shop->home, &box->ids, gids, text);
	return write_proc(shop, box, file, text, err);
}

/* As long as nobody has, anybody may: a program inside would. Quotas are by these numbers. */
static int write_project(struct workshop *shop, const struct box *box, struct error *err)
{
	char text[32];

	if (shop->home.mode != HOME_ROOT)
		return 0; /* it has none to give: nobody can */
	(void)snprintf(text, sizeof text, "0 %u 1", box->ids.number);
	return write_proc(shop, box, "projid_map", text, err);
}

/* The parent's half of the start: the process waits until `go` gets a byte. */
static int let_go(struct workshop *shop, const struct box *box, int go, struct error *err)
{
	if (write_proc(shop, box, "oom_score_adj", FIRST_TO_GO, err) < 0 ||
	    write_map(shop, box, "uid_map", false, err) < 0 ||
	    write_map(shop, box, "gid_map", true, err) < 0 || write_project(shop, box, err) < 0)
		return -1;
	return write(go, "x", 1) == 1 ? 0 : error_sys(err, "start the sandbox");
}

static pid_t clone_into(const struct cgroup *group)
{
	struct clone_args args = { .flags = (uint64_t)NAMESPACES | (uint64_t)CLONE_CLEAR_SIGHAND,
		                   .exit_signal = SIGCHLD };

	if (group->unified >= 0) {
		args.flags |= (uint64_t)CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)group->unified;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* What parent and child hold of each other until the agent runs. */
struct ends {
	int channel[2], go[2], report[2];
};

static void close_ends(const struct ends *ends)
{
	const int all[] = { ends->channel[0], ends->channel[1], ends->go[0],
		            ends->go[1],      ends->report[0],  ends->report[1] };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i] >= 0)
			(void)close(all[i]);
}

static int open_ends(struct ends *ends, struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends->channel) < 0)
		return error_sys(err, "a channel");
	if (pipe2(ends->go, O_CLOEXEC) < 0 || pipe2(ends->report, O_CLOEXEC) < 0)
		return error_sys(err, "a pipe");
	return 0;
}

static int start_process(struct workshop *shop, struct box *box, struct inside *inside,
                         struct error *err)
{
	struct ends ends = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	int r = open_ends(&ends, err);

	if (r == 0) {
		inside->channel = ends.channel[1];
		inside->go = ends.go[0];
		inside->report = ends.report[1];
		box->pid = clone_into(&box->group);
		if (box->pid == 0)
			inside_run(inside);
		box->channel = TAKE_FD(ends.channel[0]);
		box->report = TAKE_FD(ends.report[0]);
		r = box->pid < 0 ? error_sys(err, "new namespaces")
		                 : let_go(shop, box, ends.go[1], err);
	}
	close_ends(&ends);
	return r;
}

void box_prepare(struct box_image *ahead)
{
	struct error err;

	if (ahead->fd < 0)
		ahead->fd = agent_image_open(NULL, &err);
}

static int take_image(struct box_image *ahead, struct error *err)
{
	int image = ahead->fd;

	ahead->fd = -1;
	return image >= 0 ? image : agent_image_open(NULL, err);
}

int box_start(struct workshop *shop, struct box_image *ahead, const struct request *request,
              struct box *box, struct error *err)
{
	static struct plan plan;
	AUTO_FD int image = -1;
	struct inside inside = { .home = &shop->home,
		                 .plan = &plan,
		                 .spec = &request->spec,
		                 .without_memory = (shop->groups.has & CGROUP_HAS_MEMORY) == 0,
		                 .without_cpu = (shop->groups.has & CGROUP_HAS_CPU) == 0 };

	*box = (struct box){ .number = request->number,
		             .pid = -1,
		             .report = -1,
		             .channel = -1,
		             .dir = -1,
		             .is_fresh = request->spec.fresh,
		             .limits = request->spec.limits,
		             .end = ENGINE_END_AGENT_DIED };
	memcpy(box->id, request->spec.id, sizeof box->id);
	box->group.unified = -1;
	for (int i = 0; i < V1_COUNT; i++)
		box->group.v1[i] = -1;
	if (plan_make(&shop->home, &shop->skeleton, shop->gpus, &request->spec, &plan, err) < 0)
		return -1;
	if ((request->spec.fresh ? make_directory : reopen_directory)(shop, box, err) < 0)
		return -1;
	if (cgroup_create(&shop->groups, box->id, &box->limits, &box->group, err) < 0)
		return -1;
	image = take_image(ahead, err);
	if (image < 0)
		return -1;
	inside.image = image;
	inside.group = &box->group;
	return start_process(shop, box, &inside, err);
}

int box_is_started(struct workshop *shop, struct box *box, struct error *err)
{
	ssize_t n = read(box->report, err, sizeof *err);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	(void)close(box->report);
	box->report = -1;
	if (n == (ssize_t)sizeof *err) {
		err->msg[sizeof err->msg - 1] = '\0';
		return -1;
	}
	if (n != 0)
		return error_set(err, ERR_SYSTEM, "the sandbox ended while it was set up");
	return verify_from_outside(&shop->home, box->pid, err) < 0 ? -1 : 1;
}

void box_kill(struct box *box, enum engine_end end)
{
	if (box->is_dead)
		return;
	box->is_killed = true;
	if (box->end == ENGINE_END_AGENT_DIED)
		box->end = end;
	/* A frozen one would not notice. */
	cgroup_freeze(&box->group, false);
	if (box->pid > 0)
		(void)kill(box->pid, SIGKILL);
	cgroup_kill(&box->group);
}

void box_failed(struct box *box, const struct error *why)
{
	if (!box->failed)
		box->why = *why; /* what follows from it is told too */
	box->failed = true;
	if (box->pid > 0)
		box_kill(box, ENGINE_END_AGENT_DIED);
	else
		box->is_dead = true;
}

int box_name(struct workshop *shop, struct box *box, const char *id, struct error *err)
{
	if (ids_rename(&shop->ids, &box->ids, id, err) < 0)
		return -1;
	if (renameat2(shop->disk.dir, box->id, shop->disk.dir, id, RENAME_NOREPLACE) < 0)
		return error_sys(err, "name sandbox %s", id);
	memcpy(box->id, id, sizeof box->id);
	return 0;
}

bool box_bury(struct box *box)
{
	if (!cgroup_remove(&box->group))
		return false;
	if (box->report >= 0)
		(void)close(box->report);
	if (box->channel >= 0)
		(void)close(box->channel);
	/* Processes that are being set up may have inherited it: closing alone would not do. */
	if (box->dir >= 0) {
		(void)flock(box->dir, LOCK_UN);
		(void)close(box->dir);
	}
	box->report = box->channel = box->dir = -1;
	return true;
}
