/* authority.c - the CA of the interceptor, and certificates that it signs (see internal.h). */
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "egress/intercept/internal.h"

enum { SERIAL_BYTES = 16, DAY_S = 24 * 60 * 60, CA_DAYS = 3650, HOST_DAYS = 30 };

int tls_error(struct error *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *reason = code != 0 ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return error_set(err, ERR_SYSTEM, "%s%s%s", what, reason != NULL ? ": " : "",
	                 reason != NULL ? reason : "");
}

static bool set_serial(X509 *certificate)
{
	unsigned char bytes[SERIAL_BYTES];
	BIGNUM *number;
	bool is_set;

	if (RAND_bytes(bytes, sizeof bytes) != 1)
		return false;
	bytes[0] &= 0x7f; /* a serial number is positive (RFC 5280, 4.1.2.2) */
	number = BN_bin2bn(bytes, sizeof bytes, NULL);
	is_set = number != NULL &&
	         BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != NULL;
	BN_free(number);
	return is_set;
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX context;
	bool is_added;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	is_added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
	X509_EXTENSION_free(extension);
	return is_added;
}

/* A certificate without extensions, valid from yesterday on: clocks differ. */
static X509 *new_certificate(EVP_PKEY *key, const char *name, X509 *issuer, long days)
{
	X509 *certificate = X509_new();
	X509_NAME *subject = certificate != NULL ? X509_get_subject_name(certificate) : NULL;

	if (subject == NULL || X509_set_version(certificate, X509_VERSION_3) != 1 ||
	    !set_serial(certificate) ||
	    X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_S) == NULL ||
	    X509_gmtime_adj(X509_getm_notAfter(certificate), days * DAY_S) == NULL ||
	    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1,
	                               -1, 0) != 1 ||
	    X509_set_issuer_name(certificate,
	                         issuer != NULL ? X509_get_subject_name(issuer) : subject) != 1 ||
	    X509_set_pubkey(certificate, key) != 1) {
		X509_free(certificate);
		return NULL;
	}
	return certificate;
}

int authority_make(struct authority *ret, struct error *err)
{
	struct authority made = { .key = EVP_EC_gen("P-256") };
	X509 *certificate;

	if (made.key != NULL)
		made.certificate = new_certificate(made.key, "belljar (secrets of this sandbox)",
		                                   NULL, CA_DAYS);
	certificate = made.certificate;
	/* pathlen:0: a key that this CA has signed, which children of the interceptor hold, cannot
	 * sign certificates for other hosts. */
	if (certificate == NULL ||
	    !add_extension(certificate, certificate, NID_basic_constraints,
	                   "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign") ||
	    !add_extension(certificate, certificate, NID_subject_key_identifier, "hash") ||
	    X509_sign(certificate, made.key, EVP_sha256()) == 0) {
		authority_done(&made);
		return tls_error(err, "make a CA");
	}
	*ret = made;
	return 0;
}

void authority_done(struct authority *authority)
{
	X509_free(authority->certificate);
	EVP_PKEY_free(authority->key); /* OpenSSL erases private keys that it frees */
	*authority = (struct authority){ NULL, NULL };
}

int authority_pem(const struct authority *authority, char **ret, struct error *err)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *bytes = NULL;
	long len = 0;
	int r = -1;

	if (bio != NULL && PEM_write_bio_X509(bio, authority->certificate) == 1)
		len = BIO_get_mem_data(bio, &bytes);
	if (len > 0) {
		*ret = mem_dup_len(bytes, (size_t)len);
		r = 0;
	}
	BIO_free(bio);
	return r == 0 ? 0 : tls_error(err, "write the certificate of the CA");
}

int authority_sign(const struct authority *authority, const struct net_host *host, SSL_CTX *context,
                   struct error *err)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *issuer = authority->certificate, *certificate = NULL;
	char names[NET_NAME_MAX + 8];
	int r = 0;

	/* OpenSSL takes a comma in this text for the beginning of another name. net_host_parse()
	 * lets only letters, digits, '-', '_', '.' and, in addresses, ':' through. */
	(void)snprintf(names, sizeof names, "%s:%s", host->is_address ? "IP" : "DNS", host->name);
	if (key != NULL)
		certificate = new_certificate(key, "belljar", issuer, HOST_DAYS);
	if (certificate == NULL ||
	    !add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") ||
	    !add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") ||
	    !add_extension(certificate, issuer, NID_ext_key_usage, "serverAuth") ||
	    !add_extension(certificate, issuer, NID_subject_key_identifier, "hash") ||
	    !add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always") ||
	    !add_extension(certificate, issuer, NID_subject_alt_name, names) ||
	    X509_sign(certificate, authority->key, EVP_sha256()) == 0 ||
	    SSL_CTX_use_certificate(context, certificate) != 1 ||
	    SSL_CTX_use_PrivateKey(context, key) != 1)
		r = tls_error(err, "make a certificate for the host");
	X509_free(certificate);
	EVP_PKEY_free(key);
	return r;
}
