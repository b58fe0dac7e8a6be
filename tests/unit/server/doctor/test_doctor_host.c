/* Settings that forbid user namespaces, containers, and the state directory. */
#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "server/doctor/internal.h"
#include "server/options/options.h"
#include "unit/refuse.h"
#include "unit/scratch.h"

static const struct options none;

/* Examines user namespaces where unshare() is refused. /proc/sys/kernel is replaced by the
 * directory `settings`, if that is given. */
static struct check check_refused_unshare(const char *settings)
{
	struct check *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct trial trial = { 0 };
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
		isolation_try_steps(&trial);
		isolation_user_namespaces(&trial, shared);
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

static void read_mounts(char *out, size_t size)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	ssize_t len = 0, n;

	while ((n = read(fd, out + len, size - 1 - (size_t)len)) > 0)
		len += n;
	out[len] = '\0';
	(void)close(fd);
}

static void apparmor_fix_is_a_profile_for_this_program(void **state)
{
	char self[200] = "", line[300];
	struct check check;

	scratch_write("apparmor_restrict_unprivileged_userns", "1\n");
	check = check_refused_unshare(scratch_path);
	assert_string_equal(check.detail, "AppArmor restricts unprivileged user namespaces");
	assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
	(void)snprintf(line, sizeof line, "\n    'profile belljar %s flags=(unconfined) {' \\\n",
	               self);
	assert_non_null(strstr(check.fix, line));
	assert_non_null(strstr(check.fix, "\n  sudo apparmor_parser -r /etc/apparmor.d/belljar\n"));
}

static void setting_that_forbids_user_namespaces_is_named_first(void **state)
{
	struct check check;

	scratch_write("apparmor_restrict_unprivileged_userns", "1\n");
	scratch_write("unprivileged_userns_clone", "0\n");
	check = check_refused_unshare(scratch_path);
	assert_string_equal(check.detail, "kernel.unprivileged_userns_clone is 0");
	assert_non_null(strstr(check.fix, "\n  sudo sysctl -w kernel.unprivileged_userns_clone=1"));
}

static void system_call_filter_is_named(void **state)
{
	struct check check;

	check = check_refused_unshare(NULL);
	assert_string_equal(check.detail, "tried: unshare: Operation not permitted");
	assert_memory_equal(check.fix, "this process runs under a system call filter", 44);
}

/* The steps mount file systems: they must not do that in the mount namespace of the host. The child
 * has a mount namespace of its own, so that a failure of this test does no harm. */
static void refused_unshare_leaves_the_mounts_alone(void **state)
{
	char before[16384] = "", after[sizeof before] = "";
	struct trial trial = { 0 };
	int status = -1;
	pid_t child;

	child = fork();
	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		refuse_call(SYS_unshare, EPERM);
		read_mounts(before, sizeof before);
		isolation_try_steps(&trial);
		read_mounts(after, sizeof after);
		_exit(before[0] != '\0' && strcmp(before, after) == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP_TEST("no mount namespace can be made here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void pod_is_recognized_by_its_environment(void **state)
{
	struct check check = { 0 };

	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
	probe_host(&none, &check);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(check.status, CHECK_WEAKER);
	assert_string_equal(check.detail, "in a pod of Kubernetes: others share this kernel");
}

static void check_state_dir(const char *dir, enum check_status status, const char *detail)
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

static void state_directory_may_be_missing(void **state)
{
	check_state_dir("a/b", CHECK_ON, "a/b");
	scratch_write("a", "a file");
	check_state_dir("a/b", CHECK_OFF, "a/b: Not a directory");
	check_state_dir("a", CHECK_OFF, "a: not a directory");
}

static void unusable_state_directory_is_off(void **state)
{
	check_state_dir("/proc/none/such", CHECK_OFF,
	                "/proc/none/such: no files can be created there");
	assert_int_equal(mkdir("open", 0700), 0);
	assert_int_equal(chmod("open", 0777), 0);
	check_state_dir("open", CHECK_OFF, "open: others may write to it");
	assert_int_equal(mkdir("roots", 0755), 0);
	if (geteuid() != 0 || scratch_drop_root() < 0)
		return;
	check_state_dir("roots", CHECK_OFF, "roots: it belongs to user 0");
	check_state_dir("roots/below", CHECK_OFF, "roots/below: Permission denied");
	scratch_regain_root();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(apparmor_fix_is_a_profile_for_this_program),
		IN_SCRATCH(setting_that_forbids_user_namespaces_is_named_first),
		TEST(system_call_filter_is_named),
		TEST(refused_unshare_leaves_the_mounts_alone),
		TEST(pod_is_recognized_by_its_environment),
		IN_SCRATCH(state_directory_may_be_missing),
		IN_SCRATCH(unusable_state_directory_is_off),
	};

	return RUN_TESTS("server/doctor_host", tests);
}
