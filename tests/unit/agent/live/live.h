/* live.h - tests against the real agent, in a style that waits.
 *
 *   struct live live;
 *   live_start(&live, &(struct live_options){ .is_pid1 = true });
 *   struct live_stream *s = live_exec(&live, "sh", "-c", "echo hi; exit 3");
 *   assert_int_equal(s->exited.code, 3);
 *   CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "hi\n");
 *   live_stop(&live);
 *
 * Every request is a live_stream: it is opened with live_open() or one of the shorter ways
 * below and keeps all that came of it until live_stop(). LIVE_UNTIL(live, condition, ms)
 * turns the loop until the condition holds and fails the test if it does not in time;
 * live_wait() waits for the end of one stream. Nothing else turns the loop, so a test can
 * leave many streams going and look at them in any order.
 *
 * The agent is the program BELLJAR_AGENT names (build/agent/belljar-agent if it names none),
 * started as a child, or as PID 1 of new PID and mount namespaces (and a user namespace, if
 * the test is not run by root). Its workspace is a new directory, live.workspace. */
#pragma once
#include "unit/agent/live/live_core.h"

/* --- streams in general --- */

/* Sends s->input up to s->to_send, as fast as it is taken. */
static inline void live_feed(struct live_stream *s, struct view input, uint64_t bytes)
{
	s->input = input;
	s->to_send += bytes;
	if (s->stream != NULL)
		live_on_writable(s);
}

static inline void live_feed_text(struct live_stream *s, const char *text) /* once */
{
	s->sent = s->to_send = 0;
	live_feed(s, view_of(text), strlen(text));
}

static inline void live_end_input(struct live_stream *s)
{
	s->keeps_open = false;
	if (s->stream != NULL)
		live_on_writable(s);
}

/* Fails the test if it cannot be opened; what becomes of it is seen later. */
static inline struct live_stream *live_open(struct live *live, const struct wire_message *request)
{
	struct live_stream *s = live_new_stream(live);
	struct error err;

	CHECK_OK(channel_open(live->channel, request, &live_stream_events, s, &s->stream, &err),
	         err);
	return s;
}

static inline void live_say(struct live_stream *s, const struct wire_message *message)
{
	struct error err;

	CHECK_OK(channel_send_message(s->stream, message, &err), err);
}

static inline struct live_stream *live_wait_ms(struct live_stream *s, int ms)
{
	LIVE_UNTIL(s->live, s->is_over, ms);
	return s;
}

static inline struct live_stream *live_wait(struct live_stream *s)
{
	return live_wait_ms(s, LIVE_MS);
}

/* The stream has ended well, or the test fails with what it said. */
static inline struct live_stream *live_check(struct live_stream *s)
{
	(void)live_wait(s);
	if (s->is_failed)
		fail_msg("failed (%d): %s", (int)s->failure, s->error.msg);
	return s;
}

/* And the other way round. */
#define LIVE_CHECK_FAILED(s, want_failure, want_msg)                                               \
	do {                                                                                       \
		struct live_stream *s_ = live_wait(s);                                             \
		assert_true(s_->is_failed);                                                        \
		assert_string_equal(s_->error.msg, (want_msg));                                    \
		assert_int_equal(s_->failure, (want_failure));                                     \
	} while (0)

/* --- programs --- */

struct live_run {
	uint8_t flags; /* WIRE_EXEC_* */
	const char *cwd;
	const char *const *env; /* NULL: PATH only */
	uint32_t deadline_ms, grace_ms;
	uint16_t rows, columns;
	const struct wire_limit *limits;
	size_t limit_count;
	const char *input; /* for WIRE_EXEC_STDIN: sent, then END */
	bool keeps_open;   /* no END */
	bool counts_only, hashes, holds_back;
};

static inline void live_add_texts(struct wire_texts *list, struct buf *buf,
                                  const char *const *texts)
{
	struct error err;

	for (size_t i = 0; texts[i] != NULL; i++)
		CHECK_OK(wire_texts_add(list, buf, view_of(texts[i]), &err), err);
}

static inline struct live_stream *live_open_exec(struct live *live, const struct live_run *run,
                                                 const struct wire_exec *exec)
{
	struct wire_message request = { .type = WIRE_EXEC, .exec = *exec };
	struct live_stream *s = live_open(live, &request);

	s->counts_only = run->counts_only;
	s->hashes = run->hashes;
	s->holds_back = run->holds_back;
	s->keeps_open = run->keeps_open;
	if (run->flags & WIRE_EXEC_STDIN)
		live_feed_text(s, run->input != NULL ? run->input : "");
	return s;
}

/* Starts a program and returns at once. argv ends in NULL. */
static inline struct live_stream *live_open_run(struct live *live, const struct live_run *run,
                                                const char *const *argv)
{
	static const char *const usual_env[] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL };
	AUTO_BUF struct buf args;
	AUTO_BUF struct buf env;
	AUTO_BUF struct buf limits;
	struct wire_exec exec = {
		.flags = run->flags,
		.umask = 022,
		.rows = run->rows,
		.columns = run->columns,
		.deadline_ms = run->deadline_ms,
		.grace_ms = run->grace_ms,
		.cwd = view_of(run->cwd != NULL ? run->cwd : ""),
	};
	struct error err;

	buf_init(&args, WIRE_FRAME_MAX);
	buf_init(&env, WIRE_FRAME_MAX);
	buf_init(&limits, WIRE_FRAME_MAX);
	live_add_texts(&exec.argv, &args, argv);
	live_add_texts(&exec.env, &env, run->env != NULL ? run->env : usual_env);
	for (size_t i = 0; i < run->limit_count; i++)
		CHECK_OK(wire_limits_add(&exec.limits, &limits, run->limits[i], &err), err);
	return live_open_exec(live, run, &exec);
}

#define LIVE_ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* live_start_run(live, LIVE_RUN(.deadline_ms = 100, .cwd = "/"), "sh", "-c", "...") */
#define LIVE_RUN(...)                  (&(struct live_run){ __VA_ARGS__ })
#define live_start_run(live, run, ...) live_open_run(live, run, LIVE_ARGV(__VA_ARGS__))

/* Runs a program to its end and checks that it was started and has exited. */
#define live_exec(live, ...)                                                                       \
	live_exited(live_open_run(live, &(struct live_run){ 0 }, LIVE_ARGV(__VA_ARGS__)))

static inline struct live_stream *live_exited(struct live_stream *s)
{
	(void)live_check(s);
	assert_true(s->is_started && s->has_exited);
	return s;
}

static inline struct live_stream *live_started(struct live_stream *s)
{
	LIVE_UNTIL(s->live, s->is_started || s->is_over, LIVE_MS);
	if (s->is_failed)
		fail_msg("failed (%d): %s", (int)s->failure, s->error.msg);
	return s;
}

static inline void live_signal(struct live_stream *s, int number)
{
	live_say(s,
	         &(struct wire_message){ .type = WIRE_SIGNAL, .signal.number = (uint8_t)number });
}

/* --- files --- */

/* All of these wait for the end, and leave it to the test whether it is a good one. */

static inline struct live_stream *live_query(struct live *live, const struct wire_message *request)
{
	return live_wait(live_open(live, request));
}

#define LIVE_QUERY(live, ...) live_query(live, &(struct wire_message){ __VA_ARGS__ })

static inline struct live_stream *live_read_file(struct live *live, const char *path)
{
	return LIVE_QUERY(live, .type = WIRE_READ,
	                  .read = { .unit = WIRE_UNIT_BYTES,
	                            .count = UINT64_MAX,
	                            .max = UINT64_MAX,
	                            .path = view_of(path) });
}

static inline struct live_stream *live_write_file(struct live *live, const char *path,
                                                  struct view bytes)
{
	struct wire_message request = { .type = WIRE_WRITE,
		                        .write = { .mode = WIRE_WRITE_REPLACE,
		                                   .flags = WIRE_PARENTS,
		                                   .perm = 0644,
		                                   .max = UINT64_MAX,
		                                   .path = view_of(path) } };
	struct live_stream *s = live_open(live, &request);

	live_feed(s, bytes, bytes.len);
	return live_wait(s);
}

/* The n-th entry that came, or false. */
static inline bool live_entry(const struct live_stream *s, size_t n, struct wire_entry *ret)
{
	struct view rest = buf_view(&s->records);
	struct error err;

	for (size_t i = 0; rest.len != 0; i++) {
		CHECK_OK(wire_record_decode(&wire_entry_record, &rest, ret, &err), err);
		if (i == n)
			return true;
	}
	return false;
}

static inline bool live_match(const struct live_stream *s, size_t n, struct wire_match *ret)
{
	struct view rest = buf_view(&s->records);
	struct error err;

	for (size_t i = 0; rest.len != 0; i++) {
		CHECK_OK(wire_record_decode(&wire_match_record, &rest, ret, &err), err);
		if (i == n)
			return true;
	}
	return false;
}

/* --- the processes, as seen from outside --- */

static inline pid_t live_agent_pid(const struct live *live)
{
	return live->agent;
}

/* A number from /proc/PID/status, such as "VmRSS:" in KiB; 0 if there is none. */
static inline unsigned long live_status(pid_t pid, const char *key)
{
	char path[64], line[256];
	unsigned long n = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof line, file) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			n = strtoul(line + strlen(key), NULL, 10);
	(void)fclose(file);
	return n;
}

static inline pid_t live_parent(pid_t pid)
{
	return (pid_t)live_status(pid, "PPid:");
}

static inline bool live_is_below(pid_t pid, pid_t top)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		pid = live_parent(pid);
		if (pid == top)
			return true;
	}
	return false;
}

/* Processes below the agent, zombies too; at most `max` of them are written to pids. */
static inline size_t live_descendants(const struct live *live, pid_t *pids, size_t max)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)) != NULL) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid <= 0 || live->agent == 0 || !live_is_below(pid, live->agent))
			continue;
		if (n < max)
			pids[n] = pid;
		n++;
	}
	(void)closedir(dir);
	return n;
}

static inline void live_wait_no_descendants(struct live *live, int ms)
{
	LIVE_UNTIL(live, live_descendants(live, NULL, 0) == 0, ms);
}

/* Open descriptors of the agent. */
static inline size_t live_agent_fds(const struct live *live)
{
	char path[64];
	size_t n = 0;
	DIR *dir;

	(void)snprintf(path, sizeof path, "/proc/%d/fd", (int)live->agent);
	dir = opendir(path);
	if (dir == NULL)
		return 0;
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return n - 2;
}
