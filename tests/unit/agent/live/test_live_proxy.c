/* The way out under strain: clients that leave, say nothing, do not read, are too many. And
 * curl. */
#include <sys/resource.h>

#include "unit/agent/live/live_net.h"

static const char get[] = "GET http://h.test/ HTTP/1.1\r\n\r\n";
static const char tunnel[] = "CONNECT h.test:443 HTTP/1.1\r\n\r\n";

/* --- clients that leave ------------------------------------------------------------ */

static void a_client_that_leaves_while_it_waits_closes_its_dial(void **state)
{
	struct net_peer client;
	struct live_stream *s;
	struct live live;
	size_t fds;

	(void)state;
	net_start(&live);
	fds = live_agent_fds(&live);
	client = net_client(&live, tunnel);
	s = net_dialled(&live, 1, "h.test", 443);
	net_done(&client);
	(void)live_wait(s);
	assert_true(s->is_failed);
	assert_int_equal(s->failure, WIRE_FAILED_CLOSED);
	assert_int_equal(live_agent_fds(&live), fds);
	live_stop(&live);
}

/* The server accepts a connection whose client has just closed it. The agent has sent CLOSE, but the
 * server has not received it, because the test does not run the loop. */
static void an_accept_that_crosses_a_close_is_ignored(void **state)
{
	struct net_peer client;
	struct live_stream *s;
	struct live live;
	size_t fds;

	(void)state;
	net_start(&live);
	fds = live_agent_fds(&live);
	client = net_client(&live, tunnel);
	s = net_dialled(&live, 1, "h.test", 443);
	net_done(&client);
	/* The agent closes its end of the connection when it sends CLOSE. If it had not done so yet, it
	 * would take the client's close for the end of input of an accepted connection. */
	for (uint64_t end = clock_now_ms() + LIVE_MS; live_agent_fds(&live) != fds;) {
		assert_true(clock_now_ms() < end);
		(void)usleep(1000);
	}
	channel_accept(s->stream);
	s->keeps_open = false;
	live_feed_text(s, "too late");
	(void)live_wait(s);
	assert_int_equal(s->failure, WIRE_FAILED_CLOSED);
	assert_int_equal(live_exec(&live, "true")->exited.code, 0);
	live_stop(&live);
}

static void a_client_that_leaves_in_the_middle_closes_its_dial(void **state)
{
	static const char zeros[4096];
	static const char *const requests[] = { get, tunnel };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
		struct live live;
		struct net_peer client = net_start_client(&live, requests[i]);
		struct live_stream *s = net_accepted(&live, 1, "h.test", i == 0 ? 80 : 443);

		live_feed(s, (struct view){ zeros, sizeof zeros }, UINT32_MAX);
		LIVE_UNTIL(&live, net_has(&client, "HTTP/1.1 200") || client.got.len > 1 << 20,
		           LIVE_MS);
		net_done(&client);
		(void)live_wait(s);
		assert_true(s->is_failed);
		assert_int_equal(s->failure, WIRE_FAILED_CLOSED);
		live_stop(&live);
	}
}

static void an_answer_that_breaks_off_does_not_look_whole(void **state)
{
	struct live live;
	struct net_peer client = net_start_client(&live, get);
	struct live_stream *s = net_accepted(&live, 1, "h.test", 80);

	(void)state;
	live_feed_text(s, "HTTP/1.1 200 OK\r\n\r\nhalf of ");
	LIVE_UNTIL(&live, net_has(&client, "half of "), LIVE_MS);
	channel_refuse(s->stream, WIRE_FAILED_LOST, "the origin reset the connection");
	(void)net_hear(&live, &client);
	assert_true(client.broken);
	net_stop_client(&live, &client);
}

/* --- clients that do not read ------------------------------------------------------ */

/* Sends until the kernel and the window are full. Returns how much that took. */
static uint64_t feed_until_full(struct live_stream *s, struct view bytes)
{
	uint64_t sent;

	live_feed(s, bytes, bytes.len);
	do {
		sent = s->sent;
		live_run_ms(s->live, 100);
	} while (s->sent != sent);
	return sent;
}

static void slow_client_gets_all_bytes_and_delays_no_other_stream(void **state)
{
	enum { SIZE = 24 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct live live;
	struct net_peer client = net_start_client(&live, get);
	struct live_stream *s = net_accepted(&live, 1, "h.test", 80);

	(void)state;
	s->keeps_open = false;
	(void)feed_until_full(s, (struct view){ bytes, SIZE });
	assert_true(s->sent < SIZE && !s->said_end);
	assert_true(live_status(live.agent, "VmRSS:") < SIZE / 1024);
	assert_int_equal(live_exec(&live, "true")->exited.code, 0);
	net_read_all(&live, &client);
	assert_false(client.broken);
	assert_int_equal(client.got.len, SIZE);
	assert_memory_equal(client.got.ptr, bytes, SIZE);
	net_finish_when_ended(s);
	net_stop_client(&live, &client);
}

/* The server has said DONE while bytes wait in the agent: the slow client gets them still. */
static void what_came_before_the_end_is_delivered_after_it(void **state)
{
	enum { SIZE = 24 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct net_peer client;
	struct live_stream *s;
	struct live live;
	uint64_t sent;
	size_t fds;

	(void)state;
	net_start(&live);
	fds = live_agent_fds(&live);
	client = net_client(&live, get);
	s = net_accepted(&live, 1, "h.test", 80);
	sent = feed_until_full(s, (struct view){ bytes, SIZE });
	assert_true(sent > WIRE_WINDOW && sent < SIZE);
	s->to_send = sent;
	channel_send_end(s->stream, WIRE_OUT);
	net_finish(s);
	live_run_ms(&live, 50);
	net_read_all(&live, &client);
	assert_false(client.broken);
	assert_int_equal(client.got.len, sent);
	assert_memory_equal(client.got.ptr, bytes, sent);
	net_done(&client);
	LIVE_UNTIL(&live, live_agent_fds(&live) == fds, LIVE_MS);
	live_stop(&live);
}

/* --- too many ---------------------------------------------------------------------- */

enum { MOST = 64 };

static void all_done(struct net_peer *peers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		net_done(&peers[i]);
}

static void clients_that_say_nothing_make_room_for_one_that_speaks(void **state)
{
	struct net_peer idle[MOST], client;
	struct live_stream *s;
	struct live live;

	(void)state;
	net_start(&live);
	for (int i = 0; i < MOST; i++) {
		idle[i] = net_client(&live, "GET http://slow");
		live_run_ms(&live, 2);
	}
	client = net_client(&live, get);
	s = net_accepted(&live, 1, "h.test", 80);
	net_answers(s, "served");
	assert_string_equal(net_hear(&live, &client), "served");
	assert_string_equal(net_hear(&live, &idle[0]), ""); /* the oldest */
	assert_false(net_read(&idle[1]));
	all_done(idle, MOST);
	net_stop_client(&live, &client);
}

static void one_connection_too_many_is_told_so(void **state)
{
	struct net_peer open[MOST], client;
	struct live live;

	(void)state;
	net_start(&live);
	for (unsigned i = 0; i < MOST; i++) {
		open[i] = net_client(&live, tunnel);
		(void)net_accepted(&live, i + 1, "h.test", 443);
		LIVE_UNTIL(&live, net_has(&open[i], "200"), LIVE_MS);
	}
	client = net_client(&live, tunnel);
	assert_non_null(strstr(net_hear(&live, &client), "503 Service Unavailable"));
	assert_non_null(strstr(buf_text(&client.got),
	                       "belljar: 64 connections are open, which is the most\n"));
	assert_int_equal(live.dial_count, MOST);
	net_done(&client);
	/* One goes, another may come. */
	net_done(&open[0]);
	net_finish_when_ended(live.dials[0].stream);
	live_run_ms(&live, 20);
	client = net_client(&live, tunnel);
	(void)net_dialled(&live, MOST + 1, "h.test", 443);
	all_done(open + 1, MOST - 1);
	net_stop_client(&live, &client);
}

static void when_all_wait_for_the_server_the_next_is_told_so(void **state)
{
	struct net_peer waiting[MOST], client;
	struct live live;

	(void)state;
	net_start(&live);
	for (unsigned i = 0; i < MOST; i++) {
		waiting[i] = net_client(&live, tunnel);
		(void)net_dialled(&live, i + 1, "h.test", 443);
	}
	client = net_connect(live.proxy_port);
	assert_non_null(strstr(net_hear(&live, &client),
	                       "belljar: 64 clients wait for a connection, which is the most\n"));
	all_done(waiting, MOST);
	net_stop_client(&live, &client);
}

/* Both take ten seconds: they are waited for together. */
static void what_hangs_is_given_up_after_ten_seconds(void **state)
{
	struct net_peer fill[4], client;
	struct live_stream *s;
	struct live live;
	uint16_t port;
	int listener = net_listen(0, &port);
	struct sockaddr_in address = net_address(port);
	char why[80];
	uint64_t start = clock_now_ms();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fill); i++) { /* nobody accepts them */
		fill[i] = net_peer_of(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
		(void)connect(fill[i].fd, (struct sockaddr *)&address, sizeof address);
	}
	net_start(&live);
	client = net_client(&live, "GET http://h");
	s = live_open(&live, &(struct wire_message){ .type = WIRE_PORT, .port.port = port });
	LIVE_UNTIL(&live, net_read(&client) && s->is_over, 2 * LIVE_MS);
	assert_true(clock_now_ms() - start >= 9900 && clock_now_ms() - start < 13000);
	assert_true(view_starts(buf_view(&client.got), "HTTP/1.1 408 Request Timeout\r\n"));
	assert_non_null(strstr(buf_text(&client.got), "belljar: no whole request within 10 s\n"));
	(void)snprintf(why, sizeof why, "port %u: no answer inside within 10 s", port);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_LOST, why);
	all_done(fill, ARRAY_LEN(fill));
	net_done(&client);
	(void)close(listener);
	live_stop(&live);
}

static void a_refused_client_that_does_not_leave_is_let_go_after_two_seconds(void **state)
{
	struct net_peer client;
	uint64_t start;
	struct live live;
	size_t fds;

	(void)state;
	net_start(&live);
	fds = live_agent_fds(&live);
	start = clock_now_ms();
	client = net_client(&live, "GET / HTTP/1.1\r\n\r\n");
	(void)net_hear(&live, &client);
	assert_int_equal(live_agent_fds(&live), fds + 1);
	LIVE_UNTIL(&live, live_agent_fds(&live) == fds, LIVE_MS);
	assert_true(clock_now_ms() - start >= 1900 && clock_now_ms() - start < 5000);
	net_stop_client(&live, &client);
}

/* Nothing but the time tells the agent that it may accept again. */
static void a_client_waits_until_there_are_descriptors_for_it(void **state)
{
	struct net_peer client;
	struct rlimit all, none;
	struct live live;

	(void)state;
	net_start(&live);
	assert_int_equal(prlimit(live.agent, RLIMIT_NOFILE, NULL, &all), 0);
	none = (struct rlimit){ 0, all.rlim_max };
	assert_int_equal(prlimit(live.agent, RLIMIT_NOFILE, &none, NULL), 0);
	client = net_client(&live, get);
	live_run_ms(&live, 250);
	assert_int_equal(live.dial_count, 0);
	assert_int_equal(prlimit(live.agent, RLIMIT_NOFILE, &all, NULL), 0);
	(void)net_accepted(&live, 1, "h.test", 80);
	net_stop_client(&live, &client);
}

/* --- curl -------------------------------------------------------------------------- */

#define CURL "curl", "-sS", "-i", "-m", "20", "--noproxy", "", "-x"

static const char *proxy_of(const struct live *live)
{
	static char url[64];

	(void)snprintf(url, sizeof url, "http://127.0.0.1:%u", live->proxy_port);
	return url;
}

static void skip_without_curl(void)
{
	if (access("/usr/bin/curl", X_OK) < 0)
		SKIP_TEST("there is no curl");
}

static void curl_gets_a_page(void **state)
{
	struct live_stream *run, *s;
	struct live live;

	(void)state;
	skip_without_curl();
	net_start(&live);
	run = live_start_run(&live, &(struct live_run){ 0 }, CURL, proxy_of(&live), "-A", "me",
	                     "http://page.test:8080/a?b=c");
	s = net_accepted(&live, 1, "page.test", 8080);
	net_hears(s, "GET /a?b=c HTTP/1.1\r\nHost: page.test:8080\r\nUser-Agent: me\r\n"
	             "Accept: */*\r\nConnection: close\r\n\r\n");
	net_answers(s, "HTTP/1.1 200 OK\r\n\r\nuntil the end");
	net_finish_when_ended(s);
	assert_int_equal(live_exited(run)->exited.code, 0);
	CHECK_VIEW(buf_view(&run->got[WIRE_OUT]), "HTTP/1.1 200 OK\r\n\r\nuntil the end");
	live_stop(&live);
}

/* So much that curl asks for 100 Continue first. */
static void curl_posts_a_large_file(void **state)
{
	enum { SIZE = 3 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct live_stream *run, *s;
	struct live live;
	const char *body;

	(void)state;
	skip_without_curl();
	net_start(&live);
	(void)live_check(live_write_file(&live, "up", (struct view){ bytes, SIZE }));
	run = live_start_run(&live, &(struct live_run){ 0 }, CURL, proxy_of(&live), "--data-binary",
	                     "@up", "http://up.test/");
	s = net_accepted(&live, 1, "up.test", 80);
	LIVE_UNTIL(&live, s->bytes[WIRE_IN] > SIZE, LIVE_MS);
	body = strstr(buf_text(&s->got[WIRE_IN]), "\r\n\r\n");
	assert_non_null(body);
	LIVE_UNTIL(&live,
	           (body = strstr(buf_text(&s->got[WIRE_IN]), "\r\n\r\n")) != NULL &&
	                   s->got[WIRE_IN].len == (size_t)(body + 4 - s->got[WIRE_IN].ptr) + SIZE,
	           LIVE_MS);
	assert_memory_equal(body + 4, bytes, SIZE);
	net_answers(s, "HTTP/1.1 200 OK\r\n\r\nthanks");
	assert_int_equal(live_exited(run)->exited.code, 0);
	CHECK_VIEW(buf_view(&run->got[WIRE_OUT]),
	           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\nthanks");
	live_stop(&live);
}

static void curl_goes_through_a_tunnel(void **state)
{
	struct live_stream *run, *s;
	struct live live;

	(void)state;
	skip_without_curl();
	net_start(&live);
	run = live_start_run(&live, &(struct live_run){ 0 }, CURL, proxy_of(&live), "-p", "-A",
	                     "me", "http://deep.test:4443/");
	s = net_accepted(&live, 1, "deep.test", 4443);
	net_hears(s, "GET / HTTP/1.1\r\nHost: deep.test:4443\r\nUser-Agent: me\r\n"
	             "Accept: */*\r\n\r\n");
	live_feed_text(s, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	assert_int_equal(live_exited(run)->exited.code, 0);
	CHECK_VIEW(buf_view(&run->got[WIRE_OUT]), "HTTP/1.1 200 Connection established\r\n\r\n"
	                                          "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
	net_finish_when_ended(s); /* curl left: the end came by itself */
	live_stop(&live);
}

static void curl_shows_why_it_was_refused(void **state)
{
	struct live_stream *run, *s;
	struct live live;

	(void)state;
	skip_without_curl();
	net_start(&live);
	run = live_start_run(&live, &(struct live_run){ 0 }, "curl", "-sS", "--noproxy", "", "-x",
	                     proxy_of(&live), "http://no.test/");
	s = net_dialled(&live, 1, "no.test", 80);
	channel_refuse(s->stream, WIRE_FAILED_DENIED, "no.test:80 is not allowed");
	assert_int_equal(live_exited(run)->exited.code, 0);
	CHECK_VIEW(buf_view(&run->got[WIRE_OUT]), "belljar: no.test:80 is not allowed\n");
	live_stop(&live);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_client_that_leaves_while_it_waits_closes_its_dial),
		TEST(an_accept_that_crosses_a_close_is_ignored),
		TEST(a_client_that_leaves_in_the_middle_closes_its_dial),
		TEST(an_answer_that_breaks_off_does_not_look_whole),
		TEST(slow_client_gets_all_bytes_and_delays_no_other_stream),
		TEST(what_came_before_the_end_is_delivered_after_it),
		TEST(clients_that_say_nothing_make_room_for_one_that_speaks),
		TEST(one_connection_too_many_is_told_so),
		TEST(when_all_wait_for_the_server_the_next_is_told_so),
		TEST(what_hangs_is_given_up_after_ten_seconds),
		TEST(a_refused_client_that_does_not_leave_is_let_go_after_two_seconds),
		TEST(a_client_waits_until_there_are_descriptors_for_it),
		TEST(curl_gets_a_page),
		TEST(curl_posts_a_large_file),
		TEST(curl_goes_through_a_tunnel),
		TEST(curl_shows_why_it_was_refused),
	};

	return RUN_TESTS("sandbox/live_proxy", tests);
}
