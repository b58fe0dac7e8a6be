#include "base/cleanup.h"
#include "loop/loop.h"
#include "tools/support/turns.h"
#include "unit/test.h"

static char order[16];

struct change {
	struct turn turn;
	char name;
	bool ends_at_once;
};

static void go(struct turn *turn)
{
	struct change *change = container_of(turn, struct change, turn);
	size_t len = strlen(order);

	order[len] = change->name;
	order[len + 1] = '\0';
	if (change->ends_at_once)
		turn_end(turn);
}

static void changes_of_a_file_come_one_after_the_other(void **state)
{
	struct change a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' },
	              other = { .name = 'o' }, theirs = { .name = 't' };
	struct error err;
	AUTO(loop) struct loop *loop = NULL;

	(void)state;
	order[0] = '\0';
	CHECK_OK(loop_new(&loop, &err), err);
	turn_take(&a.turn, loop, "sb_1", "x/y", go);
	turn_take(&b.turn, loop, "sb_1", "/workspace/x/./y", go);
	turn_take(&c.turn, loop, "sb_1", "z/../x//y", go);
	turn_take(&other.turn, loop, "sb_1", "x", go);
	turn_take(&theirs.turn, loop, "sb_2", "x/y", go);
	loop_run_deferred(loop);
	assert_string_equal(order, "aot");
	turn_end(&a.turn);
	assert_string_equal(order, "aot"); /* not from within */
	loop_run_deferred(loop);
	assert_string_equal(order, "aotb");
	turn_end(&other.turn);
	turn_end(&theirs.turn);
	loop_run_deferred(loop);
	assert_string_equal(order, "aotb");
	turn_end(&b.turn);
	loop_run_deferred(loop);
	assert_string_equal(order, "aotbc");
	turn_end(&c.turn);
	turn_end(&c.turn); /* does nothing */
	loop_run_deferred(loop);
}

static void one_that_goes_away_hands_its_turn_on(void **state)
{
	struct change a = { .name = 'a' }, b = { .name = 'b' }, c = { .name = 'c' },
	              d = { .name = 'd', .ends_at_once = true }, e = { .name = 'e' };
	struct error err;
	AUTO(loop) struct loop *loop = NULL;

	(void)state;
	order[0] = '\0';
	CHECK_OK(loop_new(&loop, &err), err);
	turn_take(&a.turn, loop, "sb_1", "x", go);
	turn_take(&b.turn, loop, "sb_1", "x", go);
	turn_take(&c.turn, loop, "sb_1", "x", go);
	turn_take(&d.turn, loop, "sb_1", "x", go);
	turn_take(&e.turn, loop, "sb_1", "x", go);
	turn_end(&b.turn); /* while it waits */
	turn_end(&a.turn);
	turn_end(&c.turn); /* when it is due and has not begun */
	loop_run_deferred(loop);
	assert_string_equal(order, "ade");
	turn_end(&e.turn);
	loop_run_deferred(loop);
}

static void paths_are_read_without_links(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_FREE char *plain = turns_plain_path(rows[i][0]);

		assert_string_equal(plain, rows[i][1]);
	}
}

static void what_all_hold_is_bounded(void **state)
{
	size_t mine = 0, yours = 0;
	struct error err;

	(void)state;
	CHECK_OK(turns_hold(&mine, 60 << 20, &err), err);
	CHECK_ERROR(turns_hold(&yours, 5 << 20, &err), err, ERR_LIMIT,
	            "too many large files at once: calls under way hold 62914560 bytes of at most "
	            "67108864, and this one needs 5242880; try again when they are done");
	CHECK_OK(turns_hold(&mine, 64 << 20, &err), err); /* instead of the 60 */
	CHECK_OK(turns_hold(&mine, 59 << 20, &err), err);
	CHECK_OK(turns_hold(&yours, 5 << 20, &err), err);
	turns_let_go(&mine);
	turns_let_go(&mine);
	CHECK_OK(turns_hold(&yours, 64 << 20, &err), err);
	turns_let_go(&yours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(changes_of_a_file_come_one_after_the_other),
		TEST(one_that_goes_away_hands_its_turn_on),
		TEST(paths_are_read_without_links),
		TEST(what_all_hold_is_bounded),
	};

	return RUN_TESTS("tools/turns", tests);
}
