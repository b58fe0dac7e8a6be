/* fuzz_proxy.c - any bytes a client of the proxy says are refused with a printable reason, or make
 * one request that nobody behind us can read in another way.
 *
 * What goes to the origin is taken apart again by a second, dumber reader that knows
 * nothing of the first. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "agent/net/proxy.h"
#include "agent/net/proxy_request.h"
#include "base/buf.h"

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_refusal(const struct proxy_refusal *refusal)
{
	unsigned status = refusal->status;

	must(status == 400 || status == 411 || status == 431 || status == 505);
	must(refusal->why[0] != '\0');
	for (const char *c = refusal->why; *c != '\0'; c++)
		must(*c >= ' ' && *c <= '~');
}

static void check_host(const struct proxy_request *request)
{
	must(request->host.len >= 1 && request->host.len <= PROXY_HOST_MAX && request->port != 0);
	for (size_t i = 0; i < request->host.len; i++) {
		char c = request->host.ptr[i];

		must(c > ' ' && c <= '~' && strchr("@/\\%?#[]", c) == NULL);
	}
}

static bool is_named(struct view line, const char *name)
{
	return line.len > strlen(name) && strncasecmp(line.ptr, name, strlen(name)) == 0;
}

static void check_line(struct view line)
{
	must(line.len >= 1 && line.ptr[line.len - 1] == '\r');
	must(memchr(line.ptr, '\r', line.len - 1) == NULL);
	must(memchr(line.ptr, '\0', line.len) == NULL);
}

/* The head as an origin reads it. */
static void check_origin(struct view out, const struct proxy_request *request)
{
	unsigned hosts = 0, closes = 0, lengths = 0;
	struct view line;

	must(out.len >= 4 && memcmp(out.ptr + out.len - 4, "\r\n\r\n", 4) == 0);
	must(memmem(out.ptr, out.len, "\r\n\r\n", 4) == out.ptr + out.len - 4);
	must(view_next_line(&out, &line));
	check_line(line);
	must(memmem(line.ptr, line.len, " /", 2) != NULL);
	must(line.len > 10 && memcmp(line.ptr + line.len - 10, " HTTP/1.", 8) == 0);
	while (view_next_line(&out, &line)) {
		check_line(line);
		must((line.ptr[0] > ' ' && memchr(line.ptr, ':', line.len) != NULL) ||
		     (line.len == 1 && out.len == 0));
		hosts += is_named(line, "Host:");
		closes += is_named(line, "Connection:");
		lengths += is_named(line, "Content-Length:");
		must(!is_named(line, "Transfer-Encoding:") && !is_named(line, "Proxy-"));
		must(!is_named(line, "TE:") && !is_named(line, "Upgrade:"));
	}
	must(hosts == 1 && closes == 1 && lengths <= 1);
	must(request->length == 0 || lengths == 1);
}

/* Byte by byte or at once: a head ends where it ends. */
static void check_arrival(struct view bytes, ssize_t whole)
{
	struct proxy_refusal refusal;

	for (size_t len = 0; len < bytes.len && len < 128; len++) {
		ssize_t n = proxy_head_length((struct view){ bytes.ptr, len }, &refusal);

		must(n == 0 || n == whole);
	}
}

static void check_answer(struct view why)
{
	AUTO_BUF struct buf out;

	buf_init(&out, PROXY_ANSWER_MAX);
	proxy_answer(403, why, &out);
	must(out.len > 0 && out.ptr[out.len - 1] == '\n');
	/* Four lines of head, an empty one, one of body. */
	for (unsigned lines = 0; lines < 6; lines++) {
		struct view rest = buf_view(&out);
		struct view line = { "", 0 };

		for (unsigned i = 0; i <= lines; i++)
			must(view_next_line(&rest, &line));
		must(lines < 5 || rest.len == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view bytes = { (const char *)data, size };
	struct proxy_request request;
	struct proxy_refusal refusal;
	AUTO_BUF struct buf out;
	ssize_t len;

	if (size > PROXY_HEADER_MAX)
		return 0;
	buf_init(&out, PROXY_HEADER_MAX + PROXY_REWRITE_MAX);
	check_answer(bytes);
	len = proxy_head_length(bytes, &refusal);
	check_arrival(bytes, len);
	must(len <= (ssize_t)size);
	if (len < 0)
		check_refusal(&refusal);
	if (len <= 0)
		return 0;
	bytes.len = (size_t)len;
	if (proxy_request_read(bytes, &request, &out, &refusal) < 0) {
		check_refusal(&refusal);
		/* It never grows so much that the caller's room is too small. */
		must(strcmp(refusal.why, "the request's head is too long") != 0);
		return 0;
	}
	check_host(&request);
	if (request.tunnel)
		must(out.len == 0 && request.length == 0 && !request.expects);
	else
		check_origin(buf_view(&out), &request);
	return 0;
}
