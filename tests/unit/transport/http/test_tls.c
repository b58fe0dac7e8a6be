/* HTTP over TLS: handshakes, certificates that change, and clients that leave. */
#include "transport/http/http_tls.h"
#include "unit/test.h"
#include "unit/transport/http/http_rig.h"
#include "unit/transport/http/tls_rig.h"

enum { EXPIRY_S = 2000000000 };

static struct http_rig rig;
static struct http_tls *server_tls;
static struct certificate first, second;
static struct client client;
static struct tls_client tls;

static int make_certificates(void **state)
{
	certificate_make(&first, "first.example", EXPIRY_S);
	certificate_make(&second, "second.example", EXPIRY_S + 1);
	return 0;
}

static int open_with(const struct http_limits *limits)
{
	struct error err;

	rig_open(&rig, limits);
	CHECK_OK(http_tls_new(view_of(first.certificate), view_of(first.key), &server_tls, &err),
	         err);
	rig_listen(&rig, "127.0.0.1:0", server_tls);
	client_open(&client, &rig);
	tls_client_open(&tls, &client, CLIENT_ANY);
	return 0;
}

static int open_rig(void **state)
{
	struct http_limits limits = rig_limits();

	return open_with(&limits);
}

static int close_rig(void **state)
{
	tls_client_close(&tls);
	client_close(&client);
	rig_close(&rig);
	server_tls = http_tls_free(server_tls);
	return 0;
}

static void ask_hello(struct tls_client *asked)
{
	tls_client_send(asked, VIEW("GET /hello HTTP/1.1\r\nHost: a\r\n\r\n"));
	tls_client_await(asked, "HTTP/1.1 200 OK\r\n");
	tls_client_await(asked, "\r\n\r\nhello");
}

static void encrypted_connection_serves_requests(void **state)
{
	assert_true(tls_client_handshake(&tls));
	for (int i = 0; i < 3; i++)
		ask_hello(&tls);
	assert_string_equal(tls_client_protocol(&tls), "TLSv1.3");
	tls_client_send(&tls, VIEW("GET /hello HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
	tls_client_await(&tls, "Connection: close\r\n\r\nhello");
	client_await_end(&client);
	assert_int_equal(client.errnum, 0);
	assert_int_equal(rig.requests, 4);
}

static void large_bodies_pass_in_both_directions(void **state)
{
	enum { LEN = 300 * 1000 };
	char *bytes = malloc(LEN), head[128];
	size_t got = 0;

	assert_true(tls_client_handshake(&tls));
	memset(bytes, 'y', LEN);
	(void)snprintf(head, sizeof head,
	               "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", LEN);
	tls_client_send(&tls, view_of(head));
	tls_client_send(&tls, (struct view){ bytes, LEN });
	tls_client_await(&tls, "Content-Length: 300000\r\n\r\n");
	while (got < LEN) {
		tls_client_await(&tls, "y");
		got++;
	}
	ask_hello(&tls);
	free(bytes);
}

static const struct {
	enum tls_client_kind kind;
	bool is_accepted;
	const char *protocol;
} kinds[] = {
	{ CLIENT_TLS_1_1, false, NULL },       { CLIENT_TLS_1_2, true, "TLSv1.2" },
	{ CLIENT_TLS_1_3, true, "TLSv1.3" },   { CLIENT_ALPN_H2, false, NULL },
	{ CLIENT_ALPN_HTTP, true, "TLSv1.3" },
};

static void versions_and_protocols_are_negotiated(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct client other;
		struct tls_client other_tls;

		client_open(&other, &rig);
		tls_client_open(&other_tls, &other, kinds[i].kind);
		assert_int_equal(tls_client_handshake(&other_tls), kinds[i].is_accepted);
		if (kinds[i].is_accepted) {
			ask_hello(&other_tls);
			assert_string_equal(tls_client_protocol(&other_tls), kinds[i].protocol);
		}
		tls_client_close(&other_tls);
		client_close(&other);
	}
}

static void check_server_name(const char *want)
{
	struct client other;
	struct tls_client other_tls;
	char name[64];

	client_open(&other, &rig);
	tls_client_open(&other_tls, &other, CLIENT_ANY);
	assert_true(tls_client_handshake(&other_tls));
	tls_client_server_name(&other_tls, name, sizeof name);
	assert_string_equal(name, want);
	tls_client_close(&other_tls);
	client_close(&other);
}

static void replaced_certificate_is_for_new_connections(void **state)
{
	struct error err;

	assert_true(tls_client_handshake(&tls));
	ask_hello(&tls);
	CHECK_OK(http_tls_replace(server_tls, view_of(second.certificate), view_of(second.key),
	                          &err),
	         err);
	check_server_name("second.example");
	ask_hello(&tls); /* the old connection goes on */
}

static const char encrypted_key[] =
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
        "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\nAAAA\n"
        "-----END RSA PRIVATE KEY-----\n";

static void wrong_certificates_are_refused(void **state)
{
	const struct {
		const char *certificate, *key, *want;
	} cases[] = {
		{ "", first.key, "the certificate is not a PEM certificate: no start line" },
		{ "hello", first.key, "the certificate is not a PEM certificate: no start line" },
		{ first.key, first.key, "the certificate is not a PEM certificate: no start line" },
		{ first.certificate, "", "the key is not a private key in PEM, or has a password" },
		{ first.certificate, encrypted_key,
		  "the key is not a private key in PEM, or has a password" },
		{ first.certificate, second.key,
		  "the key does not belong to the certificate: key values mismatch" },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		CHECK_ERROR(http_tls_replace(server_tls, view_of(cases[i].certificate),
		                             view_of(cases[i].key), &err),
		            err, ERR_INVALID, cases[i].want);
	check_server_name("first.example"); /* still in use */
}

static void certificate_chain_is_sent(void **state)
{
	char chain[2 * PEM_SIZE];
	struct error err;

	(void)snprintf(chain, sizeof chain, "%s%s", first.certificate, second.certificate);
	CHECK_OK(http_tls_replace(server_tls, view_of(chain), view_of(first.key), &err), err);
	check_server_name("first.example");
	(void)snprintf(chain, sizeof chain, "%s-----BEGIN CERTIFICATE-----\nAAAA\n",
	               first.certificate);
	CHECK_ERROR(http_tls_replace(server_tls, view_of(chain), view_of(first.key), &err), err,
	            ERR_INVALID, "the certificate's chain cannot be read: bad end line");
}

static const char *const not_tls[] = {
	"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	"hello\n",
	"\x16\x03\x01\x00\x05hello",
};

static void clients_without_tls_are_closed(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(not_tls); i++) {
		struct client other;

		client_open(&other, &rig);
		client_send_bytes(&other,
		                  (struct view){ not_tls[i], i == 2 ? 10 : strlen(not_tls[i]) });
		client_await_end(&other);
		client_close(&other);
	}
	assert_int_equal(rig.requests, 0);
}

static void slow_handshake_is_closed(void **state)
{
	struct http_limits limits = rig_limits();

	limits.head_ms = 20;
	(void)open_with(&limits);
	client_send_bytes(&client, VIEW("\x16\x03\x01"));
	client_await_end(&client);
}

static void client_that_ends_its_session_is_reported(void **state)
{
	assert_true(tls_client_handshake(&tls));
	tls_client_send(&tls, VIEW("GET /stream HTTP/1.1\r\nHost: a\r\n\r\n"));
	tls_client_await(&tls, "\r\n\r\n");
	tls_client_end(&tls);
	rig_await_closed(&rig, 1);
	client_await_end(&client);
}

static void client_that_closes_without_a_word_is_reported(void **state)
{
	assert_true(tls_client_handshake(&tls));
	tls_client_send(&tls, VIEW("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n"));
	(void)rig_await_request(&rig, 0);
	client_close(&client);
	rig_await_closed(&rig, 1);
	client_open(&client, &rig);
}

/* Bytes of the client come one by one, in the handshake too. */
static void slow_stream_of_bytes_is_the_same(void **state)
{
	client.sends_single_bytes = true;
	assert_true(tls_client_handshake(&tls));
	ask_hello(&tls);
}

#define LIVE(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
#define OWN(name)  cmocka_unit_test_teardown(name, close_rig) /* opens the rig itself */

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(encrypted_connection_serves_requests),
		LIVE(large_bodies_pass_in_both_directions),
		LIVE(versions_and_protocols_are_negotiated),
		LIVE(replaced_certificate_is_for_new_connections),
		LIVE(wrong_certificates_are_refused),
		LIVE(certificate_chain_is_sent),
		LIVE(clients_without_tls_are_closed),
		OWN(slow_handshake_is_closed),
		LIVE(client_that_ends_its_session_is_reported),
		LIVE(client_that_closes_without_a_word_is_reported),
		LIVE(slow_stream_of_bytes_is_the_same),
	};

	return cmocka_run_group_tests_name("http tls", tests, make_certificates, NULL);
}
