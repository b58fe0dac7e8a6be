/* test_op_stats.c - which numbers come from cgroups, which from /proc, and which are unknown. */
#include "unit/agent/files/job_test.h"

#include <sched.h>
#include <sys/mount.h>

#include "agent/files/ops.h"

#define GROUPS "/sys/fs/cgroup"

enum {
	PROCESSES = WIRE_STATS_PROCESSES | WIRE_STATS_DISK,
	ALL = WIRE_STATS_MEMORY | WIRE_STATS_CPU | PROCESSES,
	OF_PROC = 1, /* instead of a number: anything above it */
	NO_MOUNTS = 77,
};

/* The files of the cgroup (NULL: missing), and what is reported. */
struct row {
	bool without_proc;
	const char *memory, *memory_max, *pids, *pids_max, *cpu;
	struct {
		unsigned known;
		uint64_t memory_bytes, memory_limit, cpu_us, processes, processes_limit;
	} want;
};

static const struct row rows[] = {
	{ false, "4096", "8192", "7", "100", "usage_usec 5", { ALL, 4096, 8192, 5, 7, 100 } },
	{ false, "4096", "max", "7", "max", "usage_usec 5", { ALL, 4096, 0, 5, 7, 0 } },
	{ false, "4096", NULL, "7", NULL, "usage_usec 5", { ALL, 4096, 0, 5, 7, 0 } },
	{ false, NULL, "8192", "7", "100", "usage_usec 5", { ALL, OF_PROC, 0, 5, 7, 100 } },
	{ false, "4096", "8192", NULL, "100", "usage_usec 5", { ALL, 4096, 8192, 5, OF_PROC, 0 } },
	{ false, "4096", "8192", "7", "100", "other 5", { ALL, 4096, 8192, OF_PROC, 7, 100 } },
	{ false, NULL, NULL, NULL, NULL, NULL, { ALL, OF_PROC, 0, OF_PROC, OF_PROC, 0 } },
	{ true, NULL, "8192", "7", NULL, NULL, { PROCESSES, 0, 0, 0, 7, 0 } },
	{ true, NULL, NULL, NULL, NULL, NULL, { WIRE_STATS_DISK, 0, 0, 0, 0, 0 } },
};

static bool put(const char *path, const char *text)
{
	FILE *file;

	if (text == NULL)
		return unlink(path) == 0 || errno == ENOENT;
	file = fopen(path, "w");
	return file != NULL && fputs(text, file) >= 0 && fclose(file) == 0;
}

static bool is_as_wanted(uint64_t got, uint64_t want)
{
	return want == OF_PROC ? got > 1 : got == want;
}

static int check_row(const struct job *job, const struct row *row)
{
	const __typeof__(row->want) *want = &row->want;
	struct wire_stats_are got;
	struct error err;

	if (!put(GROUPS "/memory.current", row->memory) ||
	    !put(GROUPS "/memory.max", row->memory_max) ||
	    !put(GROUPS "/pids.current", row->pids) || !put(GROUPS "/pids.max", row->pids_max) ||
	    !put(GROUPS "/cpu.stat", row->cpu) ||
	    (row->without_proc && mount("none", "/proc", "tmpfs", 0, NULL) < 0) ||
	    op_stats(job, &got, &err) < 0)
		return -1;
	if (got.known == want->known && is_as_wanted(got.memory_bytes, want->memory_bytes) &&
	    is_as_wanted(got.cpu_us, want->cpu_us) &&
	    is_as_wanted(got.processes, want->processes) &&
	    got.memory_limit == want->memory_limit && got.processes_limit == want->processes_limit)
		return 0;
	(void)dprintf(STDERR_FILENO,
	              "row %zu: known %d, memory %llu/%llu, cpu %llu, pids %llu/%llu\n",
	              (size_t)(row - rows), got.known, (unsigned long long)got.memory_bytes,
	              (unsigned long long)got.memory_limit, (unsigned long long)got.cpu_us,
	              (unsigned long long)got.processes, (unsigned long long)got.processes_limit);
	return -1;
}

/* Runs in a child with a mount namespace of its own. */
static int check_rows(const struct job *job)
{
	int failed = 0;

	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("none", GROUPS, "tmpfs", 0, NULL) < 0)
		return NO_MOUNTS;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		failed += check_row(job, &rows[i]) < 0;
	return failed;
}

static void stats_reports_what_it_found(void **state)
{
	struct job_test t;
	int status = -1;
	pid_t child;

	job_test_start(&t);
	child = fork();
	if (child == 0)
		_exit(check_rows(&t.job));
	assert_int_equal(waitpid(child, &status, 0), child);
	job_test_stop(&t);
	if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNTS)
		SKIP_TEST("nothing may be mounted here");
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stats_reports_what_it_found),
	};

	return RUN_TESTS("stats", tests);
}
