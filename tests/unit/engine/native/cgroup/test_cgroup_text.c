/* test_cgroup_text.c - parsing of mountinfo, /proc/self/cgroup and counter files, from made-up
 * texts. */
#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "engine/native/cgroup/internal.h"
#include "unit/scratch.h"
#include "unit/test.h"

/* A memfd with that text, and a path to it. */
static int create_text_file(const char *text, char path[64])
{
	int fd = memfd_create("text", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	(void)snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void find_hierarchies(const char *mounts, const char *own, struct cgroup_hierarchies *ret)
{
	char mounts_path[64], own_path[64];
	AUTO_FD int mounts_fd = create_text_file(mounts, mounts_path);
	AUTO_FD int own_fd = create_text_file(own, own_path);

	cgroup_find_hierarchies(mounts_path, own_path, ret);
}

static const struct {
	const char *what, *mounts, *own;
	int score;
	const char *mount_point, *own_path;
} finds_v2[] = {
	{ "a machine with systemd",
	  "24 22 0:22 / /sys rw - sysfs sysfs rw\n"
	  "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
	  "0::/user.slice/user-1000.slice/a.scope\n", 4, "/sys/fs/cgroup",
	  "user.slice/user-1000.slice/a.scope" },
	{ "the root group", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n", 4,
	  "/sys/fs/cgroup", "" },
	{ "a part of the tree, mounted in a container",
	  "30 24 0:26 /docker/1f /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw\n",
	  "0::/docker/1f/inner\n", 2, "/sys/fs/cgroup", "inner" },
	{ "exactly that part", "30 24 0:26 /docker/1f /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
	  "0::/docker/1f\n", 4, "/sys/fs/cgroup", "" },
	{ "another part, whose name begins the same",
	  "30 24 0:26 /docker/1f /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/docker/1fa/x\n", 3,
	  "/sys/fs/cgroup", "" },
	{ "a group outside of the namespace",
	  "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/../other\n", 3,
	  "/sys/fs/cgroup", "" },
	{ "a mount from outside of the namespace",
	  "30 24 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/\n", 3,
	  "/sys/fs/cgroup", "" },
	{ "a mount that can be written, after one that cannot",
	  "30 24 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
	  "31 24 0:26 / /mnt/cg rw - cgroup2 cgroup rw\n"
	  "32 24 0:26 / /mnt/later rw - cgroup2 cgroup rw\n",
	  "0::/a:b\n", 4, "/mnt/cg", "a:b" },
	{ "a mount over a mount",
	  "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n"
	  "31 24 0:26 /x /sys/fs/cgroup rw - cgroup2 cgroup rw\n",
	  "0::/x/y\n", 4, "/sys/fs/cgroup", "y" },
	{ "a name with a blank and a backslash",
	  "30 24 0:26 /a\\040b /sys/fs/c\\134g\\040 rw - cgroup2 none rw\n", "0::/a b/c\n", 4,
	  "/sys/fs/c\\g ", "c" },
	{ "a name that ends in half an escape", "30 24 0:26 / /sys/cg\\04 rw - cgroup2 none rw\n",
	  "0::/\n", 4, "/sys/cg\\04", "" },
	{ "a mount that is no path", "30 24 0:26 / net:[1] rw - cgroup2 none rw\n", "0::/\n", 0, "",
	  "" },
	{ "a line that stops in the middle", "30 24 0:26 / /sys/fs/cgroup rw\n30\n\n", "0::/\n", 0,
	  "", "" },
	{ "no line end", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw", "0::/\n", 0, "",
	  "" },
	{ "nothing", "", "", 0, "", "" },
};

static void unified_hierarchy_and_own_cgroup_are_found(void **state)
{
	struct cgroup_hierarchies trees;

	for (size_t i = 0; i < ARRAY_LEN(finds_v2); i++) {
		find_hierarchies(finds_v2[i].mounts, finds_v2[i].own, &trees);
		if (trees.unified.score != finds_v2[i].score ||
		    strcmp(trees.unified.mount_point, finds_v2[i].mount_point) != 0 ||
		    strcmp(trees.unified.own_path, finds_v2[i].own_path) != 0)
			fail_msg("%s: score %d, mount point '%s', own path '%s'", finds_v2[i].what,
			         trees.unified.score, trees.unified.mount_point,
			         trees.unified.own_path);
		for (size_t j = 0; j < V1_COUNT; j++)
			assert_int_equal(trees.v1[j].score, 0);
	}
}

static void v1_controllers_mounted_together_are_found(void **state)
{
	struct cgroup_hierarchies trees;

	find_hierarchies(
	        "33 25 0:28 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw\n"
	        "35 25 0:30 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	        "38 25 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	        "39 25 0:34 /lxc/a /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
	        "40 25 0:35 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n",
	        "12:cpuset:/\n4:cpu,cpuacct:/user.slice\n3:memory:/lxc/a/b\n1:name=systemd:/x\n"
	        "0::/user.slice/s\n",
	        &trees);
	assert_string_equal(trees.unified.mount_point, "/sys/fs/cgroup/unified");
	assert_string_equal(trees.unified.own_path, "user.slice/s");
	assert_string_equal(trees.v1[V1_CPU].mount_point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(trees.v1[V1_CPU].own_path, "user.slice");
	assert_string_equal(trees.v1[V1_CPUACCT].mount_point, "/sys/fs/cgroup/cpu,cpuacct");
	assert_string_equal(trees.v1[V1_MEMORY].own_path, "b");
	assert_int_equal(trees.v1[V1_PIDS].score, 0);
	assert_int_equal(trees.v1[V1_FREEZER].score, 0);
}

static void too_long_line_of_mountinfo_is_skipped(void **state)
{
	const char *good = "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
	size_t len = (size_t)2 * 16 * 1024; /* twice the reader's buffer */
	AUTO_FREE char *text = malloc(len + 200);
	struct cgroup_hierarchies trees;

	assert_non_null(text);
	memset(text, 'x', len);
	(void)snprintf(text + len, 200, "\n%s", good);
	find_hierarchies(text, "0::/me\n", &trees);
	assert_string_equal(trees.unified.mount_point, "/sys/fs/cgroup");
	/* The rest of a skipped line is not a line of its own. */
	memset(text, 'x', len);
	(void)snprintf(text + len, 200, "%s", good);
	find_hierarchies(text, "0::/me\n", &trees);
	assert_int_equal(trees.unified.score, 0);
	/* A mount point longer than CGROUP_PATH_SIZE is skipped. */
	(void)snprintf(text, 200, "30 24 0:26 / /");
	memset(text + 14, 'y', 1023);
	(void)snprintf(text + 14 + 1023, 200, " rw - cgroup2 cgroup2 rw\n");
	find_hierarchies(text, "0::/me\n", &trees);
	assert_int_equal(trees.unified.score, 0);
}

static const struct {
	const char *what;
	const char *texts[CGROUP_COUNTER_FILES];
	struct engine_counters want;
} counts[] = {
	{ "version 2",
	  { "4096\n", "8192\n", "low 0\nhigh 1\nmax 2\noom 3\noom_kill 4\noom_group_kill 5\n",
	    "7\n", "max 9\n", "usage_usec 12345\nuser_usec 1\nsystem_usec 2\n" },
	  { .memory_now = 4096,
	    .memory_peak = 8192,
	    .memory_kills = 4,
	    .pids_now = 7,
	    .pids_refused = 9,
	    .cpu_us = 12345 } },
	{ "version 2 without a peak",
	  { "4096\n", NULL, "oom_kill 1\n", "7\n", "max 0\n", "usage_usec 5\n" },
	  { .memory_now = 4096,
	    .memory_peak = 4096,
	    .memory_kills = 1,
	    .pids_now = 7,
	    .cpu_us = 5 } },
	{ "version 1",
	  { "1\n", "18446744073709551615\n", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n", "2\n",
	    "max 1\n", "5999\n" },
	  { .memory_now = 1,
	    .memory_peak = UINT64_MAX,
	    .memory_kills = 3,
	    .pids_now = 2,
	    .pids_refused = 1,
	    .cpu_us = 5 } },
	{ "malformed numbers",
	  { "18446744073709551616\n", "-1\n", "oom_killer 5\noom_kill\n oom_kill 6\n", "1\n2\n",
	    "max 1x\n", "usage_usec  5\n" },
	  { 0 } },
	{ "too large numbers and empty files",
	  { "", "max\n", "oom_kill 99999999999999999999999999\n", "1 \n", "", "" },
	  { 0 } },
	{ "nothing", { NULL }, { 0 } },
};

static void counters_of_both_versions_are_read(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
		int fds[CGROUP_COUNTER_FILES];
		char path[64];
		struct engine_counters got;

		for (size_t j = 0; j < CGROUP_COUNTER_FILES; j++)
			fds[j] = counts[i].texts[j] != NULL
			                 ? create_text_file(counts[i].texts[j], path)
			                 : -1;
		for (int again = 0; again < 2; again++) {
			memset(&got, 0xff, sizeof got);
			cgroup_read_counters(fds, CGROUP_V2, &got);
			if (memcmp(&got, &counts[i].want, sizeof got) != 0)
				fail_msg("%s: memory %ju peak %ju kills %ju pids %ju refused %ju "
				         "cpu %ju",
				         counts[i].what, (uintmax_t)got.memory_now,
				         (uintmax_t)got.memory_peak, (uintmax_t)got.memory_kills,
				         (uintmax_t)got.pids_now, (uintmax_t)got.pids_refused,
				         (uintmax_t)got.cpu_us);
		}
		cgroup_read_counters(fds, CGROUP_NONE, &got);
		assert_memory_equal(&got, &(struct engine_counters){ 0 }, sizeof got);
		for (size_t j = 0; j < CGROUP_COUNTER_FILES; j++)
			cleanup_fd(&fds[j]);
	}
}

static void machine_without_cgroups_is_no_error(void **state)
{
	struct cgroup_hierarchies trees = { .unified.score = 0 };
	struct spec_limits limits = { .memory = SPEC_MIB(16) };
	struct cgroups all;
	struct cgroup group;
	struct engine_counters got;
	struct error err;
	int fds[CGROUP_COUNTER_FILES];

	CHECK_OK(cgroups_open_in(&all, &trees, "s", "i", &err), err);
	assert_int_equal(all.kind, CGROUP_NONE);
	assert_int_equal(all.has, 0);
	assert_string_equal(all.why, "no limit on memory, swap, processors, processes: "
	                             "no cgroups: mount -t cgroup2 none /sys/fs/cgroup");
	CHECK_OK(cgroup_create(&all, "sb_1", &limits, &group, &err), err);
	CHECK_OK(cgroup_enter_self(&group, &err), err);
	cgroup_freeze(&group, true);
	cgroup_kill(&group);
	cgroup_open_counters(&group, fds);
	cgroup_read_counters(fds, all.kind, &got);
	assert_int_equal(got.pids_now, 0);
	assert_true(cgroup_remove(&group));
	cgroups_close(&all);
}

/* mountinfo may name a directory that another file system covers. */
static void directory_of_another_file_system_is_not_used(void **state)
{
	struct cgroup_hierarchies trees = { .unified = { .score = 4, .mount_point = "/tmp" } };
	struct cgroups all;
	struct error err;

	trees.v1[V1_MEMORY] = trees.unified;
	CHECK_OK(cgroups_open_in(&all, &trees, "s", "i", &err), err);
	assert_int_equal(all.kind, CGROUP_NONE);
	assert_int_equal(access("/tmp/belljar-s-i", F_OK), -1);
	cgroups_close(&all);
}

static void open_refuses_names_with_other_characters(void **state)
{
	struct cgroups all;
	struct error err;

	CHECK_ERROR(cgroups_open(&all, "a/b", "i", &err), err, ERR_INVALID,
	            "cgroup name: expected letters and digits, got 'a/b'");
	CHECK_ERROR(cgroups_open(&all, "a", "", &err), err, ERR_INVALID,
	            "cgroup name: expected letters and digits, got ''");
	CHECK_ERROR(cgroups_open(&all, "a", "i-server", &err), err, ERR_INVALID,
	            "cgroup name: expected letters and digits, got 'i-server'");
	CHECK_ERROR(cgroups_open(&all, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	                         "iiiiiiiiiiiiiiiiiiiiiiii", &err),
	            err, ERR_LIMIT, "cgroup name: 65 bytes, at most 63 are allowed");
}

/* The least limit of the own cgroup and those above, of either version, counts. */
static void own_limit_is_the_least_above(void **state)
{
	static const struct {
		const char *below, *above, *v1;
		uint64_t wanted;
	} cases[] = {
		{ "max\n", "max\n", NULL, UINT64_MAX },
		{ "1000\n", "max\n", NULL, 1000 },
		{ "1000\n", "500\n", NULL, 500 },
		{ "400\n", "500\n", "9223372036854771712\n", 400 },
		{ "max\n", "500\n", "300\n", 300 },
		{ "nonsense", "", NULL, UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct cgroup_hierarchies trees = { .unified = { .score = 1,
			                                         .own_path = "above/below" } };

		(void)snprintf(trees.unified.mount_point, CGROUP_PATH_SIZE, "%s", scratch_path);
		(void)mkdir("above", 0755);
		(void)mkdir("above/below", 0755);
		scratch_write("above/below/memory.max", cases[i].below);
		scratch_write("above/memory.max", cases[i].above);
		if (cases[i].v1 != NULL) {
			trees.v1[V1_MEMORY].score = 1;
			(void)snprintf(trees.v1[V1_MEMORY].mount_point, CGROUP_PATH_SIZE,
			               "%s/above", scratch_path);
			scratch_write("above/memory.limit_in_bytes", cases[i].v1);
		}
		assert_int_equal(cgroup_own_limit_in(&trees, CGROUP_HAS_MEMORY), cases[i].wanted);
		assert_int_equal(cgroup_own_limit_in(&trees, CGROUP_HAS_PIDS), UINT64_MAX);
	}
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(unified_hierarchy_and_own_cgroup_are_found),
		TEST(v1_controllers_mounted_together_are_found),
		TEST(too_long_line_of_mountinfo_is_skipped),
		TEST(counters_of_both_versions_are_read),
		TEST(machine_without_cgroups_is_no_error),
		TEST(directory_of_another_file_system_is_not_used),
		TEST(open_refuses_names_with_other_characters),
		IN_SCRATCH(own_limit_is_the_least_above),
	};

	return RUN_TESTS("cgroup_text", all);
}
