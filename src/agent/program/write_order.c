#include "agent/program/write_order.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/clock.h"

enum {
	DESCRIPTORS = 1024, /* output of higher descriptors has no order */
	BATCH = 32,         /* signals that are read at once */
	BATCHES = 64,       /* and in one turn: a flood of signals must not keep the agent here */
	QUEUE = BATCH * BATCHES,
	FLOOD = 4096, /* writes in FLOOD_MS, after which signals are switched off */
	FLOOD_MS = 1000,
	TRIES = 4,
	YIELDS = 3,
	LATE_MS = 100, /* how much later than its bytes the signal of a write may come */
	SCRATCH_BYTES = 256 * 1024,
};

static int signals = -1, scratch[2] = { -1, -1 };
static struct pump *pumps[DESCRIPTORS];

/* The kernel counts the signals that wait per user id, and compares the sum with the limit of the
 * process that gets the signal. The low limit keeps programs that write much from filling the quota
 * of a user id that others have too. The kernel sends SIGIO in place of a signal beyond it. */
void write_order_init(void)
{
	struct rlimit limit;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGIO);
	(void)sigaddset(&set, SIGRTMIN);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	if (getrlimit(RLIMIT_SIGPENDING, &limit) == 0 && limit.rlim_cur > QUEUE) {
		limit.rlim_cur = QUEUE;
		(void)setrlimit(RLIMIT_SIGPENDING, &limit);
	}
	signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (pipe2(scratch, O_CLOEXEC | O_NONBLOCK) == 0)
		(void)fcntl(scratch[0], F_SETPIPE_SZ, SCRATCH_BYTES);
}

static void set_signals(int fd, bool on)
{
	(void)fcntl(fd, F_SETFL, O_NONBLOCK | (on ? O_ASYNC : 0));
}

void write_order_watch(int fd)
{
	if (signals >= 0 && fd < DESCRIPTORS && fcntl(fd, F_SETOWN, getpid()) == 0 &&
	    fcntl(fd, F_SETSIG, SIGRTMIN) == 0)
		set_signals(fd, true);
}

/* --- the signals ------------------------------------------------------------------- */

static size_t index_of(const struct pump *pump)
{
	return (size_t)(pump - pump->stream->program.pumps);
}

static void remove_stretch(struct write_order *order, size_t at)
{
	order->count--;
	memmove(&order->stretches[at], &order->stretches[at + 1],
	        (order->count - at) * sizeof order->stretches[0]);
}

static uint32_t waiting_bytes(const struct pump *pump)
{
	int n = 0;

	if (pump->source.fd >= 0)
		(void)ioctl(pump->source.fd, FIONREAD, &n);
	return n > 0 ? (uint32_t)n : 0;
}

static void append_stretch(struct write_order *order, size_t pump, uint32_t bytes)
{
	/* More changes than an answer shows: what waits is sent without order. */
	if (order->count == ARRAY_LEN(order->stretches))
		order->count = 0;
	order->stretches[order->count++] = (struct write_stretch){ 1, bytes, (uint8_t)pump };
}

/* Lets the bytes that wait in the pumps of `mask` be sent before those of later signals. */
static void append_waiting(struct program *program, unsigned mask)
{
	for (size_t i = 0; mask >> i != 0; i++) {
		uint32_t bytes = (mask & 1u << i) != 0 ? waiting_bytes(&program->pumps[i]) : 0;

		if (bytes != 0)
			append_stretch(&program->order, i, bytes);
	}
}

static void add_write(struct pump *pump)
{
	struct program *program = &pump->stream->program;
	struct write_order *order = &program->order;
	size_t index = index_of(pump);
	struct write_stretch *newest = order->count != 0 ? &order->stretches[order->count - 1]
	                                                 : NULL;
	uint64_t early = pump->early_ms;

	order->signals++;
	pump->early_ms = 0;
	/* The bytes of this write were sent before the signal came. */
	if (early != 0 && clock_now_ms() - early < LATE_MS)
		return;
	if (newest != NULL && newest->pump == index && newest->bytes == 0) {
		newest->writes++;
	} else {
		append_waiting(program, order->quiet);
		append_stretch(order, index, 0);
	}
	if (++order->writes <= FLOOD || pump->channel == WIRE_CONTROL_OUT)
		return;
	order->quiet |= (uint8_t)(1u << index);
	set_signals(pump->source.fd, false);
}

static void collect_signals(void)
{
	struct signalfd_siginfo infos[BATCH];
	ssize_t n = sizeof infos;

	for (int i = 0; i < BATCHES && n == sizeof infos; i++) {
		n = read(signals, infos, sizeof infos);
		for (size_t k = 0; n > 0 && k < (size_t)n / sizeof infos[0]; k++) {
			uint32_t fd = (uint32_t)infos[k].ssi_fd;

			if (infos[k].ssi_code == POLL_IN && infos[k].ssi_signo != SIGIO &&
			    fd < DESCRIPTORS && pumps[fd] != NULL)
				add_write(pumps[fd]);
		}
	}
}

void write_order_add(struct pump *pump)
{
	if (pump->source.fd < DESCRIPTORS)
		pumps[pump->source.fd] = pump;
}

void write_order_remove(struct pump *pump)
{
	int fd = pump->source.fd;

	if (fd < 0 || fd >= DESCRIPTORS || pumps[fd] != pump)
		return;
	/* A forked child may have a copy of the descriptor, so close() may not switch them off. */
	set_signals(fd, false);
	collect_signals();
	pumps[fd] = NULL;
}

/* --- what to send ------------------------------------------------------------------ */

void write_order_renew(struct program *program)
{
	struct write_order *order = &program->order;

	for (size_t i = 0; order->quiet >> i != 0; i++)
		if (order->quiet & 1u << i && program->pumps[i].source.fd >= 0)
			set_signals(program->pumps[i].source.fd, true);
	append_waiting(program, order->quiet);
	order->quiet = 0;
	order->writes = 0;
	order->since_ms = clock_now_ms();
}

/* Copies the bytes that wait to `text` and leaves them in the pipe. */
static size_t peek(const struct pump *pump, char *text, size_t bytes)
{
	ssize_t n = tee(pump->source.fd, scratch[1], bytes, SPLICE_F_NONBLOCK);

	if (n > 0)
		n = read(scratch[0], text, (size_t)n);
	return n > 0 ? (size_t)n : 0;
}

/* How many of the bytes that wait belong to a stretch. If other stretches of the pump follow, each
 * gets as many lines as it has of the writes. */
static uint32_t bytes_of_stretch(struct program *program, size_t at, uint32_t waiting)
{
	const struct write_stretch *stretch = &program->order.stretches[at];
	struct pump *pump = &program->pumps[stretch->pump];
	uint64_t writes = 0, lines = 0;
	char *text;
	size_t n;

	for (size_t i = at; i < program->order.count; i++)
		if (program->order.stretches[i].pump == stretch->pump)
			writes += program->order.stretches[i].writes;
	if (writes == stretch->writes || pump->channel == WIRE_CONTROL_OUT ||
	    waiting > WIRE_PAYLOAD_MAX)
		return waiting;
	text = outgoing_payload(&pump->stream->agent->out);
	n = peek(pump, text, waiting);
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n' || i == n - 1;
	/* The last signal of a pipe whose write end was closed is not that of a write. */
	writes -= (program->order.closed & 1u << stretch->pump) != 0;
	lines = (lines * stretch->writes + writes - 1) / writes;
	for (size_t i = 0; i < n; i++)
		if (text[i] == '\n' && --lines == 0)
			return (uint32_t)i + 1;
	return waiting;
}

/* Notes which write ends are closed. */
static void note_closed(struct program *program)
{
	struct pollfd states[PROGRAM_PUMPS];

	for (size_t i = 0; i < PROGRAM_PUMPS; i++)
		states[i] = (struct pollfd){ .fd = program->pumps[i].source.fd };
	(void)poll(states, PROGRAM_PUMPS, 0);
	program->order.closed = 0;
	for (size_t i = 0; i < PROGRAM_PUMPS; i++)
		program->order.closed |= (uint8_t)((states[i].revents != 0) << i);
}

/* A byte whose signal has not come yet was written after those of all signals that came. So the
 * bytes are counted before the signals are read, until no more signals come. The kernel queues a
 * signal shortly after it has made the bytes visible: where bytes are to be divided, the writer
 * gets time for that. */
static void measure(struct program *program, uint32_t *waiting)
{
	struct write_order *order = &program->order;
	uint32_t signals_before;

	for (int i = 0; i < TRIES; i++) {
		signals_before = order->signals;
		for (size_t k = 0; k < PROGRAM_PUMPS; k++)
			waiting[k] = waiting_bytes(&program->pumps[k]);
		collect_signals();
		if (order->count > 1)
			note_closed(program);
		for (int k = 0; k < YIELDS && order->count > 1; k++) {
			(void)sched_yield();
			collect_signals();
		}
		if (order->signals == signals_before)
			return;
	}
}

static bool has_stretch(const struct write_order *order, size_t pump)
{
	for (size_t i = 0; i < order->count; i++)
		if (order->stretches[i].pump == pump)
			return true;
	return false;
}

/* Output whose signal was taken for that of earlier bytes (early_ms) is sent before the message of
 * an interpreter: it was printed first, because an interpreter prints nothing while its message
 * waits to be read. */
static void put_output_first(struct program *program, const uint32_t *waiting)
{
	struct write_order *order = &program->order;

	if (order->count == 0 ||
	    program->pumps[order->stretches[0].pump].channel != WIRE_CONTROL_OUT)
		return;
	for (size_t i = 0; i < PROGRAM_PUMPS; i++) {
		if (waiting[i] == 0 || has_stretch(order, i))
			continue;
		append_stretch(order, i, waiting[i]);
		memmove(&order->stretches[1], &order->stretches[0],
		        (order->count - 1) * sizeof order->stretches[0]);
		order->stretches[0] = (struct write_stretch){ 1, waiting[i], (uint8_t)i };
	}
}

struct pump *write_order_next(struct pump *ready, size_t *ret_max)
{
	struct program *program = &ready->stream->program;
	struct write_order *order = &program->order;
	uint32_t waiting[PROGRAM_PUMPS];
	size_t self = index_of(ready);

	if (clock_now_ms() - order->since_ms >= FLOOD_MS)
		write_order_renew(program);
	*ret_max = pump_allowed_bytes(ready);
	ready->early_ms = 0;
	if (order->count == 0 && (order->quiet & 1u << self) != 0)
		collect_signals();
	if (order->count == 0 && (order->quiet & 1u << self) != 0)
		return ready; /* a flood: nothing has to be counted */
	measure(program, waiting);
	/* Bytes came without a signal: those of pumps that have none are sent first, and all output
	 * before a message. */
	if (order->count == 0 && ready->channel == WIRE_CONTROL_OUT)
		append_waiting(program, (1u << PROGRAM_PUMPS) - 1);
	else if (order->count == 0)
		append_waiting(program, order->quiet);
	put_output_first(program, waiting);
	for (size_t i = 0; i < order->count;) {
		struct write_stretch *stretch = &order->stretches[i];
		struct pump *pump = &program->pumps[stretch->pump];
		size_t allowed = pump_allowed_bytes(pump);

		if (waiting[stretch->pump] == 0) {
			remove_stretch(order, i); /* its bytes were sent already */
			continue;
		}
		/* A stream without credit does not delay the other. */
		if (allowed == 0) {
			i++;
			continue;
		}
		if (stretch->bytes == 0)
			stretch->bytes = bytes_of_stretch(program, i, waiting[stretch->pump]);
		*ret_max = allowed < stretch->bytes ? allowed : stretch->bytes;
		stretch->bytes -= (uint32_t)*ret_max;
		if (stretch->bytes == 0)
			remove_stretch(order, i);
		return pump;
	}
	*ret_max = pump_allowed_bytes(ready);
	ready->early_ms = 0;
	if (waiting[self] == 0 || (order->quiet & 1u << self) != 0)
		return ready;
	if (waiting[self] < *ret_max)
		*ret_max = waiting[self];
	ready->early_ms = clock_now_ms();
	return ready;
}
