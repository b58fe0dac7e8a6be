#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/socket.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"

static struct receiver {
	struct loop *loop;
	struct loop_socket *socket;
	struct buf got;
	size_t largest, ends, endings, writables, failures;
	int errnum;
	bool frees; /* in each callback */
	int peer;
} receiver;

static void after_callback(void)
{
	if (receiver.frees)
		receiver.socket = loop_socket_free(receiver.socket);
	loop_stop(receiver.loop);
}

static void on_bytes(void *ctx, struct view bytes)
{
	struct error err;

	assert_ptr_equal(ctx, &receiver);
	CHECK_OK(buf_add(&receiver.got, bytes, &err), err);
	receiver.largest = bytes.len > receiver.largest ? bytes.len : receiver.largest;
	after_callback();
}

static void on_end(void *ctx)
{
	receiver.ends++;
	after_callback();
}

static void on_writable(void *ctx)
{
	receiver.writables++;
	after_callback();
}

static void on_failed(void *ctx, const struct error *why)
{
	receiver.failures++;
	receiver.errnum = why->errnum;
	after_callback();
}

static void on_ending(void *ctx)
{
	receiver.endings++;
	after_callback();
}

static const struct loop_socket_events events = { on_bytes, on_end, on_writable, on_failed,
	                                          on_ending };

static int open_receiver(int fd, int peer)
{
	struct error err;

	watchdog_start();
	receiver = (struct receiver){ .peer = peer };
	buf_init(&receiver.got, 1 << 24);
	if (loop_new(&receiver.loop, &err) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ||
	    fcntl(peer, F_SETFL, O_NONBLOCK) < 0)
		return -1;
	receiver.socket = loop_socket_new(receiver.loop, fd, &events, &receiver);
	return 0;
}

static int open_unix(void **state)
{
	int pair[2];

	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0
	               ? -1
	               : open_receiver(pair[0], pair[1]);
}

static int open_tcp(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	AUTO_FD int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof address;
	int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(listener, (const struct sockaddr *)&address, len) < 0 || listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &len) < 0 ||
	    connect(peer, (const struct sockaddr *)&address, len) < 0)
		return -1;
	return open_receiver(accept(listener, NULL, NULL), peer);
}

static int close_receiver(void **state)
{
	watchdog_stop();
	(void)loop_socket_free(receiver.socket);
	(void)loop_free(receiver.loop);
	buf_done(&receiver.got);
	if (receiver.peer >= 0)
		(void)close(receiver.peer);
	return 0;
}

static void send_text(const char *text)
{
	assert_int_equal(write(receiver.peer, text, strlen(text)), strlen(text));
}

static void close_peer(void)
{
	(void)close(receiver.peer);
	receiver.peer = -1;
}

static void bytes_and_the_end_arrive(void **state)
{
	send_text("hello ");
	loop_run(receiver.loop);
	send_text("world");
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "hello world");
	assert_int_equal(shutdown(receiver.peer, SHUT_WR), 0);
	loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 1);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.ends, 1); /* once */
	assert_int_equal(receiver.failures, 0);
}

/* Writes until the kernel takes no more. Returns the number of bytes. */
static size_t fill_socket(void)
{
	static char bytes[100 * 1000];
	struct iovec parts[2] = { { bytes, 10 }, { bytes, sizeof bytes - 10 } };
	struct error err;
	size_t all = 0;
	ssize_t n;

	do {
		n = loop_socket_write(receiver.socket, parts, 2, &err);
		assert_true(n >= 0);
		all += (size_t)n;
	} while ((size_t)n == sizeof bytes);
	return all;
}

static void drain_peer(size_t len)
{
	char bytes[4096];

	while (len != 0) {
		ssize_t n = read(receiver.peer, bytes, sizeof bytes);

		if (n > 0)
			len -= (size_t)n;
		else
			run_loop_for(receiver.loop, 1);
	}
}

/* Fills the socket until no byte moves to the peer's kernel any more. */
static size_t fill_both_kernels(void)
{
	size_t len = 0, before;

	do {
		len += fill_socket();
		before = receiver.writables;
		run_loop_for(receiver.loop, 20);
	} while (receiver.writables != before);
	return len;
}

static void full_socket_tells_when_it_is_writable(void **state)
{
	for (int i = 0; i < 3; i++) {
		size_t len = fill_both_kernels(), before = receiver.writables;

		drain_peer(len);
		while (receiver.writables == before)
			run_loop_for(receiver.loop, 1);
		run_loop_for(receiver.loop, 10);
		assert_int_equal(receiver.writables, before + 1); /* once for each time */
	}
}

/* The same after a half-close and during a pause, where events are edge-triggered. */
static void half_closed_socket_tells_when_it_is_writable(void **state)
{
	assert_int_equal(shutdown(receiver.peer, SHUT_WR), 0);
	loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 1);
	full_socket_tells_when_it_is_writable(state);
}

static void paused_socket_reads_nothing(void **state)
{
	loop_socket_pause(receiver.socket);
	send_text("kept");
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.got.len, 0);
	full_socket_tells_when_it_is_writable(state);
	loop_socket_resume(receiver.socket);
	while (receiver.got.len == 0)
		loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "kept");
}

static void closed_unix_peer_is_noticed(void **state)
{
	close_peer();
	while (receiver.failures == 0)
		loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.errnum, ECONNRESET);
}

static void closed_unix_peer_is_noticed_during_a_pause(void **state)
{
	loop_socket_pause(receiver.socket);
	send_text("unread");
	close_peer();
	while (receiver.failures == 0)
		loop_run(receiver.loop);
	assert_int_equal(receiver.ends, 0);
}

static void end_of_a_tcp_peer_is_told_during_a_pause(void **state)
{
	send_text("unread");
	loop_socket_pause(receiver.socket);
	assert_int_equal(shutdown(receiver.peer, SHUT_WR), 0);
	while (receiver.endings == 0)
		loop_run(receiver.loop);
	assert_int_equal(receiver.ends + receiver.failures + receiver.got.len, 0);
	loop_socket_resume(receiver.socket);
	while (receiver.ends == 0)
		loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "unread");
	assert_int_equal(receiver.endings, 1);
}

/* The peer's kernel answers the first write with a reset. */
static void closed_tcp_peer_is_noticed_after_a_write(void **state)
{
	struct iovec part = { (char[]){ "x" }, 1 };
	struct error err;

	close_peer();
	while (receiver.ends == 0)
		loop_run(receiver.loop);
	run_loop_for(receiver.loop, 20);
	assert_int_equal(receiver.failures, 0);
	assert_int_equal(loop_socket_write(receiver.socket, &part, 1, &err), 1);
	while (receiver.failures == 0)
		loop_run(receiver.loop);
	assert_int_equal(loop_socket_write(receiver.socket, &part, 1, &err), -1);
	assert_int_equal(err.errnum, EPIPE);
}

static void reset_is_noticed(void **state)
{
	struct linger none = { .l_onoff = 1 };

	assert_int_equal(setsockopt(receiver.peer, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
	close_peer();
	while (receiver.failures == 0)
		loop_run(receiver.loop);
	assert_int_equal(receiver.errnum, ECONNRESET);
	assert_int_equal(receiver.ends, 0);
}

static void shutdown_ends_the_peers_input_only(void **state)
{
	char byte;

	loop_socket_shutdown(receiver.socket);
	while (read(receiver.peer, &byte, 1) != 0)
		run_loop_for(receiver.loop, 1);
	send_text("still read");
	loop_run(receiver.loop);
	assert_string_equal(buf_text(&receiver.got), "still read");
}

static void one_callback_gets_64_kib_at_most(void **state)
{
	static char bytes[64 * 1024 + 1000];
	int size = 1 << 20;

	assert_int_equal(setsockopt(receiver.peer, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
	memset(bytes, 'x', sizeof bytes);
	assert_int_equal(write(receiver.peer, bytes, sizeof bytes), sizeof bytes);
	while (receiver.got.len < sizeof bytes)
		loop_run(receiver.loop);
	assert_true(receiver.largest <= LOOP_SOCKET_CHUNK);
}

static void callbacks_may_free_the_socket(void **state)
{
	receiver.frees = true;
	send_text("x");
	loop_run(receiver.loop);
	assert_null(receiver.socket);
	run_loop_for(receiver.loop, 10);
	assert_string_equal(buf_text(&receiver.got), "x");
}

static void end_may_free_the_socket(void **state)
{
	receiver.frees = true;
	close_peer();
	loop_run(receiver.loop);
	assert_null(receiver.socket);
	run_loop_for(receiver.loop, 10);
	assert_int_equal(receiver.ends, 1);
	assert_int_equal(receiver.failures, 0);
}

#define UNIX(name) cmocka_unit_test_setup_teardown(name, open_unix, close_receiver)
#define TCP(name)  cmocka_unit_test_setup_teardown(name, open_tcp, close_receiver)

int main(void)
{
	const struct CMUnitTest tests[] = {
		UNIX(bytes_and_the_end_arrive),
		TCP(bytes_and_the_end_arrive),
		UNIX(full_socket_tells_when_it_is_writable),
		TCP(full_socket_tells_when_it_is_writable),
		UNIX(half_closed_socket_tells_when_it_is_writable),
		TCP(half_closed_socket_tells_when_it_is_writable),
		UNIX(paused_socket_reads_nothing),
		TCP(paused_socket_reads_nothing),
		UNIX(closed_unix_peer_is_noticed),
		UNIX(closed_unix_peer_is_noticed_during_a_pause),
		TCP(end_of_a_tcp_peer_is_told_during_a_pause),
		TCP(closed_tcp_peer_is_noticed_after_a_write),
		TCP(reset_is_noticed),
		UNIX(shutdown_ends_the_peers_input_only),
		TCP(shutdown_ends_the_peers_input_only),
		UNIX(one_callback_gets_64_kib_at_most),
		UNIX(callbacks_may_free_the_socket),
		UNIX(end_may_free_the_socket),
	};

	return RUN_TESTS("socket", tests);
}
