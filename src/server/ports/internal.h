/* internal.h - what the files of src/server/ports share.
 *
 *   ports.c          one request: who may, the sandbox, the stream, the relay
 *   port_list.c      all requests that are open, and their limits
 *   port_head.c      the head of the request for the program, and the head of its answer
 *   port_location.c  where an answer may redirect to */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/list.h"
#include "base/view.h"
#include "sandbox/registry/registry.h"

struct buf;
struct error;
struct http_request;
struct ports;
struct sandbox;

enum {
	PORT_SANDBOX_REQUESTS = 64,       /* a channel has 256 streams, and tools need some */
	PORT_BODIES_MAX = 256 << 20,      /* bytes of all requests that programs have not read */
	PORT_IDLE_MS = 15 * 60 * 1000,    /* without a byte in either direction */
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

/* The facts that the head of an answer is rewritten with. */
struct port_answer_options {
	const struct port_path *path;
	bool upgrades; /* the client has asked for another protocol */
	bool is_link;  /* pages of other origins may read the answer: the URL is the proof */
	const char *host, *url; /* this server: the Host of the request, and its URL; or NULL */
};

/* Appends the field Location. A redirection of the program is below the prefix for the client. One
 * that leads to another path of this server is left out: the client would follow it with the
 * owner's token, to any sandbox of the owner. */
void port_add_location(struct buf *out, const struct port_answer_options *options,
                       struct view value);

/* Reads the head of an answer, which ends with an empty line, and appends the head for the client
 * to out. Returns the status, or -1: the head is malformed. */
MUST_CHECK int port_answer_head(struct view head, const struct port_answer_options *options,
                                struct buf *out, struct error *err);

/* One open request in the list. The caller sets the first members. */
struct port_entry {
	const struct sandbox *sandbox;
	char owner[OWNER_MAX + 1];
	/* Ends the request and removes the entry from the list. */
	void (*end)(struct port_entry *entry, int status, const char *why);
	struct list node;
	struct ports *ports; /* NULL: not in the list */
	size_t body_bytes;   /* counted in the limit of all requests */
	uint64_t active_ms;  /* of the last byte */
};

/* Fails if the sandbox has too many requests. */
MUST_CHECK int port_list_add(struct ports *ports, struct port_entry *entry, struct error *err);
/* Also removes the bytes of the body. May be called again. */
void port_list_remove(struct port_entry *entry);
/* Counts the bytes of a body that waits for the program; fails if too many wait. */
MUST_CHECK int port_list_add_body(struct port_entry *entry, size_t bytes, struct error *err);
/* The program has got the body. */
void port_list_remove_body(struct port_entry *entry);
/* A byte was sent or received. */
void port_list_touch(struct port_entry *entry);
/* Ends the requests without a byte in the last PORT_IDLE_MS. */
void port_list_end_idle(struct ports *ports, uint64_t now_ms);
