#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "server/doctor.h"
#include "server/options.h"
#include "server/probe.h"
#include "server/probe_child.h"
#include "unit/server/place.h"

static const struct options none;

static void the_report_has_the_promised_shape(void **state)
{
	static const char *const names[] = {
		"kernel",       "user namespaces",  "namespaces",    "cgroups",
		"seccomp",      "landlock",         "overlayfs",     "subordinate ids",
		"interpreters", "docker or podman", "configuration",
	};
	AUTO_JSON json_t *report = doctor_report(&none);
	const json_t *checks = json_object_get(report, "checks"), *check;
	size_t i;

	(void)state;
	assert_int_equal(json_object_size(report), 1);
	assert_int_equal(json_array_size(checks), ARRAY_LEN(names));
	json_array_foreach(checks, i, check)
	{
		const char *status = json_text(check, "status");
		bool on = strcmp(status, "on") == 0;

		assert_string_equal(json_text(check, "name"), names[i]);
		assert_true(on || strcmp(status, "weaker") == 0 || strcmp(status, "off") == 0);
		assert_true(json_text(check, "detail")[0] != '\0');
		assert_int_equal(on, !json_has(check, "fix"));
		assert_int_equal(json_object_size(check), on ? 3 : 4);
		assert_non_null(doctor_purpose(names[i]));
	}
	assert_null(doctor_purpose("nothing"));
}

static void no_child_is_left_behind(void **state)
{
	AUTO_JSON json_t *report = doctor_report(&none);

	(void)state;
	assert_non_null(report);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void the_configuration_is_checked(void **state)
{
	static const struct {
		const char *text, *status, *detail;
	} cases[] = {
		{ "{}", "on", "c.json is valid" },
		{ "{\"max_lin\":1}", "off",
		  "configuration 'c.json': unknown key 'max_lin'; did you mean 'max_line'?" },
	};
	const struct options options = { .config = "c.json" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct check check = { 0 };

		place_write("c.json", cases[i].text);
		probe_configuration(&options, &check);
		assert_string_equal(check.detail, cases[i].detail);
		assert_int_equal(check.status == CHECK_ON, strcmp(cases[i].status, "on") == 0);
	}
}

static void missing_interpreters_are_named(void **state)
{
	struct check check = { 0 };
	char *path = strdup(getenv("PATH"));

	(void)state;
	assert_int_equal(setenv("PATH", "relative:", 1), 0);
	probe_interpreters(&none, &check);
	assert_int_equal(check.status, CHECK_OFF);
	assert_string_equal(check.detail, "missing: python3 nodejs bash");
	assert_string_equal(check.fix, "apt install python3 nodejs bash");

	place_write("bash", "#!");
	assert_int_equal(chmod("bash", 0755), 0);
	place_write("node", "not executable");
	assert_int_equal(setenv("PATH", place_path, 1), 0);
	check = (struct check){ 0 };
	probe_interpreters(&none, &check);
	assert_int_equal(check.status, CHECK_WEAKER);
	assert_memory_equal(check.detail, "missing: python3 nodejs; found: /tmp/", 36);
	assert_int_equal(setenv("PATH", path, 1), 0);
	free(path);
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memcpy(address.sun_path, path, strlen(path));
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void check_docker_host(const char *host, enum check_status status, const char *detail)
{
	struct check check = { 0 };

	assert_int_equal(setenv("DOCKER_HOST", host, 1), 0);
	probe_containers(&none, &check);
	assert_string_equal(check.detail, detail);
	assert_int_equal(check.status, status);
	assert_int_equal(check.fix[0] == '\0', status == CHECK_ON);
	assert_int_equal(unsetenv("DOCKER_HOST"), 0);
}

static void the_socket_of_docker_is_tried(void **state)
{
	char path[128], host[160], detail[200];
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "%s/docker.sock", place_path);
	(void)snprintf(host, sizeof host, "unix://%s", path);
	check_docker_host(host, CHECK_OFF, "no socket of Docker or Podman");
	fd = listen_at(path);
	(void)snprintf(detail, sizeof detail, "%s answers", path);
	check_docker_host(host, CHECK_ON, detail);
	(void)close(fd);
	(void)snprintf(detail, sizeof detail, "%s: Connection refused", path);
	check_docker_host(host, CHECK_OFF, detail);
	check_docker_host("tcp://h:1\n", CHECK_WEAKER,
	                  "DOCKER_HOST is 'tcp://h:1\\n'; only unix:// is checked");
}

static void a_socket_below_the_runtime_directory_is_found(void **state)
{
	struct check check = { 0 };
	char path[128];
	int fd;

	(void)state;
	(void)unsetenv("DOCKER_HOST");
	if (access("/var/run/docker.sock", F_OK) == 0)
		skip();
	assert_int_equal(setenv("XDG_RUNTIME_DIR", place_path, 1), 0);
	assert_int_equal(mkdir("podman", 0700), 0);
	(void)snprintf(path, sizeof path, "%s/podman/podman.sock", place_path);
	fd = listen_at(path);
	probe_containers(&none, &check);
	assert_int_equal(check.status, CHECK_ON);
	(void)close(fd);
}

/* --- probe_child --- */

static void answer(void *record)
{
	*(int *)record = 42;
}

static void die(void *record)
{
	(void)record;
	(void)raise(SIGKILL);
}

static void hang(void *record)
{
	(void)record;
	for (;;)
		(void)pause();
}

static void a_child_hands_its_record_over(void **state)
{
	struct error err;
	int record = 0;

	(void)state;
	CHECK_OK(probe_child_run(answer, &record, sizeof record, &err), err);
	assert_int_equal(record, 42);
}

static void a_child_that_dies_is_an_error(void **state)
{
	struct error err;
	int record = 7;

	(void)state;
	CHECK_ERROR(probe_child_run(die, &record, sizeof record, &err), err, ERR_SYSTEM,
	            "the child ended without an answer");
	assert_int_equal(record, 7);
}

static void a_child_that_hangs_is_killed(void **state)
{
	uint64_t start = clock_now_ms();
	struct error err;
	int record = 7;

	(void)state;
	CHECK_ERROR(probe_child_run(hang, &record, sizeof record, &err), err, ERR_LIMIT,
	            "no answer within 5 seconds");
	assert_int_equal(record, 7);
	assert_in_range(clock_now_ms() - start, 4900, 8000);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void lines_of_the_kernel_are_read_without_their_end(void **state)
{
	char line[64];

	(void)state;
	assert_string_equal(probe_read_line("/nonexistent", line, sizeof line), "");
	assert_string_equal(probe_read_line("/proc/sys/kernel/ostype", line, sizeof line), "Linux");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(the_report_has_the_promised_shape),
		PLACED(no_child_is_left_behind),
		PLACED(the_configuration_is_checked),
		PLACED(missing_interpreters_are_named),
		PLACED(the_socket_of_docker_is_tried),
		PLACED(a_socket_below_the_runtime_directory_is_found),
		TEST(a_child_hands_its_record_over),
		TEST(a_child_that_dies_is_an_error),
		TEST(a_child_that_hangs_is_killed),
		TEST(lines_of_the_kernel_are_read_without_their_end),
	};

	return RUN_TESTS("server/doctor", tests);
}
