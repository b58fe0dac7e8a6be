/* lifecycle.h - sandboxes over an engine that is a fake: it does what the test tells it, when it
 * tells it. */
#pragma once
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/tree/remove_tree.h"
#include "loop/loop.h"
#include "sandbox/manager.h"
#include "sandbox/sandbox.h"
#include "store/store.h"
#include "unit/sandbox/channel/fake_agent.h"
#include "unit/test.h"

struct engine_box {
	const struct engine_events *events; /* NULL: it has ended, or nobody wants to hear */
	void *ctx;
	unsigned kills, drops;
};

struct fake {
	struct engine engine; /* first */
	struct engine_box box;
	void (*erased)(void *ctx, const struct error *err);
	void *erased_ctx;
	unsigned makes, erases, kills; /* of any box */
	struct spec made;              /* the latest */
	bool is_lost;
};

static inline int fake_make(struct engine *engine, const struct spec *spec,
                            const struct engine_events *events, void *ctx, struct engine_box **ret,
                            struct error *err)
{
	struct fake *fake = container_of(engine, struct fake, engine);

	fake->made = *spec;
	if (fake->is_lost)
		return error_set(err, ERR_SYSTEM, "lost");
	fake->makes++;
	fake->box = (struct engine_box){ events, ctx, 0, 0 };
	*ret = &fake->box;
	return 0;
}

static inline void fake_kill(struct engine_box *box)
{
	box->kills++;
	container_of(box, struct fake, box)->kills++;
}

static inline bool fake_count(struct engine_box *box, struct engine_counters *ret)
{
	(void)box;
	(void)ret;
	return false;
}

static inline void fake_drop(struct engine_box *box)
{
	box->drops++;
	box->events = NULL;
}

static inline int fake_erase(struct engine *engine, const char *id,
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

static const struct engine_ops fake_calls = {
	.name = "fake",
	.start = fake_make,
	.kill = fake_kill,
	.release = fake_drop,
	.read_counters = fake_count,
	.erase = fake_erase,
};

struct world {
	char path[64], database[96];
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

static inline void hear(void *ctx, const struct error *why)
{
	struct heard *heard = ctx;

	heard->times++;
	heard->failed = why != NULL;
	(void)snprintf(heard->why, sizeof heard->why, "%s", why != NULL ? why->msg : "");
}

static inline void check_heard(const struct heard *heard, const char *why)
{
	assert_int_equal(heard->times, 1);
	assert_string_equal(heard->why, why);
}

static inline void stop(void *ctx)
{
	loop_stop(ctx);
}

static inline void turn(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		loop_defer(w->loop, stop, w->loop);
		loop_run(w->loop);
	}
}

static inline void erased_with(struct world *w, const struct error *why)
{
	void (*done)(void *, const struct error *) = w->fake.erased;

	assert_non_null(done);
	w->fake.erased = NULL;
	done(w->fake.erased_ctx, why);
	turn(w);
}

static inline void erased(struct world *w)
{
	erased_with(w, NULL);
}

static inline void gone(struct world *w, enum engine_end end)
{
	const struct engine_events *events = w->fake.box.events;

	w->fake.box.events = NULL; /* it is the last one */
	if (events != NULL)
		events->ended(w->fake.box.ctx, end, "why not");
	turn(w);
}

static inline int begin(void **state)
{
	static struct world world;
	struct manager_config config = { .instance = "0123456789abcdef",
		                         .servers = AT_FDCWD,
		                         .engine = &world.fake.engine };
	struct sandbox_options wish = { .owner = "me", .name = "it", .spec = spec_default() };
	struct error err;

	world = (struct world){ .path = "/tmp/belljar-lifecycle-XXXXXX" };
	world.fake.engine.ops = &fake_calls;
	assert_non_null(mkdtemp(world.path));
	(void)snprintf(world.database, sizeof world.database, "%s/db", world.path);
	config.database = world.database;
	CHECK_OK(loop_new(&world.loop, &err), err);
	CHECK_OK(manager_new(world.loop, &config, &world.manager, &err), err);
	CHECK_OK(sandbox_create(world.manager, &wish, &world.sandbox, &err), err);
	*state = &world;
	return 0;
}

static inline int finish(void **state)
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

static inline bool exists(struct world *w)
{
	struct sandbox *found;
	struct error err;

	return sandbox_find(w->manager, "me", "it", &found, &err) == 0;
}

/* As another program sees it. */
static inline struct sandbox_row row_of(struct world *w, const char *name)
{
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row;
	struct error err;

	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_find(store, "me", name, &row, &err), err);
	return row;
}

/* One that an earlier server made, long ago. */
static inline struct sandbox *old_one(struct world *w)
{
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row = { .spec = spec_default(),
		                   .owner = "me",
		                   .name = "old",
		                   .engine = "fake",
		                   .state = SANDBOX_ASLEEP,
		                   .created_s = 1000,
		                   .used_s = 1000 };
	struct sandbox *sandbox;
	struct error err;

	spec_new_id(row.spec.id);
	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_add(store, &row, &err), err);
	CHECK_OK(sandbox_find(w->manager, "me", "old", &sandbox, &err), err);
	return sandbox;
}

/* The engine made it; its agent is the other end, which says it is ready. */
static inline int agent_comes(struct world *w)
{
	static struct rig rig;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	rig = (struct rig){ .fd = ends[1] };
	w->fake.box.events->started(w->fake.box.ctx, ends[0],
	                            &(struct engine_user){ 1000, 1000, false });
	agent_hello(&rig);
	agent_ready(&rig);
	turn(w);
	return ends[1];
}

/* Nobody but the holder can write until it is given back. */
static inline sqlite3 *hold_database(struct world *w)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(w->database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, begin, finish)
