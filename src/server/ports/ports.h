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
struct mcp_caller;
struct tools_context;

/* What ports_serve() decides by. */
struct ports_request {
	const struct tools_context *tools;
	/* Who calls, if the request was authenticated; NULL: only a link helps. */
	const struct mcp_caller *caller;
	const char *why; /* the reason for NULL, for the person who reads it */
};

/* Whether the path names a link. */
bool ports_has_link(const struct http_request *request);
/* Answers a request whose path begins with /ports/. */
void ports_serve(const struct ports_request *ports, struct http_request *request);
