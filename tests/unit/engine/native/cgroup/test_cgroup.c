/* test_cgroup.c - cgroups of the machine the tests run on: limits, counters, freezing, killing and
 * sweeping, with the hierarchies there are and, on a hybrid machine, with version 1 alone. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/native/cgroup/internal.h"
#include "unit/test.h"

enum { TIMEOUT_MS = 30000 };

static void sleep_ms(long ms)
{
	(void)nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 },
	                NULL);
}

struct fixture {
	struct cgroup_hierarchies trees;
	struct cgroups all;
	struct cgroup group;
	char state[24];
	char before[4096];
};

static void read_own_cgroups(char *out, size_t size)
{
	(void)cgroup_read(AT_FDCWD, "/proc/self/cgroup", out, size);
}

static struct spec_limits some_limits(void)
{
	return (struct spec_limits){ .memory = SPEC_MIB(256), .cpu = 2000, .pids = 100 };
}

static int open_fixture(void **state, bool without_v2)
{
	struct fixture *f = calloc(1, sizeof *f);
	struct error err;

	*state = f;
	if (f == NULL)
		return -1;
	read_own_cgroups(f->before, sizeof f->before);
	cgroup_find_hierarchies("/proc/self/mountinfo", "/proc/self/cgroup", &f->trees);
	if (without_v2)
		f->trees.unified.score = 0;
	(void)snprintf(f->state, sizeof f->state, "test%jx", (uintmax_t)clock_now_ms());
	f->group.unified = -1;
	for (size_t i = 0; i < V1_COUNT; i++)
		f->group.v1[i] = -1;
	return cgroups_open_in(&f->all, &f->trees, f->state, "live", &err);
}

static int open_best(void **state)
{
	return open_fixture(state, false);
}

static int open_v1(void **state)
{
	return open_fixture(state, true);
}

static bool wait_removed(struct cgroup *group)
{
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS; clock_now_ms() < until; sleep_ms(2)) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if (cgroup_remove(group))
			return true;
	}
	return false;
}

static int close_fixture(void **state)
{
	struct fixture *f = *state;
	char after[4096];
	bool is_removed, is_back;

	cgroup_kill(&f->group);
	is_removed = wait_removed(&f->group);
	cgroups_close(&f->all);
	read_own_cgroups(after, sizeof after);
	is_back = strcmp(after, f->before) == 0;
	if (!is_removed || !is_back)
		print_error("cgroup left behind: %d; this process is in:\n%sand was in:\n%s",
		            !is_removed, after, f->before);
	free(f);
	return is_removed && is_back ? 0 : -1;
}

#define NEED(condition, why)                                                                       \
	do {                                                                                       \
		if (!(condition))                                                                  \
			SKIP_TEST(why);                                                            \
	} while (0)
#define NEED_CGROUPS(f)                                                                            \
	NEED((f)->all.kind != CGROUP_NONE, "no cgroups of this kind are available here")

static void create_cgroup(struct fixture *f, const struct spec_limits *limits)
{
	struct error err;

	CHECK_OK(cgroup_create(&f->all, "sb_1", limits, &f->group, &err), err);
}

typedef void (*child_fn)(void *ctx);

/* A child like fork(), in the cgroup of the unified hierarchy if there is one. */
static pid_t clone_into(const struct cgroup *group)
{
	struct clone_args args = { .exit_signal = SIGCHLD };

	if (group->unified >= 0) {
		args.flags = CLONE_INTO_CGROUP;
		args.cgroup = (unsigned)group->unified;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

/* Starts a child that enters the cgroup and then calls fn. */
static pid_t start_child(const struct cgroup *group, child_fn fn, void *ctx)
{
	struct error err;
	char entered = 0;
	int ready[2];
	pid_t child;

	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	child = clone_into(group);
	assert_true(child >= 0);
	if (child == 0) {
		entered = cgroup_enter_self(group, &err) == 0;
		if (write(ready[1], &entered, 1) == 1 && entered)
			fn(ctx);
		_exit(entered ? 0 : 1);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &entered, 1), 1);
	assert_true(entered);
	(void)close(ready[0]);
	return child;
}

static int wait_for(pid_t child)
{
	int status = 0;

	for (uint64_t until = clock_now_ms() + TIMEOUT_MS; clock_now_ms() < until; sleep_ms(2))
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
	fail_msg("process %d has not ended", (int)child);
	return -1;
}

static struct engine_counters read_counters(const struct fixture *f)
{
	struct engine_counters got;
	int fds[CGROUP_COUNTER_FILES];

	cgroup_open_counters(&f->group, fds);
	cgroup_read_counters(fds, f->all.kind, &got);
	for (size_t i = 0; i < CGROUP_COUNTER_FILES; i++)
		cleanup_fd(&fds[i]);
	return got;
}

static void pause_forever(void *ctx)
{
	(void)ctx;
	for (;;)
		(void)pause();
}

/* --- opening --- */

static void root_gets_every_limit_of_the_machine(void **state)
{
	static const unsigned bits[] = { [V1_MEMORY] = CGROUP_HAS_MEMORY,
		                         [V1_PIDS] = CGROUP_HAS_PIDS,
		                         [V1_CPU] = CGROUP_HAS_CPU };
	const unsigned every = CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU;
	const struct fixture *f = *state;
	unsigned wanted = 0;

	print_message("# version %d, limits %#x, moved %d: %s\n", (int)f->all.kind, f->all.has,
	              f->all.is_moved, f->all.why);
	NEED(geteuid() == 0, "not root");
	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		if (f->trees.v1[i].score != 0 || f->trees.v1[V1_MEMORY].score == 0)
			wanted |= bits[i];
	if ((f->all.has & wanted) != wanted)
		fail_msg("of limits %#x there are %#x: %s", wanted, f->all.has, f->all.why);
	if ((f->all.has & every) != every)
		assert_non_null(strstr(f->all.why, "no limit on "));
	else if (f->all.kind == CGROUP_V1)
		assert_non_null(strstr(f->all.why, f->all.has & CGROUP_HAS_SWAP
		                                           ? "unified_cgroup_hierarchy"
		                                           : "swapaccount"));
	else
		assert_string_equal(f->all.why,
		                    f->all.has & CGROUP_HAS_SWAP
		                            ? ""
		                            : "no limit on swap: boot with swapaccount=1");
}

static void expect_file(int dir, const char *name, const char *want)
{
	char got[128];

	(void)cgroup_read(dir, name, got, sizeof got);
	got[strcspn(got, "\n")] = '\0';
	if (strcmp(got, want) != 0)
		fail_msg("%s is '%s', not '%s'", name, got, want);
}

static void limits_are_set_before_anything_runs(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = {
		.memory = SPEC_MIB(32), .swap = SPEC_MIB(1), .cpu = 500, .pids = 17
	};
	const struct cgroup *g = &f->group;

	NEED_CGROUPS(f);
	create_cgroup(f, &limits);
	if (g->v1[V1_MEMORY] >= 0) {
		expect_file(g->v1[V1_MEMORY], "memory.limit_in_bytes", "33554432");
		if (f->all.has & CGROUP_HAS_SOCKETS)
			expect_file(g->v1[V1_MEMORY], "memory.kmem.tcp.limit_in_bytes", "8388608");
		if (f->all.has & CGROUP_HAS_SWAP)
			expect_file(g->v1[V1_MEMORY], "memory.memsw.limit_in_bytes", "34603008");
	} else if (f->all.has & CGROUP_HAS_MEMORY) {
		expect_file(g->unified, "memory.max", "33554432");
		expect_file(g->unified, "memory.oom.group", "0");
		if (f->all.has & CGROUP_HAS_SWAP)
			expect_file(g->unified, "memory.swap.max", "1048576");
	}
	if (f->all.has & CGROUP_HAS_PIDS)
		expect_file(g->v1[V1_PIDS] >= 0 ? g->v1[V1_PIDS] : g->unified, "pids.max", "17");
	if (g->v1[V1_CPU] >= 0) {
		expect_file(g->v1[V1_CPU], "cpu.cfs_period_us", "100000");
		expect_file(g->v1[V1_CPU], "cpu.cfs_quota_us", "50000");
	} else if (f->all.has & CGROUP_HAS_CPU)
		expect_file(g->unified, "cpu.max", "50000 100000");
	if (g->unified >= 0)
		expect_file(g->unified, "cgroup.max.descendants", "0");
}

static void create_refuses_an_id_with_a_slash_or_in_use(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct cgroup other;
	struct error err;

	NEED_CGROUPS(f);
	CHECK_ERROR(cgroup_create(&f->all, "../x", &limits, &other, &err), err, ERR_INVALID,
	            "cgroup id: expected 1 to 63 letters, digits, _ or -, got '../x'");
	CHECK_ERROR(cgroup_create(&f->all, "", &limits, &other, &err), err, ERR_INVALID,
	            "cgroup id: expected 1 to 63 letters, digits, _ or -, got ''");
	create_cgroup(f, &limits);
	CHECK_ERROR(cgroup_create(&f->all, "sb_1", &limits, &other, &err), err, ERR_SYSTEM,
	            "create cgroup sb_1: File exists");
	/* The existing cgroup is still usable. */
	(void)start_child(&f->group, pause_forever, NULL);
}

static void failed_create_leaves_no_cgroup_behind(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct error err;

	NEED_CGROUPS(f);
	NEED(f->all.has & CGROUP_HAS_PIDS, "no limit on processes");
	limits.pids = UINT64_MAX;
	assert_int_equal(cgroup_create(&f->all, "sb_1", &limits, &f->group, &err), -1);
	assert_string_equal(err.msg, "set pids.max of cgroup sb_1 to 18446744073709551615: "
	                             "Numerical result out of range");
	limits.pids = 100;
	create_cgroup(f, &limits);
}

/* --- limits --- */

static void use_memory(void *ctx)
{
	const size_t *size = ctx;
	char *memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < *size; i += 4096)
		((volatile char *)memory)[i] = 1;
}

static void process_over_the_memory_limit_is_killed_and_counted(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct engine_counters got;
	size_t much = SPEC_MIB(64), little = SPEC_MIB(4);
	int status;

	NEED(f->all.has & CGROUP_HAS_MEMORY, "no limit on memory");
	limits.memory = SPEC_MIB(24);
	create_cgroup(f, &limits);
	assert_int_equal(read_counters(f).memory_kills, 0);
	assert_int_equal(wait_for(start_child(&f->group, use_memory, &little)), 0);
	status = wait_for(start_child(&f->group, use_memory, &much));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	got = read_counters(f);
	assert_int_equal(got.memory_kills, 1);
	assert_in_range(got.memory_peak, SPEC_MIB(4), SPEC_MIB(24));
	assert_in_range(got.memory_now, 0, SPEC_MIB(24));
}

/* The sandbox's own limit is larger than that of all sandboxes together. */
static void all_sandboxes_together_are_limited(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	size_t much = SPEC_MIB(64), little = SPEC_MIB(4);
	struct error err;
	int status;

	NEED(f->all.has & CGROUP_HAS_MEMORY, "no limit on memory");
	CHECK_OK(cgroups_limit_memory(&f->all, SPEC_MIB(24), &err), err);
	limits.memory = SPEC_MIB(256);
	create_cgroup(f, &limits);
	assert_int_equal(wait_for(start_child(&f->group, use_memory, &little)), 0);
	status = wait_for(start_child(&f->group, use_memory, &much));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

struct forks {
	int made, error;
};

static void fork_until_refused(void *ctx)
{
	struct forks *forks = ctx;
	pid_t child;

	while (forks->made < 40 && (child = fork()) >= 0) {
		if (child == 0)
			pause_forever(NULL);
		forks->made++;
	}
	forks->error = errno;
	pause_forever(NULL);
}

static void *shared(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(ptr != MAP_FAILED);
	return ptr;
}

static void fork_beyond_the_limit_fails_and_is_counted(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	volatile struct forks *forks = shared(sizeof *forks);
	struct engine_counters got;

	NEED(f->all.has & CGROUP_HAS_PIDS, "no limit on processes");
	limits.pids = 16;
	create_cgroup(f, &limits);
	(void)start_child(&f->group, fork_until_refused, (void *)(uintptr_t)forks);
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS;
	     forks->error == 0 && clock_now_ms() < until; sleep_ms(2))
		continue;
	assert_int_equal(forks->error, EAGAIN);
	assert_int_equal(forks->made, 15);
	got = read_counters(f);
	assert_int_equal(got.pids_now, 16);
	assert_int_equal(got.pids_refused, 1);
	(void)munmap((void *)(uintptr_t)forks, sizeof *forks);
}

static void spin(void *ctx)
{
	volatile uint64_t *turns = ctx;

	for (;;)
		++*turns;
}

static void processor_time_is_limited_and_counted(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	uint64_t turns = 0, begin, first, used;

	NEED(f->all.has & CGROUP_HAS_CPU, "no limit on processors");
	limits.cpu = 100;
	create_cgroup(f, &limits);
	(void)start_child(&f->group, spin, &turns);
	/* On a busy machine the process may have to wait for its first slice. */
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS;
	     read_counters(f).cpu_us < 1000 && clock_now_ms() < until; sleep_ms(2))
		continue;
	begin = clock_now_ms();
	first = read_counters(f).cpu_us;
	assert_true(first >= 1000);
	sleep_ms(600);
	used = read_counters(f).cpu_us - first;
	/* The limit is a tenth of the time; without a limit it would be nearly all of it. */
	assert_in_range(used, 0, (clock_now_ms() - begin) * 1000 / 3);
}

/* --- killing and freezing --- */

static bool has_stopped(volatile const uint64_t *turns)
{
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS; clock_now_ms() < until;) {
		uint64_t before = *turns;

		sleep_ms(50);
		if (*turns == before)
			return true;
	}
	return false;
}

static bool is_running(volatile const uint64_t *turns)
{
	uint64_t before = *turns;

	for (uint64_t until = clock_now_ms() + TIMEOUT_MS; clock_now_ms() < until; sleep_ms(2))
		if (*turns != before)
			return true;
	return false;
}

static void frozen_processes_stop_until_thawed(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	uint64_t *turns = shared(sizeof *turns);
	pid_t child;
	int status;

	NEED_CGROUPS(f);
	create_cgroup(f, &limits);
	child = start_child(&f->group, spin, turns);
	assert_true(is_running(turns));
	cgroup_freeze(&f->group, true);
	assert_true(has_stopped(turns));
	cgroup_freeze(&f->group, false);
	assert_true(is_running(turns));
	/* A frozen process can be killed. */
	cgroup_freeze(&f->group, true);
	assert_true(has_stopped(turns));
	cgroup_kill(&f->group);
	status = wait_for(child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(wait_removed(&f->group));
	(void)munmap(turns, sizeof *turns);
}

static void fork_ignoring_signals(void *ctx)
{
	volatile int *made = ctx;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_IGN);
	for (int i = 0; i < 49; i++)
		if (fork() == 0) {
			(void)setsid();
			pause_forever(NULL);
		} else
			++*made;
	pause_forever(NULL);
}

static bool stop_at_first(UNUSED void *ctx, UNUSED pid_t pid)
{
	return false;
}

static void kill_fifty(struct fixture *f, void (*kill_all)(const struct fixture *f))
{
	struct spec_limits limits = some_limits();
	volatile int *made = shared(sizeof *made);
	int dir;
	pid_t child;

	create_cgroup(f, &limits);
	child = start_child(&f->group, fork_ignoring_signals, (void *)(uintptr_t)made);
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS; *made < 49 && clock_now_ms() < until;
	     sleep_ms(2))
		continue;
	assert_int_equal(*made, 49);
	if (f->all.has & CGROUP_HAS_PIDS)
		assert_int_equal(read_counters(f).pids_now, 50);
	assert_false(cgroup_remove(&f->group));
	kill_all(f);
	assert_int_equal(wait_for(child), SIGKILL);
	dir = f->group.unified >= 0 ? f->group.unified : f->group.v1[V1_FREEZER];
	for (uint64_t until = clock_now_ms() + TIMEOUT_MS;
	     !cgroup_each_pid(dir, stop_at_first, NULL) && clock_now_ms() < until; sleep_ms(1))
		continue;
	assert_true(cgroup_each_pid(dir, stop_at_first, NULL));
	assert_true(wait_removed(&f->group));
	(void)munmap((void *)(uintptr_t)made, sizeof *made);
}

static void kill_at_once(const struct fixture *f)
{
	cgroup_kill(&f->group);
}

static void kill_each(const struct fixture *f)
{
	cgroup_dir_kill_each(f->group.unified >= 0 ? f->group.unified : f->group.v1[V1_FREEZER]);
}

static void kill_ends_fifty_processes_that_ignore_signals(void **state)
{
	struct fixture *f = *state;

	NEED_CGROUPS(f);
	kill_fifty(f, kill_at_once);
}

static void kill_works_without_cgroup_kill(void **state)
{
	struct fixture *f = *state;

	NEED_CGROUPS(f);
	kill_fifty(f, kill_each);
}

static void clone3_starts_a_process_in_the_cgroup(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	char want[160], got[4096];
	pid_t child;

	NEED(f->all.unified >= 0, "the unified hierarchy is not mounted");
	create_cgroup(f, &limits);
	child = clone_into(&f->group);
	assert_true(child >= 0);
	if (child == 0)
		pause_forever(NULL);
	(void)cgroup_read(f->group.unified, "cgroup.procs", got, sizeof got);
	(void)snprintf(want, sizeof want, "%d\n", (int)child);
	assert_string_equal(got, want);
	(void)start_child(&f->group, pause_forever, NULL);
	if (f->all.has & CGROUP_HAS_PIDS)
		assert_int_equal(read_counters(f).pids_now, f->group.v1[V1_PIDS] >= 0 ? 1 : 2);
}

/* --- sweeping --- */

static bool is_live(void *ctx, const char *instance)
{
	unsigned *asked = ctx;

	++*asked;
	return strcmp(instance, "dead") != 0;
}

/* Closes all descriptors and leaves the directories, as a killed server does. */
static void close_like_killed(struct cgroups *all, struct cgroup *group)
{
	cleanup_fd(&all->unified);
	cleanup_fd(&all->unified_parent);
	cleanup_fd(&group->unified);
	for (size_t i = 0; i < V1_COUNT; i++) {
		cleanup_fd(&all->v1[i]);
		cleanup_fd(&all->v1_parent[i]);
		cleanup_fd(&group->v1[i]);
	}
}

static bool dir_exists(const struct fixture *f, const char *name)
{
	if (f->all.unified_parent >= 0 && cgroup_has_file(f->all.unified_parent, name))
		return true;
	for (size_t i = 0; i < V1_COUNT; i++)
		if (f->all.v1_parent[i] >= 0 && cgroup_has_file(f->all.v1_parent[i], name))
			return true;
	return false;
}

static void sweep_removes_only_cgroups_of_dead_servers(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct cgroups dead, other;
	struct cgroup of_dead;
	struct error err;
	uint64_t *turns = shared(sizeof *turns), begin;
	unsigned asked = 0;
	pid_t ended, alive;

	NEED_CGROUPS(f);
	create_cgroup(f, &limits);
	alive = start_child(&f->group, pause_forever, NULL);
	CHECK_OK(cgroups_open_in(&dead, &f->trees, f->state, "dead", &err), err);
	CHECK_OK(cgroups_open_in(&other, &f->trees, "otherstate", "dead", &err), err);
	CHECK_OK(cgroup_create(&dead, "sb_2", &limits, &of_dead, &err), err);
	ended = start_child(&of_dead, spin, turns);
	assert_true(is_running(turns));
	cgroup_freeze(&of_dead, true);
	assert_true(has_stopped(turns));
	assert_true(dir_exists(f, dead.name));
	close_like_killed(&dead, &of_dead);

	begin = clock_now_ms();
	cgroups_sweep_in(&f->all, &f->trees, f->state, is_live, &asked);
	assert_in_range(clock_now_ms() - begin, 0, TIMEOUT_MS);
	assert_true(asked > 0);
	assert_int_equal(wait_for(ended), SIGKILL);
	assert_false(dir_exists(f, dead.name));
	assert_true(dir_exists(f, f->all.name));
	assert_true(dir_exists(f, other.name));
	assert_int_equal(waitpid(alive, NULL, WNOHANG), 0);
	cgroups_close(&other);
	(void)munmap(turns, sizeof *turns);
}

static void close_removes_the_servers_directory(void **state)
{
	struct fixture *f = *state;
	struct cgroups all;
	struct error err;
	char first[4096], second[4096];

	NEED_CGROUPS(f);
	read_own_cgroups(first, sizeof first);
	CHECK_OK(cgroups_open_in(&all, &f->trees, f->state, "second", &err), err);
	assert_true(dir_exists(f, all.name));
	cgroups_close(&all);
	assert_false(dir_exists(f, all.name));
	read_own_cgroups(second, sizeof second);
	assert_string_equal(first, second);
}

#define BEST(name) cmocka_unit_test_setup_teardown(name, open_best, close_fixture)
#define V1(name)                                                                                   \
	{                                                                                          \
		"v1_only_" #name, name, open_v1, close_fixture, NULL                               \
	}

static int run(void)
{
	const struct CMUnitTest all[] = {
		BEST(root_gets_every_limit_of_the_machine),
		BEST(limits_are_set_before_anything_runs),
		BEST(create_refuses_an_id_with_a_slash_or_in_use),
		BEST(failed_create_leaves_no_cgroup_behind),
		BEST(process_over_the_memory_limit_is_killed_and_counted),
		BEST(all_sandboxes_together_are_limited),
		BEST(fork_beyond_the_limit_fails_and_is_counted),
		BEST(processor_time_is_limited_and_counted),
		BEST(frozen_processes_stop_until_thawed),
		BEST(kill_ends_fifty_processes_that_ignore_signals),
		BEST(kill_works_without_cgroup_kill),
		BEST(clone3_starts_a_process_in_the_cgroup),
		BEST(sweep_removes_only_cgroups_of_dead_servers),
		BEST(close_removes_the_servers_directory),
	};
	const struct CMUnitTest v1[] = {
		V1(limits_are_set_before_anything_runs),
		V1(processor_time_is_limited_and_counted),
		V1(frozen_processes_stop_until_thawed),
		V1(kill_ends_fifty_processes_that_ignore_signals),
		V1(sweep_removes_only_cgroups_of_dead_servers),
		V1(close_removes_the_servers_directory),
	};
	struct cgroup_hierarchies trees;
	int failed = RUN_TESTS("cgroup", all);

	cgroup_find_hierarchies("/proc/self/mountinfo", "/proc/self/cgroup", &trees);
	if (trees.v1[V1_MEMORY].score != 0)
		failed += RUN_TESTS("cgroup without the v2 tree", v1);
	return failed;
}

static int wait_for_exit_status(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* As root the tests run in a pid namespace of their own, so that a mistake in killing cannot hit a
 * process of the machine. They are not PID 1 in it, because a spawner is the child of its
 * server. */
int main(void)
{
	pid_t child;

	if (geteuid() == 0 && getpid() != 1 && unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) {
		child = fork();
		if (child != 0)
			_exit(wait_for_exit_status(
			        child)); /* not return: LeakSanitizer cannot work here */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		(void)mount("proc", "/proc", "proc", 0, NULL); /* sanitizers read it */
	}
	if (getpid() == 1) {
		child = fork();
		if (child != 0)
			_exit(wait_for_exit_status(child));
	}
	return run();
}
