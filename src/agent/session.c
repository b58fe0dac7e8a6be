#include "agent/session.h"

#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/setup.h"
#include "base/buf.h"
#include "base/error.h"

/* --- the greeting ------------------------------------------------------------------ */

static void tell_limits(struct wire_limits *limits, struct buf *buf)
{
	struct error err;

	for (int i = 0; i < RLIMIT_NLIMITS && i < WIRE_LIMITS_MAX; i++) {
		struct rlimit limit;

		if (syscall(SYS_prlimit64, 0, i, NULL, &limit) == 0)
			(void)!wire_limits_add(
			        limits, buf,
			        (struct wire_limit){ (uint8_t)i, limit.rlim_cur, limit.rlim_max },
			        &err);
	}
}

static void tell_groups(struct wire_numbers *groups, struct buf *buf)
{
	gid_t all[WIRE_GROUPS_MAX];
	int count = getgroups(WIRE_GROUPS_MAX, all);
	struct error err;

	for (int i = 0; i < count; i++)
		(void)!wire_numbers_add(groups, buf, all[i], &err);
}

void session_hello(struct agent *agent)
{
	char group_bytes[WIRE_GROUPS_MAX * 4 + 1];
	char limit_bytes[WIRE_LIMITS_MAX * WIRE_LIMIT_SIZE + 1];
	struct buf groups = buf_fixed(group_bytes, sizeof group_bytes);
	struct buf limits = buf_fixed(limit_bytes, sizeof limit_bytes);
	struct wire_message message = { .type = WIRE_HELLO };
	struct utsname name = { .release = "" };

	(void)uname(&name);
	message.hello = (struct wire_hello){
		.magic = WIRE_MAGIC,
		.version = WIRE_VERSION,
		.flags = getpid() == 1 ? WIRE_HELLO_PID1 : 0,
		.pid = (uint32_t)getpid(),
		.uid = getuid(),
		.gid = getgid(),
		.kernel = { name.release, strnlen(name.release, 64) },
		.machine = { name.machine, strnlen(name.machine, 64) },
	};
	tell_groups(&message.hello.groups, &groups);
	tell_limits(&message.hello.limits, &limits);
	out_message(&agent->out, &message, 0, 0);
	wire_link_put(&agent->link, WIRE_HELLO);
}

static void welcome(struct agent *agent, const struct wire_message *message)
{
	struct wire_message answer = { .type = WIRE_READY };
	struct error err;

	if (setup(agent, &message->welcome, &err) < 0) {
		answer.type = WIRE_REFUSED;
		answer.refused.reason = view_of(err.msg);
		agent->refused = true;
	} else {
		answer.ready.flags = agent->confine.landlock.ruleset >= 0 ? WIRE_READY_LANDLOCK : 0;
		answer.ready.proxy_port = agent->proxy.port;
	}
	out_message(&agent->out, &answer, 0, 0);
	wire_link_put(&agent->link, answer.type);
}

static void ping(struct agent *agent, const struct wire_message *message)
{
	struct wire_message answer = { .type = WIRE_PONG, .ping = message->ping };

	out_message(&agent->out, &answer, 0, 0);
}

/* --- streams ----------------------------------------------------------------------- */

static struct stream *find(struct agent *agent, uint32_t id)
{
	for (size_t i = 0; id != 0 && i < AGENT_STREAMS; i++)
		if (agent->ids[i] == id)
			return &agent->streams[i];
	return NULL;
}

/* The server's streams and ours have slots of their own: neither can take the other's. */
struct stream *agent_stream(struct agent *agent, uint32_t id, enum wire_kind kind, bool mine)
{
	size_t first = mine ? WIRE_STREAMS_SERVER : 0;
	size_t last = mine ? AGENT_STREAMS : WIRE_STREAMS_SERVER;

	for (size_t i = first; i < last; i++) {
		struct stream *stream = &agent->streams[i];

		if (agent->ids[i] != 0)
			continue;
		agent->ids[i] = id;
		*stream = (struct stream){ .agent = agent };
		wire_stream_init(&stream->wire, id, kind, mine);
		return stream;
	}
	return NULL;
}

/* An answer to a request that got no stream. */
static void refuse(struct agent *agent, uint32_t id, enum wire_failure failure, const char *why)
{
	struct wire_message message = { .type = WIRE_FAILED };

	message.failed.why = (uint8_t)failure;
	message.failed.message = view_of(why);
	out_message(&agent->out, &message, id, 0);
}

static void open_stream(struct agent *agent, uint32_t id, const struct wire_message *message)
{
	struct stream *stream = agent_stream(agent, id, wire_spec((uint8_t)message->type)->opens,
	                                     false);

	if (stream == NULL)
		return refuse(agent, id, WIRE_FAILED_LIMIT, "too many streams at once");
	if (message->type == WIRE_EXEC)
		run_open(stream, message);
	else if (message->type == WIRE_PORT)
		relay_open_port(stream, message);
	else
		worker_open(stream, message);
}

/* A frame that is not for a live stream. */
static int take_new(struct agent *agent, const struct wire_frame *frame, struct error *err)
{
	int r = wire_link_take(&agent->link, frame, err);
	bool opens = r == 1 && wire_spec(frame->type)->opens != WIRE_KIND_NONE;
	struct wire_message message;

	if (r <= 0)
		return r;
	if (wire_decode(frame, &message, err) < 0) {
		if (!opens)
			return -1;
		refuse(agent, frame->stream, WIRE_FAILED_INVALID, err->msg);
		return 0;
	}
	if (message.type == WIRE_WELCOME)
		welcome(agent, &message);
	else if (message.type == WIRE_PING)
		ping(agent, &message);
	else
		open_stream(agent, frame->stream, &message);
	return 0;
}

static int take_frame(struct agent *agent, const struct wire_frame *frame, struct error *err)
{
	struct stream *stream = find(agent, frame->stream);
	struct wire_message message;

	if (stream == NULL)
		return take_new(agent, frame, err);
	if (wire_decode(frame, &message, err) < 0 ||
	    wire_stream_take(&stream->wire, frame, err) < 0)
		return -1;
	if (message.type == WIRE_CREDIT)
		stream->carrier->credit(stream, frame->channel);
	else if (message.type == WIRE_CLOSE)
		stream->carrier->close(stream);
	else
		stream->carrier->message(stream, &message, frame->channel);
	return 0;
}

int session_take(struct agent *agent, struct view *bytes, struct error *err)
{
	struct wire_frame frame;
	int r;

	while (out_is_free(&agent->out)) {
		r = wire_frame_cut(bytes, &frame, err);
		if (r <= 0)
			return r;
		if (take_frame(agent, &frame, err) < 0)
			return -1;
	}
	return 1;
}

void session_due(struct agent *agent, uint64_t now)
{
	if (agent->next_due == 0 || now < agent->next_due)
		return;
	agent->next_due = 0;
	for (size_t i = 0; i < AGENT_STREAMS; i++) {
		struct stream *stream = &agent->streams[i];

		if (agent->ids[i] == 0 || stream->due == 0)
			continue;
		/* Those that find no room to speak stay due. */
		if (stream->due > now || !out_is_free(&agent->out)) {
			stream_due(stream, stream->due);
			continue;
		}
		stream->due = 0;
		stream->carrier->due(stream);
	}
}
