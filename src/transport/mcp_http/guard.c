/* guard.c - protects a server from web pages.
 *
 * A page of any site can make the browser of a user send requests to a server on the user's
 * machine or network. Two checks prevent that a page uses MCP this way:
 *
 *   Origin  A browser names the site of the page in every POST and in every request whose
 *           response the page may read. Only pages of the server itself and of configured origins
 *           are allowed.
 *   Host    A site can let its own name resolve to the address of the server (DNS rebinding), and
 *           then its pages have the server's origin. Their requests still carry the site's name in
 *           Host, so only known names are allowed. A numeric address cannot be rebound and is
 *           always allowed. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "transport/mcp_http/internal.h"

static const char allowed_fields[] =
        "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, "
        "Mcp-Name, Last-Event-ID";

/* Longer names are no host names (RFC 1035). */
enum { HOST_MAX = 255 };

/* Splits "name:port" or "[::1]:port". Writes the name in lower case, without brackets. */
static bool get_host_name(const char *host, char out[HOST_MAX + 1])
{
	bool is_bracketed = host[0] == '[';
	const char *start = host + is_bracketed;
	const char *end = start + strcspn(start, is_bracketed ? "]" : ":");
	const char *port = end + (is_bracketed && *end == ']');
	size_t len = (size_t)(end - start);

	if (len == 0 || len > HOST_MAX || (is_bracketed && *end != ']'))
		return false;
	if (*port != '\0' && (*port != ':' || port[1 + strspn(port + 1, "0123456789")] != '\0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = start[i];

		out[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
	}
	if (len > 1 && out[len - 1] == '.') /* the root of all names: "localhost." */
		len--;
	out[len] = '\0';
	return true;
}

static bool is_address(const char *name, bool is_bracketed)
{
	unsigned char bytes[16];

	return inet_pton(is_bracketed ? AF_INET6 : AF_INET, name, bytes) == 1;
}

/* DNS rebinding: a page of evil.example whose name leads to this machine sends its own name as
 * Host. Addresses are let through, because no page can make a browser send one for another name. */
bool guard_allows_host(const struct mcp_http_config *config, const char *host)
{
	char name[HOST_MAX + 1];

	if (host == NULL || !get_host_name(host, name))
		return false;
	if (is_address(name, host[0] == '['))
		return true;
	if (host[0] == '[')
		return false;
	if (strcmp(name, "localhost") == 0)
		return true;
	for (const char *const *allowed = config->hosts; allowed != NULL && *allowed != NULL;
	     allowed++) {
		if (strcmp(*allowed, "*") == 0 || strcasecmp(*allowed, name) == 0)
			return true;
	}
	return false;
}

/* Only whole origins are compared: a match by suffix would accept https://evilexample.org for
 * example.org. */
static bool is_listed_origin(const struct mcp_http_config *config, const char *origin)
{
	for (const char *const *allowed = config->origins; allowed != NULL && *allowed != NULL;
	     allowed++) {
		if (strcasecmp(*allowed, origin) == 0)
			return true;
	}
	return false;
}

/* A page that the server itself would have served: the authority of its Origin is the Host of the
 * request. The scheme may differ, because a proxy in front of the server may do TLS. */
static bool is_own_origin(const char *origin, const char *host)
{
	const char *authority = strstr(origin, "://");

	if (strncasecmp(origin, "http://", 7) != 0 && strncasecmp(origin, "https://", 8) != 0)
		return false;
	return authority != NULL && host != NULL && strcasecmp(authority + 3, host) == 0;
}

bool guard_allows_origin(const struct mcp_http_config *config, const char *origin, const char *host)
{
	return is_listed_origin(config, origin) || is_own_origin(origin, host);
}

static bool is_unix_socket(const struct http_request *request)
{
	char peer[HTTP_PEER_SIZE];

	return strcmp(http_peer(request, peer), "unix") == 0;
}

/* No browser reaches a unix socket by a name that it resolved. */
bool guard_allows_peer(const struct mcp_http_config *config, struct http_request *request)
{
	return is_unix_socket(request) || guard_allows_host(config, http_get(request, "host"));
}

const char *guard_check(const struct mcp_http_config *config, struct http_request *request)
{
	const char *origin = http_get(request, "origin");
	const char *host = http_get(request, "host");

	if (!guard_allows_peer(config, request))
		return "The Host header names a host that this server does not serve: use "
		       "localhost or an address, or add the name to the allowed hosts "
		       "(--allow-host).";
	if (origin != NULL && !guard_allows_origin(config, origin, host))
		return "Web pages of this Origin may not use this server: add the origin to the "
		       "allowed origins (--allow-origin).";
	return NULL;
}

const char *guard_cors_origin(const struct mcp_http_config *config, struct http_request *request)
{
	const char *origin = http_get(request, "origin");

	return origin != NULL && is_listed_origin(config, origin) ? origin : NULL;
}

/* Appends the Mcp-Param-* fields that a preflight asks for: there is no wildcard for them. */
static void add_param_fields(struct buf *list, const char *wanted)
{
	static const char prefix[] = "mcp-param-";

	while (wanted != NULL && *wanted != '\0') {
		size_t len = strcspn(wanted, ", \t");

		if (view_has_only((struct view){ wanted, len }, "-_") && len > sizeof prefix - 1 &&
		    strncasecmp(wanted, prefix, sizeof prefix - 1) == 0 &&
		    !buf_putf(list, ", %.*s", (int)len, wanted))
			return; /* the buffer is full */
		wanted += len;
		wanted += strspn(wanted, ", \t");
	}
}

void guard_answer_options(const struct mcp_http *http, struct http_request *request,
                          const char *allow)
{
	bool is_preflight = guard_cors_origin(&http->config, request) != NULL &&
	                    http_get(request, "access-control-request-method") != NULL;
	char text[2048] = "";
	struct buf list = buf_fixed(text, sizeof text);
	struct fields fields;

	fields_init(&fields, http, request);
	fields_add(&fields, "Allow", allow);
	if (is_preflight && buf_put(&list, view_of(allowed_fields))) {
		add_param_fields(&list, http_get(request, "access-control-request-headers"));
		fields_add(&fields, "Access-Control-Allow-Methods", allow);
		fields_add(&fields, "Access-Control-Allow-Headers", text);
		fields_add(&fields, "Access-Control-Max-Age", "600");
	}
	http_respond(request, 204, fields.list, (struct view){ "", 0 });
}
