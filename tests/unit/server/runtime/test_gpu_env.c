#include "server/runtime/internal.h"

#include "engine/native/cdi/cdi.h"
#include "unit/test.h"

static char *first[] = { (char[]){ "NAME=one" }, (char[]){ "LD_LIBRARY_PATH=/a" } };
static char *second[] = { (char[]){ "NAME=two" }, (char[]){ "LD_LIBRARY_PATH=/b" },
	                  (char[]){ "NAMES=more" } };
static char *third[] = { (char[]){ "LD_LIBRARY_PATH=/a" } };

static struct cdi gpus = { .devices = { { .env = first, .env_count = ARRAY_LEN(first) },
	                                { .env = second, .env_count = ARRAY_LEN(second) },
	                                { .env = third, .env_count = ARRAY_LEN(third) } },
	                   .count = 3 };

/* `want` is the variables separated by blanks. */
static void check_env(const struct cdi *of, uint64_t chosen, const char *want)
{
	char **env = gpu_env(of, chosen);
	char text[200] = "";
	size_t used = 0;

	assert_non_null(env);
	for (size_t i = 0; env[i] != NULL; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i != 0 ? " " : "",
		                         env[i]);
	assert_string_equal(text, want);
	for (size_t i = 0; env[i] != NULL; i++)
		free(env[i]);
	free(env);
}

static void only_chosen_devices_set_variables(void **state)
{
	check_env(&gpus, 0, "");
	check_env(&gpus, 1, "NAME=one LD_LIBRARY_PATH=/a");
	check_env(&gpus, 2, "NAME=two LD_LIBRARY_PATH=/b NAMES=more");
	check_env(&gpus, 1ULL << 63, ""); /* there is no such device */
	check_env(NULL, 7, "");
}

static void name_occurs_once_and_library_paths_are_joined(void **state)
{
	check_env(&gpus, 3, "NAME=one LD_LIBRARY_PATH=/a:/b NAMES=more");
	check_env(&gpus, 5, "NAME=one LD_LIBRARY_PATH=/a");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_chosen_devices_set_variables),
		TEST(name_occurs_once_and_library_paths_are_joined),
	};

	return RUN_TESTS("server/runtime/gpu_env", tests);
}
