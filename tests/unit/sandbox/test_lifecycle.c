/* Calls in a bad order: whoever waits hears exactly once how it went. The engine is a fake that
 * does what the test tells it, when it tells it. */
#include <fcntl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/remove_tree.h"
#include "loop/loop.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "unit/test.h"

struct engine_box {
	const struct engine_events *events;
	void *ctx;
	unsigned kills;
};

struct fake {
	struct engine engine; /* first */
	struct engine_box box;
	void (*erased)(void *ctx, const struct error *err);
	void *erased_ctx;
	unsigned makes, erases;
	bool is_lost;
};

static int fake_make(struct engine *engine, const struct spec *spec,
                     const struct engine_events *events, void *ctx, struct engine_box **ret,
                     struct error *err)
{
	struct fake *fake = container_of(engine, struct fake, engine);

	(void)spec;
	if (fake->is_lost)
		return error_set(err, ERR_SYSTEM, "lost");
	fake->makes++;
	fake->box = (struct engine_box){ events, ctx, 0 };
	*ret = &fake->box;
	return 0;
}

static void fake_kill(struct engine_box *box)
{
	box->kills++;
}

static int fake_erase(struct engine *engine, const char *id,
                      void (*done)(void *ctx, const struct error *err), void *ctx,
                      struct error *err)
{
	struct fake *fake = container_of(engine, struct fake, engine);

	(void)id;
	if (fake->is_lost)
		return error_set(err, ERR_SYSTEM, "lost");
	fake->erases++;
	fake->erased = done;
	fake->erased_ctx = ctx;
	return 0;
}

static const struct engine_calls fake_calls = {
	.name = "fake", .make = fake_make, .kill = fake_kill, .erase = fake_erase
};

struct world {
	char path[64];
	struct loop *loop;
	struct fake fake;
	struct manager *manager;
	struct sandbox *sandbox;
};

/* What somebody who waits has heard. */
struct heard {
	unsigned times;
	bool failed;
	char why[sizeof((struct error *)NULL)->msg];
};

static void hear(void *ctx, const struct error *why)
{
	struct heard *heard = ctx;

	heard->times++;
	heard->failed = why != NULL;
	(void)snprintf(heard->why, sizeof heard->why, "%s", why != NULL ? why->msg : "");
}

static void check_heard(const struct heard *heard, const char *why)
{
	assert_int_equal(heard->times, 1);
	assert_string_equal(heard->why, why);
}

static void stop(void *ctx)
{
	loop_stop(ctx);
}

static void turn(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		loop_defer(w->loop, stop, w->loop);
		loop_run(w->loop);
	}
}

static void erased(struct world *w)
{
	void (*done)(void *, const struct error *) = w->fake.erased;

	assert_non_null(done);
	w->fake.erased = NULL;
	done(w->fake.erased_ctx, NULL);
	turn(w);
}

static void gone(struct world *w, enum engine_end end)
{
	w->fake.box.events->gone(w->fake.box.ctx, end, "why not");
	turn(w);
}

static int begin(void **state)
{
	static struct world world;
	struct manager_config config = { .instance = "0123456789abcdef",
		                         .servers = AT_FDCWD,
		                         .engine = &world.fake.engine };
	struct sandbox_wish wish = { .owner = "me", .name = "it", .spec = spec_default() };
	char database[96];
	struct error err;

	world = (struct world){ .path = "/tmp/belljar-lifecycle-XXXXXX" };
	world.fake.engine.calls = &fake_calls;
	assert_non_null(mkdtemp(world.path));
	(void)snprintf(database, sizeof database, "%s/db", world.path);
	config.database = database;
	CHECK_OK(loop_new(&world.loop, &err), err);
	CHECK_OK(manager_new(world.loop, &config, &world.manager, &err), err);
	CHECK_OK(sandbox_create(world.manager, &wish, &world.sandbox, &err), err);
	*state = &world;
	return 0;
}

static int finish(void **state)
{
	struct world *w = *state;
	const char *name = strrchr(w->path, '/') + 1;
	AUTO_FD int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error err;
	uint64_t count;

	(void)manager_free(w->manager);
	(void)loop_free(w->loop);
	return remove_tree(tmp, name, view_of(name), &count, &err);
}

static bool exists(struct world *w)
{
	struct sandbox *found;
	struct error err;

	return sandbox_find(w->manager, "me", "it", &found, &err) == 0;
}

/* --- tests ------------------------------------------------------------------------------ */

static void all_who_delete_hear_it_once(void **state)
{
	struct world *w = *state;
	struct heard first = { 0 }, second = { 0 }, third = { 0 };

	sandbox_delete(w->sandbox, hear, &first);
	sandbox_delete(w->sandbox, hear, &second);
	assert_int_equal(w->fake.box.kills, 1);
	turn(w);
	assert_int_equal(first.times, 0);
	gone(w, ENGINE_ENDED);
	sandbox_delete(w->sandbox, hear, &third); /* while its files go */
	assert_int_equal(w->fake.erases, 1);
	erased(w);
	check_heard(&first, "");
	check_heard(&second, "");
	check_heard(&third, "");
	assert_false(exists(w));
}

static void who_waits_for_one_that_is_deleted_hears_why(void **state)
{
	struct world *w = *state;
	struct heard ready = { 0 }, asleep = { 0 }, late = { 0 }, deleted = { 0 }, woken = { 0 };

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_sleep(w->sandbox, hear, &asleep);
	sandbox_delete(w->sandbox, hear, &deleted);
	sandbox_wake(w->sandbox, hear, &woken);
	gone(w, ENGINE_ENDED);
	check_heard(&ready, "the sandbox ended: why not");
	check_heard(&asleep, "the sandbox is being deleted");
	check_heard(&woken, "the sandbox is ending: try again");
	sandbox_sleep(w->sandbox, hear, &late);
	erased(w);
	check_heard(&late, "the sandbox is being deleted");
	check_heard(&deleted, "");
}

static void what_was_never_made_is_deleted(void **state)
{
	struct world *w = *state;
	struct heard asleep = { 0 };
	struct error err;

	sandbox_sleep(w->sandbox, hear, &asleep);
	(void)error_set(&err, ERR_SYSTEM, "no room");
	w->fake.box.events->failed(w->fake.box.ctx, &err);
	turn(w);
	check_heard(&asleep, "the sandbox is being deleted");
	erased(w);
	assert_false(exists(w));
}

static void a_channel_that_comes_too_late_is_closed(void **state)
{
	struct world *w = *state;
	struct heard deleted = { 0 };
	int ends[2];
	char byte;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	sandbox_delete(w->sandbox, hear, &deleted);
	w->fake.box.events->made(w->fake.box.ctx, ends[0],
	                         &(struct engine_user){ 1000, 1000, false });
	assert_int_equal(read(ends[1], &byte, 1), 0);
	(void)close(ends[1]);
	assert_null(sandbox_channel(w->sandbox));
	gone(w, ENGINE_ENDED);
	erased(w);
	check_heard(&deleted, "");
}

static void nobody_waits_for_an_engine_that_is_lost(void **state)
{
	struct world *w = *state;
	struct heard deleted = { 0 }, ready = { 0 };
	struct error lost;

	sandbox_wake(w->sandbox, hear, &ready);
	sandbox_delete(w->sandbox, hear, &deleted);
	w->fake.is_lost = true;
	gone(w, ENGINE_LOST);
	check_heard(&ready, "the sandbox ended: why not");
	/* The engine gives up what it was asked to erase, too. */
	(void)error_set(&lost, ERR_SYSTEM, "lost");
	w->fake.erased(w->fake.erased_ctx, &lost);
	turn(w);
	check_heard(&deleted, "lost");
}

static void on_ended(void *ctx)
{
	++*(unsigned *)ctx;
}

static void the_end_waits_for_all_and_is_told_once(void **state)
{
	struct world *w = *state;
	unsigned times = 0;

	manager_end(w->manager, on_ended, &times);
	turn(w);
	assert_int_equal(times, 0);
	gone(w, ENGINE_ENDED);
	assert_int_equal(times, 0); /* one that was never ready is removed */
	erased(w);
	assert_int_equal(times, 1);
}

int main(void)
{
#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, begin, finish)
	const struct CMUnitTest tests[] = {
		IN_WORLD(all_who_delete_hear_it_once),
		IN_WORLD(who_waits_for_one_that_is_deleted_hears_why),
		IN_WORLD(what_was_never_made_is_deleted),
		IN_WORLD(a_channel_that_comes_too_late_is_closed),
		IN_WORLD(nobody_waits_for_an_engine_that_is_lost),
		IN_WORLD(the_end_waits_for_all_and_is_told_once),
	};

	return RUN_TESTS("lifecycle", tests);
}
