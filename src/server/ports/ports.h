/* ports.h - ports of sandboxes over HTTP: requests below /ports/ are passed on to a program inside.
 *
 *   /ports/{sandbox}/{port}/...         for callers who send the owner's token
 *   /ports/{sandbox}/{port}/~{key}/...  for whoever has the link (tools/support/port_links.h)
 *
 * Both ends are hostile to each other. A program inside must not get the token, a cookie or another
 * request of the client, and its answer must not act in the name of this server: pages run with an
 * origin of their own (Content-Security-Policy: sandbox), fields that would change what a browser
 * does with this server's other paths are left out, and each connection carries one request. */
#pragma once
#include <stdbool.h>

struct http_request;
struct loop;
struct mcp_caller;
struct tools_context;

/* The requests that are open, and their limits. */
struct ports;

struct ports *ports_new(struct loop *loop);
/* The HTTP server must have been freed before, which ends all requests. */
struct ports *ports_free(struct ports *ports);
/* Ends the requests of an owner whose token is not valid any more, and of the owner's users. */
void ports_end_owner(struct ports *ports, const char *owner);

/* The facts of a request that ports_serve() decides by. */
struct ports_request {
	struct ports *ports;
	const struct tools_context *tools;
	/* The caller, if the request was authenticated; NULL: only a port link gives access. */
	const struct mcp_caller *caller;
	const char *why; /* the reason for NULL, for the person who reads it */
};

/* Whether the path names a link. */
bool ports_has_link(const struct http_request *request);
/* Answers a request whose path begins with /ports/. */
void ports_serve(const struct ports_request *ports, struct http_request *request);
