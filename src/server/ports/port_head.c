#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/num.h"
#include "server/ports/internal.h"
#include "transport/http/http.h"

/* --- the request --- */

/* Fields that the program does not get. The token, cookies and session are the client's and this
 * server's; Referer and Origin name this server; the others are about the connection, or written
 * anew. */
static const char *const kept_back[] = {
	"authorization",
	"connection",
	"content-length",
	"cookie",
	"expect",
	"forwarded",
	"host",
	"keep-alive",
	"origin",
	"proxy-authorization",
	"proxy-connection",
	"referer",
	"te",
	"trailer",
	"transfer-encoding",
	"upgrade",
	"x-user-id",
	"mcp-session-id",
	"last-event-id",
	NULL,
};

/* Fields in which a proxy in front of this server names the user, or proves that it has checked
 * one, by the beginning or the end of their names. */
static const char *const kept_back_prefixes[] = {
	"x-forwarded-", "x-auth-", "x-amzn-oidc-", "cf-access-", "x-goog-iap-", NULL,
};
static const char *const kept_back_suffixes[] = { "-token", "-assertion", NULL };

static bool is_listed(const char *const *list, const char *name)
{
	for (; *list != NULL; list++)
		if (strcasecmp(*list, name) == 0)
			return true;
	return false;
}

static bool is_kept_back(const char *name)
{
	size_t len = strlen(name);

	for (const char *const *prefix = kept_back_prefixes; *prefix != NULL; prefix++)
		if (strncasecmp(name, *prefix, strlen(*prefix)) == 0)
			return true;
	for (const char *const *suffix = kept_back_suffixes; *suffix != NULL; suffix++)
		if (len >= strlen(*suffix) &&
		    strcasecmp(name + len - strlen(*suffix), *suffix) == 0)
			return true;
	return is_listed(kept_back, name);
}

/* Whether the client's Connection field names this field as one of the connection. */
static bool is_hop_field(struct http_request *request, const char *name)
{
	const char *list = http_get(request, "connection");
	size_t len = strlen(name);

	while (list != NULL && *list != '\0') {
		size_t word = strcspn(list, ", \t");

		if (word == len && strncasecmp(list, name, len) == 0)
			return true;
		list += word;
		list += strspn(list, ", \t");
	}
	return false;
}

/* The path was decoded by the parser. Every byte that means something else than itself in a path is
 * encoded again. */
static void add_path(struct buf *out, const char *path)
{
	static const char plain[] = "-._~!$&'()*+,;=:@/";

	buf_put(out, view_of(*path == '\0' ? "/" : ""));
	for (; *path != '\0'; path++) {
		bool is_plain = isalnum((unsigned char)*path) || strchr(plain, *path) != NULL;

		buf_putf(out, is_plain ? "%c" : "%%%02X", (unsigned char)*path);
	}
}

/* `out` has room for a head of the parser's size with every byte of its path encoded. */
void port_request_head(struct http_request *request, const struct port_path *path, bool upgrades,
                       size_t body_len, struct buf *out)
{
	const char *query = http_query(request);
	struct http_field field;

	buf_putf(out, "%s ", http_method_text(request));
	add_path(out, path->rest);
	buf_putf(out, "%s%s HTTP/1.1\r\nHost: localhost:%u\r\n", *query != '\0' ? "?" : "", query,
	         path->port);
	for (size_t i = 0; http_field_at(request, i, &field); i++)
		if (!is_kept_back(field.name) && !is_hop_field(request, field.name))
			buf_putf(out, "%s: %s\r\n", field.name, field.value);
	buf_putf(out, "X-Forwarded-Prefix: %s\r\nX-Forwarded-Proto: %s\r\n", path->prefix,
	         http_is_tls(request) ? "https" : "http");
	if (upgrades)
		buf_putf(out, "Connection: Upgrade\r\nUpgrade: %s\r\n\r\n",
		         http_get(request, "upgrade"));
	else if (body_len != 0 || http_method(request) == HTTP_POST)
		buf_putf(out, "Content-Length: %zu\r\nConnection: close\r\n\r\n", body_len);
	else
		buf_putf(out, "Connection: close\r\n\r\n");
}

/* --- the answer --- */

/* The fields of an answer that reach the client. A list of what is allowed, because browsers learn
 * new fields that act on the whole origin: Set-Cookie, Clear-Site-Data, Strict-Transport-Security,
 * Alt-Svc, NEL, Service-Worker-Allowed and others. */
static const char *const passed_on[] = {
	"accept-ranges",
	"age",
	"allow",
	"cache-control",
	"content-disposition",
	"content-encoding",
	"content-language",
	"content-length",
	"content-range",
	"content-security-policy",
	"content-type",
	"date",
	"etag",
	"expires",
	"last-modified",
	"location",
	"retry-after",
	"sec-websocket-accept",
	"sec-websocket-extensions",
	"sec-websocket-protocol",
	"server",
	"transfer-encoding",
	"vary",
	"x-content-type-options",
	"x-frame-options",
	NULL,
};

/* Without allow-same-origin a page has an origin of its own, which no other path of this server
 * accepts, and neither cookies nor storage. */
static const char security_fields[] =
        "Content-Security-Policy: sandbox allow-downloads allow-forms allow-modals "
        "allow-pointer-lock allow-popups allow-scripts\r\n"
        "Referrer-Policy: no-referrer\r\n";

static const char link_fields[] = "Access-Control-Allow-Origin: *\r\n"
                                  "Access-Control-Expose-Headers: *\r\n";

static bool is_value(struct view value)
{
	for (size_t i = 0; i < value.len; i++) {
		unsigned char c = (unsigned char)value.ptr[i];

		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static bool is_name(struct view name)
{
	return name.len != 0 && name.len < 64 && view_has_only(name, "!#$%&'*+-.^_`|~");
}

static int set_malformed(const char *what, struct error *err)
{
	return error_set(err, ERR_SYNTAX, "the answer of the program has %s", what);
}

/* "HTTP/1.1 200 OK" */
static int read_status(struct view line, int *ret, struct error *err)
{
	if (line.len < 12 || strncmp(line.ptr, "HTTP/1.", 7) != 0 ||
	    (line.ptr[7] != '0' && line.ptr[7] != '1') || line.ptr[8] != ' ' ||
	    !isdigit((unsigned char)line.ptr[9]) || !isdigit((unsigned char)line.ptr[10]) ||
	    !isdigit((unsigned char)line.ptr[11]) || (line.len > 12 && line.ptr[12] != ' ') ||
	    !is_value(line))
		return set_malformed("no status line of HTTP/1.1", err);
	*ret = (line.ptr[9] - '0') * 100 + (line.ptr[10] - '0') * 10 + (line.ptr[11] - '0');
	return *ret >= 100 && *ret <= 599 ? 0 : set_malformed("an unknown status", err);
}

/* The fields that decide about the length of the body. They must not be open to two readings, or
 * an answer could be split into two (response smuggling). */
struct framing {
	unsigned lengths, codings;
};

static int count_framing(struct framing *framing, const char *name, struct view value,
                         struct error *err)
{
	uint64_t length;

	framing->lengths += strcmp(name, "content-length") == 0;
	framing->codings += strcmp(name, "transfer-encoding") == 0;
	if (framing->lengths + framing->codings > 1)
		return set_malformed("two lengths", err);
	if (strcmp(name, "content-length") == 0 && !num_read_length(value, &length))
		return set_malformed("a Content-Length that is no number", err);
	if (strcmp(name, "transfer-encoding") == 0 && !view_is_nocase(value, "chunked"))
		return set_malformed("a transfer coding other than chunked", err);
	return 0;
}

/* The parts of multipart/x-mixed-replace are documents with heads of their own, which are not
 * checked here. Some browsers read the last one of several types. */
static struct view replace_type(struct view value)
{
	static const char replaced[] = "x-mixed-replace";

	for (size_t i = 0; i + strlen(replaced) <= value.len; i++)
		if (strncasecmp(value.ptr + i, replaced, strlen(replaced)) == 0)
			return view_of("application/octet-stream");
	return value;
}

/* Only fields of a list are passed on: a program inside must not set cookies, policies or
 * certificates of this server's own origin. */
static int add_field(struct buf *out, const struct port_answer_options *options, struct view line,
                     struct framing *framing, struct error *err)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	struct view name = { line.ptr, colon != NULL ? (size_t)(colon - line.ptr) : 0 };
	struct view value;
	char lower[64];

	if (!is_name(name))
		return set_malformed("a malformed field", err);
	for (size_t i = 0; i < name.len; i++)
		lower[i] = (char)tolower((unsigned char)name.ptr[i]);
	lower[name.len] = '\0';
	value = view_trim((struct view){ colon + 1, line.len - name.len - 1 });
	if (!is_value(value))
		return set_malformed("a control character in a field", err);
	if (count_framing(framing, lower, value, err) < 0)
		return -1;
	if (strcmp(lower, "content-type") == 0)
		value = replace_type(value);
	if (strcmp(lower, "location") == 0)
		port_add_location(out, options, value);
	else if (is_listed(passed_on, lower))
		buf_putf(out, "%s: %.*s\r\n", lower, (int)value.len, value.ptr);
	return 0;
}

/* Cuts a line that ends with CRLF. */
static int next_line(struct view *rest, struct view *ret, struct error *err)
{
	if (!view_next_line(rest, ret) || ret->len == 0 || ret->ptr[ret->len - 1] != '\r')
		return set_malformed("a line without CRLF", err);
	ret->len--;
	return 0;
}

/* The head is written anew, so that a browser cannot read it differently than it was checked. */
int port_answer_head(struct view head, const struct port_answer_options *options, struct buf *out,
                     struct error *err)
{
	struct framing framing = { 0 };
	struct view line;
	unsigned fields = 0;
	int status = 0;

	if (next_line(&head, &line, err) < 0 || read_status(line, &status, err) < 0)
		return -1;
	if (status == 101 && !options->upgrades)
		return set_malformed("another protocol, which the client has not asked for", err);
	buf_putf(out, "HTTP/1.1 %.*s\r\n", (int)(line.len - 9), line.ptr + 9);
	for (;;) {
		if (next_line(&head, &line, err) < 0)
			return -1;
		if (line.len == 0)
			break;
		if (++fields > PORT_ANSWER_FIELDS_MAX)
			return set_malformed("too many fields", err);
		if (add_field(out, options, line, &framing, err) < 0)
			return -1;
	}
	buf_put(out, view_of(security_fields));
	if (options->is_link)
		buf_put(out, view_of(link_fields));
	buf_put(out, view_of(status == 101 ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	                                   : "Connection: close\r\n\r\n"));
	return out->len < out->max ? status : set_malformed("too long a head", err);
}
