#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/output.h"
#include "unit/loop/run_loop.h"
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
} sender;

static void stop_after_event(void)
{
	if (sender.free_on_event)
		sender.output = output_free(sender.output);
	loop_stop(sender.loop);
}

static void on_drained(void *ctx)
{
	assert_ptr_equal(ctx, &sender);
	sender.drained++;
	stop_after_event();
}

static void on_failed(void *ctx, const struct error *why)
{
	assert_ptr_equal(ctx, &sender);
	sender.failed++;
	sender.errnum = why->errnum;
	(void)snprintf(sender.why, sizeof sender.why, "%s", why->msg);
	stop_after_event();
}

static const struct output_events events = { .drained = on_drained, .failed = on_failed };

static int open_sender(void **state)
{
	struct error err;

	(void)signal(SIGPIPE, SIG_IGN);
	watchdog_start();
	sender = (struct sender){ .pipe = { -1, -1 } };
	if (loop_new(&sender.loop, &err) < 0 || pipe(sender.pipe) < 0)
		return -1;
	return fcntl(sender.pipe[1], F_SETPIPE_SZ, PIPE_SIZE) == PIPE_SIZE ? 0 : -1;
}

static int close_sender(void **state)
{
	watchdog_stop();
	(void)output_free(sender.output);
	(void)loop_free(sender.loop);
	(void)close(sender.pipe[0]);
	(void)close(sender.pipe[1]);
	return 0;
}

static void open_output(int fd)
{
	struct error err;

	CHECK_OK(output_new(sender.loop, fd, QUEUE, &events, &sender, &sender.output, &err), err);
}

/* Writes bytes from..from+len of one long sequence, so that receive() notices loss and disorder. */
static void send_bytes(size_t from, size_t len)
{
	char *bytes = malloc(len);
	struct error err;

	assert_non_null(bytes);
	for (size_t i = 0; i < len; i++)
		bytes[i] = (char)((from + i) % 251);
	CHECK_OK(output_write(sender.output, (struct view){ bytes, len }, &err), err);
	free(bytes); /* whatever is queued is a copy */
}

static size_t receive(size_t from, size_t most)
{
	char bytes[PIPE_SIZE];
	ssize_t n = read(sender.pipe[0], bytes, most < sizeof bytes ? most : sizeof bytes);

	assert_true(n >= 0);
	for (size_t i = 0; i < (size_t)n; i++)
		if (bytes[i] != (char)((from + i) % 251))
			fail_msg("byte %zu is wrong", from + i);
	return (size_t)n;
}

static void short_write_is_written_at_once(void **state)
{
	open_output(sender.pipe[1]);
	send_bytes(0, 100);
	assert_int_equal(output_pending(sender.output), 0);
	assert_int_equal(receive(0, 1000), 100); /* the loop has not run */
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.drained, 0); /* nothing had waited */
}

static void empty_write_does_nothing(void **state)
{
	struct error err;

	open_output(sender.pipe[1]);
	CHECK_OK(output_write(sender.output, (struct view){ 0 }, &err), err);
	assert_int_equal(output_pending(sender.output), 0);
}

static void queued_bytes_keep_their_order(void **state)
{
	enum { FIRST = 50000, SECOND = 3000, ALL = FIRST + SECOND };
	size_t got;

	open_output(sender.pipe[1]);
	send_bytes(0, FIRST);
	assert_int_equal(output_pending(sender.output), FIRST - PIPE_SIZE);
	got = receive(0, PIPE_SIZE); /* room again, for what came first */
	send_bytes(FIRST, SECOND);
	assert_int_equal(output_pending(sender.output), ALL - 2 * PIPE_SIZE);
	while (output_pending(sender.output) != 0) {
		assert_int_equal(sender.drained, 0);
		run_loop_for(sender.loop, 1);
		got += receive(got, 1000); /* a slow reader: partial writes */
	}
	assert_int_equal(sender.drained, 1);
	assert_int_equal(output_pending(sender.output), 0);
	while (got < ALL)
		got += receive(got, 1000);
	assert_int_equal(sender.failed, 0);
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.drained, 1); /* once */

	send_bytes(ALL, 10); /* and it can be used again */
	assert_int_equal(receive(ALL, 1000), 10);
}

static void full_queue_rejects_whole_writes(void **state)
{
	static const char filler[PIPE_SIZE + 1];
	const char *why = "the reader is too slow: more than 100000 bytes wait for it (max_queue)";
	struct error err;

	open_output(sender.pipe[1]);
	send_bytes(0, QUEUE);
	assert_int_equal(output_pending(sender.output), QUEUE - PIPE_SIZE);
	CHECK_ERROR(output_write(sender.output, (struct view){ filler, PIPE_SIZE + 1 }, &err), err,
	            ERR_LIMIT, why);
	assert_int_equal(output_pending(sender.output), QUEUE - PIPE_SIZE); /* none of it */
	send_bytes(QUEUE, PIPE_SIZE);                                       /* to the last byte */
	assert_int_equal(output_pending(sender.output), QUEUE);
	assert_int_equal(sender.failed, 0);
}

static void empty_queue_takes_one_write_of_any_length(void **state)
{
	enum { LONG = 3 * QUEUE };
	size_t got = 0;

	open_output(sender.pipe[1]);
	send_bytes(0, LONG);
	assert_int_equal(output_pending(sender.output), LONG - PIPE_SIZE);
	while (got < LONG) {
		got += receive(got, PIPE_SIZE);
		run_loop_for(sender.loop, 1);
	}
	assert_int_equal(sender.drained, 1);
	assert_int_equal(sender.failed, 0);
}

/* output_write() empties the queue, not the loop. */
static void queue_emptied_by_a_write_is_drained(void **state)
{
	open_output(sender.pipe[1]);
	send_bytes(0, PIPE_SIZE + 10);
	assert_int_equal(receive(0, PIPE_SIZE), PIPE_SIZE);
	send_bytes(PIPE_SIZE + 10, 10);
	assert_int_equal(output_pending(sender.output), 0);
	assert_int_equal(receive(PIPE_SIZE, 1000), 20);
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.failed, 0);
	assert_int_equal(sender.drained, 1);
}

static void closed_reader_is_noticed_without_a_write(void **state)
{
	open_output(sender.pipe[1]);
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.failed, 0);
	(void)close(sender.pipe[0]);
	sender.pipe[0] = -1;
	loop_run(sender.loop);
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.errnum, EPIPE);
}

static void write_to_a_closed_reader_fails_from_the_loop(void **state)
{
	char want[480];

	open_output(sender.pipe[1]);
	(void)close(sender.pipe[0]);
	sender.pipe[0] = -1;
	send_bytes(0, 10);
	assert_int_equal(sender.failed, 0); /* not on the caller's stack */
	loop_run(sender.loop);
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.errnum, EPIPE);
	(void)snprintf(want, sizeof want, "write to descriptor %d: Broken pipe", sender.pipe[1]);
	assert_string_equal(sender.why, want);
	send_bytes(0, 10); /* dropped silently */
	assert_int_equal(output_pending(sender.output), 0);
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.drained, 0);
}

static void reader_closed_with_bytes_in_the_queue_is_reported(void **state)
{
	open_output(sender.pipe[1]);
	send_bytes(0, 50000);
	(void)receive(0, 100);
	(void)close(sender.pipe[0]);
	sender.pipe[0] = -1;
	loop_run(sender.loop);
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.errnum, EPIPE);
	assert_int_equal(output_pending(sender.output), 0);
}

static void non_blocking_flag_is_set_and_restored(void **state)
{
	static const int befores[] = { 0, O_NONBLOCK, O_APPEND };

	for (size_t i = 0; i < ARRAY_LEN(befores); i++) {
		const int mask = O_NONBLOCK | O_APPEND;

		assert_int_equal(fcntl(sender.pipe[1], F_SETFL, befores[i]), 0);
		open_output(sender.pipe[1]);
		assert_int_equal(fcntl(sender.pipe[1], F_GETFL) & mask, befores[i] | O_NONBLOCK);
		sender.output = output_free(sender.output);
		assert_int_equal(fcntl(sender.pipe[1], F_GETFL) & mask, befores[i]);
	}
}

static void closed_descriptor_is_rejected(void **state)
{
	struct error err;

	CHECK_ERROR(output_new(sender.loop, 900, QUEUE, &events, &sender, &sender.output, &err),
	            err, ERR_SYSTEM, "use descriptor 900 for output: Bad file descriptor");
	assert_null(sender.output);
}

static int scratch_file(void)
{
	char path[] = "/tmp/belljar-test-output-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path);
	return fd;
}

static void regular_file_takes_everything(void **state)
{
	AUTO_FD int fd = scratch_file();
	struct stat st;

	open_output(fd);
	send_bytes(0, QUEUE);
	send_bytes(0, 5);
	assert_int_equal(output_pending(sender.output), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, QUEUE + 5);
}

static void full_disk_is_reported(void **state)
{
	AUTO_FD int fd = open("/dev/full", O_WRONLY);
	struct stderr_capture c;
	char said[4096];

	open_output(fd);
	stderr_capture_start(&c);
	send_bytes(0, 10);
	loop_run(sender.loop);
	assert_string_equal(stderr_capture_end(&c, said, sizeof said), "");
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.errnum, ENOSPC);
}

/* RLIMIT_FSIZE makes the first write partial. The limit is raised before the loop continues with
 * the rest: on_writable() writes up to the new limit and then fails with EFBIG. */
static void partial_write_to_a_file_is_continued(void **state)
{
	AUTO_FD int fd = scratch_file();
	struct rlimit old;

	(void)signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	open_output(fd);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 100, old.rlim_max }), 0);
	send_bytes(0, 200);
	assert_int_equal(output_pending(sender.output), 100);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 150, old.rlim_max }), 0);
	run_loop_for(sender.loop, 200);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(sender.failed, 1);
	assert_int_equal(sender.errnum, EFBIG);
	assert_int_equal(lseek(fd, 0, SEEK_END), 150);
}

/* ASan detects a use after free. */
static void output_may_be_freed_in_its_callbacks(void **state)
{
	sender.free_on_event = true;
	open_output(sender.pipe[1]);
	send_bytes(0, PIPE_SIZE + 100);
	(void)receive(0, PIPE_SIZE);
	loop_run(sender.loop);
	assert_int_equal(sender.drained, 1);
	assert_null(sender.output);

	open_output(sender.pipe[1]);
	(void)close(sender.pipe[0]);
	sender.pipe[0] = -1;
	send_bytes(0, 10);
	loop_run(sender.loop);
	run_loop_for(sender.loop, 10);
	assert_int_equal(sender.failed, 1);
	assert_null(sender.output);
	assert_null(output_free(NULL));
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_sender, close_sender)

/* As when stdout and stderr are one terminal: the second output finds O_NONBLOCK set by the
 * first. */
static void two_outputs_of_one_file_restore_its_flags(void **state)
{
	for (int order = 0; order < 2; order++) {
		struct output *both[2];
		struct error err;
		int other = dup(sender.pipe[1]);

		CHECK_OK(output_new(sender.loop, sender.pipe[1], QUEUE, &events, &sender, &both[0],
		                    &err),
		         err);
		CHECK_OK(output_new(sender.loop, other, QUEUE, &events, &sender, &both[1], &err),
		         err);
		(void)output_free(both[order]);
		(void)output_free(both[1 - order]);
		(void)close(other);
		assert_int_equal(fcntl(sender.pipe[1], F_GETFL) & O_NONBLOCK, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(short_write_is_written_at_once),
		WITH_LOOP(empty_write_does_nothing),
		WITH_LOOP(queued_bytes_keep_their_order),
		WITH_LOOP(full_queue_rejects_whole_writes),
		WITH_LOOP(empty_queue_takes_one_write_of_any_length),
		WITH_LOOP(queue_emptied_by_a_write_is_drained),
		WITH_LOOP(closed_reader_is_noticed_without_a_write),
		WITH_LOOP(write_to_a_closed_reader_fails_from_the_loop),
		WITH_LOOP(reader_closed_with_bytes_in_the_queue_is_reported),
		WITH_LOOP(non_blocking_flag_is_set_and_restored),
		WITH_LOOP(closed_descriptor_is_rejected),
		WITH_LOOP(regular_file_takes_everything),
		WITH_LOOP(full_disk_is_reported),
		WITH_LOOP(partial_write_to_a_file_is_continued),
		WITH_LOOP(output_may_be_freed_in_its_callbacks),
		WITH_LOOP(two_outputs_of_one_file_restore_its_flags),
	};

	return RUN_TESTS("loop/output", tests);
}
