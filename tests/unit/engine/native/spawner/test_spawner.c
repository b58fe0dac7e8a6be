/* The spawner as seen by a server that was taken over: whatever the server sends, the spawner does
 * its work and nothing else, and it exits with the server. */
#include "unit/engine/native/rig.h"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engine/native/spawner/spawner.h"

enum { DEADLINE_MS = 60000 };

/* The server's side of the socket. */
struct peer {
	struct test_dir state;
	pid_t pid; /* of the spawner */
	int socket;
	int fds[REPLY_FDS_MAX]; /* that came with the latest reply */
	size_t fd_count;
};

static bool no_server_is_alive(void *ctx, const char *instance)
{
	(void)ctx;
	(void)instance;
	return false;
}

static struct spawner_reply receive_reply(struct peer *peer)
{
	struct spawner_reply reply;
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

static void close_fds(struct peer *peer)
{
	for (size_t i = 0; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	peer->fd_count = 0;
}

static void start_spawner(struct peer *peer)
{
	char claims[96];
	struct spawner_options options = { .instance = "0123456789abcdef",
		                           .claims = claims,
		                           .ceilings = spec_default().limits,
		                           .gpus_max = 1,
		                           .memory_together = SPEC_MIB(2048),
		                           .instance_lock = -1,
		                           .instances = -1,
		                           .is_alive = no_server_is_alive };
	struct spawner_reply ready;
	struct error err;

	if (geteuid() != 0)
		SKIP_TEST("only root is tried here");
	*peer = (struct peer){ .socket = -1 };
	test_dir_open(&peer->state);
	(void)snprintf(claims, sizeof claims, "%s/ids", peer->state.path);
	options.state = peer->state.path;
	CHECK_OK(spawner_start(&options, &peer->pid, &peer->socket, &err), err);
	ready = receive_reply(peer);
	assert_int_equal(ready.kind, REPLY_READY);
	if (ready.failed)
		fail_msg("%s", ready.err.msg);
}

/* The spawner exits by itself when the socket is closed. */
static void stop_spawner(struct peer *peer)
{
	int status = -1;

	(void)close(peer->socket);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	assert_int_equal(status, 0);
	test_dir_remove(&peer->state);
}

static void send_request(struct peer *peer, uint32_t kind, uint64_t number, const struct spec *spec)
{
	struct spawner_request request = { .kind = kind, .number = number };

	if (spec != NULL)
		request.spec = *spec;
	assert_int_equal(send(peer->socket, &request, sizeof request, 0), sizeof request);
}

static struct spec fresh_spec(void)
{
	struct spec spec = spec_default();

	spec_new_id(spec.id);
	spec.fresh = true;
	return spec;
}

static struct spawner_reply start_sandbox(struct peer *peer, uint64_t number,
                                          const struct spec *spec)
{
	struct spawner_reply reply;

	send_request(peer, REQUEST_START, number, spec);
	reply = receive_reply(peer);
	if (reply.failed)
		fail_msg("%s", reply.err.msg);
	assert_int_equal(reply.kind, REPLY_STARTED);
	assert_int_equal(reply.number, number);
	return reply;
}

/* Starts a sandbox, waits for the agent's first bytes, kills and erases it. */
static void check_life_cycle(struct peer *peer, uint64_t number)
{
	struct spec spec = fresh_spec();
	struct spawner_reply reply;
	struct pollfd hello;
	int channel;

	(void)start_sandbox(peer, number, &spec);
	assert_true(peer->fd_count >= 1);
	channel = peer->fds[0];
	for (size_t i = 1; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	hello = (struct pollfd){ channel, POLLIN, 0 };
	assert_int_equal(poll(&hello, 1, DEADLINE_MS), 1);
	send_request(peer, REQUEST_KILL, number, NULL);
	reply = receive_reply(peer);
	(void)close(channel);
	assert_int_equal(reply.kind, REPLY_ENDED);
	assert_false(reply.failed);
	assert_int_equal(reply.end, ENGINE_END_KILLED);
	send_request(peer, REQUEST_ERASE, number + 1000000, &spec);
	reply = receive_reply(peer);
	assert_int_equal(reply.kind, REPLY_ERASED);
	assert_false(reply.failed);
}

/* The second sandbox may be the spare that was started after the first. */
static void spawner_starts_and_erases_sandboxes(void **state)
{
	struct peer peer;

	start_spawner(&peer);
	check_life_cycle(&peer, 1);
	check_life_cycle(&peer, 2);
	stop_spawner(&peer);
}

/* --- invalid requests ---------------------------------------------------------------- */

static void set_path_as_id(struct spec *spec)
{
	(void)snprintf(spec->id, sizeof spec->id, "../../../../etc/belljar-test");
}

static void set_unterminated_id(struct spec *spec)
{
	memset(spec->id, 'a', sizeof spec->id);
}

static void set_no_processes(struct spec *spec)
{
	spec->limits.pids = 0;
}

static void set_unknown_mount(struct spec *spec)
{
	spec->mount_count = 1;
	(void)snprintf(spec->mounts[0].target, sizeof spec->mounts[0].target, "/data");
}

static void set_unknown_gpu(struct spec *spec)
{
	spec->gpus = 1;
}

static void set_nothing(struct spec *spec)
{
	(void)spec;
}

static void set_no_files_to_wake(struct spec *spec)
{
	spec->fresh = false;
}

static void invalid_start_request_is_refused(void **state)
{
	static const struct {
		void (*change)(struct spec *spec);
		uint64_t number;
	} requests[] = {
		{ set_path_as_id, 1 },       { set_unterminated_id, 2 }, { set_no_processes, 3 },
		{ set_unknown_mount, 4 },    { set_unknown_gpu, 5 },     { set_nothing, 0 },
		{ set_nothing, UINT64_MAX }, /* the number of a spare */
		{ set_no_files_to_wake, 6 },
	};
	struct peer peer;

	start_spawner(&peer);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct spec spec = fresh_spec();
		struct spawner_reply reply;

		requests[i].change(&spec);
		send_request(&peer, REQUEST_START, requests[i].number, &spec);
		reply = receive_reply(&peer);
		assert_int_equal(reply.kind, REPLY_ENDED);
		assert_true(reply.failed);
		assert_int_equal(peer.fd_count, 0);
	}
	check_life_cycle(&peer, 7);
	stop_spawner(&peer);
}

/* A server that was taken over asks for more than the operator allows. */
static void request_above_a_ceiling_is_refused(void **state)
{
	struct spawner_reply reply;
	struct peer peer;
	struct spec spec;

	start_spawner(&peer);
	for (size_t i = 0; i <= spec_limit_count; i++) {
		spec = fresh_spec();
		if (i < spec_limit_count)
			spec_limits_set(&spec.limits, i, spec_limits[i].initial + 1);
		else
			spec.gpus = 2;
		send_request(&peer, REQUEST_START, i + 1, &spec);
		reply = receive_reply(&peer);
		assert_int_equal(reply.kind, REPLY_ENDED);
		assert_true(reply.failed);
		assert_non_null(strstr(reply.err.msg, "this server allows"));
	}
	check_life_cycle(&peer, 100);
	stop_spawner(&peer);
}

static void random_packets_do_no_harm(void **state)
{
	static char noise[2 * sizeof(struct spawner_request)];
	struct peer peer;

	start_spawner(&peer);
	for (size_t i = 0; i < 64; i++) {
		struct spawner_request request;
		size_t len = (i * 977) % sizeof noise + 1;

		assert_true(getrandom(noise, sizeof noise, 0) > 0);
		if (len != sizeof(struct spawner_request))
			(void)!send(peer.socket, noise, len, 0);
		assert_true(getrandom(&request, sizeof request, 0) > 0);
		request.kind |= 0x100; /* no known kind */
		assert_int_equal(send(peer.socket, &request, sizeof request, 0), sizeof request);
		send_request(&peer, REQUEST_KILL, i, NULL);
	}
	check_life_cycle(&peer, 100);
	stop_spawner(&peer);
}

static void erase_request_reaches_only_sandboxes(void **state)
{
	static const char *const names[] = { "..",   ".",   "",
		                             "/etc", "ids", "sp_aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct spawner_reply reply;
	struct peer peer;
	struct spec spec;

	start_spawner(&peer);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		spec = (struct spec){ 0 };
		(void)snprintf(spec.id, sizeof spec.id, "%s", names[i]);
		send_request(&peer, REQUEST_ERASE, i + 1, &spec);
		reply = receive_reply(&peer);
		assert_int_equal(reply.kind, REPLY_ERASED);
		assert_true(reply.failed);
	}
	set_unterminated_id(&spec);
	send_request(&peer, REQUEST_ERASE, 49, &spec);
	assert_true(receive_reply(&peer).failed);
	/* A sandbox without files counts as erased. */
	spec = fresh_spec();
	send_request(&peer, REQUEST_ERASE, 50, &spec);
	assert_false(receive_reply(&peer).failed);
	stop_spawner(&peer);
}

/* The sandbox dies by itself, and the requests to kill and erase it cross the news. */
static void erase_of_a_dead_sandbox_waits_for_its_end(void **state)
{
	struct spec spec = fresh_spec();
	struct spawner_reply reply;
	struct peer peer;

	start_spawner(&peer);
	reply = start_sandbox(&peer, 1, &spec);
	assert_int_equal(kill(peer.pid, SIGSTOP), 0);
	assert_int_equal(kill((pid_t)reply.pid, SIGKILL), 0);
	send_request(&peer, REQUEST_KILL, 1, NULL);
	send_request(&peer, REQUEST_ERASE, 2, &spec);
	assert_int_equal(kill(peer.pid, SIGCONT), 0);
	close_fds(&peer);
	reply = receive_reply(&peer);
	assert_int_equal(reply.kind, REPLY_ENDED);
	reply = receive_reply(&peer);
	assert_int_equal(reply.kind, REPLY_ERASED);
	if (reply.failed)
		fail_msg("%s", reply.err.msg);
	stop_spawner(&peer);
}

/* A server that sends requests and never reads must not fill the spawner's memory. */
static void spawner_stops_reading_while_replies_are_queued(void **state)
{
	enum { FAR_TOO_MANY = 100000, QUIET_MS = 300 };
	const struct spawner_request request = { .kind = REQUEST_LIST, .number = 1 };
	struct pollfd room;
	struct peer peer;
	int sent = 0;

	start_spawner(&peer);
	room = (struct pollfd){ peer.socket, POLLOUT, 0 };
	while (sent < FAR_TOO_MANY && poll(&room, 1, QUIET_MS) == 1) {
		ssize_t n = send(peer.socket, &request, sizeof request, MSG_DONTWAIT);

		assert_true(n == (ssize_t)sizeof request || errno == EAGAIN);
		sent += n >= 0;
	}
	assert_in_range(sent, 1, FAR_TOO_MANY / 4);
	for (; sent > 0; sent--)
		assert_int_equal(receive_reply(&peer).kind, REPLY_LISTED);
	check_life_cycle(&peer, 100);
	stop_spawner(&peer);
}

static void sandboxes_end_with_the_server(void **state)
{
	struct spec spec = fresh_spec();
	struct spawner_reply reply;
	struct peer peer;

	start_spawner(&peer);
	reply = start_sandbox(&peer, 1, &spec);
	assert_int_equal(kill((pid_t)reply.pid, 0), 0);
	stop_spawner(&peer);
	assert_int_equal(kill((pid_t)reply.pid, 0), -1);
	close_fds(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(spawner_starts_and_erases_sandboxes),
		TEST(invalid_start_request_is_refused),
		TEST(request_above_a_ceiling_is_refused),
		TEST(random_packets_do_no_harm),
		TEST(erase_request_reaches_only_sandboxes),
		TEST(erase_of_a_dead_sandbox_waits_for_its_end),
		TEST(spawner_stops_reading_while_replies_are_queued),
		TEST(sandboxes_end_with_the_server),
	};

	return RUN_TESTS("engine/spawner", tests);
}
