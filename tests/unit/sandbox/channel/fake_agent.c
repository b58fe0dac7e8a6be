#include "unit/sandbox/channel/fake_agent.h"

static void channel_rig_call_act(struct channel_rig_stream *s, const char *event)
{
	if (s->act != NULL)
		s->act(s, event);
}

static void channel_rig_on_message(void *ctx, const struct wire_message *message)
{
	struct channel_rig_stream *s = ctx;

	RIG_LOG(s->rig, "%s:%s", s->name, wire_spec((uint8_t)message->type)->name);
	channel_rig_call_act(s, "message");
}

static void channel_rig_on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct channel_rig_stream *s = ctx;
	struct error err;

	s->received += bytes.len;
	if (s->keeps)
		assert_int_equal(buf_add(&s->got[channel], bytes, &err), 0);
	else
		RIG_LOG(s->rig, "%s:bytes%u(%.*s)", s->name, channel, (int)bytes.len, bytes.ptr);
	if (s->consumes)
		channel_consumed(s->stream, channel, bytes.len);
	channel_rig_call_act(s, "bytes");
}

static void channel_rig_on_ended(void *ctx, uint8_t channel)
{
	struct channel_rig_stream *s = ctx;

	RIG_LOG(s->rig, "%s:ended%u", s->name, channel);
	channel_rig_call_act(s, "ended");
}

void channel_rig_on_writable(void *ctx)
{
	static const char zeros[256 * 1024];
	struct channel_rig_stream *s = ctx;
	size_t left, n;

	s->turns++;
	do {
		left = s->to_send - s->sent;
		left = left > sizeof zeros ? sizeof zeros : left;
		n = left == 0 ? 0 : channel_send(s->stream, WIRE_IN, (struct view){ zeros, left });
		s->sent += n;
	} while (n == left && left != 0);
	channel_rig_call_act(s, "writable");
}

static void channel_rig_on_done(void *ctx, const struct wire_done *done)
{
	struct channel_rig_stream *s = ctx;

	(void)done;
	s->ends++;
	RIG_LOG(s->rig, "%s:done", s->name);
	channel_rig_call_act(s, "done");
}

static void channel_rig_on_stream_failed(void *ctx, enum wire_failure failure,
                                         const struct error *why)
{
	struct channel_rig_stream *s = ctx;

	s->ends++;
	RIG_LOG(s->rig, "%s:failed%d(%s)", s->name, (int)failure, why->msg);
	channel_rig_call_act(s, "failed");
}

const struct channel_stream_events channel_rig_stream_events = {
	.message = channel_rig_on_message,
	.bytes = channel_rig_on_bytes,
	.ended = channel_rig_on_ended,
	.writable = channel_rig_on_writable,
	.done = channel_rig_on_done,
	.failed = channel_rig_on_stream_failed,
};

static void channel_rig_on_ready(void *ctx)
{
	struct channel_rig *rig = ctx;

	RIG_LOG(rig, "ready()");
	if (rig->act != NULL)
		rig->act(rig, "ready");
}

struct channel_rig_stream *channel_rig_new_stream(struct channel_rig *rig, const char *letter,
                                                  unsigned n)
{
	struct channel_rig_stream *s = &rig->streams[rig->opened++];

	s->rig = rig;
	(void)snprintf(s->name, sizeof s->name, "%s%u", letter, n);
	for (unsigned i = 0; i < WIRE_CHANNELS; i++)
		buf_init(&s->got[i], RIG_BYTES_MAX);
	return s;
}

static void channel_rig_on_failed(void *ctx, const struct error *why)
{
	struct channel_rig *rig = ctx;

	rig->failures++;
	RIG_LOG(rig, "failed(%s)", why->msg);
	if (rig->act != NULL)
		rig->act(rig, "failed");
}

const struct channel_events channel_rig_events = {
	.ready = channel_rig_on_ready,
	.failed = channel_rig_on_failed,
};

void channel_rig_open_timed(struct channel_rig *rig, const struct channel_times *times)
{
	struct wire_welcome welcome = {
		.uid = 1000, .gid = 1000, .root = view_of("/"), .workspace = view_of("/workspace")
	};
	struct error err;
	int ends[2];

	(void)signal(SIGPIPE, SIG_IGN);
	*rig = (struct channel_rig){ 0 };
	buf_init(&rig->log, RIG_BYTES_MAX);
	buf_init(&rig->in, RIG_BYTES_MAX);
	CHECK_OK(loop_new(&rig->loop, &err), err);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
	                 0);
	rig->fd = ends[1];
	CHECK_OK(channel_new_timed(rig->loop, ends[0], &welcome, times, &channel_rig_events, rig,
	                           &rig->channel, &err),
	         err);
}

void channel_rig_open(struct channel_rig *rig)
{
	static const struct channel_times times = { 60000, 60000 };

	channel_rig_open_timed(rig, &times);
}

void channel_rig_close_agent(struct channel_rig *rig)
{
	if (rig->fd >= 0)
		(void)close(rig->fd);
	rig->fd = -1;
}

void channel_rig_close(struct channel_rig *rig)
{
	rig->channel = channel_free(rig->channel);
	rig->loop = loop_free(rig->loop);
	channel_rig_close_agent(rig);
	buf_done(&rig->log);
	buf_done(&rig->in);
	for (unsigned i = 0; i < rig->opened; i++)
		for (unsigned j = 0; j < WIRE_CHANNELS; j++)
			buf_done(&rig->streams[i].got[j]);
}

static void channel_rig_on_turn(void *ctx)
{
	struct channel_rig *rig = ctx;

	if (rig->turns_left-- > 1)
		loop_defer(rig->loop, channel_rig_on_turn, rig);
	else
		loop_stop(rig->loop);
}

void channel_rig_run_turns(struct channel_rig *rig)
{
	rig->turns_left = 32;
	loop_defer(rig->loop, channel_rig_on_turn, rig);
	loop_run(rig->loop);
}

static void channel_rig_stop(void *ctx)
{
	loop_stop(((struct channel_rig *)ctx)->loop);
}

void channel_rig_run_ms(struct channel_rig *rig, uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(rig->loop, channel_rig_stop, rig);

	loop_timer_start(timer, ms);
	loop_run(rig->loop);
	(void)loop_timer_free(timer);
}

void channel_rig_run_until_failed(struct channel_rig *rig)
{
	for (int i = 0; i < 1000 && rig->failures == 0; i++)
		channel_rig_run_ms(rig, 10);
}

void channel_rig_check(struct channel_rig *rig, const char *want)
{
	channel_rig_run_turns(rig);
	assert_string_equal(buf_text(&rig->log), want);
	buf_truncate(&rig->log, 0);
}

size_t agent_send_bytes(struct channel_rig *rig, struct view bytes)
{
	ssize_t n = send(rig->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

	return n < 0 ? 0 : (size_t)n;
}

void agent_send(struct channel_rig *rig, const struct wire_message *message, uint32_t stream,
                uint8_t channel)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, WIRE_FRAME_MAX);
	CHECK_OK(wire_encode(message, stream, channel, &out, &err), err);
	assert_int_equal(agent_send_bytes(rig, buf_view(&out)), out.len);
}

void agent_hello(struct channel_rig *rig)
{
	AGENT_SEND(rig, 0, 0, .type = WIRE_HELLO,
	           .hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION });
}

void agent_ready(struct channel_rig *rig)
{
	AGENT_SEND(rig, 0, 0, .type = WIRE_READY);
}

void agent_data(struct channel_rig *rig, uint32_t stream, uint8_t channel, struct view bytes)
{
	AGENT_SEND(rig, stream, channel, .type = WIRE_DATA, .data.bytes = bytes);
}

void agent_started(struct channel_rig *rig, uint32_t stream)
{
	AGENT_SEND(rig, stream, 0, .type = WIRE_STARTED, .started.pid = 8);
}

void agent_done(struct channel_rig *rig, uint32_t stream)
{
	AGENT_SEND(rig, stream, 0, .type = WIRE_DONE, .done.cursor = VIEW(""));
}

void agent_read(struct channel_rig *rig)
{
	static char chunk[64 * 1024];
	struct error err;
	ssize_t n;

	while ((n = recv(rig->fd, chunk, sizeof chunk, MSG_DONTWAIT)) > 0)
		assert_int_equal(buf_add(&rig->in, (struct view){ chunk, (size_t)n }, &err), 0);
}

bool agent_receive(struct channel_rig *rig, struct wire_frame *frame)
{
	struct view rest;
	struct error err;
	int r;

	if (rig->consumed == rig->in.len) {
		channel_rig_run_turns(rig);
		buf_truncate(&rig->in, 0);
		rig->consumed = 0;
		agent_read(rig);
	}
	rest = (struct view){ rig->in.ptr + rig->consumed, rig->in.len - rig->consumed };
	if (rest.len == 0)
		return false;
	r = wire_frame_cut(&rest, frame, &err);
	assert_true(r > 0);
	rig->consumed = rig->in.len - rest.len;
	return true;
}

struct wire_message agent_expect(struct channel_rig *rig, enum wire_type type, uint32_t stream,
                                 uint8_t channel)
{
	struct wire_message message = { 0 };
	struct wire_frame frame;
	struct error err;

	if (!agent_receive(rig, &frame))
		fail_msg("%s was expected, nothing arrived", wire_spec((uint8_t)type)->name);
	if (frame.type != type)
		fail_msg("%s was expected, %s arrived", wire_spec((uint8_t)type)->name,
		         wire_spec(frame.type)->name);
	assert_int_equal(frame.stream, stream);
	assert_int_equal(frame.channel, channel);
	CHECK_OK(wire_decode(&frame, &message, &err), err);
	return message;
}

void agent_expect_nothing(struct channel_rig *rig)
{
	struct wire_frame frame;

	if (agent_receive(rig, &frame))
		fail_msg("nothing was expected, %s arrived", wire_spec(frame.type)->name);
}

struct wire_message exec_message(struct buf *buf)
{
	struct wire_message exec = { .type = WIRE_EXEC,
		                     .exec = { .flags = WIRE_EXEC_STDIN, .cwd = VIEW("") } };
	struct error err;

	buf_init(buf, WIRE_FRAME_MAX);
	CHECK_OK(wire_texts_add(&exec.exec.argv, buf, VIEW("true"), &err), err);
	return exec;
}

struct channel_rig_stream *channel_rig_open_stream(struct channel_rig *rig,
                                                   const struct wire_message *request)
{
	struct channel_rig_stream *s = channel_rig_new_stream(rig, "s", rig->channel->link.next);
	struct error err;

	CHECK_OK(channel_open(rig->channel, request, &channel_rig_stream_events, s, &s->stream,
	                      &err),
	         err);
	return s;
}

struct channel_rig_stream *channel_rig_exec(struct channel_rig *rig)
{
	AUTO_BUF struct buf args;
	struct wire_message exec = exec_message(&args);

	return channel_rig_open_stream(rig, &exec);
}

struct channel_rig_stream *channel_rig_read(struct channel_rig *rig)
{
	struct wire_message read = { .type = WIRE_READ, .read = { .count = 1, .path = VIEW("f") } };

	return channel_rig_open_stream(rig, &read);
}

struct channel_rig_stream *channel_rig_write(struct channel_rig *rig)
{
	struct wire_message write = { .type = WIRE_WRITE, .write = { .path = VIEW("f") } };

	return channel_rig_open_stream(rig, &write);
}

struct channel_rig_stream *channel_rig_list(struct channel_rig *rig, uint32_t limit)
{
	struct wire_message list = {
		.type = WIRE_LIST, .list = { .limit = limit, .path = VIEW("."), .cursor = VIEW("") }
	};

	return channel_rig_open_stream(rig, &list);
}

void channel_rig_open_ready(struct channel_rig *rig)
{
	channel_rig_open(rig);
	agent_hello(rig);
	(void)agent_expect(rig, WIRE_WELCOME, 0, 0);
	agent_ready(rig);
	channel_rig_check(rig, "ready()");
}
