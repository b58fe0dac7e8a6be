#include "unit/engine/native/spawner/spawner_peer.h"

#include <poll.h>
#include <sys/socket.h>

enum { DEADLINE_MS = 60000 };

/* Only the first spawner of a test finds other servers dead, and sweeps what they left. */
static bool is_alive(void *ctx, const char *instance)
{
	const struct peer *first = ctx;

	(void)instance;
	return first != NULL;
}

struct engine_reply peer_receive(struct peer *peer)
{
	struct engine_reply reply;
	struct iovec part = { &reply, sizeof reply };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof peer->fds)];
	} control;
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	struct pollfd ready = { peer->socket, POLLIN, 0 };
	struct cmsghdr *head;

	assert_int_equal(poll(&ready, 1, DEADLINE_MS), 1);
	assert_int_equal(recvmsg(peer->socket, &message, MSG_CMSG_CLOEXEC), sizeof reply);
	head = CMSG_FIRSTHDR(&message);
	peer->fd_count = head != NULL ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (peer->fd_count != 0)
		memcpy(peer->fds, CMSG_DATA(head), peer->fd_count * sizeof(int));
	return reply;
}

void peer_close_fds(struct peer *peer)
{
	for (size_t i = 0; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	peer->fd_count = 0;
}

static void start_in(struct peer *peer, const char *instance, struct peer *first)
{
	char claims[96], skeletons[96];
	struct spawner_options options = { .instance = instance,
		                           .claims = claims,
		                           .skeletons = skeletons,
		                           .first = peer->first,
		                           .ceilings = spec_default().limits,
		                           .gpus_max = 1,
		                           .memory_together = SPEC_MIB(2048),
		                           .memory_sum = SPEC_MIB(2048),
		                           .no_cgroups = peer->no_cgroups,
		                           .instance_lock = -1,
		                           .instances = -1,
		                           .is_alive = is_alive,
		                           .ctx = first };
	struct engine_reply ready;
	struct error err;

	(void)snprintf(claims, sizeof claims, "%s/ids", peer->state.path);
	(void)snprintf(skeletons, sizeof skeletons, "%s/skeleton", peer->state.path);
	options.state = peer->state.path;
	CHECK_OK(spawner_start(&options, &peer->pid, &peer->socket, &err), err);
	do
		ready = peer_receive(peer);
	while (ready.kind == REPLY_LAYER);
	assert_int_equal(ready.kind, REPLY_READY);
	if (ready.failed)
		fail_msg("%s", ready.err.msg);
}

static void start_alone(struct peer *peer, bool no_cgroups, const struct spec *first)
{
	if (geteuid() != 0)
		SKIP_TEST("only root is tried here");
	*peer = (struct peer){ .socket = -1, .no_cgroups = no_cgroups, .first = first };
	test_dir_open(&peer->state);
	start_in(peer, "0123456789abcdef", NULL);
}

void peer_start(struct peer *peer)
{
	start_alone(peer, false, NULL);
}

void peer_start_without_cgroups(struct peer *peer)
{
	start_alone(peer, true, NULL);
}

void peer_start_with_spare(struct peer *peer, const struct spec *first)
{
	start_alone(peer, false, first);
}

void peer_start_again(struct peer *peer, const struct spec *first)
{
	peer->first = first;
	start_in(peer, "0123456789abcdef", NULL);
}

void peer_start_beside(struct peer *peer, struct peer *first)
{
	*peer = (struct peer){ .state = first->state, .socket = -1 };
	start_in(peer, "fedcba9876543210", first);
}

void peer_wait_exit(struct peer *peer)
{
	int status = -1;

	(void)close(peer->socket);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	assert_int_equal(status, 0);
}

void peer_stop(struct peer *peer)
{
	peer_wait_exit(peer);
	test_dir_remove(&peer->state);
}

void peer_request(struct peer *peer, uint32_t kind, uint64_t number, const struct spec *spec)
{
	struct engine_request request = { .kind = kind, .number = number };

	if (spec != NULL)
		request.spec = *spec;
	assert_int_equal(send(peer->socket, &request, sizeof request, 0), sizeof request);
}

struct spec peer_fresh_spec(void)
{
	struct spec spec = spec_default();

	spec_new_id(spec.id);
	spec.fresh = true;
	return spec;
}

struct engine_reply peer_start_sandbox(struct peer *peer, uint64_t number, const struct spec *spec)
{
	struct engine_reply reply;

	peer_request(peer, REQUEST_START, number, spec);
	reply = peer_receive(peer);
	if (reply.failed)
		fail_msg("%s", reply.err.msg);
	assert_int_equal(reply.kind, REPLY_STARTED);
	assert_int_equal(reply.number, number);
	return reply;
}

void peer_check_life_cycle(struct peer *peer, uint64_t number)
{
	struct spec spec = peer_fresh_spec();
	struct engine_reply reply;
	struct pollfd hello;
	int channel;

	(void)peer_start_sandbox(peer, number, &spec);
	assert_true(peer->fd_count >= 1);
	channel = peer->fds[0];
	for (size_t i = 1; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	hello = (struct pollfd){ channel, POLLIN, 0 };
	assert_int_equal(poll(&hello, 1, DEADLINE_MS), 1);
	peer_request(peer, REQUEST_KILL, number, NULL);
	reply = peer_receive(peer);
	(void)close(channel);
	assert_int_equal(reply.kind, REPLY_ENDED);
	assert_false(reply.failed);
	assert_int_equal(reply.end, ENGINE_END_KILLED);
	peer_request(peer, REQUEST_ERASE, number + 1000000, &spec);
	reply = peer_receive(peer);
	assert_int_equal(reply.kind, REPLY_ERASED);
	assert_false(reply.failed);
}
