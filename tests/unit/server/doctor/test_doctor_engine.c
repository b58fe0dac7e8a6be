/* How the doctor reads the engine's report, and what it requires. */
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/native/spawner/internal.h"
#include "server/doctor/doctor.h"
#include "server/doctor/internal.h"
#include "server/options/options.h"
#include "unit/test.h"

enum {
	ALL = CGROUP_HAS_MEMORY | CGROUP_HAS_SWAP | CGROUP_HAS_CPU | CGROUP_HAS_PIDS,
};

static void report_of_the_engine_is_read(void **state)
{
	struct trial trial = { .is_ready = true };
	struct check check = { .name = "ids" };
	struct engine_layer *layer = report_add(&trial.report, "ids");

	layer_set(layer, LAYER_WEAKER, "one id");
	layer_fix(layer, "use two");
	report_layer(&trial, &check);
	assert_int_equal(check.status, CHECK_WEAKER);
	assert_string_equal(check.detail, "one id");
	assert_string_equal(check.fix, "use two");
	check = (struct check){ .name = "disk" };
	report_layer(&trial, &check);
	assert_int_equal(check.status, CHECK_OFF);
	assert_string_equal(check.detail, "the engine of this server has no such layer");
	trial.is_ready = false;
	report_layer(&trial, &check);
	assert_string_equal(check.detail, "the engine does not start");
	assert_string_equal(check.fix, "see 'sandbox'");
}

static void engine_without_a_working_sandbox_is_off(void **state)
{
	struct trial trial = { .is_ready = true, .why = { .msg = "no room" } };
	struct check check = { 0 };

	report_sandbox(&trial, &check);
	assert_int_equal(check.status, CHECK_OFF);
	assert_string_equal(check.detail, "tried: no room");
	trial.has_run = true;
	trial.ready_ms = 5;
	trial.run_ms = 7;
	check = (struct check){ 0 };
	report_sandbox(&trial, &check);
	assert_int_equal(check.status, CHECK_ON);
	assert_string_equal(check.detail, "tried: engine ready in 5 ms, 'true' ran in 7 ms");
}

static void unknown_layer_cannot_be_required(void **state)
{
	static const char *const good[] = { NULL, "cgroups", "cgroups,ids", " cgroups , ids " };
	static const struct {
		const char *list, *start;
	} bad[] = {
		{ "cgrops", "require: no layer is called 'cgrops' (did you mean cgroups?); there "
		            "are kernel, host, user-namespaces, " },
		{ "", "require: no layer is called ''; there are kernel" },
		{ "ids,", "require: no layer is called ''; there are kernel" },
		{ "ids,\x1b", "require: no layer is called '\\x1b'; there are kernel" },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		CHECK_OK(doctor_check_names(good[i], &err), err);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct options options = { .require = bad[i].list };

		assert_int_equal(doctor_check_names(bad[i].list, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
		assert_memory_equal(err.msg, bad[i].start, strlen(bad[i].start));
		assert_int_equal(doctor_require(&options, DOCTOR_ENGINE_TRIED, &err), -1);
		assert_int_equal(err.kind, ERR_INVALID);
	}
	/* The message has room for the names of all layers. */
	assert_non_null(strstr(err.msg, ", configuration"));
}

static void missing_required_layer_is_refused(void **state)
{
	const struct spawner_report nothing = { .mode = USERNS_ROOT,
		                                .cgroups_why = "--no-cgroups" };
	const struct spawner_report all = { .cgroups = CGROUP_V2,
		                            .cgroup_limits = ALL,
		                            .disk = DISK_QUOTA };
	static struct engine_report none, full;
	struct error err;

	spawner_report_layers(&nothing, &none);
	spawner_report_layers(&all, &full);

	CHECK_OK(doctor_require_engine(NULL, &none, &err), err);
	CHECK_OK(doctor_require_engine("ids,seccomp,kernel", &none, &err), err);
	CHECK_OK(doctor_require_engine("cgroups,memory,cpu,disk", &full, &err), err);
	CHECK_ERROR(doctor_require_engine("cgroups", &none, &err), err, ERR_UNSUPPORTED,
	            "required layer 'cgroups' is off: none available: --no-cgroups; what helps: "
	            "start belljar without --no-cgroups");
	CHECK_ERROR(doctor_require_engine("swap,ids,cpu", &none, &err), err, ERR_UNSUPPORTED,
	            "required layer 'swap' is off: not limited (and 1 more); what helps: see "
	            "'cgroups'");
}

static void long_fix_is_not_cut_off(void **state)
{
	struct check check = { .name = "x", .required = true, .status = CHECK_WEAKER };
	struct error err;

	(void)snprintf(check.detail, sizeof check.detail, "found");
	(void)snprintf(check.fix, sizeof check.fix, "with:\n  two lines");
	CHECK_ERROR(doctor_check_required(&check, 1, &err), err, ERR_UNSUPPORTED,
	            "required layer 'x' is weaker: found; what helps: see belljar doctor");
	memset(check.fix, 'y', 600);
	check.fix[600] = '\0';
	CHECK_ERROR(doctor_check_required(&check, 1, &err), err, ERR_UNSUPPORTED,
	            "required layer 'x' is weaker: found; what helps: see belljar doctor");
	check.required = false;
	CHECK_OK(doctor_check_required(&check, 1, &err), err);
}

static void vulnerable_kernel_is_recognized(void **state)
{
	static const struct {
		const char *release, *built;
		bool has;
	} cases[] = {
		{ "6.12.86", "", true },
		{ "6.12.87+deb13-amd64", "", false },
		{ "6.6.137", "#1 SMP 2027", true },
		{ "6.18.29", "", false },
		{ "7.0.5-arch1", "", true },
		{ "7.1.0", "#1 SMP Thu Jan 1 00:00:00 UTC 2025", false },
		/* Versions that do not decide it: the build year does. */
		{ "6.8.0-51-generic", "#52-Ubuntu SMP Thu Dec  5 13:09:44 UTC 2024", true },
		{ "6.1.0-38-amd64", "#1 SMP Debian 6.1.147-1 (2025-08-02)", true },
		{ "6.1.0-60-amd64", "#1 SMP Debian 6.1.200-1 (2026-08-02)", false },
		{ "6.8.0-2025-x", "#1 SMP", false },
		{ "5.15.0", "#20 SMP 20251", false },
		{ "", "", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (probe_kernel_is_vulnerable(cases[i].release, cases[i].built) != cases[i].has)
			fail_msg("%s", cases[i].release);
}

/* --- moving out of the way in the cgroup --- */

#define UNIFIED "/sys/fs/cgroup/unified"

static void write_line(const char *group, const char *file, const char *text)
{
	char path[400];
	FILE *out;

	(void)snprintf(path, sizeof path, "%s/%s", group, file);
	out = fopen(path, "w");
	if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0)
		_exit(90);
}

static const char *read_own_group(void)
{
	static char line[400];
	FILE *in = fopen("/proc/self/cgroup", "r");

	while (in != NULL && fgets(line, sizeof line, in) != NULL)
		if (strncmp(line, "0::", 3) == 0)
			break;
	if (in != NULL)
		(void)fclose(in);
	line[strcspn(line, "\n")] = '\0';
	return line + 3;
}

/* Runs in a process that is alone in `group`; its parent checks the exit status. */
NORETURN static void move_aside(const char *group, const char *name)
{
	static struct cgroup_move move;
	char want[200];
	int status = 1;
	pid_t child;

	write_line(group, "cgroup.procs", "0");
	cgroup_move_plan(&move, UNIFIED);
	if (strcmp(move.group, group) != 0)
		_exit(91);
	child = fork();
	if (child == 0) {
		cgroup_move_parent(&move, getppid());
		_exit(strcmp(read_own_group(), name) == 0 ? 0 : 92);
	}
	(void)snprintf(want, sizeof want, "%s/belljar-doctor-%d", name, getpid());
	if (waitpid(child, &status, 0) != child || status != 0)
		_exit(93);
	if (strcmp(read_own_group(), want) != 0)
		_exit(94);
	cgroup_move_back(&move);
	_exit(strcmp(read_own_group(), name) == 0 && access(move.aside, F_OK) < 0 ? 0 : 95);
}

static void doctor_moves_out_of_its_cgroup_for_the_trial(void **state)
{
	char group[160], name[80];
	int status = -1;
	pid_t child;

	(void)snprintf(name, sizeof name, "/belljar-test-%d", getpid());
	(void)snprintf(group, sizeof group, UNIFIED "%s", name);
	if (mkdir(group, 0755) < 0)
		SKIP_TEST("no cgroup can be made at " UNIFIED);
	child = fork();
	if (child == 0)
		move_aside(group, name);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(rmdir(group), 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Runs with a second process in the group. */
NORETURN static void plan_with_company(const char *group)
{
	static struct cgroup_move move;
	pid_t child;

	write_line(group, "cgroup.procs", "0");
	child = fork();
	if (child == 0)
		for (;;)
			(void)pause();
	cgroup_move_plan(&move, UNIFIED);
	(void)kill(child, SIGKILL);
	(void)waitpid(child, NULL, 0);
	_exit(move.group[0] == '\0' ? 0 : 96);
}

static void doctor_stays_if_the_cgroup_has_other_processes(void **state)
{
	char group[160];
	int status = -1;
	pid_t child;

	(void)snprintf(group, sizeof group, UNIFIED "/belljar-test-%d", getpid());
	if (mkdir(group, 0755) < 0)
		SKIP_TEST("no cgroup can be made at " UNIFIED);
	child = fork();
	if (child == 0)
		plan_with_company(group);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(rmdir(group), 0);
	assert_int_equal(status, 0);
}

static void doctor_stays_without_cgroup_version_2(void **state)
{
	static struct cgroup_move move;

	cgroup_move_plan(&move, "/nonexistent");
	assert_string_equal(move.group, "");
	cgroup_move_plan(&move, "/tmp");
	assert_string_equal(move.group, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(report_of_the_engine_is_read),
		TEST(engine_without_a_working_sandbox_is_off),
		TEST(unknown_layer_cannot_be_required),
		TEST(missing_required_layer_is_refused),
		TEST(long_fix_is_not_cut_off),
		TEST(vulnerable_kernel_is_recognized),
		TEST(doctor_moves_out_of_its_cgroup_for_the_trial),
		TEST(doctor_stays_if_the_cgroup_has_other_processes),
		TEST(doctor_stays_without_cgroup_version_2),
	};

	return RUN_TESTS("server/doctor_engine", tests);
}
