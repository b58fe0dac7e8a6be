/* fuzz_agent.c - a hostile server against the whole agent, without starting a process.
 *
 * Dispatch, programs and workers are the real ones. fork() only returns a number, and the input
 * acts as the child: it writes into the child's pipes and reports as its keeper. The input is a
 * list of [what, length (2), bytes]. Afterwards every stream is closed: none may remain, no
 * descriptor may be left open, and the outgoing buffer must not have overflowed (agent_die()
 * aborts here). */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/dispatch.h"
#include "agent/program/keeper.h"
#include "agent/program/reach.h"
#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"

enum { FIRST_PID = 5000000, PUPPETS = 1024, OPENS_MAX = 40 };

static struct agent agent;
static int puppets[PUPPETS]; /* the children's ends */
static size_t puppet_count;
static pid_t next_pid;

void agent_die(const char *why)
{
	(void)!write(2, why, strlen(why));
	abort();
}

int reach_check(const struct user *user, struct error *err)
{
	(void)user;
	(void)err;
	return 0;
}

static void remember(int fd)
{
	if (puppet_count < PUPPETS)
		puppets[puppet_count++] = fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

pid_t fork(void)
{
	return ++next_pid;
}

int kill(pid_t pid, int signo)
{
	(void)pid;
	(void)signo;
	return 0;
}

int pipe2(int ends[2], int flags)
{
	int r = (int)syscall(SYS_pipe2, ends, flags);

	if (r == 0) {
		remember(ends[0]);
		remember(ends[1]);
	}
	return r;
}

int socketpair(int family, int type, int protocol, int ends[2])
{
	int r = (int)syscall(SYS_socketpair, family, type, protocol, ends);

	if (r == 0)
		remember(ends[1]);
	return r;
}

static void drain(void)
{
	if (agent.out.end > OUTGOING_SIZE)
		abort();
	agent.out.start = agent.out.end = 0;
}

static bool feed_session(struct view bytes)
{
	struct view rest;
	struct error err;
	int r;

	if (bytes.len > sizeof agent.in_bytes - agent.in_end)
		return false;
	memcpy(agent.in_bytes + agent.in_end, bytes.ptr, bytes.len);
	agent.in_end += bytes.len;
	do {
		rest = (struct view){ agent.in_bytes, agent.in_end };
		r = dispatch_frames(&agent, &rest, &err);
		memmove(agent.in_bytes, rest.ptr, rest.len);
		agent.in_end = rest.len;
		if (r == 1)
			drain();
	} while (r == 1);
	return r == 0;
}

static void serve_sources(void)
{
	struct epoll_event events[32];
	int n = epoll_wait(agent.poller.inner, events, 32, 0);

	for (int i = 0; i < n; i++) {
		struct source *source = events[i].data.ptr;

		if (!outgoing_is_free(&agent.out))
			drain();
		if (source->fd >= 0 && source->ready != NULL)
			source->ready(source, events[i].events);
	}
}

static void report(struct view bytes)
{
	struct keeper_report said = { .pid = 7 };
	int fd;

	if (bytes.len < 3 || puppet_count == 0)
		return;
	fd = puppets[(uint8_t)bytes.ptr[0] % puppet_count];
	said.kind = (uint8_t)bytes.ptr[1] % 3;
	said.exited.code = (uint8_t)bytes.ptr[2];
	said.exited.flags = WIRE_EXITED_LEFT;
	(void)error_set(&said.err, ERR_SYSTEM, "no");
	(void)!send(fd, &said, sizeof said, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void write_puppet(struct view bytes)
{
	int fd;

	if (bytes.len < 2 || puppet_count == 0)
		return;
	fd = puppets[(uint8_t)bytes.ptr[0] % puppet_count];
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	(void)!write(fd, bytes.ptr + 1, bytes.len - 1);
}

static void end_child(struct view bytes)
{
	size_t slot = bytes.len != 0 ? (uint8_t)bytes.ptr[0] : 0;
	struct stream *stream = &agent.streams[slot % WIRE_STREAMS_MAX];

	if (agent.ids[slot % WIRE_STREAMS_MAX] == 0 || stream->pid == 0)
		return;
	stream->pid = 0;
	stream->handlers->child(stream, 0);
}

static bool act(uint8_t what, struct view bytes)
{
	if (!outgoing_is_free(&agent.out))
		drain();
	switch (what % 8) {
	case 0:
		report(bytes);
		break;
	case 1:
		write_puppet(bytes);
		break;
	case 2:
		end_child(bytes);
		break;
	case 3:
		serve_sources();
		break;
	case 4:
		dispatch_due(&agent, UINT64_MAX);
		break;
	default:
		return feed_session(bytes);
	}
	return true;
}

static int open_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void begin(void)
{
	struct wire_message message = { .type = WIRE_WELCOME };
	AUTO_BUF struct buf buf;
	struct error err;

	memset(&agent, 0, sizeof agent);
	agent.root = -1;
	next_pid = FIRST_PID;
	puppet_count = 0;
	wire_link_init(&agent.link, WIRE_AGENT);
	if (poller_init(&agent.poller, &err) < 0)
		abort();
	dispatch_hello(&agent);
	buf_init(&buf, WIRE_FRAME_MAX);
	message.welcome = (struct wire_welcome){ .version = WIRE_VERSION,
		                                 .root = view_of("/"),
		                                 .workspace = view_of("/tmp") };
	if (wire_encode(&message, 0, 0, &buf, &err) < 0 || !feed_session(buf_view(&buf)))
		abort();
	drain();
}

static void finish(void)
{
	for (size_t i = 0; i < WIRE_STREAMS_MAX; i++) {
		struct stream *stream = &agent.streams[i];
		uint32_t id = agent.ids[i];

		drain();
		if (id == 0)
			continue;
		stream->handlers->close(stream);
		if (agent.ids[i] == id && stream->handlers->child != NULL) {
			stream->pid = 0;
			stream->handlers->child(stream, 0);
		}
		if (agent.ids[i] == id)
			abort();
	}
	for (size_t i = 0; i < puppet_count; i++)
		(void)close(puppets[i]);
	(void)close(agent.root);
	(void)close(agent.poller.inner);
	(void)close(agent.poller.outer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int before = open_fds();
	size_t at = 0;

	begin();
	while (size - at >= 3) {
		size_t len = (size_t)data[at + 1] << 8 | data[at + 2];
		struct view bytes = { (const char *)data + at + 3, len };

		if (len > size - at - 3)
			bytes.len = size - at - 3;
		if (next_pid - FIRST_PID > OPENS_MAX || !act(data[at], bytes))
			break;
		at += 3 + bytes.len;
	}
	finish();
	if (open_fds() != before)
		abort();
	return 0;
}
