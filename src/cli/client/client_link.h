/* client_link.h - a server of our own at the other end of two pipes, and the conversation with it.
 *
 *   link_open -> link_request ... -> link_close
 *
 * One request at a time, and everything blocks: this is a client. What the server says is bounded
 * and checked as anybody's. Its standard error is ours. Ctrl-C cancels the request; when it comes
 * again nobody waits for the server any more. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "base/buf.h"
#include "json/json.h"

struct error;

struct link {
	pid_t pid;     /* 0: there is no server */
	int to, from;  /* its standard input and output */
	struct buf in; /* what was read of it */
	size_t taken;  /* of that, by the last message */
	json_int_t last_id;
	bool is_cancelled;  /* by Ctrl-C */
	bool with_progress; /* shown on standard error */
};

/* Starts this program as a server with these flags; then who is who. *ret_server: the result of
 * initialize. On failure link_close() is still to be called. */
MUST_CHECK int link_open(struct link *link, const char *const *flags, json_t **ret_server,
                         struct error *err);
/* Takes over `params`, which may be NULL. What the server refuses is an error with its words. */
MUST_CHECK int link_request(struct link *link, const char *method, json_t *params, json_t **ret,
                            struct error *err);
/* Every page of a list: "tools/list" and "tools". *ret: an array. */
MUST_CHECK int link_list(struct link *link, const char *method, const char *key, json_t **ret,
                         struct error *err);
/* Lets the server end, and makes it if it does not within 10 seconds. */
void link_close(struct link *link);
