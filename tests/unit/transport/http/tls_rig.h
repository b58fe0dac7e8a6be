/* tls_rig.h - certificates made on the spot, and a TLS client without a socket, for tests. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/view.h"

struct client;

enum { PEM_SIZE = 4096 };

struct certificate {
	char certificate[PEM_SIZE], key[PEM_SIZE];
};

/* A self-signed certificate for `name` that is valid until `expiry_s` (seconds since 1970). */
void certificate_make(struct certificate *ret, const char *name, long long expiry_s);

/* The client's end of a TLS connection over a client of http_rig.h. */
struct tls_client {
	struct client *client;
	void *ssl, *in, *out; /* of OpenSSL */
	char got[8192];       /* decrypted, terminated */
	size_t len;
};

enum tls_client_kind {
	CLIENT_ANY,
	CLIENT_TLS_1_1,
	CLIENT_TLS_1_2,
	CLIENT_TLS_1_3,
	CLIENT_ALPN_H2,
	CLIENT_ALPN_HTTP
};

void tls_client_open(struct tls_client *tls, struct client *client, enum tls_client_kind kind);
/* False: the server refused it. */
bool tls_client_handshake(struct tls_client *tls);
void tls_client_send(struct tls_client *tls, struct view bytes);
/* Waits for decrypted text, and forgets everything up to it. */
void tls_client_await(struct tls_client *tls, const char *text);
void tls_client_end(struct tls_client *tls); /* sends close_notify */
/* The name in the server's certificate. */
void tls_client_server_name(struct tls_client *tls, char *ret, size_t size);
const char *tls_client_protocol(struct tls_client *tls); /* "TLSv1.3" */
void tls_client_close(struct tls_client *tls);
