/* http_client.h - requests to one HTTP server, with libcurl on the event loop: the API of Docker.
 *
 *   http_client_new -> http_client_send ... -> done()  one answer as a whole, or in pieces
 *                   -> http_upgrade_open -> open() -> bytes() ...
 *                                                      a connection that becomes a byte stream
 *
 * Nothing blocks, and callbacks come from the loop, never from within http_client_send() or
 * http_upgrade_open(). The bytes of the server are hostile: an answer has a maximum, and the bytes
 * of a stream are passed on without a look at them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct http_client;
struct http_upgrade;
struct loop;

/* Where the server is. The texts must live as long as the process. */
struct http_client_address {
	const char *shown;           /* for messages: "unix:///run/docker.sock" */
	const char *socket;          /* path of a socket; NULL: the host of `base` */
	const char *base;            /* "http://docker", "https://10.0.0.1:2376" */
	const char *ca, *cert, *key; /* files for TLS, or NULL */
};

MUST_CHECK int http_client_new(struct loop *loop, const struct http_client_address *address,
                               struct http_client **ret, struct error *err);

struct http_client_request {
	const char *method, *path; /* the path begins with "/" and is encoded */
	struct view body;          /* copied */
	const char *type;          /* of the body; NULL: there is no body */
	const char *header;        /* one more line, or NULL */
	size_t max;                /* bytes of the answer; more is an error */
	unsigned timeout_ms;       /* for the whole answer; 0: the call fails after SILENCE_S */
	/* Gets the pieces of an answer with a status of 200, instead of the body of done(). Must
	 * not call a function of this module. NULL: the answer is collected. */
	void (*bytes)(void *ctx, struct view bytes);
	/* status 0: there is no answer, for the reason *why. */
	void (*done)(void *ctx, int status, struct view body, const struct error *why);
	void *ctx;
};

void http_client_send(struct http_client *http, const struct http_client_request *request);

struct http_upgrade_events {
	void (*open)(void *ctx); /* the server has agreed: bytes may be written */
	void (*bytes)(void *ctx, struct view bytes);
	void (*drained)(void *ctx); /* the queue has become empty */
	/* The last callback; NULL: the server has closed the stream. */
	void (*end)(void *ctx, const struct error *why);
};

/* Asks the server to use a connection as a byte stream in both directions ("Upgrade: tcp"). */
struct http_upgrade *http_upgrade_open(struct http_client *http, const char *path,
                                       const struct http_upgrade_events *events,
                                       void *ctx) RETURNS_NONNULL;
/* Sends or queues the bytes. The caller stops writing while http_upgrade_pending() is large. */
void http_upgrade_send(struct http_upgrade *stream, struct view bytes);
size_t http_upgrade_pending(const struct http_upgrade *stream);
/* While the stream is paused, bytes() is not called. */
void http_upgrade_pause(struct http_upgrade *stream, bool is_paused);
struct http_upgrade *http_upgrade_free(struct http_upgrade *stream); /* also from its callbacks */
