#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/clock.h"
#include "engine/agent_image.h"
#include "server/doctor/doctor.h"
#include "server/doctor/probe.h"
#include "server/doctor/probe_child.h"
#include "server/options/options.h"
#include "unit/refuse.h"
#include "unit/scratch.h"

static const struct options none;

/* The state directory is the test's own; as root the engine's server is somebody else, who must
 * get there. */
static struct options here(void)
{
	static char state[100];

	(void)snprintf(state, sizeof state, "%s/state", scratch_path);
	assert_int_equal(chmod(scratch_path, 0711), 0);
	return (struct options){ .state_dir = state };
}

static const struct check *find(const struct check *checks, const char *name)
{
	while (strcmp(checks->name, name) != 0)
		checks++;
	return checks;
}

static void the_checks_come_in_their_order_and_are_complete(void **state)
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
		"agent",
		"sandbox",
		"ids",
		"groups",
		"programs",
		"cgroups",
		"memory",
		"swap",
		"cpu",
		"processes",
		"disk",
		"hardening",
		"mounts",
		"interpreters",
		"docker",
		"configuration",
	};
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = here();
	struct error err;
	size_t count = 0;

	(void)state;
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
	if (find(checks, "user-namespaces")->status == CHECK_ON) {
		assert_string_equal(find(checks, "sandbox")->fix, "");
		assert_memory_equal(find(checks, "sandbox")->detail, "tried: engine ready in ", 23);
	}
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void an_engine_that_cannot_start_is_told_once(void **state)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = here();
	struct error err;
	size_t count = 0;

	(void)state;
	scratch_write("state", "not a directory");
	CHECK_OK(doctor_examine(&options, checks, &count, &err), err);
	assert_int_equal(find(checks, "sandbox")->status, CHECK_OFF);
	assert_non_null(strstr(find(checks, "sandbox")->detail, "is not a directory"));
	assert_int_equal(find(checks, "cgroups")->status, CHECK_OFF);
	assert_string_equal(find(checks, "cgroups")->detail, "the engine does not start");
	assert_string_equal(find(checks, "cgroups")->fix, "see 'sandbox'");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Root's own id is never given to a sandbox: the spawner starts, and says so. */
static void what_the_spawner_refuses_is_told(void **state)
{
	struct check checks[DOCTOR_CHECKS_MAX];
	struct options options = here();
	struct error err;
	size_t count = 0;

	(void)state;
	if (geteuid() != 0)
		SKIP_TEST("only for root");
	options.one_id = true;
	CHECK_OK(doctor_examine(&options, checks, &count, &err), err);
	assert_memory_equal(find(checks, "sandbox")->detail,
	                    "tried: the engine does not start: --one-id is for ordinary users", 64);
	assert_string_equal(find(checks, "ids")->detail, "the engine does not start");
}

static void the_configuration_is_checked(void **state)
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

	(void)state;
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

static void a_configuration_that_cannot_be_opened_gets_its_own_fix(void **state)
{
	const struct options missing = { .config = "missing" }, closed = { .config = "closed" };
	struct check check = { 0 };

	(void)state;
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

/* Not those that only the caller has. */
static void interpreters_are_those_of_sandboxes(void **state)
{
	struct check check = { 0 };
	char *path = strdup(getenv("PATH"));

	(void)state;
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

	(void)state;
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

static void the_socket_of_docker_is_tried(void **state)
{
	char path[128], host[160], detail[200];
	int fd;

	(void)state;
	(void)snprintf(path, sizeof path, "%s/docker.sock", scratch_path);
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
		SKIP_TEST("there is a Docker here");
	assert_int_equal(setenv("XDG_RUNTIME_DIR", scratch_path, 1), 0);
	assert_int_equal(mkdir("podman", 0700), 0);
	(void)snprintf(path, sizeof path, "%s/podman/podman.sock", scratch_path);
	fd = listen_at(path);
	probe_containers(&none, &check);
	assert_int_equal(check.status, CHECK_ON);
	(void)close(fd);
}

static void the_agent_is_started_and_says_hello(void **state)
{
	struct check check = { 0 };
	char detail[100];

	(void)state;
	(void)snprintf(detail, sizeof detail, "%zu KiB, starts from a sealed memfd, protocol 1",
	               (agent_image().len + 1023) / 1024);
	probe_agent(&none, &check);
	assert_string_equal(check.detail, detail);
	assert_int_equal(check.status, CHECK_ON);
	assert_string_equal(check.fix, "");
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* Runs the probe where a system call fails. */
static void check_agent_without(long number, int failure, enum check_status status,
                                const char *detail, const char *fix)
{
	struct check check = { 0 }, *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	                                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ended = -1;
	pid_t child;

	assert_true(shared != MAP_FAILED);
	child = fork();
	if (child == 0) {
		refuse_call(number, failure);
		probe_agent(&none, &check);
		*shared = check;
		_exit(0);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	assert_int_equal(ended, 0);
	assert_non_null(strstr(shared->detail, detail));
	assert_string_equal(shared->fix, fix);
	assert_int_equal(shared->status, status);
	assert_int_equal(munmap(shared, sizeof *shared), 0);
}

static void an_agent_that_cannot_start_as_wished_gets_a_fix(void **state)
{
	static const char let[] =
	        "let belljar execute what it carries: sysctl -w vm.memfd_noexec=1, or a "
	        "$XDG_RUNTIME_DIR or /tmp that is not mounted noexec; see also the audit "
	        "log of SELinux or AppArmor";

	(void)state;
	check_agent_without(SYS_memfd_create, EACCES, CHECK_WEAKER,
	                    "KiB, starts from an unlinked file, protocol 1",
	                    "allow programs in memory: sysctl -w vm.memfd_noexec=1");
	check_agent_without(SYS_execveat, EACCES, CHECK_OFF,
	                    "KiB, does not start: it cannot be executed: Permission denied", let);
	check_agent_without(SYS_close_range, ENOSYS, CHECK_OFF,
	                    "KiB, does not start: it cannot be executed: Function not implemented",
	                    "update the kernel to 5.13 or newer");
	check_agent_without(SYS_socketpair, EMFILE, CHECK_OFF,
	                    "KiB, does not start: create a socket pair: Too many open files",
	                    "free processes, descriptors or memory and ask again");
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
		IN_SCRATCH(the_checks_come_in_their_order_and_are_complete),
		IN_SCRATCH(an_engine_that_cannot_start_is_told_once),
		IN_SCRATCH(what_the_spawner_refuses_is_told),
		IN_SCRATCH(the_configuration_is_checked),
		IN_SCRATCH(a_configuration_that_cannot_be_opened_gets_its_own_fix),
		IN_SCRATCH(interpreters_are_those_of_sandboxes),
		IN_SCRATCH(missing_interpreters_are_named),
		IN_SCRATCH(the_socket_of_docker_is_tried),
		IN_SCRATCH(a_socket_below_the_runtime_directory_is_found),
		TEST(the_agent_is_started_and_says_hello),
		TEST(an_agent_that_cannot_start_as_wished_gets_a_fix),
		TEST(a_child_hands_its_record_over),
		TEST(a_child_that_dies_is_an_error),
		TEST(a_child_that_hangs_is_killed),
		TEST(lines_of_the_kernel_are_read_without_their_end),
	};

	return RUN_TESTS("server/doctor", tests);
}
