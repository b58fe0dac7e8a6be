/* internal.h - what the files of src/server/ports share.
 *
 *   ports.c      one request: who may, the sandbox, the stream, the relay
 *   port_head.c  the head of the request for the program, and the head of its answer */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/view.h"

struct buf;
struct error;
struct http_request;

enum {
	PORT_ANSWER_HEAD_MAX = 32 * 1024, /* bytes of the head of an answer */
	PORT_ANSWER_FIELDS_MAX = 100,
	PORT_PREFIX_MAX = 160,
};

/* Where a request goes. */
struct port_path {
	uint16_t port;
	char prefix[PORT_PREFIX_MAX]; /* "/ports/ID/8000" or "/ports/ID/8000/~KEY" */
	const char *rest;             /* behind the prefix: "" or "/..." */
};

/* Writes the head of the request for the program: without the fields that are between the client
 * and this server (token, cookies, connection), and with the length of the body. */
void port_request_head(struct http_request *request, const struct port_path *path, bool upgrades,
                       size_t body_len, struct buf *out);

/* What the head of an answer is written with. */
struct port_answer_options {
	const struct port_path *path;
	bool upgrades; /* the client has asked for another protocol */
	bool is_link;  /* pages of other origins may read the answer: the URL is the proof */
};

/* Reads the head of an answer, which ends with an empty line, and appends the head for the client
 * to out. Returns the status, or -1: the head is malformed. */
MUST_CHECK int port_answer_head(struct view head, const struct port_answer_options *options,
                                struct buf *out, struct error *err);
