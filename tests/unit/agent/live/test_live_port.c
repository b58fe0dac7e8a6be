/* Connections from the server to a port inside. The sandbox shares the test's loopback here:
 * what listens "inside" is the test. */
#include "unit/agent/live/live_net.h"

static struct live_stream *open_port(struct live *live, uint16_t port)
{
	struct live_stream *s = live_new_stream(live);
	struct wire_message request = { .type = WIRE_PORT, .port.port = port };
	struct error err;

	s->keeps_open = true;
	CHECK_OK(channel_open(live->channel, &request, &live_stream_events, s, &s->stream, &err),
	         err);
	return s;
}

/* Someone listens inside, and a connection to it is asked for. */
static struct live_stream *start_and_open(struct live *live, int *ret_listener)
{
	uint16_t port;

	*ret_listener = net_listen(1, &port);
	live_start(live, &(struct live_options){ 0 });
	return open_port(live, port);
}

static void stop(struct live *live, int listener)
{
	(void)close(listener);
	live_stop(live);
}

static void carries_bytes_both_ways_and_each_end_by_itself(void **state)
{
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);

	(void)state;
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, s->is_opened, LIVE_MS);
	live_feed_text(s, "question");
	LIVE_UNTIL(&live, net_has(&inside, "question"), LIVE_MS);
	net_say(&inside, "answer");
	LIVE_UNTIL(&live, s->got[WIRE_OUT].len == 6, LIVE_MS);
	assert_int_equal(shutdown(inside.fd, SHUT_WR), 0);
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_OUT, LIVE_MS);
	assert_false(s->is_over || inside.ended);
	live_feed_text(s, ", and more");
	LIVE_UNTIL(&live, net_has(&inside, "question, and more"), LIVE_MS);
	live_end_input(s);
	assert_string_equal(net_hear(&live, &inside), "question, and more");
	assert_false(inside.broken);
	assert_int_equal(live_check(s)->done.bytes, 6);
	CHECK_VIEW(buf_view(&s->got[WIRE_OUT]), "answer");
	net_done(&inside);
	stop(&live, listener);
}

static void what_is_said_before_the_connection_stands_is_not_lost(void **state)
{
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);

	(void)state;
	live_feed_text(s, "early");
	live_end_input(s);
	inside = net_accept(&live, listener);
	assert_string_equal(net_hear(&live, &inside), "early");
	net_done(&inside);
	(void)live_check(s);
	assert_true(s->is_opened);
	stop(&live, listener);
}

static void says_that_nobody_listens(void **state)
{
	struct live live;
	uint16_t port;
	char why[100];

	(void)state;
	(void)close(net_listen(1, &port));
	live_start(&live, &(struct live_options){ 0 });
	(void)snprintf(why, sizeof why, "port %u: nobody listens inside (connection refused)",
	               port);
	LIVE_CHECK_FAILED(open_port(&live, port), WIRE_FAILED_MISSING, why);
	live_stop(&live);
}

static void finds_who_listens_on_ipv6_only(void **state)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6,
		                        .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t len = sizeof address;
	int listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct live live;
	struct net_peer inside;
	struct live_stream *s;

	(void)state;
	if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) < 0)
		SKIP_TEST("a machine without ::1");
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	live_start(&live, &(struct live_options){ 0 });
	s = open_port(&live, ntohs(address.sin6_port));
	live_feed_text(s, "six");
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, net_has(&inside, "six") && s->is_opened, LIVE_MS);
	net_done(&inside);
	stop(&live, listener);
}

static void the_way_out_is_no_way_in(void **state)
{
	struct live live;

	(void)state;
	live_start(&live, &(struct live_options){ .has_egress = true });
	LIVE_CHECK_FAILED(open_port(&live, live.proxy_port), WIRE_FAILED_DENIED,
	                  "that port is the sandbox's own way out");
	live_stop(&live);
}

static void closing_it_closes_the_connection(void **state)
{
	struct live live;
	struct net_peer inside;
	struct live_stream *s;
	size_t fds;
	uint16_t port;
	int listener = net_listen(1, &port);

	(void)state;
	live_start(&live, &(struct live_options){ 0 });
	fds = live_agent_fds(&live);
	s = open_port(&live, port);
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, s->is_opened, LIVE_MS);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "the connection was closed");
	assert_string_equal(net_hear(&live, &inside), "");
	assert_int_equal(live_agent_fds(&live), fds);
	net_done(&inside);
	stop(&live, listener);
}

static void a_reset_connection_ends_the_stream(void **state)
{
	struct linger at_once = { .l_onoff = 1 };
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);

	(void)state;
	inside = net_accept(&live, listener);
	net_say(&inside, "last words");
	LIVE_UNTIL(&live, s->got[WIRE_OUT].len == 10, LIVE_MS);
	assert_int_equal(setsockopt(inside.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), 0);
	net_done(&inside);
	(void)live_check(s); /* although our direction has not ended */
	assert_true(s->ended & 1u << WIRE_OUT);
	stop(&live, listener);
}

/* Someone inside closes without reading what the server goes on to send. */
static void who_does_not_read_cannot_hold_the_stream(void **state)
{
	static const char zeros[4096];
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);

	(void)state;
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, s->is_opened, LIVE_MS);
	s->keeps_open = false;
	live_feed(s, (struct view){ zeros, sizeof zeros }, 32 << 20);
	LIVE_UNTIL(&live, s->sent > 64 * 1024, LIVE_MS);
	net_done(&inside);
	(void)live_check(s);
	stop(&live, listener);
}

static void writing_to_who_has_left_ends_the_stream(void **state)
{
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);

	(void)state;
	inside = net_accept(&live, listener);
	net_done(&inside);
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_OUT, LIVE_MS);
	assert_false(s->is_over);
	/* The first is answered by a reset, the second finds nobody. */
	for (int i = 0; i < 2; i++) {
		live_feed_text(s, "are you there?");
		live_run_ms(&live, 20);
	}
	(void)live_check(s);
	assert_false(s->said_end);
	stop(&live, listener);
}

static void carries_much_both_ways_at_once_and_unchanged(void **state)
{
	enum { SIZE = 8 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct view all = { bytes, SIZE };
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);
	size_t pushed = 0;

	(void)state;
	s->keeps_open = false;
	live_feed(s, all, SIZE);
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, net_push_and_read(&inside, all, &pushed), 6 * LIVE_MS);
	assert_int_equal(shutdown(inside.fd, SHUT_WR), 0);
	(void)live_check(s);
	assert_int_equal(inside.got.len, SIZE);
	assert_memory_equal(inside.got.ptr, bytes, SIZE);
	assert_int_equal(s->got[WIRE_OUT].len, SIZE);
	assert_memory_equal(s->got[WIRE_OUT].ptr, bytes, SIZE);
	net_done(&inside);
	stop(&live, listener);
}

static void a_port_that_says_much_waits_for_a_server_that_does_not_read(void **state)
{
	enum { SIZE = 16 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct view all = { bytes, SIZE };
	struct live live;
	struct net_peer inside;
	int listener;
	struct live_stream *s = start_and_open(&live, &listener);
	size_t pushed = 0;

	(void)state;
	s->holds_back = true;
	inside = net_accept(&live, listener);
	LIVE_UNTIL(&live, net_push(&inside, all, &pushed) || s->bytes[WIRE_OUT] == WIRE_WINDOW,
	           LIVE_MS);
	(void)net_push(&inside, all, &pushed);
	live_run_ms(&live, 50);
	assert_int_equal(s->bytes[WIRE_OUT], WIRE_WINDOW);
	assert_true(live_status(live.agent, "VmRSS:") < SIZE / 1024);
	/* The others are served all the while. */
	assert_int_equal(live_exec(&live, "true")->exited.code, 0);
	s->holds_back = false;
	channel_consumed(s->stream, WIRE_OUT, WIRE_WINDOW);
	LIVE_UNTIL(&live, net_push(&inside, all, &pushed) && s->bytes[WIRE_OUT] == SIZE,
	           6 * LIVE_MS);
	assert_memory_equal(s->got[WIRE_OUT].ptr, bytes, SIZE);
	net_done(&inside);
	stop(&live, listener);
}

static void many_connections_leave_no_descriptor_behind(void **state)
{
	enum { MANY = 100 };
	struct live_stream *streams[MANY];
	struct net_peer inside[MANY];
	struct live live;
	size_t fds;
	uint16_t port;
	int listener = net_listen(MANY, &port);

	(void)state;
	live_start(&live, &(struct live_options){ 0 });
	fds = live_agent_fds(&live);
	for (unsigned i = 0; i < MANY; i++)
		streams[i] = open_port(&live, port);
	for (unsigned i = 0; i < MANY; i++)
		inside[i] = net_accept(&live, listener);
	for (unsigned i = 0; i < MANY; i += 2)
		net_done(&inside[i]);
	for (unsigned i = 0; i < MANY; i++)
		live_end_input(streams[i]);
	for (unsigned i = 1; i < MANY; i += 2)
		net_done(&inside[i]);
	for (unsigned i = 0; i < MANY; i++)
		(void)live_check(streams[i]);
	assert_int_equal(live_agent_fds(&live), fds);
	stop(&live, listener);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(carries_bytes_both_ways_and_each_end_by_itself),
		TEST(what_is_said_before_the_connection_stands_is_not_lost),
		TEST(says_that_nobody_listens),
		TEST(finds_who_listens_on_ipv6_only),
		TEST(the_way_out_is_no_way_in),
		TEST(closing_it_closes_the_connection),
		TEST(a_reset_connection_ends_the_stream),
		TEST(who_does_not_read_cannot_hold_the_stream),
		TEST(writing_to_who_has_left_ends_the_stream),
		TEST(carries_much_both_ways_at_once_and_unchanged),
		TEST(a_port_that_says_much_waits_for_a_server_that_does_not_read),
		TEST(many_connections_leave_no_descriptor_behind),
	};

	return RUN_TESTS("sandbox/live_port", tests);
}
