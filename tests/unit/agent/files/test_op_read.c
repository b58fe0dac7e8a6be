#include "unit/agent/files/job_test.h"

#include "agent/files/ops.h"
#include "base/error.h"

#define BYTES(from_, count_, max_)                                                                 \
	.request = { .unit = WIRE_UNIT_BYTES, .from = (from_), .count = (count_), .max = (max_) }
#define LINES(from_, count_, max_)                                                                 \
	.request = { .unit = WIRE_UNIT_LINES, .from = (from_), .count = (count_), .max = (max_) }
#define ALL UINT64_MAX

static void read_sends_the_requested_range(void **state)
{
	static const struct {
		const char *file;
		struct wire_read request;
		const char *want;
		uint64_t count;
		bool more;
	} cases[] = {
		{ "0123456789", BYTES(0, ALL, ALL), "0123456789", 0, false },
		{ "0123456789", BYTES(3, 4, ALL), "3456", 0, false },
		{ "0123456789", BYTES(3, 4, 4), "3456", 0, false },
		{ "0123456789", BYTES(3, 4, 2), "34", 0, true },
		{ "0123456789", BYTES(3, ALL, 7), "3456789", 0, false },
		{ "0123456789", BYTES(3, ALL, 6), "345678", 0, true },
		{ "0123456789", BYTES(8, 100, 50), "89", 0, false },
		{ "0123456789", BYTES(10, 1, 1), "", 0, false },
		{ "0123456789", BYTES(1000, 1, 1), "", 0, false },
		{ "0123456789", BYTES(INT64_MAX, 1, 1), "", 0, false },
		{ "0123456789", BYTES(ALL, ALL, ALL), "", 0, false },
		{ "0123456789", BYTES(0, 0, ALL), "", 0, false },
		{ "0123456789", BYTES(0, 1, 0), "", 0, true },
		{ "", BYTES(0, ALL, 0), "", 0, false },
		{ "one\ntwo\nthree\n", LINES(1, ALL, ALL), "one\ntwo\nthree\n", 3, false },
		{ "one\ntwo\nthree\n", LINES(2, 1, ALL), "two\n", 1, true },
		{ "one\ntwo\nthree\n", LINES(2, 2, ALL), "two\nthree\n", 2, false },
		{ "one\ntwo\nthree\n", LINES(3, ALL, ALL), "three\n", 1, false },
		{ "one\ntwo\nthree\n", LINES(4, 1, ALL), "", 0, false },
		{ "one\ntwo\nthree\n", LINES(ALL, ALL, ALL), "", 0, false },
		{ "one\ntwo\nthree\n", LINES(1, 2, 5), "one\nt", 2, true },
		{ "one\ntwo\nthree\n", LINES(1, 2, 8), "one\ntwo\n", 2, true },
		{ "one\ntwo\nthree\n", LINES(1, 2, 4), "one\n", 1, true },
		{ "one\ntwo\nthree\n", LINES(1, 2, 0), "", 0, true },
		{ "one\ntwo\nthree\n", LINES(1, 0, ALL), "", 0, true },
		{ "one\ntwo", LINES(2, 1, ALL), "two", 1, false },
		{ "one\ntwo", LINES(1, 1, ALL), "one\n", 1, true },
		{ "one\ntwo", LINES(3, 1, ALL), "", 0, false },
		{ "\n\n\nx", LINES(2, 2, ALL), "\n\n", 2, true },
		{ "one\r\ntwo\r\n", LINES(2, 1, ALL), "two\r\n", 1, false },
		{ "", LINES(1, ALL, ALL), "", 0, false },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct wire_read request = cases[i].request;

		request.path = view_of("file");
		job_test_again(&t);
		job_test_file(&t, "workspace/file", view_of(cases[i].file));
		CHECK_OK(op_read(&t.job, &request, &done, &err), err);
		job_test_finish(&t);
		if (strcmp(buf_text(&t.data), cases[i].want) != 0)
			fail_msg("case %zu: '%s' instead of '%s'", i, buf_text(&t.data),
			         cases[i].want);
		assert_int_equal(done.bytes, strlen(cases[i].want));
		assert_int_equal(done.count, cases[i].count);
		assert_int_equal(done.total, strlen(cases[i].file));
		if (done.flags != (cases[i].more ? WIRE_DONE_MORE : 0))
			fail_msg("case %zu: flags %#x", i, done.flags);
	}
	job_test_stop(&t);
}

static void read_refuses_line_zero(void **state)
{
	static const struct {
		struct wire_read request;
		enum error_kind kind;
		const char *message;
	} cases[] = {
		{ { .unit = WIRE_UNIT_LINES, .count = 1, .max = 1, .path = VIEW_INIT("x") },
		  ERR_INVALID,
		  "line 0: lines are counted from 1" },
		{ { .path = VIEW_INIT("missing") },
		  ERR_SYSTEM,
		  "missing: No such file or directory" },
		{ { .path = VIEW_INIT("fifo") },
		  ERR_INVALID,
		  "fifo: is a FIFO, not a regular file" },
		{ { .path = VIEW_INIT("socket") },
		  ERR_INVALID,
		  "socket: is a socket, not a regular file" },
		{ { .path = VIEW_INIT("/workspace") },
		  ERR_INVALID,
		  "/workspace: is a directory, not a regular file" },
	};
	static struct job_test t;
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	assert_int_equal(mkfifo(job_test_path(&t, "workspace/fifo"), 0666), 0);
	assert_int_equal(mknod(job_test_path(&t, "workspace/socket"), S_IFSOCK | 0666, 0), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_ERROR(op_read(&t.job, &cases[i].request, &done, &err), err, cases[i].kind,
		            cases[i].message);
	job_test_stop(&t);
}

/* Several chunks, with lines across their edges: the same result as cutting in memory. */
static void read_finds_lines_across_chunks(void **state)
{
	enum { LINE = 1009, COUNT = 500 };
	static char file[LINE * COUNT];
	static struct job_test t;
	struct wire_read request = { .unit = WIRE_UNIT_LINES, .max = ALL, .path = VIEW_INIT("f") };
	struct wire_done done;
	struct error err;

	for (size_t i = 0; i < sizeof file; i++)
		file[i] = i % LINE == LINE - 1 ? '\n' : (char)('a' + i % 23);
	job_test_start(&t);
	job_test_file(&t, "workspace/f", (struct view){ file, sizeof file });
	for (uint64_t from = 1; from <= COUNT; from += 37) {
		job_test_again(&t);
		request.from = from;
		request.count = 100;
		CHECK_OK(op_read(&t.job, &request, &done, &err), err);
		job_test_finish(&t);
		assert_int_equal(done.count, from + 99 <= COUNT ? 100 : COUNT - from + 1);
		assert_int_equal(t.data.len, done.count * LINE);
		assert_memory_equal(t.data.ptr, file + (from - 1) * LINE, t.data.len);
		assert_int_equal(done.flags, from + 99 < COUNT ? WIRE_DONE_MORE : 0);
	}
	job_test_stop(&t);
}

static void sparse_terabyte_is_cut_at_the_maximum(void **state)
{
	static struct job_test t;
	struct wire_read request = { .count = ALL, .max = 100000, .path = VIEW_INIT("sparse") };
	struct wire_done done;
	struct error err;
	int fd;

	job_test_start(&t);
	fd = open(job_test_path(&t, "workspace/sparse"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(fd, (off_t)1 << 40), 0);
	(void)close(fd);
	for (uint8_t unit = 0; unit < WIRE_UNIT_COUNT; unit++) {
		job_test_again(&t);
		request.unit = unit;
		request.from = unit;
		CHECK_OK(op_read(&t.job, &request, &done, &err), err);
		job_test_finish(&t);
		assert_int_equal(t.data.len, 100000);
		assert_int_equal(done.bytes, 100000);
		assert_int_equal(done.total, (uint64_t)1 << 40);
		assert_int_equal(done.flags, WIRE_DONE_MORE);
		assert_true(t.largest <= JOB_PACKET_MAX);
	}
	job_test_stop(&t);
}

static void file_that_reports_no_size_is_read(void **state)
{
	struct wire_read request = { .count = ALL, .max = ALL, .path = VIEW_INIT("/proc/cpuinfo") };
	static struct job_test t;
	struct wire_done done;
	struct error err;
	int old;

	job_test_start(&t);
	old = t.job.root;
	t.job.root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK_OK(op_read(&t.job, &request, &done, &err), err);
	job_test_finish(&t);
	assert_int_equal(done.total, 0);
	assert_true(done.bytes > 0 && done.bytes == t.data.len);
	(void)close(t.job.root);
	t.job.root = old;
	job_test_stop(&t);
}

struct grower {
	int fd;
	volatile bool stop;
};

static void *grow(void *ctx)
{
	static const char line[1000] = { [999] = '\n' };
	struct grower *grower = ctx;

	while (!grower->stop)
		if (write(grower->fd, line, sizeof line) < 0)
			break;
	return NULL;
}

/* A reader that trusts the reported size of such a file may never end. */
static void growing_file_is_cut_at_the_maximum(void **state)
{
	static struct job_test t;
	struct wire_read request = { .count = ALL, .max = 4000000, .path = VIEW_INIT("log") };
	struct grower grower = { .stop = false };
	struct wire_done done;
	struct error err;
	pthread_t thread;

	job_test_start(&t);
	grower.fd = open(job_test_path(&t, "workspace/log"),
	                 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_int_equal(ftruncate(grower.fd, 3990000), 0);
	assert_int_equal(pthread_create(&thread, NULL, grow, &grower), 0);
	/* The file grows past the maximum while it is read. */
	do {
		job_test_again(&t);
		CHECK_OK(op_read(&t.job, &request, &done, &err), err);
		job_test_finish(&t);
		assert_true(done.bytes <= request.max && done.bytes >= 3990000);
		assert_int_equal(done.bytes, t.data.len);
	} while (done.flags == 0);
	assert_int_equal(done.bytes, request.max);
	grower.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(grower.fd);
	job_test_stop(&t);
}

static void closed_request_ends_grep(void **state)
{
	static struct job_test t;
	struct wire_read request = { .count = ALL, .max = ALL, .path = VIEW_INIT("sparse") };
	struct wire_done done;
	struct error err;

	job_test_start(&t);
	job_test_file(&t, "workspace/sparse", VIEW(""));
	assert_int_equal(truncate(job_test_path(&t, "workspace/sparse"), (off_t)1 << 40), 0);
	job_test_feed_and_close(&t, VIEW(""));
	CHECK_ERROR(op_read(&t.job, &request, &done, &err), err, ERR_SYSTEM,
	            "the request was closed");
	assert_int_equal(err.errnum, EPIPE);
	job_test_stop(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(read_sends_the_requested_range),
		TEST(read_refuses_line_zero),
		TEST(read_finds_lines_across_chunks),
		TEST(sparse_terabyte_is_cut_at_the_maximum),
		TEST(file_that_reports_no_size_is_read),
		TEST(growing_file_is_cut_at_the_maximum),
		TEST(closed_request_ends_grep),
	};

	return RUN_TESTS("op_read", tests);
}
