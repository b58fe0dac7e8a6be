#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "unit/test.h"

enum { QUEUE = 100000, PIPE_SIZE = 4096 };

static struct sender {
	struct loop *loop;
	struct output *output;
	size_t drained, failed;
	int errnum;
	char why[480];
	bool free_on_event;
	int pipe[2];
} it;

static void happened(void)
{
	if (it.free_on_event)
		it.output = output_free(it.output);
	loop_stop(it.loop);
}

static void on_drained(void *ctx)
{
	assert_ptr_equal(ctx, &it);
	it.drained++;
	happened();
}

static void on_failed(void *ctx, const struct error *why)
{
	assert_ptr_equal(ctx, &it);
	it.failed++;
	it.errnum = why->errnum;
	(void)snprintf(it.why, sizeof it.why, "%s", why->msg);
	happened();
}

static const struct output_events events = { .drained = on_drained, .failed = on_failed };

static void too_late(int signo)
{
	static const char text[] = "Bail out! the loop did not end\n";

	(void)signo;
	_exit(write(STDOUT_FILENO, text, sizeof text - 1) < 0 ? 2 : 1);
}

static int open_all(void **state)
{
	struct error err;

	(void)state;
	(void)signal(SIGALRM, too_late);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(30);
	it = (struct sender){ .pipe = { -1, -1 } };
	if (loop_new(&it.loop, &err) < 0 || pipe(it.pipe) < 0)
		return -1;
	return fcntl(it.pipe[1], F_SETPIPE_SZ, PIPE_SIZE) == PIPE_SIZE ? 0 : -1;
}

static int close_all(void **state)
{
	(void)state;
	(void)alarm(0);
	(void)output_free(it.output);
	(void)loop_free(it.loop);
	(void)close(it.pipe[0]);
	(void)close(it.pipe[1]);
	return 0;
}

static void open_output(int fd)
{
	struct error err;

	CHECK_OK(output_new(it.loop, fd, QUEUE, &events, &it, &it.output, &err), err);
}

/* The bytes from..from+len of one long sequence, so that order and loss show. */
static void send_bytes(size_t from, size_t len)
{
	char *bytes = malloc(len);
	struct error err;

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)((from + i) % 251);
	CHECK_OK(output_write(it.output, (struct view){ bytes, len }, &err), err);
	free(bytes); /* whatever is queued is a copy */
}

static size_t receive(size_t from, size_t most)
{
	char bytes[PIPE_SIZE];
	ssize_t n = read(it.pipe[0], bytes, most < sizeof bytes ? most : sizeof bytes);

	assert_true(n >= 0);
	for (size_t i = 0; i < (size_t)n; i++)
		if (bytes[i] != (char)((from + i) % 251))
			fail_msg("byte %zu is wrong", from + i);
	return (size_t)n;
}

static void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

static void run_for(uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(it.loop, stop_loop, it.loop);

	loop_timer_start(timer, ms);
	loop_run(it.loop);
	(void)loop_timer_free(timer);
}

static void what_fits_is_written_at_once(void **state)
{
	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, 100);
	assert_int_equal(output_pending(it.output), 0);
	assert_int_equal(receive(0, 1000), 100); /* the loop has not run */
	run_for(10);
	assert_int_equal(it.drained, 0); /* nothing had waited */
}

static void an_empty_write_is_nothing(void **state)
{
	struct error err;

	(void)state;
	open_output(it.pipe[1]);
	CHECK_OK(output_write(it.output, (struct view){ 0 }, &err), err);
	assert_int_equal(output_pending(it.output), 0);
}

static void what_does_not_fit_waits_and_keeps_its_order(void **state)
{
	enum { FIRST = 50000, SECOND = 3000, ALL = FIRST + SECOND };
	size_t got;

	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, FIRST);
	assert_int_equal(output_pending(it.output), FIRST - PIPE_SIZE);
	got = receive(0, PIPE_SIZE); /* room again, for what came first */
	send_bytes(FIRST, SECOND);
	assert_int_equal(output_pending(it.output), ALL - 2 * PIPE_SIZE);
	while (output_pending(it.output) != 0) {
		assert_int_equal(it.drained, 0);
		run_for(1);
		got += receive(got, 1000); /* a slow reader: partial writes */
	}
	assert_int_equal(it.drained, 1);
	assert_int_equal(output_pending(it.output), 0);
	while (got < ALL)
		got += receive(got, 1000);
	assert_int_equal(it.failed, 0);
	run_for(10);
	assert_int_equal(it.drained, 1); /* once */

	send_bytes(ALL, 10); /* and it can be used again */
	assert_int_equal(receive(ALL, 1000), 10);
}

static void the_queue_has_a_limit_and_refuses_whole_writes(void **state)
{
	static const char filler[PIPE_SIZE + 1];
	const char *why = "the reader is too slow: more than 100000 bytes wait for it (max_queue)";
	struct error err;

	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, QUEUE);
	assert_int_equal(output_pending(it.output), QUEUE - PIPE_SIZE);
	CHECK_ERROR(output_write(it.output, (struct view){ filler, PIPE_SIZE + 1 }, &err), err,
	            ERR_LIMIT, why);
	assert_int_equal(output_pending(it.output), QUEUE - PIPE_SIZE); /* none of it */
	send_bytes(QUEUE, PIPE_SIZE);                                   /* to the last byte */
	assert_int_equal(output_pending(it.output), QUEUE);
	assert_int_equal(it.failed, 0);
}

/* However long, alone in the queue it says nothing of the reader. */
static void one_write_of_any_length_may_wait(void **state)
{
	enum { LONG = 3 * QUEUE };
	size_t got = 0;

	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, LONG);
	assert_int_equal(output_pending(it.output), LONG - PIPE_SIZE);
	while (got < LONG) {
		got += receive(got, PIPE_SIZE);
		run_for(1);
	}
	assert_int_equal(it.drained, 1);
	assert_int_equal(it.failed, 0);
}

/* The queue is emptied by a write, not by the loop: still told, and no failure. */
static void a_queue_emptied_by_the_next_write_is_drained(void **state)
{
	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, PIPE_SIZE + 10);
	assert_int_equal(receive(0, PIPE_SIZE), PIPE_SIZE);
	send_bytes(PIPE_SIZE + 10, 10);
	assert_int_equal(output_pending(it.output), 0);
	assert_int_equal(receive(PIPE_SIZE, 1000), 20);
	run_for(10);
	assert_int_equal(it.failed, 0);
	assert_int_equal(it.drained, 1);
}

/* Nothing is being written: the departure itself is noticed. */
static void a_peer_that_leaves_is_noticed(void **state)
{
	(void)state;
	open_output(it.pipe[1]);
	run_for(10);
	assert_int_equal(it.failed, 0);
	(void)close(it.pipe[0]);
	it.pipe[0] = -1;
	loop_run(it.loop);
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.errnum, EPIPE);
}

static void a_peer_that_is_gone_is_reported_from_the_loop(void **state)
{
	char want[480];

	(void)state;
	open_output(it.pipe[1]);
	(void)close(it.pipe[0]);
	it.pipe[0] = -1;
	send_bytes(0, 10);
	assert_int_equal(it.failed, 0); /* not on the caller's stack */
	loop_run(it.loop);
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.errnum, EPIPE);
	(void)snprintf(want, sizeof want, "write to descriptor %d: Broken pipe", it.pipe[1]);
	assert_string_equal(it.why, want);
	send_bytes(0, 10); /* dropped silently */
	assert_int_equal(output_pending(it.output), 0);
	run_for(10);
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.drained, 0);
}

static void a_peer_that_goes_while_bytes_wait_is_reported(void **state)
{
	(void)state;
	open_output(it.pipe[1]);
	send_bytes(0, 50000);
	(void)receive(0, 100);
	(void)close(it.pipe[0]);
	it.pipe[0] = -1;
	loop_run(it.loop);
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.errnum, EPIPE);
	assert_int_equal(output_pending(it.output), 0);
}

static void non_blocking_is_set_and_put_back(void **state)
{
	static const int befores[] = { 0, O_NONBLOCK, O_APPEND };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(befores); i++) {
		const int mask = O_NONBLOCK | O_APPEND;

		assert_int_equal(fcntl(it.pipe[1], F_SETFL, befores[i]), 0);
		open_output(it.pipe[1]);
		assert_int_equal(fcntl(it.pipe[1], F_GETFL) & mask, befores[i] | O_NONBLOCK);
		it.output = output_free(it.output);
		assert_int_equal(fcntl(it.pipe[1], F_GETFL) & mask, befores[i]);
	}
}

static void a_descriptor_that_is_not_open_is_refused(void **state)
{
	struct error err;

	(void)state;
	CHECK_ERROR(output_new(it.loop, 900, QUEUE, &events, &it, &it.output, &err), err,
	            ERR_SYSTEM, "use descriptor 900 for output: Bad file descriptor");
	assert_null(it.output);
}

static int scratch_file(void)
{
	char path[] = "/tmp/belljar-test-output-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path);
	return fd;
}

static void a_regular_file_takes_everything(void **state)
{
	AUTO_FD int fd = scratch_file();
	struct stat st;

	(void)state;
	open_output(fd);
	send_bytes(0, QUEUE);
	send_bytes(0, 5);
	assert_int_equal(output_pending(it.output), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, QUEUE + 5);
}

static void a_full_disk_is_reported(void **state)
{
	AUTO_FD int fd = open("/dev/full", O_WRONLY);
	struct stderr_capture c;
	char said[4096];

	(void)state;
	open_output(fd);
	stderr_capture_start(&c);
	send_bytes(0, 10);
	loop_run(it.loop);
	assert_string_equal(stderr_capture_end(&c, said, sizeof said), "");
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.errnum, ENOSPC);
}

/* The disk has a little room again when the loop comes to the rest: that much is written,
 * and then the failure is seen. No event will ever tell that a file is writable. */
static void a_file_that_takes_a_part_is_tried_again(void **state)
{
	AUTO_FD int fd = scratch_file();
	struct rlimit old;

	(void)state;
	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	open_output(fd);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, old.rlim_max }), 0);
	send_bytes(0, 200);
	assert_int_equal(output_pending(it.output), 100);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 150, old.rlim_max }), 0);
	run_for(200);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(it.failed, 1);
	assert_int_equal(it.errnum, EFBIG);
	assert_int_equal(lseek(fd, 0, SEEK_END), 150);
}

/* Under ASan: nothing of it may be touched after. */
static void an_output_may_be_freed_in_its_callbacks(void **state)
{
	(void)state;
	it.free_on_event = true;
	open_output(it.pipe[1]);
	send_bytes(0, PIPE_SIZE + 100);
	(void)receive(0, PIPE_SIZE);
	loop_run(it.loop);
	assert_int_equal(it.drained, 1);
	assert_null(it.output);

	open_output(it.pipe[1]);
	(void)close(it.pipe[0]);
	it.pipe[0] = -1;
	send_bytes(0, 10);
	loop_run(it.loop);
	run_for(10);
	assert_int_equal(it.failed, 1);
	assert_null(it.output);
	assert_null(output_free(NULL));
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

/* As when stdout and stderr are one terminal: the second to come finds what the first one set. */
static void two_outputs_of_one_file_leave_it_as_it_was(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct output *both[2];
		struct error err;
		int other = dup(it.pipe[1]);

		CHECK_OK(output_new(it.loop, it.pipe[1], QUEUE, &events, &it, &both[0], &err), err);
		CHECK_OK(output_new(it.loop, other, QUEUE, &events, &it, &both[1], &err), err);
		(void)output_free(both[order]);
		(void)output_free(both[1 - order]);
		(void)close(other);
		assert_int_equal(fcntl(it.pipe[1], F_GETFL) & O_NONBLOCK, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(what_fits_is_written_at_once),
		WITH_LOOP(an_empty_write_is_nothing),
		WITH_LOOP(what_does_not_fit_waits_and_keeps_its_order),
		WITH_LOOP(the_queue_has_a_limit_and_refuses_whole_writes),
		WITH_LOOP(one_write_of_any_length_may_wait),
		WITH_LOOP(a_queue_emptied_by_the_next_write_is_drained),
		WITH_LOOP(a_peer_that_leaves_is_noticed),
		WITH_LOOP(a_peer_that_is_gone_is_reported_from_the_loop),
		WITH_LOOP(a_peer_that_goes_while_bytes_wait_is_reported),
		WITH_LOOP(non_blocking_is_set_and_put_back),
		WITH_LOOP(a_descriptor_that_is_not_open_is_refused),
		WITH_LOOP(a_regular_file_takes_everything),
		WITH_LOOP(a_full_disk_is_reported),
		WITH_LOOP(a_file_that_takes_a_part_is_tried_again),
		WITH_LOOP(an_output_may_be_freed_in_its_callbacks),
		WITH_LOOP(two_outputs_of_one_file_leave_it_as_it_was),
	};

	return RUN_TESTS("loop/output", tests);
}
