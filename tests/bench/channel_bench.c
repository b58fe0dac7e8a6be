/* channel_bench.c - the cost of the channel: a program started through the channel beside a bare
 * fork and exec; output through the channel beside a bare pipe; the agent's memory and size. The
 * two alternate, so that load on the machine affects both. BENCH_RUNS and BENCH_MIB set the
 * numbers. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/agent_image.h"
#include "loop/loop.h"
#include "sandbox/channel/channel.h"

#include "measure.h"

enum { WARM_UP = 20, BULK_ROUNDS = 3, WINDOW = 1024 * 1024, PIPE_READ = 64 * 1024 };

struct bench {
	struct loop *loop;
	struct channel *channel;
	struct channel_stream *stream; /* of the current run */
	pid_t agent;
	uint64_t bytes; /* of its output */
	struct wire_exited exited;
};

/* --- without the channel --- */

static pid_t start_bare(char *const argv[], int out)
{
	char path[] = "PATH=/usr/bin:/bin";
	char *const env[] = { path, NULL };
	pid_t child = fork();

	if (child < 0)
		die("fork", strerror(errno));
	if (child == 0) {
		if (out < 0 || dup2(out, STDOUT_FILENO) == STDOUT_FILENO)
			(void)execvpe(argv[0], argv, env);
		_exit(127);
	}
	return child;
}

static void wait_bare(pid_t child)
{
	int status = -1;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		die("a bare run", "did not end well");
}

static double time_bare(char *const argv[])
{
	double from = now_us();

	wait_bare(start_bare(argv, -1));
	return now_us() - from;
}

static double time_bare_bulk(char *const argv[], uint64_t want)
{
	static char bytes[PIPE_READ];
	double from = now_us();
	uint64_t got = 0;
	int ends[2];
	pid_t child;
	ssize_t n;

	if (pipe2(ends, O_CLOEXEC) < 0)
		die("pipe", strerror(errno));
	child = start_bare(argv, ends[1]);
	(void)close(ends[1]);
	while ((n = read(ends[0], bytes, sizeof bytes)) > 0)
		got += (uint64_t)n;
	wait_bare(child);
	(void)close(ends[0]);
	if (got != want)
		die("a bare pipe", "lost bytes");
	return now_us() - from;
}

/* --- through the channel --- */

static void on_ready(void *ctx)
{
	struct bench *bench = ctx;

	loop_stop(bench->loop);
}

static void on_channel_failed(void *ctx, const struct error *why)
{
	(void)ctx;
	die("the channel", why->msg);
}

static const struct channel_events channel_events = {
	.ready = on_ready,
	.failed = on_channel_failed,
};

/* An agent without privileges cannot drop its supplementary groups, so it is told to keep them. */
static void keep_groups(struct wire_welcome *welcome, struct buf *buf)
{
	gid_t groups[64];
	int count = geteuid() != 0 ? getgroups(64, groups) : 0;
	struct error err;

	for (int i = 0; i < count; i++)
		if (wire_numbers_add(&welcome->groups, buf, groups[i], &err) < 0)
			die("groups", err.msg);
}

static void start_agent(struct bench *bench)
{
	AUTO_BUF struct buf groups;
	struct wire_welcome welcome = {
		.version = WIRE_VERSION,
		.uid = getuid(),
		.gid = getgid(),
		.root = view_of("/"),
		.workspace = view_of("/tmp"),
	};
	struct error err;
	int ends[2];
	int image = agent_image_open(AGENT_IN_SANDBOX, NULL, &err);

	if (image < 0)
		die("the agent", err.msg);
	buf_init(&groups, 1024);
	keep_groups(&welcome, &groups);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		die("socketpair", strerror(errno));
	bench->agent = fork();
	if (bench->agent == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)agent_image_exec(image, ends[1], 0, NULL, &err);
		die("the agent", err.msg);
	}
	if (bench->agent < 0)
		die("fork", strerror(errno));
	(void)close(image);
	(void)close(ends[1]);
	if (loop_new(&bench->loop, &err) < 0 ||
	    channel_new(bench->loop, ends[0], &welcome, &channel_events, bench, &bench->channel,
	                &err) < 0)
		die("the channel", err.msg);
	loop_run(bench->loop);
}

static void stop_agent(struct bench *bench)
{
	bench->channel = channel_free(bench->channel);
	bench->loop = loop_free(bench->loop);
	while (waitpid(bench->agent, NULL, 0) < 0 && errno == EINTR)
		;
}

static void on_message(void *ctx, const struct wire_message *message)
{
	struct bench *bench = ctx;

	if (message->type == WIRE_EXITED)
		bench->exited = message->exited;
}

static void on_bytes(void *ctx, uint8_t channel, struct view bytes)
{
	struct bench *bench = ctx;

	bench->bytes += bytes.len;
	channel_consumed(bench->stream, channel, bytes.len);
}

static void on_done(void *ctx, const struct wire_done *done)
{
	struct bench *bench = ctx;

	(void)done;
	loop_stop(bench->loop);
}

static void on_stream_failed(void *ctx, enum wire_failure failure, const struct error *why)
{
	(void)ctx;
	(void)failure;
	die("a run through the channel", why->msg);
}

static const struct channel_stream_events stream_events = {
	.message = on_message,
	.bytes = on_bytes,
	.done = on_done,
	.failed = on_stream_failed,
};

/* `window`: bytes of credit that the agent gets in addition to the initial 64 KiB. */
static double time_channel(struct bench *bench, char *const argv[], size_t window)
{
	struct wire_message request = { .type = WIRE_EXEC };
	AUTO_BUF struct buf args, env;
	struct error err;
	double from;

	request.exec.umask = 022;
	buf_init(&args, 1024);
	buf_init(&env, 1024);
	for (size_t i = 0; argv[i] != NULL; i++)
		if (wire_texts_add(&request.exec.argv, &args, view_of(argv[i]), &err) < 0)
			die("argv", err.msg);
	if (wire_texts_add(&request.exec.env, &env, view_of("PATH=/usr/bin:/bin"), &err) < 0)
		die("env", err.msg);
	bench->bytes = 0;
	bench->exited = (struct wire_exited){ .code = 255 };
	from = now_us();
	if (channel_open(bench->channel, &request, &stream_events, bench, &bench->stream, &err) < 0)
		die("EXEC", err.msg);
	if (window != 0)
		channel_grow_window(bench->stream, WIRE_OUT, window);
	loop_run(bench->loop);
	if (bench->exited.code != 0 || bench->exited.signal != 0)
		die("a run through the channel", "did not end well");
	return now_us() - from;
}

/* --- figures --- */

struct figures {
	size_t runs, mib;
	double bare_us, channel_us;            /* of one run of `true` */
	double bare_mib_s, first_mib_s, mib_s; /* of output */
	size_t idle_kib, after_kib, size;
};

static void measure_runs(struct bench *bench, struct figures *f)
{
	char name[] = "true";
	char *const argv[] = { name, NULL };
	double *bare = calloc(f->runs, sizeof *bare), *through = calloc(f->runs, sizeof *through);

	if (bare == NULL || through == NULL)
		die("memory", strerror(errno));
	for (size_t i = 0; i < f->runs + WARM_UP; i++) {
		double a = time_bare(argv), b = time_channel(bench, argv, 0);

		if (i >= WARM_UP) {
			bare[i - WARM_UP] = a;
			through[i - WARM_UP] = b;
		}
	}
	f->bare_us = median(bare, f->runs);
	f->channel_us = median(through, f->runs);
	free(bare);
	free(through);
}

static void measure_bulk(struct bench *bench, struct figures *f)
{
	char name[] = "head", option[] = "-c", count[32], file[] = "/dev/zero";
	char *const argv[] = { name, option, count, file, NULL };
	uint64_t want = (uint64_t)f->mib * 1024 * 1024;
	double bare[BULK_ROUNDS], narrow[BULK_ROUNDS], wide[BULK_ROUNDS];

	(void)snprintf(count, sizeof count, "%llu", (unsigned long long)want);
	for (size_t i = 0; i < BULK_ROUNDS; i++) {
		bare[i] = time_bare_bulk(argv, want);
		narrow[i] = time_channel(bench, argv, 0);
		if (bench->bytes != want)
			die("the channel", "lost bytes");
		wide[i] = time_channel(bench, argv, WINDOW);
		if (bench->bytes != want)
			die("the channel", "lost bytes");
	}
	f->bare_mib_s = (double)f->mib * 1e6 / median(bare, BULK_ROUNDS);
	f->first_mib_s = (double)f->mib * 1e6 / median(narrow, BULK_ROUNDS);
	f->mib_s = (double)f->mib * 1e6 / median(wide, BULK_ROUNDS);
}

static void print_row(const char *what, const char *ours, const char *bare, const char *ratio)
{
	(void)printf("  %-40s  |  %12s  |  %12s  |  %5s\n", what, ours, bare, ratio);
}

static const char *format_number(char out[32], double number, int decimals, const char *unit)
{
	(void)snprintf(out, 32, "%.*f%s", decimals, number, unit);
	return out;
}

static void print_table(const struct figures *f)
{
	char a[32], b[32], c[32];

	print_row("what", "channel", "bare", "ratio");
	(void)printf("  %.40s--|--%.12s--|--%.12s--|--%.5s\n",
	             "----------------------------------------", "------------", "------------",
	             "-----");
	print_row("one run of true", format_number(a, f->channel_us / 1e3, 3, " ms"),
	          format_number(b, f->bare_us / 1e3, 3, " ms"),
	          format_number(c, f->channel_us / f->bare_us, 1, "x"));
	print_row("output, 64 KiB on their way", format_number(a, f->first_mib_s, 0, " MiB/s"),
	          format_number(b, f->bare_mib_s, 0, " MiB/s"),
	          format_number(c, f->bare_mib_s / f->first_mib_s, 1, "x"));
	print_row("output, 1 MiB on its way", format_number(a, f->mib_s, 0, " MiB/s"),
	          format_number(b, f->bare_mib_s, 0, " MiB/s"),
	          format_number(c, f->bare_mib_s / f->mib_s, 1, "x"));
	print_row("the agent's memory, resident, idle",
	          format_number(a, (double)f->idle_kib, 0, " KiB"), "-", "-");
	print_row("the agent's memory after all of it",
	          format_number(a, (double)f->after_kib, 0, " KiB"), "-", "-");
	print_row("the agent's size", format_number(a, (double)f->size / 1024, 0, " KiB"), "-",
	          "-");
}

static void print_budget(const char *what, int met)
{
	(void)printf("  %s  %s\n", met ? "met   " : "MISSED", what);
}

int main(void)
{
	struct figures f = {
		.runs = setting("BENCH_RUNS", 400),
		.mib = setting("BENCH_MIB", 2048),
		.size = agent_image(AGENT_IN_SANDBOX).len,
	};
	struct bench bench = { 0 };

	start_agent(&bench);
	f.idle_kib = read_proc_kib(bench.agent, "status", "VmRSS:");
	measure_runs(&bench, &f);
	measure_bulk(&bench, &f);
	f.after_kib = read_proc_kib(bench.agent, "status", "VmRSS:");
	stop_agent(&bench);

	(void)printf("medians of %zu runs, and of %d times %zu MiB of output\n", f.runs,
	             BULK_ROUNDS, f.mib);
	print_table(&f);
	print_budget("a run takes at most 2 times a bare fork and exec",
	             f.channel_us <= 2 * f.bare_us);
	print_budget("output comes with 500 MiB/s or more (64 KiB on their way)",
	             f.first_mib_s >= 500);
	print_budget("the idle agent takes at most 500 KiB", f.idle_kib <= 500);
	print_budget("the agent is at most 190 KiB large", f.size <= 190 * 1024UL);
	return 0;
}
