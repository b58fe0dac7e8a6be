/* test_live_files.c - the real agent's file operations: each once, what it returns and how it
 * fails. */
#include "unit/agent/live/live_files.h"

/* --- reading --- */

static const struct reading {
	const char *what;
	uint8_t unit;
	uint64_t from, count, max;
	const char *want;
	uint8_t flags;
	uint64_t lines;
} readings[] = {
	{ "all bytes", WIRE_UNIT_BYTES, 0, UINT64_MAX, 100, "one\ntwo\nthree", 0, 0 },
	{ "some bytes", WIRE_UNIT_BYTES, 4, 3, 100, "two", 0, 0 },
	{ "no bytes", WIRE_UNIT_BYTES, 4, 0, 100, "", 0, 0 },
	{ "behind the end", WIRE_UNIT_BYTES, 100, 3, 100, "", 0, 0 },
	{ "where no file is", WIRE_UNIT_BYTES, UINT64_MAX, 3, 100, "", 0, 0 },
	{ "max cuts", WIRE_UNIT_BYTES, 0, UINT64_MAX, 5, "one\nt", WIRE_DONE_MORE, 0 },
	{ "max is exact", WIRE_UNIT_BYTES, 0, UINT64_MAX, 13, "one\ntwo\nthree", 0, 0 },
	{ "a line", WIRE_UNIT_LINES, 2, 1, 100, "two\n", WIRE_DONE_MORE, 1 },
	{ "the last line", WIRE_UNIT_LINES, 3, 10, 100, "three", 0, 1 },
	{ "no such line", WIRE_UNIT_LINES, 4, 1, 100, "", 0, 0 },
	{ "max cuts a line", WIRE_UNIT_LINES, 1, 10, 6, "one\ntw", WIRE_DONE_MORE, 2 },
};

static void read_returns_ranges_of_bytes_and_lines(void **state)
{
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("one\ntwo\nthree"));
	for (size_t i = 0; i < ARRAY_LEN(readings); i++) {
		const struct reading *row = &readings[i];
		struct live_stream *s = LIVE_QUERY(&live, .type = WIRE_READ,
		                                   .read = { .unit = row->unit,
		                                             .from = row->from,
		                                             .count = row->count,
		                                             .max = row->max,
		                                             .path = VIEW("f") });

		print_message("# %s\n", row->what);
		CHECK_VIEW(buf_view(&live_check(s)->got[WIRE_OUT]), row->want);
		assert_int_equal(s->done.flags, row->flags);
		assert_int_equal(s->done.bytes, strlen(row->want));
		assert_int_equal(s->done.count, row->lines);
		assert_int_equal(s->done.total, 13);
	}
	live_stop(&live);
}

static void read_does_not_rely_on_the_file_size(void **state)
{
	struct live live;
	struct live_stream *s;
	int fd;

	files_begin(&live, state, (struct live_options){ 0 });
	s = live_check(live_read_file(&live, "/proc/self/status"));
	assert_true(s->done.total == 0 && s->done.bytes == s->got[WIRE_OUT].len);
	assert_non_null(strstr(buf_text(&s->got[WIRE_OUT]), "\nPPid:\t"));
	fd = open(files_at(&live, "sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	assert_int_equal(ftruncate(fd, 1LL << 40), 0);
	(void)close(fd);
	s = LIVE_QUERY(
	        &live, .type = WIRE_READ,
	        .read = {
	                .from = 123, .count = UINT64_MAX, .max = 100000, .path = VIEW("sparse") });
	assert_int_equal(live_check(s)->got[WIRE_OUT].len, 100000);
	assert_int_equal(s->done.flags, WIRE_DONE_MORE);
	assert_int_equal(s->done.total, 1LL << 40);
	s = LIVE_QUERY(&live, .type = WIRE_READ,
	               .read = { .unit = WIRE_UNIT_LINES,
	                         .from = 1,
	                         .count = 1,
	                         .max = 70000,
	                         .path = VIEW("sparse") });
	assert_int_equal(live_check(s)->got[WIRE_OUT].len, 70000);
	live_stop(&live);
}

/* --- refusals --- */

#define PATH(literal) .path = VIEW_INIT(literal)

static const struct refusal {
	struct wire_message request;
	enum wire_failure failure;
	const char *message; /* ends in ": ": the rest is the C library's */
} refusals[] = {
	{ { .type = WIRE_READ, .read = { PATH("none") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_READ, .read = { PATH("f/x") } },
	  WIRE_FAILED_MISSING,
	  "f/x: Not a directory" },
	{ { .type = WIRE_READ, .read = { PATH("d") } },
	  WIRE_FAILED_INVALID,
	  "d: is a directory, not a regular file" },
	{ { .type = WIRE_READ, .read = { PATH("fifo") } },
	  WIRE_FAILED_INVALID,
	  "fifo: is a FIFO, not a regular file" },
	{ { .type = WIRE_READ, .read = { PATH("/dev/null") } },
	  WIRE_FAILED_INVALID,
	  "/dev/null: is a device, not a regular file" },
	{ { .type = WIRE_READ, .read = { .unit = WIRE_UNIT_LINES, PATH("f") } },
	  WIRE_FAILED_INVALID,
	  "line 0: lines are counted from 1" },
	{ { .type = WIRE_WRITE, .write = { .perm = 0600, PATH("no/f") } },
	  WIRE_FAILED_MISSING,
	  "no/f: No such file or directory" },
	{ { .type = WIRE_WRITE, .write = { .perm = 0600, PATH("d") } },
	  WIRE_FAILED_INVALID,
	  "d: is a directory, not a regular file" },
	{ { .type = WIRE_WRITE, .write = { .perm = 0600, PATH("fifo") } },
	  WIRE_FAILED_INVALID,
	  "fifo: is a FIFO, not a regular file" },
	{ { .type = WIRE_WRITE, .write = { .perm = 0600, PATH("new/") } },
	  WIRE_FAILED_INVALID,
	  "new/: the name of a file does not end in a slash" },
	{ { .type = WIRE_WRITE, .write = { .mode = WIRE_WRITE_CREATE, .perm = 0600, PATH("f") } },
	  WIRE_FAILED_SYSTEM,
	  "f: File exists" },
	{ { .type = WIRE_WRITE,
	    .write = { .mode = WIRE_WRITE_APPEND, .perm = 0600, PATH("fifo") } },
	  WIRE_FAILED_INVALID,
	  "fifo: is a FIFO, not a regular file" },
	{ { .type = WIRE_STAT, .stat = { PATH("none") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_STAT, .stat = { PATH("loop") } }, WIRE_FAILED_SYSTEM, "loop: " },
	{ { .type = WIRE_LIST, .list = { .limit = 1, PATH("f"), .cursor = VIEW_INIT("") } },
	  WIRE_FAILED_MISSING,
	  "f: Not a directory" },
	{ { .type = WIRE_TREE, .tree = { .depth = 1, .limit = 1, PATH("none") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_FIND,
	    .find = { .depth = 1, .limit = 1, PATH("none"), .pattern = VIEW_INIT("*") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_GREP,
	    .grep = { .flags = WIRE_WALK_REGEX,
	              .depth = 1,
	              .limit = 1,
	              PATH("."),
	              .pattern = VIEW_INIT("a("),
	              .names = VIEW_INIT("") } },
	  WIRE_FAILED_INVALID,
	  "the expression 'a(': " },
	{ { .type = WIRE_REMOVE, .remove = { PATH("d") } },
	  WIRE_FAILED_INVALID,
	  "d: the directory is not empty: remove it recursively, or what is in it first" },
	{ { .type = WIRE_REMOVE, .remove = { PATH("none") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_REMOVE, .remove = { .flags = WIRE_RECURSIVE, PATH(".") } },
	  WIRE_FAILED_INVALID,
	  "the workspace itself cannot be removed" },
	{ { .type = WIRE_REMOVE, .remove = { .flags = WIRE_RECURSIVE, PATH("/") } },
	  WIRE_FAILED_INVALID,
	  "the root itself cannot be removed" },
	{ { .type = WIRE_RENAME, .rename = { .from = VIEW_INIT("none"), .to = VIEW_INIT("b") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_RENAME, .rename = { .from = VIEW_INIT("f"), .to = VIEW_INIT("d/g") } },
	  WIRE_FAILED_SYSTEM,
	  "d/g: File exists" },
	{ { .type = WIRE_RENAME, .rename = { .from = VIEW_INIT("d"), .to = VIEW_INIT("d/d") } },
	  WIRE_FAILED_INVALID,
	  "d: cannot be moved into itself (d/d)" },
	{ { .type = WIRE_PACK, .pack = { .max = 1, .max_count = 1, PATH("none") } },
	  WIRE_FAILED_MISSING,
	  "none: No such file or directory" },
	{ { .type = WIRE_UNPACK, .unpack = { .max = 1, .max_count = 1, PATH("f") } },
	  WIRE_FAILED_MISSING,
	  "f: Not a directory" },
};

static void check_refused(struct live_stream *s, const struct refusal *want)
{
	size_t len = strlen(want->message);

	if (len > 2 && want->message[len - 1] == ' ' && strlen(s->error.msg) > len)
		s->error.msg[len] = '\0';
	LIVE_CHECK_FAILED(s, want->failure, want->message);
}

static void every_failure_names_path_and_reason(void **state)
{
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("old"));
	files_mkdir(&live, "d");
	files_put(&live, "d/g", VIEW("g"));
	assert_int_equal(mkfifo(files_at(&live, "fifo"), 0644), 0);
	assert_int_equal(symlink("loop", files_at(&live, "loop")), 0);
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++)
		check_refused(live_query(&live, &refusals[i].request), &refusals[i]);
	files_check(&live, "f", "old");
	files_check(&live, "d/g", "g");
	assert_int_equal(files_count(live.made), 4);
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
}

/* --- writing --- */

static void write_replaces_creates_and_appends(void **state)
{
	struct live_stream *s;
	struct live live;
	struct stat st;

	files_begin(&live, state, (struct live_options){ 0 });
	s = live_check(files_write(&live, "f", WIRE_WRITE_CREATE, "first"));
	assert_true(s->done.bytes == 5 && s->done.total == 5);
	files_check(&live, "f", "first");
	assert_int_equal(lstat(files_at(&live, "f"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0640);
	s = live_check(files_write(&live, "f", WIRE_WRITE_APPEND, ", second"));
	assert_true(s->done.bytes == 8 && s->done.total == 13);
	files_check(&live, "f", "first, second");
	assert_int_equal(chmod(files_at(&live, "f"), 0711), 0);
	s = live_check(files_write(&live, "f", WIRE_WRITE_REPLACE, "third"));
	assert_true(s->done.bytes == 5 && s->done.total == 5);
	files_check(&live, "f", "third");
	assert_int_equal(lstat(files_at(&live, "f"), &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0711);
	s = live_check(files_write(&live, "log", WIRE_WRITE_APPEND, "new"));
	files_check(&live, "log", "new");
	(void)live_check(live_write_file(&live, "a/b/c", VIEW("deep")));
	files_check(&live, "a/b/c", "deep");
	(void)live_check(files_write(&live, "empty", WIRE_WRITE_REPLACE, ""));
	files_check(&live, "empty", "");
	assert_int_equal(files_count(live.made), 4);
	live_stop(&live);
}

static const char long_text[200 * 1024];

/* Each mode, with and without an existing file. */
static void check_undone(struct live *live, struct live_stream *s)
{
	assert_true(live_wait(s)->is_failed);
	live_wait_no_descendants(live, LIVE_MS);
	files_check(live, "f", "old");
	assert_int_equal(files_count(live->made), 1);
}

static void closed_write_leaves_the_old_file(void **state)
{
	static const enum wire_write_mode modes[] = { WIRE_WRITE_REPLACE, WIRE_WRITE_CREATE,
		                                      WIRE_WRITE_APPEND };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("old"));
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		const char *name = modes[i] == WIRE_WRITE_CREATE ? "new" : "f";
		struct live_stream *s = files_open_write(&live, name, modes[i], UINT64_MAX);

		live_feed(s, (struct view){ long_text, sizeof long_text }, sizeof long_text);
		LIVE_UNTIL(&live, s->sent == s->to_send, LIVE_MS);
		channel_close(s->stream);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "closed");
		check_undone(&live, s);
	}
	live_stop(&live);
}

static void write_beyond_its_limit_leaves_the_old_file(void **state)
{
	static const struct {
		const char *name;
		enum wire_write_mode mode;
		const char *message;
	} rows[] = {
		{ "f", WIRE_WRITE_REPLACE,
		  "f: would be larger than 100000 bytes: nothing was changed" },
		{ "new", WIRE_WRITE_CREATE,
		  "new: would be larger than 100000 bytes: nothing was changed" },
		{ "f", WIRE_WRITE_APPEND,
		  "f: more than 100000 bytes to append: nothing was changed" },
	};
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("old"));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct live_stream *s = files_open_write(&live, rows[i].name, rows[i].mode, 100000);

		live_feed(s, (struct view){ long_text, sizeof long_text }, sizeof long_text);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_LIMIT, rows[i].message);
		check_undone(&live, s);
	}
	live_stop(&live);
}

static void write_of_a_killed_worker_leaves_the_old_file(void **state)
{
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("old"));
	s = files_open_write(&live, "f", WIRE_WRITE_REPLACE, UINT64_MAX);
	live_feed(s, (struct view){ long_text, sizeof long_text }, sizeof long_text);
	LIVE_UNTIL(&live, s->sent == s->to_send, LIVE_MS);
	assert_int_equal(kill(files_worker(&live), SIGKILL), 0);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_LOST, "the worker process was killed");
	files_check(&live, "f", "old");
	assert_int_equal(files_count(live.made), 1);
	(void)live_check(files_write(&live, "f", WIRE_WRITE_REPLACE, "new"));
	files_check(&live, "f", "new");
	live_stop(&live);
}

/* Mounts in the agent's mount namespace, which a program inside may not do. */
static void mount_small(const struct live *live, const char *name)
{
	char path[PATH_MAX];
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		int ns;

		(void)snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)live->agent);
		ns = open(path, O_RDONLY | O_CLOEXEC);
		(void)snprintf(path, sizeof path, "%s/%s", live->made, name);
		_exit(ns < 0 || setns(ns, CLONE_NEWNS) < 0 ||
		      mount("none", path, "tmpfs", 0, "size=64k") < 0);
	}
	assert_true(pid > 0 && waitpid(pid, &status, 0) == pid);
	assert_int_equal(status, 0);
}

/* Needs root in a mount namespace of the test's own, to mount a small file system. */
static void write_to_a_full_disk_leaves_the_old_file(void **state)
{
	static const enum wire_write_mode modes[] = { WIRE_WRITE_REPLACE, WIRE_WRITE_APPEND };
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_mkdir(&live, "disk");
	if (geteuid() != 0) {
		live_stop(&live);
		SKIP_TEST("only root can mount a small disk");
	}
	mount_small(&live, "disk");
	(void)live_check(files_write(&live, "disk/f", WIRE_WRITE_REPLACE, "old"));
	for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
		s = files_open_write(&live, "disk/f", modes[i], UINT64_MAX);
		live_feed(s, (struct view){ long_text, sizeof long_text }, sizeof long_text);
		LIVE_CHECK_FAILED(s, WIRE_FAILED_LIMIT, "disk/f: write: No space left on device");
		s = live_exec(&live, "sh", "-c", "cat disk/f; ls -A disk");
		CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "oldf\n");
	}
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(read_returns_ranges_of_bytes_and_lines),
		TWICE(read_does_not_rely_on_the_file_size),
		TWICE(every_failure_names_path_and_reason),
		TWICE(write_replaces_creates_and_appends),
		TWICE(closed_write_leaves_the_old_file),
		TWICE(write_beyond_its_limit_leaves_the_old_file),
		TWICE(write_of_a_killed_worker_leaves_the_old_file),
		ONLY_PID1(write_to_a_full_disk_leaves_the_old_file),
	};

	return RUN_TESTS("live files", all);
}
