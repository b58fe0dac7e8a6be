#include "agent/program/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/program/joints.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

enum {
	CLOSE_MS = 10000, /* its keeper does it in 2000, unless it is held up */
	BACKSTOP_MS = 5000,
	TERMINAL_MS = 200,
	TERMINAL_BYTES = 256 * 1024,
	END_KEY = 4, /* ^D */
};

static const struct carrier carrier;

static struct stream *stream_of(struct run *run)
{
	return container_of(run, struct stream, run);
}

/* --- ending ------------------------------------------------------------------------ */

static void stop(struct stream *stream)
{
	struct run *run = &stream->run;

	source_close(&run->keeper);
	feed_stop(&run->in);
	feed_stop(&run->control_in);
	pump_stop(&run->control_out);
	for (int i = 0; i < RUN_OUTPUTS; i++) {
		stream->agent->ring_bytes -= run->outputs[i].ring.size;
		pump_stop(&run->outputs[i].pump);
		ring_done(&run->outputs[i].ring);
	}
	if (run->terminal >= 0)
		(void)close(run->terminal);
	run->terminal = -1;
}

static void fail(struct stream *stream, const struct error *err)
{
	stop(stream);
	stream_failed(stream, err);
}

static void fail_closed(struct stream *stream)
{
	const char *limit = stream->run.limit;

	stop(stream);
	stream_failed_as(stream, limit != NULL ? WIRE_FAILED_LIMIT : WIRE_FAILED_CLOSED,
	                 limit != NULL ? limit : "closed");
}

/* What it wrote has been delivered and its keeper is gone: nothing more can come. A kept run
 * stays, for what was kept. */
static void finish(struct stream *stream)
{
	struct run *run = &stream->run;
	bool flowing = run->outputs[0].pump.source.fd >= 0 || run->outputs[1].pump.source.fd >= 0 ||
	               run->control_out.source.fd >= 0;

	if (!run->exited || stream->pid != 0)
		return;
	if (run->closing)
		return fail_closed(stream);
	if (!flowing && !run->kept) {
		stop(stream);
		stream_done(stream, NULL);
	}
}

static void on_output_end(struct pump *pump)
{
	if (pump->ring != NULL)
		run_tail_due(pump->stream, pump->channel);
	finish(pump->stream);
}

/* --- the keeper -------------------------------------------------------------------- */

static void tell_keeper(struct stream *stream, const struct keeper_order *order)
{
	/* One that does not read its orders is stopped or gone: the backstop ends it. */
	if (stream->run.keeper.fd >= 0)
		(void)!send(stream->run.keeper.fd, order, sizeof *order,
		            MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void on_exited(struct stream *stream, const struct keeper_report *report)
{
	struct wire_message message = { .type = WIRE_EXITED, .exited = report->exited };
	struct run *run = &stream->run;

	if (report->exited.flags & WIRE_EXITED_REMAINS)
		children_orphaned(stream->agent);
	run->exited = true;
	if (!run->closing)
		stream_say(stream, &message, 0);
	feed_stop(&run->in);
	feed_stop(&run->control_in);
}

/* Its last words are in the pipes by now. Each may end the stream. */
static void drain(struct stream *stream)
{
	uint32_t id = stream->wire.id;
	struct run *run = &stream->run;

	pump_finish(&run->control_out);
	if (stream->wire.id != id)
		return;
	if (run->terminal >= 0 && run->outputs[0].pump.source.fd >= 0)
		return stream_due(stream, clock_now_ms() + TERMINAL_MS); /* it says EIO by then */
	for (int i = 0; i < RUN_OUTPUTS && stream->wire.id == id; i++)
		pump_finish(&run->outputs[i].pump);
	if (stream->wire.id == id)
		finish(stream);
}

static void let_flow(struct stream *stream)
{
	struct run *run = &stream->run;

	pump_credit(&run->control_out);
	for (int i = 0; i < RUN_OUTPUTS; i++)
		pump_credit(&run->outputs[i].pump);
}

/* STARTED or REFUSED first, EXITED once: anything else is no keeper of ours. */
static bool is_in_order(const struct stream *stream, const struct keeper_report *report)
{
	bool asked = stream->wire.phase == WIRE_PHASE_ASKED;

	return report->kind == KEEPER_EXITED ? !asked && !stream->run.exited : asked;
}

static void take_report(struct stream *stream, const struct keeper_report *report)
{
	struct wire_message message = { .type = WIRE_STARTED };
	struct error err;

	if (!is_in_order(stream, report)) {
		stream_kill(stream);
		return source_close(&stream->run.keeper);
	}
	switch (report->kind) {
	case KEEPER_STARTED:
		message.started.pid = (uint32_t)report->pid;
		stream_say(stream, &message, 0);
		return let_flow(stream);
	case KEEPER_REFUSED:
		err = report->err;
		return fail(stream, &err);
	case KEEPER_EXITED:
		return on_exited(stream, report);
	}
}

/* Every report that is there. */
static void read_reports(struct stream *stream)
{
	uint32_t id = stream->wire.id;
	struct keeper_report report;

	while (stream->wire.id == id && stream->run.keeper.fd >= 0) {
		ssize_t n = recv(stream->run.keeper.fd, &report, sizeof report, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n != sizeof report)
			return source_close(&stream->run.keeper);
		take_report(stream, &report);
	}
}

static void on_keeper(struct source *source, uint32_t events)
{
	struct run *run = container_of(source, struct run, keeper);

	(void)events;
	read_reports(stream_of(run));
}

/* It was reaped: after its reports, or without any. */
static void on_child(struct stream *stream, int status)
{
	uint32_t id = stream->wire.id;

	(void)status;
	read_reports(stream);
	if (stream->wire.id != id)
		return;
	if (stream->run.exited)
		return drain(stream);
	children_orphaned(stream->agent);
	if (stream->run.closing)
		return fail_closed(stream);
	stop(stream);
	stream_failed_as(stream, WIRE_FAILED_LOST, "the program's keeper was killed");
}

/* Somebody else has the terminal open. How much waits in it cannot be asked, so what can be
 * read is, up to more than it holds. Again and again: there may be no credit now. */
static void drain_terminal(struct stream *stream)
{
	uint32_t id = stream->wire.id;

	pump_empty(&stream->run.outputs[0].pump, TERMINAL_BYTES);
	if (stream->wire.id == id && stream->run.outputs[0].pump.source.fd >= 0)
		stream_due(stream, clock_now_ms() + TERMINAL_MS);
}

/* It should have ended by now, or its terminal should have. */
static void on_due(struct stream *stream)
{
	if (stream->pid == 0 && stream->run.exited)
		drain_terminal(stream);
	else
		stream_kill(stream);
}

/* If the keeper does not keep its deadline, we do. */
static void set_backstop(struct stream *stream, uint64_t deadline_ms, uint64_t grace_ms)
{
	uint64_t at = clock_now_ms() + deadline_ms + grace_ms + BACKSTOP_MS;

	stream_due(stream, deadline_ms != 0 ? at : 0);
}

/* Asks the keeper to end everything; the stream ends when it has. */
static void end_all(struct stream *stream)
{
	struct run *run = &stream->run;

	run->closing = true;
	for (int i = 0; i < RUN_OUTPUTS; i++)
		pump_stop(&run->outputs[i].pump);
	pump_stop(&run->control_out);
	tell_keeper(stream, &(struct keeper_order){ .kind = KEEPER_END });
	stream_due(stream, clock_now_ms() + CLOSE_MS);
	finish(stream);
}

/* --- what is kept ------------------------------------------------------------------ */

static void keep(struct stream *stream, size_t size)
{
	struct agent *agent = stream->agent;
	struct run *run = &stream->run;

	if (agent->ring_bytes + RUN_OUTPUTS * size > AGENT_RINGS_MAX) {
		run->limit = "all programs together may keep 32 MiB of output";
		return end_all(stream);
	}
	for (int i = 0; i < RUN_OUTPUTS; i++) {
		struct run_output *output = &run->outputs[i];

		if (ring_init(&output->ring, size, output->pump.carried) < 0) {
			run->limit = "no memory to keep output";
			return end_all(stream);
		}
		agent->ring_bytes += size;
		output->pump.ring = &output->ring;
		pump_credit(&output->pump);
	}
	run->kept = true;
}

/* A terminal would not take an end of input here for one. */
static bool is_mid_line(struct view bytes)
{
	char last = bytes.ptr[bytes.len - 1];

	return last != '\n' && last != '\r' && last != END_KEY;
}

/* --- messages ---------------------------------------------------------------------- */

static void on_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	struct run *run = &stream->run;
	struct feed *feed = channel == WIRE_IN ? &run->in : &run->control_in;
	struct keeper_order order = { .kind = KEEPER_SIGNAL };

	switch ((int)message->type) {
	case WIRE_DATA:
		if (channel == WIRE_IN)
			run->mid_line = is_mid_line(message->data.bytes);
		return feed_put(feed, message->data.bytes);
	case WIRE_END:
		return feed_end(feed);
	case WIRE_SIGNAL:
		order.number = message->signal.number;
		order.target = message->signal.target;
		/* Only this side of a terminal tells a stranger who is in its foreground. */
		order.group = run->terminal >= 0 ? tcgetpgrp(run->terminal) : 0;
		return tell_keeper(stream, &order);
	case WIRE_DEADLINE:
		if (run->exited || run->closing)
			return; /* what is due now is the end */
		order.kind = KEEPER_DEADLINE;
		order.deadline_ms = message->deadline.deadline_ms;
		order.grace_ms = message->deadline.grace_ms;
		set_backstop(stream, order.deadline_ms, order.grace_ms);
		return tell_keeper(stream, &order);
	case WIRE_RESIZE:
		if (run->terminal >= 0)
			(void)ioctl(run->terminal, TIOCSWINSZ,
			            &(struct winsize){ .ws_row = message->resize.rows,
			                               .ws_col = message->resize.columns });
		return;
	case WIRE_KEEP:
		if (!run->kept && !run->closing)
			keep(stream, message->keep.ring);
		return;
	case WIRE_TAIL:
		return run_tail(stream, &message->tail);
	default:
		return;
	}
}

static void on_credit(struct stream *stream, uint8_t channel)
{
	struct run *run = &stream->run;

	if (channel == WIRE_CONTROL_OUT)
		pump_credit(&run->control_out);
	else
		pump_credit(&run->outputs[channel - WIRE_OUT].pump);
}

static void on_close(struct stream *stream)
{
	struct run *run = &stream->run;

	if (!run->exited || !run->kept)
		return end_all(stream);
	run->kept = false; /* that was all that held it, but perhaps its keeper's last breath */
	for (int i = 0; i < RUN_OUTPUTS; i++)
		pump_stop(&run->outputs[i].pump);
	pump_stop(&run->control_out);
	finish(stream);
}

static const struct carrier carrier = { on_message, on_credit, on_close, on_child, on_due };

/* --- starting ---------------------------------------------------------------------- */

/* A terminal has no end of input that could be closed: it has a key for it. Within a line that
 * key only hands on what was typed so far. */
static void end_terminal_input(struct feed *feed)
{
	static const char keys[] = { END_KEY, END_KEY };
	struct run *run = container_of(feed, struct run, in);

	if (write(feed->source.fd, keys, run->mid_line ? 2 : 1) < 0 && errno == EAGAIN)
		return source_want(&feed->source, EPOLLOUT);
	source_close(&feed->source);
}

/* The same socket is read by another source: closing one descriptor of it ends nothing. */
static void end_control_input(struct feed *feed)
{
	(void)shutdown(feed->source.fd, SHUT_WR);
	source_close(&feed->source);
}

static int join_input(struct stream *stream, struct joints *j, struct error *err)
{
	struct run *run = &stream->run;
	int control = j->ours_control >= 0 ? fcntl(j->ours_control, F_DUPFD_CLOEXEC, 0) : -1;

	feed_swallow(&run->in, stream, WIRE_IN);
	feed_swallow(&run->control_in, stream, WIRE_CONTROL_IN);
	if (j->program.terminal)
		run->terminal = fcntl(j->ours_in, F_DUPFD_CLOEXEC, 0);
	if (j->ours_in >= 0 && feed_start(&run->in, stream, WIRE_IN, j->ours_in,
	                                  j->program.terminal ? end_terminal_input : NULL, err) < 0)
		return -1;
	j->ours_in = -1;
	if (control >= 0)
		return feed_start(&run->control_in, stream, WIRE_CONTROL_IN, control,
		                  end_control_input, err);
	return 0;
}

static int join_output(struct stream *stream, uint8_t channel, struct pump *pump, int *fd,
                       struct error *err)
{
	*pump = (struct pump){ .source.fd = -1, .stream = stream, .channel = channel };
	if (*fd < 0)
		return 0;
	if (pump_start(pump, stream, channel, *fd, on_output_end, err) < 0)
		return -1;
	*fd = -1;
	return 0;
}

static int join(struct stream *stream, struct joints *j, struct error *err)
{
	struct run *run = &stream->run;

	if (join_input(stream, j, err) < 0 ||
	    join_output(stream, WIRE_OUT, &run->outputs[0].pump, &j->ours_out, err) < 0 ||
	    join_output(stream, WIRE_ERR, &run->outputs[1].pump, &j->ours_err, err) < 0 ||
	    join_output(stream, WIRE_CONTROL_OUT, &run->control_out, &j->ours_control, err) < 0 ||
	    source_add(&run->keeper, stream->agent->poller.inner, j->ours_keeper, EPOLLIN,
	               on_keeper, err) < 0)
		return -1;
	j->ours_keeper = -1;
	return 0;
}

static int start(struct stream *stream, struct joints *j, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_sys(err, "no room for another process in the sandbox");
	if (pid == 0)
		keeper_main(&j->program);
	stream->pid = pid;
	return 0;
}

static void prepare(struct stream *stream)
{
	struct run *run = &stream->run;

	*run = (struct run){ .terminal = -1 };
	run->keeper.fd = run->in.source.fd = run->control_in.source.fd = -1;
	run->control_out.source.fd = -1;
	for (int i = 0; i < RUN_OUTPUTS; i++)
		run->outputs[i].pump.source.fd = -1;
}

void run_open(struct stream *stream, const struct wire_message *message)
{
	const struct wire_exec *exec = &message->exec;
	struct agent *agent = stream->agent;
	struct joints j = {
		.program = { .exec = exec,
		             .user = &agent->user,
		             .confine = &agent->confine,
		             .workspace = agent->workspace,
		             .files = agent->files,
		             .nice = agent->nice,
		             .root = agent->root,
		             .proc = agent->proc },
	};
	struct error err;
	int r;

	stream->carrier = &carrier;
	prepare(stream);
	r = joints_make(&j, agent->null, &err);
	if (r == 0)
		r = start(stream, &j, &err);
	if (r == 0)
		r = join(stream, &j, &err);
	joints_close(&j, r < 0);
	if (r == 0) {
		set_backstop(stream, exec->deadline_ms, exec->grace_ms);
		if (exec->ring != 0)
			keep(stream, exec->ring);
		return;
	}
	if (stream->pid != 0) {
		stream_kill(stream);
		children_orphaned(agent);
	}
	fail(stream, &err);
}
