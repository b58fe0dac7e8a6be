/* lifecycle.h - a manager with one sandbox over a fake engine. The fake records what it is asked to
 * do; the test decides when it reports an event (report_ended, report_erased, connect_agent). */
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
	const struct engine_events *events; /* NULL: no further event may be reported */
	void *ctx;
	unsigned kills, releases;
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

extern const struct engine_ops fake_ops;

struct world {
	char path[64], database[96];
	struct loop *loop;
	struct fake fake;
	struct manager *manager;
	struct sandbox *sandbox;
};

/* How often and with what a sandbox_fn callback was called. */
struct result {
	unsigned times;
	bool failed;
	char why[sizeof((struct error *)NULL)->msg];
};
void on_result(void *ctx, const struct error *why);
void assert_result(const struct result *result, const char *why);
void stop_loop(void *ctx);
void run_turns(struct world *w);
void report_erase_result(struct world *w, const struct error *why);
void report_erased(struct world *w);
void report_ended(struct world *w, enum engine_end end);
int open_world(void **state);
/* With CAs that programs trust. */
int open_trusting_world(void **state);
int close_world(void **state);
bool sandbox_exists(struct world *w);

/* Reads the row over a connection of its own, as another program would. */
struct sandbox_row read_row(struct world *w, const char *name);

/* Adds the row of a sandbox named "old" that an earlier server created, and finds it. */
struct sandbox *add_sleeping_sandbox(struct world *w);

/* Reports that the engine made the sandbox, and plays its agent up to READY. Returns the agent's
 * end of the channel, which the caller closes. */
int connect_agent(struct world *w);

/* Takes the write lock of the database until the connection is closed. */
sqlite3 *lock_database(struct world *w);

#define IN_WORLD(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
