#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/files/archive/archive.h"
#include "agent/files/files.h"
#include "agent/files/ops.h"
#include "agent/user.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"

enum { MEMORY_MAX = 512 * 1024 * 1024, CPU_SECONDS = 600 };

static void say(struct job *job, const struct wire_message *message)
{
	struct buf buf = buf_fixed(job->out, sizeof job->out);
	struct error err;

	if (wire_encode(message, 0, 0, &buf, &err) == 0)
		(void)!send(job->fd, buf.ptr, buf.len, MSG_NOSIGNAL);
}

static int answer_stats(struct job *job, struct error *err)
{
	struct wire_message message = { .type = WIRE_STATS_ARE };

	if (op_stats(job, &message.stats_are, err) < 0)
		return -1;
	say(job, &message);
	return 0;
}

static int operate(struct job *job, const struct wire_message *request, struct wire_done *done,
                   struct error *err)
{
	switch ((int)request->type) {
	case WIRE_READ:
		return op_read(job, &request->read, done, err);
	case WIRE_WRITE:
		return op_write(job, &request->write, done, err);
	case WIRE_STAT:
		return op_stat(job, &request->stat, done, err);
	case WIRE_LIST:
		return op_list(job, &request->list, done, err);
	case WIRE_TREE:
		return op_tree(job, &request->tree, done, err);
	case WIRE_FIND:
		return op_find(job, &request->find, done, err);
	case WIRE_GREP:
		return op_grep(job, &request->grep, done, err);
	case WIRE_REMOVE:
		return op_remove(job, &request->remove, done, err);
	case WIRE_RENAME:
		return op_rename(job, &request->rename, done, err);
	case WIRE_PACK:
		return op_pack(job, &request->pack, done, err);
	case WIRE_UNPACK:
		return op_unpack(job, &request->unpack, done, err);
	case WIRE_STATS:
		return answer_stats(job, err);
	default:
		return error_set(err, ERR_UNSUPPORTED, "no such operation");
	}
}

/* It can be led to long work by what it finds, not to endless work. */
static void set_limits(void)
{
	static const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
	static const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };

	(void)setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes */
	(void)setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
}

/* Becoming somebody else cancels it, so it comes after that. */
static int die_with_agent(struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	return 0;
}

void worker_process_run(const struct agent *agent, const struct wire_message *request, int socket)
{
	static struct job job;
	struct wire_message answer = { .type = WIRE_DONE };
	int root = agent->root;
	struct error err;
	sigset_t none;

	/* Every other descriptor is the agent's: the channel, and what belongs to other streams. */
	if (fd_renumber((int *const[]){ &socket, &root }, 2, &err) < 0)
		_exit(1); /* the agent then reports the worker as lost */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGXFSZ, SIG_IGN); /* an error, not the end: there is a file to undo */
	set_limits();
	(void)setpriority(PRIO_PROCESS, 0, agent->nice);
	job = (struct job){ .fd = socket, .root = root, .workspace = agent->workspace };
	if (user_become(&agent->user, &err) < 0 || die_with_agent(&err) < 0 ||
	    confine_worker(&agent->confine, &err) < 0 ||
	    operate(&job, request, &answer.done, &err) < 0 || job_flush(&job, &err) < 0)
		answer = stream_failed_message(&err);
	say(&job, &answer);
	_exit(0);
}
