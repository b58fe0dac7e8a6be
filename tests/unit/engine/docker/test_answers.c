/* test_answers.c - what is read out of the daemon's JSON. */
#include "engine/docker/answers.h"
#include "unit/test.h"

static json_t *parse(const char *text)
{
	static const struct json_limits limits = { .depth = 16, .values = 1000 };
	json_t *value = NULL;
	struct error err;

	CHECK_OK(json_read(view_of(text), &limits, &value, NULL, &err), err);
	return value;
}

static void version_is_negotiated(void **state)
{
	static const struct {
		const char *json, *error;
		unsigned api;
		bool is_podman;
	} cases[] = {
		{ "{\"ApiVersion\":\"1.41\",\"MinAPIVersion\":\"1.12\",\"Arch\":\"amd64\"}", NULL,
		  141, false },
		{ "{\"ApiVersion\":\"1.60\",\"MinAPIVersion\":\"1.44\"}", NULL, 151, false },
		{ "{\"ApiVersion\":\"1.41\",\"Components\":[{\"Name\":\"Podman Engine\"}]}", NULL,
		  141, true },
		{ "{\"ApiVersion\":\"1.39\"}",
		  "the daemon speaks version 1.39 of Docker's API, and belljar needs 1.40 to 1.51: "
		  "update the older of the two",
		  0, false },
		{ "{\"ApiVersion\":\"1.70\",\"MinAPIVersion\":\"1.60\"}",
		  "the daemon speaks version 1.70 of Docker's API, and belljar needs 1.40 to 1.51: "
		  "update the older of the two",
		  0, false },
		{ "{\"ApiVersion\":\"2.0\"}",
		  "the daemon does not name its version: it is neither Docker nor Podman", 0,
		  false },
		{ "{\"ApiVersion\":141}",
		  "the daemon does not name its version: it is neither Docker nor Podman", 0,
		  false },
		{ "[]", "the daemon does not name its version: it is neither Docker nor Podman", 0,
		  false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_JSON json_t *json = parse(cases[i].json);
		struct docker_version version;
		struct error err;
		int r = answer_version(json, &version, &err);

		if (cases[i].error != NULL) {
			assert_int_equal(r, -1);
			assert_string_equal(err.msg, cases[i].error);
			continue;
		}
		assert_int_equal(r, 0);
		assert_int_equal(version.api, cases[i].api);
		assert_int_equal(version.is_podman, cases[i].is_podman);
	}
}

static void version_number_is_parsed(void **state)
{
	static const struct {
		const char *text;
		unsigned number;
	} cases[] = { { "1.41", 141 }, { "1.5", 105 }, { "1.", 0 },    { "", 0 },
		      { "1.411", 0 },  { "2", 0 },     { "1.4x", 0 },  { "v1.4", 0 },
		      { "-1.4", 0 },   { "1.4 ", 0 },  { "11.40", 0 }, { "1,41", 0 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(answer_api_version(cases[i].text), cases[i].number);
}

static void container_needs_an_id_that_is_a_word(void **state)
{
	static const char *const bad[] = {
		"{}",  "{\"Id\":\"\"}", "{\"Id\":\"../x\"}", "{\"Id\":\"a?b\"}", "{\"Id\":7}",
		"[1]", "null"
	};
	AUTO_JSON json_t *good = parse(
	        "{\"Id\":\"0a1b\",\"State\":{\"Running\":true,\"OOMKilled\":true,\"Pid\":77,"
	        "\"ExitCode\":137,\"Error\":\"\\u001b[1m\"},"
	        "\"Config\":{\"Labels\":{\"belljar.instance\":\"abc\"}},"
	        "\"Mounts\":[7,{\"Destination\":\"/app\",\"Source\":\"/data/app\"},"
	        "{\"Destination\":\"/tmp\",\"Source\":\"/data/tmp\"},{\"Source\":\"/x\"}]}");
	struct docker_container container;
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		AUTO_JSON json_t *json = parse(bad[i]);

		CHECK_ERROR(answer_container(json, &container, &err), err, ERR_SYSTEM,
		            "the daemon answered without an id");
	}
	CHECK_OK(answer_container(good, &container, &err), err);
	assert_string_equal(container.id, "0a1b");
	assert_string_equal(container.instance, "abc");
	assert_string_equal(container.error, "\\x1b[1m");
	assert_true(container.is_running && container.is_out_of_memory);
	assert_int_equal(container.pid, 77);
	assert_int_equal(container.exit_code, 137);
	assert_string_equal(container.direct_dir, "/data/tmp");
}

static void pull_lines_add_up(void **state)
{
	static const char *const lines[] = {
		"{\"status\":\"Pulling from library/x\",\"id\":\"latest\"}",
		"{\"status\":\"Downloading\",\"id\":\"aa\",\"progressDetail\":{\"current\":10,"
		"\"total\":100}}",
		"{\"status\":\"Downloading\",\"id\":\"bb\",\"progressDetail\":{\"current\":5,"
		"\"total\":50}}",
		"{\"status\":\"Download complete\",\"id\":\"bb\"}",
		"{\"status\":\"Downloading\",\"id\":\"cc\",\"progressDetail\":{\"current\":"
		"9223372036854775807,\"total\":9223372036854775807}}",
		"{\"status\":\"Downloading\",\"id\":\"dd\",\"progressDetail\":{\"current\":-1,"
		"\"total\":-5}}",
		"{\"status\":\"Extracting\",\"id\":\"aa\",\"progressDetail\":{\"current\":1,"
		"\"total\":2}}",
		"{\"status\":\"half a li",
		"",
		"[]",
	};
	static struct pull_progress progress;
	struct engine_progress sum;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		answer_pull_line(view_of(lines[i]), &progress);
	pull_progress_sum(&progress, &sum);
	assert_int_equal(sum.done, 60);
	assert_int_equal(sum.total, 150);
	assert_string_equal(progress.error, "");
	answer_pull_line(VIEW("{\"errorDetail\":{\"message\":\"x\"},\"error\":\"no space left\"}"),
	                 &progress);
	assert_string_equal(progress.error, "no space left");
	/* A daemon that invents layers cannot make the list grow. */
	for (int i = 0; i < 2 * PULL_LAYERS_MAX; i++) {
		char line[80];

		(void)snprintf(line, sizeof line, "{\"status\":\"Waiting\",\"id\":\"l%d\"}", i);
		answer_pull_line(view_of(line), &progress);
	}
	assert_int_equal(progress.count, PULL_LAYERS_MAX);
}

static void info_names_the_limits_of_the_daemon(void **state)
{
	AUTO_JSON json_t *json = parse(
	        "{\"MemoryLimit\":true,\"SwapLimit\":false,\"CpuCfsQuota\":true,\"PidsLimit\":true,"
	        "\"CgroupVersion\":\"2\",\"CgroupDriver\":\"systemd\",\"Driver\":\"overlay2\","
	        "\"SecurityOptions\":[\"name=seccomp,profile=default\",\"name=rootless\",7],"
	        "\"Runtimes\":{\"runc\":{},\"nvidia\":{}},\"CDISpecDirs\":[\"/etc/cdi\"]}");
	AUTO_JSON json_t *empty = parse("{}");
	struct docker_info info;

	answer_info(json, "runsc", &info);
	assert_true(info.memory && !info.swap && info.cpu && info.pids);
	assert_true(info.seccomp && info.rootless && !info.userns);
	assert_true(info.has_nvidia && info.has_cdi && !info.has_runtime);
	assert_int_equal(info.cgroups, 2);
	answer_info(json, NULL, &info);
	assert_true(info.has_runtime);
	answer_info(empty, "runc", &info);
	assert_true(!info.memory && !info.seccomp && !info.has_runtime);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(version_is_negotiated),
		TEST(version_number_is_parsed),
		TEST(container_needs_an_id_that_is_a_word),
		TEST(pull_lines_add_up),
		TEST(info_names_the_limits_of_the_daemon),
	};

	return RUN_TESTS("answers", tests);
}
