/* worker_process.c - the life of a worker process, from the fork to its reply.
 *
 * A worker process begins as a copy of the agent, which is PID 1 and has capabilities, and gives up
 * everything that the operation does not need before it opens the first path: descriptors, user id,
 * capabilities, system calls. A symbolic link or a hostile file then reaches no more than the
 * user's own programs. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/files/archive/archive.h"
#include "agent/files/ops.h"
#include "agent/files/worker.h"
#include "agent/user.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/fd.h"

enum { MEMORY_MAX = 512 * 1024 * 1024, CPU_SECONDS = 600 };

static void send_message(struct job *job, const struct wire_message *message)
{
	struct buf buf = buf_fixed(job->out, sizeof job->out);
	struct error err;

	if (wire_encode(message, 0, 0, &buf, &err) == 0)
		(void)!send(job->fd, buf.ptr, buf.len, MSG_NOSIGNAL);
}

static int reply_stats(struct job *job, struct error *err)
{
	struct wire_message message = { .type = WIRE_STATS_ARE };

	if (op_stats(job, &message.stats_are, err) < 0)
		return -1;
	send_message(job, &message);
	return 0;
}

/* The operations that copies need. On the host no other one is performed: renaming, for example,
 * would give a file that was copied a name that programs there trust. */
static bool is_copy_operation(const struct wire_message *request)
{
	switch ((int)request->type) {
	case WIRE_READ:
	case WIRE_STAT:
	case WIRE_FIND:
	case WIRE_PACK:
	case WIRE_UNPACK:
		return true;
	case WIRE_WRITE:
		return request->write.mode != WIRE_WRITE_APPEND;
	default:
		return false;
	}
}

static int run_operation(struct job *job, const struct wire_message *request,
                         struct wire_done *done, struct error *err)
{
	if (job->on_host && !is_copy_operation(request))
		return error_set(err, ERR_UNSUPPORTED,
		                 "the agent on the host performs only the operations of copies");
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
		return reply_stats(job, err);
	default:
		return error_set(err, ERR_UNSUPPORTED, "no such operation");
	}
}

/* Files in the sandbox can make an operation take long, for example a pattern over a huge tree;
 * these limits bound the time and the memory. */
static void set_limits(void)
{
	static const struct rlimit memory = { MEMORY_MAX, MEMORY_MAX };
	static const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };

	(void)setrlimit(RLIMIT_CPU, &cpu);
#ifndef __SANITIZE_ADDRESS__ /* its shadow memory reserves terabytes of addresses */
	(void)setrlimit(RLIMIT_AS, &memory);
#else
	(void)memory;
#endif
}

/* The filter of confinement_apply_worker() refuses getrlimit(2). */
static bool has_small_files(void)
{
	struct rlimit size;

	return getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur <= WIRE_FULL_FILE_MAX;
}

/* A change of user id clears the parent-death signal, so it is set after user_become(). */
static int set_death_signal(struct error *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return error_sys(err, "prctl");
	return 0;
}

void worker_process_run(const struct agent *agent, const struct wire_message *request, int socket)
{
	static struct job job;
	struct wire_message reply = { .type = WIRE_DONE };
	int root = agent->root;
	struct error err;
	sigset_t none;

	/* Every other descriptor belongs to the agent: the channel to the server, and other
	 * streams. */
	if (fd_renumber((int *const[]){ &socket, &root }, 2, &err) < 0)
		_exit(1); /* the agent then reports the worker as lost */
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	set_limits();
	(void)setpriority(PRIO_PROCESS, 0, agent->nice);
	job = (struct job){ .fd = socket,
		            .root = root,
		            .workspace = agent->workspace,
		            .on_host = agent->on_host,
		            .is_disk_full = has_small_files(),
		            .allowed = agent->allowed };
	if (user_become(&agent->user, &err) < 0 || set_death_signal(&err) < 0 ||
	    confinement_apply_worker(&agent->confine, &err) < 0 ||
	    run_operation(&job, request, &reply.done, &err) < 0 || job_flush(&job, &err) < 0)
		reply = stream_failed_message(&err);
	send_message(&job, &reply);
	_exit(0);
}
