/* test_live_ends.c - no process outlives the channel, whether the server closes it, the agent is
 * killed, or one of them breaks the protocol. */
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "unit/agent/live/live_modes.h"

enum { GONE_MS = LIVE_MS };

/* --- inside --- */

static int fork_in_a_chain(void)
{
	if (fork() == 0) {
		while (live_may_fork())
			if (fork() > 0)
				_exit(0);
		_exit(0);
	}
	for (;;)
		(void)pause();
}

static int fork_without_end(void)
{
	(void)signal(SIGTERM, SIG_IGN);
	while (live_may_fork() && fork() >= -1)
		continue;
	return 0;
}

/* --- outside --- */

/* The test is a subreaper: an orphan becomes its child, so every process can be found. */
static size_t still_there(struct live *live)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int status;
	size_t n = 0;
	pid_t pid;

	assert_non_null(dir);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == live->agent) {
			live->status = status;
			live->agent = 0;
		}
	while ((entry = readdir(dir)) != NULL) {
		pid = (pid_t)strtol(entry->d_name, NULL, 10);
		if (pid > 0 && live_is_below(pid, getpid()))
			n++;
	}
	(void)closedir(dir);
	return n;
}

static bool are_all_gone(struct live *live)
{
	uint64_t start = clock_now_ms();

	while (still_there(live) != 0) {
		if (clock_now_ms() - start > GONE_MS)
			return false;
		(void)usleep(2000);
	}
	return true;
}

static void check_all_gone(struct live *live)
{
	if (!are_all_gone(live))
		fail_msg("%zu processes after %d ms", still_there(live), GONE_MS);
}

static const struct wire_limit few = { RLIMIT_NPROC, 200, 200 };

static const struct { /* what is running when the end comes */
	const char *script, *self;
} guests[] = {
	{ "echo up; sleep 100", NULL },
	{ "trap '' TERM HUP INT; sleep 100 & setsid sleep 100 & echo up; sleep 100", NULL },
	{ "sleep 100 & kill -STOP $!; echo up; kill -STOP $$", NULL },
	{ "yes & yes >&2 & echo up; wait", NULL },
	{ NULL, "--chain" },
	{ NULL, "--bomb" },
};

static bool invite(struct live *live, size_t i)
{
	bool is_bomb = guests[i].self != NULL && strcmp(guests[i].self, "--bomb") == 0;
	struct live_run run = { .counts_only = true, .limits = &few, .limit_count = is_bomb };
	size_t least = is_bomb ? 100 : 3; /* agent, keeper, program */
	struct live_stream *s;

	if (is_bomb && geteuid() != 0)
		return false; /* RLIMIT_NPROC would count other processes of the user too */
	live_start(live, &(struct live_options){ .is_pid1 = live_as_pid1,
	                                         .uid = is_bomb ? live_user() : 0,
	                                         .gid = is_bomb ? live_user() : 0 });
	if (guests[i].self != NULL) {
		(void)live_started(live_start_run(live, &run, live_self(), guests[i].self));
	} else {
		s = live_start_run(live, &run, "sh", "-c", guests[i].script);
		live_until_bytes(s, WIRE_OUT, 3);
	}
	live_run_ms(live, 300);
	for (int n = 0; n < 600 && still_there(live) < least; n++)
		live_run_ms(live, 50);
	if (still_there(live) < least)
		fail_msg("guest %zu has exited", i);
	return true;
}

static void all_processes_exit_with_the_channel(void **state)
{
	struct live live;

	for (size_t i = 0; i < ARRAY_LEN(guests); i++) {
		if (!invite(&live, i))
			continue;
		live.channel = channel_free(live.channel);
		check_all_gone(&live);
		assert_true(WIFEXITED(live.status) && WEXITSTATUS(live.status) == 0);
		live_stop(&live);
	}
}

static void all_processes_exit_with_the_agent(void **state)
{
	struct live live;

	for (size_t i = 0; i < ARRAY_LEN(guests); i++) {
		if (!invite(&live, i))
			continue;
		assert_int_equal(kill(live.agent, SIGKILL), 0);
		check_all_gone(&live);
		LIVE_UNTIL(&live, live.has_failed, GONE_MS);
		live_stop(&live);
	}
}

static void every_stream_fails_when_the_agent_exits(void **state)
{
	struct live_stream *s[40];
	struct live live;

	live_begin(&live);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		s[i] = live_start_run(&live, LIVE_RUN(0), "sleep", "100");
	(void)live_started(s[ARRAY_LEN(s) - 1]);
	assert_int_equal(kill(live.agent, SIGKILL), 0);
	LIVE_UNTIL(&live, live.has_failed, GONE_MS);
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		assert_true(s[i]->is_over && s[i]->is_failed);
		assert_int_equal(s[i]->failure, WIRE_FAILED_LOST);
		assert_string_equal(s[i]->error.msg, live.why.msg);
	}
	check_all_gone(&live);
	live_stop(&live);
}

/* --- without a channel, to say what a channel would not --- */

struct raw {
	struct live live;
	int fd;
	struct buf in;
	uint32_t next;
};

static void raw_put(struct raw *raw, struct view bytes)
{
	while (bytes.len != 0) {
		ssize_t n = write(raw->fd, bytes.ptr, bytes.len);

		assert_true(n > 0);
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
}

static void raw_say(struct raw *raw, const struct wire_message *message, uint32_t stream,
                    uint8_t channel)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	CHECK_OK(wire_encode(message, stream, channel, &out, &err), err);
	raw_put(raw, buf_view(&out));
}

/* The next message of this type on this stream; other messages are skipped. */
static struct wire_message raw_hear(struct raw *raw, enum wire_type type, uint32_t stream)
{
	struct pollfd ready = { .fd = raw->fd, .events = POLLIN };
	struct wire_message message;
	struct wire_frame frame;
	struct error err;
	char bytes[4096];

	for (;;) {
		struct view rest = buf_view(&raw->in);
		int r = wire_frame_cut(&rest, &frame, &err);
		ssize_t n;

		assert_true(r >= 0);
		if (r == 1) {
			static char last[WIRE_FRAME_MAX];

			memcpy(last, frame.payload.ptr, frame.payload.len);
			frame.payload.ptr = last;
			memmove(raw->in.ptr, rest.ptr, rest.len);
			buf_truncate(&raw->in, rest.len);
			CHECK_OK(wire_decode(&frame, &message, &err), err);
			if (message.type == type && frame.stream == stream)
				return message;
			continue;
		}
		assert_int_equal(poll(&ready, 1, LIVE_MS), 1);
		n = read(raw->fd, bytes, sizeof bytes);
		assert_true(n > 0);
		CHECK_OK(buf_add(&raw->in, (struct view){ bytes, (size_t)n }, &err), err);
	}
}

static void raw_start(struct raw *raw)
{
	struct wire_message welcome = { .type = WIRE_WELCOME };

	welcome.welcome = (struct wire_welcome){
		.version = WIRE_VERSION,
		.uid = getuid(),
		.gid = getgid(),
		.root = VIEW("/"),
		.workspace = VIEW("/tmp"),
	};
	memset(raw, 0, sizeof *raw);
	raw->next = 1;
	buf_init(&raw->in, 1024 * 1024);
	raw->fd = live_launch(&raw->live, live_as_pid1);
	(void)raw_hear(raw, WIRE_HELLO, 0);
	raw_say(raw, &welcome, 0, 0);
	(void)raw_hear(raw, WIRE_READY, 0);
}

/* Returns the number of the stream. */
static uint32_t raw_exec(struct raw *raw, const char *const *argv)
{
	struct wire_message request = { .type = WIRE_EXEC };
	AUTO_BUF struct buf args;
	AUTO_BUF struct buf env;

	buf_init(&args, WIRE_FRAME_MAX);
	buf_init(&env, WIRE_FRAME_MAX);
	request.exec.cwd = VIEW("");
	live_add_texts(&request.exec.argv, &args, argv);
	live_add_texts(&request.exec.env, &env, LIVE_ARGV("PATH=/usr/bin:/bin"));
	raw_say(raw, &request, raw->next, 0);
	raw->next += 2;
	return raw->next - 2;
}

static void raw_stop(struct raw *raw)
{
	(void)close(raw->fd);
	buf_done(&raw->in);
	check_all_gone(&raw->live);
}

static void agent_exits_when_the_server_breaks_the_protocol(void **state)
{
	static const struct view rows[] = {
		VIEW_INIT("\0\0\0\0\0\0\0\0"),
		VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff"),
		VIEW_INIT("\x10\0\xff\xf9\0\0\0\1"),             /* longer than a frame */
		VIEW_INIT("\x10\0\0\1\0\0\0\x63x"),              /* DATA on no stream */
		VIEW_INIT("\x10\1\0\1\0\0\0\1x"),                /* on the agent's channel */
		VIEW_INIT("\x12\1\0\4\0\0\0\1\xff\xff\xff\xff"), /* too much CREDIT */
		VIEW_INIT("\x21\0\0\4\0\0\0\1\0\0\0\1"),         /* STARTED, from us */
		VIEW_INIT("\x22\0\0\2\0\0\0\1\0\0"),             /* SIGNAL 0 */
		VIEW_INIT("\x01\0\0\0\0\0\0\0"),                 /* HELLO, from us */
		VIEW_INIT("\x05\0\0\x8\0\0\0\1"
		          "12345678"),           /* PING on a stream */
		VIEW_INIT("\x20\0\0\0\0\0\0\1"), /* EXEC on an old stream */
		VIEW_INIT("\x20\0\0\0\0\0\0\2"), /* EXEC on one of the agent's */
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct stderr_capture c;
		struct raw raw;
		uint32_t stream;
		char said[4096];
		bool gone;

		stderr_capture_start(&c);
		raw_start(&raw);
		stream = raw_exec(
		        &raw, LIVE_ARGV("sh", "-c", "trap '' TERM; setsid sleep 100 & sleep 100"));
		assert_int_equal(stream, 1);
		(void)raw_hear(&raw, WIRE_STARTED, 1);
		raw_put(&raw, rows[i]);
		gone = are_all_gone(&raw.live);
		(void)stderr_capture_end(&c, said, sizeof said);
		if (!gone)
			fail_msg("row %zu: still there", i);
		assert_true(WIFEXITED(raw.live.status));
		assert_int_equal(WEXITSTATUS(raw.live.status), 70);
		assert_int_equal(strncmp(said, "belljar-agent: ", 15), 0);
		raw_stop(&raw);
	}
}

/* A channel that is closed within a frame ends like any other. */
static void agent_exits_when_the_channel_closes_within_a_frame(void **state)
{
	struct raw raw;

	raw_start(&raw);
	(void)raw_exec(&raw, LIVE_ARGV("sleep", "100"));
	(void)raw_hear(&raw, WIRE_STARTED, 1);
	raw_put(&raw, VIEW("\x20\0\xff"));
	raw_stop(&raw);
	assert_true(WIFEXITED(raw.live.status) && WEXITSTATUS(raw.live.status) == 0);
}

/* A request beyond the maximum is answered with FAILED, and the open streams go on. */
static void agent_refuses_one_stream_too_many(void **state)
{
	struct wire_message answer;
	uint32_t stream = 0;
	struct raw raw;

	raw_start(&raw);
	for (int i = 0; i < WIRE_STREAMS_MAX + 1; i++) {
		stream = raw_exec(&raw, LIVE_ARGV("sleep", "100"));
		if (i < WIRE_STREAMS_MAX)
			(void)raw_hear(&raw, WIRE_STARTED, stream);
	}
	answer = raw_hear(&raw, WIRE_FAILED, stream);
	assert_int_equal(answer.failed.why, WIRE_FAILED_LIMIT);
	assert_string_equal(
	        answer.failed.message.ptr,
	        "too many programs and file operations at once: wait until some have ended");
	raw_say(&raw, &(struct wire_message){ .type = WIRE_CLOSE }, 1, 0);
	answer = raw_hear(&raw, WIRE_FAILED, 1);
	assert_int_equal(answer.failed.why, WIRE_FAILED_CLOSED);
	stream = raw_exec(&raw, LIVE_ARGV("true"));
	assert_int_equal(raw_hear(&raw, WIRE_EXITED, stream).exited.code, 0);
	raw_stop(&raw);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest all[] = {
		TEST(all_processes_exit_with_the_channel),
		TEST(all_processes_exit_with_the_agent),
		TEST(every_stream_fails_when_the_agent_exits),
		TEST(agent_exits_when_the_server_breaks_the_protocol),
		TEST(agent_exits_when_the_channel_closes_within_a_frame),
		TEST(agent_refuses_one_stream_too_many),
	};

	if (argc == 2)
		return strcmp(argv[1], "--bomb") == 0 ? fork_without_end() : fork_in_a_chain();
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	return LIVE_RUN_TWICE("ends", all);
}
