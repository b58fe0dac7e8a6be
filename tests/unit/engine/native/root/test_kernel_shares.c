/* The share of the kernel's tables that one sandbox gets. */
#include "unit/test.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "engine/native/root/root.h"

static void files_are_lowered_until_all_processes_fit(void **state)
{
	static const struct {
		uint64_t file_max, pids, files, expected; /* expected 0: refused */
	} cases[] = {
		{ UINT64_MAX, 65536, 1048576, 1048576 },
		{ 2465610, 512, 4096, 601 },
		{ 2465610, 64, 4096, 4096 },
		{ 2465610, 512, 100, 100 },
		{ 200000, 512, 4096, 128 },
		{ 200000, 781, 4096, 128 },
		{ 200000, 782, 4096, 0 },
		{ 2465610, 32768, 4096, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kernel_shares shares = { .file_max = cases[i].file_max };
		struct spec_limits limits = spec_default().limits;
		struct error err;

		limits.pids = cases[i].pids;
		limits.files = cases[i].files;
		if (cases[i].expected == 0) {
			assert_int_equal(kernel_shares_fit(&shares, &limits, &err), -1);
			assert_int_equal(err.kind, ERR_LIMIT);
			assert_non_null(strstr(err.msg, "fs.file-max"));
			continue;
		}
		CHECK_OK(kernel_shares_fit(&shares, &limits, &err), err);
		assert_int_equal(limits.files, cases[i].expected);
	}
}

static void shares_are_an_eighth_of_the_machine(void **state)
{
	AUTO_FD int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct kernel_shares shares;

	kernel_shares_read(proc, &shares);
	assert_true(shares.file_max > 0);
	assert_in_range(shares.inotify_instances, 1, 64);
	assert_in_range(shares.inotify_watches, 1, 65536);
}

/* A container may hide /proc/sys. */
static void missing_files_do_not_limit(void **state)
{
	struct kernel_shares shares;

	kernel_shares_read(-1, &shares);
	assert_true(shares.file_max == UINT64_MAX);
	assert_int_equal(shares.inotify_instances, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_lowered_until_all_processes_fit),
		TEST(shares_are_an_eighth_of_the_machine),
		TEST(missing_files_do_not_limit),
	};

	return RUN_TESTS("engine/kernel_shares", tests);
}
