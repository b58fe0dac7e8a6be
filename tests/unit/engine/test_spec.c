/* test_spec.c - defaults, ids, and what spec_check() accepts and refuses. */
#include "engine/spec.h"

#include "unit/test.h"

#define ID "sb_abcdefghijklmnopqrstuvwx23"

static struct spec valid_spec(void)
{
	struct spec spec = spec_default();

	memcpy(spec.id, ID, sizeof ID);
	return spec;
}

static void add_mount(struct spec *spec, const char *target)
{
	(void)snprintf(spec->mounts[spec->mount_count++].target, SPEC_TARGET_MAX + 1, "%s", target);
}

static void default_spec_is_valid_except_for_its_id(void **state)
{
	struct spec spec = spec_default();
	struct error err;

	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'id' is not \"sb_\" and 26 characters of a-z and 2-7");
	spec_new_id(spec.id);
	CHECK_OK(spec_check(&spec, &err), err);
	assert_int_equal(spec.limits.memory, SPEC_MIB(1024));
	assert_int_equal(spec.limits.files, 4096);
	assert_int_equal(spec.syscalls, SPEC_SYSCALLS_STANDARD);
	assert_false(spec.fresh);
}

static void table_of_limits_is_in_the_order_of_the_struct(void **state)
{
	assert_int_equal(spec_limit_count, 8);
	for (size_t i = 0; i < spec_limit_count; i++) {
		assert_int_equal(spec_limits[i].offset, i * sizeof(uint64_t));
		assert_true(spec_limits[i].min <= spec_limits[i].initial);
		assert_true(spec_limits[i].initial <= spec_limits[i].max);
		assert_true(spec_limits[i].max <= INT64_MAX); /* a column of the registry */
	}
	assert_string_equal(spec_limits[0].name, "memory");
	assert_string_equal(spec_limits[7].name, "files");
	assert_string_equal(spec_syscalls_names[SPEC_SYSCALLS_DEBUG], "debug");
}

static void limit_above_its_ceiling_is_refused(void **state)
{
	struct spec spec = spec_default();
	struct spec_limits max = spec.limits;
	struct error err;

	CHECK_OK(spec_check_ceilings(&spec, &max, 0, &err), err);
	for (size_t i = 0; i < spec_limit_count; i++) {
		spec_limits_set(&spec.limits, i, spec_limits_get(&max, i) + 1);
		assert_int_equal(spec_check_ceilings(&spec, &max, 0, &err), -1);
		assert_int_equal(err.kind, ERR_LIMIT);
		assert_non_null(strstr(err.msg, spec_limits[i].name));
		spec_limits_set(&spec.limits, i, spec_limits_get(&max, i));
	}
	spec.limits.cpu = 2500;
	CHECK_ERROR(spec_check_ceilings(&spec, &max, 0, &err), err, ERR_LIMIT,
	            "limit 'cpu' (number of processors) is 2.5; this server allows at most 2");
	spec.limits.cpu = 2000;
	spec.gpus = 5;
	CHECK_OK(spec_check_ceilings(&spec, &max, 7, &err), err);
	CHECK_ERROR(spec_check_ceilings(&spec, &max, 4, &err), err, ERR_LIMIT,
	            "gpus: the set 5 has devices outside of 4, which this server allows");
	max = spec_largest_limits();
	for (size_t i = 0; i < spec_limit_count; i++)
		assert_int_equal(spec_limits_get(&max, i), spec_limits[i].max);
}

static void new_ids_are_valid_and_different(void **state)
{
	char seen[200][SPEC_ID_LEN + 1];

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		spec_new_id(seen[i]);
		assert_true(spec_is_id(seen[i]));
		assert_int_equal(strlen(seen[i]), SPEC_ID_LEN);
		/* 128 bits are 25 digits and three bits more. */
		assert_non_null(strchr("aeimquy4", seen[i][SPEC_ID_LEN - 1]));
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(seen[i], seen[k]);
	}
}

static void new_ids_use_every_digit_in_every_position(void **state)
{
	bool seen[SPEC_ID_LEN][128] = { 0 };

	for (int i = 0; i < 2000; i++) {
		char id[SPEC_ID_LEN + 1];

		spec_new_id(id);
		for (size_t k = 0; k < SPEC_ID_LEN; k++)
			seen[k][(unsigned char)id[k]] = true;
	}
	for (size_t k = 3; k < SPEC_ID_LEN; k++) {
		unsigned count = 0;

		for (size_t c = 0; c < 128; c++)
			count += seen[k][c];
		assert_int_equal(count, k == SPEC_ID_LEN - 1 ? 8 : 32);
	}
}

static void malformed_ids_are_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"sb_",
		"sb",
		"sb_abcdefghijklmnopqrstuvwx2",
		"sb_abcdefghijklmnopqrstuvwx234",
		"sc_abcdefghijklmnopqrstuvwx23",
		"sb_Abcdefghijklmnopqrstuvwx23",
		"sb_abcdefghijklmnopqrstuvwx21",
		"sb_abcdefghijklmnopqrstuvw/23",
		"sb_abcdefghijklmnopqrstuvw..3",
		"sb_abcdefghijklmnopqrstuvwx2\n",
	};

	assert_true(spec_is_id(ID));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (spec_is_id(texts[i]))
			fail_msg("'%s' is accepted as an id", texts[i]);
}

static void every_limit_has_a_minimum_and_a_maximum(void **state)
{
	for (size_t i = 0; i < spec_limit_count; i++) {
		struct spec spec = valid_spec();
		uint64_t *value = (uint64_t *)(void *)((char *)&spec.limits +
		                                       spec_limits[i].offset);
		struct error err;

		*value = spec_limits[i].min;
		CHECK_OK(spec_check(&spec, &err), err);
		*value = spec_limits[i].max;
		CHECK_OK(spec_check(&spec, &err), err);
		*value = spec_limits[i].max + 1;
		assert_int_equal(spec_check(&spec, &err), -1);
		assert_non_null(strstr(err.msg, spec_limits[i].name));
		*value = UINT64_MAX;
		assert_int_equal(spec_check(&spec, &err), -1);
		*value = spec_limits[i].min - 1; /* a minimum of 0 wraps to UINT64_MAX */
		assert_int_equal(spec_check(&spec, &err), -1);
	}
}

static void error_names_limit_value_and_range(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		const char *why;
	} cases[] = {
		{ offsetof(struct spec_limits, memory), SPEC_MIB(15),
		  "limit 'memory' (memory of all processes) is 15 MiB; it may be 16 MiB to "
		  "1048576 MiB" },
		{ offsetof(struct spec_limits, disk), 1000,
		  "limit 'disk' (disk space for files) is 1000 bytes; it may be 1 MiB to 16777216 "
		  "MiB" },
		{ offsetof(struct spec_limits, cpu), 9,
		  "limit 'cpu' (number of processors) is 0.009; it may be 0.01 to 1024" },
		{ offsetof(struct spec_limits, cpu), 1024500,
		  "limit 'cpu' (number of processors) is 1024.5; it may be 0.01 to 1024" },
		{ offsetof(struct spec_limits, pids), 0,
		  "limit 'pids' (processes and threads) is 0; it may be 16 to 65536" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = valid_spec();
		struct error err;

		memcpy((char *)&spec.limits + cases[i].offset, &cases[i].value,
		       sizeof cases[i].value);
		CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
}

static void file_size_may_exceed_the_disk_limit(void **state)
{
	struct spec spec = valid_spec();
	struct error err;

	spec.limits.disk = SPEC_MIB(1);
	spec.limits.file_size = SPEC_MIB(100);
	spec.gpus = UINT64_MAX;
	CHECK_OK(spec_check(&spec, &err), err);
}

/* The sandbox itself has some files, so one file that fails at this size leaves it within its
 * limit. */
static void one_file_is_smaller_than_the_disk_limit(void **state)
{
	struct spec_limits limits = { .disk = SPEC_MIB(64), .file_size = SPEC_MIB(100) };

	assert_int_equal(spec_file_max(&limits), SPEC_MIB(62));
	limits.disk = SPEC_MIB(1);
	assert_int_equal(spec_file_max(&limits), SPEC_MIB(1) - 128 * 1024);
	limits.file_size = 4096;
	assert_int_equal(spec_file_max(&limits), 4096);
}

/* The spawner checks bytes that another process sent. */
static void invalid_bytes_of_bool_and_enum_are_refused(void **state)
{
	static const struct {
		size_t offset;
		const char *why;
	} cases[] = {
		{ offsetof(struct spec, fresh), "'fresh' is 2; it may be 0 or 1" },
	};
	static const uint32_t unknown = SPEC_SYSCALLS_COUNT, negative = UINT32_MAX;
	struct spec spec;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		spec = valid_spec();
		add_mount(&spec, "/data");
		memset((char *)&spec + cases[i].offset, 2, 1);
		CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
	spec = valid_spec();
	memcpy(&spec.syscalls, &unknown, sizeof unknown);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, "'syscalls' is 3; it may be 0 to 2");
	memcpy(&spec.syscalls, &negative, sizeof negative);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'syscalls' is 4294967295; it may be 0 to 2");
}

static void unterminated_texts_are_refused(void **state)
{
	struct spec spec = valid_spec();
	struct error err;

	memset(spec.id + 3, 'a', sizeof spec.id - 3);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'id' is not \"sb_\" and 26 characters of a-z and 2-7");
	spec = valid_spec();
	add_mount(&spec, "/data");
	memset(spec.mounts[0].target + 1, 'a', SPEC_TARGET_MAX - 1);
	CHECK_OK(spec_check(&spec, &err), err);
	spec.mounts[0].target[SPEC_TARGET_MAX] = 'a';
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "the target of mount 1 is longer than 127 bytes");
}

#define UNCLEAN(shown)                                                                             \
	"the target of mount 1, '" shown "', must begin with '/' and have no '//', '.', '..', "    \
	"'/' at its end or control characters"
#define SYSTEM(target)                                                                             \
	"the target of mount 1, '" target "', belongs to the sandbox itself; choose a directory "  \
	"such as /workspace/data"

static void mount_targets_are_checked(void **state)
{
	static const struct {
		const char *target, *why; /* why is NULL if the target is valid */
	} cases[] = {
		{ "/data", NULL },
		{ "/data/a b/.hidden/..x/x..", NULL },
		{ "/workspace/data", NULL },
		{ "/tmp/in", NULL },
		{ "/home/coderunner/.cache", NULL },
		{ "/home/other", NULL },
		{ "/opt", NULL },
		{ "/processes", NULL },
		{ "/users", NULL },
		{ "/var/lib/x", NULL },
		{ "/d\303\244ten", NULL },
		{ "", UNCLEAN("") },
		{ "/", UNCLEAN("/") },
		{ "data", UNCLEAN("data") },
		{ "/data/", UNCLEAN("/data/") },
		{ "//data", UNCLEAN("//data") },
		{ "/data//x", UNCLEAN("/data//x") },
		{ "/./data", UNCLEAN("/./data") },
		{ "/data/.", UNCLEAN("/data/.") },
		{ "/.", UNCLEAN("/.") },
		{ "/..", UNCLEAN("/..") },
		{ "/data/../etc", UNCLEAN("/data/../etc") },
		{ "/data/..", UNCLEAN("/data/..") },
		{ "/da\nta", UNCLEAN("/da\\nta") },
		{ "/da\177ta", UNCLEAN("/da\\x7fta") },
		{ "/da\377ta", UNCLEAN("/da\\xffta") },
		{ "/proc", SYSTEM("/proc") },
		{ "/proc/self", SYSTEM("/proc/self") },
		{ "/dev/shm", SYSTEM("/dev/shm") },
		{ "/sys", SYSTEM("/sys") },
		{ "/run/x", SYSTEM("/run/x") },
		{ "/usr/local/bin", SYSTEM("/usr/local/bin") },
		{ "/etc/ssl", SYSTEM("/etc/ssl") },
		{ "/bin", SYSTEM("/bin") },
		{ "/sbin/x", SYSTEM("/sbin/x") },
		{ "/lib", SYSTEM("/lib") },
		{ "/lib64", SYSTEM("/lib64") },
		{ "/libx32/a", SYSTEM("/libx32/a") },
		{ "/workspace", SYSTEM("/workspace") },
		{ "/tmp", SYSTEM("/tmp") },
		{ "/home", SYSTEM("/home") },
		{ "/home/coderunner", SYSTEM("/home/coderunner") },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = valid_spec();
		struct error err = { .msg = "" };

		add_mount(&spec, cases[i].target);
		if (cases[i].why == NULL)
			CHECK_OK(spec_check(&spec, &err), err);
		else
			CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
}

static void nested_mount_targets_are_refused(void **state)
{
	static const struct {
		const char *first, *third;
		bool is_valid;
	} cases[] = {
		{ "/data", "/data2", true },     { "/data2", "/data", true },
		{ "/data", "/data", false },     { "/data", "/data/a/b", false },
		{ "/data/a/b", "/data", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = valid_spec();
		struct error err;

		add_mount(&spec, cases[i].first);
		add_mount(&spec, "/opt");
		add_mount(&spec, cases[i].third);
		if (cases[i].is_valid)
			CHECK_OK(spec_check(&spec, &err), err);
		else
			CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
			            "the targets of mounts 1 and 3 are the same directory or one "
			            "within the other");
	}
}

static void too_many_mounts_are_refused(void **state)
{
	struct spec spec = valid_spec();
	struct error err;

	for (int i = 0; i < SPEC_MOUNTS_MAX; i++) {
		char target[20];

		(void)snprintf(target, sizeof target, "/data/%d", i);
		add_mount(&spec, target);
	}
	CHECK_OK(spec_check(&spec, &err), err);
	spec.mount_count = SPEC_MOUNTS_MAX + 1;
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, "17 mounts; at most 16 are allowed");
	spec.mount_count = UINT8_MAX;
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "255 mounts; at most 16 are allowed");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(default_spec_is_valid_except_for_its_id),
		TEST(table_of_limits_is_in_the_order_of_the_struct),
		TEST(limit_above_its_ceiling_is_refused),
		TEST(new_ids_are_valid_and_different),
		TEST(new_ids_use_every_digit_in_every_position),
		TEST(malformed_ids_are_refused),
		TEST(every_limit_has_a_minimum_and_a_maximum),
		TEST(error_names_limit_value_and_range),
		TEST(file_size_may_exceed_the_disk_limit),
		TEST(one_file_is_smaller_than_the_disk_limit),
		TEST(invalid_bytes_of_bool_and_enum_are_refused),
		TEST(unterminated_texts_are_refused),
		TEST(mount_targets_are_checked),
		TEST(nested_mount_targets_are_refused),
		TEST(too_many_mounts_are_refused),
	};

	return RUN_TESTS("spec", tests);
}
