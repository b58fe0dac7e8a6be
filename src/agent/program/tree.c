#include "agent/program/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"

enum { PROCS_MAX = 32768, STOP_PASSES = 16 };

struct proc {
	pid_t pid, parent;
	uint64_t started; /* tells two processes with the same number apart */
	bool below;       /* this process */
};

/* Two scans can be compared. Pages of these that are not used cost nothing. */
struct procs {
	size_t count;
	struct proc all[PROCS_MAX];
};
static struct procs scans[2];

static int proc_dir = -1;

/* --- looking ----------------------------------------------------------------------- */

/* The name, in parentheses, may contain anything: fields are counted from the last ')'. */
static bool read_proc(const char *name, struct proc *ret)
{
	char path[32], text[1024], *at;
	int fd;
	ssize_t n;

	(void)snprintf(path, sizeof path, "%s/stat", name);
	fd = openat(proc_dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, sizeof text - 1);
	(void)close(fd);
	if (n <= 0)
		return false;
	text[n] = '\0';
	at = strrchr(text, ')');
	if (at == NULL || strlen(at) < 5)
		return false;
	ret->pid = (pid_t)strtol(name, NULL, 10);
	ret->parent = (pid_t)strtol(at + 4, &at, 10); /* behind ") S " */
	for (int i = 0; i < 18 && at != NULL; i++)    /* field 22, from field 4 */
		at = strchr(at + 1, ' ');
	ret->started = at != NULL ? strtoull(at + 1, NULL, 10) : 0;
	ret->below = false;
	return true;
}

/* /proc lists them by number. */
static struct proc *find(struct procs *procs, pid_t pid)
{
	size_t low = 0, high = procs->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (procs->all[middle].pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < procs->count && procs->all[low].pid == pid ? &procs->all[low] : NULL;
}

static bool contains(struct procs *procs, const struct proc *proc)
{
	const struct proc *same = find(procs, proc->pid);

	return same != NULL && same->below && same->started == proc->started;
}

/* Whom a scan is about. */
struct choice {
	tree_known_fn *known; /* children that are passed over, with what is below them */
	void *ctx;
};
static const struct choice everybody;

struct reaper {
	tree_reaped_fn *reaped;
	void *ctx;
};

static bool is_below(struct procs *procs, const struct proc *proc, pid_t self,
                     const struct choice *choice)
{
	const struct proc *parent;

	if (proc->parent == self)
		return choice->known == NULL || !choice->known(choice->ctx, proc->pid);
	parent = find(procs, proc->parent);
	return parent != NULL && parent->below;
}

/* Children come behind their parents in /proc, unless the numbers have gone round. */
static void mark_below(struct procs *procs, const struct choice *choice)
{
	pid_t self = getpid();
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < procs->count; i++) {
			struct proc *proc = &procs->all[i];

			if (!proc->below && is_below(procs, proc, self, choice))
				proc->below = changed = true;
		}
	}
}

/* False: not everything can be seen, not even ourselves perhaps. */
static bool scan(struct procs *procs, const struct choice *choice)
{
	int fd = openat(proc_dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	procs->count = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL && procs->count < PROCS_MAX)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    read_proc(entry->d_name, &procs->all[procs->count]))
			procs->count++;
	if (dir != NULL)
		(void)closedir(dir);
	else if (fd >= 0)
		(void)close(fd);
	mark_below(procs, choice);
	return procs->count < PROCS_MAX && find(procs, getpid()) != NULL;
}

int tree_open(struct error *err)
{
	struct statfs fs;

	proc_dir = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_dir < 0 || fstatfs(proc_dir, &fs) < 0)
		return error_sys(err, "/proc");
	if (fs.f_type != PROC_SUPER_MAGIC)
		return error_set(err, ERR_SYSTEM, "/proc: it is not mounted");
	return proc_dir;
}

void tree_use(int fd)
{
	proc_dir = fd;
}

/* --- signalling -------------------------------------------------------------------- */

/* A child of ours keeps its number until we reap it. Of the others the number may have
 * become somebody else's since we looked: hold on to the process, then look again. */
static void signal_proc(const struct proc *proc, int signo)
{
	struct proc now;
	char name[16];
	int fd;

	if (proc->parent == getpid()) {
		(void)kill(proc->pid, signo);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	(void)snprintf(name, sizeof name, "%d", (int)proc->pid);
	if (fd >= 0 && read_proc(name, &now) && now.started == proc->started)
		(void)syscall(SYS_pidfd_send_signal, fd, signo, NULL, 0);
	if (fd >= 0)
		(void)close(fd);
}

static size_t signal_below(const struct procs *procs, int signo)
{
	size_t count = 0;

	for (size_t i = 0; i < procs->count; i++)
		if (procs->all[i].below) {
			signal_proc(&procs->all[i], signo);
			count++;
		}
	return count;
}

size_t tree_signal(int signo)
{
	(void)scan(&scans[0], &everybody);
	return signal_below(&scans[0], signo);
}

bool tree_reap(tree_reaped_fn *reaped, void *ctx)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0)
		if (reaped != NULL)
			reaped(ctx, pid, status);
	return pid == 0;
}

/* Stops all of them, until a look finds none that was not there the last time. The dead among
 * our children are cleared away before each look (`reaps`): they would slow it down. */
static void stop_all(const struct choice *choice, const struct reaper *reaps)
{
	scans[1].count = 0;
	for (int pass = 0; pass < STOP_PASSES; pass++) {
		struct procs *now = &scans[pass % 2], *before = &scans[(pass + 1) % 2];
		bool news = false;

		if (reaps != NULL)
			(void)tree_reap(reaps->reaped, reaps->ctx);
		(void)scan(now, choice);
		for (size_t i = 0; i < now->count; i++)
			if (now->all[i].below && !contains(before, &now->all[i])) {
				signal_proc(&now->all[i], SIGSTOP);
				news = true;
			}
		if (!news)
			return;
	}
}

bool tree_end(uint64_t ms, tree_reaped_fn *reaped, void *ctx)
{
	const struct reaper reaper = { reaped, ctx };
	uint64_t until = clock_now_ms() + ms;

	while (tree_reap(reaped, ctx)) {
		stop_all(&everybody, &reaper);
		(void)tree_signal(SIGKILL);
		if (!tree_reap(reaped, ctx))
			return true;
		if (clock_now_ms() >= until)
			return false;
		(void)poll(NULL, 0, 1);
	}
	return true;
}

bool tree_kill_unknown(tree_known_fn *known, void *ctx)
{
	const struct choice choice = { known, ctx };
	bool seen;

	stop_all(&choice, NULL);
	seen = scan(&scans[0], &choice);
	return signal_below(&scans[0], SIGKILL) == 0 && seen;
}
