/* The server over loopback: what it answers, in which order, and when it closes. */
#include <errno.h>
#include <sys/socket.h>

#include "loop/loop.h"
#include "unit/loop/run_loop.h"
#include "unit/test.h"
#include "unit/transport/http/http_rig.h"

static struct http_rig rig;
static struct client client;

#define GET(path)        "GET " path " HTTP/1.1\r\nHost: a\r\n\r\n"
#define POST(path, rest) "POST " path " HTTP/1.1\r\nHost: a\r\n" rest

static void open_with(const struct http_limits *limits)
{
	rig_open(&rig, limits);
	rig_listen(&rig, "127.0.0.1:0", NULL);
	client_open(&client, &rig);
}

static int open_rig(void **state)
{
	struct http_limits limits = rig_limits();

	open_with(&limits);
	return 0;
}

static int close_rig(void **state)
{
	client_close(&client);
	rig_close(&rig);
	return 0;
}

static const struct {
	const char *request;
	int status;
	const char *body;
} answers[] = {
	{ GET("/hello"), 200, "hello" },
	{ GET("/nothing"), 404, "nothing here" },
	{ "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", 404, "nothing here" },
	{ "OPTIONS /method HTTP/1.1\r\nHost: a\r\n\r\n", 200, "OPTIONS" },
	{ "DELETE /method HTTP/1.1\r\nHost: a\r\n\r\n", 200, "DELETE" },
	{ "PATCH /method HTTP/1.1\r\nHost: a\r\n\r\n", 200, "PATCH" },
	{ GET("/query?a=b&c"), 200, "a=b&c" },
	{ GET("/field"), 200, "(none)" },
	{ "GET /field HTTP/1.1\r\nHost: a\r\nX-Test: 1\r\n\r\n", 200, "1" },
	{ "GET /field HTTP/1.1\r\nHost: a\r\nX-Test: 1\r\nx-test:2\r\nX-TEST:\r\n\r\n", 200,
	  "1, 2, " },
	{ POST("/echo", "Content-Length: 4\r\n\r\nbody"), 200, "body" },
	{ POST("/echo", "Content-Length: 0\r\n\r\n"), 200, "" },
	{ POST("/echo", "\r\n"), 200, "" },
	{ POST("/echo",
	       "Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2;x\r\ndy\r\n0\r\nT: x\r\n\r\n"),
	  200, "body" },
	{ POST("/unread", "Content-Length: 4\r\n\r\nbody"), 200, "unread" },
	{ POST("/unread", "Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"), 200,
	  "unread" },
};

static void kept_connection_serves_all_requests(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++)
		client_ask(&client, answers[i].request, answers[i].status, answers[i].body);
	assert_int_equal(rig.requests, ARRAY_LEN(answers));
	assert_int_equal(http_server_connections(rig.server), 1);
	assert_memory_equal(rig.log.ptr, "GET /hello 200 5\nGET /nothing 404 12\n", 37);
}

static void requests_in_single_bytes_are_the_same(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
		for (const char *at = answers[i].request; at[0] != '\0' && at[1] != '\0'; at++) {
			client_send_bytes(&client, (struct view){ at, 1 });
			run_loop_for(rig.loop, 0);
		}
		client_ask(&client, answers[i].request + strlen(answers[i].request) - 1,
		           answers[i].status, answers[i].body);
	}
}

static void pipelined_requests_are_answered_in_order(void **state)
{
	AUTO_BUF struct buf all;
	struct error err;

	buf_init(&all, 1 << 20);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < ARRAY_LEN(answers); i++)
			CHECK_OK(buf_add(&all, view_of(answers[i].request), &err), err);
	client_send_bytes(&client, buf_view(&all));
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
			client_await(&client, "\r\n\r\n");
			client_await(&client, answers[i].body);
		}
	assert_int_equal(client.got.len, 0);
}

static void pipelined_request_waits_for_a_late_response(void **state)
{
	client_send(&client, GET("/hold") GET("/hello") GET("/hold") GET("/method"));
	(void)rig_await_request(&rig, 0);
	rig_step(&rig);
	assert_int_equal(rig.requests, 1);
	assert_int_equal(client.got.len, 0);
	rig_respond(&rig, 0, "first");
	client_await(&client, "first");
	client_await(&client, "hello");
	(void)rig_await_request(&rig, 1);
	rig_respond(&rig, 1, "third");
	client_await(&client, "third");
	client_await(&client, "GET");
	assert_int_equal(rig.requests, 4);
}

/* More than the server holds: the rest stays in the kernel, and no byte is lost. */
static void long_pipeline_behind_a_late_response_is_complete(void **state)
{
	enum { COUNT = 4000 };
	AUTO_BUF struct buf all;
	struct error err;

	buf_init(&all, 1 << 20);
	for (int i = 0; i < COUNT; i++)
		CHECK_OK(buf_printf(&all, &err, "GET /query?%07d HTTP/1.1\r\nHost: a\r\n\r\n", i),
		         err);
	client_send(&client, GET("/hold"));
	(void)rig_await_request(&rig, 0);
	client_send_bytes(&client, buf_view(&all));
	rig_step(&rig);
	assert_int_equal(rig.requests, 1);
	rig_respond(&rig, 0, "first");
	for (int i = 0; i < COUNT; i++) {
		char want[16];

		(void)snprintf(want, sizeof want, "%07d", i);
		client_await(&client, want);
	}
	assert_int_equal(rig.requests, COUNT + 1);
}

static void head_request_gets_a_head_only(void **state)
{
	client_send(&client, "HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n" GET("/method"));
	client_await(&client, "Content-Length: 5\r\n\r\nHTTP/1.1 200 OK\r\n");
	client_await(&client, "\r\n\r\nGET");
	client_send(&client, "HEAD /stream HTTP/1.1\r\nHost: a\r\n\r\n" GET("/method"));
	http_stream_write(rig_await_request(&rig, 0), VIEW("not for HEAD"));
	http_stream_end(rig.held[0]);
	client_await(&client, "Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK\r\n");
	client_await(&client, "\r\n\r\nGET");
}

static void http_1_0_closes_after_the_response(void **state)
{
	client_send(&client, "GET /hello HTTP/1.0\r\n\r\n");
	client_await(&client, "HTTP/1.1 200 OK\r\n");
	client_await(&client, "Connection: close\r\n\r\nhello");
	client_await_end(&client);
	assert_int_equal(client.errnum, 0);
}

static void http_1_0_keeps_the_connection_when_asked(void **state)
{
	for (int i = 0; i < 2; i++) {
		client_send(&client, "GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
		client_await(&client, "Connection: keep-alive\r\n\r\nhello");
	}
}

static void http_1_0_stream_ends_with_the_connection(void **state)
{
	client_send(&client, "GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
	http_stream_write(rig_await_request(&rig, 0), VIEW("part"));
	client_await(&client, "Connection: close\r\n\r\npart");
	http_stream_end(rig.held[0]);
	client_await_end(&client);
	assert_int_equal(client.got.len, 0);
}

static void stream_is_sent_in_chunks(void **state)
{
	client_send(&client, GET("/stream"));
	client_await(&client, "Transfer-Encoding: chunked\r\n\r\n");
	http_stream_write(rig_await_request(&rig, 0), VIEW("first part"));
	client_await(&client, "a\r\nfirst part\r\n");
	http_stream_write(rig.held[0], VIEW(""));
	http_stream_write(rig.held[0], VIEW("second"));
	http_stream_end(rig.held[0]);
	client_await(&client, "6\r\nsecond\r\n0\r\n\r\n");
	client_ask(&client, GET("/hello"), 200, "hello");
	assert_string_equal(buf_text(&rig.log), "GET /stream 200 16\nGET /hello 200 5\n");
}

static void connection_close_is_honoured(void **state)
{
	client_send(&client,
	            "GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" GET("/x"));
	client_await(&client, "Connection: close\r\n\r\nhello");
	client_await_end(&client);
	assert_int_equal(client.errnum, 0);
	assert_int_equal(client.got.len, 0);
	assert_int_equal(rig.requests, 1);
}

static void client_that_expects_it_gets_100_continue(void **state)
{
	client_send(&client, POST("/echo", "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
	client_await(&client, "HTTP/1.1 100 Continue\r\n\r\n");
	assert_int_equal(client.got.len, 0);
	client_ask(&client, "body", 200, "body");
	client_ask(&client, GET("/hello"), 200, "hello");
}

/* Whether the client sends its body after this response is not known. */
static void refused_expectation_closes_the_connection(void **state)
{
	client_send(&client, POST("/unread", "Content-Length: 4\r\nExpect: 100-continue\r\n\r\n"));
	client_await(&client, "Connection: close\r\n\r\nunread");
	client_await_end(&client);
}

static const struct {
	const char *request;
	const char *want;
} rejections[] = {
	{ "GET / HTTP/1.1\n\n", "400 Bad Request: a line of the head does not end with CRLF\n" },
	{ "GET / HTTP/1.1\r\n\r\n", "400 Bad Request: the field Host is missing\n" },
	{ "BREW / HTTP/1.1\r\nHost: a\r\n\r\n", "501 Not Implemented: the method is not known\n" },
	{ "GET / HTTP/1.1\r\nHost: a\r\nX-Single: 1\r\nX-Single: 1\r\n\r\n",
	  "400 Bad Request: a field that may appear once appears again\n" },
	{ POST("/echo", "Content-Length: 4194305\r\n\r\n"),
	  "413 Content Too Large: the body is too large\n" },
	{ POST("/echo", "Content-Length: 4194305\r\nExpect: 100-continue\r\n\r\n"),
	  "413 Content Too Large: the body is too large\n" },
	{ POST("/echo", "Transfer-Encoding: chunked\r\n\r\nxyz"),
	  "400 Bad Request: the chunks of the body are malformed\n" },
	{ POST("/echo", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
	  "400 Bad Request: the request has both Content-Length and Transfer-Encoding\n" },
	{ POST("/echo", "Expect: a miracle\r\n\r\n"),
	  "417 Expectation Failed: the only expectation is 100-continue\n" },
};

static void rejected_request_closes_the_connection(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(rejections); i++) {
		struct client other;

		client_open(&other, &rig);
		client_send(&other, rejections[i].request);
		client_send(&other, GET("/smuggled"));
		client_await(&other, "Content-Type: text/plain\r\n");
		client_await(&other, "Connection: close\r\n\r\n");
		client_await(&other, rejections[i].want);
		client_await_end(&other);
		assert_int_equal(other.errnum, 0); /* no reset, which could destroy the answer */
		assert_int_equal(other.got.len, 0);
		client_close(&other);
	}
	assert_null(strstr(buf_text(&rig.log), "smuggled"));
}

static void chunked_body_above_the_limit_is_rejected(void **state)
{
	static const char chunk[] = "10000\r\n";
	char data[0x10000 + 2];
	int i = 0;

	memset(data, 'x', sizeof data);
	memcpy(data + 0x10000, "\r\n", 2);
	client_send(&client, POST("/echo", "Transfer-Encoding: chunked\r\n\r\n"));
	while (client.got.len == 0 && !client.has_ended) {
		client_send(&client, chunk);
		client_send_bytes(&client, (struct view){ data, sizeof data });
		rig_step(&rig);
		assert_true(i++ < 1000);
	}
	client_await(&client, "413 Content Too Large: the body is too large\n");
	assert_string_equal(buf_text(&rig.log), "POST /echo 413 45\n");
}

static void head_of_one_mebibyte_is_rejected(void **state)
{
	char *head = malloc(1 << 20);

	memset(head, 'x', 1 << 20);
	memcpy(head, "GET / HTTP/1.1\r\nHost: a\r\nx: ", 29);
	client_send_bytes(&client, (struct view){ head, 1 << 20 });
	client_await(&client, "HTTP/1.1 431 Request Header Fields Too Large\r\n");
	client_await_end(&client);
	assert_int_equal(client.errnum, 0);
	assert_int_equal(rig.requests, 0);
	free(head);
}

static void large_body_comes_back_complete(void **state)
{
	enum { LEN = 4 * 1024 * 1024 };
	char *bytes = malloc(LEN);
	char head[128];

	for (size_t i = 0; i < LEN; i++)
		bytes[i] = (char)('a' + i * 31 % 26);
	(void)snprintf(head, sizeof head, POST("/echo", "Content-Length: %d\r\n\r\n"), LEN);
	client_send(&client, head);
	client_send_bytes(&client, (struct view){ bytes, LEN });
	client_await(&client, "\r\n\r\n");
	while (client.got.len < LEN)
		loop_run(rig.loop);
	assert_int_equal(client.got.len, LEN);
	assert_memory_equal(client.got.ptr, bytes, LEN);
	free(bytes);
}

static void body_can_be_read_later(void **state)
{
	client_send(&client, POST("/hold", "Content-Length: 8\r\n\r\nsome"));
	(void)rig_await_request(&rig, 0);
	rig_step(&rig);
	rig_read_body(&rig, 0);
	assert_int_equal(rig.body.len, 0); /* not from within http_read_body() */
	rig_step(&rig);
	client_send(&client, "body");
	while (rig.body.len == 0)
		rig_step(&rig);
	assert_string_equal(buf_text(&rig.body), "somebody");
	rig_respond(&rig, 0, "done");
	client_await(&client, "done");
	client_ask(&client, GET("/hello"), 200, "hello");
}

/* A client that does not read gets no more responses, and its connection needs bounded memory. */
static void slow_reader_gets_everything(void **state)
{
	struct client slow;

	client_open(&slow, &rig);
	client_stop_reading(&slow);
	for (int i = 0; i < 5; i++)
		client_send(&slow, GET("/big"));
	for (int i = 0; i < 20; i++)
		rig_step(&rig);
	assert_true(rig.requests < 5);
	client_ask(&client, GET("/hello"), 200, "hello"); /* others are served */
	client_read_again(&slow);
	while (slow.got.len < 5 * BIG_BYTES)
		loop_run(rig.loop);
	client_close(&slow);
}

static void stream_that_is_not_read_is_closed_at_the_limit(void **state)
{
	static char event[100 * 1000];
	struct http_request *request;
	size_t sent = 0;

	client_send(&client, GET("/stream"));
	request = rig_await_request(&rig, 0);
	client_stop_reading(&client);
	while (rig.closed == 0) {
		if (rig.held[0] != NULL)
			http_stream_write(request, (struct view){ event, sizeof event });
		assert_int_equal(rig.closed, 0); /* not from within http_stream_write() */
		sent += sizeof event;
		assert_true(sent < 100 * 1000 * 1000);
		if (http_queued(request) > rig_limits().max_queue - sizeof event)
			rig_step(&rig);
	}
	rig_await_connections(&rig, 0);
	assert_non_null(strstr(buf_text(&rig.log), " cut\n"));
}

static void half_closed_client_gets_its_responses(void **state)
{
	client_send(&client, GET("/hello") GET("/hold") GET("/method"));
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
	client_await(&client, "hello");
	(void)rig_await_request(&rig, 0);
	client_await(&client, "HTTP/1.1 102 Processing\r\n\r\n");
	rig_respond(&rig, 0, "late");
	client_await(&client, "late");
	client_await(&client, "\r\n\r\nGET");
	client_await_end(&client);
	assert_int_equal(client.errnum, 0);
	assert_int_equal(rig.closed, 0);
	rig_await_connections(&rig, 0);
}

static void half_closed_stream_goes_on(void **state)
{
	client_send(&client, GET("/stream"));
	client_await(&client, "\r\n\r\n");
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
	client_await(&client, "5\r\n: k\n\n\r\n");
	http_stream_write(rig.held[0], VIEW("more"));
	client_await(&client, "4\r\nmore\r\n");
	assert_int_equal(rig.closed, 0);
	http_stream_end(rig.held[0]);
	client_await_end(&client);
}

static const char *const closing[] = {
	GET("/hold"),
	GET("/stream"),
	POST("/hold", "Content-Length: 4\r\n\r\nbody"),
	POST("/hold", "Content-Length: 4\r\n\r\nbod"),
};

static void closed_connection_is_reported(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(closing); i++) {
		struct client other;

		client_open(&other, &rig);
		client_send(&other, closing[i]);
		(void)rig_await_request(&rig, i);
		client_close(&other);
		rig_await_closed(&rig, i + 1);
		assert_null(rig.held[i]);
	}
	rig_await_connections(&rig, 1);
}

/* The server stops reading when it holds 64 KiB of later requests. */
static void client_that_pipelines_much_and_closes_is_reported(void **state)
{
	static const char next[] = GET("/hello");
	enum { COUNT = 96 * 1024 / (sizeof next - 1) };

	client_send(&client, GET("/hold"));
	(void)rig_await_request(&rig, 0);
	for (size_t i = 0; i < COUNT; i++)
		client_send(&client, next);
	client_close(&client);
	rig_await_closed(&rig, 1);
	rig_await_connections(&rig, 0);
	client_open(&client, &rig);
}

/* The body never comes: the handler is told, and the memory is freed. */
static void client_that_ends_within_a_body_is_reported(void **state)
{
	client_send(&client, POST("/hold", "Content-Length: 100\r\n\r\nbody"));
	(void)rig_await_request(&rig, 0);
	rig_read_body(&rig, 0);
	rig_step(&rig);
	assert_int_equal(shutdown(client.fd, SHUT_WR), 0);
	rig_await_closed(&rig, 1);
	client_await_end(&client);
	assert_string_equal(buf_text(&rig.log), "POST /hold 0 0 cut\n");
}

/* HTTP/1.0 has no "102 Processing", but the kernel tells when the peer of a unix socket closes. */
static void closed_unix_connection_is_reported(void **state)
{
	char address[64];
	struct http_limits limits = rig_limits();

	(void)snprintf(address, sizeof address, "unix:/tmp/belljar-test-http-%d", (int)getpid());
	rig_open(&rig, &limits);
	rig_listen(&rig, address, NULL);
	client_open(&client, &rig);
	client_ask(&client, GET("/hello"), 200, "hello");
	client_send(&client, "GET /hold HTTP/1.0\r\n\r\n");
	(void)rig_await_request(&rig, 0);
	client_close(&client);
	rig_await_closed(&rig, 1);
	rig_await_connections(&rig, 0);
	client_open(&client, &rig);
	(void)unlink(address + 5);
}

static void client_that_leaves_within_a_head_is_forgotten(void **state)
{
	client_send(&client, GET("/hello") "GET /hel");
	client_await(&client, "hello");
	client_close(&client);
	rig_await_connections(&rig, 0);
	assert_string_equal(buf_text(&rig.log), "GET /hello 200 5\n  0 0 cut\n");
	client_open(&client, &rig);
}

static const struct {
	const char *sent;
	const char *want; /* "": closed without an answer */
} late[] = {
	{ "", "" },
	{ "GET / HT", "408 Request Timeout: the head did not arrive in time\n" },
	{ POST("/echo", "Content-Length: 5\r\n\r\nbody"),
	  "408 Request Timeout: the body did not arrive in time\n" },
	{ POST("/echo", "Transfer-Encoding: chunked\r\n\r\n"),
	  "408 Request Timeout: the body did not arrive in time\n" },
	{ POST("/unread", "Content-Length: 5\r\n\r\nbody"), "unread" },
	{ GET("/hello"), "hello" },
};

static void late_clients_are_closed(void **state)
{
	struct http_limits limits = rig_limits();

	limits.head_ms = limits.body_ms = limits.idle_ms = 20;
	open_with(&limits);
	for (size_t i = 0; i < ARRAY_LEN(late); i++) {
		struct client other;

		client_open(&other, &rig);
		client_send(&other, late[i].sent);
		client_await(&other, late[i].want);
		client_await_end(&other);
		assert_int_equal(other.errnum, 0);
		assert_int_equal(other.got.len, 0);
		client_close(&other);
	}
}

/* A byte now and then does not help: the time is that of the whole head. */
static void slowloris_is_closed(void **state)
{
	struct http_limits limits = rig_limits();
	int i = 0;

	limits.head_ms = 50;
	open_with(&limits);
	client_send(&client, "GET / HTTP/1.1\r\n");
	while (!client.has_ended) {
		client_send(&client, "a: b\r\n");
		run_loop_for(rig.loop, 5);
		assert_true(i++ < 10000);
	}
	client_await(&client, "HTTP/1.1 408 Request Timeout\r\n");
}

static void client_that_stops_reading_is_closed(void **state)
{
	struct http_limits limits = rig_limits();

	limits.write_ms = 50;
	open_with(&limits);
	client_stop_reading(&client);
	client_send(&client, GET("/big") GET("/big") GET("/big") GET("/big") GET("/big"));
	/* On a busy machine the connection can be opened and closed within one step of the loop. */
	while (rig.requests == 0)
		rig_step(&rig);
	rig_await_connections(&rig, 0);
}

static void silent_stream_gets_keep_alives(void **state)
{
	struct http_limits limits = rig_limits();

	limits.keep_alive_ms = 10;
	limits.idle_ms = limits.head_ms = limits.body_ms = 10;
	open_with(&limits);
	client_send(&client, GET("/stream"));
	for (int i = 0; i < 5; i++)
		client_await(&client, "5\r\n: k\n\n\r\n");
	http_stream_end(rig_await_request(&rig, 0));
	client_await(&client, "0\r\n\r\n");
}

/* Without a request in progress, the connection that is idle for the longest time makes room. */
static void idle_connections_make_room(void **state)
{
	struct http_limits limits = rig_limits();
	struct client more[3];

	limits.max_connections = 3;
	open_with(&limits);
	client_ask(&client, GET("/hello"), 200, "hello");
	for (size_t i = 0; i < 3; i++) {
		client_open(&more[i], &rig);
		client_ask(&more[i], GET("/hello"), 200, "hello");
	}
	client_await_end(&client);
	assert_int_equal(http_server_connections(rig.server), 3);
	for (size_t i = 0; i < 3; i++)
		client_close(&more[i]);
}

static void busy_connections_make_others_wait(void **state)
{
	struct http_limits limits = rig_limits();
	struct client second, third;

	limits.max_connections = 2;
	open_with(&limits);
	client_open(&second, &rig);
	client_send(&client, GET("/hold"));
	client_send(&second, GET("/hold"));
	(void)rig_await_request(&rig, 1);
	client_open(&third, &rig);
	client_send(&third, GET("/hello"));
	for (int i = 0; i < 5; i++)
		rig_step(&rig);
	assert_int_equal(third.got.len, 0);
	assert_int_equal(http_server_connections(rig.server), 2);
	rig_respond(&rig, 0, "done");
	client_await(&third, "hello");
	client_close(&second);
	client_close(&third);
}

/* Fails as if all descriptors were in use, then goes on by itself. */
static void lack_of_descriptors_ends(void **state)
{
	struct rlimit before, none;
	struct stderr_capture capture;
	char text[400];

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	client_ask(&client, GET("/hello"), 200, "hello");
	client_close(&client);
	client_open(&client, &rig);
	none = before;
	none.rlim_cur = 3;
	stderr_capture_start(&capture);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	client_send(&client, GET("/hello"));
	for (int i = 0; i < 50; i++)
		rig_step(&rig);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	(void)stderr_capture_end(&capture, text, sizeof text);
	assert_non_null(strstr(text, "cannot accept connections for now: Too many open files"));
	assert_null(strstr(strstr(text, "cannot accept") + 1, "cannot accept")); /* once */
	client_await(&client, "hello");
}

static void on_idle(void *ctx)
{
	((struct http_rig *)ctx)->is_idle = true;
	loop_stop(rig.loop);
}

static void stopped_server_finishes_its_requests(void **state)
{
	struct client idle, stream;

	client_open(&idle, &rig);
	client_ask(&idle, GET("/hello"), 200, "hello");
	client_send(&client, GET("/hold"));
	(void)rig_await_request(&rig, 0);
	client_open(&stream, &rig);
	client_send(&stream, GET("/stream"));
	(void)rig_await_request(&rig, 1);
	http_server_stop(rig.server);
	http_server_on_idle(rig.server, on_idle, &rig);
	client_await_end(&idle);
	rig_step(&rig);
	assert_false(rig.is_idle);
	rig_respond(&rig, 0, "last");
	client_await(&client, "Connection: close\r\n\r\nlast");
	client_await_end(&client);
	rig_step(&rig);
	assert_false(rig.is_idle);
	http_stream_end(rig.held[1]);
	client_await(&stream, "0\r\n\r\n");
	client_await_end(&stream);
	while (!rig.is_idle)
		rig_step(&rig);
	assert_int_equal(http_server_connections(rig.server), 0);
	client_close(&idle);
	client_close(&stream);
}

static void freed_server_reports_its_requests(void **state)
{
	client_send(&client, GET("/stream"));
	(void)rig_await_request(&rig, 0);
	rig.server = http_server_free(rig.server);
	assert_int_equal(rig.closed, 1);
	client_await_end(&client);
}

static void control_characters_of_response_fields_become_spaces(void **state)
{
	static const struct http_field fields[] = { { "X-Echo", "a\r\nSet-Cookie: b\x01" },
		                                    { NULL } };

	client_send(&client, GET("/hold"));
	http_respond(rig_await_request(&rig, 0), 200, fields, VIEW("ok"));
	client_await(&client, "X-Echo: a  Set-Cookie: b \r\n");
	client_await(&client, "ok");
}

static void bodies_of_all_connections_are_limited(void **state)
{
	struct http_limits limits = rig_limits();
	struct client second;

	limits.max_bodies = 1000;
	open_with(&limits);
	client_open(&second, &rig);
	client_send(&client, POST("/echo", "Content-Length: 2000\r\n\r\n"));
	for (int i = 0; i < 9; i++)
		client_send(&client, "0123456789012345678901234567890123456789012345678901234567890"
		                     "123456789012345678901234567890123456789");
	while (rig.requests < 1)
		rig_step(&rig);
	client_send(&second, POST("/echo", "Content-Length: 200\r\n\r\n"));
	for (int i = 0; i < 15; i++) {
		client_send(&second, "0123456789");
		rig_step(&rig);
	}
	client_await(&second, "503 Service Unavailable: the server receives too many bodies");
	client_close(&client);
	client_open(&client, &rig);
	client_ask(&client, POST("/echo", "Content-Length: 4\r\n\r\nbody"), 200, "body");
	client_close(&second);
}

#define LIVE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
#define OWN(name)  cmocka_unit_test_teardown(name, close_rig) /* opens the rig itself */

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(kept_connection_serves_all_requests),
		LIVE(requests_in_single_bytes_are_the_same),
		LIVE(pipelined_requests_are_answered_in_order),
		LIVE(pipelined_request_waits_for_a_late_response),
		LIVE(long_pipeline_behind_a_late_response_is_complete),
		LIVE(head_request_gets_a_head_only),
		LIVE(http_1_0_closes_after_the_response),
		LIVE(http_1_0_keeps_the_connection_when_asked),
		LIVE(http_1_0_stream_ends_with_the_connection),
		LIVE(stream_is_sent_in_chunks),
		LIVE(connection_close_is_honoured),
		LIVE(client_that_expects_it_gets_100_continue),
		LIVE(refused_expectation_closes_the_connection),
		LIVE(rejected_request_closes_the_connection),
		LIVE(chunked_body_above_the_limit_is_rejected),
		LIVE(head_of_one_mebibyte_is_rejected),
		LIVE(large_body_comes_back_complete),
		LIVE(body_can_be_read_later),
		LIVE(slow_reader_gets_everything),
		LIVE(stream_that_is_not_read_is_closed_at_the_limit),
		LIVE(client_that_pipelines_much_and_closes_is_reported),
		LIVE(half_closed_client_gets_its_responses),
		LIVE(half_closed_stream_goes_on),
		LIVE(closed_connection_is_reported),
		LIVE(client_that_ends_within_a_body_is_reported),
		LIVE(client_that_leaves_within_a_head_is_forgotten),
		OWN(closed_unix_connection_is_reported),
		OWN(late_clients_are_closed),
		OWN(slowloris_is_closed),
		OWN(client_that_stops_reading_is_closed),
		OWN(silent_stream_gets_keep_alives),
		OWN(idle_connections_make_room),
		OWN(busy_connections_make_others_wait),
		LIVE(lack_of_descriptors_ends),
		LIVE(stopped_server_finishes_its_requests),
		LIVE(freed_server_reports_its_requests),
		LIVE(control_characters_of_response_fields_become_spaces),
		OWN(bodies_of_all_connections_are_limited),
	};

	return RUN_TESTS("http server", tests);
}
