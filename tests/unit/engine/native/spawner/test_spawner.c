/* The spawner as seen by a server that was taken over: whatever the server sends, the spawner does
 * its work and nothing else, and it exits with the server. */
#include "unit/engine/native/spawner/spawner_peer.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/socket.h>

/* The second sandbox may be the spare that was started after the first. */
static void spawner_starts_and_erases_sandboxes(void **state)
{
	struct peer peer;

	peer_start(&peer);
	peer_check_life_cycle(&peer, 1);
	peer_check_life_cycle(&peer, 2);
	peer_stop(&peer);
}

/* --- the spare of the start ---------------------------------------------------------- */

/* How many directories of sandboxes begin with the prefix. */
static int count_directories(const struct peer *peer, const char *prefix)
{
	DIR *dir = fdopendir(openat(peer->state.fd, "sandboxes", O_RDONLY | O_DIRECTORY));
	const struct dirent *entry;
	int count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
	(void)closedir(dir);
	return count;
}

/* The spawner has handled all requests before this one. */
static void wait_for_list(struct peer *peer)
{
	struct engine_reply reply;

	peer_request(peer, REQUEST_LIST, 900, NULL);
	do
		reply = peer_receive(peer);
	while (reply.kind != REPLY_LISTED || reply.id[0] != '\0');
}

/* Whether the spare is complete or still being set up, no second sandbox is started for the
 * request. */
static void first_request_gets_the_spare_of_the_start(void **state)
{
	struct spec spec = peer_fresh_spec();
	char path[96];
	struct peer peer;

	for (unsigned pause_us = 0; pause_us <= 300000; pause_us += 100000) {
		peer_start_with_spare(&peer, &spec);
		(void)usleep(pause_us);
		(void)peer_start_sandbox(&peer, 1, &spec);
		assert_int_equal(count_directories(&peer, "sp_"), 0);
		assert_int_equal(count_directories(&peer, "sb_"), 1);
		(void)snprintf(path, sizeof path, "sandboxes/%s", spec.id);
		assert_int_equal(faccessat(peer.state.fd, path, F_OK, 0), 0);
		peer_close_fds(&peer);
		peer_stop(&peer);
	}
}

/* The spare after the first request waits longer than others, but not for a pause as long. */
static void frequent_requests_do_not_prevent_a_spare(void **state)
{
	struct peer peer;

	peer_start(&peer);
	peer_check_life_cycle(&peer, 1);
	for (int tries = 0; count_directories(&peer, "sp_") == 0; tries++) {
		assert_in_range(tries, 0, 200);
		(void)usleep(40000);
		wait_for_list(&peer);
	}
	peer_stop(&peer);
}

static void other_requests_get_a_sandbox_of_their_own(void **state)
{
	struct spec first = peer_fresh_spec(), other = peer_fresh_spec();
	struct peer peer;

	other.limits.pids = first.limits.pids - 1;
	peer_start_with_spare(&peer, &first);
	(void)peer_start_sandbox(&peer, 1, &other);
	assert_int_equal(count_directories(&peer, other.id), 1);
	peer_close_fds(&peer);
	peer_stop(&peer);
}

static void server_that_exits_while_its_request_waits_leaves_nothing(void **state)
{
	struct spec spec = peer_fresh_spec();
	struct peer peer;

	peer_start_with_spare(&peer, &spec);
	peer_request(&peer, REQUEST_START, 1, &spec);
	peer_wait_exit(&peer);
	peer_start_again(&peer, NULL);
	wait_for_list(&peer);
	peer_check_life_cycle(&peer, 1);
	peer_stop(&peer);
}

static void no_spare_is_started_beside_sandboxes(void **state)
{
	struct spec spec = peer_fresh_spec();
	struct peer peer;

	peer_start(&peer);
	(void)peer_start_sandbox(&peer, 1, &spec);
	peer_close_fds(&peer);
	peer_wait_exit(&peer);
	assert_int_equal(count_directories(&peer, "sb_"), 1);
	peer_start_again(&peer, &spec);
	wait_for_list(&peer);
	assert_int_equal(count_directories(&peer, "sp_"), 0);
	peer_stop(&peer);
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

	peer_start(&peer);
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct spec spec = peer_fresh_spec();
		struct engine_reply reply;

		requests[i].change(&spec);
		peer_request(&peer, REQUEST_START, requests[i].number, &spec);
		reply = peer_receive(&peer);
		assert_int_equal(reply.kind, REPLY_ENDED);
		assert_true(reply.failed);
		assert_int_equal(peer.fd_count, 0);
	}
	peer_check_life_cycle(&peer, 7);
	peer_stop(&peer);
}

/* A server that was taken over asks for more than the operator allows. */
static void request_above_a_ceiling_is_refused(void **state)
{
	struct engine_reply reply;
	struct peer peer;
	struct spec spec;

	peer_start(&peer);
	for (size_t i = 0; i <= spec_limit_count; i++) {
		spec = peer_fresh_spec();
		if (i < spec_limit_count)
			spec_limits_set(&spec.limits, i, spec_limits[i].initial + 1);
		else
			spec.gpus = 2;
		peer_request(&peer, REQUEST_START, i + 1, &spec);
		reply = peer_receive(&peer);
		assert_int_equal(reply.kind, REPLY_ENDED);
		assert_true(reply.failed);
		assert_non_null(strstr(reply.err.msg, "this server allows"));
	}
	peer_check_life_cycle(&peer, 100);
	peer_stop(&peer);
}

/* The third sandbox of 1 GiB is one too many for 2 GiB; it may start after one was killed. */
static void limits_on_memory_do_not_add_up_without_cgroups(void **state)
{
	struct spec specs[] = { peer_fresh_spec(), peer_fresh_spec(), peer_fresh_spec() };
	struct engine_reply reply;
	struct peer peer;
	int channels[2];

	peer_start_without_cgroups(&peer);
	for (uint64_t i = 0; i < 2; i++) {
		(void)peer_start_sandbox(&peer, i + 1, &specs[i]);
		channels[i] = dup(peer.fds[0]); /* an agent exits when its channel is closed */
		peer_close_fds(&peer);
	}
	peer_request(&peer, REQUEST_START, 3, &specs[2]);
	reply = peer_receive(&peer);
	assert_int_equal(reply.kind, REPLY_ENDED);
	assert_true(reply.failed);
	assert_memory_equal(reply.err.msg, "owner-memory: ", 14);
	peer_request(&peer, REQUEST_KILL, 1, NULL);
	assert_int_equal(peer_receive(&peer).kind, REPLY_ENDED);
	(void)peer_start_sandbox(&peer, 4, &specs[2]);
	peer_close_fds(&peer);
	for (size_t i = 0; i < ARRAY_LEN(channels); i++)
		(void)close(channels[i]);
	peer_stop(&peer);
}

static void random_packets_do_no_harm(void **state)
{
	static char noise[2 * sizeof(struct engine_request)];
	struct peer peer;

	peer_start(&peer);
	for (size_t i = 0; i < 64; i++) {
		struct engine_request request;
		size_t len = (i * 977) % sizeof noise + 1;

		assert_true(getrandom(noise, sizeof noise, 0) > 0);
		if (len != sizeof(struct engine_request))
			(void)!send(peer.socket, noise, len, 0);
		assert_true(getrandom(&request, sizeof request, 0) > 0);
		request.kind |= 0x100; /* no known kind */
		assert_int_equal(send(peer.socket, &request, sizeof request, 0), sizeof request);
		peer_request(&peer, REQUEST_KILL, i, NULL);
	}
	peer_check_life_cycle(&peer, 100);
	peer_stop(&peer);
}

static void erase_request_reaches_only_sandboxes(void **state)
{
	static const char *const names[] = { "..",   ".",   "",
		                             "/etc", "ids", "sp_aaaaaaaaaaaaaaaaaaaaaaaaaa" };
	struct engine_reply reply;
	struct peer peer;
	struct spec spec;

	peer_start(&peer);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		spec = (struct spec){ 0 };
		(void)snprintf(spec.id, sizeof spec.id, "%s", names[i]);
		peer_request(&peer, REQUEST_ERASE, i + 1, &spec);
		reply = peer_receive(&peer);
		assert_int_equal(reply.kind, REPLY_ERASED);
		assert_true(reply.failed);
	}
	set_unterminated_id(&spec);
	peer_request(&peer, REQUEST_ERASE, 49, &spec);
	assert_true(peer_receive(&peer).failed);
	/* A sandbox without files counts as erased. */
	spec = peer_fresh_spec();
	peer_request(&peer, REQUEST_ERASE, 50, &spec);
	assert_false(peer_receive(&peer).failed);
	peer_stop(&peer);
}

/* The sandbox dies by itself, and the requests to kill and erase it cross the news. */
static void erase_of_a_dead_sandbox_waits_for_its_end(void **state)
{
	struct spec spec = peer_fresh_spec();
	struct engine_reply reply;
	struct peer peer;

	peer_start(&peer);
	reply = peer_start_sandbox(&peer, 1, &spec);
	assert_int_equal(kill(peer.pid, SIGSTOP), 0);
	assert_int_equal(kill((pid_t)reply.pid, SIGKILL), 0);
	peer_request(&peer, REQUEST_KILL, 1, NULL);
	peer_request(&peer, REQUEST_ERASE, 2, &spec);
	assert_int_equal(kill(peer.pid, SIGCONT), 0);
	peer_close_fds(&peer);
	reply = peer_receive(&peer);
	assert_int_equal(reply.kind, REPLY_ENDED);
	reply = peer_receive(&peer);
	assert_int_equal(reply.kind, REPLY_ERASED);
	if (reply.failed)
		fail_msg("%s", reply.err.msg);
	peer_stop(&peer);
}

/* A server that sends requests and never reads must not fill the spawner's memory. */
static void spawner_stops_reading_while_replies_are_queued(void **state)
{
	enum { FAR_TOO_MANY = 100000, QUIET_MS = 300 };
	const struct engine_request request = { .kind = REQUEST_LIST, .number = 1 };
	struct pollfd room;
	struct peer peer;
	int sent = 0;

	peer_start(&peer);
	room = (struct pollfd){ peer.socket, POLLOUT, 0 };
	while (sent < FAR_TOO_MANY && poll(&room, 1, QUIET_MS) == 1) {
		ssize_t n = send(peer.socket, &request, sizeof request, MSG_DONTWAIT);

		assert_true(n == (ssize_t)sizeof request || errno == EAGAIN);
		sent += n >= 0;
	}
	assert_in_range(sent, 1, FAR_TOO_MANY / 4);
	for (; sent > 0; sent--)
		assert_int_equal(peer_receive(&peer).kind, REPLY_LISTED);
	peer_check_life_cycle(&peer, 100);
	peer_stop(&peer);
}

static void sandboxes_end_with_the_server(void **state)
{
	struct spec spec = peer_fresh_spec();
	struct engine_reply reply;
	struct peer peer;

	peer_start(&peer);
	reply = peer_start_sandbox(&peer, 1, &spec);
	assert_int_equal(kill((pid_t)reply.pid, 0), 0);
	peer_stop(&peer);
	assert_int_equal(kill((pid_t)reply.pid, 0), -1);
	peer_close_fds(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(spawner_starts_and_erases_sandboxes),
		TEST(first_request_gets_the_spare_of_the_start),
		TEST(frequent_requests_do_not_prevent_a_spare),
		TEST(other_requests_get_a_sandbox_of_their_own),
		TEST(server_that_exits_while_its_request_waits_leaves_nothing),
		TEST(no_spare_is_started_beside_sandboxes),
		TEST(invalid_start_request_is_refused),
		TEST(request_above_a_ceiling_is_refused),
		TEST(limits_on_memory_do_not_add_up_without_cgroups),
		TEST(random_packets_do_no_harm),
		TEST(erase_request_reaches_only_sandboxes),
		TEST(erase_of_a_dead_sandbox_waits_for_its_end),
		TEST(spawner_stops_reading_while_replies_are_queued),
		TEST(sandboxes_end_with_the_server),
	};

	return RUN_TESTS("engine/spawner", tests);
}
