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

enum { PATIENCE_MS = 5000 };

static void nap(long ms)
{
	(void)nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 },
	                NULL);
}

/* --- the machine's groups ---------------------------------------------------------- */

struct fixture {
	struct cgroup_places places;
	struct cgroups all;
	struct cgroup group;
	char state[24];
	char before[4096];
};

static void own_groups(char *out, size_t size)
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
	own_groups(f->before, sizeof f->before);
	cgroup_find("/proc/self/mountinfo", "/proc/self/cgroup", &f->places);
	if (without_v2)
		f->places.unified.score = 0;
	(void)snprintf(f->state, sizeof f->state, "test%jx", (uintmax_t)clock_now_ms());
	f->group.unified = -1;
	for (size_t i = 0; i < V1_COUNT; i++)
		f->group.v1[i] = -1;
	return cgroups_open_in(&f->all, &f->places, f->state, "live", &err);
}

static int open_best(void **state)
{
	return open_fixture(state, false);
}

static int open_v1(void **state)
{
	return open_fixture(state, true);
}

static bool remove_soon(struct cgroup *group)
{
	for (uint64_t until = clock_now_ms() + PATIENCE_MS; clock_now_ms() < until; nap(2)) {
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
	bool gone, back;

	cgroup_kill(&f->group);
	gone = remove_soon(&f->group);
	cgroups_close(&f->all);
	own_groups(after, sizeof after);
	back = strcmp(after, f->before) == 0;
	if (!gone || !back)
		print_error("left behind: group %d, we are in:\n%sand were in:\n%s", !gone, after,
		            f->before);
	free(f);
	return gone && back ? 0 : -1;
}

#define NEED(condition, why)                                                                       \
	do {                                                                                       \
		if (!(condition))                                                                  \
			SKIP_TEST(why);                                                            \
	} while (0)
#define NEED_GROUPS(f) NEED((f)->all.kind != CGROUP_NONE, "no groups of this kind can be had here")

static void make_group(struct fixture *f, const struct spec_limits *limits)
{
	struct error err;

	CHECK_OK(cgroup_create(&f->all, "sb_1", limits, &f->group, &err), err);
}

typedef void (*child_fn)(void *ctx);

/* A child that runs fn once it is in the group. */
static pid_t start(const struct cgroup *group, child_fn fn, void *ctx)
{
	int gate[2];
	struct error err;
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		(void)close(gate[1]);
		if (read(gate[0], &byte, 1) == 1)
			fn(ctx);
		_exit(0);
	}
	(void)close(gate[0]);
	CHECK_OK(cgroup_enter(group, child, &err), err);
	assert_int_equal(write(gate[1], &byte, 1), 1);
	(void)close(gate[1]);
	return child;
}

static int wait_for(pid_t child)
{
	int status = 0;

	for (uint64_t until = clock_now_ms() + PATIENCE_MS; clock_now_ms() < until; nap(2))
		if (waitpid(child, &status, WNOHANG) == child)
			return status;
	fail_msg("process %d has not ended", (int)child);
	return -1;
}

static struct engine_counters count(const struct fixture *f)
{
	struct engine_counters got;
	int fds[CGROUP_COUNTER_FILES];

	cgroup_open_counters(&f->group, fds);
	cgroup_read_counters(fds, f->all.kind, &got);
	for (size_t i = 0; i < CGROUP_COUNTER_FILES; i++)
		cleanup_fd(&fds[i]);
	return got;
}

static void rest(void *ctx)
{
	(void)ctx;
	for (;;)
		(void)pause();
}

/* --- opening --- */

static void root_gets_every_limit_the_machine_has(void **state)
{
	static const unsigned bits[] = { [V1_MEMORY] = CGROUP_HAS_MEMORY,
		                         [V1_PIDS] = CGROUP_HAS_PIDS,
		                         [V1_CPU] = CGROUP_HAS_CPU };
	const unsigned every = CGROUP_HAS_MEMORY | CGROUP_HAS_PIDS | CGROUP_HAS_CPU;
	const struct fixture *f = *state;
	unsigned wanted = 0;

	print_message("# version %d, limits %#x, moved %d: %s\n", (int)f->all.kind, f->all.has,
	              f->all.moved, f->all.why);
	NEED(geteuid() == 0, "not root");
	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		if (f->places.v1[i].score != 0 || f->places.v1[V1_MEMORY].score == 0)
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

	NEED_GROUPS(f);
	make_group(f, &limits);
	if (g->v1[V1_MEMORY] >= 0) {
		expect_file(g->v1[V1_MEMORY], "memory.limit_in_bytes", "33554432");
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

static void refuses_an_id_that_leaves_its_place_or_is_in_use(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct cgroup other;
	struct error err;

	NEED_GROUPS(f);
	CHECK_ERROR(cgroup_create(&f->all, "../x", &limits, &other, &err), err, ERR_INVALID,
	            "group id: expected 1 to 63 letters, digits, _ or -, got '../x'");
	CHECK_ERROR(cgroup_create(&f->all, "", &limits, &other, &err), err, ERR_INVALID,
	            "group id: expected 1 to 63 letters, digits, _ or -, got ''");
	make_group(f, &limits);
	CHECK_ERROR(cgroup_create(&f->all, "sb_1", &limits, &other, &err), err, ERR_SYSTEM,
	            "group sb_1 cannot be made: File exists");
	CHECK_ERROR(cgroup_enter(&f->group, 0, &err), err, ERR_INVALID,
	            "no process 0 to put into group sb_1");
	/* The one that was there is as it was. */
	(void)start(&f->group, rest, NULL);
}

static void a_group_that_cannot_be_limited_is_not_left(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct error err;

	NEED_GROUPS(f);
	NEED(f->all.has & CGROUP_HAS_PIDS, "no limit on processes");
	limits.pids = UINT64_MAX;
	assert_int_equal(cgroup_create(&f->all, "sb_1", &limits, &f->group, &err), -1);
	assert_string_equal(err.msg, "pids.max of group sb_1 cannot be set to "
	                             "18446744073709551615: Numerical result out of range");
	limits.pids = 100;
	make_group(f, &limits);
}

/* --- limits --- */

static void eat(void *ctx)
{
	const size_t *size = ctx;
	char *memory = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	if (memory == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < *size; i += 4096)
		((volatile char *)memory)[i] = 1;
}

static void who_takes_too_much_memory_is_killed_and_counted(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct engine_counters got;
	size_t much = SPEC_MIB(64), little = SPEC_MIB(4);
	int status;

	NEED(f->all.has & CGROUP_HAS_MEMORY, "no limit on memory");
	limits.memory = SPEC_MIB(24);
	make_group(f, &limits);
	assert_int_equal(count(f).memory_kills, 0);
	assert_int_equal(wait_for(start(&f->group, eat, &little)), 0);
	status = wait_for(start(&f->group, eat, &much));
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	got = count(f);
	assert_int_equal(got.memory_kills, 1);
	assert_in_range(got.memory_peak, SPEC_MIB(4), SPEC_MIB(24));
	assert_in_range(got.memory_now, 0, SPEC_MIB(24));
}

struct forks {
	int made, error;
};

static void fork_much(void *ctx)
{
	struct forks *forks = ctx;
	pid_t child;

	while (forks->made < 40 && (child = fork()) >= 0) {
		if (child == 0)
			rest(NULL);
		forks->made++;
	}
	forks->error = errno;
	rest(NULL);
}

static void *shared(size_t size)
{
	void *ptr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(ptr != MAP_FAILED);
	return ptr;
}

static void processes_beyond_the_limit_are_not_made_and_counted(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	volatile struct forks *forks = shared(sizeof *forks);
	struct engine_counters got;

	NEED(f->all.has & CGROUP_HAS_PIDS, "no limit on processes");
	limits.pids = 16;
	make_group(f, &limits);
	(void)start(&f->group, fork_much, (void *)(uintptr_t)forks);
	for (uint64_t until = clock_now_ms() + PATIENCE_MS;
	     forks->error == 0 && clock_now_ms() < until; nap(2))
		continue;
	assert_int_equal(forks->error, EAGAIN);
	assert_int_equal(forks->made, 15);
	got = count(f);
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
	uint64_t turns = 0, begin, used;

	NEED(f->all.has & CGROUP_HAS_CPU, "no limit on processors");
	limits.cpu = 100;
	make_group(f, &limits);
	(void)start(&f->group, spin, &turns);
	begin = clock_now_ms();
	nap(600);
	used = count(f).cpu_us;
	/* A tenth of the time and what beginning costs; without a limit nearly all of it. */
	assert_in_range(used, 1000, (clock_now_ms() - begin) * 1000 / 3);
}

/* --- ending and freezing --- */

static bool stands_still(volatile const uint64_t *turns)
{
	for (uint64_t until = clock_now_ms() + PATIENCE_MS; clock_now_ms() < until;) {
		uint64_t before = *turns;

		nap(50);
		if (*turns == before)
			return true;
	}
	return false;
}

static bool goes_on(volatile const uint64_t *turns)
{
	uint64_t before = *turns;

	for (uint64_t until = clock_now_ms() + PATIENCE_MS; clock_now_ms() < until; nap(2))
		if (*turns != before)
			return true;
	return false;
}

static void frozen_processes_stand_still_until_thawed(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	uint64_t *turns = shared(sizeof *turns);
	pid_t child;
	int status;

	NEED_GROUPS(f);
	make_group(f, &limits);
	child = start(&f->group, spin, turns);
	assert_true(goes_on(turns));
	cgroup_freeze(&f->group, true);
	assert_true(stands_still(turns));
	cgroup_freeze(&f->group, false);
	assert_true(goes_on(turns));
	/* And they can be ended as they are. */
	cgroup_freeze(&f->group, true);
	assert_true(stands_still(turns));
	cgroup_kill(&f->group);
	status = wait_for(child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_true(remove_soon(&f->group));
	(void)munmap(turns, sizeof *turns);
}

static void fork_stubborn(void *ctx)
{
	volatile int *made = ctx;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_IGN);
	for (int i = 0; i < 49; i++)
		if (fork() == 0) {
			(void)setsid();
			rest(NULL);
		} else
			++*made;
	rest(NULL);
}

static bool is_nobody(UNUSED void *ctx, UNUSED pid_t pid)
{
	return false;
}

static void ends_fifty(struct fixture *f, void (*end)(const struct fixture *f))
{
	struct spec_limits limits = some_limits();
	volatile int *made = shared(sizeof *made);
	int dir;
	pid_t child;

	make_group(f, &limits);
	child = start(&f->group, fork_stubborn, (void *)(uintptr_t)made);
	for (uint64_t until = clock_now_ms() + PATIENCE_MS; *made < 49 && clock_now_ms() < until;
	     nap(2))
		continue;
	assert_int_equal(*made, 49);
	if (f->all.has & CGROUP_HAS_PIDS)
		assert_int_equal(count(f).pids_now, 50);
	assert_false(cgroup_remove(&f->group));
	end(f);
	assert_int_equal(wait_for(child), SIGKILL);
	dir = f->group.unified >= 0 ? f->group.unified : f->group.v1[V1_FREEZER];
	for (uint64_t until = clock_now_ms() + PATIENCE_MS;
	     !cgroup_each_pid(dir, is_nobody, NULL) && clock_now_ms() < until; nap(1))
		continue;
	assert_true(cgroup_each_pid(dir, is_nobody, NULL));
	assert_true(remove_soon(&f->group));
	(void)munmap((void *)(uintptr_t)made, sizeof *made);
}

static void end_group(const struct fixture *f)
{
	cgroup_kill(&f->group);
}

static void end_each(const struct fixture *f)
{
	cgroup_dir_kill_each(f->group.unified >= 0 ? f->group.unified : f->group.v1[V1_FREEZER]);
}

static void ends_fifty_processes_that_ignore_signals(void **state)
{
	struct fixture *f = *state;

	NEED_GROUPS(f);
	ends_fifty(f, end_group);
}

static void ends_fifty_where_the_kernel_cannot_at_once(void **state)
{
	struct fixture *f = *state;

	NEED_GROUPS(f);
	ends_fifty(f, end_each);
}

static void a_process_can_be_born_in_its_group(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct clone_args args = { .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD };
	struct error err;
	char want[160], got[4096];
	pid_t child;

	NEED(f->all.unified >= 0, "no v2 tree");
	make_group(f, &limits);
	args.cgroup = (unsigned)f->group.unified;
	child = (pid_t)syscall(SYS_clone3, &args, sizeof args);
	assert_true(child >= 0);
	if (child == 0)
		rest(NULL);
	(void)cgroup_read(f->group.unified, "cgroup.procs", got, sizeof got);
	(void)snprintf(want, sizeof want, "%d\n", (int)child);
	assert_string_equal(got, want);
	/* What it is not in yet, it can still enter. */
	CHECK_OK(cgroup_enter(&f->group, child, &err), err);
	if (f->all.has & CGROUP_HAS_PIDS)
		assert_int_equal(count(f).pids_now, 1);
}

/* --- sweeping --- */

static bool is_live(void *ctx, const char *instance)
{
	unsigned *asked = ctx;

	++*asked;
	return strcmp(instance, "dead") != 0;
}

/* As if its server had been killed: descriptors closed, groups left. */
static void forget(struct cgroups *all, struct cgroup *group)
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

static bool is_there(const struct fixture *f, const char *name)
{
	if (f->all.unified_parent >= 0 && cgroup_has_file(f->all.unified_parent, name))
		return true;
	for (size_t i = 0; i < V1_COUNT; i++)
		if (f->all.v1_parent[i] >= 0 && cgroup_has_file(f->all.v1_parent[i], name))
			return true;
	return false;
}

static void sweeps_what_a_dead_server_left_and_nothing_else(void **state)
{
	struct fixture *f = *state;
	struct spec_limits limits = some_limits();
	struct cgroups dead, other;
	struct cgroup of_dead;
	struct error err;
	uint64_t *turns = shared(sizeof *turns), begin;
	unsigned asked = 0;
	pid_t ended, alive;

	NEED_GROUPS(f);
	make_group(f, &limits);
	alive = start(&f->group, rest, NULL);
	CHECK_OK(cgroups_open_in(&dead, &f->places, f->state, "dead", &err), err);
	CHECK_OK(cgroups_open_in(&other, &f->places, "otherstate", "dead", &err), err);
	CHECK_OK(cgroup_create(&dead, "sb_2", &limits, &of_dead, &err), err);
	ended = start(&of_dead, spin, turns);
	assert_true(goes_on(turns));
	cgroup_freeze(&of_dead, true);
	assert_true(stands_still(turns));
	assert_true(is_there(f, dead.name));
	forget(&dead, &of_dead);

	begin = clock_now_ms();
	cgroups_sweep_in(&f->all, &f->places, f->state, is_live, &asked);
	assert_in_range(clock_now_ms() - begin, 0, 1500);
	assert_true(asked > 0);
	assert_int_equal(wait_for(ended), SIGKILL);
	assert_false(is_there(f, dead.name));
	assert_true(is_there(f, f->all.name));
	assert_true(is_there(f, other.name));
	assert_int_equal(waitpid(alive, NULL, WNOHANG), 0);
	cgroups_close(&other);
	(void)munmap(turns, sizeof *turns);
}

static void closing_removes_our_directory(void **state)
{
	struct fixture *f = *state;
	struct cgroups all;
	struct error err;
	char first[4096], second[4096];

	NEED_GROUPS(f);
	own_groups(first, sizeof first);
	CHECK_OK(cgroups_open_in(&all, &f->places, f->state, "second", &err), err);
	assert_true(is_there(f, all.name));
	cgroups_close(&all);
	assert_false(is_there(f, all.name));
	own_groups(second, sizeof second);
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
		BEST(root_gets_every_limit_the_machine_has),
		BEST(limits_are_set_before_anything_runs),
		BEST(refuses_an_id_that_leaves_its_place_or_is_in_use),
		BEST(a_group_that_cannot_be_limited_is_not_left),
		BEST(who_takes_too_much_memory_is_killed_and_counted),
		BEST(processes_beyond_the_limit_are_not_made_and_counted),
		BEST(processor_time_is_limited_and_counted),
		BEST(frozen_processes_stand_still_until_thawed),
		BEST(ends_fifty_processes_that_ignore_signals),
		BEST(ends_fifty_where_the_kernel_cannot_at_once),
		BEST(a_process_can_be_born_in_its_group),
		BEST(sweeps_what_a_dead_server_left_and_nothing_else),
		BEST(closing_removes_our_directory),
	};
	const struct CMUnitTest v1[] = {
		V1(limits_are_set_before_anything_runs),
		V1(processor_time_is_limited_and_counted),
		V1(frozen_processes_stand_still_until_thawed),
		V1(ends_fifty_processes_that_ignore_signals),
		V1(sweeps_what_a_dead_server_left_and_nothing_else),
		V1(closing_removes_our_directory),
	};
	struct cgroup_places places;
	int failed = RUN_TESTS("cgroup", all);

	cgroup_find("/proc/self/mountinfo", "/proc/self/cgroup", &places);
	if (places.v1[V1_MEMORY].score != 0)
		failed += RUN_TESTS("cgroup without the v2 tree", v1);
	return failed;
}

static int wait_and_pass_on(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		continue;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Whatever is killed here by mistake is killed in a pid namespace of its own. The tests run as
 * the second process of it, as a spawner is the child of its server. */
int main(void)
{
	pid_t child;

	if (geteuid() == 0 && getpid() != 1 && unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) {
		child = fork();
		if (child != 0)
			_exit(wait_and_pass_on(child)); /* here no leaks can be looked for */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
		(void)mount("proc", "/proc", "proc", 0, NULL); /* the sanitizer looks there */
	}
	if (getpid() == 1) {
		child = fork();
		if (child != 0)
			_exit(wait_and_pass_on(child));
	}
	return run();
}
