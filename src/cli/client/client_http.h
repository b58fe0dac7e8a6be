/* client_http.h - a server at a URL, reached over Streamable HTTP with libcurl, for client_link.h.
 *
 *   client_http_open -> client_http_send, client_http_more ... -> client_http_close
 *
 * Messages of the server are appended to the caller's buffer, one JSON text per line. One request
 * is in progress at a time; other messages may be sent meanwhile. Calls block, client_http_more()
 * for a tenth of a second at most. */
#pragma once
#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/view.h"

struct client_http;
struct error;

/* `url` must live until client_http_close(). token_env: the environment variable that has the
 * token, or NULL. `in` is where messages go. */
MUST_CHECK int client_http_open(const char *url, const char *token_env, struct buf *in,
                                struct client_http **ret, struct error *err);
/* Starts a request, or sends any other message and waits until the server has accepted it. */
MUST_CHECK int client_http_send(struct client_http *http, struct view message, bool is_request,
                                struct error *err);
/* Waits for bytes of the response to the request. A response that was cut is resumed, if the server
 * has given it an id. */
MUST_CHECK int client_http_more(struct client_http *http, struct error *err);
/* Stops waiting for the response to the request. */
void client_http_stop(struct client_http *http);
/* The revision that `initialize` has returned, for every later request. */
void client_http_set_version(struct client_http *http, const char *version);
/* Ends the session, and waits two seconds at most for the server to confirm it. */
struct client_http *client_http_close(struct client_http *http);
