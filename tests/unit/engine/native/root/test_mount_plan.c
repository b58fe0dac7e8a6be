/* The mount plan of a sandbox: which mounts it has, in which order, and which it never has. */
#include "unit/test.h"

#include <linux/mount.h>

#include "engine/native/root/root.h"

static const struct skeleton merged_usr = { .program_dirs = { NULL } };
static const struct base_tree single_mount = { .usr_is_single_mount = true };
static const struct kernel_shares shares = { .inotify_instances = 16, .inotify_watches = 2048 };
static struct mount_plan plan;

static const struct mount_step *find_step(const char *target)
{
	for (size_t i = 0; i < plan.count; i++)
		if (strcmp(plan.steps[i].target, target) == 0)
			return &plan.steps[i];
	return NULL;
}

static void make_plan(enum userns_mode mode, const struct base_tree *tree, const struct cdi *gpus,
                      const struct spec *spec)
{
	struct error err;

	CHECK_OK(mount_plan_make(mode, tree, &merged_usr, &shares, gpus, spec, &plan, &err), err);
}

static void first_step_is_the_root_and_no_option_names_the_sandbox(void **state)
{
	struct spec spec = spec_default();

	spec_new_id(spec.id);
	make_plan(USERNS_ROOT, &single_mount, NULL, &spec);
	assert_int_equal(plan.steps[0].kind, STEP_MOUNT);
	assert_string_equal(plan.steps[0].target, "");
	assert_string_equal(plan.steps[0].source, "overlay");
	for (size_t i = 0; i < plan.count; i++) {
		const struct mount_step *step = &plan.steps[i];

		assert_true(step->target[0] != '/');
		assert_null(strstr(step->target, ".."));
		if (step->options != NULL)
			assert_null(strstr(step->options, spec.id));
	}
}

static void every_mount_is_nosuid_and_programs_are_read_only(void **state)
{
	struct spec spec = spec_default();

	make_plan(USERNS_MAPPED, &single_mount, NULL, &spec);
	for (size_t i = 0; i < plan.count; i++)
		if (plan.steps[i].kind == STEP_MOUNT)
			assert_true((plan.steps[i].attrs & MOUNT_ATTR_NOSUID) != 0);
	assert_true((find_step("usr")->attrs & MOUNT_ATTR_RDONLY) != 0);
	assert_true((find_step("proc")->attrs & MOUNT_ATTR_NOEXEC) != 0);
	assert_non_null(strstr(plan.steps[0].options, "userxattr"));
	assert_null(find_step("sys"));
}

/* A file of /proc/sys cannot be opened for writing once it is read-only. */
static void namespace_limits_are_written_before_proc_is_read_only(void **state)
{
	struct spec spec = spec_default();
	size_t proc = 0, user = 0, mnt = 0, closed = 0;

	make_plan(USERNS_ROOT, &single_mount, NULL, &spec);
	for (size_t i = 0; i < plan.count; i++) {
		const char *target = plan.steps[i].target;

		if (strcmp(target, "proc") == 0)
			proc = i;
		else if (strcmp(target, "proc/sys/user/max_user_namespaces") == 0)
			user = i;
		else if (strcmp(target, "proc/sys/user/max_mnt_namespaces") == 0)
			mnt = i;
		else if (strcmp(target, "proc/sys") == 0)
			closed = i;
	}
	assert_true(0 < proc && proc < user && user < mnt && mnt < closed);
}

static void proc_hides_the_agent_unless_there_is_a_single_id(void **state)
{
	struct spec spec = spec_default();

	make_plan(USERNS_ROOT, &single_mount, NULL, &spec);
	assert_non_null(strstr(find_step("proc")->options, "hidepid=invisible"));
	make_plan(USERNS_SINGLE_ID, &single_mount, NULL, &spec);
	assert_null(find_step("proc")->options);
}

static void host_directory_is_mounted_through_a_read_only_overlay(void **state)
{
	struct spec spec = spec_default();

	spec.mount_count = 1;
	spec.mounts[0].source = 3;
	(void)snprintf(spec.mounts[0].target, sizeof spec.mounts[0].target, "/tools");
	make_plan(USERNS_ROOT, &single_mount, NULL, &spec);
	assert_string_equal(find_step("tools")->source, "overlay");
	assert_non_null(strstr(find_step("tools")->options, "lowerdir=/mounts/3:/empty"));
	assert_true((find_step("tools")->attrs & MOUNT_ATTR_RDONLY) != 0);
}

static void usr_with_mounts_below_is_bound_recursively(void **state)
{
	const struct base_tree tree = { .usr_is_single_mount = false };
	struct spec spec = spec_default();

	make_plan(USERNS_SINGLE_ID, &tree, NULL, &spec);
	assert_int_equal(find_step("usr")->kind, STEP_BIND);
	assert_true(find_step("usr")->recursive);
	assert_true((find_step("usr")->attrs & MOUNT_ATTR_RDONLY) != 0);
}

static void plan_has_the_chosen_processors_and_no_other(void **state)
{
	static struct cdi_node nodes[2] = { { .path = "/dev/zero0" }, { .path = "/dev/shared" } };
	static struct cdi_node other[2] = { { .path = "/dev/zero1" }, { .path = "/dev/shared" } };
	static struct cdi_mount files[2] = { { "/usr/lib/libgpu.so", "/usr/lib/libgpu.so" },
		                             { "/opt/x", "/opt/gpu/x" } };
	struct base_tree tree = { .usr_is_single_mount = true, .gpus = 3 };
	struct spec spec = spec_default();
	static struct cdi gpus = { .count = 2 };
	unsigned shared = 0;
	struct error err;

	gpus.devices[0] = (struct cdi_device){
		.nodes = nodes, .node_count = 2, .mounts = files, .mount_count = 2
	};
	gpus.devices[1] = (struct cdi_device){ .nodes = other, .node_count = 2 };
	make_plan(USERNS_ROOT, &tree, &gpus, &spec);
	assert_null(find_step("dev/zero0"));
	spec.gpus = 1;
	make_plan(USERNS_ROOT, &tree, &gpus, &spec);
	assert_string_equal(find_step("dev/zero0")->source, "/gpu/0/0");
	assert_string_equal(find_step("opt/gpu/x")->source, "/gpu/0/f1");
	assert_null(find_step("usr/lib/libgpu.so"));
	assert_null(find_step("dev/zero1"));
	spec.gpus = 3;
	make_plan(USERNS_ROOT, &tree, &gpus, &spec);
	for (size_t i = 0; i < plan.count; i++)
		shared += strcmp(plan.steps[i].target, "dev/shared") == 0;
	assert_int_equal(shared, 1);
	tree.gpus = 1;
	CHECK_ERROR(mount_plan_make(USERNS_ROOT, &tree, &merged_usr, &shares, &gpus, &spec, &plan,
	                            &err),
	            err, ERR_NOT_FOUND,
	            "gpus: not all devices of the set 0x3 can be used on this machine");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(first_step_is_the_root_and_no_option_names_the_sandbox),
		TEST(every_mount_is_nosuid_and_programs_are_read_only),
		TEST(namespace_limits_are_written_before_proc_is_read_only),
		TEST(proc_hides_the_agent_unless_there_is_a_single_id),
		TEST(host_directory_is_mounted_through_a_read_only_overlay),
		TEST(usr_with_mounts_below_is_bound_recursively),
		TEST(plan_has_the_chosen_processors_and_no_other),
	};

	return RUN_TESTS("engine/mount_plan", tests);
}
