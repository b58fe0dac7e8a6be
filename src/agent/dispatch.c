#include "agent/dispatch.h"

#include "agent/agent.h"
#include "agent/setup.h"
#include "base/error.h"

/* --- the greeting ------------------------------------------------------------------ */

void dispatch_hello(struct agent *agent)
{
	const struct wire_message message = {
		.type = WIRE_HELLO,
		.hello = { .magic = WIRE_MAGIC, .version = WIRE_VERSION },
	};

	outgoing_message(&agent->out, &message, 0, 0);
	wire_link_sent(&agent->link, WIRE_HELLO);
}

static void handle_welcome(struct agent *agent, const struct wire_message *message)
{
	struct wire_message reply = { .type = WIRE_READY };
	struct error err;

	if (setup_sandbox(agent, &message->welcome, &err) < 0) {
		reply.type = WIRE_REFUSED;
		reply.refused.reason = view_of(err.msg);
		agent->refused = true;
	} else if (agent->confine.landlock.ruleset >= 0)
		reply.ready.flags = WIRE_READY_LANDLOCK;
	outgoing_message(&agent->out, &reply, 0, 0);
	wire_link_sent(&agent->link, reply.type);
}

static void handle_ping(struct agent *agent, const struct wire_message *message)
{
	struct wire_message reply = { .type = WIRE_PONG, .ping = message->ping };

	outgoing_message(&agent->out, &reply, 0, 0);
}

/* --- streams ----------------------------------------------------------------------- */

static struct stream *find_stream(struct agent *agent, uint32_t id)
{
	for (size_t i = 0; id != 0 && i < WIRE_STREAMS_MAX; i++)
		if (agent->ids[i] == id)
			return &agent->streams[i];
	return NULL;
}

/* NULL: all slots are in use. */
static struct stream *add_stream(struct agent *agent, uint32_t id, enum wire_kind kind)
{
	for (size_t i = 0; i < WIRE_STREAMS_MAX; i++) {
		struct stream *stream = &agent->streams[i];

		if (agent->ids[i] != 0)
			continue;
		agent->ids[i] = id;
		*stream = (struct stream){ .agent = agent };
		wire_stream_init(&stream->wire, id, kind, WIRE_AGENT);
		return stream;
	}
	return NULL;
}

/* Sends FAILED for a request that gets no stream. */
static void refuse_request(struct agent *agent, uint32_t id, enum wire_failure failure,
                           const char *why)
{
	struct wire_message message = { .type = WIRE_FAILED };

	message.failed.why = (uint8_t)failure;
	message.failed.message = view_of(why);
	outgoing_message(&agent->out, &message, id, 0);
}

static void open_stream(struct agent *agent, uint32_t id, const struct wire_message *message)
{
	struct stream *stream = add_stream(agent, id, wire_spec((uint8_t)message->type)->opens);

	if (stream == NULL)
		return refuse_request(agent, id, WIRE_FAILED_LIMIT,
		                      "too many programs and file operations at once: "
		                      "wait until some have ended");
	if (message->type == WIRE_EXEC)
		program_open(stream, message);
	else if (message->type == WIRE_ACCEPT || message->type == WIRE_CONNECT)
		link_open(stream, message);
	else if (message->type == WIRE_CHANGES && !agent->on_host)
		changes_open(stream, message);
	else
		worker_open(stream, message);
}

/* Handles a frame that is for the channel itself or opens a stream. */
static int handle_link_frame(struct agent *agent, const struct wire_frame *frame, struct error *err)
{
	int r = wire_link_receive(&agent->link, frame, err);
	bool opens = r == 1 && wire_spec(frame->type)->opens != WIRE_KIND_NONE;
	struct wire_message message;

	if (r <= 0)
		return r;
	if (wire_decode(frame, &message, err) < 0) {
		if (!opens)
			return -1;
		/* A malformed request does not end the agent: its cause may be an argument of the
		 * server's client. */
		refuse_request(agent, frame->stream, WIRE_FAILED_INVALID, err->msg);
		return 0;
	}
	if (message.type == WIRE_WELCOME)
		handle_welcome(agent, &message);
	else if (message.type == WIRE_PING)
		handle_ping(agent, &message);
	else
		open_stream(agent, frame->stream, &message);
	return 0;
}

static int handle_frame(struct agent *agent, const struct wire_frame *frame, struct error *err)
{
	struct stream *stream = find_stream(agent, frame->stream);
	struct wire_message message;

	if (stream == NULL)
		return handle_link_frame(agent, frame, err);
	/* Unlike a request, a malformed message on an open stream is the server's own mistake. */
	if (wire_decode(frame, &message, err) < 0 ||
	    wire_stream_receive(&stream->wire, frame, err) < 0)
		return -1;
	if (message.type == WIRE_CREDIT)
		stream->handlers->credit(stream, frame->channel);
	else if (message.type == WIRE_CLOSE)
		stream->handlers->close(stream);
	else
		stream->handlers->message(stream, &message, frame->channel);
	return 0;
}

int dispatch_frames(struct agent *agent, struct view *bytes, struct error *err)
{
	struct wire_frame frame;
	int r;

	while (outgoing_is_free(&agent->out)) {
		r = wire_frame_cut(bytes, &frame, err);
		if (r <= 0)
			return r;
		if (handle_frame(agent, &frame, err) < 0)
			return -1;
	}
	return 1;
}

void dispatch_due(struct agent *agent, uint64_t now)
{
	if (agent->next_due == 0 || now < agent->next_due)
		return;
	agent->next_due = 0; /* computed again from all streams below */
	for (size_t i = 0; i < WIRE_STREAMS_MAX; i++) {
		struct stream *stream = &agent->streams[i];

		if (agent->ids[i] == 0 || stream->due == 0)
			continue;
		/* Without room for a reply a due stream stays due and is called in a later turn. */
		if (stream->due > now || !outgoing_is_free(&agent->out)) {
			stream_set_due(stream, stream->due);
			continue;
		}
		stream->due = 0;
		stream->handlers->due(stream);
	}
}
