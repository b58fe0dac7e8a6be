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

enum { PROCS_MAX = 32768, STOP_PASSES = 16, COMMAND_SIZE = 48 };

struct proc {
	pid_t pid, parent;
	uint64_t started; /* start time: two processes that had the same number differ in it */
	bool below;       /* the process is a selected descendant of the calling process */
};

/* Two lists, so that one scan can be compared with the one before. Pages that are never written
 * take no memory. */
struct procs {
	size_t count;
	struct proc all[PROCS_MAX];
};
static struct procs scans[2];

static int proc_dir = -1;

/* --- reading /proc ----------------------------------------------------------------------- */

/* /proc/PID/stat has the name of the program in parentheses, and a program can give itself a name
 * with spaces and parentheses: count the fields from the last ')'. */
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
	ret->parent = (pid_t)strtol(at + 4, &at, 10); /* field 4, after ") S " */
	for (int i = 0; i < 18 && at != NULL; i++)    /* field 22 is the start time */
		at = strchr(at + 1, ' ');
	ret->started = at != NULL ? strtoull(at + 1, NULL, 10) : 0;
	ret->below = false;
	return true;
}

/* Binary search: /proc lists processes in the order of their numbers. */
static struct proc *find_proc(struct procs *procs, pid_t pid)
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

static bool contains_proc(struct procs *procs, const struct proc *proc)
{
	const struct proc *same = find_proc(procs, proc->pid);

	return same != NULL && same->below && same->started == proc->started;
}

/* Which descendants a scan selects. */
struct selection {
	/* Returns true for a child that is left out, with its descendants. NULL: selects all. */
	tree_known_fn *known;
	void *ctx;
};
static const struct selection all_descendants;

struct reaper {
	tree_reaped_fn *reaped;
	void *ctx;
};

static bool is_below(struct procs *procs, const struct proc *proc, pid_t self,
                     const struct selection *selection)
{
	const struct proc *parent;

	if (proc->parent == self)
		return selection->known == NULL || !selection->known(selection->ctx, proc->pid);
	parent = find_proc(procs, proc->parent);
	return parent != NULL && parent->below;
}

/* Usually one pass is enough: a child has a higher number than its parent and comes later in /proc,
 * unless the numbers have wrapped around. */
static void mark_below(struct procs *procs, const struct selection *selection)
{
	pid_t self = getpid();
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < procs->count; i++) {
			struct proc *proc = &procs->all[i];

			if (!proc->below && is_below(procs, proc, self, selection))
				proc->below = changed = true;
		}
	}
}

/* False: the list is incomplete, because there are too many processes or /proc cannot be read. */
static bool scan_procs(struct procs *procs, const struct selection *selection)
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
	mark_below(procs, selection);
	return procs->count < PROCS_MAX && find_proc(procs, getpid()) != NULL;
}

int tree_open(struct error *err)
{
	struct statfs fs;

	proc_dir = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc_dir < 0 || fstatfs(proc_dir, &fs) < 0)
		return error_sys(err, "open /proc");
	if (fs.f_type != PROC_SUPER_MAGIC)
		return error_set(err, ERR_SYSTEM, "/proc is not mounted");
	return proc_dir;
}

void tree_use(int fd)
{
	proc_dir = fd;
}

/* --- signals -------------------------------------------------------------------- */

/* A direct child keeps its number until this process reaps it. The number of any other process may
 * have been reused since the scan, by a process that must not be killed: open a pidfd first, then
 * verify the start time, then send the signal through the pidfd. */
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
	(void)scan_procs(&scans[0], &all_descendants);
	return signal_below(&scans[0], signo);
}

/* Reads a file of a process. Bytes that are not printable ASCII become spaces: arguments end with
 * NUL, and a program chooses its own name. */
static size_t read_printable(pid_t pid, const char *file, char *out, size_t size)
{
	char path[40];
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof path, "%d/%s", (int)pid, file);
	fd = openat(proc_dir, path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, out, size - 1) : 0;
	if (fd >= 0)
		(void)close(fd);
	n = n > 0 ? n : 0;
	for (ssize_t i = 0; i < n; i++)
		if (out[i] < ' ' || out[i] > '~')
			out[i] = ' ';
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
	return (size_t)n;
}

void tree_describe(char *out, size_t size)
{
	static const char more[] = ", ...";
	char command[COMMAND_SIZE];
	size_t used = 0;

	out[0] = '\0';
	(void)scan_procs(&scans[0], &all_descendants);
	for (size_t i = 0; i < scans[0].count; i++) {
		pid_t pid = scans[0].all[i].pid;

		/* A process without a command line is a zombie. */
		if (!scans[0].all[i].below ||
		    read_printable(pid, "cmdline", command, sizeof command) == 0)
			continue;
		if (used + 2 + strlen(command) + sizeof more > size) {
			(void)snprintf(out + used, size - used, "%s", more);
			return;
		}
		used += (size_t)snprintf(out + used, size - used, "%s%s", used != 0 ? ", " : "",
		                         command);
	}
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

/* Sends SIGSTOP until a scan finds no process that was not in the scan before. Children that have
 * exited are reaped before each scan (`reaper`), because a fork bomb leaves thousands of them, and
 * reading each takes time in which the rest can fork. */
static void stop_processes(const struct selection *selection, const struct reaper *reaper)
{
	scans[1].count = 0;
	for (int pass = 0; pass < STOP_PASSES; pass++) {
		struct procs *now = &scans[pass % 2], *before = &scans[(pass + 1) % 2];
		bool found_new = false;

		if (reaper != NULL)
			(void)tree_reap(reaper->reaped, reaper->ctx);
		(void)scan_procs(now, selection);
		for (size_t i = 0; i < now->count; i++)
			if (now->all[i].below && !contains_proc(before, &now->all[i])) {
				signal_proc(&now->all[i], SIGSTOP);
				found_new = true;
			}
		if (!found_new)
			return;
	}
}

bool tree_kill_all(uint64_t ms, tree_reaped_fn *reaped, void *ctx)
{
	const struct reaper reaper = { reaped, ctx };
	uint64_t until = clock_now_ms() + ms;

	while (tree_reap(reaped, ctx)) {
		stop_processes(&all_descendants, &reaper);
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
	const struct selection selection = { known, ctx };
	bool complete;

	stop_processes(&selection, NULL);
	complete = scan_procs(&scans[0], &selection);
	return signal_below(&scans[0], SIGKILL) == 0 && complete;
}
