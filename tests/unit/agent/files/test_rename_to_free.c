/* test_rename_to_free.c - renaming to a free name by each of its three ways. */
#include "unit/agent/files/job_test.h"

#include "agent/files/new_file.h"
#include "unit/refuse.h"

enum { BY_RENAME, BY_LINK, BY_LOOK, WAYS };

/* Makes the system calls of the other ways fail, so that rename_to_free() has to use this one. */
static void leave_way(int way)
{
	static const int missing[] = { EINVAL, ENOSYS };

	if (way == BY_RENAME)
		return;
	refuse_call(SYS_renameat2, missing[way - BY_LINK]);
	refuse_call(way == BY_LINK ? SYS_renameat : SYS_linkat, EPERM);
}

/* Runs in a child, because filters cannot be removed. Returns 0 or errno. */
static int move(const struct job_test *t, int way, const char *from, const char *to)
{
	int status = -1;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		int dir = open(job_test_path(t, "workspace"), O_PATH | O_DIRECTORY | O_CLOEXEC);

		leave_way(way);
		_exit(rename_to_free(dir, from, dir, to) == 0 ? 0 : errno);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void make_tree(struct job_test *t)
{
	job_test_start(t);
	job_test_file(t, "workspace/file", VIEW("file"));
	job_test_file(t, "workspace/other", VIEW("other"));
	job_test_directory(t, "workspace/dir");
	job_test_directory(t, "workspace/empty");
	job_test_link(t, "nowhere", "workspace/link");
}

static void rename_to_free_moves(void **state)
{
	static const struct {
		const char *from, *there;
		mode_t type;
	} rows[] = {
		{ "file", "workspace/new", S_IFREG },
		{ "link", "workspace/new", S_IFLNK },
		{ "dir", "workspace/new", S_IFDIR },
	};
	struct job_test t;

	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			/* A directory cannot have a second link: the check and the rename are
			 * used. */
			bool one_name = way == BY_LINK && rows[i].type == S_IFDIR;

			make_tree(&t);
			assert_int_equal(move(&t, way, rows[i].from, "new"), one_name ? EPERM : 0);
			if (!one_name) {
				assert_int_equal(job_test_mode(&t, rows[i].there) & S_IFMT,
				                 rows[i].type);
				assert_int_equal(job_test_count(&t, "workspace"), 5);
			}
			job_test_stop(&t);
		}
}

static void rename_to_free_replaces_nothing(void **state)
{
	static const struct {
		const char *from, *to;
		int errnum;
	} rows[] = {
		{ "file", "other", EEXIST },  { "file", "file", EEXIST },
		{ "file", "empty", EEXIST },  { "file", "link", EEXIST },
		{ "link", "other", EEXIST },  { "dir", "empty", EEXIST },
		{ "dir", "other", EEXIST },   { "missing", "new", ENOENT },
		{ "file", "no/new", ENOENT },
	};
	struct job_test t;

	make_tree(&t);
	for (int way = 0; way < WAYS; way++)
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			/* If every rename is denied, an error of another kind is still reported as
			 * such. */
			bool no_rename = way == BY_LINK && rows[i].errnum == ENOENT;

			assert_int_equal(move(&t, way, rows[i].from, rows[i].to),
			                 no_rename ? EPERM : rows[i].errnum);
		}
	job_test_holds(&t, "workspace/file", "file");
	job_test_holds(&t, "workspace/other", "other");
	assert_int_equal(job_test_count(&t, "workspace"), 5);
	job_test_stop(&t);
}

/* A filter sees where a name is, not what it is: this one keeps what is named at an address with
 * a certain bit. */
static void failed_unlink_removes_the_second_link(void **state)
{
	enum { BIT = 64 };
	static _Alignas(2 * BIT) char names[2 * BIT] = "new";
	char *from = names + BIT;
	struct job_test t;
	int status = -1;
	pid_t child;

	memcpy(from, "file", sizeof "file");
	make_tree(&t);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int dir = open(job_test_path(&t, "workspace"), O_PATH | O_DIRECTORY | O_CLOEXEC);

		leave_way(BY_LINK);
		refuse_call_with(SYS_unlinkat, BIT, EBUSY);
		_exit(rename_to_free(dir, from, dir, names) == 0 ? 0 : errno);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EBUSY);
	job_test_holds(&t, "workspace/file", "file");
	assert_false(job_test_exists(&t, "workspace/new"));
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rename_to_free_moves),
		TEST(rename_to_free_replaces_nothing),
		TEST(failed_unlink_removes_the_second_link),
	};

	return RUN_TESTS("move", tests);
}
