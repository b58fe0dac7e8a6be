#include "agent/net/proxy_request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/utf8.h"

struct field {
	struct view name, value;
};

/* One reading of a head: what came, what is made of it. */
struct reading {
	struct proxy_request request;
	struct view method, version;
	struct view authority;              /* as Host says it */
	struct view path;                   /* and query; may be empty or begin with '?' */
	struct view named[PROXY_NAMED_MAX]; /* fields that Connection names */
	size_t named_count;
	bool has_length, is_chunked;
	struct proxy_refusal *refusal;
};

static int refuse(struct reading *reading, unsigned status, const char *why)
{
	*reading->refusal = (struct proxy_refusal){ status, why };
	return -1;
}

/* --- characters -------------------------------------------------------------------- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_alnum(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_token(struct view v)
{
	for (size_t i = 0; i < v.len; i++)
		if (!is_alnum(v.ptr[i]) &&
		    (v.ptr[i] == '\0' || strchr("!#$%&'*+-.^_`|~", v.ptr[i]) == NULL))
			return false;
	return v.len != 0;
}

static bool is_control(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f;
}

static bool is_same(struct view v, const char *name)
{
	return v.len == strlen(name) && strncasecmp(v.ptr, name, v.len) == 0;
}

static struct view from(struct view v, size_t at)
{
	return (struct view){ v.ptr + at, v.len - at };
}

/* The part of *rest before the first `c`, which is cut off with it; all of it if there is none. */
static struct view cut(struct view *rest, char c)
{
	const char *at = rest->len != 0 ? memchr(rest->ptr, c, rest->len) : NULL;
	struct view part = { rest->ptr, at != NULL ? (size_t)(at - rest->ptr) : rest->len };

	*rest = from(*rest, part.len + (at != NULL));
	return part;
}

/* Spaces and tabs only: of all others a header field has none. */
static struct view trim(struct view v)
{
	while (v.len != 0 && (v.ptr[0] == ' ' || v.ptr[0] == '\t'))
		v = from(v, 1);
	while (v.len != 0 && (v.ptr[v.len - 1] == ' ' || v.ptr[v.len - 1] == '\t'))
		v.len--;
	return v;
}

static bool is_number(struct view v, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;

	for (size_t i = 0; i < v.len; i++) {
		uint64_t digit = (uint64_t)(v.ptr[i] - '0');

		if (!is_digit(v.ptr[i]) || number > (max - digit) / 10)
			return false;
		number = number * 10 + digit;
	}
	*ret = number;
	return v.len != 0;
}

/* --- where to ---------------------------------------------------------------------- */

static int read_ipv6(struct reading *reading, struct view literal)
{
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (literal.len >= sizeof text || memchr(literal.ptr, '\0', literal.len) != NULL)
		return refuse(reading, 400, "the address in brackets is no IPv6 address");
	memcpy(text, literal.ptr, literal.len);
	text[literal.len] = '\0';
	if (inet_pton(AF_INET6, text, &address) != 1)
		return refuse(reading, 400, "the address in brackets is no IPv6 address");
	reading->request.host = literal;
	return 0;
}

static int read_name(struct reading *reading, struct view name)
{
	if (name.len == 0 || name.len > PROXY_HOST_MAX)
		return refuse(reading, 400, "the host's name must have 1 to 255 characters");
	for (size_t i = 0; i < name.len; i++)
		if (!is_alnum(name.ptr[i]) && name.ptr[i] != '.' && name.ptr[i] != '-' &&
		    name.ptr[i] != '_')
			return refuse(reading, 400,
			              "the host's name has a character that no such name has");
	reading->request.host = name;
	return 0;
}

static int read_port(struct reading *reading, struct view digits)
{
	uint64_t port = 0;

	if (digits.len > 5 || !is_number(digits, UINT16_MAX, &port) || port == 0)
		return refuse(reading, 400, "the port must be a number from 1 to 65535");
	reading->request.port = (uint16_t)port;
	return 0;
}

/* host, host:port, [address] or [address]:port. */
static int read_authority(struct reading *reading, struct view authority)
{
	struct view rest = authority;

	if (memchr(authority.ptr, '@', authority.len) != NULL)
		return refuse(reading, 400, "the target must not contain a user (no '@')");
	if (authority.len != 0 && authority.ptr[0] == '[') {
		struct view literal;

		rest = from(rest, 1);
		if (memchr(rest.ptr, ']', rest.len) == NULL)
			return refuse(reading, 400, "the address in brackets is no IPv6 address");
		literal = cut(&rest, ']');
		if (read_ipv6(reading, literal) < 0)
			return -1;
		if (rest.len == 0)
			return 0;
		if (rest.ptr[0] != ':')
			return refuse(reading, 400, "the port must be a number from 1 to 65535");
		return read_port(reading, from(rest, 1));
	}
	if (memchr(rest.ptr, ':', rest.len) == NULL)
		return read_name(reading, rest);
	if (read_name(reading, cut(&rest, ':')) < 0)
		return -1;
	return read_port(reading, rest);
}

static int read_tunnel(struct reading *reading, struct view target)
{
	reading->request.tunnel = true;
	if (read_authority(reading, target) < 0)
		return -1;
	if (reading->request.port == 0)
		return refuse(reading, 400, "CONNECT needs a port: host:port");
	return 0;
}

/* http://authority/path?query */
static int read_absolute(struct reading *reading, struct view target)
{
	static const char http[] = "http://", https[] = "https://";
	size_t len;

	if (target.ptr[0] == '/' || is_same(target, "*"))
		return refuse(reading, 400,
		              "this is a proxy: ask for http://host/path, or use CONNECT");
	if (target.len >= strlen(https) && strncasecmp(target.ptr, https, strlen(https)) == 0)
		return refuse(reading, 400, "https goes through a tunnel: use CONNECT");
	if (target.len < strlen(http) || strncasecmp(target.ptr, http, strlen(http)) != 0)
		return refuse(reading, 400, "the target must begin with http://, or use CONNECT");
	if (memchr(target.ptr, '#', target.len) != NULL)
		return refuse(reading, 400, "the target must not contain a fragment (no '#')");
	target = from(target, strlen(http));
	for (len = 0; len < target.len && target.ptr[len] != '/' && target.ptr[len] != '?';)
		len++;
	reading->authority = (struct view){ target.ptr, len };
	reading->path = from(target, len);
	if (read_authority(reading, reading->authority) < 0)
		return -1;
	if (reading->request.port == 0)
		reading->request.port = 80;
	return 0;
}

static int read_request_line(struct reading *reading, struct view line)
{
	struct view target;

	reading->method = cut(&line, ' ');
	target = cut(&line, ' ');
	reading->version = line;
	if (!is_token(reading->method) || reading->method.len > PROXY_METHOD_MAX)
		return refuse(reading, 400, "the request's method is no word of 1 to 32 letters");
	for (size_t i = 0; i < target.len; i++)
		if (is_control(target.ptr[i]))
			return refuse(reading, 400, "the target has a control character in it");
	if (target.len == 0 || reading->version.len != 8 || !view_starts(reading->version, "HTTP/"))
		return refuse(reading, 400,
		              "the request line must be METHOD, target and HTTP/1.1, with one "
		              "space between");
	if (!view_is(reading->version, "HTTP/1.1") && !view_is(reading->version, "HTTP/1.0"))
		return refuse(reading, 505, "this proxy speaks HTTP/1.0 and HTTP/1.1");
	return view_is(reading->method, "CONNECT") ? read_tunnel(reading, target)
	                                           : read_absolute(reading, target);
}

/* --- header fields ----------------------------------------------------------------- */

static int read_field(struct reading *reading, struct view line, struct field *ret)
{
	if (memchr(line.ptr, ':', line.len) == NULL)
		return refuse(reading, 400, "a header field has no colon");
	ret->name = cut(&line, ':');
	ret->value = trim(line);
	/* Also refuses folded lines and spaces before the colon, which others read differently. */
	if (!is_token(ret->name))
		return refuse(reading, 400, "the name of a header field is no word");
	for (size_t i = 0; i < ret->value.len; i++)
		if (is_control(ret->value.ptr[i]) && ret->value.ptr[i] != '\t')
			return refuse(reading, 400, "a header field has a control character in it");
	return 0;
}

/* Without these the message would be another one. */
static bool is_framing(struct view name)
{
	return is_same(name, "Content-Length") || is_same(name, "Transfer-Encoding") ||
	       is_same(name, "Host");
}

static int read_connection(struct reading *reading, struct view value)
{
	while (value.len != 0) {
		struct view name = trim(cut(&value, ','));

		if (name.len == 0)
			continue;
		if (!is_token(name) || is_framing(name))
			return refuse(reading, 400,
			              "Connection names what is no field of a connection");
		if (reading->named_count == PROXY_NAMED_MAX)
			return refuse(reading, 431, "Connection names more than 32 fields");
		reading->named[reading->named_count++] = name;
	}
	return 0;
}

static int read_length(struct reading *reading, struct view value)
{
	uint64_t length = 0;

	if (!is_number(value, INT64_MAX, &length))
		return refuse(reading, 400, "Content-Length is no number");
	if (reading->has_length && reading->request.length != length)
		return refuse(reading, 400, "two Content-Lengths that differ");
	reading->has_length = true;
	reading->request.length = length;
	return 0;
}

static int understand(struct reading *reading, const struct field *field)
{
	if (is_same(field->name, "Connection"))
		return read_connection(reading, field->value);
	if (is_same(field->name, "Content-Length"))
		return read_length(reading, field->value);
	if (is_same(field->name, "Transfer-Encoding"))
		reading->is_chunked = true;
	/* Of HTTP/1.0 nobody waits. */
	if (is_same(field->name, "Expect") && is_same(field->value, "100-continue"))
		reading->request.expects = view_is(reading->version, "HTTP/1.1");
	return 0;
}

static int check_framing(struct reading *reading)
{
	struct proxy_request *request = &reading->request;

	if (request->tunnel) { /* what follows is the tunnel's, whatever the head says of it */
		request->length = 0;
		request->expects = false;
		return 0;
	}
	if (reading->is_chunked && reading->has_length)
		return refuse(reading, 400, "both Content-Length and Transfer-Encoding");
	if (reading->is_chunked)
		return refuse(reading, 411, "no chunked requests here: send a Content-Length");
	if (request->length == 0)
		request->expects = false;
	return 0;
}

/* --- the head for the origin ------------------------------------------------------- */

/* Said anew, meant for us, or meant for one connection only. */
static bool is_dropped(const struct reading *reading, const struct field *field)
{
	static const char *const names[] = { "Host", "Content-Length", "Connection", "Keep-Alive",
		                             "TE",   "Trailer",        "Upgrade" };
	static const char proxy[] = "Proxy-";

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_same(field->name, names[i]))
			return true;
	for (size_t i = 0; i < reading->named_count; i++)
		if (field->name.len == reading->named[i].len &&
		    strncasecmp(field->name.ptr, reading->named[i].ptr, field->name.len) == 0)
			return true;
	if (is_same(field->name, "Expect") && is_same(field->value, "100-continue"))
		return true;
	return field->name.len >= strlen(proxy) &&
	       strncasecmp(field->name.ptr, proxy, strlen(proxy)) == 0;
}

#define SHOWN(v) (int)(v).len, (v).ptr

static int write_head(const struct reading *reading, struct view fields, struct buf *out)
{
	struct view rest = fields;
	struct error full;
	bool slash = reading->path.len == 0 || reading->path.ptr[0] != '/';

	if (buf_printf(out, &full, "%.*s %s%.*s %.*s\r\nHost: %.*s\r\n", SHOWN(reading->method),
	               slash ? "/" : "", SHOWN(reading->path), SHOWN(reading->version),
	               SHOWN(reading->authority)) < 0)
		return -1;
	while (rest.len != 0) {
		struct view line = cut(&rest, '\n');
		struct proxy_refusal none;
		struct reading again = { .refusal = &none };
		struct field field;

		line.len--; /* the CR */
		if (read_field(&again, line, &field) < 0)
			return -1;
		if (!is_dropped(reading, &field) &&
		    buf_printf(out, &full, "%.*s: %.*s\r\n", SHOWN(field.name),
		               SHOWN(field.value)) < 0)
			return -1;
	}
	if (reading->has_length && buf_printf(out, &full, "Content-Length: %llu\r\n",
	                                      (unsigned long long)reading->request.length) < 0)
		return -1;
	return buf_printf(out, &full, "Connection: close\r\n\r\n");
}

/* --- the whole --------------------------------------------------------------------- */

/* Looks back, never ahead: what comes next may not have come yet. */
ssize_t proxy_head_length_from(struct view bytes, size_t seen, struct proxy_refusal *ret_refusal)
{
	struct reading reading = { .refusal = ret_refusal };

	for (size_t i = seen; i < bytes.len; i++) {
		char c = bytes.ptr[i];
		bool after_cr = i != 0 && bytes.ptr[i - 1] == '\r';

		if (after_cr && c != '\n')
			return refuse(&reading, 400, "a carriage return within a line");
		/* Said at once: whoever speaks TLS or something else to us would wait for ever. */
		if (is_control(c) && c != '\t' && c != '\r' && c != '\n')
			return refuse(&reading, 400,
			              "this is an HTTP proxy, and that was not HTTP");
		if (c == '\n' && !after_cr)
			return refuse(&reading, 400, "a line ends without a carriage return");
		if (c == '\n' && i >= 3 && bytes.ptr[i - 2] == '\n')
			return (ssize_t)i + 1;
		if (c == '\n' && i == 1)
			return refuse(&reading, 400, "the request line is empty");
	}
	return 0;
}

ssize_t proxy_head_length(struct view bytes, struct proxy_refusal *ret_refusal)
{
	return proxy_head_length_from(bytes, 0, ret_refusal);
}

static int read_fields(struct reading *reading, struct view fields)
{
	struct field field;

	for (size_t count = 0; fields.len != 0; count++) {
		struct view line = cut(&fields, '\n');

		line.len--; /* the CR */
		if (count == PROXY_FIELDS_MAX)
			return refuse(reading, 431, "more than 100 header fields");
		if (read_field(reading, line, &field) < 0 || understand(reading, &field) < 0)
			return -1;
	}
	return check_framing(reading);
}

int proxy_request_read(struct view head, struct proxy_request *ret, struct buf *out,
                       struct proxy_refusal *ret_refusal)
{
	struct reading reading = { .refusal = ret_refusal };
	ssize_t len = proxy_head_length(head, ret_refusal);
	struct view fields, line;

	if (len < 0)
		return -1;
	if (len == 0 || (size_t)len != head.len)
		return refuse(&reading, 400, "the request's head does not end");
	fields = (struct view){ head.ptr, head.len - 2 }; /* without the empty line */
	line = cut(&fields, '\n');
	line.len--;
	if (read_request_line(&reading, line) < 0 || read_fields(&reading, fields) < 0)
		return -1;
	if (!reading.request.tunnel && write_head(&reading, fields, out) < 0)
		return refuse(&reading, 431, "the request's head is too long");
	*ret = reading.request;
	return 0;
}

/* --- answers ----------------------------------------------------------------------- */

static const char *phrase(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} all[] = {
		{ 400, "Bad Request" },
		{ 403, "Forbidden" },
		{ 408, "Request Timeout" },
		{ 411, "Length Required" },
		{ 431, "Request Header Fields Too Large" },
		{ 502, "Bad Gateway" },
		{ 503, "Service Unavailable" },
		{ 505, "HTTP Version Not Supported" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].status == status)
			return all[i].phrase;
	return "Error";
}

void proxy_answer(unsigned status, struct view why, struct buf *out)
{
	char line[PROXY_ANSWER_MAX / 2];
	struct error full;

	(void)utf8_escape(why, line, sizeof line);
	(void)!buf_printf(out, &full,
	                  "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
	                  "Content-Length: %zu\r\nConnection: close\r\n\r\nbelljar: %s\n",
	                  status, phrase(status), strlen("belljar: \n") + strlen(line), line);
}
