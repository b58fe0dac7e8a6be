/* proxy_http.h - requests to an HTTP proxy, from programs in a sandbox: hostile input.
 *
 * A head (request line and header fields) is complete at its first empty line and has at most
 * PROXY_HEAD_MAX bytes. CONNECT asks for a tunnel. Any other method names an http:// URL: its head
 * is written anew, in the form that servers get, with the checked host in `Host`, without fields
 * for the proxy, and with `Connection: close`. So each connection carries one request, and a second
 * request is checked like the first.
 *
 * Whatever two parsers could read differently is refused: a bare LF, folded lines, spaces before
 * the colon, Content-Length beside Transfer-Encoding, a Host field that differs from the URL. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"
#include "egress/chunk_reader.h"
#include "egress/net_host.h"

struct buf;
struct error;

enum { PROXY_HEAD_MAX = 16 * 1024, PROXY_FIELDS_MAX = 100, PROXY_PASSWORD_MAX = 64 };

enum proxy_body_kind { PROXY_BODY_NONE, PROXY_BODY_LENGTH, PROXY_BODY_CHUNKED };

/* The state of a request's body. */
struct proxy_body {
	enum proxy_body_kind kind;
	uint64_t left; /* bytes of a body with a length that have not arrived */
	struct chunk_reader chunks;
	bool is_done;
};

struct proxy_request {
	bool is_connect, is_head;
	struct net_host host;
	uint16_t port;
	char password[PROXY_PASSWORD_MAX + 1]; /* from Proxy-Authorization; "" if there is none */
	struct proxy_body body;
};

/* Whether a line of a head has no control characters but tabs. */
bool proxy_is_printable(struct view text);
/* How many bytes the head has, or 0 if it is not complete. -1: it is too long. */
MUST_CHECK int proxy_head_length(struct view bytes, size_t *ret, struct error *err);
/* Reads a complete head. `out` gets the head for the server, unless the method is CONNECT. For a
 * proxy behind this one `absolute` keeps the whole URL in it, and `field` ("NAME: VALUE\r\n" or "")
 * is added. *ret is zeroed first, and after a failure it has what was read. */
MUST_CHECK int proxy_request_read(struct view head, bool absolute, const char *field,
                                  struct proxy_request *ret, struct buf *out, struct error *err);
/* Like proxy_request_read(), for a request in a TLS connection to `host`: its target is a path.
 * Host must name the same host, or be missing. The request is for this host and port. */
MUST_CHECK int proxy_origin_read(struct view head, const struct net_host *host, uint16_t port,
                                 struct proxy_request *ret, struct buf *out, struct error *err);
/* How many of the bytes belong to the body, which ends when body->is_done. -1: a chunk is
 * malformed. */
MUST_CHECK int proxy_body_take(struct proxy_body *body, struct view bytes, size_t *ret,
                               struct error *err);
