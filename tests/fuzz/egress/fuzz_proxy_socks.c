/* fuzz_proxy_socks.c - any bytes are SOCKS. The result is the same however the bytes are cut, and a
 * complete request names a host and a port. The first byte says whether a password is wanted. */
#include <string.h>

#include "base/error.h"
#include "egress/proxy_socks.h"
#include "fuzz/fuzz.h"

static int feed_all(struct proxy_socks *socks, struct view bytes, size_t step, size_t *used)
{
	size_t start = 0, end = 0;
	struct error err;

	for (;;) {
		struct view rest = { bytes.ptr + start, end - start };
		struct proxy_socks_reply reply;
		int r = proxy_socks_take(socks, &rest, &reply, &err);

		fuzz_check(reply.len <= SOCKS_REPLY_MAX && rest.len <= end - start);
		start = end - rest.len;
		*used = start;
		if (r < 0 || socks->step == SOCKS_COMPLETE)
			return r;
		if (r == 1)
			continue;
		if (end == bytes.len)
			return 0;
		end = bytes.len - end < step ? bytes.len : end + step;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view bytes = { (const char *)data + 1, size - 1 };
	struct proxy_socks slow = { 0 }, fast = { 0 };
	size_t slow_used = 0, fast_used = 0;

	if (size == 0)
		return 0;
	slow.wants_password = fast.wants_password = data[0] & 1;
	fuzz_check(feed_all(&slow, bytes, 1, &slow_used) ==
	           feed_all(&fast, bytes, bytes.len + 1, &fast_used));
	fuzz_check(slow.step == fast.step && slow_used == fast_used);
	if (slow.step == SOCKS_COMPLETE)
		fuzz_check(slow.host.name[0] != '\0' && slow.port != 0 &&
		           net_host_is(&slow.host, &fast.host));
	return 0;
}
