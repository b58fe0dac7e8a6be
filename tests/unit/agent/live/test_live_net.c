/* The way out: clients of the proxy in the sandbox are the test's sockets; the world
 * behind the server is played by the test. */
#include "unit/agent/live/live_net.h"

#define GET_HEAD  "GET / HTTP/1.1\r\nHost: h.test\r\nConnection: close\r\n\r\n"
#define OK_HI     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define TUNNELLED "HTTP/1.1 200 Connection established\r\n\r\n"

/* --- requests ---------------------------------------------------------------------- */

static void a_request_goes_out_and_its_answer_comes_back(void **state)
{
	struct net_peer client;
	struct live_stream *s;
	struct live live;

	(void)state;
	net_start(&live);
	assert_int_not_equal(live.proxy_port, 0);
	client = net_client(&live, "GET http://h.test/ HTTP/1.1\r\nProxy-Connection: x\r\n");
	live_run_ms(&live, 20); /* in pieces */
	net_say(&client, "Host: liar\r\n\r\n");
	s = net_accepted(&live, 1, "h.test", 80);
	net_hears(s, GET_HEAD);
	assert_int_equal(s->ended, 0); /* some servers take the end for a client that has left */
	net_answers(s, OK_HI);
	assert_string_equal(net_hear(&live, &client), OK_HI);
	assert_false(client.broken);
	net_finish_when_ended(s);
	net_stop_client(&live, &client);
}

/* Each byte is a read of its own, those of the empty line too. */
static void a_head_that_comes_byte_by_byte_is_understood(void **state)
{
	static const char head[] = "GET http://h.test/ HTTP/1.1\r\nHost: liar\r\n\r\n";
	struct net_peer client;
	struct live_stream *s;
	struct live live;

	(void)state;
	net_start(&live);
	client = net_connect(live.proxy_port);
	for (const char *c = head; *c != '\0'; c++) {
		assert_int_equal(live.dial_count, 0);
		net_say(&client, (char[]){ *c, '\0' });
		live_run_ms(&live, 2);
	}
	s = net_accepted(&live, 1, "h.test", 80);
	net_hears(s, GET_HEAD);
	net_answers(s, OK_HI);
	assert_string_equal(net_hear(&live, &client), OK_HI);
	net_finish_when_ended(s);
	net_stop_client(&live, &client);
}

static void a_body_goes_out_to_its_last_byte_and_nothing_behind_it(void **state)
{
	static const char head[] = "POST /x HTTP/1.1\r\nHost: h.test:81\r\nContent-Length: 10\r\n"
	                           "Connection: close\r\n\r\n";
	struct live live;
	struct net_peer client = net_start_client(
	        &live, "POST http://h.test:81/x HTTP/1.1\r\nContent-Length: 10\r\n\r\nhello");
	struct live_stream *s = net_accepted(&live, 1, "h.test", 81);
	char want[200];

	(void)state;
	(void)snprintf(want, sizeof want, "%shello", head);
	net_hears(s, want);
	net_say(&client, "worldGET http://evil.test/ HTTP/1.1\r\n\r\n");
	(void)snprintf(want, sizeof want, "%shelloworld", head);
	net_hears(s, want);
	live_run_ms(&live, 50);
	net_hears(s, want);
	assert_int_equal(live.dial_count, 1);
	net_answers(s, OK_HI);
	assert_string_equal(net_hear(&live, &client), OK_HI);
	assert_false(client.broken); /* although it has said more than was read */
	net_finish_when_ended(s);
	net_stop_client(&live, &client);
}

static void a_request_behind_a_request_is_not_passed_on(void **state)
{
	struct live live;
	struct net_peer client = net_start_client(&live, "GET http://h.test/ HTTP/1.1\r\n\r\n"
	                                                 "GET http://evil.test/ HTTP/1.1\r\n\r\n");
	struct live_stream *s = net_accepted(&live, 1, "h.test", 80);

	(void)state;
	net_hears(s, GET_HEAD);
	live_run_ms(&live, 50);
	net_hears(s, GET_HEAD);
	net_answers(s, OK_HI);
	assert_string_equal(net_hear(&live, &client), OK_HI);
	assert_int_equal(live.dial_count, 1);
	net_stop_client(&live, &client);
}

static void a_client_is_told_to_continue_when_the_connection_stands(void **state)
{
	struct live live;
	struct net_peer client = net_start_client(
	        &live, "PUT http://h.test/ HTTP/1.1\r\nContent-Length: 2\r\n"
	               "Expect: 100-continue\r\n\r\n");
	struct live_stream *s = net_dialled(&live, 1, "h.test", 80);

	(void)state;
	live_run_ms(&live, 20);
	assert_false(net_has(&client, "100"));
	channel_accept(s->stream);
	LIVE_UNTIL(&live, net_has(&client, "HTTP/1.1 100 Continue\r\n\r\n"), LIVE_MS);
	net_say(&client, "ok");
	net_hears(s,
	          "PUT / HTTP/1.1\r\nHost: h.test\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
	          "ok");
	net_stop_client(&live, &client);
}

static void a_client_that_has_nothing_more_to_say_still_gets_its_answer(void **state)
{
	struct live live;
	struct net_peer client = net_start_client(&live, "GET http://h.test/ HTTP/1.1\r\n\r\n");
	struct live_stream *s;

	(void)state;
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
	s = net_dialled(&live, 1, "h.test", 80);
	live_run_ms(&live, 20);
	channel_accept(s->stream);
	net_hears(s, GET_HEAD);
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_IN, LIVE_MS); /* the origin may know it */
	net_answers(s, OK_HI);
	assert_string_equal(net_hear(&live, &client), OK_HI);
	net_finish(s);
	net_stop_client(&live, &client);
}

/* The origin says 413 and ends while the body still comes: no reset may swallow that. */
static void an_early_answer_reaches_a_client_that_is_still_sending(void **state)
{
	enum { SIZE = 4 << 20 };
	AUTO_FREE char *body = net_pattern(SIZE);
	struct live live;
	struct net_peer client = net_start_client(
	        &live, "PUT http://h.test/ HTTP/1.1\r\nContent-Length: 4194304\r\n\r\n");
	struct live_stream *s = net_accepted(&live, 1, "h.test", 80);
	size_t pushed = 0;

	(void)state;
	s->holds_back = true;
	(void)net_push(&client, (struct view){ body, SIZE }, &pushed);
	LIVE_UNTIL(&live, s->bytes[WIRE_IN] == WIRE_WINDOW, LIVE_MS);
	net_answers(s, "HTTP/1.1 413 No\r\n\r\n");
	net_finish(s);
	LIVE_UNTIL(&live, net_push_and_read(&client, (struct view){ body, SIZE }, &pushed),
	           LIVE_MS);
	assert_false(client.broken);
	assert_string_equal(buf_text(&client.got), "HTTP/1.1 413 No\r\n\r\n");
	net_stop_client(&live, &client);
}

/* --- tunnels ----------------------------------------------------------------------- */

static void a_tunnel_carries_everything_both_ways(void **state)
{
	struct live live;
	struct net_peer client = net_start_client(
	        &live, "CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03 first");
	struct live_stream *s = net_dialled(&live, 1, "::1", 443);

	(void)state;
	live_run_ms(&live, 20);
	assert_false(net_has(&client, "HTTP"));
	channel_accept(s->stream);
	LIVE_UNTIL(&live, net_has(&client, TUNNELLED), LIVE_MS);
	net_hears(s, "\x16\x03 first");
	net_say(&client, ", second");
	net_hears(s, "\x16\x03 first, second");
	live_feed_text(s, "back");
	LIVE_UNTIL(&live, net_has(&client, "back"), LIVE_MS);
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
	LIVE_UNTIL(&live, s->ended & 1u << WIRE_IN, LIVE_MS);
	net_answers(s, " and forth");
	assert_string_equal(net_hear(&live, &client), TUNNELLED "back and forth");
	net_finish(s);
	net_stop_client(&live, &client);
}

static void a_tunnel_carries_much_unchanged(void **state)
{
	enum { SIZE = 8 << 20 };
	AUTO_FREE char *bytes = net_pattern(SIZE);
	struct view all = { bytes, SIZE };
	struct live live;
	struct net_peer client = net_start_client(&live, "CONNECT h.test:443 HTTP/1.1\r\n\r\n");
	struct live_stream *s = net_accepted(&live, 1, "h.test", 443);
	size_t pushed = 0;

	(void)state;
	s->keeps_open = false;
	live_feed(s, all, SIZE);
	LIVE_UNTIL(&live, net_push_and_read(&client, all, &pushed), 6 * LIVE_MS);
	assert_int_equal(client.got.len, strlen(TUNNELLED) + SIZE);
	assert_memory_equal(client.got.ptr + strlen(TUNNELLED), bytes, SIZE);
	net_done(&client);
	net_finish_when_ended(s);
	assert_int_equal(s->got[WIRE_IN].len, SIZE);
	assert_memory_equal(s->got[WIRE_IN].ptr, bytes, SIZE);
	live_stop(&live);
}

/* --- refusals ---------------------------------------------------------------------- */

static const struct {
	enum wire_failure failure;
	const char *why, *answer;
} refusals[] = {
	{ WIRE_FAILED_DENIED, "h.test:443 is not allowed",
	  "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain; charset=utf-8\r\n"
	  "Content-Length: 35\r\nConnection: close\r\n\r\nbelljar: h.test:443 is not allowed\n" },
	{ WIRE_FAILED_LIMIT, "too\r\nmany: \xff",
	  "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\n"
	  "Content-Length: 27\r\nConnection: close\r\n\r\nbelljar: too\\r\\nmany: \\xff\n" },
	{ WIRE_FAILED_MISSING, "no such host",
	  "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n"
	  "Content-Length: 22\r\nConnection: close\r\n\r\nbelljar: no such host\n" },
	{ WIRE_FAILED_SYSTEM, "no route",
	  "HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain; charset=utf-8\r\n"
	  "Content-Length: 18\r\nConnection: close\r\n\r\nbelljar: no route\n" },
};

static void a_refusal_is_told_to_the_client(void **state)
{
	struct live live;

	(void)state;
	net_start(&live);
	for (unsigned i = 0; i < ARRAY_LEN(refusals); i++) {
		struct net_peer client = net_client(&live, "CONNECT h.test:443 HTTP/1.1\r\n\r\n");
		struct live_stream *s = net_dialled(&live, i + 1, "h.test", 443);

		channel_refuse(s->stream, refusals[i].failure, refusals[i].why);
		assert_string_equal(net_hear(&live, &client), refusals[i].answer);
		net_done(&client);
	}
	live_stop(&live);
}

static void what_is_no_request_is_refused_without_a_dial(void **state)
{
	static const struct {
		const char *said, *status, *why;
	} cases[] = {
		{ "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n",
		  "belljar: this is a proxy: ask for http://host/path, or use CONNECT\n" },
		{ "\x16\x03\x01", "HTTP/1.1 400 Bad Request\r\n",
		  "belljar: this is an HTTP proxy, and that was not HTTP\n" },
		{ "PUT http://h/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "HTTP/1.1 411 Length Required\r\n",
		  "belljar: no chunked requests here: send a Content-Length\n" },
	};
	struct live live;

	(void)state;
	net_start(&live);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct net_peer client = net_client(&live, cases[i].said);

		assert_non_null(strstr(net_hear(&live, &client), cases[i].why));
		assert_true(view_starts(buf_view(&client.got), cases[i].status));
		net_done(&client);
	}
	assert_int_equal(live.dial_count, 0);
	live_stop(&live);
}

static void a_head_without_an_end_is_refused(void **state)
{
	char line[1025];
	struct net_peer client;
	struct live live;

	(void)state;
	memset(line, 'x', sizeof line - 1);
	line[sizeof line - 1] = '\0';
	net_start(&live);
	client = net_connect(live.proxy_port);
	for (int i = 0; i < 20; i++)
		net_say(&client, line);
	assert_non_null(strstr(net_hear(&live, &client),
	                       "belljar: the request's head has more than 16384 bytes\n"));
	assert_true(view_starts(buf_view(&client.got), "HTTP/1.1 431 "));
	assert_false(client.broken);
	net_stop_client(&live, &client);
}

static void there_is_no_proxy_without_a_policy(void **state)
{
	struct live live;

	(void)state;
	live_start(&live, &(struct live_options){ 0 });
	assert_int_equal(live.proxy_port, 0);
	live_stop(&live);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(a_request_goes_out_and_its_answer_comes_back),
		TEST(a_head_that_comes_byte_by_byte_is_understood),
		TEST(a_body_goes_out_to_its_last_byte_and_nothing_behind_it),
		TEST(a_request_behind_a_request_is_not_passed_on),
		TEST(a_client_is_told_to_continue_when_the_connection_stands),
		TEST(a_client_that_has_nothing_more_to_say_still_gets_its_answer),
		TEST(an_early_answer_reaches_a_client_that_is_still_sending),
		TEST(a_tunnel_carries_everything_both_ways),
		TEST(a_tunnel_carries_much_unchanged),
		TEST(a_refusal_is_told_to_the_client),
		TEST(what_is_no_request_is_refused_without_a_dial),
		TEST(a_head_without_an_end_is_refused),
		TEST(there_is_no_proxy_without_a_policy),
	};

	return RUN_TESTS("sandbox/live_net", tests);
}
