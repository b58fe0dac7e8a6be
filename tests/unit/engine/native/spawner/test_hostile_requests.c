/* A server that was taken over drives the spawner with everything that the socket carries: requests
 * that are valid, nearly valid and random, packets of other sizes, descriptors. Afterwards nothing
 * has changed outside of the directories of sandboxes, and no process is left. */
#include "unit/engine/native/spawner/spawner_peer.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include "base/cleanup.h"

/* --- what must not change ------------------------------------------------------------- */

struct canary {
	const char *name;
	mode_t mode;
	const char *text; /* NULL: a directory */
};

/* In the state directory, beside the directories that the spawner uses. */
static const struct canary canaries[] = {
	{ "db", 0700, NULL },      { "db/belljar.db", 0600, "rows" },
	{ "servers", 0700, NULL }, { "servers/0123456789abcdef.lock", 0644, "" },
	{ "outside", 0755, NULL }, { "outside/file", 0640, "data of the host" },
};

static void make_canaries(const struct peer *peer)
{
	for (size_t i = 0; i < ARRAY_LEN(canaries); i++) {
		const struct canary *c = &canaries[i];
		AUTO_FD int fd = -1;

		if (c->text == NULL) {
			assert_int_equal(mkdirat(peer->state.fd, c->name, c->mode), 0);
			continue;
		}
		fd = openat(peer->state.fd, c->name, O_WRONLY | O_CREAT | O_CLOEXEC, c->mode);
		assert_int_equal(write(fd, c->text, strlen(c->text)), strlen(c->text));
		assert_int_equal(fchmod(fd, c->mode), 0);
	}
}

static void check_canary(const struct peer *peer, const struct canary *c)
{
	AUTO_FD int fd = openat(peer->state.fd, c->name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[64] = "";
	struct stat st;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, c->mode);
	assert_int_equal(st.st_uid, 0);
	if (c->text == NULL)
		return;
	assert_int_equal(read(fd, text, sizeof text - 1), strlen(c->text));
	assert_string_equal(text, c->text);
}

/* The entries of a directory below the state directory that do not begin with `prefix`. */
static size_t count_entries(const struct peer *peer, const char *name, const char *prefix)
{
	DIR *dir = fdopendir(openat(peer->state.fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL)
		count += entry->d_name[0] != '.' &&
		         strncmp(entry->d_name, prefix, strlen(prefix)) != 0;
	(void)closedir(dir);
	return count;
}

/* The spawner's mounts must not be seen by other processes of the host. */
static void check_mounts(const struct peer *peer)
{
	FILE *mounts = fopen("/proc/self/mounts", "re");
	char line[4096];

	assert_non_null(mounts);
	while (fgets(line, sizeof line, mounts) != NULL)
		assert_null(strstr(line, peer->state.path));
	(void)fclose(mounts);
}

static void check_host_is_unchanged(const struct peer *peer)
{
	for (size_t i = 0; i < ARRAY_LEN(canaries); i++)
		check_canary(peer, &canaries[i]);
	assert_int_equal(count_entries(peer, "outside", "file"), 0);
	assert_int_equal(count_entries(peer, "db", "belljar.db"), 0);
	assert_int_equal(count_entries(peer, "servers", "0123456789abcdef"), 0);
	check_mounts(peer);
}

static void start_with_canaries(struct peer *peer)
{
	peer_start(peer);
	make_canaries(peer);
}

static void stop_and_check(struct peer *peer)
{
	peer_wait_exit(peer);
	check_host_is_unchanged(peer);
	test_dir_remove(&peer->state);
}

/* --- random requests ------------------------------------------------------------------ */

enum { RANDOM_REQUESTS = 4000, NEAR_REQUESTS = 200, MUTATIONS_MAX = 4 };

/* A generator of its own, so that a failure can be repeated. */
static uint32_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

static void fill_random(uint64_t *seed, void *to, size_t size)
{
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = (unsigned char)next_random(seed);
}

/* Reads the replies that are waiting. Returns how many sandboxes were started. */
static size_t drain_replies(struct peer *peer, int quiet_ms)
{
	struct pollfd ready = { peer->socket, POLLIN, 0 };
	size_t started = 0;

	while (poll(&ready, 1, quiet_ms) == 1) {
		started += peer_receive(peer).kind == REPLY_STARTED;
		peer_close_fds(peer);
	}
	return started;
}

/* The spawner reads no request while many replies are queued: read some meanwhile. */
static size_t send_request(struct peer *peer, const struct engine_request *request)
{
	size_t started = 0;

	while (send(peer->socket, request, sizeof *request, MSG_DONTWAIT) < 0) {
		assert_int_equal(errno, EAGAIN);
		started += drain_replies(peer, 10);
	}
	return started + drain_replies(peer, 0);
}

/* Reads the replies to earlier requests: a REQUEST_LIST of its own is answered last. Only sandboxes
 * that are still being started are reported later. */
static size_t wait_until_read(struct peer *peer)
{
	const struct engine_request last = { .kind = REQUEST_LIST, .number = 0x77777777 };
	size_t started = 0;

	while (send(peer->socket, &last, sizeof last, MSG_DONTWAIT) < 0) {
		assert_int_equal(errno, EAGAIN);
		started += drain_replies(peer, 10);
	}
	for (;;) {
		struct engine_reply reply = peer_receive(peer);

		peer_close_fds(peer);
		started += reply.kind == REPLY_STARTED;
		if (reply.kind == REPLY_LISTED && reply.number == last.number &&
		    reply.id[0] == '\0')
			return started;
	}
}

static void random_requests_start_nothing(void **state)
{
	uint64_t seed = 1;
	struct peer peer;

	start_with_canaries(&peer);
	for (size_t i = 0; i < RANDOM_REQUESTS; i++) {
		struct engine_request request;

		fill_random(&seed, &request, sizeof request);
		request.kind = next_random(&seed) % (REQUEST_KIND_COUNT + 2);
		assert_int_equal(send_request(&peer, &request), 0);
	}
	assert_int_equal(wait_until_read(&peer), 0);
	peer_check_life_cycle(&peer, 1);
	stop_and_check(&peer);
}

/* Valid requests of which a few bytes are changed. Some are still valid and start a sandbox. */
static void changed_requests_start_confined_sandboxes_only(void **state)
{
	uint64_t seed = 2;
	size_t started = 0;
	struct peer peer;

	start_with_canaries(&peer);
	for (size_t i = 0; i < NEAR_REQUESTS; i++) {
		struct engine_request request = { .kind = (uint32_t)(1 +
			                                             i % (REQUEST_KIND_COUNT - 1)),
			                          .number = 1000 + i,
			                          .spec = peer_fresh_spec() };
		unsigned char *bytes = (unsigned char *)&request;

		for (uint32_t n = next_random(&seed) % MUTATIONS_MAX + 1; n > 0; n--)
			bytes[next_random(&seed) % sizeof request] = (unsigned char)next_random(
			        &seed);
		started += send_request(&peer, &request);
	}
	started += wait_until_read(&peer);
	for (int i = 0; started == 0 && i < 60; i++) /* on a busy machine a start takes long */
		started += drain_replies(&peer, 1000);
	assert_true(started > 0);
	stop_and_check(&peer);
}

/* --- fields out of range -------------------------------------------------------------- */

static void set_byte(void *field, unsigned char value)
{
	memcpy(field, &value, 1);
}

static void set_bool_2(struct spec *spec)
{
	set_byte(&spec->fresh, 2);
}

static void set_bool_255(struct spec *spec)
{
	set_byte(&spec->fresh, 255);
}

static void set_profile(struct spec *spec)
{
	memset(&spec->syscalls, 0x7f, sizeof spec->syscalls);
}

static void set_negative_profile(struct spec *spec)
{
	memset(&spec->syscalls, 0xff, sizeof spec->syscalls);
}

static void set_mount_count(struct spec *spec)
{
	spec->mount_count = 255;
}

static void set_mount(struct spec *spec, unsigned source, const char *target)
{
	spec->mount_count = 1;
	spec->mounts[0].source = (uint16_t)source;
	(void)snprintf(spec->mounts[0].target, sizeof spec->mounts[0].target, "%s", target);
}

static void set_mount_index(struct spec *spec)
{
	set_mount(spec, 65535, "/data");
}

static void set_mount_over_proc(struct spec *spec)
{
	set_mount(spec, 0, "/proc/self");
}

static void set_mount_with_dots(struct spec *spec)
{
	set_mount(spec, 0, "/workspace/../etc");
}

static void set_unterminated_target(struct spec *spec)
{
	spec->mount_count = 1;
	memset(spec->mounts[0].target, '/', sizeof spec->mounts[0].target);
}

static void set_all_gpus(struct spec *spec)
{
	spec->gpus = UINT64_MAX;
}

static void set_id_with_slash(struct spec *spec)
{
	memcpy(spec->id + 3, "../../outside", 13);
}

static void set_id_of_spare(struct spec *spec)
{
	memcpy(spec->id, "sp_", 3);
}

static void set_id_that_is_removed(struct spec *spec)
{
	memcpy(spec->id, "gn_", 3);
}

static void set_large_limits(struct spec *spec)
{
	memset(&spec->limits, 0xff, sizeof spec->limits);
}

static void set_no_limits(struct spec *spec)
{
	memset(&spec->limits, 0, sizeof spec->limits);
}

static void fields_out_of_range_are_refused(void **state)
{
	static void (*const changes[])(struct spec * spec) = {
		set_bool_2,
		set_bool_255,
		set_profile,
		set_negative_profile,
		set_mount_count,
		set_mount_index,
		set_mount_over_proc,
		set_mount_with_dots,
		set_unterminated_target,
		set_all_gpus,
		set_id_with_slash,
		set_id_of_spare,
		set_id_that_is_removed,
		set_large_limits,
		set_no_limits,
	};
	struct peer peer;

	start_with_canaries(&peer);
	for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
		struct spec spec = peer_fresh_spec();
		struct engine_reply reply;

		changes[i](&spec);
		peer_request(&peer, REQUEST_START, i + 1, &spec);
		reply = peer_receive(&peer);
		if (reply.kind != REPLY_ENDED || !reply.failed)
			fail_msg("change %zu was accepted", i);
		assert_int_equal(peer.fd_count, 0);
	}
	assert_int_equal(count_entries(&peer, "sandboxes", "."), 0);
	stop_and_check(&peer);
}

/* --- packets -------------------------------------------------------------------------- */

static size_t count_fds(pid_t pid)
{
	char path[64];
	size_t count = 0;
	DIR *dir;

	(void)snprintf(path, sizeof path, "/proc/%d/fd", pid);
	dir = opendir(path);
	assert_non_null(dir);
	while (readdir(dir) != NULL)
		count++;
	(void)closedir(dir);
	return count;
}

/* Descriptors that come with a packet must not be kept: they would fill the spawner's table. */
static void descriptors_in_packets_are_discarded(void **state)
{
	enum { PACKETS = 50, FDS = 20 };
	struct engine_request request = { .kind = REQUEST_KILL, .number = 12345 };
	struct iovec part = { &request, sizeof request };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(FDS * sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_iov = &part,
		                  .msg_iovlen = 1,
		                  .msg_control = &control,
		                  .msg_controllen = sizeof control };
	size_t before;
	struct peer peer;

	start_with_canaries(&peer);
	peer_check_life_cycle(&peer, 1);
	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(FDS * sizeof(int)),
		                         .cmsg_level = SOL_SOCKET,
		                         .cmsg_type = SCM_RIGHTS };
	for (size_t i = 0; i < FDS; i++)
		memcpy(CMSG_DATA(&control.head) + i * sizeof(int), &peer.state.fd, sizeof(int));
	before = count_fds(peer.pid);
	for (int i = 0; i < PACKETS; i++)
		assert_int_equal(sendmsg(peer.socket, &message, 0), sizeof request);
	peer_check_life_cycle(&peer, 2);
	assert_true(count_fds(peer.pid) < before + FDS);
	stop_and_check(&peer);
}

static void packets_of_other_sizes_are_ignored(void **state)
{
	static char bytes[4 * sizeof(struct engine_request)];
	const size_t sizes[] = { 1,
		                 4,
		                 sizeof(struct engine_request) - 1,
		                 sizeof(struct engine_request) + 1,
		                 2 * sizeof(struct engine_request),
		                 sizeof bytes };
	struct engine_request valid = { .kind = REQUEST_START,
		                        .number = 1,
		                        .spec = peer_fresh_spec() };
	struct peer peer;

	start_with_canaries(&peer);
	memcpy(bytes, &valid, sizeof valid);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		assert_int_equal(send(peer.socket, bytes, sizes[i], 0), sizes[i]);
	peer_check_life_cycle(&peer, 2);
	assert_int_equal(drain_replies(&peer, 0), 0);
	stop_and_check(&peer);
}

/* An empty packet is read like the end of the socket: the spawner exits with all sandboxes. */
static void empty_packet_ends_the_spawner(void **state)
{
	struct spec spec = peer_fresh_spec();
	struct engine_reply reply;
	struct peer peer;

	start_with_canaries(&peer);
	reply = peer_start_sandbox(&peer, 1, &spec);
	assert_int_equal(send(peer.socket, "", 0, 0), 0);
	stop_and_check(&peer);
	assert_int_equal(kill((pid_t)reply.pid, 0), -1);
	peer_close_fds(&peer);
}

/* --- sandboxes of others, and floods -------------------------------------------------- */

static void check_refused(struct peer *peer, enum engine_request_kind kind, uint64_t number,
                          const struct spec *spec, const char *why)
{
	struct engine_reply reply;

	peer_request(peer, kind, number, spec);
	reply = peer_receive(peer);
	assert_int_equal(reply.kind, kind == REQUEST_START ? REPLY_ENDED : REPLY_ERASED);
	assert_true(reply.failed);
	if (strstr(reply.err.msg, why) == NULL)
		fail_msg("%s", reply.err.msg);
}

static void sandbox_of_another_server_is_out_of_reach(void **state)
{
	struct spec spec = peer_fresh_spec(), waking;
	struct engine_reply reply;
	struct peer victim, hostile;

	start_with_canaries(&victim);
	reply = peer_start_sandbox(&victim, 1, &spec);
	peer_start_beside(&hostile, &victim);
	waking = spec;
	waking.fresh = false;
	check_refused(&hostile, REQUEST_START, 2, &waking, "awake in another server");
	check_refused(&hostile, REQUEST_START, 3, &spec, "File exists");
	check_refused(&hostile, REQUEST_ERASE, 4, &spec, "awake in another server");
	peer_request(&hostile, REQUEST_KILL, 1, NULL); /* the victim's number */
	peer_check_life_cycle(&hostile, 5);
	peer_wait_exit(&hostile);
	assert_int_equal(kill((pid_t)reply.pid, 0), 0);
	assert_int_equal(count_entries(&victim, "sandboxes", "sp_"), 1);
	peer_close_fds(&victim);
	stop_and_check(&victim);
}

static void numbers_and_ids_are_used_once(void **state)
{
	struct spec spec = peer_fresh_spec(), other = peer_fresh_spec();
	struct peer peer;
	int channel;

	start_with_canaries(&peer);
	(void)peer_start_sandbox(&peer, 1, &spec);
	channel = peer.fds[0];
	check_refused(&peer, REQUEST_START, 1, &other, "in use");
	check_refused(&peer, REQUEST_START, 2, &spec, "awake");
	check_refused(&peer, REQUEST_ERASE, 3, &spec, "awake");
	stop_and_check(&peer);
	(void)close(channel);
}

/* The server cannot write to sandboxes/, but its other users might: a link there is not
 * followed. */
static void link_in_place_of_a_sandbox_is_not_followed(void **state)
{
	struct spec spec = peer_fresh_spec();
	char path[64];
	struct peer peer;

	start_with_canaries(&peer);
	(void)snprintf(path, sizeof path, "sandboxes/%s", spec.id);
	assert_int_equal(symlinkat("../outside", peer.state.fd, path), 0);
	check_refused(&peer, REQUEST_ERASE, 1, &spec, "");
	check_refused(&peer, REQUEST_START, 2, &spec, "");
	spec.fresh = false;
	check_refused(&peer, REQUEST_START, 3, &spec, "");
	assert_int_equal(unlinkat(peer.state.fd, path, 0), 0);
	stop_and_check(&peer);
}

static void flood_of_sandboxes_ends_with_the_server(void **state)
{
	enum { FLOOD = 24 };
	int held[FLOOD * REPLY_FDS_MAX]; /* a sandbox whose channel is closed ends by itself */
	size_t started = 0, held_count = 0;
	pid_t pids[FLOOD];
	struct peer peer;

	start_with_canaries(&peer);
	for (size_t i = 0; i < FLOOD; i++) {
		struct spec spec = peer_fresh_spec();

		peer_request(&peer, REQUEST_START, i + 1, &spec);
	}
	while (started < FLOOD) {
		struct engine_reply reply = peer_receive(&peer);

		if (reply.failed)
			fail_msg("%s", reply.err.msg);
		assert_int_equal(reply.kind, REPLY_STARTED);
		pids[started++] = (pid_t)reply.pid;
		memcpy(held + held_count, peer.fds, peer.fd_count * sizeof held[0]);
		held_count += peer.fd_count;
	}
	stop_and_check(&peer);
	for (size_t i = 0; i < held_count; i++)
		(void)close(held[i]);
	for (size_t i = 0; i < FLOOD; i++)
		assert_int_equal(kill(pids[i], 0), -1);
}

/* Sends requests as long as the socket takes them, and waits up to `quiet_ms` for it to take
 * more. */
static size_t send_lists(struct peer *peer, int quiet_ms)
{
	enum { STEP_MS = 10 };
	const struct engine_request request = { .kind = REQUEST_LIST, .number = 1 };
	size_t sent = 0;
	int quiet = 0;

	while (quiet <= quiet_ms) {
		if (send(peer->socket, &request, sizeof request, MSG_DONTWAIT) > 0) {
			sent++;
			quiet = 0;
			continue;
		}
		assert_int_equal(errno, EAGAIN);
		(void)poll(NULL, 0, STEP_MS);
		quiet += STEP_MS;
	}
	return sent;
}

/* Each REQUEST_LIST has as many replies as there are directories. A server that does not read them
 * must not fill the memory of the spawner: one such request fills the queue of replies, and no
 * further one is read. */
static void queue_of_lists_is_bounded(void **state)
{
	enum { DIRECTORIES = 2000, READ_MAX = 8, QUIET_MS = 500 };
	size_t waiting, ended = 0, sent;
	struct peer peer;

	start_with_canaries(&peer);
	for (int i = 0; i < DIRECTORIES; i++) {
		struct spec spec = peer_fresh_spec();
		char path[64];

		(void)snprintf(path, sizeof path, "sandboxes/%s", spec.id);
		assert_int_equal(mkdirat(peer.state.fd, path, 0700), 0);
	}
	assert_int_equal(kill(peer.pid, SIGSTOP), 0);
	waiting = send_lists(&peer, 0);
	assert_int_equal(kill(peer.pid, SIGCONT), 0);
	assert_true(waiting > READ_MAX);
	sent = send_lists(&peer, QUIET_MS);
	assert_in_range(sent, 0, READ_MAX);
	while (ended < waiting + sent) {
		struct engine_reply reply = peer_receive(&peer);

		assert_int_equal(reply.kind, REPLY_LISTED);
		ended += reply.id[0] == '\0';
	}
	stop_and_check(&peer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(random_requests_start_nothing),
		TEST(changed_requests_start_confined_sandboxes_only),
		TEST(fields_out_of_range_are_refused),
		TEST(descriptors_in_packets_are_discarded),
		TEST(packets_of_other_sizes_are_ignored),
		TEST(empty_packet_ends_the_spawner),
		TEST(sandbox_of_another_server_is_out_of_reach),
		TEST(numbers_and_ids_are_used_once),
		TEST(link_in_place_of_a_sandbox_is_not_followed),
		TEST(flood_of_sandboxes_ends_with_the_server),
		TEST(queue_of_lists_is_bounded),
	};

	return RUN_TESTS("engine/hostile_requests", tests);
}
