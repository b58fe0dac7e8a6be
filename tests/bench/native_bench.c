/* native_bench.c - the native engine beside bubblewrap: a sandbox is made, runs `true` and is
 * removed, against `bwrap --unshare-all` running `true` on the same /usr. The two alternate, so
 * that load on the machine affects both. Then many sandboxes one after the other, and many at once
 * with the memory they use. BENCH_RUNS, BENCH_ROW and BENCH_AWAKE set the numbers. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "engine/remote/remote.h"
#include "loop/loop.h"
#include "sandbox/run/sandbox_run.h"
#include "sandbox/sandbox.h"
#include "server/options/options.h"
#include "server/owner.h"
#include "server/runtime/runtime.h"

#include "measure.h"

enum { WARM_UP = 5, CLEANUP_US = 20000 };

extern char **environ;

struct bench {
	struct loop *loop;
	struct runtime *runtime;
	struct sandbox *sandbox;
	unsigned waiting;
	bool failed;
	struct error why;
};

static double percentile(const double *sorted, size_t count, double part)
{
	return sorted[(size_t)((double)(count - 1) * part)];
}

/* --- one sandbox of belljar --- */

/* Counts one awaited callback; the loop stops after the last. */
static void finish_one(struct bench *bench, const struct error *why)
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
	finish_one(ctx, why);
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
		finish_one(ctx, NULL);
		return;
	}
	(void)error_set(&err, ERR_SYSTEM, "true ended with %d", end->code);
	finish_one(ctx, &err);
}

static const struct run_events run_events = { .output = on_output,
	                                      .ended = on_ended,
	                                      .failed = on_done };

static struct sandbox *create_sandbox(struct bench *bench, const struct options *options)
{
	struct sandbox_options create = { .owner = owner_local(), .temporary = true };
	struct sandbox *sandbox;
	struct error err;

	if (runtime_default_spec(bench->runtime, options, &create.spec, &err) < 0 ||
	    sandbox_create(runtime_manager(bench->runtime), &create, &sandbox, &err) < 0)
		die("create", err.msg);
	return sandbox;
}

static void run_true(struct bench *bench, struct sandbox *sandbox)
{
	static const char *const argv[] = { "/usr/bin/true", NULL };
	const struct run_options run_true_options = { .argv = argv };
	struct run *run;
	struct error err;

	bench->waiting = 1;
	if (run_start(sandbox, &run_true_options, &run_events, bench, &run, &err) < 0)
		die("run", err.msg);
	wait_for(bench, "run");
}

struct times {
	double made, ran, removed;
};

static struct times time_belljar(struct bench *bench, const struct options *options)
{
	double begin = now_us(), made, ran;
	struct sandbox *sandbox = create_sandbox(bench, options);

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

/* --- one sandbox of bubblewrap: the same /usr and links, /proc, /dev and a /tmp --- */

static double time_bwrap(void)
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
	} same = { argv }; /* posix_spawnp() does not change them */
	double begin = now_us();
	int status;
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], NULL, NULL, same.out, environ) != 0)
		die("bwrap", "is it installed?");
	if (waitpid(pid, &status, 0) != pid || status != 0)
		die("bwrap", "it failed");
	return now_us() - begin;
}

/* The kernel cleans up after a sandbox in the background, and the spawner starts a spare: neither
 * must fall into the next measurement. */
static void wait_for_cleanup(void)
{
	(void)usleep(CLEANUP_US);
}

static void compare_both(struct bench *bench, const struct options *options)
{
	size_t runs = setting("BENCH_RUNS", 200);
	double *ours = mem_array(runs, sizeof *ours), *theirs = mem_array(runs, sizeof *theirs);
	struct times sum = { 0 };

	for (size_t i = 0; i < runs + WARM_UP; i++) {
		struct times times;
		double other;

		wait_for_cleanup();
		times = time_belljar(bench, options);
		wait_for_cleanup();
		other = time_bwrap();

		if (i < WARM_UP)
			continue;
		ours[i - WARM_UP] = times.made + times.ran + times.removed;
		theirs[i - WARM_UP] = other;
		sum.made += times.made;
		sum.ran += times.ran;
		sum.removed += times.removed;
	}
	qsort(ours, runs, sizeof *ours, compare_doubles);
	qsort(theirs, runs, sizeof *theirs, compare_doubles);
	(void)printf("make, run true, remove   %6.2f ms (p95 %.2f; make %.2f, run %.2f, remove "
	             "%.2f)\n",
	             percentile(ours, runs, 0.5) / 1e3, percentile(ours, runs, 0.95) / 1e3,
	             sum.made / (double)runs / 1e3, sum.ran / (double)runs / 1e3,
	             sum.removed / (double)runs / 1e3);
	(void)printf("bwrap --unshare-all true %6.2f ms (p95 %.2f)\n",
	             percentile(theirs, runs, 0.5) / 1e3, percentile(theirs, runs, 0.95) / 1e3);
	(void)printf("ratio                    %6.2f    (budget 0.80)\n",
	             percentile(ours, runs, 0.5) / percentile(theirs, runs, 0.5));
	free(ours);
	free(theirs);
}

/* --- many sandboxes --- */

static void time_many_in_a_row(struct bench *bench, const struct options *options)
{
	size_t count = setting("BENCH_ROW", 1000);
	double begin = now_us();

	for (size_t i = 0; i < count; i++)
		(void)time_belljar(bench, options);
	(void)printf("%zu in a row             %6.2f s, %.2f ms each\n", count,
	             (now_us() - begin) / 1e6, (now_us() - begin) / 1e3 / (double)count);
}

/* Memory that the process shares with no other. */
static unsigned long private_kib(pid_t pid)
{
	return read_proc_kib(pid, "smaps_rollup", "Private_Clean:") +
	       read_proc_kib(pid, "smaps_rollup", "Private_Dirty:");
}

/* Adds up the private memory of the descendants at this level: the children of this process are the
 * spawner and a porter, and the children of the spawner are the agents. */
static unsigned long descendants_kib(pid_t pid, unsigned level)
{
	unsigned long kib = 0;
	char path[64];
	FILE *list;
	int child;

	if (level == 0)
		return private_kib(pid);
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
	list = fopen(path, "re");
	while (list != NULL && fscanf(list, "%d", &child) == 1)
		kib += descendants_kib(child, level - 1);
	if (list != NULL)
		(void)fclose(list);
	return kib;
}

static uint64_t cgroup_bytes(struct sandbox *sandbox)
{
	struct engine_counters counts;

	return sandbox_counts(sandbox, &counts) ? counts.memory_now : 0;
}

static void measure_many_awake(struct bench *bench, const struct options *options)
{
	size_t count = setting("BENCH_AWAKE", 200);
	struct sandbox **all = mem_array(count, sizeof(struct sandbox *));
	unsigned long kib = 0;
	uint64_t bytes = 0;
	double begin = now_us(), made;

	bench->waiting = (unsigned)count;
	for (size_t i = 0; i < count; i++) {
		all[i] = create_sandbox(bench, options);
		sandbox_wake(all[i], on_done, bench);
	}
	wait_for(bench, "make many");
	made = now_us();
	for (size_t i = 0; i < count; i++)
		run_true(bench, all[i]);
	for (size_t i = 0; i < count; i++) {
		bytes += cgroup_bytes(all[i]);
	}
	kib = descendants_kib(getpid(), 2);
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

/* --- the program --- */

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
	time_many_in_a_row(&bench, &options);
	measure_many_awake(&bench, &options);
	runtime_stop(bench.runtime, on_stopped, &bench);
	loop_run(bench.loop);
	(void)runtime_free(bench.runtime);
	(void)loop_free(bench.loop);
	options_done(&options);
	(void)fflush(stdout);
	return execlp("rm", "rm", "-rf", directory, (char *)NULL);
}
