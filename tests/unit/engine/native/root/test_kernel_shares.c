/* The share of the kernel's tables that one sandbox gets. */
#include "unit/test.h"

#include <fcntl.h>

#include "base/cleanup.h"
#include "engine/native/root/root.h"

static void files_are_lowered_until_all_processes_fit(void **state)
{
	static const struct {
		uint64_t share, pids, files, expected; /* expected 0: refused */
	} cases[] = {
		{ UINT64_MAX / 8, 65536, 1048576, 1048576 },
		{ 308201, 512, 4096, 601 },
		{ 308201, 64, 4096, 4096 },
		{ 308201, 512, 100, 100 },
		{ 65536, 256, 4096, 256 },
		{ 65535, 256, 4096, 0 },
		{ 65535, 65536, 4096, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct kernel_shares shares = { .files = cases[i].share,
			                        .file_max = cases[i].share * 8 };
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
	assert_int_equal(shares.files, shares.file_max / 8);
	assert_in_range(shares.inotify_instances, 1, 64);
	assert_in_range(shares.inotify_watches, 1, 65536);
}

/* A container may hide /proc/sys. */
static void missing_files_do_not_limit(void **state)
{
	struct kernel_shares shares;

	kernel_shares_read(-1, &shares);
	assert_int_equal(shares.files, UINT64_MAX / 8);
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
