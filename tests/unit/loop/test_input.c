#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <time.h>

#include "base/buf.h"
#include "loop/input.h"
#include "loop/loop.h"
#include "unit/test.h"

enum act { ACT_NONE, ACT_PAUSE, ACT_FREE };

static struct receiver {
	struct loop *loop;
	struct input *input;
	struct buf got;
	size_t calls, largest, ends;
	int errnum; /* of the end; 0 for a plain one */
	char why[480];
	enum act on_bytes, on_end;
	int pipe[2];
} it;

static void act(enum act what)
{
	if (what == ACT_PAUSE)
		input_pause(it.input);
	if (what == ACT_FREE)
		it.input = input_free(it.input);
	if (what != ACT_NONE)
		loop_stop(it.loop);
}

static void on_bytes(void *ctx, struct view bytes)
{
	struct error err;

	assert_ptr_equal(ctx, &it);
	assert_int_equal(it.ends, 0);
	assert_true(bytes.len > 0);
	it.calls++;
	it.largest = bytes.len > it.largest ? bytes.len : it.largest;
	if (it.on_bytes == ACT_FREE)
		act(ACT_FREE); /* the bytes stay valid until we return */
	assert_int_equal(buf_add(&it.got, bytes, &err), 0);
	if (it.on_bytes == ACT_PAUSE)
		act(ACT_PAUSE);
}

static void on_end(void *ctx, const struct error *why)
{
	assert_ptr_equal(ctx, &it);
	it.ends++;
	it.errnum = why != NULL ? why->errnum : 0;
	if (why != NULL)
		(void)snprintf(it.why, sizeof it.why, "%s", why->msg);
	loop_stop(it.loop);
	act(it.on_end);
}

static const struct input_events events = { .bytes = on_bytes, .end = on_end };

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
	(void)alarm(30);
	it = (struct receiver){ .pipe = { -1, -1 } };
	buf_init(&it.got, 1 << 20);
	return loop_new(&it.loop, &err) == 0 ? pipe(it.pipe) : -1;
}

static void close_writer(void)
{
	(void)close(it.pipe[1]);
	it.pipe[1] = -1;
}

static int close_all(void **state)
{
	(void)state;
	(void)alarm(0);
	(void)input_free(it.input);
	(void)loop_free(it.loop);
	buf_done(&it.got);
	(void)close(it.pipe[0]);
	if (it.pipe[1] >= 0)
		(void)close(it.pipe[1]);
	return 0;
}

static void send_bytes(const char *text)
{
	assert_int_equal(write(it.pipe[1], text, strlen(text)), strlen(text));
}

static void stop_loop(void *ctx)
{
	loop_stop(ctx);
}

/* Long enough for what should not happen to happen. */
static void run_for(uint64_t ms)
{
	struct loop_timer *timer = loop_timer_new(it.loop, stop_loop, it.loop);

	loop_timer_start(timer, ms);
	loop_run(it.loop);
	(void)loop_timer_free(timer);
}

static void a_pipe_gives_its_bytes_and_then_its_end(void **state)
{
	(void)state;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	send_bytes("hello ");
	run_for(20);
	assert_string_equal(buf_text(&it.got), "hello ");
	assert_int_equal(it.ends, 0);
	send_bytes("world");
	close_writer();
	loop_run(it.loop);
	assert_string_equal(buf_text(&it.got), "hello world");
	assert_int_equal(it.ends, 1);
	assert_int_equal(it.errnum, 0);
	run_for(20);
	assert_int_equal(it.ends, 1); /* once */
}

static void the_flags_of_the_descriptor_are_left_alone(void **state)
{
	int before = fcntl(it.pipe[0], F_GETFL);

	(void)state;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	assert_int_equal(fcntl(it.pipe[0], F_GETFL), before);
	it.input = input_free(it.input);
	assert_int_equal(fcntl(it.pipe[0], F_GETFL), before);
	assert_int_not_equal(fcntl(it.pipe[0], F_GETFD), -1); /* borrowed: still open */
}

static int file_of(size_t len)
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

/* epoll takes no regular file; one chunk per wake-up all the same. */
static void a_regular_file_is_read_in_chunks(void **state)
{
	enum { LEN = 150000, CHUNK = 64 * 1024 };
	AUTO_FD int fd = file_of(LEN);

	(void)state;
	it.input = input_new(it.loop, fd, &events, &it);
	assert_int_equal(it.calls, 0); /* not from within input_new() */
	loop_run(it.loop);
	assert_int_equal(it.got.len, LEN);
	assert_int_equal(it.calls, 3);
	assert_int_equal(it.largest, CHUNK);
	assert_int_equal(it.ends, 1);
	assert_int_equal(it.errnum, 0);
	for (size_t i = 0; i < LEN; i++)
		if (it.got.ptr[i] != "abcdefg"[i % 7])
			fail_msg("byte %zu is wrong", i);
}

static void dev_null_ends_at_once(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY);

	(void)state;
	it.input = input_new(it.loop, fd, &events, &it);
	assert_int_equal(it.ends, 0);
	loop_run(it.loop);
	assert_int_equal(it.ends, 1);
	assert_int_equal(it.errnum, 0);
	assert_int_equal(it.calls, 0);
}

static void nothing_is_printed_for_what_epoll_does_not_take(void **state)
{
	AUTO_FD int fd = open("/dev/null", O_RDONLY);
	struct stderr_capture c;
	char said[4096];

	(void)state;
	stderr_capture_start(&c);
	it.input = input_new(it.loop, fd, &events, &it);
	loop_run(it.loop);
	assert_string_equal(stderr_capture_end(&c, said, sizeof said), "");
}

static void a_descriptor_that_cannot_be_read_ends_with_the_reason(void **state)
{
	static const struct {
		const char *path;
		int errnum;
		const char *text;
	} cases[] = { { "/", EISDIR, "Is a directory" }, { NULL, EBADF, "Bad file descriptor" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FD int opened = cases[i].path != NULL ? open(cases[i].path, O_RDONLY) : -1;
		int fd = cases[i].path != NULL ? opened : 900;
		char want[480];

		it.ends = 0;
		it.input = input_new(it.loop, fd, &events, &it);
		loop_run(it.loop);
		assert_int_equal(it.ends, 1);
		assert_int_equal(it.errnum, cases[i].errnum);
		(void)snprintf(want, sizeof want, "read from descriptor %d: %s", fd, cases[i].text);
		assert_string_equal(it.why, want);
		it.input = input_free(it.input);
	}
}

static void a_paused_input_gives_nothing_until_resumed(void **state)
{
	(void)state;
	it.on_bytes = ACT_PAUSE;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	send_bytes("one");
	loop_run(it.loop);
	send_bytes("two");
	close_writer();
	run_for(30);
	assert_string_equal(buf_text(&it.got), "one");
	assert_int_equal(it.ends, 0);
	it.on_bytes = ACT_NONE;
	input_resume(it.input);
	input_resume(it.input);
	loop_run(it.loop);
	assert_string_equal(buf_text(&it.got), "onetwo");
	assert_int_equal(it.ends, 1);
	input_pause(it.input); /* after the end: nothing more to come */
	input_resume(it.input);
	run_for(20);
	assert_int_equal(it.ends, 1);
}

static void a_paused_file_gives_nothing_until_resumed(void **state)
{
	AUTO_FD int fd = file_of(150000);

	(void)state;
	it.on_bytes = ACT_PAUSE;
	it.input = input_new(it.loop, fd, &events, &it);
	for (size_t calls = 1; calls <= 3; calls++) {
		loop_run(it.loop);
		run_for(10);
		assert_int_equal(it.calls, calls);
		assert_int_equal(it.ends, 0);
		input_resume(it.input);
	}
	loop_run(it.loop);
	assert_int_equal(it.ends, 1);
	assert_int_equal(it.got.len, 150000);
}

/* The bytes that wait must not wake us again and again. */
static void a_paused_input_costs_no_time(void **state)
{
	clock_t before;

	(void)state;
	it.on_bytes = ACT_PAUSE;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	send_bytes("one");
	loop_run(it.loop);
	send_bytes("two");
	before = clock();
	run_for(300);
	assert_true(clock() - before < CLOCKS_PER_SEC / 10);
}

static void an_input_paused_before_it_began_gives_nothing(void **state)
{
	AUTO_FD int fd = file_of(10);

	(void)state;
	it.input = input_new(it.loop, fd, &events, &it);
	input_pause(it.input);
	run_for(20);
	assert_int_equal(it.calls + it.ends, 0);
	input_resume(it.input);
	loop_run(it.loop);
	assert_string_equal(buf_text(&it.got), "abcdefgabc");
}

/* Under ASan: nothing of it may be touched after. */
static void an_input_may_be_freed_in_its_callbacks(void **state)
{
	AUTO_FD int file = file_of(150000);

	(void)state;
	it.on_bytes = ACT_FREE;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	send_bytes("last words");
	loop_run(it.loop);
	run_for(10);
	assert_string_equal(buf_text(&it.got), "last words");
	assert_null(it.input);

	it.input = input_new(it.loop, file, &events, &it);
	loop_run(it.loop);
	run_for(10);
	assert_int_equal(it.calls, 2); /* one of each */
	assert_int_equal(it.ends, 0);

	it.on_bytes = ACT_NONE;
	it.on_end = ACT_FREE;
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	close_writer();
	loop_run(it.loop);
	run_for(10);
	assert_int_equal(it.ends, 1);
	assert_null(it.input);
	assert_null(input_free(NULL));
}

/* A peer that never stops does not keep the others from their turn. */
static void one_wake_up_is_one_read(void **state)
{
	AUTO_FD int zero = open("/dev/zero", O_RDONLY);

	(void)state;
	buf_done(&it.got);
	buf_init(&it.got, 1 << 30);
	it.input = input_new(it.loop, zero, &events, &it);
	run_for(5); /* ends although there is always more to read */
	assert_true(it.calls >= 1);
	assert_int_equal(it.largest, 64 * 1024);
}

static void a_non_blocking_descriptor_without_bytes_waits(void **state)
{
	(void)state;
	assert_int_equal(fcntl(it.pipe[0], F_SETFL, O_NONBLOCK), 0);
	it.input = input_new(it.loop, it.pipe[0], &events, &it);
	send_bytes("x");
	run_for(20);
	assert_int_equal(it.calls, 1);
	assert_int_equal(it.ends, 0);
}

#define WITH_LOOP(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LOOP(a_pipe_gives_its_bytes_and_then_its_end),
		WITH_LOOP(the_flags_of_the_descriptor_are_left_alone),
		WITH_LOOP(a_regular_file_is_read_in_chunks),
		WITH_LOOP(dev_null_ends_at_once),
		WITH_LOOP(nothing_is_printed_for_what_epoll_does_not_take),
		WITH_LOOP(a_descriptor_that_cannot_be_read_ends_with_the_reason),
		WITH_LOOP(a_paused_input_gives_nothing_until_resumed),
		WITH_LOOP(a_paused_file_gives_nothing_until_resumed),
		WITH_LOOP(a_paused_input_costs_no_time),
		WITH_LOOP(an_input_paused_before_it_began_gives_nothing),
		WITH_LOOP(an_input_may_be_freed_in_its_callbacks),
		WITH_LOOP(one_wake_up_is_one_read),
		WITH_LOOP(a_non_blocking_descriptor_without_bytes_waits),
	};

	return RUN_TESTS("loop/input", tests);
}
