#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "engine/agent_image.h"
#include "server/doctor/doctor.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"
#include "unit/refuse.h"
#include "unit/scratch.h"

static const struct options none;

/* Options with a state directory of the test's own. As root, the trial's server runs under another
 * user id, which must be able to enter the directory. */
static struct options scratch_options(void)
{
	static char state[100];

	(void)snprintf(state, sizeof state, "%s/state", scratch_path);
	assert_int_equal(chmod(scratch_path, 0711), 0);
	return (struct options){ .state_dir = state };
}

static const struct check *find_check(const struct check *checks, const char *name)
{
	while (strcmp(checks->name, name) != 0)
		checks++;
	return checks;
}

static void report_has_all_layers_in_order(void **state)
{
	static const char *const names[] = {
		"kernel",
		"host",
		"user-namespaces",
		"namespaces",
		"network",
		"proc",
		"overlayfs",
		"state-dir",
		"seccomp",
		"landlock",
		"no-new-privileges",
		"confinement",
		"agent",
		"sandbox",
		"ids",
		"groups",
		"programs",
		"cgroups",
		"memory",
		"sockets",
		"locks",
		"swap",
		"cpu",
		"processes",
		"disk",
		"hardening",
		"kernel-tables",
		"mounts",
		"interpreters",
		"docker",
		"configuration",
	};
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = scratch_options();
	struct error err;
	size_t count = 0;

	options.require = "seccomp, landlock";
	CHECK_OK(doctor_examine(&options, checks, &count, &err), err);
	assert_int_equal(count, ARRAY_LEN(names));
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_string_equal(checks[i].name, names[i]);
		assert_true(checks[i].purpose[0] != '\0');
		assert_in_range(checks[i].status, CHECK_ON, CHECK_OFF);
		assert_true(checks[i].detail[0] != '\0');
		assert_int_equal(checks[i].status == CHECK_ON, checks[i].fix[0] == '\0');
		assert_int_equal(checks[i].required, i == 8 || i == 9);
	}
	if (find_check(checks, "user-namespaces")->status == CHECK_ON) {
		assert_string_equal(find_check(checks, "sandbox")->fix, "");
		assert_memory_equal(find_check(checks, "sandbox")->detail,
		                    "tried: engine ready in ", 23);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void engine_that_cannot_start_is_explained_once(void **state)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = scratch_options();
	struct error err;
	size_t count = 0;

	scratch_write("state", "not a directory");
	CHECK_OK(doctor_examine(&options, checks, &count, &err), err);
	assert_int_equal(find_check(checks, "sandbox")->status, CHECK_OFF);
	assert_non_null(strstr(find_check(checks, "sandbox")->detail, "is not a directory"));
	assert_int_equal(find_check(checks, "cgroups")->status, CHECK_OFF);
	assert_string_equal(find_check(checks, "cgroups")->detail, "the engine does not start");
	assert_string_equal(find_check(checks, "cgroups")->fix, "see 'sandbox'");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Root's own id is never given to a sandbox: the spawner starts, and refuses. */
static void refusal_of_the_spawner_is_reported(void **state)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = scratch_options();
	struct error err;
	size_t count = 0;

	if (geteuid() != 0)
		SKIP_TEST("only for root");
	options.one_id = true;
	CHECK_OK(doctor_examine(&options, checks, &count, &err), err);
	assert_memory_equal(find_check(checks, "sandbox")->detail,
	                    "tried: the engine does not start: --one-id is for ordinary users", 64);
	assert_string_equal(find_check(checks, "ids")->detail, "the engine does not start");
}

static void configuration_is_checked(void **state)
{
	static const struct {
		const char *text, *status, *detail, *fix;
	} cases[] = {
		{ "{}", "on", "c.json is valid", "" },
		{ "{\"max_lin\":1}", "off",
		  "'c.json': unknown key 'max_lin'; did you mean 'max_line'?",
		  "correct it: 'belljar help serve' lists the options" },
		{ "{\"require\":\"cgroup2\"}", "off", NULL,
		  "correct it: 'belljar help serve' lists the options" },
	};
	const struct options options = { .config = "c.json" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct check check = { 0 };

		scratch_write("c.json", cases[i].text);
		probe_configuration(&options, &check);
		if (cases[i].detail != NULL)
			assert_string_equal(check.detail, cases[i].detail);
		assert_int_equal(check.status == CHECK_ON, strcmp(cases[i].status, "on") == 0);
		assert_string_equal(check.fix, cases[i].fix);
	}
}

static void unreadable_configuration_gets_its_own_fix(void **state)
{
	const struct options missing = { .config = "missing" }, closed = { .config = "closed" };
	struct check check = { 0 };

	probe_configuration(&missing, &check);
	assert_string_equal(check.detail, "open 'missing': No such file or directory");
	assert_string_equal(check.fix, "create it, or name another with --config");
	scratch_write("closed", "{}");
	assert_int_equal(chmod("closed", 0), 0);
	if (scratch_drop_root() < 0)
		SKIP_TEST("root cannot become nobody here");
	check = (struct check){ 0 };
	probe_configuration(&closed, &check);
	scratch_regain_root();
	assert_string_equal(check.detail, "open 'closed': Permission denied");
	assert_string_equal(check.fix, "make it readable, or name another with --config");
}

/* Interpreters that only the caller's PATH has do not count. */
static void interpreters_are_searched_where_sandboxes_have_them(void **state)
{
	struct check check = { 0 };
	char *path = strdup(getenv("PATH"));

	scratch_write("python3", "#!");
	assert_int_equal(chmod("python3", 0755), 0);
	assert_int_equal(setenv("PATH", scratch_path, 1), 0);
	probe_interpreters(&none, &check);
	assert_null(strstr(check.detail, scratch_path));
	assert_non_null(strstr(check.detail, "/bin/bash"));
	assert_int_equal(setenv("PATH", path, 1), 0);
	free(path);
}

static void missing_interpreters_are_named(void **state)
{
	struct check check = { 0 };

	probe_interpreters_in("relative:", &check);
	assert_int_equal(check.status, CHECK_OFF);
	assert_string_equal(check.detail, "missing: python3 nodejs bash");
	assert_string_equal(check.fix, "apt install python3 nodejs bash");

	scratch_write("bash", "#!");
	assert_int_equal(chmod("bash", 0755), 0);
	scratch_write("node", "not executable");
	check = (struct check){ 0 };
	probe_interpreters_in(scratch_path, &check);
	assert_int_equal(check.status, CHECK_WEAKER);
	assert_memory_equal(check.detail, "missing: python3 nodejs; found: /tmp/", 36);
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

static void docker_socket_is_tried(void **state)
{
	char path[128], host[160], detail[200];
	int fd;

	(void)snprintf(path, sizeof path, "%s/docker.sock", scratch_path);
	(void)snprintf(host, sizeof host, "unix://%s", path);
	check_docker_host(host, CHECK_OFF, "no socket of Docker or Podman");
	fd = listen_at(path);
	(void)snprintf(detail, sizeof detail, "%s accepts connections", path);
	check_docker_host(host, CHECK_ON, detail);
	(void)close(fd);
	(void)snprintf(detail, sizeof detail, "%s: Connection refused", path);
	check_docker_host(host, CHECK_OFF, detail);
	check_docker_host("tcp://h:1\n", CHECK_WEAKER,
	                  "DOCKER_HOST is 'tcp://h:1\\n'; only unix:// is checked");
}

static void socket_below_the_runtime_directory_is_found(void **state)
{
	struct check check = { 0 };
	char path[128];
	int fd;

	(void)unsetenv("DOCKER_HOST");
	if (access("/var/run/docker.sock", F_OK) == 0)
		SKIP_TEST("there is a Docker here");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch_path, 1), 0);
	assert_int_equal(mkdir("podman", 0700), 0);
	(void)snprintf(path, sizeof path, "%s/podman/podman.sock", scratch_path);
	fd = listen_at(path);
	probe_containers(&none, &check);
	assert_int_equal(check.status, CHECK_ON);
	(void)close(fd);
}

static void agent_is_described(void **state)
{
	const struct trial trial = { .is_ready = true, .has_run = true };
	struct check check = { 0 };
	char detail[100];

	(void)snprintf(detail, sizeof detail, "%zu KiB, starts from a sealed memfd, protocol 2",
	               (agent_image(AGENT_IN_SANDBOX).len + 1023) / 1024);
	isolation_agent(&trial, &check);
	assert_string_equal(check.detail, detail);
	assert_int_equal(check.status, CHECK_ON);
	assert_string_equal(check.fix, "");
}

static void agent_without_memfd_is_weaker(void **state)
{
	const struct trial trial = { .is_ready = true, .has_run = true };
	struct check *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = -1;
	pid_t child;

	assert_true(shared != MAP_FAILED);
	child = fork();
	if (child == 0) {
		refuse_call(SYS_memfd_create, EACCES);
		isolation_agent(&trial, shared);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_non_null(strstr(shared->detail, "KiB, starts from an unlinked file, protocol 2"));
	assert_string_equal(shared->fix, "allow programs in memory: sysctl -w vm.memfd_noexec=1");
	assert_int_equal(shared->status, CHECK_WEAKER);
	assert_int_equal(munmap(shared, sizeof *shared), 0);
}

static void agent_that_cannot_be_executed_gets_a_fix(void **state)
{
	static const struct {
		struct error why;
		enum check_status status;
		const char *detail, *fix;
	} cases[] = {
		{ { ERR_SYSTEM, EACCES, "execute the agent: Permission denied" },
		  CHECK_OFF,
		  "KiB, does not start: execute the agent: Permission denied",
		  "let belljar execute its agent: sysctl -w vm.memfd_noexec=1, or a "
		  "$XDG_RUNTIME_DIR or /tmp that is not mounted noexec; see also the audit log of "
		  "SELinux or AppArmor" },
		{ { ERR_SYSTEM, ENOSYS, "execute the agent: Function not implemented" },
		  CHECK_OFF,
		  "KiB, does not start: execute the agent: Function not implemented",
		  "update the kernel to 5.13 or newer" },
		{ { ERR_SYSTEM, 0, "the agent did not say hello within 20 s" },
		  CHECK_OFF,
		  "KiB, does not start: the agent did not say hello within 20 s",
		  "build belljar again: make clean all" },
		{ { ERR_SYSTEM, ENOSPC, "make a directory: No space left on device" },
		  CHECK_ON,
		  "KiB, starts from a sealed memfd, protocol 2",
		  "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct trial trial = { .is_ready = true, .why = cases[i].why };
		struct check check = { 0 };

		isolation_agent(&trial, &check);
		assert_non_null(strstr(check.detail, cases[i].detail));
		assert_string_equal(check.fix, cases[i].fix);
		assert_int_equal(check.status, cases[i].status);
	}
}

/* --- probe_child --- */

static void write_answer(void *record)
{
	*(int *)record = 42;
}

static void kill_self(void *record)
{
	(void)record;
	(void)raise(SIGKILL);
}

static void wait_forever(void *record)
{
	(void)record;
	for (;;)
		(void)pause();
}

static void child_returns_its_record(void **state)
{
	struct error err;
	int record = 0;

	CHECK_OK(probe_child_run(write_answer, &record, sizeof record, PROBE_DEADLINE_MS, &err),
	         err);
	assert_int_equal(record, 42);
}

static void killed_child_is_an_error(void **state)
{
	struct error err;
	int record = 7;

	CHECK_ERROR(probe_child_run(kill_self, &record, sizeof record, PROBE_DEADLINE_MS, &err),
	            err, ERR_SYSTEM, "the child exited without an answer");
	assert_int_equal(record, 7);
}

static void hanging_child_is_killed(void **state)
{
	uint64_t start = clock_now_ms();
	struct error err;
	int record = 7;

	CHECK_ERROR(probe_child_run(wait_forever, &record, sizeof record, 1000, &err), err,
	            ERR_LIMIT, "no answer within 1 seconds");
	assert_int_equal(record, 7);
	assert_true(clock_now_ms() - start >= 900);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void line_is_read_without_its_newline(void **state)
{
	char line[64];

	assert_string_equal(probe_read_line("/nonexistent", line, sizeof line), "");
	assert_string_equal(probe_read_line("/proc/sys/kernel/ostype", line, sizeof line), "Linux");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(report_has_all_layers_in_order),
		IN_SCRATCH(engine_that_cannot_start_is_explained_once),
		IN_SCRATCH(refusal_of_the_spawner_is_reported),
		IN_SCRATCH(configuration_is_checked),
		IN_SCRATCH(unreadable_configuration_gets_its_own_fix),
		IN_SCRATCH(interpreters_are_searched_where_sandboxes_have_them),
		IN_SCRATCH(missing_interpreters_are_named),
		IN_SCRATCH(docker_socket_is_tried),
		IN_SCRATCH(socket_below_the_runtime_directory_is_found),
		TEST(agent_is_described),
		TEST(agent_without_memfd_is_weaker),
		TEST(agent_that_cannot_be_executed_gets_a_fix),
		TEST(child_returns_its_record),
		TEST(killed_child_is_an_error),
		TEST(hanging_child_is_killed),
		TEST(line_is_read_without_its_newline),
	};

	return RUN_TESTS("server/doctor", tests);
}
