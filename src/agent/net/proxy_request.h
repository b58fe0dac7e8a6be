/* proxy_request.h - what a client of the proxy asks for, and how it is said to the origin.
 *
 * Pure: bytes in, bytes out. The client is hostile and so may be the origin's reading of the
 * same bytes; what could be read in two ways is refused, never repaired. The views of a
 * request point into its head. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;

enum {
	PROXY_METHOD_MAX = 32,
	PROXY_HOST_MAX = 255,
	PROXY_FIELDS_MAX = 100,  /* header fields of one request */
	PROXY_NAMED_MAX = 32,    /* of them named by Connection */
	PROXY_REWRITE_MAX = 512, /* a head grows by less: a space a field, Connection */
};

struct proxy_request {
	bool tunnel;      /* CONNECT */
	bool expects;     /* the client waits for 100 Continue before it sends its body */
	struct view host; /* an IPv6 address without its brackets */
	uint16_t port;
	uint64_t length; /* of the body */
};

struct proxy_refusal {
	unsigned status;
	const char *why; /* printable ASCII */
};

/* How long the head at the front of what has come is, its empty line included; 0: it has not come
 * as a whole yet; -1: it will not become one. */
MUST_CHECK ssize_t proxy_head_length(struct view bytes, struct proxy_refusal *ret_refusal);
/* The same when more has come: of the first `seen` bytes it was said already that they are no
 * whole head. Each byte is looked at once, however few come at a time. */
MUST_CHECK ssize_t proxy_head_length_from(struct view bytes, size_t seen,
                                          struct proxy_refusal *ret_refusal);

/* Reads a whole head. What is to be said to the origin instead is appended to `out`; for a
 * tunnel that is nothing. On -1 only *ret_refusal means something. */
MUST_CHECK int proxy_request_read(struct view head, struct proxy_request *ret, struct buf *out,
                                  struct proxy_refusal *ret_refusal);

/* Appends a whole answer that ends the connection; `why` becomes one printable line. `out`
 * has room for PROXY_ANSWER_MAX bytes. */
enum { PROXY_ANSWER_MAX = 1024 };
void proxy_answer(unsigned status, struct view why, struct buf *out);
