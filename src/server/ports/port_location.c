#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "server/ports/internal.h"

enum { NAME_MAX_LEN = 255 };

/* --- dot segments --- */

/* The next character of a path as a client may read it: encoded dots and slashes are decoded, and a
 * backslash is a slash for browsers. */
static char next_char(struct view *rest)
{
	static const struct {
		const char *code;
		char c;
	} codes[] = { { "%2e", '.' }, { "%2f", '/' }, { "%5c", '/' }, { "\\", '/' } };
	char c = rest->ptr[0];
	size_t len = 1;

	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
		size_t code_len = strlen(codes[i].code);

		if (rest->len >= code_len && strncasecmp(rest->ptr, codes[i].code, code_len) == 0) {
			c = codes[i].c;
			len = code_len;
		}
	}
	*rest = (struct view){ rest->ptr + len, rest->len - len };
	return c;
}

/* Whether ".." is a segment before the query or the fragment. */
static bool has_dot_segment(struct view value)
{
	size_t dots = 0, others = 0;

	while (value.len != 0 && value.ptr[0] != '?' && value.ptr[0] != '#') {
		char c = next_char(&value);

		if (c == '/' && dots == 2 && others == 0)
			return true;
		dots = c == '/' ? 0 : dots + (c == '.');
		others = c == '/' ? 0 : others + (c != '.');
	}
	return dots == 2 && others == 0;
}

/* --- this server --- */

/* Copies the name of the host of "user@host:port/...", without brackets and a dot at its end.
 * False: the name is none that can be compared. */
static bool copy_host(struct view authority, char out[NAME_MAX_LEN + 1])
{
	size_t len = 0, colon;
	const char *at;

	while (len < authority.len && strchr("/?#", authority.ptr[len]) == NULL)
		len++;
	at = memrchr(authority.ptr, '@', len);
	if (at != NULL) {
		len -= (size_t)(at + 1 - authority.ptr);
		authority.ptr = at + 1;
	}
	if (len > NAME_MAX_LEN)
		return false;
	memcpy(out, authority.ptr, len);
	out[len] = '\0';
	if (out[0] == '[') {
		memmove(out, out + 1, len);
		out[strcspn(out, "]")] = '\0';
	} else {
		colon = strcspn(out, ":");
		out[colon] = '\0';
	}
	len = strlen(out);
	if (len != 0 && out[len - 1] == '.')
		out[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (out[i] <= ' ' || out[i] > '~' || out[i] == '%')
			return false;
	return len != 0;
}

/* An address has several texts: 127.1 is 127.0.0.1. */
static bool is_same_host(const char *a, const char *b)
{
	struct in6_addr a6, b6;
	struct in_addr a4, b4;

	if (inet_aton(a, &a4) != 0 && inet_aton(b, &b4) != 0)
		return a4.s_addr == b4.s_addr;
	if (inet_pton(AF_INET6, a, &a6) == 1 && inet_pton(AF_INET6, b, &b6) == 1)
		return memcmp(&a6, &b6, sizeof a6) == 0;
	return strcasecmp(a, b) == 0;
}

/* text: an authority, or a URL. */
static bool names_host(const char *host, const char *text)
{
	const char *slashes = text != NULL ? strstr(text, "//") : NULL;
	char own[NAME_MAX_LEN + 1];

	return text != NULL && copy_host(view_of(slashes != NULL ? slashes + 2 : text), own) &&
	       is_same_host(host, own);
}

/* Whether a client that follows the URL stays away from the other paths of this server. The port is
 * not compared: whether a server has another one behind a proxy is not known here. */
static bool is_allowed_url(struct view value, const struct port_answer_options *options)
{
	static const char *const beginnings[] = { "http://", "https://", "//" };
	char host[NAME_MAX_LEN + 1];

	for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
		size_t len = strlen(beginnings[i]);

		if (view_starts_nocase(value, beginnings[i]))
			return copy_host((struct view){ value.ptr + len, value.len - len }, host) &&
			       !names_host(host, options->host) && !names_host(host, options->url);
	}
	/* Browsers read "https:path" as a relative URL. */
	return !view_starts_nocase(value, "http:") && !view_starts_nocase(value, "https:");
}

void port_add_location(struct buf *out, const struct port_answer_options *options,
                       struct view value)
{
	const struct port_path *path = options->path;
	char own[32];
	int len;

	(void)snprintf(own, sizeof own, "http://localhost:%u", path->port);
	len = (int)strlen(own);
	if (view_starts_nocase(value, own) && (value.len == (size_t)len || value.ptr[len] == '/')) {
		value.ptr += len;
		value.len -= (size_t)len;
	}
	/* Browsers remove tabs from a URL and read a backslash as a slash. */
	if (has_dot_segment(value) || memchr(value.ptr, '\t', value.len) != NULL ||
	    memchr(value.ptr, '\\', value.len) != NULL)
		return;
	if (value.len == 0 || (value.ptr[0] == '/' && (value.len == 1 || value.ptr[1] != '/')))
		buf_putf(out, "location: %s%.*s\r\n", path->prefix, (int)value.len, value.ptr);
	else if (is_allowed_url(value, options))
		buf_putf(out, "location: %.*s\r\n", (int)value.len, value.ptr);
}
