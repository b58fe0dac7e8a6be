/* native_bench.c - sandboxes of our own beside bubblewrap, in one run: make one, run `true` in it
 * and remove it, against `bwrap --unshare-all` running `true` on the same /usr. The two take
 * turns, so that whatever else the machine does hits both. Then many in a row, and many at once
 * with the memory they take. BENCH_RUNS, BENCH_ROW and BENCH_AWAKE make it longer or shorter. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/native/native.h"
#include "loop/loop.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime.h"

#include "measure.h"

enum { WARM_UP = 5, LINE = 512, REST_US = 20000 };

extern char **environ;

struct bench {
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
	unsigned waiting;
	bool failed;
	struct error why;
};

static double at(double *sorted, size_t count, double part)
{
	return sorted[(size_t)((double)(count - 1) * part)];
}

/* --- one of ours --- */

static void settle(struct bench *bench, const struct error *why)
{
	if (why != NULL) {
		bench->failed = true;
		bench->why = *why;
	}
	if (--bench->waiting == 0)
		loop_stop(bench->loop);
}

static void on_done(void *ctx, const struct error *why)
{
	settle(ctx, why);
}

static void wait_for(struct bench *bench, const char *what)
{
	loop_run(bench->loop);
	if (bench->failed)
		die(what, bench->why.msg);
}

static void on_output(void *ctx, bool is_stderr, struct view bytes)
{
	(void)ctx;
	(void)is_stderr;
	(void)bytes;
}

static void on_ended(void *ctx, const struct run_end *end)
{
	struct error err;

	if (end->code == 0 && end->signal == 0) {
		settle(ctx, NULL);
		return;
	}
	(void)error_set(&err, ERR_SYSTEM, "true ended with %d", end->code);
	settle(ctx, &err);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_ended,
	                                      .failed = on_done };

static struct sandbox *make(struct bench *bench, const struct options *options)
{
	struct sandbox_options wish = { .owner = owner_local(), .temporary = true };
	struct sandbox *sandbox;
	struct error err;

	if (runtime_default_spec(bench->runtime, options, &wish.spec, &err) < 0 ||
	    sandbox_create(runtime_manager(bench->runtime), &wish, &sandbox, &err) < 0)
		die("create", err.msg);
	return sandbox;
}

static void run_true(struct bench *bench, struct sandbox *sandbox)
{
	static const char *const argv[] = { "/usr/bin/true", NULL };
	const struct run_options wish = { .argv = argv };
	struct run *run;
	struct error err;

	bench->waiting = 1;
	if (run_start(sandbox, &wish, &run_events, bench, &run, &err) < 0)
		die("run", err.msg);
	wait_for(bench, "run");
}

struct times {
	double made, ran, removed;
};

static struct times one_of_ours(struct bench *bench, const struct options *options)
{
	double begin = now_us(), made, ran;
	struct sandbox *sandbox = make(bench, options);

	bench->waiting = 1;
	sandbox_wake(sandbox, on_done, bench);
	wait_for(bench, "make");
	made = now_us();
	run_true(bench, sandbox);
	ran = now_us();
	bench->waiting = 1;
	sandbox_delete(sandbox, on_done, bench);
	wait_for(bench, "remove");
	return (struct times){ made - begin, ran - made, now_us() - ran };
}

/* --- one of theirs: the same /usr, the same links, /proc, /dev and a /tmp --- */

static double one_of_theirs(void)
{
	static const char *const argv[] = {
		"bwrap",     "--unshare-all", "--ro-bind",     "/usr",    "/usr",  "--symlink",
		"usr/bin",   "/bin",          "--symlink",     "usr/lib", "/lib",  "--symlink",
		"usr/lib64", "/lib64",        "--proc",        "/proc",   "--dev", "/dev",
		"--tmpfs",   "/tmp",          "/usr/bin/true", NULL
	};
	union {
		const char *const *in;
		char *const *out;
	} same = { argv }; /* it leaves them alone */
	double begin = now_us();
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, same.out, environ) != 0)
		die("bwrap", "is it installed?");
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("bwrap", "it failed");
	return now_us() - begin;
}

/* What one leaves to the kernel to clean up must not be paid by the other; nor what we make ahead. */
static void rest(void)
{
	(void)usleep(REST_US);
}

static void compare_both(struct bench *bench, const struct options *options)
{
	size_t runs = setting("BENCH_RUNS", 200);
	double *ours = mem_array(runs, sizeof *ours), *theirs = mem_array(runs, sizeof *theirs);
	struct times sum = { 0 };

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		struct times times;
		double other;

		rest();
		times = one_of_ours(bench, options);
		rest();
		other = one_of_theirs();

		if (i < WARM_UP)
			continue;
		ours[i - WARM_UP] = times.made + times.ran + times.removed;
		theirs[i - WARM_UP] = other;
		sum.made += times.made;
		sum.ran += times.ran;
		sum.removed += times.removed;
	}
	qsort(ours, runs, sizeof *ours, compare);
	qsort(theirs, runs, sizeof *theirs, compare);
	(void)printf("make, run true, remove   %6.2f ms (p95 %.2f; make %.2f, run %.2f, remove "
	             "%.2f)\n",
	             at(ours, runs, 0.5) / 1e3, at(ours, runs, 0.95) / 1e3,
	             sum.made / (double)runs / 1e3, sum.ran / (double)runs / 1e3,
	             sum.removed / (double)runs / 1e3);
	(void)printf("bwrap --unshare-all true %6.2f ms (p95 %.2f)\n", at(theirs, runs, 0.5) / 1e3,
	             at(theirs, runs, 0.95) / 1e3);
	(void)printf("ratio                    %6.2f    (budget 0.80)\n",
	             at(ours, runs, 0.5) / at(theirs, runs, 0.5));
	free(ours);
	free(theirs);
}

/* --- many --- */

static void many_in_a_row(struct bench *bench, const struct options *options)
{
	size_t count = setting("BENCH_ROW", 1000);
	double begin = now_us();

	for (size_t i = 0; i < count; i++)
		(void)one_of_ours(bench, options);
	(void)printf("%zu in a row             %6.2f s, %.2f ms each\n", count,
	             (now_us() - begin) / 1e6, (now_us() - begin) / 1e3 / (double)count);
}

/* Kilobytes that are this process's alone. */
static unsigned long private_kib(pid_t pid)
{
	char path[64], line[LINE];
	unsigned long sum = 0, value;
	FILE *in;

	(void)snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
	in = fopen(path, "re");
	while (in != NULL && fgets(line, sizeof line, in) != NULL)
		if (sscanf(line, "Private_Clean: %lu", &value) == 1 ||
		    sscanf(line, "Private_Dirty: %lu", &value) == 1)
			sum += value;
	if (in != NULL)
		(void)fclose(in);
	return sum;
}

static uint64_t group_bytes(struct sandbox *sandbox)
{
	struct engine_counters counts;

	return sandbox_counts(sandbox, &counts) ? counts.memory_now : 0;
}

static void many_awake(struct bench *bench, const struct options *options)
{
	size_t count = setting("BENCH_AWAKE", 200);
	struct sandbox **all = mem_array(count, sizeof(struct sandbox *));
	unsigned long kib = 0;
	uint64_t bytes = 0;
	double begin = now_us(), made;

	bench->waiting = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		all[i] = make(bench, options);
		sandbox_wake(all[i], on_done, bench);
	}
	wait_for(bench, "make many");
	made = now_us();
	for (size_t i = 0; i < count; i++)
		run_true(bench, all[i]);
	for (size_t i = 0; i < count; i++) {
		kib += private_kib(native_pid(sandbox_box(all[i])));
		bytes += group_bytes(all[i]);
	}
	(void)printf(
	        "%zu awake at once        %6.2f s to make, all answer; each: agent %lu KiB, cgroup "
	        "%llu KiB\n",
	        count, (made - begin) / 1e6, kib / count,
	        (unsigned long long)(bytes / 1024 / count));
	(void)printf("server with all of them  %6lu KiB\n", private_kib(getpid()));
	bench->waiting = (unsigned)count;
	for (size_t i = 0; i < count; i++)
		sandbox_delete(all[i], on_done, bench);
	wait_for(bench, "remove many");
	free(all);
}

/* --- all of it --- */

static void on_stopped(void *ctx)
{
	loop_stop(((struct bench *)ctx)->loop);
}

int main(void)
{
	static const char *const no_flags[OPTION_COUNT];
	const char *flags[OPTION_COUNT];
	char directory[] = "/tmp/belljar-bench-XXXXXX";
	struct bench bench = { .waiting = 1 };
	struct options options;
	struct runtime_base base;
	struct error err;

	memcpy(flags, no_flags, sizeof flags);
	if (mkdtemp(directory) == NULL)
		die("mkdtemp", "failed");
	flags[OPTION_STATE_DIR] = directory;
	if (options_load(&options, FOR_EXEC, flags, environ, &err) < 0 ||
	    runtime_prepare(&options, &base, &err) < 0 || loop_new(&bench.loop, &err) < 0 ||
	    runtime_new(bench.loop, &base, &options, on_done, &bench, &bench.runtime, &err) < 0)
		die("start", err.msg);
	wait_for(&bench, "start");
	compare_both(&bench, &options);
	many_in_a_row(&bench, &options);
	many_awake(&bench, &options);
	runtime_stop(bench.runtime, on_stopped, &bench);
	loop_run(bench.loop);
	(void)runtime_free(bench.runtime);
	(void)loop_free(bench.loop);
	options_done(&options);
	(void)fflush(stdout);
	return execlp("rm", "rm", "-rf", directory, (char *)NULL);
}
