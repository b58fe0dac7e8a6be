#include "agent/children.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/program/tree.h"
#include "base/clock.h"

enum { SWEEP_MS = 2, SWEEP_MAX_MS = 1000 };

static struct stream *carried_by(struct agent *agent, pid_t pid)
{
	for (size_t i = 0; i < AGENT_STREAMS; i++)
		if (agent->ids[i] != 0 && agent->streams[i].pid == pid)
			return &agent->streams[i];
	return NULL;
}

void children_reap(struct agent *agent)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED | __WALL)) > 0) {
		struct stream *stream = carried_by(agent, pid);

		if (WIFSTOPPED(status)) {
			/* Ours are not to be held up by whoever can signal them. */
			(void)kill(pid, stream != NULL ? SIGCONT : SIGKILL);
			continue;
		}
		if (stream == NULL)
			continue;
		stream->pid = 0;
		stream->carrier->child(stream, status);
	}
}

void children_orphaned(struct agent *agent)
{
	agent->orphans.some = true;
	agent->orphans.next = 0;
	agent->orphans.wait_ms = SWEEP_MS;
}

static bool is_known(void *ctx, pid_t pid)
{
	return carried_by(ctx, pid) != NULL;
}

/* Less and less often: one that cannot be killed must not keep us busy for ever. */
void children_sweep(struct agent *agent, uint64_t now)
{
	struct orphans *orphans = &agent->orphans;

	if (!orphans->some || now < orphans->next)
		return;
	orphans->some = !tree_kill_unknown(is_known, agent);
	orphans->next = now + orphans->wait_ms;
	if (orphans->wait_ms < SWEEP_MAX_MS)
		orphans->wait_ms *= 2;
}

void children_end(uint64_t ms)
{
	if (getpid() == 1)
		return; /* the kernel does it */
	(void)tree_end(ms, NULL, NULL);
}
