#include "agent/children.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/tree.h"

enum { SWEEP_MS = 2, SWEEP_MAX_MS = 1000, KILL_MAX_MS = 2000 };

/* The stream whose keeper or worker has this pid; NULL: the process is an orphan. */
static struct stream *find_stream_of(struct agent *agent, pid_t pid)
{
	for (size_t i = 0; i < WIRE_STREAMS_MAX; i++)
		if (agent->ids[i] != 0 && agent->streams[i].pid == pid)
			return &agent->streams[i];
	return NULL;
}

void children_reap(struct agent *agent)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL)) > 0) {
		struct stream *stream = find_stream_of(agent, pid);

		if (WIFSTOPPED(status)) {
			/* A program of the agent's user could stop a keeper with SIGSTOP, and a
			 * stopped keeper misses its deadline: send SIGCONT. An orphan is killed
			 * right away. */
			(void)kill(pid, stream != NULL ? SIGCONT : SIGKILL);
			continue;
		}
		if (stream == NULL)
			continue;
		stream->pid = 0;
		stream->handlers->child(stream, status);
	}
}

void children_set_orphans(struct agent *agent)
{
	agent->orphans.some = true;
	agent->orphans.next = 0;
	agent->orphans.wait_ms = SWEEP_MS;
}

static bool has_stream(void *ctx, pid_t pid)
{
	return find_stream_of(ctx, pid) != NULL;
}

/* The interval doubles with each search: a process in an uninterruptible system call cannot be
 * killed, and searching /proc for it must not use up the sandbox's processor time. */
void children_sweep(struct agent *agent, uint64_t now)
{
	struct orphans *orphans = &agent->orphans;

	if (!orphans->some || now < orphans->next)
		return;
	orphans->some = !tree_kill_unknown(has_stream, agent);
	orphans->next = now + orphans->wait_ms;
	if (orphans->wait_ms < SWEEP_MAX_MS)
		orphans->wait_ms *= 2;
}

void children_kill_all(void)
{
	if (getpid() != 1)
		(void)tree_kill_all(KILL_MAX_MS, NULL, NULL);
}
