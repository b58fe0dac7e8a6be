#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/rights/caps.h"
#include "unit/test.h"

/* Runs `check` in a child, whose capabilities it may spend, and expects that it returns true. */
static void check_in_child(bool (*check)(struct error *err))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		struct error err = { 0 };
		bool holds = check(&err);

		if (!holds)
			(void)fprintf(stderr, "# %s\n", err.msg);
		_exit(holds ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static bool is_bound_by_nothing(void)
{
	for (unsigned long c = 0; c <= CAP_LAST_CAP; c++)
		if (prctl(PR_CAPBSET_READ, c, 0, 0, 0) > 0)
			return false;
	return true;
}

static bool sets_exactly_one(struct error *err)
{
	uint64_t have;

	return caps_set(CAPS_BIT(CAP_KILL), false, err) == 0 && caps_get(&have, err) == 0 &&
	       have == CAPS_BIT(CAP_KILL) && caps_set(CAPS_BIT(CAP_CHOWN), false, err) < 0 &&
	       strstr(err->msg, "give up capabilities") != NULL;
}

static bool bounds_all(struct error *err)
{
	return caps_bound_none(err) == 0 && is_bound_by_nothing();
}

static bool passes_none_on(struct error *err)
{
	uint64_t before, after;

	return caps_get(&before, err) == 0 && caps_set(before, true, err) == 0 &&
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0) == 0 &&
	       caps_pass_none(err) == 0 && is_bound_by_nothing() &&
	       prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0) == 0 &&
	       caps_get(&after, err) == 0 && after == before;
}

static bool drops_all(struct error *err)
{
	uint64_t have;

	return caps_drop(err) == 0 && caps_get(&have, err) == 0 && have == 0 &&
	       caps_pass_none(err) == 0 && caps_bound_none(err) < 0;
}

static void caps_set_keeps_exactly_the_given_capabilities(void **state)
{
	if (geteuid() != 0)
		SKIP_TEST("needs capabilities to give up");
	check_in_child(sets_exactly_one);
}

static void caps_bound_none_empties_the_bounding_set(void **state)
{
	if (geteuid() != 0)
		SKIP_TEST("needs CAP_SETPCAP");
	check_in_child(bounds_all);
}

static void caps_pass_none_leaves_the_process_its_own_capabilities(void **state)
{
	if (geteuid() != 0)
		SKIP_TEST("needs CAP_SETPCAP");
	check_in_child(passes_none_on);
}

static void caps_drop_leaves_none(void **state)
{
	check_in_child(drops_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(caps_set_keeps_exactly_the_given_capabilities),
		TEST(caps_bound_none_empties_the_bounding_set),
		TEST(caps_pass_none_leaves_the_process_its_own_capabilities),
		TEST(caps_drop_leaves_none),
	};

	return RUN_TESTS("base/rights/caps", tests);
}
