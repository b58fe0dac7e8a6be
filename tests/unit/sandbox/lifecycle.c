#include "unit/sandbox/lifecycle.h"

static int fake_start(struct engine *engine, const struct spec *spec,
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

static void fake_kill(struct engine_box *box)
{
	box->kills++;
	container_of(box, struct fake, box)->kills++;
}

static bool fake_read_counters(struct engine_box *box, bool only_refusals,
                               struct engine_counters *ret)
{
	(void)box;
	(void)only_refusals;
	(void)ret;
	return false;
}

static void fake_release(struct engine_box *box)
{
	box->releases++;
	box->events = NULL;
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

const struct engine_ops fake_ops = {
	.name = "fake",
	.start = fake_start,
	.kill = fake_kill,
	.release = fake_release,
	.read_counters = fake_read_counters,
	.erase = fake_erase,
};

void on_result(void *ctx, const struct error *why)
{
	struct result *result = ctx;

	result->times++;
	result->failed = why != NULL;
	(void)snprintf(result->why, sizeof result->why, "%s", why != NULL ? why->msg : "");
}

void assert_result(const struct result *result, const char *why)
{
	assert_int_equal(result->times, 1);
	assert_string_equal(result->why, why);
}

void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

void run_turns(struct world *w)
{
	for (int i = 0; i < 3; i++) {
		loop_defer(w->loop, stop_loop, w->loop);
		loop_run(w->loop);
	}
}

void report_erase_result(struct world *w, const struct error *why)
{
	void (*done)(void *, const struct error *) = w->fake.erased;

	assert_non_null(done);
	w->fake.erased = NULL;
	done(w->fake.erased_ctx, why);
	run_turns(w);
}

void report_erased(struct world *w)
{
	report_erase_result(w, NULL);
}

void report_ended(struct world *w, enum engine_end end)
{
	const struct engine_events *events = w->fake.box.events;

	w->fake.box.events = NULL; /* the last event */
	if (events != NULL)
		events->ended(w->fake.box.ctx, end, "why not");
	run_turns(w);
}

static int make_world(void **state, const char *trusted)
{
	static struct world world;
	struct manager_config config = { .instance = "0123456789abcdef",
		                         .limits_max = spec_largest_limits(),
		                         .gpus_max = UINT64_MAX,
		                         .servers = AT_FDCWD,
		                         .trusted = trusted,
		                         .engine = &world.fake.engine };
	struct sandbox_options options = { .owner = "me", .name = "it", .spec = spec_default() };
	struct error err;

	world = (struct world){ .path = "/tmp/belljar-lifecycle-XXXXXX" };
	world.fake.engine.ops = &fake_ops;
	assert_non_null(mkdtemp(world.path));
	(void)snprintf(world.database, sizeof world.database, "%s/db", world.path);
	config.database = world.database;
	CHECK_OK(loop_new(&world.loop, &err), err);
	CHECK_OK(manager_new(world.loop, &config, &world.manager, &err), err);
	CHECK_OK(sandbox_create(world.manager, &options, &world.sandbox, &err), err);
	*state = &world;
	return 0;
}

int open_world(void **state)
{
	return make_world(state, NULL);
}

int open_trusting_world(void **state)
{
	return make_world(state, "certificates");
}

int close_world(void **state)
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

bool sandbox_exists(struct world *w)
{
	struct sandbox *found;
	struct error err;

	return sandbox_find(w->manager, "me", "it", &found, &err) == 0;
}

struct sandbox_row read_row(struct world *w, const char *name)
{
	AUTO(store) struct store *store = NULL;
	struct sandbox_row row;
	struct error err;

	CHECK_OK(store_open(w->database, registry_migrations, &store, &err), err);
	CHECK_OK(registry_find(store, "me", name, &row, &err), err);
	return row;
}

struct sandbox *add_sleeping_sandbox(struct world *w)
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

int connect_agent(struct world *w)
{
	static struct channel_rig rig;
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	rig = (struct channel_rig){ .fd = ends[1] };
	w->fake.box.events->started(w->fake.box.ctx, ends[0],
	                            &(struct engine_user){ 1000, 1000, false, false, "" });
	agent_hello(&rig);
	agent_ready(&rig);
	run_turns(w);
	return ends[1];
}

sqlite3 *lock_database(struct world *w)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(w->database, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	return db;
}
