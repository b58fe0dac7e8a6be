/* internal.h - what the files of the interceptor share.
 *
 *   intercept.c           the process, and one connection from its CONNECT to its end
 *   authority.c           the CA and the certificates that it signs
 *   side.c                one end of a connection that speaks TLS
 *   intercept_exchange.c  one request and its answer, between two sides */
#pragma once
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/view.h"
#include "egress/dialer/dialer_service.h"

struct net_secrets;

/* --- authority.c --- */

struct authority {
	X509 *certificate;
	EVP_PKEY *key;
};

MUST_CHECK int authority_make(struct authority *ret, struct error *err);
void authority_done(struct authority *authority); /* erases the key */
/* The certificate in PEM, from malloc. */
MUST_CHECK int authority_pem(const struct authority *authority, char **ret, struct error *err);
/* Makes a certificate for the host, and gives it and its key to the context. */
MUST_CHECK int authority_sign(const struct authority *authority, const struct net_host *host,
                              SSL_CTX *context, struct error *err);
/* Sets *err to `what` and OpenSSL's last error; returns -1. */
int tls_error(struct error *err, const char *what);

/* --- side.c --- */

struct side {
	SSL *ssl;
	int fd;                 /* non-blocking */
	short reading, writing; /* what the last call waits for: POLLIN or POLLOUT */
	bool was_cut;           /* the connection has ended without the end of TLS */
};

/* A context for hosts, verified with the CAs in `roots`, and one for programs. */
MUST_CHECK int side_host_context(struct view roots, SSL_CTX **ret, struct error *err);
SSL_CTX *side_program_context(void);
/* Shakes hands with a host, and verifies that it is `host`. *ret_refused: it is not. */
MUST_CHECK int side_connect(struct side *side, SSL_CTX *context, int fd,
                            const struct net_host *host, uint64_t end_ms, bool *ret_refused,
                            struct error *err);
/* Shakes hands with a program, which must ask for `host` if it names one. */
MUST_CHECK int side_accept(struct side *side, SSL_CTX *context, int fd, const struct net_host *host,
                           uint64_t end_ms);
enum { SIDE_ENDED = 0, SIDE_WAIT = -1, SIDE_FAILED = -2 };
/* Bytes that were read or written, or one of the above. */
ssize_t side_read(struct side *side, char *ret, size_t size);
ssize_t side_write(struct side *side, struct view bytes);
/* Ends TLS, unless this end was cut off, and frees the session; the descriptor stays open. */
void side_close(struct side *side, bool was_cut);

/* --- intercept_exchange.c --- */

/* Reads a request of the program for host:port, and passes it and its answer on. */
void exchange_run(struct side *program, struct side *host, const struct net_host *name,
                  uint16_t port, const struct net_secrets *secrets);
