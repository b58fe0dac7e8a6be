#include "transport/http/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/num.h"
#include "transport/http/http_tls.h"

struct http_tls {
	SSL_CTX *context;
};

struct tls_session {
	SSL *ssl;
	struct view in;  /* encrypted bytes that are not decrypted yet */
	struct buf *out; /* encrypted bytes for the client */
};

static int set_tls_error(struct error *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return error_set(err, ERR_INVALID, "%s%s%s", what, reason != NULL ? ": " : "",
	                 reason != NULL ? reason : "");
}

static int read_bytes(BIO *bio, char *ret, size_t size, size_t *ret_len)
{
	struct tls_session *session = BIO_get_data(bio);
	size_t len = (size_t)num_min(size, session->in.len);

	BIO_clear_retry_flags(bio);
	if (len == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	memcpy(ret, session->in.ptr, len);
	session->in.ptr += len;
	session->in.len -= len;
	*ret_len = len;
	return 1;
}

static int write_bytes(BIO *bio, const char *bytes, size_t len, size_t *ret_len)
{
	struct tls_session *session = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (!buf_put(session->out, (struct view){ bytes, len }))
		return 0;
	*ret_len = len;
	return 1;
}

static long control_bio(BIO *bio, int command, long number, void *ptr)
{
	(void)bio;
	(void)number;
	(void)ptr;
	return command == BIO_CTRL_FLUSH ? 1 : 0;
}

/* OpenSSL reads from and writes to the session's own memory. Its memory BIOs would keep a buffer of
 * the largest message for each connection. */
static BIO_METHOD *session_bio_method(void)
{
	static BIO_METHOD *method;

	if (method == NULL) {
		method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "session");
		if (method == NULL || BIO_meth_set_read_ex(method, read_bytes) != 1 ||
		    BIO_meth_set_write_ex(method, write_bytes) != 1 ||
		    BIO_meth_set_ctrl(method, control_bio) != 1)
			abort(); /* out of memory */
	}
	return method;
}

/* Clients that offer protocols must offer HTTP/1.1. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
	static const unsigned char ours[] = "\x08http/1.1";
	unsigned char *chosen = NULL;

	(void)ssl;
	(void)ctx;
	if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

/* A key that is encrypted must not make OpenSSL ask for a password on the terminal. */
static int refuse_password(char *buf, int size, int is_writing, void *ctx)
{
	(void)buf;
	(void)size;
	(void)is_writing;
	(void)ctx;
	return -1;
}

static int add_issuers(SSL_CTX *context, BIO *bio, struct error *err)
{
	X509 *issuer;

	while ((issuer = PEM_read_bio_X509(bio, NULL, refuse_password, NULL)) != NULL)
		if (SSL_CTX_add0_chain_cert(context, issuer) != 1) {
			X509_free(issuer);
			return set_tls_error(err, "the certificate's chain cannot be used");
		}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return set_tls_error(err, "the certificate's chain cannot be read");
	ERR_clear_error();
	return 0;
}

static int use_certificate(SSL_CTX *context, struct view pem, struct error *err)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	X509 *certificate = bio != NULL ? PEM_read_bio_X509_AUX(bio, NULL, refuse_password, NULL)
	                                : NULL;
	int rc;

	if (certificate == NULL || SSL_CTX_use_certificate(context, certificate) != 1)
		rc = set_tls_error(err, "the certificate is not a PEM certificate");
	else
		rc = add_issuers(context, bio, err);
	X509_free(certificate);
	BIO_free(bio);
	return rc;
}

static int use_key(SSL_CTX *context, struct view pem, struct error *err)
{
	BIO *bio = BIO_new_mem_buf(pem.ptr, (int)pem.len);
	EVP_PKEY *key = bio != NULL ? PEM_read_bio_PrivateKey(bio, NULL, refuse_password, NULL)
	                            : NULL;
	int rc = 0;

	if (key == NULL)
		rc = error_set(err, ERR_INVALID,
		               "the key is not a private key in PEM, or has a password");
	else if (SSL_CTX_use_PrivateKey(context, key) != 1 ||
	         SSL_CTX_check_private_key(context) != 1)
		rc = set_tls_error(err, "the key does not belong to the certificate");
	ERR_clear_error();
	EVP_PKEY_free(key);
	BIO_free(bio);
	return rc;
}

/* No session tickets and no cache: a session is never resumed, so no key outlives its connection.
 * Buffers are released while a connection is silent. */
static SSL_CTX *new_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	if (context == NULL || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
		abort(); /* out of memory */
	(void)SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION |
	                                           SSL_OP_NO_COMPRESSION |
	                                           SSL_OP_CIPHER_SERVER_PREFERENCE);
	(void)SSL_CTX_set_num_tickets(context, 0);
	(void)SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	(void)SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
	return context;
}

int http_tls_replace(struct http_tls *tls, struct view certificate, struct view key,
                     struct error *err)
{
	SSL_CTX *context = new_context();

	ERR_clear_error();
	if (use_certificate(context, certificate, err) < 0 || use_key(context, key, err) < 0) {
		SSL_CTX_free(context);
		return -1;
	}
	SSL_CTX_free(tls->context); /* sessions hold it for as long as they need it */
	tls->context = context;
	return 0;
}

int http_tls_new(struct view certificate, struct view key, struct http_tls **ret, struct error *err)
{
	struct http_tls *tls = mem_new(sizeof *tls);

	(void)session_bio_method();
	if (http_tls_replace(tls, certificate, key, err) < 0) {
		free(tls);
		return -1;
	}
	*ret = tls;
	return 0;
}

struct http_tls *http_tls_free(struct http_tls *tls)
{
	if (tls == NULL)
		return NULL;
	SSL_CTX_free(tls->context);
	free(tls);
	return NULL;
}

struct tls_session *tls_session_new(struct http_tls *tls, struct buf *out)
{
	struct tls_session *session = mem_new(sizeof *session);
	BIO *bio = BIO_new(session_bio_method());

	session->ssl = SSL_new(tls->context);
	if (bio == NULL || session->ssl == NULL)
		abort(); /* out of memory */
	session->out = out;
	BIO_set_data(bio, session);
	BIO_set_init(bio, 1);
	SSL_set_bio(session->ssl, bio, bio);
	SSL_set_accept_state(session->ssl);
	return session;
}

void tls_session_feed(struct tls_session *session, struct view bytes)
{
	session->in = bytes;
}

ssize_t tls_session_read(struct tls_session *session, char *ret, size_t size)
{
	size_t len = 0;

	ERR_clear_error();
	if (SSL_read_ex(session->ssl, ret, size, &len) == 1)
		return (ssize_t)len;
	switch (SSL_get_error(session->ssl, 0)) {
	case SSL_ERROR_WANT_READ:
		return TLS_MORE;
	case SSL_ERROR_ZERO_RETURN:
		return TLS_ENDED;
	default:
		return TLS_FAILED;
	}
}

int tls_session_write(struct tls_session *session, struct view bytes)
{
	size_t len = 0;

	ERR_clear_error();
	if (bytes.len == 0)
		return 0;
	return SSL_write_ex(session->ssl, bytes.ptr, bytes.len, &len) == 1 && len == bytes.len ? 0
	                                                                                       : -1;
}

void tls_session_end(struct tls_session *session)
{
	ERR_clear_error();
	(void)SSL_shutdown(session->ssl);
}

struct tls_session *tls_session_free(struct tls_session *session)
{
	if (session == NULL)
		return NULL;
	SSL_free(session->ssl);
	free(session);
	return NULL;
}
