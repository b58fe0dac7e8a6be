#include "unit/transport/http/tls_rig.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "loop/loop.h"
#include "unit/test.h"
#include "unit/transport/http/http_rig.h"

static void copy_pem(BIO *bio, char ret[PEM_SIZE])
{
	int len = BIO_read(bio, ret, PEM_SIZE - 1);

	assert_true(len > 0 && len < PEM_SIZE - 1);
	ret[len] = '\0';
	BIO_free(bio);
}

void certificate_make(struct certificate *ret, const char *name, long long expiry_s)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x509 = X509_new();
	X509_NAME *subject = X509_get_subject_name(x509);
	BIO *pem = BIO_new(BIO_s_mem());

	assert_int_equal(X509_set_version(x509, 2), 1);
	assert_int_equal(ASN1_INTEGER_set(X509_get_serialNumber(x509), 1), 1);
	assert_non_null(ASN1_TIME_set(X509_getm_notBefore(x509), 1000000000));
	assert_non_null(ASN1_TIME_set(X509_getm_notAfter(x509), expiry_s));
	assert_int_equal(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	                                            (const unsigned char *)name, -1, -1, 0),
	                 1);
	assert_int_equal(X509_set_issuer_name(x509, subject), 1);
	assert_int_equal(X509_set_pubkey(x509, key), 1);
	assert_true(X509_sign(x509, key, EVP_sha256()) > 0);
	assert_int_equal(PEM_write_bio_X509(pem, x509), 1);
	copy_pem(pem, ret->certificate);
	pem = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PrivateKey(pem, key, NULL, NULL, 0, NULL, NULL), 1);
	copy_pem(pem, ret->key);
	X509_free(x509);
	EVP_PKEY_free(key);
}

static void set_kind(SSL_CTX *context, enum tls_client_kind kind)
{
	static const unsigned char h2[] = "\x02h2", http[] = "\x02h2\x08http/1.1";
	int version = kind == CLIENT_TLS_1_1   ? TLS1_1_VERSION
	              : kind == CLIENT_TLS_1_2 ? TLS1_2_VERSION
	              : kind == CLIENT_TLS_1_3 ? TLS1_3_VERSION
	                                       : 0;

	if (kind == CLIENT_TLS_1_1) /* which OpenSSL refuses by default */
		SSL_CTX_set_security_level(context, 0);
	if (version != 0) {
		assert_int_equal(SSL_CTX_set_min_proto_version(context, version), 1);
		assert_int_equal(SSL_CTX_set_max_proto_version(context, version), 1);
	}
	if (kind == CLIENT_ALPN_H2)
		assert_int_equal(SSL_CTX_set_alpn_protos(context, h2, sizeof h2 - 1), 0);
	if (kind == CLIENT_ALPN_HTTP)
		assert_int_equal(SSL_CTX_set_alpn_protos(context, http, sizeof http - 1), 0);
}

void tls_client_open(struct tls_client *tls, struct client *client, enum tls_client_kind kind)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	*tls = (struct tls_client){ .client = client };
	set_kind(context, kind);
	tls->ssl = SSL_new(context);
	tls->in = BIO_new(BIO_s_mem());
	tls->out = BIO_new(BIO_s_mem());
	SSL_set_bio(tls->ssl, tls->in, tls->out);
	SSL_set_connect_state(tls->ssl);
	SSL_CTX_free(context);
}

/* Sends what OpenSSL wants to send. */
static void send_pending(struct tls_client *tls)
{
	char bytes[4096];
	int len;

	while ((len = BIO_read(tls->out, bytes, sizeof bytes)) > 0)
		client_send_bytes(tls->client, (struct view){ bytes, (size_t)len });
}

/* Lets the loop run until bytes have come. False: the connection has ended. */
static bool receive_more(struct tls_client *tls)
{
	struct client *client = tls->client;

	while (client->got.len == 0 && !client->has_ended)
		loop_run(client->rig->loop);
	if (client->got.len == 0)
		return false;
	assert_int_equal(BIO_write(tls->in, client->got.ptr, (int)client->got.len),
	                 client->got.len);
	buf_clear(&client->got);
	return true;
}

bool tls_client_handshake(struct tls_client *tls)
{
	int rc;

	while ((rc = SSL_do_handshake(tls->ssl)) != 1) {
		bool wants_more = SSL_get_error(tls->ssl, rc) == SSL_ERROR_WANT_READ;

		send_pending(tls);
		if (!wants_more || !receive_more(tls)) {
			ERR_clear_error();
			return false;
		}
	}
	send_pending(tls);
	return true;
}

void tls_client_send(struct tls_client *tls, struct view bytes)
{
	assert_int_equal(SSL_write(tls->ssl, bytes.ptr, (int)bytes.len), bytes.len);
	send_pending(tls);
}

void tls_client_await(struct tls_client *tls, const char *text)
{
	char *found;

	while ((found = strstr(tls->got, text)) == NULL) {
		int len;

		assert_true(tls->len < sizeof tls->got - 1);
		len = SSL_read(tls->ssl, tls->got + tls->len,
		               (int)(sizeof tls->got - 1 - tls->len));
		if (len > 0) {
			tls->len += (size_t)len;
			tls->got[tls->len] = '\0';
		} else if (!receive_more(tls)) {
			fail_msg("the connection ended before \"%s\": %s", text, tls->got);
		}
	}
	found += strlen(text);
	tls->len -= (size_t)(found - tls->got);
	memmove(tls->got, found, tls->len + 1);
}

void tls_client_end(struct tls_client *tls)
{
	(void)SSL_shutdown(tls->ssl);
	send_pending(tls);
}

void tls_client_server_name(struct tls_client *tls, char *ret, size_t size)
{
	X509 *x509 = SSL_get1_peer_certificate(tls->ssl);

	assert_non_null(x509);
	assert_true(X509_NAME_get_text_by_NID(X509_get_subject_name(x509), NID_commonName, ret,
	                                      (int)size) > 0);
	X509_free(x509);
}

const char *tls_client_protocol(struct tls_client *tls)
{
	return SSL_get_version(tls->ssl);
}

void tls_client_close(struct tls_client *tls)
{
	SSL_free(tls->ssl);
}
