/* test_live_link.c - connections on the loopback interface, which the agent accepts and forwards.
 * Ports are chosen by the kernel first, so that tests beside this one have others. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "unit/agent/live/live.h"

static uint16_t find_free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	(void)close(fd);
	return ntohs(address.sin_port);
}

static int connect_port(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons(port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static struct live_stream *open_link(struct live *live, uint16_t port)
{
	return live_open(live, &(struct wire_message){ .type = WIRE_ACCEPT, .port.port = port });
}

static int wait_and_connect(struct live *live, uint16_t port)
{
	int fd = -1;

	LIVE_UNTIL(live, (fd = connect_port(port)) >= 0, LIVE_MS);
	return fd;
}

static void bytes_flow_in_both_directions(void **state)
{
	struct live live;
	uint16_t port = find_free_port();
	struct live_stream *s;
	char got[8] = "";
	int fd;

	live_start(&live, &(struct live_options){ 0 });
	s = open_link(&live, port);
	fd = wait_and_connect(&live, port);
	assert_int_equal(write(fd, "ping", 4), 4);
	LIVE_UNTIL(&live, s->got[WIRE_OUT].len == 4, LIVE_MS);
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "ping");
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("pong")), 4);
	channel_send_end(s->stream, WIRE_IN);
	(void)shutdown(fd, SHUT_WR);
	live_wait(s);
	assert_false(s->is_failed);
	assert_int_equal(s->ended & 1 << WIRE_OUT, 1 << WIRE_OUT);
	assert_int_equal(recv(fd, got, sizeof got, MSG_WAITALL), 4);
	assert_string_equal(got, "pong");
	(void)close(fd);
	/* Without a stream nothing listens. */
	LIVE_UNTIL(&live, (fd = connect_port(port)) < 0 || close(fd) < 0, LIVE_MS);
	live_stop(&live);
}

static void connections_go_to_the_oldest_stream(void **state)
{
	struct live live;
	uint16_t port = find_free_port();
	struct live_stream *first, *second;
	int a, b;

	live_start(&live, &(struct live_options){ 0 });
	first = open_link(&live, port);
	second = open_link(&live, port);
	a = wait_and_connect(&live, port);
	b = wait_and_connect(&live, port);
	assert_int_equal(write(a, "a", 1), 1);
	LIVE_UNTIL(&live, first->got[WIRE_OUT].len == 1, LIVE_MS);
	assert_int_equal(write(b, "b", 1), 1);
	LIVE_UNTIL(&live, second->got[WIRE_OUT].len == 1, LIVE_MS);
	CHECK_VIEW(buf_view(&first->got[WIRE_OUT]), "a");
	CHECK_VIEW(buf_view(&second->got[WIRE_OUT]), "b");
	/* CLOSE ends the connection of the program. */
	channel_close(first->stream);
	live_wait(first);
	assert_int_equal(first->failure, WIRE_FAILED_CLOSED);
	assert_int_equal(recv(a, &(char){ 0 }, 1, MSG_WAITALL), 0);
	/* A program that resets its connection ends the stream's direction, not the agent. */
	(void)setsockopt(b, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 }, sizeof(struct linger));
	(void)close(b);
	LIVE_UNTIL(&live, (second->ended & 1 << WIRE_OUT) != 0, LIVE_MS);
	channel_send_end(second->stream, WIRE_IN);
	live_wait(second);
	(void)close(a);
	live_stop(&live);
}

/* Otherwise the agent would discard the bytes of a host that sends without end. */
static void closed_connection_ends_the_stream(void **state)
{
	struct live live;
	uint16_t port = find_free_port();
	struct live_stream *s;
	int fd;

	live_start(&live, &(struct live_options){ 0 });
	s = open_link(&live, port);
	fd = wait_and_connect(&live, port);
	assert_int_equal(write(fd, "x", 1), 1);
	LIVE_UNTIL(&live, s->got[WIRE_OUT].len == 1, LIVE_MS);
	(void)close(fd);
	LIVE_UNTIL(&live, (s->ended & 1 << WIRE_OUT) != 0, LIVE_MS);
	LIVE_UNTIL(&live, s->is_over || channel_send(s->stream, WIRE_IN, VIEW("y")) > 1, LIVE_MS);
	assert_false(s->is_failed);
	live_stop(&live);
}

static void port_in_use_is_reported(void **state)
{
	struct live live;
	uint16_t port = find_free_port();
	struct live_stream *waiting[5], *taken;
	struct sockaddr_in address = { .sin_family = AF_INET,
		                       .sin_port = htons(port),
		                       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 1), 0);
	live_start(&live, &(struct live_options){ 0 });
	taken = live_wait(open_link(&live, port));
	assert_int_equal(taken->error.errnum, EADDRINUSE);
	(void)close(fd);
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		waiting[i] = open_link(&live, find_free_port());
	live_wait(waiting[4]);
	assert_string_equal(waiting[4]->error.msg, "the agent listens on 4 ports, and no more");
	for (size_t i = 0; i < 4; i++)
		channel_close(waiting[i]->stream);
	for (size_t i = 0; i < 4; i++)
		live_wait(waiting[i]);
	live_stop(&live);
}

static void large_transfer_is_complete(void **state)
{
	static char bytes[1 << 16];
	struct live live;
	uint16_t port = find_free_port();
	struct live_stream *s;
	size_t total = 0;
	pid_t child;
	int status;

	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(i * 7);
	live_start(&live, &(struct live_options){ 0 });
	s = open_link(&live, port);
	s->input = (struct view){ bytes, sizeof bytes };
	s->keeps_open = true;
	child = fork();
	if (child == 0) { /* reads slowly at first, then everything */
		int fd;

		(void)alarm(LIVE_MS / 1000); /* if the test fails, nothing accepts */
		while ((fd = connect_port(port)) < 0)
			(void)usleep(1000);
		(void)!write(fd, "go", 2);
		for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0; total += (size_t)n)
			continue;
		_exit(total == 64 * sizeof bytes ? 0 : 1);
	}
	LIVE_UNTIL(&live, s->got[WIRE_OUT].len == 2, LIVE_MS);
	for (size_t sent = 0; sent < 64 * sizeof bytes;) {
		size_t at = sent % sizeof bytes;

		sent += channel_send(s->stream, WIRE_IN,
		                     (struct view){ bytes + at, sizeof bytes - at });
		live_turn(&live, 1);
	}
	channel_send_end(s->stream, WIRE_IN);
	live_wait(s);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	live_stop(&live);
}

/* --- CONNECT --- */

/* Listens on a free port of 127.0.0.1, or of ::1; -1: this kernel has no IPv6. */
static int listen_on(int family, uint16_t *port)
{
	struct sockaddr_in6 address6 = { .sin6_family = AF_INET6,
		                         .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in address4 = { .sin_family = AF_INET,
		                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr *address = family == AF_INET ? (void *)&address4 : (void *)&address6;
	socklen_t len = family == AF_INET ? sizeof address4 : sizeof address6;
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, address, len) < 0 || listen(fd, 8) < 0 ||
	    getsockname(fd, address, &len) < 0) {
		(void)close(fd);
		return -1;
	}
	*port = ntohs(family == AF_INET ? address4.sin_port : address6.sin6_port);
	return fd;
}

static struct live_stream *dial_link(struct live *live, uint16_t port)
{
	return live_open(live, &(struct wire_message){ .type = WIRE_CONNECT, .port.port = port });
}

static void check_exchange(struct live *live, int listener, uint16_t port)
{
	struct live_stream *s = dial_link(live, port);
	char got[8] = "";
	int fd;

	LIVE_UNTIL(live, s->is_started, LIVE_MS);
	fd = accept(listener, NULL, NULL);
	assert_true(fd >= 0);
	assert_int_equal(channel_send(s->stream, WIRE_IN, VIEW("ping")), 4);
	LIVE_UNTIL(live, recv(fd, got, sizeof got, MSG_DONTWAIT) == 4, LIVE_MS);
	assert_string_equal(got, "ping");
	assert_int_equal(write(fd, "pong", 4), 4);
	(void)shutdown(fd, SHUT_WR);
	LIVE_UNTIL(live, (s->ended & 1 << WIRE_OUT) != 0, LIVE_MS);
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "pong");
	channel_send_end(s->stream, WIRE_IN);
	live_wait(s);
	assert_false(s->is_failed);
	assert_int_equal(recv(fd, got, sizeof got, MSG_WAITALL), 0);
	(void)close(fd);
}

static void agent_connects_to_a_port_of_either_family(void **state)
{
	static const int families[] = { AF_INET, AF_INET6 };
	struct live live;
	uint16_t port = 0;

	live_start(&live, &(struct live_options){ 0 });
	for (size_t i = 0; i < ARRAY_LEN(families); i++) {
		int listener = listen_on(families[i], &port);

		if (listener < 0)
			continue;
		check_exchange(&live, listener, port);
		check_exchange(&live, listener, port);
		(void)close(listener);
	}
	live_stop(&live);
}

static void closed_port_is_reported(void **state)
{
	struct live live;
	struct live_stream *s;
	size_t fds;

	live_start(&live, &(struct live_options){ 0 });
	fds = live_agent_fds(&live);
	for (int i = 0; i < 20; i++) {
		s = live_wait(dial_link(&live, find_free_port()));
		assert_true(s->is_failed);
		assert_int_equal(s->error.errnum, ECONNREFUSED);
		assert_non_null(strstr(s->error.msg, "connect to port "));
	}
	assert_int_equal(live_agent_fds(&live), fds);
	live_stop(&live);
}

static void close_ends_a_connection_of_connect(void **state)
{
	struct live live;
	uint16_t port = 0;
	int listener = listen_on(AF_INET, &port), fd;
	struct live_stream *s;

	live_start(&live, &(struct live_options){ 0 });
	s = dial_link(&live, port);
	LIVE_UNTIL(&live, s->is_started, LIVE_MS);
	fd = accept(listener, NULL, NULL);
	channel_close(s->stream);
	live_wait(s);
	assert_int_equal(s->failure, WIRE_FAILED_CLOSED);
	assert_int_equal(recv(fd, &(char){ 0 }, 1, MSG_WAITALL), 0);
	(void)close(fd);
	(void)close(listener);
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bytes_flow_in_both_directions),
		TEST(connections_go_to_the_oldest_stream),
		TEST(closed_connection_ends_the_stream),
		TEST(port_in_use_is_reported),
		TEST(large_transfer_is_complete),
		TEST(agent_connects_to_a_port_of_either_family),
		TEST(closed_port_is_reported),
		TEST(close_ends_a_connection_of_connect),
	};

	return RUN_TESTS("agent/live/link", tests);
}
