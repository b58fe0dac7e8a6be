/* client_link.h - a `belljar serve` process connected by two pipes, or a server at a URL, and the
 * requests to it.
 *
 *   client_link_open -> client_link_request ... -> client_link_close
 *
 * All calls block, and one request is made at a time. Messages of the server are bounded and
 * checked like those of any server. The server inherits standard error. The first Ctrl-C cancels
 * the request; the second one also stops waiting for the server to exit. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"
#include "json/json.h"

struct client_http;
struct error;

struct link {
	struct client_http *http; /* NULL: the server is a process of this client */
	pid_t pid;                /* 0: no server is running */
	int to, from;             /* the server's standard input and output */
	struct buf in;            /* bytes that were read from it */
	size_t taken;             /* how many of them the last message has */
	json_int_t last_id;
	bool is_cancelled;  /* by Ctrl-C */
	bool with_progress; /* shown on standard error */
};

/* Starts this program as a server with these flags and initializes the connection. *ret_server is
 * the result of `initialize`. The caller calls client_link_close() after a failure too. */
MUST_CHECK int client_link_open(struct link *link, const char *const *flags, json_t **ret_server,
                                struct error *err);
/* Connects to the server at a URL (client_http.h) and initializes the connection, likewise. */
MUST_CHECK int client_link_open_url(struct link *link, const char *url, const char *token_env,
                                    json_t **ret_server, struct error *err);
/* Takes over `params`, which may be NULL. A JSON-RPC error becomes an error with the server's
 * text. */
MUST_CHECK int client_link_request(struct link *link, const char *method, json_t *params,
                                   json_t **ret, struct error *err);
/* Requests every page of a list, such as "tools/list" with the key "tools". *ret is an array. */
MUST_CHECK int client_link_list(struct link *link, const char *method, const char *key,
                                json_t **ret, struct error *err);
/* Prepares for the next request after one that failed or was cancelled. False: the server has
 * exited. */
MUST_CHECK bool client_link_resume(struct link *link);
/* Closes the server's input, waits up to 10 seconds for it to exit, then kills it. Of a server at a
 * URL, ends the session. */
void client_link_close(struct link *link);
