#include "engine/spec.h"

#include "unit/test.h"

#define ID "sb_abcdefghijklmnopqrstuvwx23"

static struct spec good(void)
{
	struct spec spec = spec_default();

	memcpy(spec.id, ID, sizeof ID);
	return spec;
}

static void add(struct spec *spec, const char *target)
{
	(void)snprintf(spec->mounts[spec->mount_count++].target, SPEC_TARGET_MAX + 1, "%s", target);
}

static void the_default_needs_nothing_but_an_id(void **state)
{
	struct spec spec = spec_default();
	struct error err;

	(void)state;
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'id' is not \"sb_\" and 26 characters of a-z and 2-7");
	spec_new_id(spec.id);
	CHECK_OK(spec_check(&spec, &err), err);
	assert_int_equal(spec.limits.memory, SPEC_MIB(1024));
	assert_int_equal(spec.limits.files, 4096);
	assert_int_equal(spec.syscalls, SPEC_SYSCALLS_STANDARD);
	assert_false(spec.egress || spec.fresh);
}

static void the_table_has_every_limit_in_order(void **state)
{
	(void)state;
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

static void ids_are_new_and_known_as_ids(void **state)
{
	char seen[200][SPEC_ID_LEN + 1];

	(void)state;
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

/* Every digit appears at every place: no bit is lost on the way. */
static void ids_use_all_their_bits(void **state)
{
	bool seen[SPEC_ID_LEN][128] = { 0 };

	(void)state;
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

static void other_texts_are_no_ids(void **state)
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

	(void)state;
	assert_true(spec_is_id(ID));
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (spec_is_id(texts[i]))
			fail_msg("'%s' is taken for an id", texts[i]);
}

static void limits_have_a_least_and_a_most(void **state)
{
	(void)state;
	for (size_t i = 0; i < spec_limit_count; i++) {
		struct spec spec = good();
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
		*value = spec_limits[i].min - 1; /* of 0: the largest number */
		assert_int_equal(spec_check(&spec, &err), -1);
	}
}

static void a_limit_is_refused_with_its_name_value_and_range(void **state)
{
	static const struct {
		size_t offset;
		uint64_t value;
		const char *why;
	} cases[] = {
		{ offsetof(struct spec_limits, memory), SPEC_MIB(15),
		  "limit 'memory' (memory of all its processes) is 15 MiB; it may be 16 MiB to "
		  "1048576 MiB" },
		{ offsetof(struct spec_limits, disk), 1000,
		  "limit 'disk' (files it may write) is 1000 bytes; it may be 1 MiB to 16777216 "
		  "MiB" },
		{ offsetof(struct spec_limits, cpu), 9,
		  "limit 'cpu' (processors it may keep busy) is 0.009; it may be 0.01 to 1024" },
		{ offsetof(struct spec_limits, cpu), 1024500,
		  "limit 'cpu' (processors it may keep busy) is 1024.5; it may be 0.01 to 1024" },
		{ offsetof(struct spec_limits, pids), 0,
		  "limit 'pids' (processes and threads) is 0; it may be 16 to 65536" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = good();
		struct error err;

		memcpy((char *)&spec.limits + cases[i].offset, &cases[i].value,
		       sizeof cases[i].value);
		CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
}

static void a_file_may_be_as_large_as_the_disk_is_not(void **state)
{
	struct spec spec = good();
	struct error err;

	(void)state;
	spec.limits.disk = SPEC_MIB(1);
	spec.limits.file_size = SPEC_MIB(100);
	spec.gpus = UINT64_MAX;
	CHECK_OK(spec_check(&spec, &err), err);
}

/* As another process might send it. */
static void bytes_that_are_no_value_of_their_type_are_refused(void **state)
{
	static const struct {
		size_t offset;
		const char *why;
	} cases[] = {
		{ offsetof(struct spec, egress), "'egress' is 2; it may be 0 or 1" },
		{ offsetof(struct spec, fresh), "'fresh' is 2; it may be 0 or 1" },
	};
	static const uint32_t unknown = SPEC_SYSCALLS_COUNT, negative = UINT32_MAX;
	struct spec spec;
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		spec = good();
		add(&spec, "/data");
		memset((char *)&spec + cases[i].offset, 2, 1);
		CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
	spec = good();
	memcpy(&spec.syscalls, &unknown, sizeof unknown);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, "'syscalls' is 3; it may be 0 to 2");
	memcpy(&spec.syscalls, &negative, sizeof negative);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'syscalls' is 4294967295; it may be 0 to 2");
}

static void texts_without_an_end_are_refused(void **state)
{
	struct spec spec = good();
	struct error err;

	(void)state;
	memset(spec.id + 3, 'a', sizeof spec.id - 3);
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
	            "'id' is not \"sb_\" and 26 characters of a-z and 2-7");
	spec = good();
	add(&spec, "/data");
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

static void targets_are_clean_and_leave_the_system_alone(void **state)
{
	static const struct {
		const char *target, *why; /* why NULL: fine */
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = good();
		struct error err = { .msg = "" };

		add(&spec, cases[i].target);
		if (cases[i].why == NULL)
			CHECK_OK(spec_check(&spec, &err), err);
		else
			CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, cases[i].why);
	}
}

static void targets_are_not_within_each_other(void **state)
{
	static const struct {
		const char *first, *third;
		bool fine;
	} cases[] = {
		{ "/data", "/data2", true },     { "/data2", "/data", true },
		{ "/data", "/data", false },     { "/data", "/data/a/b", false },
		{ "/data/a/b", "/data", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct spec spec = good();
		struct error err;

		add(&spec, cases[i].first);
		add(&spec, "/opt");
		add(&spec, cases[i].third);
		if (cases[i].fine)
			CHECK_OK(spec_check(&spec, &err), err);
		else
			CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID,
			            "the targets of mounts 1 and 3 are the same directory or one "
			            "within the other");
	}
}

static void mounts_are_counted(void **state)
{
	struct spec spec = good();
	struct error err;

	(void)state;
	for (int i = 0; i < SPEC_MOUNTS_MAX; i++) {
		char target[20];

		(void)snprintf(target, sizeof target, "/data/%d", i);
		add(&spec, target);
	}
	CHECK_OK(spec_check(&spec, &err), err);
	spec.mount_count = SPEC_MOUNTS_MAX + 1;
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, "17 mounts; there may be 16");
	spec.mount_count = UINT8_MAX;
	CHECK_ERROR(spec_check(&spec, &err), err, ERR_INVALID, "255 mounts; there may be 16");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(the_default_needs_nothing_but_an_id),
		TEST(the_table_has_every_limit_in_order),
		TEST(ids_are_new_and_known_as_ids),
		TEST(ids_use_all_their_bits),
		TEST(other_texts_are_no_ids),
		TEST(limits_have_a_least_and_a_most),
		TEST(a_limit_is_refused_with_its_name_value_and_range),
		TEST(a_file_may_be_as_large_as_the_disk_is_not),
		TEST(bytes_that_are_no_value_of_their_type_are_refused),
		TEST(texts_without_an_end_are_refused),
		TEST(targets_are_clean_and_leave_the_system_alone),
		TEST(targets_are_not_within_each_other),
		TEST(mounts_are_counted),
	};

	return RUN_TESTS("spec", tests);
}
