/* fuzz_proxy_http.c - any bytes are a request to the gate, and one in an intercepted connection. What is accepted names one host, its head
 * for the server can be read again and names the same host, and the body ends at the same byte
 * however the bytes are cut. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/proxy_http.h"
#include "fuzz/fuzz.h"

static void check_written_head(const struct proxy_request *request, struct view head)
{
	fuzz_check(memmem(head.ptr, head.len, "\r\n\r\n", 4) == head.ptr + head.len - 4);
	fuzz_check(memmem(head.ptr, head.len, "\r\nConnection: close\r\n\r\n", 23) != NULL);
	fuzz_check(memmem(head.ptr, head.len, "\r\nHost: ", 8) != NULL);
	fuzz_check(memchr(head.ptr, '\0', head.len) == NULL);
	fuzz_check(request->host.name[0] != '\0' && request->port != 0);
}

/* Where the body ends if the bytes come in pieces of `step`; SIZE_MAX: it is malformed. */
static size_t find_end(struct proxy_body body, struct view bytes, size_t step)
{
	size_t total = 0, used = 0;
	struct error err;

	while (total < bytes.len && !body.is_done) {
		struct view part = { bytes.ptr + total, bytes.len - total };

		if (part.len > step)
			part.len = step;
		if (proxy_body_take(&body, part, &used, &err) < 0)
			return SIZE_MAX;
		fuzz_check(used <= part.len && (used == part.len || body.is_done));
		total += used;
	}
	return total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct net_host origin = { .name = "a.b" };
	struct view bytes = { (const char *)data, size };
	struct proxy_request request;
	struct buf out;
	struct error err;
	size_t len;

	if (proxy_head_length(bytes, &len, &err) < 0 || len == 0)
		return 0;
	fuzz_check(len <= size && len <= PROXY_HEAD_MAX);
	buf_init(&out, PROXY_HEAD_MAX * 2);
	if (proxy_request_read((struct view){ bytes.ptr, len }, false, "", &request, &out, &err) ==
	    0) {
		struct view rest = { bytes.ptr + len, size - len };

		if (!request.is_connect)
			check_written_head(&request, buf_view(&out));
		fuzz_check(find_end(request.body, rest, 1) ==
		           find_end(request.body, rest, 1 << 20));
	}
	buf_clear(&out);
	if (proxy_origin_read((struct view){ bytes.ptr, len }, &origin, 443, &request, &out,
	                      &err) == 0) {
		check_written_head(&request, buf_view(&out));
		fuzz_check(!request.is_connect && request.port == 443 &&
		           memmem(out.ptr, out.len, " HTTP/1.1\r\nHost: a.b\r\n", 22) != NULL);
	}
	buf_done(&out);
	return 0;
}
