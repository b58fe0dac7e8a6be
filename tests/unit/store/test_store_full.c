/* A disk without room: what is there can be read, and removed. */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "store/store.h"
#include "unit/server/place.h"

static const char *const migrations[] = { "CREATE TABLE things (name TEXT UNIQUE) STRICT", NULL };

enum { NOT_HERE = 77 };

static void fill_up(void)
{
	static const char block[4096];
	int fd = open("filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	while (write(fd, block, sizeof block) > 0)
		continue;
	assert_int_equal(errno, ENOSPC);
	(void)close(fd);
}

static bool take_row(void *ctx, struct store_row *row)
{
	(void)row;
	++*(unsigned *)ctx;
	return true;
}

static unsigned count(struct store *store)
{
	unsigned rows = 0;
	struct error err;

	CHECK_OK(store_query(store, take_row, &rows, "SELECT name FROM things", &err, ""), err);
	return rows;
}

static struct store *open_it(void)
{
	struct store *store = NULL;
	char path[100];
	struct error err;

	(void)snprintf(path, sizeof path, "%s/db", place_path);
	CHECK_OK(store_open(path, migrations, &store, &err), err);
	return store;
}

static void look_and_remove(void)
{
	struct store *store = open_it();
	struct error err;

	CHECK_OK(store_exec(store, "INSERT INTO things VALUES ('a'), ('b')", &err, ""), err);
	store_close(store);
	fill_up();
	for (unsigned left = 2; left != 0; left--) {
		store = open_it();
		assert_int_equal(count(store), left);
		CHECK_OK(store_exec(store,
		                    "DELETE FROM things WHERE name = (SELECT max(name) FROM "
		                    "things)",
		                    &err, ""),
		         err);
		store_close(store);
	}
}

static void nothing_more_fits(void)
{
	struct store *store = open_it();
	static char much[3 << 20];
	struct error err;
	char want[200];

	fill_up();
	memset(much, 'x', sizeof much - 1);
	(void)snprintf(want, sizeof want,
	               "no space is left for the database: make some, or remove a sandbox with "
	               "'belljar rm': %s/db",
	               place_path);
	CHECK_ERROR(store_exec(store, "INSERT INTO things VALUES (?)", &err, "s", much), err,
	            ERR_SYSTEM, want);
	store_close(store);
}

/* On a small file system of its own. */
static void on_little(void (*fn)(void))
{
	int ended = -1;
	pid_t child = fork();

	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", place_path, "tmpfs", 0, "size=4m") < 0 || chdir(place_path) < 0)
			_exit(NOT_HERE);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	if (WIFEXITED(ended) && WEXITSTATUS(ended) == NOT_HERE)
		SKIP_TEST("nothing can be mounted here");
	assert_int_equal(ended, 0);
}

static void on_a_full_disk_one_can_look_and_remove(void **state)
{
	(void)state;
	on_little(look_and_remove);
}

static void what_does_not_fit_is_told_as_that(void **state)
{
	(void)state;
	on_little(nothing_more_fits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(on_a_full_disk_one_can_look_and_remove),
		PLACED(what_does_not_fit_is_told_as_that),
	};

	return RUN_TESTS("store/full", tests);
}
