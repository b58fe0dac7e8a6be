/* net_secrets.h - secrets that programs in a sandbox use without having them.
 *
 * A program has a placeholder, which looks like the secret: the same length, the same kinds of
 * characters, the prefix that tells what kind of token it is. In a request to the secret's host the
 * gate (for plain HTTP) or the interceptor (for TLS, intercept.h) replaces placeholders by values,
 * in header fields that hold credentials and in Basic credentials, not in other fields, in the URL
 * or in the body. In the answer values are replaced by placeholders, which have the same length, so
 * that a host that repeats the request tells nothing; fields that would hide the value from that
 * (compression, ranges, other charsets) are removed from the request, and secret_answer.h decodes
 * chunks and refuses what cannot be read.
 *
 * The structs are plain values that the caller owns. Placeholders are made when a secret is read,
 * and differ in each server process. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "egress/host_rules.h"

struct buf;
struct error;

enum {
	NET_SECRETS_MAX = 16,
	NET_SECRET_MIN = 8, /* bytes of a value: a shorter one would be replaced by chance */
	NET_SECRET_MAX = 512,
	NET_SECRET_NAME_MAX = 64,
	NET_BASIC_MAX = 1024, /* Base64 of a name and a value; more than NET_SECRET_MAX */
};

struct net_secret {
	char name[NET_SECRET_NAME_MAX + 1];
	char value[NET_SECRET_MAX + 1], placeholder[NET_SECRET_MAX + 1];
	struct host_rule rule;
};

struct net_secrets {
	size_t count;
	struct net_secret items[NET_SECRETS_MAX];
};

/* Adds a secret: "NAME=VALUE@HOST", or "NAME@HOST" with the value of the variable NAME of this
 * process. The error does not repeat the value. */
MUST_CHECK int net_secrets_add(struct net_secrets *secrets, struct view text, struct error *err);
/* Adds the secrets of a list with `separator` between them; empty entries and, in lines, comments
 * are passed over. NULL: none. */
MUST_CHECK int net_secrets_read(struct net_secrets *secrets, const char *list, char separator,
                                struct error *err);

/* Whether a request of plain HTTP to this host gets a secret. On port 443, which speaks TLS, none
 * does: a program could otherwise send a value there without encryption. */
bool net_secrets_has(const struct net_secrets *secrets, const struct net_host *host, uint16_t port);
/* Whether a connection of TLS to this host and port is looked into for a secret: port 443, or a
 * port that the secret names, other than 80. */
bool net_secrets_has_tls(const struct net_secrets *secrets, const struct net_host *host,
                         uint16_t port);
/* The state of one answer: the credentials that are masked beside the values, and the last bytes
 * received, which may be the beginning of a value. Zeroed at the start. */
struct net_secret_mask {
	char basic[NET_BASIC_MAX], shown[NET_BASIC_MAX]; /* Base64 in the request: sent, given */
	size_t basic_len;
	char held[NET_BASIC_MAX];
	size_t len, done; /* of `held`: bytes, and those that are masked already */
};

/* Rewrites the head of a request to this host, which proxy_request_read() has made. */
MUST_CHECK int net_secrets_insert(const struct net_secrets *secrets, const struct net_host *host,
                                  uint16_t port, struct view head, struct net_secret_mask *mask,
                                  struct buf *out, struct error *err);

/* Appends the bytes of an answer to out, with placeholders instead of values. As many of the last
 * bytes as a value could begin in are held back. At the end of the answer bytes.len is 0: they are
 * appended. */
MUST_CHECK int net_secrets_mask(const struct net_secrets *secrets, struct net_secret_mask *mask,
                                struct view bytes, struct buf *out, struct error *err);
