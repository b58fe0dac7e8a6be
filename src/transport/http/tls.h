/* tls.h - one TLS connection between byte streams: encrypted bytes are fed, decrypted ones read.
 * The session has no socket. What it sends is appended to a buffer of the caller. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct http_tls;
struct tls_session;

enum tls_result { TLS_MORE = 0, TLS_ENDED = -1, TLS_FAILED = -2 };

/* The session keeps the certificate that `tls` has now. `out` must outlive the session. */
struct tls_session *tls_session_new(struct http_tls *tls, struct buf *out) RETURNS_NONNULL;
/* The bytes must stay valid until tls_session_read() has returned no more data. */
void tls_session_feed(struct tls_session *session, struct view bytes);
/* Decrypts into ret. Returns the number of bytes, TLS_MORE if more must be fed first, TLS_ENDED if
 * the client ended the session, TLS_FAILED if the session is not valid. */
MUST_CHECK ssize_t tls_session_read(struct tls_session *session, char *ret, size_t size);
/* Encrypts all bytes. Fails if the handshake is not complete or the buffer is full. */
MUST_CHECK int tls_session_write(struct tls_session *session, struct view bytes);
void tls_session_end(struct tls_session *session); /* sends close_notify */
struct tls_session *tls_session_free(struct tls_session *session);
