/* lc_step WATCHED N VICTIM[,VICTIM] PROGRAM... - runs belljar under ptrace, and kills the victims
 * with SIGKILL when WATCHED is about to make its Nth system call. A timer could not hit such
 * moments.
 *
 * Roles: server (the program), spawner (its first child), agent (the spawner's child in namespaces
 * of its own, from its start on), helper (any other child of the spawner). With N = 0 no process is
 * killed, and the number of calls of each role is printed: "server 120 spawner 340 ...". */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum role { SERVER, SPAWNER, AGENT, HELPER, OTHER, ROLES };
enum { TASKS_MAX = 512 };

static const char *const names[ROLES] = { "server", "spawner", "agent", "helper", "other" };

static struct task {
	pid_t pid;
	enum role role;
	bool known, in_call;
} tasks[TASKS_MAX];
static long calls[ROLES];
static enum role watched;
static long nth;
static bool victims[ROLES], is_done;

static struct task *task_of(pid_t pid)
{
	struct task *none = NULL;

	for (size_t i = 0; i < TASKS_MAX; i++) {
		if (tasks[i].pid == pid)
			return &tasks[i];
		if (tasks[i].pid == 0 && none == NULL)
			none = &tasks[i];
	}
	if (none == NULL) {
		fputs("lc_step: too many tasks\n", stderr);
		exit(99);
	}
	*none = (struct task){ .pid = pid, .role = OTHER };
	return none;
}

static int role_named(const char *name)
{
	for (int i = 0; i < ROLES; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	fprintf(stderr, "lc_step: unknown role '%s'\n", name);
	exit(99);
}

static bool is_alone(pid_t pid)
{
	char path[64], own[64] = "", its[64] = "";

	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	if (readlink("/proc/self/ns/pid", own, sizeof own - 1) < 0 ||
	    readlink(path, its, sizeof its - 1) < 0)
		return false;
	return strcmp(own, its) != 0;
}

static void born(pid_t parent, pid_t pid)
{
	struct task *child = task_of(pid);
	static bool has_spawner;

	switch (task_of(parent)->role) {
	case SERVER:
		child->role = has_spawner ? OTHER : SPAWNER;
		has_spawner = true;
		break;
	case SPAWNER:
		child->role = is_alone(pid) ? AGENT : HELPER;
		break;
	default:
		break;
	}
	child->known = true;
}

static void strike(void)
{
	is_done = true;
	for (size_t i = 0; i < TASKS_MAX; i++)
		if (tasks[i].pid > 0 && victims[tasks[i].role])
			kill(tasks[i].pid, SIGKILL);
}

static void at_call(struct task *task)
{
	task->in_call = !task->in_call;
	if (!task->in_call)
		return;
	calls[task->role]++;
	if (!is_done && nth != 0 && task->role == watched && calls[watched] == nth)
		strike();
}

/* Handles a stop. Returns the signal with which the task is to be continued. */
static int look_at(struct task *task, int status)
{
	int signal = WSTOPSIG(status), event = status >> 16;
	unsigned long number;

	if (signal == (SIGTRAP | 0x80)) {
		at_call(task);
		return 0;
	}
	if (event == PTRACE_EVENT_EXEC)
		return 0;
	if (event != 0 && event != PTRACE_EVENT_STOP) {
		if (ptrace(PTRACE_GETEVENTMSG, task->pid, 0, &number) == 0)
			born(task->pid, (pid_t)number);
		return 0;
	}
	return event == PTRACE_EVENT_STOP ? 0 : signal;
}

static void let_go(struct task *task, int signal)
{
	/* Processes below the agent are not traced, and none after the kill. */
	bool leave = is_done || (task->known && task->role == OTHER);

	ptrace(leave ? PTRACE_DETACH : PTRACE_SYSCALL, task->pid, 0, signal);
	if (leave)
		task->pid = 0;
}

/* PTRACE_SEIZE instead of PTRACE_TRACEME: new tasks then get no SIGSTOP, which would stay pending
 * if this program exits. */
static pid_t start(char **argv)
{
	const unsigned long wishes = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK |
	                             PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC;
	int go[2];
	char byte;
	pid_t pid;

	if (pipe(go) < 0)
		exit(99);
	pid = fork();
	if (pid == 0) {
		close(go[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(99);
		close(go[0]);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || ptrace(PTRACE_SEIZE, pid, 0, wishes) < 0 ||
	    ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
		exit(99);
	*task_of(pid) = (struct task){ pid, SERVER, true, false };
	if (write(go[1], "x", 1) != 1)
		exit(99);
	close(go[0]);
	close(go[1]);
	return pid;
}

int main(int argc, char **argv)
{
	pid_t server, pid;
	int status, end = 98;

	if (argc < 5) {
		fputs("usage: lc_step WATCHED N VICTIM[,VICTIM] PROGRAM...\n", stderr);
		return 99;
	}
	watched = (enum role)role_named(argv[1]);
	nth = atol(argv[2]);
	for (char *name = strtok(argv[3], ","); name != NULL; name = strtok(NULL, ","))
		victims[role_named(name)] = true;
	server = start(argv + 4);
	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		struct task *task = task_of(pid);

		if (!WIFSTOPPED(status)) {
			task->pid = 0;
			if (pid == server) {
				end = WIFEXITED(status) ? WEXITSTATUS(status)
				                        : 128 + WTERMSIG(status);
				break;
			}
			continue;
		}
		let_go(task, look_at(task, status));
	}
	/* Tasks that are still traced continue when this program exits. */
	for (int i = 0; nth == 0 && i < OTHER; i++)
		fprintf(stderr, "%s %ld%c", names[i], calls[i], i + 1 < OTHER ? ' ' : '\n');
	return nth != 0 && !is_done ? 97 : end;
}
