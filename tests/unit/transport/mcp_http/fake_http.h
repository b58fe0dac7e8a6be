/* fake_http.h - takes the place of src/transport/http in tests: requests are made by the test, and
 * what is responded is kept for it. No socket, and callbacks only when the test asks for them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "transport/http/http.h"

struct fake_response {
	int status;        /* 0: none yet */
	char fields[2048]; /* "Name: value\n" ... */
	char body[65536];  /* terminated */
	size_t len;        /* of the whole body, also of what did not fit */
	bool is_stream;    /* http_stream_start() was called */
	bool is_ended;
};

/* head: "POST /mcp?query\nHost: localhost\nAccept: a, b"; names in any case. body: NULL for none. */
struct http_request *fake_request(const char *head, const char *body);
/* Gives the request to the handler, and the body if the handler reads it. */
void fake_send(void *mcp_http, struct http_request *request);
/* The client closes the connection. */
void fake_close(struct http_request *request);
/* What http_queued() and http_peer() return. */
void fake_set_queued(struct http_request *request, size_t bytes);
void fake_set_peer(struct http_request *request, const char *peer);
struct fake_response *fake_response(struct http_request *request);
/* Empties the body that has been received so far. */
void fake_clear_body(struct http_request *request);
/* The value of a field of the response, valid until the next call; NULL: absent. */
const char *fake_field(struct http_request *request, const char *name);
void fake_free(struct http_request *request);
