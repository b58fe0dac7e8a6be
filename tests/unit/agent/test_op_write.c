#include "job_test.h"

#include "agent/ops.h"
#include "base/error.h"
#include "base/utf8.h"

#define ALL UINT64_MAX

static void check_write(struct job_test *t, struct wire_write request, struct view bytes)
{
	struct wire_done done;
	struct error err;

	job_test_again(t);
	job_test_feed(t, bytes);
	CHECK_OK(op_write(&t->job, &request, &done, &err), err);
	job_test_finish(t);
	assert_int_equal(done.bytes, bytes.len);
	assert_int_equal(done.count, 0);
	assert_int_equal(done.flags, 0);
	if (request.mode != WIRE_WRITE_APPEND)
		assert_int_equal(done.total, bytes.len);
}

static void check_refusal(struct job_test *t, struct wire_write request, struct view bytes,
                          enum error_kind kind, int errnum, const char *message)
{
	struct wire_done done;
	struct error err;

	job_test_again(t);
	job_test_feed(t, bytes);
	CHECK_ERROR(op_write(&t->job, &request, &done, &err), err, kind, message);
	assert_int_equal(err.errnum, errnum);
	job_test_finish(t);
}

#define REQUEST(mode_, path_)                                                                      \
	(struct wire_write)                                                                        \
	{                                                                                          \
		.mode = (mode_), .perm = 0644, .max = ALL, .path = VIEW_INIT(path_)                \
	}

static void a_new_file_has_the_mode_asked_for_less_the_umask(void **state)
{
	static const struct {
		uint16_t perm;
		mode_t mask, want;
	} cases[] = {
		{ 0644, 022, 0644 },  { 0666, 027, 0640 }, { 0755, 022, 0755 },
		{ 07777, 022, 0755 }, { 0444, 0, 0444 },   { 0, 0, 0 },
	};
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++)
		for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
			struct wire_write request = REQUEST(mode, "new");
			mode_t old = umask(cases[i].mask);

			request.perm = cases[i].perm;
			check_write(&t, request, VIEW("text"));
			(void)umask(old);
			assert_int_equal(job_test_mode(&t, "workspace/new"),
			                 S_IFREG | cases[i].want);
			assert_int_equal(chmod(job_test_path(&t, "workspace/new"), 0600), 0);
			job_test_holds(&t, "workspace/new", "text");
			assert_int_equal(unlink(job_test_path(&t, "workspace/new")), 0);
		}
	job_test_stop(&t);
}

static void an_old_file_is_replaced_and_keeps_its_mode(void **state)
{
	static struct job_test t;
	struct stat before, after;

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("the old text, which is longer"));
	assert_int_equal(chmod(job_test_path(&t, "workspace/a"), 06751), 0);
	assert_int_equal(stat(job_test_path(&t, "workspace/a"), &before), 0);
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), VIEW("new"));
	assert_int_equal(stat(job_test_path(&t, "workspace/a"), &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	assert_int_equal(after.st_mode, S_IFREG | 0751); /* not setuid any more */
	job_test_holds(&t, "workspace/a", "new");
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "a"), VIEW(""));
	job_test_holds(&t, "workspace/a", "");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

/* Every kind of way out leads to a place below the root. */
static void a_final_link_is_followed_inside_and_stays(void **state)
{
	static const struct {
		const char *target, *written; /* below the root */
	} cases[] = {
		{ "plain", "workspace/plain" },
		{ "/etc/passwd", "etc/passwd" },
		{ "../../../../../../../etc/passwd", "etc/passwd" },
		{ "second", "etc/chained" },
		{ "/tmp-not-there", "tmp-not-there" },
	};
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	job_test_directory(&t, "etc");
	job_test_link(&t, "/etc/chained", "workspace/second");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
			if (mode == WIRE_WRITE_CREATE)
				continue;
			job_test_link(&t, cases[i].target, "workspace/link");
			check_write(&t, REQUEST(mode, "link"), VIEW("written"));
			assert_true(S_ISLNK(job_test_mode(&t, "workspace/link")));
			job_test_holds(&t, cases[i].written, "written");
			assert_int_equal(unlink(job_test_path(&t, cases[i].written)), 0);
			assert_int_equal(unlink(job_test_path(&t, "workspace/link")), 0);
		}
	job_test_stop(&t);
}

static void create_refuses_whatever_is_there(void **state)
{
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	check_write(&t, REQUEST(WIRE_WRITE_CREATE, "a"), VIEW("first"));
	check_refusal(&t, REQUEST(WIRE_WRITE_CREATE, "a"), VIEW("second"), ERR_SYSTEM, EEXIST,
	              "a: File exists");
	job_test_holds(&t, "workspace/a", "first");
	job_test_link(&t, "nowhere", "workspace/dangling");
	check_refusal(&t, REQUEST(WIRE_WRITE_CREATE, "dangling"), VIEW("x"), ERR_SYSTEM, EEXIST,
	              "dangling: File exists");
	assert_int_equal(job_test_count(&t, "workspace"), 2);
	job_test_stop(&t);
}

/* Something appears between the look and the end of the bytes. */
static void create_does_not_replace_a_latecomer(void **state)
{
	static struct job_test t;
	struct wire_write request = REQUEST(WIRE_WRITE_CREATE, "a");
	struct wire_done done;
	struct error err;
	int status = -1;
	pid_t child;

	(void)state;
	job_test_start(&t);
	child = fork(); /* the operation; it waits for bytes */
	if (child == 0)
		_exit(op_write(&t.job, &request, &done, &err) == -1 && err.errnum == EEXIST ? 0
		                                                                            : 1);
	while (job_test_count(&t, "workspace") == 0)
		(void)usleep(1000);
	job_test_file(&t, "workspace/a", VIEW("late"));
	job_test_feed(&t, VIEW("early"));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	job_test_holds(&t, "workspace/a", "late");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void append_adds_to_the_end(void **state)
{
	static struct job_test t;
	struct wire_done done;
	struct error err;
	struct wire_write request = REQUEST(WIRE_WRITE_APPEND, "log");

	(void)state;
	job_test_start(&t);
	check_write(&t, request, VIEW("one\n"));
	check_write(&t, request, VIEW(""));
	job_test_again(&t);
	job_test_feed(&t, VIEW("two\n"));
	CHECK_OK(op_write(&t.job, &request, &done, &err), err);
	assert_int_equal(done.bytes, 4);
	assert_int_equal(done.total, 8);
	job_test_holds(&t, "workspace/log", "one\ntwo\n");
	job_test_stop(&t);
}

static void a_large_file_arrives_whole(void **state)
{
	static char bytes[5 * 1000 * 1000 + 1];
	static struct job_test t;
	static char got[sizeof bytes];
	int fd;

	(void)state;
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i ^ i >> 8 ^ i >> 16);
	job_test_start(&t);
	check_write(&t, REQUEST(WIRE_WRITE_REPLACE, "big"), (struct view){ bytes, sizeof bytes });
	fd = open(job_test_path(&t, "workspace/big"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, got, sizeof got), sizeof got);
	(void)close(fd);
	assert_memory_equal(got, bytes, sizeof bytes);
	job_test_stop(&t);
}

static void missing_parents_are_made_when_asked_for(void **state)
{
	static struct job_test t;
	struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "a/b/c.txt");

	(void)state;
	job_test_start(&t);
	check_refusal(&t, request, VIEW("x"), ERR_SYSTEM, ENOENT,
	              "a/b/c.txt: No such file or directory");
	request.flags = WIRE_PARENTS;
	check_write(&t, request, VIEW("x"));
	job_test_holds(&t, "workspace/a/b/c.txt", "x");
	request.path = view_of("d/e/");
	check_refusal(&t, request, VIEW("x"), ERR_INVALID, 0,
	              "d/e/: the name of a file does not end in a slash");
	assert_false(job_test_exists(&t, "workspace/d"));
	job_test_stop(&t);
}

static void too_many_bytes_change_nothing(void **state)
{
	static char large[200000];
	static struct job_test t;
	struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "a");

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("old"));
	request.max = 5;
	check_write(&t, request, VIEW("12345"));
	check_refusal(&t, request, VIEW("123456"), ERR_LIMIT, 0,
	              "a: would be larger than 5 bytes: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	request.mode = WIRE_WRITE_APPEND;
	check_refusal(&t, request, VIEW("123456"), ERR_LIMIT, 0,
	              "a: more than 5 bytes to append: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	request.max = 100000;
	check_refusal(&t, request, (struct view){ large, sizeof large }, ERR_LIMIT, 0,
	              "a: more than 100000 bytes to append: nothing was changed");
	job_test_holds(&t, "workspace/a", "12345");
	assert_int_equal(job_test_count(&t, "workspace"), 1);
	job_test_stop(&t);
}

static void a_request_that_is_closed_leaves_nothing(void **state)
{
	static char part[3 * JOB_CHUNK];
	static struct job_test t;
	struct wire_done done;
	struct error err;

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/a", VIEW("old"));
	for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
		struct wire_write request = REQUEST(mode, "a");

		if (mode == WIRE_WRITE_CREATE)
			request.path = view_of("b");
		job_test_again(&t);
		job_test_feed_and_leave(&t, (struct view){ part, sizeof part });
		CHECK_ERROR(op_write(&t.job, &request, &done, &err), err, ERR_SYSTEM,
		            "the request was closed");
		assert_int_equal(err.errnum, EPIPE);
		job_test_finish(&t);
		job_test_holds(&t, "workspace/a", "old");
		assert_int_equal(job_test_count(&t, "workspace"), 1);
	}
	job_test_stop(&t);
}

static void refuses_what_is_no_regular_file(void **state)
{
	static const struct {
		const char *path, *message;
	} cases[] = {
		{ "dir", "dir: is a directory, not a regular file" },
		{ "to-dir", "to-dir: is a directory, not a regular file" },
		{ "fifo", "fifo: is a FIFO, not a regular file" },
		{ "socket", "socket: is a socket, not a regular file" },
	};
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	job_test_directory(&t, "workspace/dir");
	job_test_link(&t, "dir", "workspace/to-dir");
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
	assert_int_equal(mknod(job_test_path(&t, "workspace/socket"), S_IFSOCK | 0666, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (uint8_t mode = 0; mode < WIRE_WRITE_COUNT; mode++) {
			struct wire_write request = REQUEST(mode, "");

			if (mode == WIRE_WRITE_CREATE)
				continue;
			request.path = view_of(cases[i].path);
			check_refusal(&t, request, VIEW("x"), ERR_INVALID, 0, cases[i].message);
		}
	assert_int_equal(job_test_count(&t, "workspace"), 4);
	job_test_stop(&t);
}

/* The one entry that is there while the operation waits for bytes. */
static void find_temporary(struct job_test *t, char *out, size_t size)
{
	out[0] = '\0';
	while (out[0] == '\0') {
		DIR *dir = opendir(job_test_path(t, "workspace"));
		const struct dirent *entry;

		assert_non_null(dir);
		while ((entry = readdir(dir)) != NULL)
			if (entry->d_name[0] == '.' && strlen(entry->d_name) > 2)
				(void)snprintf(out, size, "%s", entry->d_name);
		(void)closedir(dir);
		(void)usleep(1000);
	}
}

static void the_temporary_name_fits_however_long_the_name_is(void **state)
{
	static const size_t lengths[] = { 1, 100, 228, 229, 230, 231, 254, 255 };
	static struct job_test t;
	char name[256], path[300], temporary[300];

	(void)state;
	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct wire_write request = REQUEST(WIRE_WRITE_REPLACE, "");
		const char *tail;
		struct wire_done done;
		struct error err;
		int status = -1;
		pid_t child;

		for (size_t k = 0; k + 1 < lengths[i]; k += 2)
			memcpy(name + k, "\xc3\xa4", 2);
		if (lengths[i] % 2 != 0)
			name[lengths[i] - 1] = 'x';
		name[lengths[i]] = '\0';
		request.path = view_of(name);
		job_test_again(&t);
		child = fork();
		if (child == 0)
			_exit(op_write(&t.job, &request, &done, &err) == 0 ? 0 : 1);
		find_temporary(&t, temporary, sizeof temporary);
		job_test_feed(&t, VIEW("text"));
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		tail = strstr(temporary, ".belljar-");
		assert_non_null(tail);
		assert_int_equal(strlen(tail), strlen(".belljar-0123456789abcdef"));
		assert_true(utf8_valid(view_of(temporary)));
		(void)snprintf(path, sizeof path, "workspace/%s", name);
		job_test_holds(&t, path, "text");
		assert_int_equal(unlink(job_test_path(&t, path)), 0);
		assert_int_equal(job_test_count(&t, "workspace"), 0);
	}
	job_test_stop(&t);
}

static int nobody_writes(struct job_test *t, struct error *err)
{
	static const struct {
		struct wire_write request;
		int errnum;
	} cases[] = {
		{ { .mode = WIRE_WRITE_REPLACE, .max = 9, .path = VIEW_INIT("read-only") },
		  EACCES },
		{ { .mode = WIRE_WRITE_APPEND, .max = 9, .path = VIEW_INIT("read-only") }, EACCES },
		{ { .mode = WIRE_WRITE_REPLACE, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
		{ { .mode = WIRE_WRITE_CREATE, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
		{ { .mode = WIRE_WRITE_APPEND, .max = 9, .path = VIEW_INIT("/new") }, EACCES },
	};
	struct wire_done done;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (op_write(&t->job, &cases[i].request, &done, err) == 0 ||
		    err->errnum != cases[i].errnum)
			return -1;
	return 0;
}

static void a_file_that_may_not_be_written_is_not_replaced(void **state)
{
	static struct job_test t;

	(void)state;
	job_test_start(&t);
	job_test_file(&t, "workspace/read-only", VIEW("old"));
	if (geteuid() == 0)
		job_test_as_nobody(&t, nobody_writes);
	job_test_holds(&t, "workspace/read-only", "old");
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_has_the_mode_asked_for_less_the_umask),
		TEST(an_old_file_is_replaced_and_keeps_its_mode),
		TEST(a_final_link_is_followed_inside_and_stays),
		TEST(create_refuses_whatever_is_there),
		TEST(create_does_not_replace_a_latecomer),
		TEST(append_adds_to_the_end),
		TEST(a_large_file_arrives_whole),
		TEST(missing_parents_are_made_when_asked_for),
		TEST(too_many_bytes_change_nothing),
		TEST(a_request_that_is_closed_leaves_nothing),
		TEST(refuses_what_is_no_regular_file),
		TEST(the_temporary_name_fits_however_long_the_name_is),
		TEST(a_file_that_may_not_be_written_is_not_replaced),
	};

	return RUN_TESTS("op_write", tests);
}
