/* The spawner as a server sees it that was taken over: whatever comes, it does what it is for and
 * nothing else, and goes when the server goes. */
#include "unit/engine/native/native_test.h"

#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "engine/native/spawner/request.h"
#include "engine/native/spawner/spawner.h"

enum { PATIENCE_MS = 20000 };

struct peer {
	struct place place;
	pid_t pid;
	int socket;
	int fds[ANSWER_FDS_MAX];
	size_t fd_count;
};

static bool nobody_lives(void *ctx, const char *instance)
{
	(void)ctx;
	(void)instance;
	return false;
}

static struct answer hear(struct peer *peer)
{
	struct answer answer;
	struct iovec part = { &answer, sizeof answer };
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

	assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
	assert_int_equal(recvmsg(peer->socket, &message, MSG_CMSG_CLOEXEC), sizeof answer);
	head = CMSG_FIRSTHDR(&message);
	peer->fd_count = head != NULL ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
	if (peer->fd_count != 0)
		memcpy(peer->fds, CMSG_DATA(head), peer->fd_count * sizeof(int));
	return answer;
}

static void close_fds(struct peer *peer)
{
	for (size_t i = 0; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	peer->fd_count = 0;
}

static bool begin(struct peer *peer)
{
	static char claims[96];
	struct spawner_config config = { .instance = "0123456789abcdef",
		                         .keep_fd = -1,
		                         .servers = -1,
		                         .is_alive = nobody_lives };
	struct answer ready;
	struct error err;

	*peer = (struct peer){ .socket = -1 };
	if (geteuid() != 0)
		return false;
	place_start(&peer->place);
	(void)snprintf(claims, sizeof claims, "%s/ids", peer->place.path);
	config.state = peer->place.path;
	config.claims = claims;
	CHECK_OK(spawner_start(&config, &peer->pid, &peer->socket, &err), err);
	ready = hear(peer);
	assert_int_equal(ready.kind, ANSWER_READY);
	if (ready.failed)
		fail_msg("%s", ready.err.msg);
	return true;
}

/* It goes by itself, and leaves nothing. */
static void end(struct peer *peer)
{
	int status = -1;
	char path[96];

	(void)close(peer->socket);
	assert_int_equal(waitpid(peer->pid, &status, 0), peer->pid);
	assert_int_equal(status, 0);
	(void)snprintf(path, sizeof path, "%s/sandboxes", peer->place.path);
	place_stop(&peer->place);
}

static void ask(struct peer *peer, uint32_t kind, uint64_t number, const struct spec *spec)
{
	struct request request = { .kind = kind, .number = number };

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

static struct answer make(struct peer *peer, uint64_t number, const struct spec *spec)
{
	struct answer answer;

	ask(peer, REQUEST_MAKE, number, spec);
	answer = hear(peer);
	if (answer.failed)
		fail_msg("%s", answer.err.msg);
	assert_int_equal(answer.kind, ANSWER_MADE);
	assert_int_equal(answer.number, number);
	return answer;
}

/* Says its name and dies when told: the whole life of a sandbox, without the server. */
static void live_and_die(struct peer *peer, uint64_t number)
{
	struct spec spec = fresh_spec();
	struct answer answer;
	struct pollfd hello;
	int channel;

	(void)make(peer, number, &spec);
	assert_true(peer->fd_count >= 1);
	for (size_t i = 1; i < peer->fd_count; i++)
		(void)close(peer->fds[i]);
	hello = (struct pollfd){ peer->fds[0], POLLIN, 0 };
	assert_int_equal(poll(&hello, 1, PATIENCE_MS), 1);
	channel = peer->fds[0];
	ask(peer, REQUEST_KILL, number, NULL);
	answer = hear(peer);
	(void)close(channel);
	assert_int_equal(answer.kind, ANSWER_GONE);
	assert_false(answer.failed);
	assert_int_equal(answer.end, ENGINE_END_KILLED);
	ask(peer, REQUEST_ERASE, number + 1000000, &spec);
	answer = hear(peer);
	assert_int_equal(answer.kind, ANSWER_ERASED);
	assert_false(answer.failed);
}

static void makes_and_removes_sandboxes(void **state)
{
	struct peer peer;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	live_and_die(&peer, 1);
	live_and_die(&peer, 2);
	end(&peer);
}

static void refuse(struct peer *peer, const struct spec *spec, uint64_t number)
{
	struct answer answer;

	ask(peer, REQUEST_MAKE, number, spec);
	answer = hear(peer);
	assert_int_equal(answer.kind, ANSWER_GONE);
	assert_true(answer.failed);
	assert_int_equal(peer->fd_count, 0);
}

static void refuses_what_no_server_of_ours_would_ask(void **state)
{
	struct peer peer;
	struct spec spec;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	spec = fresh_spec();
	(void)snprintf(spec.id, sizeof spec.id, "../../../../etc/belljar-test");
	refuse(&peer, &spec, 1);
	spec = fresh_spec();
	memset(spec.id, 'a', sizeof spec.id); /* not terminated */
	refuse(&peer, &spec, 2);
	spec = fresh_spec();
	spec.limits.pids = 0;
	refuse(&peer, &spec, 3);
	spec = fresh_spec();
	spec.mount_count = 1;
	(void)snprintf(spec.mounts[0].target, sizeof spec.mounts[0].target, "/data");
	refuse(&peer, &spec, 4); /* there is nothing to offer */
	spec = fresh_spec();
	spec.gpus = 1;
	refuse(&peer, &spec, 5);
	spec = fresh_spec();
	refuse(&peer, &spec, 0);
	refuse(&peer, &spec, UINT64_MAX);
	spec.fresh = false;
	refuse(&peer, &spec, 6); /* nothing to wake */
	live_and_die(&peer, 7);
	end(&peer);
}

static void stays_calm_when_shouted_at(void **state)
{
	static char noise[2 * sizeof(struct request)];
	struct peer peer;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	for (size_t i = 0; i < 64; i++) {
		struct request request;
		size_t len = (i * 977) % sizeof noise + 1;

		assert_true(getrandom(noise, sizeof noise, 0) > 0);
		if (len != sizeof(struct request))
			(void)!send(peer.socket, noise, len, 0);
		assert_true(getrandom(&request, sizeof request, 0) > 0);
		request.kind |= 0x100; /* not one of ours */
		assert_int_equal(send(peer.socket, &request, sizeof request, 0), sizeof request);
		ask(&peer, REQUEST_KILL, i, NULL);
	}
	live_and_die(&peer, 100);
	end(&peer);
}

static void erases_nothing_but_sandboxes(void **state)
{
	static const char *const names[] = { "..",   ".",   "",
		                             "/etc", "ids", "sp_aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct answer answer;
	struct peer peer;
	struct spec spec;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		spec = (struct spec){ 0 };
		(void)snprintf(spec.id, sizeof spec.id, "%s", names[i]);
		ask(&peer, REQUEST_ERASE, i + 1, &spec);
		answer = hear(&peer);
		assert_int_equal(answer.kind, ANSWER_ERASED);
		assert_true(answer.failed);
	}
	/* No end to the name. */
	memset(spec.id, 'a', sizeof spec.id);
	ask(&peer, REQUEST_ERASE, 49, &spec);
	assert_true(hear(&peer).failed);
	/* What is gone already is as good as erased. */
	spec = fresh_spec();
	ask(&peer, REQUEST_ERASE, 50, &spec);
	assert_false(hear(&peer).failed);
	end(&peer);
}

/* It died by itself, and the server wants it removed before it was told. */
static void erases_what_has_just_died(void **state)
{
	struct spec spec = fresh_spec();
	struct answer answer;
	struct peer peer;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	answer = make(&peer, 1, &spec);
	assert_int_equal(kill(peer.pid, SIGSTOP), 0);
	assert_int_equal(kill((pid_t)answer.pid, SIGKILL), 0);
	ask(&peer, REQUEST_KILL, 1, NULL);
	ask(&peer, REQUEST_ERASE, 2, &spec);
	assert_int_equal(kill(peer.pid, SIGCONT), 0);
	close_fds(&peer);
	answer = hear(&peer);
	assert_int_equal(answer.kind, ANSWER_GONE);
	answer = hear(&peer);
	assert_int_equal(answer.kind, ANSWER_ERASED);
	if (answer.failed)
		fail_msg("%s", answer.err.msg);
	end(&peer);
}

/* A server that asks and asks and never listens must not fill the spawner's memory. */
static void asks_no_further_while_nobody_listens(void **state)
{
	enum { FAR_TOO_MANY = 100000, QUIET_MS = 300 };
	const struct request request = { .kind = REQUEST_LIST, .number = 1 };
	struct pollfd room;
	struct peer peer;
	int sent = 0;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	room = (struct pollfd){ peer.socket, POLLOUT, 0 };
	while (sent < FAR_TOO_MANY && poll(&room, 1, QUIET_MS) == 1) {
		ssize_t n = send(peer.socket, &request, sizeof request, MSG_DONTWAIT);

		assert_true(n == (ssize_t)sizeof request || errno == EAGAIN);
		sent += n >= 0;
	}
	assert_in_range(sent, 1, FAR_TOO_MANY / 4);
	for (; sent > 0; sent--)
		assert_int_equal(hear(&peer).kind, ANSWER_LISTED);
	live_and_die(&peer, 100);
	end(&peer);
}

static void ends_everything_with_the_server(void **state)
{
	struct spec spec = fresh_spec();
	struct answer answer;
	struct peer peer;

	(void)state;
	if (!begin(&peer))
		SKIP_TEST("only root is tried here");
	answer = make(&peer, 1, &spec);
	assert_int_equal(kill((pid_t)answer.pid, 0), 0);
	end(&peer);
	assert_int_equal(kill((pid_t)answer.pid, 0), -1);
	close_fds(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(makes_and_removes_sandboxes),
		TEST(refuses_what_no_server_of_ours_would_ask),
		TEST(stays_calm_when_shouted_at),
		TEST(erases_nothing_but_sandboxes),
		TEST(erases_what_has_just_died),
		TEST(asks_no_further_while_nobody_listens),
		TEST(ends_everything_with_the_server),
	};

	return RUN_TESTS("engine/spawner", tests);
}
