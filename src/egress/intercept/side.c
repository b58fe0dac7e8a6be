/* side.c - one end of an intercepted connection, in TLS 1.2 or 1.3 (see internal.h). */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "egress/intercept/internal.h"

static const unsigned char http1[] = "\x08http/1.1";

/* --- contexts --- */

/* No session is resumed, because a connection carries one request. */
static SSL_CTX *new_context(const SSL_METHOD *method)
{
	SSL_CTX *context = SSL_CTX_new(method);

	if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
		abort(); /* out of memory */
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
	                                           SSL_OP_NO_COMPRESSION);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_mode(context,
	                       SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	return context;
}

static size_t add_roots(X509_STORE *store, struct view roots)
{
	BIO *bio = BIO_new_mem_buf(roots.ptr, (int)roots.len);
	size_t count = 0;
	X509 *root;

	while (bio != NULL && (root = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		count += X509_STORE_add_cert(store, root) == 1;
		X509_free(root);
	}
	BIO_free(bio);
	ERR_clear_error();
	return count;
}

int side_host_context(struct view roots, SSL_CTX **ret, struct error *err)
{
	SSL_CTX *context = new_context(TLS_client_method());

	SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
	if (SSL_CTX_set_alpn_protos(context, http1, sizeof http1 - 1) != 0)
		abort(); /* out of memory */
	if (add_roots(SSL_CTX_get_cert_store(context), roots) == 0) {
		SSL_CTX_free(context);
		return error_set(err, ERR_INVALID,
		                 "there is no certificate of a CA to verify hosts with");
	}
	*ret = context;
	return 0;
}

/* A program that offers protocols must offer HTTP/1.1. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)ctx;
	if (SSL_select_next_proto(&chosen, out_len, http1, sizeof http1 - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* A program that connects to one host and asks for another one would be misled by the answer. */
static int check_name(SSL *ssl, int *alert, void *ctx)
{
	const struct net_host *host = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);

	(void)ctx;
	if (name == NULL || (host != NULL && strcasecmp(name, host->name) == 0))
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

SSL_CTX *side_program_context(void)
{
	SSL_CTX *context = new_context(TLS_server_method());

	(void)SSL_CTX_set_num_tickets(context, 0);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(context, check_name);
	return context;
}

/* --- handshakes --- */

static bool wait_side(const struct side *side, short events, uint64_t end_ms)
{
	struct pollfd ready = { .fd = side->fd, .events = events };
	uint64_t now = clock_now_ms();

	return now < end_ms && poll(&ready, 1, (int)(end_ms - now)) == 1;
}

static bool shake_hands(struct side *side, uint64_t end_ms)
{
	for (;;) {
		int r, why;

		ERR_clear_error();
		r = SSL_do_handshake(side->ssl);
		if (r == 1)
			return true;
		why = SSL_get_error(side->ssl, r);
		if ((why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE) ||
		    !wait_side(side, why == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT, end_ms))
			return false;
	}
}

static void open_side(struct side *side, SSL_CTX *context, int fd)
{
	*side = (struct side){ .ssl = SSL_new(context), .fd = fd };
	if (side->ssl == NULL || SSL_set_fd(side->ssl, fd) != 1)
		abort(); /* out of memory */
}

static bool expect_name(SSL *ssl, const struct net_host *host)
{
	struct net_host copy = *host; /* OpenSSL's macro takes no constant text */

	if (host->is_address)
		return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host->name) == 1;
	/* A common name is no proof of a host: Python and browsers do not take it either. */
	SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
	                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
	return SSL_set_tlsext_host_name(ssl, copy.name) == 1 && SSL_set1_host(ssl, host->name) == 1;
}

int side_connect(struct side *side, SSL_CTX *context, int fd, const struct net_host *host,
                 uint64_t end_ms, bool *ret_refused, struct error *err)
{
	long verified;

	open_side(side, context, fd);
	SSL_set_connect_state(side->ssl);
	if (!expect_name(side->ssl, host))
		return tls_error(err, "set the name of the host");
	if (shake_hands(side, end_ms))
		return 0;
	verified = SSL_get_verify_result(side->ssl);
	if (verified == X509_V_OK)
		return tls_error(err, clock_now_ms() < end_ms ? "no TLS connection"
		                                              : "no TLS connection in time");
	*ret_refused = true;
	return error_set(err, ERR_INVALID,
	                 "its certificate cannot be verified (%s), and a secret is sent only to a "
	                 "host that proves its name: the operator of belljar can name the CA of a "
	                 "private host with --intercept-ca",
	                 X509_verify_cert_error_string(verified));
}

/* The program's handshake is compared with the name of its CONNECT by check_name(), which finds the
 * name in the application data of the connection. */
int side_accept(struct side *side, SSL_CTX *context, int fd, const struct net_host *host,
                uint64_t end_ms)
{
	struct net_host copy = *host;
	int r;

	open_side(side, context, fd);
	(void)SSL_set_app_data(side->ssl, &copy);
	SSL_set_accept_state(side->ssl);
	r = shake_hands(side, end_ms) ? 0 : -1;
	(void)SSL_set_app_data(side->ssl, NULL);
	return r;
}

/* --- bytes --- */

/* After SSL_read_ex() or SSL_write_ex(), which return only 1 and 0, returned 0. *ret: what to poll
 * for. */
static ssize_t explain_failure(SSL *ssl, short *ret)
{
	switch (SSL_get_error(ssl, 0)) {
	case SSL_ERROR_WANT_READ:
		*ret = POLLIN;
		return SIDE_WAIT;
	case SSL_ERROR_WANT_WRITE:
		*ret = POLLOUT;
		return SIDE_WAIT;
	case SSL_ERROR_ZERO_RETURN:
		return SIDE_ENDED;
	default:
		return SIDE_FAILED;
	}
}

ssize_t side_read(struct side *side, char *ret, size_t size)
{
	size_t len = 0;
	ssize_t r;

	ERR_clear_error();
	if (SSL_read_ex(side->ssl, ret, size, &len) == 1)
		return (ssize_t)len;
	r = explain_failure(side->ssl, &side->reading);
	side->was_cut = side->was_cut || r == SIDE_FAILED;
	return r;
}

ssize_t side_write(struct side *side, struct view bytes)
{
	size_t len = 0;
	ssize_t r;

	ERR_clear_error();
	if (SSL_write_ex(side->ssl, bytes.ptr, bytes.len, &len) == 1)
		return (ssize_t)len;
	r = explain_failure(side->ssl, &side->writing);
	return r == SIDE_ENDED ? SIDE_FAILED : r;
}

void side_close(struct side *side, bool was_cut)
{
	ERR_clear_error();
	if (side->ssl != NULL && !was_cut && !side->was_cut)
		(void)SSL_shutdown(side->ssl);
	SSL_free(side->ssl);
	side->ssl = NULL;
}
