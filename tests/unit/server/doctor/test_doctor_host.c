/* What the doctor finds in the way, and around belljar. */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "server/doctor/probe.h"
#include "server/options/options.h"
#include "unit/refuse.h"
#include "unit/scratch.h"

static const struct options none;

/* Where the kernel's settings are those of a directory, and unshare() is refused. */
static struct check ask_where(const char *settings)
{
	struct check *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct check check;
	int ended = -1;
	pid_t child;

	assert_true(shared != MAP_FAILED);
	child = fork();
	if (child == 0) {
		if (settings != NULL &&
		    (unshare(CLONE_NEWNS) < 0 ||
		     mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		     mount(settings, "/proc/sys/kernel", NULL, MS_BIND, NULL) < 0))
			_exit(77);
		refuse_call(SYS_unshare, EPERM);
		probe_user_namespaces(&none, shared);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	if (WIFEXITED(ended) && WEXITSTATUS(ended) == 77)
		SKIP_TEST("the kernel's settings cannot be covered here");
	assert_int_equal(ended, 0);
	check = *shared;
	assert_int_equal(munmap(shared, sizeof *shared), 0);
	assert_int_equal(check.status, CHECK_OFF);
	return check;
}

static void apparmor_gets_a_ready_profile_for_this_program(void **state)
{
	char self[200] = "", line[300];
	struct check check;

	(void)state;
	scratch_write("apparmor_restrict_unprivileged_userns", "1\n");
	check = ask_where(scratch_path);
	assert_string_equal(check.detail, "AppArmor restricts unprivileged user namespaces");
	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	(void)snprintf(line, sizeof line, "\n    'profile belljar %s flags=(unconfined) {' \\\n",
	               self);
	assert_non_null(strstr(check.fix, line));
	assert_non_null(strstr(check.fix, "\n  sudo apparmor_parser -r /etc/apparmor.d/belljar\n"));
}

static void a_setting_that_forbids_them_is_blamed_first(void **state)
{
	struct check check;

	(void)state;
	scratch_write("apparmor_restrict_unprivileged_userns", "1\n");
	scratch_write("unprivileged_userns_clone", "0\n");
	check = ask_where(scratch_path);
	assert_string_equal(check.detail, "kernel.unprivileged_userns_clone is 0");
	assert_non_null(strstr(check.fix, "\n  sudo sysctl -w kernel.unprivileged_userns_clone=1"));
}

static void a_filter_around_us_is_named(void **state)
{
	struct check check;

	(void)state;
	check = ask_where(NULL);
	assert_string_equal(check.detail, "tried: unshare: Operation not permitted");
	assert_memory_equal(check.fix, "this process runs under a system call filter", 44);
}

static void a_pod_is_known_by_its_environment(void **state)
{
	struct check check = { 0 };

	(void)state;
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
	probe_host(&none, &check);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(check.status, CHECK_WEAKER);
	assert_string_equal(check.detail, "in a pod of Kubernetes: others share this kernel");
}

static void check_place(const char *dir, enum check_status status, const char *detail)
{
	const struct options options = { .state_dir = dir };
	struct check check = { 0 };
	char want[200];

	(void)snprintf(want, sizeof want, "%s%s%s", dir[0] == '/' ? "" : scratch_path,
	               dir[0] == '/' ? "" : "/", detail);
	probe_state_dir(&options, &check);
	assert_string_equal(check.detail, want);
	assert_int_equal(check.status, status);
}

static void the_state_directory_need_not_be_there_yet(void **state)
{
	(void)state;
	check_place("a/b", CHECK_ON, "a/b");
	scratch_write("a", "a file");
	check_place("a/b", CHECK_OFF, "a/b: Not a directory");
	check_place("a", CHECK_OFF, "a: not a directory");
}

static void a_state_directory_that_would_be_refused_is_not_on(void **state)
{
	(void)state;
	check_place("/proc/none/such", CHECK_OFF, "/proc/none/such: no files can be made there");
	assert_int_equal(mkdir("open", 0700), 0);
	assert_int_equal(chmod("open", 0777), 0);
	check_place("open", CHECK_OFF, "open: others may write to it");
	assert_int_equal(mkdir("roots", 0755), 0);
	if (geteuid() != 0 || scratch_drop_root() < 0)
		return;
	check_place("roots", CHECK_OFF, "roots: it belongs to user 0");
	check_place("roots/below", CHECK_OFF, "roots/below: Permission denied");
	scratch_regain_root();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(apparmor_gets_a_ready_profile_for_this_program),
		IN_SCRATCH(a_setting_that_forbids_them_is_blamed_first),
		TEST(a_filter_around_us_is_named),
		TEST(a_pod_is_known_by_its_environment),
		IN_SCRATCH(the_state_directory_need_not_be_there_yet),
		IN_SCRATCH(a_state_directory_that_would_be_refused_is_not_on),
	};

	return RUN_TESTS("server/doctor_host", tests);
}
