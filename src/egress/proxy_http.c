#include "egress/proxy_http.h"

#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/num.h"
#include "base/text/base64.h"

/* Some servers take LF alone for the end of a line. For them the head would end at "\n\n", and the
 * bytes behind would be a second request, whose host was not checked (request smuggling). */
int proxy_head_length(struct view bytes, size_t *ret, struct error *err)
{
	const char *end = memmem(bytes.ptr, bytes.len, "\r\n\r\n", 4);
	const char *bare = memmem(bytes.ptr, bytes.len, "\n\n", 2);

	if (bare != NULL && (end == NULL || bare < end))
		return error_set(err, ERR_SYNTAX, "a line of the request ends with LF alone");
	*ret = end != NULL ? (size_t)(end - bytes.ptr) + 4 : 0;
	if (end != NULL ? *ret > PROXY_HEAD_MAX : bytes.len >= PROXY_HEAD_MAX)
		return error_set(err, ERR_LIMIT, "the head of the request has more than %d bytes",
		                 PROXY_HEAD_MAX);
	return 0;
}

/* --- lines --- */

static bool is_token(struct view text)
{
	return text.len != 0 && view_has_only(text, "!#$%&'*+-.^_`|~");
}

bool proxy_is_printable(struct view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (((unsigned char)text.ptr[i] < ' ' && text.ptr[i] != '\t') ||
		    text.ptr[i] == 0x7f)
			return false;
	return true;
}

/* Moves the text up to the next `end` to *ret. False: there is none. */
static bool cut_until(struct view *rest, const char *end, struct view *ret)
{
	size_t len = strlen(end);
	const char *at = memmem(rest->ptr, rest->len, end, len);

	if (at == NULL)
		return false;
	*ret = (struct view){ rest->ptr, (size_t)(at - rest->ptr) };
	rest->ptr += ret->len + len;
	rest->len -= ret->len + len;
	return true;
}

/* --- the request line --- */

struct parse {
	struct proxy_request *request;
	struct view method, target, path, authority;
	struct view host;          /* the Host field */
	bool has_host, has_length; /* fields that may stand only once */
	bool is_chunked;
	bool is_origin;        /* the connection says which host it is; the target is a path */
	uint16_t default_port; /* of a Host field without one */
};

static int read_target(struct parse *parse, struct error *err)
{
	struct proxy_request *request = parse->request;
	struct view rest = parse->target;

	if (parse->is_origin) {
		parse->path = rest;
		if (!view_starts(rest, "/") || view_is(parse->method, "CONNECT"))
			return error_set(err, ERR_SYNTAX,
			                 "the target of the request is no path that begins with /");
		return 0;
	}
	if (request->is_connect)
		return net_host_parse_port(parse->target, 0, &request->host, &request->port, err);
	if (!view_starts_nocase(rest, "http://"))
		return error_set(err, ERR_INVALID,
		                 "the request has no http:// URL: this is a proxy, which a program "
		                 "reaches through HTTP_PROXY; for https:// it must send CONNECT");
	rest.ptr += 7;
	rest.len -= 7;
	parse->authority = rest;
	for (size_t i = 0; i < rest.len; i++)
		if (strchr("/?#", rest.ptr[i]) != NULL) {
			parse->authority.len = i;
			break;
		}
	parse->path = (struct view){ rest.ptr + parse->authority.len,
		                     rest.len - parse->authority.len };
	return net_host_parse_port(parse->authority, 80, &request->host, &request->port, err);
}

static int read_request_line(struct parse *parse, struct view line, struct error *err)
{
	if (!cut_until(&line, " ", &parse->method) || !cut_until(&line, " ", &parse->target) ||
	    !is_token(parse->method) || parse->target.len == 0 ||
	    !proxy_is_printable(parse->target))
		return error_set(err, ERR_SYNTAX, "the first line is not a request of HTTP");
	if (!view_is(line, "HTTP/1.1") && !view_is(line, "HTTP/1.0"))
		return error_set(err, ERR_SYNTAX, "the version is neither HTTP/1.1 nor HTTP/1.0");
	/* The answer to TRACE is the request, with the credentials that the gate has put in. */
	if (view_is_nocase(parse->method, "TRACE") || view_is_nocase(parse->method, "TRACK"))
		return error_set(err, ERR_INVALID,
		                 "this proxy forwards no TRACE: use GET or HEAD instead");
	parse->request->is_connect = !parse->is_origin && view_is(parse->method, "CONNECT");
	parse->request->is_head = view_is(parse->method, "HEAD");
	return read_target(parse, err);
}

/* --- fields --- */

/* A server may take another one of two lengths for the end of the request, and read what follows as
 * a second request. So the length stands once and is a plain number. */
static int read_length(struct parse *parse, struct view value, struct error *err)
{
	uint64_t length;

	if (parse->has_length || value.len == 0 || value.len > 18)
		return error_set(err, ERR_SYNTAX, "Content-Length is given twice or is too long");
	if (!num_read_length(value, &length))
		return error_set(err, ERR_SYNTAX, "Content-Length is not a number");
	parse->has_length = true;
	parse->request->body = (struct proxy_body){ .kind = PROXY_BODY_LENGTH,
		                                    .left = length,
		                                    .is_done = length == 0 };
	return 0;
}

static int read_encoding(struct parse *parse, struct view value, struct error *err)
{
	if (parse->is_chunked || !view_is_nocase(value, "chunked"))
		return error_set(err, ERR_SYNTAX, "Transfer-Encoding is not 'chunked', once");
	parse->is_chunked = true;
	return 0;
}

/* "Basic BASE64(USER:PASSWORD)". A malformed field is like none: the gate refuses the request if it
 * has a password. */
static void read_password(struct parse *parse, struct view value)
{
	AUTO_FREE char *decoded = NULL;
	struct error ignored;
	const char *colon;
	size_t len;

	if (!view_starts_nocase(value, "Basic "))
		return;
	value.ptr += 6;
	value.len -= 6;
	if (base64_decode(view_trim(value), &decoded, &len, &ignored) < 0)
		return;
	colon = memchr(decoded, ':', len);
	if (colon == NULL || len - (size_t)(colon + 1 - decoded) > PROXY_PASSWORD_MAX)
		return;
	len -= (size_t)(colon + 1 - decoded);
	memcpy(parse->request->password, colon + 1, len);
	parse->request->password[len] = '\0';
}

/* Fields that are for this connection, not for the server. Proxy-Authorization has the password of
 * the gate. Host is written anew, from the host that is checked. */
static bool is_dropped(struct view name)
{
	static const char *const names[] = { "Connection", "Keep-Alive", "TE",
		                             "Trailer",    "Upgrade",    "Host" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (view_is_nocase(name, names[i]))
			return true;
	return view_starts_nocase(name, "Proxy-");
}

static int read_field(struct parse *parse, struct view line, struct buf *out, struct error *err)
{
	struct view name, value = line;

	if (!cut_until(&value, ":", &name) || !is_token(name) || !proxy_is_printable(value))
		return error_set(err, ERR_SYNTAX, "a header field is malformed");
	value = view_trim(value);
	if (view_is_nocase(name, "Content-Length") && read_length(parse, value, err) < 0)
		return -1;
	if (view_is_nocase(name, "Transfer-Encoding") && read_encoding(parse, value, err) < 0)
		return -1;
	if (view_is_nocase(name, "Host")) {
		if (parse->has_host)
			return error_set(err, ERR_SYNTAX, "Host is given twice");
		parse->has_host = true;
		parse->host = value;
	}
	if (view_is_nocase(name, "Proxy-Authorization"))
		read_password(parse, value);
	if (is_dropped(name) || parse->request->is_connect)
		return 0;
	return buf_printf(out, err, "%.*s: %.*s\r\n", (int)name.len, name.ptr, (int)value.len,
	                  value.ptr);
}

/* A Host field that names another host would reach that one on a server with several. */
static int check_host(const struct parse *parse, struct error *err)
{
	const struct proxy_request *request = parse->request;
	struct net_host host;
	uint16_t port;

	if (!parse->has_host || parse->host.len == 0)
		return 0;
	if (net_host_parse_port(parse->host,
	                        request->is_connect ? request->port : parse->default_port, &host,
	                        &port, err) < 0)
		return error_wrap(err, "Host");
	/* CONNECT: some programs leave the port out, or give that of the proxy's scheme. */
	if (!net_host_is(&host, &request->host) || (!request->is_connect && port != request->port))
		return error_set(err, ERR_INVALID, "Host names another host than the request");
	return 0;
}

static int read_fields(struct parse *parse, struct view rest, struct buf *out, struct error *err)
{
	struct view line;
	int count = 0;

	while (cut_until(&rest, "\r\n", &line) && line.len != 0) {
		if (++count > PROXY_FIELDS_MAX)
			return error_set(err, ERR_LIMIT, "more than %d header fields",
			                 PROXY_FIELDS_MAX);
		if (read_field(parse, line, out, err) < 0)
			return -1;
	}
	if (parse->is_chunked && parse->has_length)
		return error_set(err, ERR_SYNTAX,
		                 "both Content-Length and Transfer-Encoding are given");
	if (parse->is_chunked)
		parse->request->body = (struct proxy_body){ .kind = PROXY_BODY_CHUNKED };
	return check_host(parse, err);
}

static int write_request_line(const struct parse *parse, bool absolute, struct buf *out,
                              struct error *err)
{
	const struct proxy_request *request = parse->request;
	char host[NET_HOST_SIZE];
	struct view path = parse->path;
	const char *fragment = memchr(path.ptr, '#', path.len);

	(void)net_host_text(&request->host, request->port, host);
	if (request->port == parse->default_port)
		*strrchr(host, ':') = '\0';
	if (fragment != NULL)
		path.len = (size_t)(fragment - path.ptr);
	return buf_printf(out, err, "%.*s %s%s%s%.*s HTTP/1.1\r\nHost: %s\r\n",
	                  (int)parse->method.len, parse->method.ptr, absolute ? "http://" : "",
	                  absolute ? host : "", path.len == 0 || path.ptr[0] == '?' ? "/" : "",
	                  (int)path.len, path.ptr, host);
}

static int read_request(struct parse *parse, struct view head, bool absolute, const char *field,
                        struct buf *out, struct error *err)
{
	struct proxy_request *ret = parse->request;
	struct view line;

	if (memchr(head.ptr, '\0', head.len) != NULL || !cut_until(&head, "\r\n", &line))
		return error_set(err, ERR_SYNTAX, "the request has a zero byte or no line");
	if (read_request_line(parse, line, err) < 0)
		return -1;
	if (!ret->is_connect && write_request_line(parse, absolute, out, err) < 0)
		return -1;
	if (read_fields(parse, head, out, err) < 0)
		return -1;
	/* CONNECT has no body: the bytes behind the head are the first of the tunnel. */
	if (ret->is_connect)
		ret->body = (struct proxy_body){ .is_done = true };
	return ret->is_connect ? 0 : buf_printf(out, err, "%sConnection: close\r\n\r\n", field);
}

int proxy_request_read(struct view head, bool absolute, const char *field,
                       struct proxy_request *ret, struct buf *out, struct error *err)
{
	struct parse parse = { .request = ret, .path = { "", 0 }, .default_port = 80 };

	*ret = (struct proxy_request){ .body.is_done = true };
	return read_request(&parse, head, absolute, field, out, err);
}

int proxy_origin_read(struct view head, const struct net_host *host, uint16_t port,
                      struct proxy_request *ret, struct buf *out, struct error *err)
{
	struct parse parse = {
		.request = ret, .path = { "", 0 }, .is_origin = true, .default_port = 443
	};

	*ret = (struct proxy_request){ .body.is_done = true, .host = *host, .port = port };
	return read_request(&parse, head, false, "", out, err);
}
