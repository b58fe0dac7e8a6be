#include "base/cleanup.h"
#include "loop/loop.h"
#include "tools/files/edit_lock.h"
#include "unit/test.h"

static char order[16];

struct change {
	struct edit_lock lock;
	char name;
	bool ends_at_once;
};

static void record_change(struct edit_lock *lock)
{
	struct change *change = container_of(lock, struct change, lock);
	size_t len = strlen(order);

	order[len] = change->name;
	order[len + 1] = '\0';
	if (change->ends_at_once)
		edit_lock_release(lock);
}

static void calls_get_the_lock_of_one_file_in_order(void **state)
{
	struct change a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' },
	              other = { .name = 'o' }, theirs = { .name = 't' };
	struct error err;
	AUTO(loop) struct loop *loop = NULL;

	order[0] = '\0';
	CHECK_OK(loop_new(&loop, &err), err);
	edit_lock_acquire(&a.lock, loop, "sb_1", "x/y", record_change);
	edit_lock_acquire(&b.lock, loop, "sb_1", "/workspace/x/./y", record_change);
	edit_lock_acquire(&c.lock, loop, "sb_1", "z/../x//y", record_change);
	edit_lock_acquire(&other.lock, loop, "sb_1", "x", record_change);
	edit_lock_acquire(&theirs.lock, loop, "sb_2", "x/y", record_change);
	loop_run_deferred(loop);
	assert_string_equal(order, "aot");
	edit_lock_release(&a.lock);
	assert_string_equal(order, "aot"); /* not from within */
	loop_run_deferred(loop);
	assert_string_equal(order, "aotb");
	edit_lock_release(&other.lock);
	edit_lock_release(&theirs.lock);
	loop_run_deferred(loop);
	assert_string_equal(order, "aotb");
	edit_lock_release(&b.lock);
	loop_run_deferred(loop);
	assert_string_equal(order, "aotbc");
	edit_lock_release(&c.lock);
	edit_lock_release(&c.lock); /* does nothing */
	loop_run_deferred(loop);
}

static void released_waiter_passes_the_lock_on(void **state)
{
	struct change a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' },
	              d = { .name = 'd', .ends_at_once = true }, e = { .name = 'e' };
	struct error err;
	AUTO(loop) struct loop *loop = NULL;

	order[0] = '\0';
	CHECK_OK(loop_new(&loop, &err), err);
	edit_lock_acquire(&a.lock, loop, "sb_1", "x", record_change);
	edit_lock_acquire(&b.lock, loop, "sb_1", "x", record_change);
	edit_lock_acquire(&c.lock, loop, "sb_1", "x", record_change);
	edit_lock_acquire(&d.lock, loop, "sb_1", "x", record_change);
	edit_lock_acquire(&e.lock, loop, "sb_1", "x", record_change);
	edit_lock_release(&b.lock); /* while it waits */
	edit_lock_release(&a.lock);
	edit_lock_release(&c.lock); /* when it is due and has not begun */
	loop_run_deferred(loop);
	assert_string_equal(order, "ade");
	edit_lock_release(&e.lock);
	loop_run_deferred(loop);
}

static void normalize_path_removes_dots_and_empty_parts(void **state)
{
	static const char *const rows[][2] = {
		{ ".", "/workspace" },
		{ "a", "/workspace/a" },
		{ "./a//b/", "/workspace/a/b" },
		{ "a/../b", "/workspace/b" },
		{ "..", "/" },
		{ "../../../etc", "/etc" },
		{ "/", "/" },
		{ "//", "/" },
		{ "/tmp/...", "/tmp/..." },
		{ "/a/.b/..c", "/a/.b/..c" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *normal = normalize_path(rows[i][0]);

		assert_string_equal(normal, rows[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_get_the_lock_of_one_file_in_order),
		TEST(released_waiter_passes_the_lock_on),
		TEST(normalize_path_removes_dots_and_empty_parts),
	};

	return RUN_TESTS("tools/edit_lock", tests);
}
