#include "unit/agent/live/live.h"

static const uint64_t hash_start = 14695981039346656037U;

static uint64_t add_hash(uint64_t hash, struct view bytes) /* FNV-1a */
{
	for (size_t i = 0; i < bytes.len; i++)
		hash = (hash ^ (unsigned char)bytes.ptr[i]) * 1099511628211U;
	return hash;
}

void live_poke(void *live)
{
	loop_stop(((struct live *)live)->loop);
}

void live_turn(struct live *live, uint64_t ms)
{
	loop_timer_start(live->timer, ms);
	loop_run(live->loop);
	loop_timer_stop(live->timer);
}

void live_run_ms(struct live *live, uint64_t ms)
{
	uint64_t end = clock_now_ms() + ms;

	for (uint64_t now = end - ms; now < end; now = clock_now_ms())
		live_turn(live, end - now);
}

void live_keep(struct buf *buf, struct view bytes)
{
	struct error err;

	if (buf_add(buf, bytes, &err) < 0)
		fail_msg("%s came", err.msg);
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct live_stream *s = ctx;
	struct view records;

	live_poke(s->live);
	switch ((int)message->type) {
	case WIRE_STARTED:
		s->is_started = true;
		s->pid = message->started.pid;
		return;
	case WIRE_LINKED:
		s->is_started = true;
		return;
	case WIRE_EXITED:
		s->has_exited = true;
		s->exited = message->exited;
		return;
	case WIRE_STATS_ARE:
		s->stats = message->stats_are;
		return;
	case WIRE_ENTRIES:
	case WIRE_MATCHES:
		records = message->records.records;
		live_keep(&s->records, records);
		if (!s->holds_back)
			channel_consumed(s->stream, WIRE_OUT, records.len);
		return;
	default:
		fail_msg("%s came", wire_spec((uint8_t)message->type)->name);
	}
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->bytes[channel] += bytes.len;
	if (s->hashes)
		s->hash[channel] = add_hash(s->hash[channel], bytes);
	if (!s->counts_only)
		live_keep(&s->got[channel], bytes);
	if (s->joins)
		live_keep(&s->joined, bytes);
	if (!s->holds_back)
		channel_consumed(s->stream, channel, bytes.len);
}

static void on_ended(void *ctx, uint8_t channel)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->ended |= (uint8_t)(1u << channel);
}

/* The input is a pattern: after its end it starts again. */
static void on_writable(void *ctx)
{
	struct live_stream *s = ctx;
	size_t n = 1, want = 1;

	while (s->sent < s->to_send && n == want) {
		size_t from = (size_t)(s->sent % s->input.len);
		uint64_t left = s->to_send - s->sent;

		want = s->input.len - from;
		want = left < want ? (size_t)left : want;
		n = channel_send(s->stream, s->sends_on,
		                 (struct view){ s->input.ptr + from, want });
		if (s->hashes)
			s->sent_hash = add_hash(s->sent_hash,
			                        (struct view){ s->input.ptr + from, n });
		s->sent += n;
	}
	if (s->sent == s->to_send && !s->keeps_open && !s->said_end) {
		channel_send_end(s->stream, s->sends_on);
		s->said_end = true;
	}
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->stream = NULL;
	s->is_over = true;
	s->done = *done;
	(void)snprintf(s->cursor, sizeof s->cursor, "%s", done->cursor.ptr);
	s->done.cursor = view_of(s->cursor);
}

static void on_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	struct live_stream *s = ctx;

	live_poke(s->live);
	s->stream = NULL;
	s->is_over = s->is_failed = true;
	s->failure = failure;
	s->error = *why;
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.ended = on_ended,
	.writable = on_writable,
	.done = on_done,
	.failed = on_failed,
};

static struct live_stream *add_stream(struct live *live)
{
	struct live_stream *s = mem_new(sizeof *s);

	assert_true(live->count < LIVE_STREAMS);
	live->streams[live->count++] = s;
	s->live = live;
	s->sent_hash = hash_start;
	for (unsigned i = 0; i < WIRE_CHANNELS; i++) {
		buf_init(&s->got[i], LIVE_KEEP_MAX);
		s->hash[i] = hash_start;
	}
	buf_init(&s->records, LIVE_KEEP_MAX);
	buf_init(&s->joined, LIVE_KEEP_MAX);
	return s;
}

void live_feed(struct live_stream *s, struct view input, uint64_t bytes)
{
	s->input = input;
	s->to_send += bytes;
	if (s->stream != NULL)
		on_writable(s);
}

void live_feed_text(struct live_stream *s, const char *text)
{
	s->sent = s->to_send = 0;
	live_feed(s, view_of(text), strlen(text));
}

void live_end_input(struct live_stream *s)
{
	s->keeps_open = false;
	if (s->stream != NULL)
		on_writable(s);
}

struct live_stream *live_open(struct live *live, const struct wire_message *request)
{
	struct live_stream *s = add_stream(live);
	struct error err;

	CHECK_OK(channel_open(live->channel, request, &stream_events, s, &s->stream, &err), err);
	return s;
}

void live_say(struct live_stream *s, const struct wire_message *message)
{
	struct error err;

	CHECK_OK(channel_send_message(s->stream, message, &err), err);
}

struct live_stream *live_wait_ms(struct live_stream *s, int ms)
{
	LIVE_UNTIL(s->live, s->is_over, ms);
	return s;
}

struct live_stream *live_wait(struct live_stream *s)
{
	return live_wait_ms(s, LIVE_MS);
}

struct live_stream *live_check(struct live_stream *s)
{
	(void)live_wait(s);
	if (s->is_failed)
		fail_msg("failed (%d): %s", (int)s->failure, s->error.msg);
	return s;
}

void live_add_texts(struct wire_texts *list, struct buf *buf, const char *const *texts)
{
	struct error err;

	for (size_t i = 0; texts[i] != NULL; i++)
		CHECK_OK(wire_texts_add(list, buf, view_of(texts[i]), &err), err);
}

static struct live_stream *open_exec(struct live *live, const struct live_run *run,
                                     const struct wire_exec *exec)
{
	struct wire_message request = { .type = WIRE_EXEC, .exec = *exec };
	struct live_stream *s = live_open(live, &request);

	s->counts_only = run->counts_only;
	s->hashes = run->hashes;
	s->joins = run->joins;
	s->holds_back = run->holds_back;
	s->keeps_open = run->keeps_open;
	if (run->flags & WIRE_EXEC_STDIN)
		live_feed_text(s, run->input != NULL ? run->input : "");
	return s;
}

struct live_stream *live_open_run(struct live *live, const struct live_run *run,
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
	return open_exec(live, run, &exec);
}

struct live_stream *live_exited(struct live_stream *s)
{
	(void)live_check(s);
	assert_true(s->is_started && s->has_exited);
	return s;
}

struct live_stream *live_started(struct live_stream *s)
{
	LIVE_UNTIL(s->live, s->is_started || s->is_over, LIVE_MS);
	if (s->is_failed)
		fail_msg("failed (%d): %s", (int)s->failure, s->error.msg);
	return s;
}

void live_signal(struct live_stream *s, int number)
{
	live_say(s,
	         &(struct wire_message){ .type = WIRE_SIGNAL, .signal.number = (uint8_t)number });
}

struct live_stream *live_query(struct live *live, const struct wire_message *request)
{
	return live_wait(live_open(live, request));
}

struct live_stream *live_read_file(struct live *live, const char *path)
{
	return LIVE_QUERY(live, .type = WIRE_READ,
	                  .read = { .unit = WIRE_UNIT_BYTES,
	                            .count = UINT64_MAX,
	                            .max = UINT64_MAX,
	                            .path = view_of(path) });
}

struct live_stream *live_write_file(struct live *live, const char *path, struct view bytes)
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

bool live_entry(const struct live_stream *s, size_t n, struct wire_entry *ret)
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

bool live_match(const struct live_stream *s, size_t n, struct wire_match *ret)
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

unsigned long live_status(pid_t pid, const char *key)
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

pid_t live_parent(pid_t pid)
{
	return (pid_t)live_status(pid, "PPid:");
}

bool live_is_below(pid_t pid, pid_t top)
{
	for (int depth = 0; depth < 64 && pid > 1; depth++) {
		pid = live_parent(pid);
		if (pid == top)
			return true;
	}
	return false;
}

size_t live_descendants(const struct live *live, pid_t *pids, size_t max)
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

void live_wait_no_descendants(struct live *live, int ms)
{
	LIVE_UNTIL(live, live_descendants(live, NULL, 0) == 0, ms);
}

size_t live_agent_fds(const struct live *live)
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
