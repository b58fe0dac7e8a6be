/* The plan of a root: what is in it, in which order, and what never is. */
#include "unit/test.h"

#include <linux/mount.h>

#include "engine/native/root/plan.h"

static const struct skeleton merged = { .over = { NULL } };
static struct plan plan;

static const struct plan_step *step_at(const char *target)
{
	for (size_t i = 0; i < plan.count; i++)
		if (strcmp(plan.steps[i].target, target) == 0)
			return &plan.steps[i];
	return NULL;
}

static void make(const struct home *home, const struct cdi *gpus, const struct spec *spec)
{
	struct error err;

	CHECK_OK(plan_make(home, &merged, gpus, spec, &plan, &err), err);
}

static void begins_with_the_root_and_names_nobody(void **state)
{
	const struct home home = { .mode = HOME_ROOT, .usr_is_whole = true };
	struct spec spec = spec_default();

	(void)state;
	spec_new_id(spec.id);
	make(&home, NULL, &spec);
	assert_int_equal(plan.steps[0].kind, PLAN_NEW);
	assert_string_equal(plan.steps[0].target, "");
	assert_string_equal(plan.steps[0].source, "overlay");
	for (size_t i = 0; i < plan.count; i++) {
		const struct plan_step *step = &plan.steps[i];

		assert_true(step->target[0] != '/');
		assert_null(strstr(step->target, ".."));
		if (step->options != NULL)
			assert_null(strstr(step->options, spec.id));
	}
}

static void mounts_nothing_that_gives_rights(void **state)
{
	const struct home home = { .mode = HOME_MAPPED, .usr_is_whole = true };
	struct spec spec = spec_default();

	(void)state;
	make(&home, NULL, &spec);
	for (size_t i = 0; i < plan.count; i++)
		if (plan.steps[i].kind == PLAN_NEW)
			assert_true((plan.steps[i].attrs & MOUNT_ATTR_NOSUID) != 0);
	assert_true((step_at("usr")->attrs & MOUNT_ATTR_RDONLY) != 0);
	assert_true((step_at("proc")->attrs & MOUNT_ATTR_NOEXEC) != 0);
	assert_non_null(strstr(plan.steps[0].options, "userxattr"));
	assert_null(step_at("sys"));
}

/* What is written to /proc/sys comes before it is read-only, in the list. */
static void forbids_namespaces_before_it_closes_proc(void **state)
{
	const struct home home = { .mode = HOME_ROOT, .usr_is_whole = true };
	struct spec spec = spec_default();
	size_t proc = 0, user = 0, mnt = 0, closed = 0;

	(void)state;
	make(&home, NULL, &spec);
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

static void hides_the_agent_where_there_are_two_ids(void **state)
{
	struct home home = { .mode = HOME_ROOT, .usr_is_whole = true };
	struct spec spec = spec_default();

	(void)state;
	make(&home, NULL, &spec);
	assert_non_null(strstr(step_at("proc")->options, "hidepid=invisible"));
	home.mode = HOME_ALONE;
	make(&home, NULL, &spec);
	assert_null(step_at("proc")->options);
}

static void shows_directories_through_an_overlay(void **state)
{
	const struct home home = { .mode = HOME_ROOT, .usr_is_whole = true };
	struct spec spec = spec_default();

	(void)state;
	spec.mount_count = 1;
	spec.mounts[0].source = 3;
	(void)snprintf(spec.mounts[0].target, sizeof spec.mounts[0].target, "/tools");
	make(&home, NULL, &spec);
	assert_string_equal(step_at("tools")->source, "overlay");
	assert_non_null(strstr(step_at("tools")->options, "lowerdir=/mounts/3:/empty"));
	assert_true((step_at("tools")->attrs & MOUNT_ATTR_RDONLY) != 0);
}

static void binds_usr_if_something_is_mounted_below(void **state)
{
	const struct home home = { .mode = HOME_ALONE, .usr_is_whole = false };
	struct spec spec = spec_default();

	(void)state;
	make(&home, NULL, &spec);
	assert_int_equal(step_at("usr")->kind, PLAN_BIND);
	assert_true(step_at("usr")->recursive);
	assert_true((step_at("usr")->attrs & MOUNT_ATTR_RDONLY) != 0);
}

static void shows_the_chosen_processors_and_no_other(void **state)
{
	static struct cdi_node nodes[2] = { { .path = "/dev/zero0" }, { .path = "/dev/shared" } };
	static struct cdi_node other[2] = { { .path = "/dev/zero1" }, { .path = "/dev/shared" } };
	static struct cdi_mount files[2] = { { "/usr/lib/libgpu.so", "/usr/lib/libgpu.so" },
		                             { "/opt/x", "/opt/gpu/x" } };
	struct home home = { .mode = HOME_ROOT, .usr_is_whole = true, .gpus = 3 };
	struct spec spec = spec_default();
	static struct cdi gpus = { .count = 2 };
	unsigned shared = 0;
	struct error err;

	(void)state;
	gpus.devices[0] = (struct cdi_device){
		.nodes = nodes, .node_count = 2, .mounts = files, .mount_count = 2
	};
	gpus.devices[1] = (struct cdi_device){ .nodes = other, .node_count = 2 };
	make(&home, &gpus, &spec);
	assert_null(step_at("dev/zero0"));
	spec.gpus = 1;
	make(&home, &gpus, &spec);
	assert_string_equal(step_at("dev/zero0")->source, "/gpu/0/0");
	assert_string_equal(step_at("opt/gpu/x")->source, "/gpu/0/f1");
	assert_null(step_at("usr/lib/libgpu.so"));
	assert_null(step_at("dev/zero1"));
	spec.gpus = 3;
	make(&home, &gpus, &spec);
	for (size_t i = 0; i < plan.count; i++)
		shared += strcmp(plan.steps[i].target, "dev/shared") == 0;
	assert_int_equal(shared, 1);
	home.gpus = 1;
	CHECK_ERROR(plan_make(&home, &merged, &gpus, &spec, &plan, &err), err, ERR_NOT_FOUND,
	            "gpus: not all of 0x3 can be offered");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(begins_with_the_root_and_names_nobody),
		TEST(mounts_nothing_that_gives_rights),
		TEST(forbids_namespaces_before_it_closes_proc),
		TEST(hides_the_agent_where_there_are_two_ids),
		TEST(shows_directories_through_an_overlay),
		TEST(binds_usr_if_something_is_mounted_below),
		TEST(shows_the_chosen_processors_and_no_other),
	};

	return RUN_TESTS("engine/plan", tests);
}
