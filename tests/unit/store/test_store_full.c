/* The store on a full disk: rows can still be read and deleted, thanks to the reserve file. */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>

#include "store/store.h"
#include "unit/scratch.h"

static const char *const migrations[] = { "CREATE TABLE things (name TEXT UNIQUE) STRICT", NULL };

enum { NO_MOUNT = 77 };

static void fill_disk(void)
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

static unsigned count_rows(struct store *store)
{
	unsigned rows = 0;
	struct error err;

	CHECK_OK(store_query(store, take_row, &rows, "SELECT name FROM things", &err, ""), err);
	return rows;
}

static struct store *open_store(void)
{
	struct store *store = NULL;
	char path[100];
	struct error err;

	(void)snprintf(path, sizeof path, "%s/db", scratch_path);
	CHECK_OK(store_open(path, migrations, &store, &err), err);
	return store;
}

static void read_and_delete(void)
{
	struct store *store = open_store();
	struct error err;

	CHECK_OK(store_exec(store, "INSERT INTO things VALUES ('a'), ('b')", &err, ""), err);
	store_close(store);
	fill_disk();
	for (unsigned left = 2; left != 0; left--) {
		store = open_store();
		assert_int_equal(count_rows(store), left);
		CHECK_OK(store_exec(store,
		                    "DELETE FROM things"
		                    " WHERE name = (SELECT max(name) FROM things)",
		                    &err, ""),
		         err);
		store_close(store);
	}
}

static void insert_too_much(void)
{
	struct store *store = open_store();
	static char much[3 << 20];
	struct error err;
	char want[200];

	fill_disk();
	memset(much, 'x', sizeof much - 1);
	(void)snprintf(want, sizeof want,
	               "no space is left on the disk for the database: free some, "
	               "or remove a sandbox with 'belljar rm': %s/db",
	               scratch_path);
	CHECK_ERROR(store_exec(store, "INSERT INTO things VALUES (?)", &err, "s", much), err,
	            ERR_SYSTEM, want);
	store_close(store);
}

/* Runs fn in a child process with a tmpfs of 4 MiB. */
static void run_on_small_disk(void (*fn)(void))
{
	int ended = -1;
	pid_t child = fork();

	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("none", scratch_path, "tmpfs", 0, "size=4m") < 0 ||
		    chdir(scratch_path) < 0)
			_exit(NO_MOUNT);
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &ended, 0), child);
	if (WIFEXITED(ended) && WEXITSTATUS(ended) == NO_MOUNT)
		SKIP_TEST("mounting a tmpfs is not permitted here");
	assert_int_equal(ended, 0);
}

static void rows_are_read_and_deleted_on_a_full_disk(void **state)
{
	run_on_small_disk(read_and_delete);
}

static void full_disk_is_reported(void **state)
{
	run_on_small_disk(insert_too_much);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(rows_are_read_and_deleted_on_a_full_disk),
		IN_SCRATCH(full_disk_is_reported),
	};

	return RUN_TESTS("store/full", tests);
}
