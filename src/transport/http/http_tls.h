/* http_tls.h - the certificate and the private key of an HTTP server, for TLS 1.2 and 1.3.
 *
 * Both come as bytes, because the server that uses them cannot open files any more (see
 * server/confine.h). They can be replaced while connections are open: a connection keeps what it
 * began with. No file is opened and no socket made after the first http_tls_new(). */
#pragma once
#include "base/attr.h"
#include "base/cleanup.h"
#include "base/view.h"

struct error;
struct http_tls;

/* certificate: PEM, the server's certificate first, then its issuers'; key: PEM, not encrypted.
 * Fails if the two do not belong together. */
MUST_CHECK int http_tls_new(struct view certificate, struct view key, struct http_tls **ret,
                            struct error *err);
/* On failure the old certificate stays in use. */
MUST_CHECK int http_tls_replace(struct http_tls *tls, struct view certificate, struct view key,
                                struct error *err);
struct http_tls *http_tls_free(struct http_tls *tls);
DEFINE_CLEANUP(http_tls)
