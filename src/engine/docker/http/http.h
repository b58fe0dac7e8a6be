/* http.h - requests to one HTTP server, with libcurl on the event loop: the API of Docker.
 *
 *   http_new -> http_send ... -> done()                    one answer as a whole, or in pieces
 *            -> http_stream_open -> open() -> bytes() ...  a connection that becomes a byte stream
 *
 * Nothing blocks, and callbacks come from the loop, never from within http_send() or
 * http_stream_open(). The bytes of the server are hostile: an answer has a maximum, and what a
 * stream carries is not looked at. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"
#include "base/view.h"

struct error;
struct http;
struct http_stream;
struct loop;

/* Where the server is. The texts must live as long as the process. */
struct http_address {
	const char *shown;           /* for messages: "unix:///run/docker.sock" */
	const char *socket;          /* path of a socket; NULL: the host of `base` */
	const char *base;            /* "http://docker", "https://10.0.0.1:2376" */
	const char *ca, *cert, *key; /* files for TLS, or NULL */
};

MUST_CHECK int http_new(struct loop *loop, const struct http_address *address, struct http **ret,
                        struct error *err);

struct http_request {
	const char *method, *path; /* the path begins with "/" and is encoded */
	struct view body;          /* copied */
	const char *type;          /* of the body; NULL: there is no body */
	const char *header;        /* one more line, or NULL */
	size_t max;                /* bytes of the answer; more is an error */
	unsigned timeout_ms;       /* for the whole answer; 0: only silence ends the call */
	/* Gets the pieces of an answer with a status of 200, instead of the body of done(). Must
	 * not call a function of this module. NULL: the answer is collected. */
	void (*bytes)(void *ctx, struct view bytes);
	/* status 0: there is no answer, for the reason *why. */
	void (*done)(void *ctx, int status, struct view body, const struct error *why);
	void *ctx;
};

void http_send(struct http *http, const struct http_request *request);

struct http_stream_events {
	void (*open)(void *ctx); /* the server has agreed: bytes may be written */
	void (*bytes)(void *ctx, struct view bytes);
	void (*drained)(void *ctx); /* everything that was written has been sent */
	/* The last callback; NULL: the server has closed the stream. */
	void (*end)(void *ctx, const struct error *why);
};

/* Asks the server to make a connection a byte stream in both directions ("Upgrade: tcp"). */
struct http_stream *http_stream_open(struct http *http, const char *path,
                                     const struct http_stream_events *events,
                                     void *ctx) RETURNS_NONNULL;
/* Sends or queues the bytes. The caller stops writing while http_stream_pending() is large. */
void http_stream_send(struct http_stream *stream, struct view bytes);
size_t http_stream_pending(const struct http_stream *stream);
void http_stream_pause(struct http_stream *stream, bool is_paused); /* bytes() */
struct http_stream *http_stream_free(struct http_stream *stream);   /* also from its callbacks */
