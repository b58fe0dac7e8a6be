/* test_ceilings.c - defaults, ceilings and quotas by the options and by the machine. */
#include <string.h>

#include "server/options/options.h"
#include "server/runtime/ceilings.h"
#include "server/runtime/internal.h"
#include "unit/test.h"

#define GIB(n) SPEC_MIB((n)*1024)

static const struct spec_limits large = { .memory = GIB(24),
	                                  .swap = 0,
	                                  .cpu = 8000,
	                                  .pids = 32768,
	                                  .disk = GIB(100),
	                                  .inodes = 4000000,
	                                  .file_size = GIB(100),
	                                  .files = 1048576 };
static const struct spec_limits small = { .memory = SPEC_MIB(512) + 4095,
	                                  .swap = SPEC_MIB(100),
	                                  .cpu = 1000,
	                                  .pids = 4000,
	                                  .disk = GIB(1),
	                                  .inodes = 65536,
	                                  .file_size = GIB(1),
	                                  .files = 4096 };

static struct ceilings find_ceilings(unsigned verb, const char *const flags[OPTION_COUNT],
                                     const struct spec_limits *machine)
{
	char *const empty[] = { NULL };
	struct options options;
	struct ceilings found;
	struct error err;

	CHECK_OK(options_load(&options, verb, flags, empty, &err), err);
	ceilings_find(&options, machine, &found);
	options_done(&options);
	return found;
}

static const char *const none[OPTION_COUNT];

static void ceiling_without_options_is_a_share_of_the_machine(void **state)
{
	struct ceilings found = find_ceilings(FOR_SERVE, none, &large);
	struct spec wanted = spec_default();

	assert_memory_equal(&found.initial, &wanted.limits, sizeof wanted.limits);
	assert_int_equal(found.max.memory, GIB(18));
	assert_int_equal(found.max.swap, 0);
	assert_int_equal(found.max.cpu, 8000);
	assert_int_equal(found.max.pids, 32768);
	assert_int_equal(found.max.disk, GIB(75));
	assert_int_equal(found.max.inodes, 3000000);
	assert_int_equal(found.max.files, 1048576);
	assert_int_equal(found.memory_together, GIB(18));
	assert_int_equal(found.owner_memory, GIB(96));
	assert_int_equal(found.owner_memory_without_cgroup, GIB(24));
	assert_int_equal(found.owner_disk, GIB(400));
}

static void default_is_lowered_on_a_small_machine(void **state)
{
	struct ceilings found = find_ceilings(FOR_SERVE, none, &small);

	assert_int_equal(found.initial.memory, SPEC_MIB(384));
	assert_int_equal(found.max.memory, SPEC_MIB(384));
	assert_int_equal(found.initial.cpu, 1000);
	assert_int_equal(found.initial.pids, 512);
	assert_int_equal(found.initial.disk, SPEC_MIB(768));
	assert_int_equal(found.initial.inodes, 49152);
	assert_int_equal(found.initial.file_size, SPEC_MIB(768));
}

static void limit_that_is_given_is_the_ceiling(void **state)
{
	static const char *const flags[OPTION_COUNT] = {
		[OPTION_MEMORY] = "64M",  [OPTION_PIDS] = "100",        [OPTION_PIDS_MAX] = "200",
		[OPTION_CPU_MAX] = "500", [OPTION_OWNER_MEMORY] = "1G", [OPTION_OWNER_DISK] = "0",
	};
	struct ceilings found = find_ceilings(FOR_SERVE, flags, &large);

	assert_int_equal(found.initial.memory, SPEC_MIB(64));
	assert_int_equal(found.max.memory, SPEC_MIB(64));
	assert_int_equal(found.initial.pids, 100);
	assert_int_equal(found.max.pids, 200);
	assert_int_equal(found.initial.cpu, 500);
	assert_int_equal(found.max.cpu, 500);
	assert_int_equal(found.owner_memory, GIB(1));
	assert_int_equal(found.owner_memory_without_cgroup, GIB(1));
	assert_int_equal(found.memory_together, GIB(1));
	assert_int_equal(found.owner_disk, 0);
}

static void given_limit_is_lowered_to_the_machine(void **state)
{
	static const char *const flags[OPTION_COUNT] = {
		[OPTION_MEMORY] = "1G", [OPTION_MEMORY_MAX] = "2G", [OPTION_CPU] = "4000"
	};
	struct ceilings found;

	log_set_level(LOG_ERROR);
	found = find_ceilings(FOR_SERVE, flags, &small);
	assert_int_equal(found.initial.memory, SPEC_MIB(512));
	assert_int_equal(found.max.memory, SPEC_MIB(512));
	assert_int_equal(found.initial.cpu, 1000);
	assert_int_equal(found.memory_together, SPEC_MIB(512));
}

/* The flags of `belljar exec` are the operator's own: a sandbox that has more keeps it. */
static void ceiling_of_a_command_is_the_machine(void **state)
{
	static const char *const flags[OPTION_COUNT] = { [OPTION_MEMORY] = "64M" };
	struct ceilings found = find_ceilings(FOR_EXEC, flags, &large);

	assert_int_equal(found.initial.memory, SPEC_MIB(64));
	assert_int_equal(found.max.memory, GIB(24));
	assert_int_equal(found.memory_together, GIB(18));
	assert_int_equal(found.owner_memory, 0);
	assert_int_equal(found.owner_memory_without_cgroup, 0);
	assert_int_equal(found.owner_disk, 0);
}

static void unknown_amount_is_no_ceiling_and_no_quota(void **state)
{
	struct spec_limits unknown;
	struct ceilings found;

	memset(&unknown, 0xff, sizeof unknown);
	found = find_ceilings(FOR_SERVE, none, &unknown);
	for (size_t i = 0; i < spec_limit_count; i++) {
		assert_int_equal(spec_limits_get(&found.max, i), spec_limits[i].max);
		assert_int_equal(spec_limits_get(&found.initial, i), spec_limits[i].initial);
	}
	assert_int_equal(found.owner_memory, 0);
	assert_int_equal(found.owner_disk, 0);
}

static void machine_has_some_of_everything(void **state)
{
	struct spec_limits has;

	machine_read("/", &has);
	assert_true(has.memory >= SPEC_MIB(16) && has.memory != UINT64_MAX);
	assert_true(has.cpu >= 1000 && has.cpu % 1000 == 0 && has.cpu < 10000000);
	assert_true(has.pids >= 16 && has.pids != UINT64_MAX);
	assert_true(has.files >= 32 && has.files != UINT64_MAX);
	machine_read("/nonexistent", &has);
	assert_int_equal(has.disk, UINT64_MAX);
	assert_int_equal(has.inodes, UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ceiling_without_options_is_a_share_of_the_machine),
		TEST(default_is_lowered_on_a_small_machine),
		TEST(limit_that_is_given_is_the_ceiling),
		TEST(given_limit_is_lowered_to_the_machine),
		TEST(ceiling_of_a_command_is_the_machine),
		TEST(unknown_amount_is_no_ceiling_and_no_quota),
		TEST(machine_has_some_of_everything),
	};

	return RUN_TESTS("server/runtime/ceilings", tests);
}
