#include "agent/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/children.h"
#include "agent/program/keeper.h"
#include "agent/program/program_io.h"
#include "base/clock.h"
#include "base/error.h"

enum {
	CLOSE_MS = 10000, /* a keeper that was not stopped kills everything within 2000 ms */
	BACKSTOP_MS = 5000,
	TERMINAL_MS = 200,
	TERMINAL_BYTES = 256 * 1024, /* more than a terminal holds */
	END_KEY = 4,                 /* control-D */
};

static const struct stream_handlers handlers;

/* --- the end ----------------------------------------------------------------------- */

static void close_pumps(struct program *program)
{
	for (int i = 0; i < PROGRAM_PUMPS; i++)
		pump_close(&program->pumps[i]);
}

static void close_program(struct program *program)
{
	source_close(&program->keeper);
	feed_close(&program->in);
	feed_close(&program->control_in);
	close_pumps(program);
	if (program->terminal >= 0)
		(void)close(program->terminal);
	program->terminal = -1;
}

static void fail_program(struct stream *stream, const struct error *err)
{
	close_program(&stream->program);
	stream_fail(stream, err);
}

static void fail_closed(struct stream *stream)
{
	close_program(&stream->program);
	stream_fail_as(stream, WIRE_FAILED_CLOSED, "closed");
}

static bool has_output(const struct program *program)
{
	for (int i = 0; i < PROGRAM_PUMPS; i++)
		if (program->pumps[i].source.fd >= 0)
			return true;
	return false;
}

/* Ends the stream if the program has exited, its keeper is reaped and all output is sent. */
static void finish_if_over(struct stream *stream)
{
	struct program *program = &stream->program;

	if (!program->exited || stream->pid != 0)
		return;
	if (program->closing)
		return fail_closed(stream);
	if (!has_output(program)) {
		close_program(program);
		stream_done(stream, NULL);
	}
}

static void on_output_end(struct pump *pump)
{
	finish_if_over(pump->stream);
}

/* --- the keeper -------------------------------------------------------------------- */

static void send_order(struct stream *stream, const struct keeper_order *order)
{
	/* A keeper that does not read its orders was stopped or killed: the backstop handles
	 * that. */
	if (stream->program.keeper.fd >= 0)
		(void)!send(stream->program.keeper.fd, order, sizeof *order,
		            MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void handle_exited(struct stream *stream, const struct keeper_report *report)
{
	struct wire_message message = { .type = WIRE_EXITED, .exited = report->exited };
	struct program *program = &stream->program;

	message.exited.left = (struct view){ report->left, strnlen(report->left, WIRE_LEFT_MAX) };
	if (report->exited.flags & WIRE_EXITED_REMAINS)
		children_set_orphans(stream->agent);
	program->exited = true;
	if (!program->closing)
		stream_send(stream, &message, 0);
	feed_close(&program->in);
	feed_close(&program->control_in);
}

/* All processes have exited, so the last bytes they wrote are in the pipes now. Each pump that ends
 * may end the stream. */
static void finish_output(struct stream *stream)
{
	uint32_t id = stream->wire.id;
	struct program *program = &stream->program;

	pump_finish(&program->pumps[2]);
	if (stream->wire.id != id)
		return;
	/* A terminal fails with EIO when all bytes are read, unless another process has it open. */
	if (program->terminal >= 0 && program->pumps[0].source.fd >= 0)
		return stream_set_due(stream, clock_now_ms() + TERMINAL_MS);
	for (int i = 0; i < PROGRAM_PUMPS && stream->wire.id == id; i++)
		pump_finish(&program->pumps[i]);
	if (stream->wire.id == id)
		finish_if_over(stream);
}

/* STARTED or FAILED comes first, and EXITED once. A keeper that reports anything else does not work
 * properly, and is killed. */
static bool report_is_expected(const struct stream *stream, const struct keeper_report *report)
{
	bool starting = stream->wire.phase == WIRE_PHASE_STARTING;

	return report->kind == KEEPER_EXITED ? !starting && !stream->program.exited : starting;
}

static void handle_report(struct stream *stream, const struct keeper_report *report)
{
	struct wire_message message = { .type = WIRE_STARTED };
	struct error err;

	if (!report_is_expected(stream, report)) {
		stream_kill(stream);
		return source_close(&stream->program.keeper);
	}
	switch (report->kind) {
	case KEEPER_STARTED:
		message.started.pid = (uint32_t)report->pid;
		stream_send(stream, &message, 0);
		for (int i = 0; i < PROGRAM_PUMPS; i++)
			pump_credit(&stream->program.pumps[i]);
		return;
	case KEEPER_FAILED:
		err = report->err;
		return fail_program(stream, &err);
	case KEEPER_EXITED:
		return handle_exited(stream, report);
	}
}

static void read_reports(struct stream *stream)
{
	uint32_t id = stream->wire.id;
	struct keeper_report report;

	while (stream->wire.id == id && stream->program.keeper.fd >= 0) {
		ssize_t n = recv(stream->program.keeper.fd, &report, sizeof report, MSG_DONTWAIT);

		/* ECONNRESET comes once, in front of the reports that wait: the keeper has exited
		 * without reading an order. */
		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		/* 0: the keeper has exited. Its last reports were read before, because packets keep
		 * their order. */
		if (n != sizeof report)
			return source_close(&stream->program.keeper);
		handle_report(stream, &report);
	}
}

static void on_keeper(struct source *source, uint32_t events)
{
	struct program *program = container_of(source, struct program, keeper);

	(void)events;
	read_reports(container_of(program, struct stream, program));
}

/* The keeper was reaped. Its last reports may still be in the socket; a killed keeper left none. */
static void on_child(struct stream *stream, int status)
{
	uint32_t id = stream->wire.id;

	(void)status;
	read_reports(stream);
	if (stream->wire.id != id)
		return;
	if (stream->program.exited)
		return finish_output(stream);
	children_set_orphans(stream->agent);
	if (stream->program.closing)
		return fail_closed(stream);
	close_program(&stream->program);
	stream_fail_as(stream, WIRE_FAILED_LOST, "the program's keeper was killed");
}

/* A process outside this program's tree has the terminal open, so reading does not end with EIO.
 * Reads the bytes that wait now; without credit the next call reads the rest. */
static void drain_terminal(struct stream *stream)
{
	uint32_t id = stream->wire.id;

	pump_drain(&stream->program.pumps[0], TERMINAL_BYTES);
	if (stream->wire.id == id && stream->program.pumps[0].source.fd >= 0)
		stream_set_due(stream, clock_now_ms() + TERMINAL_MS);
}

/* The terminal of an exited program has not ended, or the keeper has missed the deadline. */
static void on_due(struct stream *stream)
{
	if (stream->pid == 0 && stream->program.exited)
		drain_terminal(stream);
	else
		stream_kill(stream);
}

/* A keeper that was stopped by SIGSTOP misses the deadline. BACKSTOP_MS later the agent kills the
 * keeper and the orphans it leaves. */
static void set_backstop(struct stream *stream, uint64_t deadline_ms, uint64_t grace_ms)
{
	uint64_t at = clock_now_ms() + deadline_ms + grace_ms + BACKSTOP_MS;

	stream_set_due(stream, deadline_ms != 0 ? at : 0);
}

/* --- messages ---------------------------------------------------------------------- */

static bool is_mid_line(struct view bytes)
{
	char last = bytes.ptr[bytes.len - 1];

	return last != '\n' && last != '\r' && last != END_KEY;
}

static void handle_deadline(struct stream *stream, const struct wire_deadline *deadline)
{
	const struct keeper_order order = { .kind = KEEPER_DEADLINE,
		                            .deadline_ms = deadline->deadline_ms,
		                            .grace_ms = deadline->grace_ms };

	/* The due time of an ending stream is for its own end. */
	if (stream->program.exited || stream->program.closing)
		return;
	set_backstop(stream, order.deadline_ms, order.grace_ms);
	send_order(stream, &order);
}

static void on_message(struct stream *stream, const struct wire_message *message, uint8_t channel)
{
	struct program *program = &stream->program;
	struct feed *feed = channel == WIRE_IN ? &program->in : &program->control_in;
	struct winsize size;

	switch ((int)message->type) {
	case WIRE_DATA:
		write_order_renew(program);
		if (channel == WIRE_IN)
			program->mid_line = is_mid_line(message->data.bytes);
		return feed_put(feed, message->data.bytes);
	case WIRE_END:
		return feed_end(feed);
	case WIRE_SIGNAL:
		return send_order(stream,
		                  &(struct keeper_order){ .kind = KEEPER_SIGNAL,
		                                          .number = message->signal.number });
	case WIRE_DEADLINE:
		return handle_deadline(stream, &message->deadline);
	case WIRE_RESIZE:
		size = (struct winsize){ .ws_row = message->resize.rows,
			                 .ws_col = message->resize.columns };
		if (program->terminal >= 0)
			(void)ioctl(program->terminal, TIOCSWINSZ, &size);
		return;
	default:
		return;
	}
}

static struct pump *pump_of(struct program *program, uint8_t channel)
{
	return &program->pumps[channel == WIRE_CONTROL_OUT ? 2 : channel - WIRE_OUT];
}

static void on_credit(struct stream *stream, uint8_t channel)
{
	pump_credit(pump_of(&stream->program, channel));
}

/* Has the keeper kill everything; the stream ends when the keeper is reaped. */
static void on_close(struct stream *stream)
{
	stream->program.closing = true;
	close_pumps(&stream->program);
	send_order(stream, &(struct keeper_order){ .kind = KEEPER_KILL });
	stream_set_due(stream, clock_now_ms() + CLOSE_MS);
	finish_if_over(stream);
}

static const struct stream_handlers handlers = { on_message, on_credit, on_close, on_child,
	                                         on_due };

/* --- starting ---------------------------------------------------------------------- */

/* A terminal's input cannot be closed; control-D ends it. In the middle of a line the first
 * control-D only passes the line on, and a second one is needed. */
static void end_terminal_input(struct feed *feed)
{
	static const char keys[] = { END_KEY, END_KEY };
	struct program *program = container_of(feed, struct program, in);

	if (write(feed->source.fd, keys, program->mid_line ? 2 : 1) < 0 && errno == EAGAIN)
		return source_want(&feed->source, EPOLLOUT);
	source_close(&feed->source);
}

/* A pump has a second descriptor of the same socket, so close() alone would not end the input. */
static void end_control_input(struct feed *feed)
{
	(void)shutdown(feed->source.fd, SHUT_WR);
	source_close(&feed->source);
}

static int open_feeds(struct stream *stream, struct program_io *io, struct error *err)
{
	struct program *program = &stream->program;
	bool has_terminal = io->launch->has_terminal;
	int control = io->control >= 0 ? fcntl(io->control, F_DUPFD_CLOEXEC, 0) : -1;

	feed_open_discarding(&program->in, stream, WIRE_IN);
	feed_open_discarding(&program->control_in, stream, WIRE_CONTROL_IN);
	if (has_terminal)
		program->terminal = fcntl(io->in, F_DUPFD_CLOEXEC, 0);
	if (io->in >= 0 && feed_open(&program->in, stream, WIRE_IN, io->in,
	                             has_terminal ? end_terminal_input : NULL, err) < 0)
		return -1;
	io->in = -1;
	if (control >= 0)
		return feed_open(&program->control_in, stream, WIRE_CONTROL_IN, control,
		                 end_control_input, err);
	return 0;
}

static int open_pump(struct stream *stream, uint8_t channel, int *fd, bool has_terminal,
                     struct error *err)
{
	struct pump *pump = pump_of(&stream->program, channel);

	if (*fd < 0)
		return 0;
	if (pump_open(pump, stream, channel, *fd, on_output_end, err) < 0)
		return -1;
	*fd = -1; /* the pump owns it now */
	if (!has_terminal)
		pump_set_ordered(pump);
	return 0;
}

static int open_sources(struct stream *stream, struct program_io *io, struct error *err)
{
	bool has_terminal = io->launch->has_terminal;

	if (open_feeds(stream, io, err) < 0 ||
	    open_pump(stream, WIRE_OUT, &io->out, has_terminal, err) < 0 ||
	    open_pump(stream, WIRE_ERR, &io->err, has_terminal, err) < 0 ||
	    open_pump(stream, WIRE_CONTROL_OUT, &io->control, has_terminal, err) < 0 ||
	    source_add(&stream->program.keeper, stream->agent->poller.inner, io->keeper, EPOLLIN,
	               on_keeper, err) < 0)
		return -1;
	io->keeper = -1;
	return 0;
}

static int start_keeper(struct stream *stream, struct launch *launch, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_sys(err, "no room for another process in the sandbox");
	if (pid == 0)
		keeper_run(launch);
	stream->pid = pid;
	return 0;
}

static void init_program(struct stream *stream)
{
	struct program *program = &stream->program;

	*program = (struct program){ .terminal = -1 };
	program->keeper.fd = program->in.source.fd = program->control_in.source.fd = -1;
	for (int i = 0; i < PROGRAM_PUMPS; i++)
		program->pumps[i] = (struct pump){ .source.fd = -1, .stream = stream };
}

void program_open(struct stream *stream, const struct wire_message *message)
{
	const struct wire_exec *exec = &message->exec;
	struct agent *agent = stream->agent;
	struct launch launch = {
		.exec = exec,
		.user = &agent->user,
		.confine = &agent->confine,
		.workspace = agent->workspace,
		.files = agent->files,
		.nice = agent->nice,
		.root = agent->root,
		.proc = agent->proc,
	};
	struct program_io io;
	struct error err;
	int r;

	stream->handlers = &handlers;
	init_program(stream);
	r = program_io_open(&io, &launch, agent->null, &err);
	if (r == 0)
		r = start_keeper(stream, &launch, &err);
	if (r == 0)
		r = open_sources(stream, &io, &err);
	program_io_close(&io, r < 0);
	if (r == 0)
		return set_backstop(stream, exec->deadline_ms, exec->grace_ms);
	if (stream->pid != 0) {
		/* The keeper may have started the program already, which is an orphan then. */
		stream_kill(stream);
		children_set_orphans(agent);
	}
	fail_program(stream, &err);
}
