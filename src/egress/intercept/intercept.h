/* intercept.h - the process that looks into TLS connections to hosts with a secret, so that a
 * program can use the secret there without having it.
 *
 * The interceptor is a dialer (dialer.h) whose connections end in a child process of itself, one
 * for each connection. The child connects to the host by TLS and verifies its certificate by name
 * before the program gets an answer to its CONNECT. Then it speaks TLS with the program, with a
 * certificate for that host which a CA of this server has signed, reads one request of HTTP/1.1,
 * replaces placeholders in it (net_secrets.h), and passes the answer on (secret_answer.h). So
 * neither the server nor any other connection shares memory with OpenSSL while it reads hostile
 * bytes.
 *
 *   program ══ TLS of our CA ══ gate ── socket pair ── child ══ TLS, verified ══ host
 *
 * The CA is made anew by each server. Its key is in the memory of the interceptor only, and a child
 * frees its copy before it reads a byte of a program or a host. */
#pragma once
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"

struct dialer;
struct error;
struct net_ceiling;
struct net_secrets;

struct intercept_config {
	const struct net_ceiling *ceiling;
	const struct net_secrets *secrets;
	struct view roots; /* PEM: the certificates of CAs that hosts are verified with */
	uid_t id;          /* as in struct dialer_config */
};

/* Like dialer_start(). *ret_certificate is the certificate of the CA that programs must trust, in
 * PEM, which the caller frees. The configuration must live as long as the caller. */
MUST_CHECK int intercept_start(const struct intercept_config *config, struct dialer *ret,
                               char **ret_certificate, struct error *err);
