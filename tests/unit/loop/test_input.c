#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>

#include "base/buf.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"

enum act { ACT_NONE, ACT_PAUSE, ACT_FREE };

static struct receiver {
	struct loop *loop;
	struct input *input;
	struct buf got;
	size_t calls, largest, ends, hang_ups;
	int errnum; /* of the end callback; 0 without error */
	char why[480];
	enum act on_bytes, on_end;
	int pipe[2];
} receiver;

static void act(enum act what)
{
	if (what == ACT_PAUSE)
		input_pause(receiver.input);
	if (what == ACT_FREE)
		receiver.input = input_free(receiver.input);
	if (what != ACT_NONE)
		loop_stop(receiver.loop);
}

static void on_bytes(void *ctx, struct view bytes)
{
	struct error err;

	assert_ptr_equal(ctx, &receiver);
	assert_int_equal(receiver.ends, 0);
	assert_true(bytes.len > 0);
	receiver.calls++;
	receiver.largest = bytes.len > receiver.largest ? bytes.len : receiver.largest;
	if (receiver.on_bytes == ACT_FREE)
		act(ACT_FREE); /* the bytes stay valid until the callback returns */
	assert_int_equal(buf_add(&receiver.got, bytes, &err), 0);
	if (receiver.on_bytes == ACT_PAUSE)
		act(ACT_PAUSE);
}

static void on_end(void *ctx, const struct error *why)
{
	assert_ptr_equal(ctx, &receiver);
	receiver.ends++;
	receiver.errnum = why != NULL ? why->errnum : 0;
	if (why != NULL)
		(void)snprintf(receiver.why, sizeof receiver.why, "%s", why->msg);
	loop_stop(receiver.loop);
	act(receiver.on_end);
}

static void on_hung_up(void *ctx)
{
	assert_ptr_equal(ctx, &receiver);
	receiver.hang_ups++;
	loop_stop(receiver.loop);
}

static const struct input_events events = { on_bytes, on_end, on_hung_up };

static int open_receiver(void **state)
{
	struct error err;

	watchdog_start();
	receiver = (struct receiver){ .pipe = { -1, -1 } };
	buf_init(&receiver.got, 1 << 20);
	return loop_new(&receiver.loop, &err) == 0 ? pipe(receiver.pipe) : -1;
}

static void close_writer(void)
{
	(void)close(receiver.pipe[1]);
	receiver.pipe[1] = -1;
}

static int close_receiver(void **state)
{
	watchdog_stop();
	(void)input_free(receiver.input);
	(void)loop_free(receiver.loop);
	buf_done(&receiver.got);
	(void)close(receiver.pipe[0]);
	if (receiver.pipe[1] >= 0)
		(void)close(receiver.pipe[1]);
	return 0;
}

static void send_bytes(const char *text)
{
	assert_int_equal(write(receiver.pipe[1], text, strlen(text)), strlen(text));
}

static void pipe_delivers_its_bytes_and_its_end(void **state)
{
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	send_bytes("hello ");
	run_loop_for(receiver.loop, 20);
	assert_string_equal(buf_text(&receiver.got), "hello ");
	assert_int_equal(receiver.ends, 0);
	send_bytes("world");
	close_writer();
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "hello world");
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.errnum, 0);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.ends, 1); /* once */
}

static void descriptor_flags_are_not_changed(void **state)
{
	int before = fcntl(receiver.pipe[0], F_GETFL);

	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	assert_int_equal(fcntl(receiver.pipe[0], F_GETFL), before);
	receiver.input = input_free(receiver.input);
	assert_int_equal(fcntl(receiver.pipe[0], F_GETFL), before);
	assert_int_not_equal(fcntl(receiver.pipe[0], F_GETFD), -1); /* borrowed: still open */
}

static int open_file_of(size_t len)
{
	char path[] = "/tmp/belljar-test-input-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	(void)unlink(path);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(write(fd, &"abcdefg"[i % 7], 1), 1);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* epoll does not support regular files; each event reads one chunk nevertheless. */
static void regular_file_is_read_in_chunks(void **state)
{
	enum { LEN = 150000 };
	AUTO_FD int fd = open_file_of(LEN);

	receiver.input = input_new(receiver.loop, fd, &events, &receiver);
	assert_int_equal(receiver.calls, 0); /* not from within input_new() */
	loop_run(receiver.loop);
	assert_int_equal(receiver.got.len, LEN);
	assert_int_equal(receiver.calls, 3);
	assert_int_equal(receiver.largest, INPUT_CHUNK);
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.errnum, 0);
	for (size_t i = 0; i < LEN; i++)
		if (receiver.got.ptr[i] != "abcdefg"[i % 7])
			fail_msg("byte %zu is wrong", i);
}

static void dev_null_ends_at_once(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY);

	receiver.input = input_new(receiver.loop, fd, &events, &receiver);
	assert_int_equal(receiver.ends, 0);
	loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.errnum, 0);
	assert_int_equal(receiver.calls, 0);
}

static void descriptor_without_epoll_support_prints_nothing(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY);
	struct stderr_capture c;
	char said[4096];

	stderr_capture_start(&c);
	receiver.input = input_new(receiver.loop, fd, &events, &receiver);
	loop_run(receiver.loop);
	assert_string_equal(stderr_capture_end(&c, said, sizeof said), "");
}

static void unreadable_descriptor_ends_with_the_error(void **state)
{
	static const struct {
		const char *path;
		int errnum;
		const char *text;
	} cases[] = { { "/", EISDIR, "Is a directory" }, { NULL, EBADF, "Bad file descriptor" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FD int opened = cases[i].path != NULL ? open(cases[i].path, O_RDONLY) : -1;
		int fd = cases[i].path != NULL ? opened : 900;
		char want[480];

		receiver.ends = 0;
		receiver.input = input_new(receiver.loop, fd, &events, &receiver);
		loop_run(receiver.loop);
		assert_int_equal(receiver.ends, 1);
		assert_int_equal(receiver.errnum, cases[i].errnum);
		(void)snprintf(want, sizeof want, "read from descriptor %d: %s", fd, cases[i].text);
		assert_string_equal(receiver.why, want);
		receiver.input = input_free(receiver.input);
	}
}

static void paused_pipe_delivers_nothing_until_resumed(void **state)
{
	receiver.on_bytes = ACT_PAUSE;
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	send_bytes("one");
	loop_run(receiver.loop);
	send_bytes("two");
	close_writer();
	run_loop_for(receiver.loop, 30);
	assert_string_equal(buf_text(&receiver.got), "one");
	assert_int_equal(receiver.ends, 0);
	receiver.on_bytes = ACT_NONE;
	input_resume(receiver.input);
	input_resume(receiver.input);
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "onetwo");
	assert_int_equal(receiver.ends, 1);
	input_pause(receiver.input); /* after the end: nothing more to come */
	input_resume(receiver.input);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.ends, 1);
}

static void paused_file_delivers_nothing_until_resumed(void **state)
{
	AUTO_FD int fd = open_file_of(150000);

	receiver.on_bytes = ACT_PAUSE;
	receiver.input = input_new(receiver.loop, fd, &events, &receiver);
	for (size_t calls = 1; calls <= 3; calls++) {
		loop_run(receiver.loop);
		run_loop_for(receiver.loop, 10);
		assert_int_equal(receiver.calls, calls);
		assert_int_equal(receiver.ends, 0);
		input_resume(receiver.input);
	}
	loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.got.len, 150000);
}

/* Bytes that are not read must not cause events again and again. */
static void paused_input_uses_no_cpu_time(void **state)
{
	clock_t before;

	receiver.on_bytes = ACT_PAUSE;
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	send_bytes("one");
	loop_run(receiver.loop);
	send_bytes("two");
	before = clock();
	run_loop_for(receiver.loop, 300);
	assert_true(clock() - before < CLOCKS_PER_SEC / 10);
}

static void input_paused_before_its_first_event_delivers_nothing(void **state)
{
	AUTO_FD int fd = open_file_of(10);

	receiver.input = input_new(receiver.loop, fd, &events, &receiver);
	input_pause(receiver.input);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.calls + receiver.ends, 0);
	input_resume(receiver.input);
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "abcdefgabc");
}

/* ASan detects a use after free. */
static void input_may_be_freed_in_its_callbacks(void **state)
{
	AUTO_FD int file = open_file_of(150000);

	receiver.on_bytes = ACT_FREE;
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	send_bytes("last words");
	loop_run(receiver.loop);
	run_loop_for(receiver.loop, 10);
	assert_string_equal(buf_text(&receiver.got), "last words");
	assert_null(receiver.input);

	receiver.input = input_new(receiver.loop, file, &events, &receiver);
	loop_run(receiver.loop);
	run_loop_for(receiver.loop, 10);
	assert_int_equal(receiver.calls, 2); /* one of each */
	assert_int_equal(receiver.ends, 0);

	receiver.on_bytes = ACT_NONE;
	receiver.on_end = ACT_FREE;
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	close_writer();
	loop_run(receiver.loop);
	run_loop_for(receiver.loop, 10);
	assert_int_equal(receiver.ends, 1);
	assert_null(receiver.input);
	assert_null(input_free(NULL));
}

/* A peer that writes without end does not starve the timer. */
static void each_event_reads_once(void **state)
{
	AUTO_FD int zero = open("/dev/zero", O_RDONLY);

	buf_done(&receiver.got);
	buf_init(&receiver.got, 1 << 30);
	receiver.input = input_new(receiver.loop, zero, &events, &receiver);
	run_loop_for(receiver.loop, 5); /* ends although there is always more to read */
	assert_true(receiver.calls >= 1);
	assert_int_equal(receiver.largest, INPUT_CHUNK);
}

static void non_blocking_descriptor_without_bytes_waits(void **state)
{
	assert_int_equal(fcntl(receiver.pipe[0], F_SETFL, O_NONBLOCK), 0);
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	send_bytes("x");
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.calls, 1);
	assert_int_equal(receiver.ends, 0);
}

static void hang_up_is_reported_once_for_each_pause(void **state)
{
	receiver.input = input_new(receiver.loop, receiver.pipe[0], &events, &receiver);
	input_pause(receiver.input);
	send_bytes("unread");
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.hang_ups, 0);
	close_writer();
	loop_run(receiver.loop);
	assert_int_equal(receiver.hang_ups, 1);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.hang_ups, 1);
	assert_int_equal(receiver.calls + receiver.ends, 0);
	input_resume(receiver.input);
	input_pause(receiver.input);
	loop_run(receiver.loop);
	assert_int_equal(receiver.hang_ups, 2);
	input_resume(receiver.input);
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "unread");
	assert_int_equal(receiver.ends, 1);
}

/* A socket that is shut down for writing still takes answers. */
static void hang_up_of_a_half_closed_socket_is_reported(void **state)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	receiver.input = input_new(receiver.loop, pair[0], &events, &receiver);
	input_pause(receiver.input);
	assert_int_equal(write(pair[1], "unread", 6), 6);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.hang_ups, 0);
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	loop_run(receiver.loop);
	assert_int_equal(receiver.hang_ups, 1);
	receiver.input = input_free(receiver.input);
	(void)close(pair[0]);
	(void)close(pair[1]);
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_receiver, close_receiver)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(pipe_delivers_its_bytes_and_its_end),
		WITH_LOOP(descriptor_flags_are_not_changed),
		WITH_LOOP(regular_file_is_read_in_chunks),
		WITH_LOOP(dev_null_ends_at_once),
		WITH_LOOP(descriptor_without_epoll_support_prints_nothing),
		WITH_LOOP(unreadable_descriptor_ends_with_the_error),
		WITH_LOOP(paused_pipe_delivers_nothing_until_resumed),
		WITH_LOOP(paused_file_delivers_nothing_until_resumed),
		WITH_LOOP(paused_input_uses_no_cpu_time),
		WITH_LOOP(input_paused_before_its_first_event_delivers_nothing),
		WITH_LOOP(input_may_be_freed_in_its_callbacks),
		WITH_LOOP(each_event_reads_once),
		WITH_LOOP(non_blocking_descriptor_without_bytes_waits),
		WITH_LOOP(hang_up_is_reported_once_for_each_pause),
		WITH_LOOP(hang_up_of_a_half_closed_socket_is_reported),
	};

	return RUN_TESTS("loop/input", tests);
}
