/* fuzz_secrets.c - the first line is a secret as an operator writes it, the rest an answer. However the
 * answer is cut, it is the same in the end, as long as it was, and has no value in it. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/net_secrets.h"
#include "fuzz/fuzz.h"

static void mask_answer(const struct net_secrets *secrets, struct view bytes, size_t step,
                        struct buf *out)
{
	struct net_secret_mask mask = { 0 };
	struct error err;

	for (size_t at = 0; at < bytes.len; at += step) {
		size_t len = step < bytes.len - at ? step : bytes.len - at;

		fuzz_check(net_secrets_mask(secrets, &mask, (struct view){ bytes.ptr + at, len },
		                            out, &err) == 0);
	}
	fuzz_check(net_secrets_mask(secrets, &mask, (struct view){ "", 0 }, out, &err) == 0);
	fuzz_check(out->len == bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct net_secrets secrets;
	struct view rest = { (const char *)data, size }, line;
	struct buf one, whole, head;
	struct net_secret_mask mask = { 0 };
	struct error err;

	secrets.count = 0;
	if (size > 4096 || !view_next_line(&rest, &line) ||
	    net_secrets_add(&secrets, line, &err) < 0)
		return 0;
	fuzz_check(strlen(secrets.items[0].value) == strlen(secrets.items[0].placeholder));
	buf_init(&one, 8192);
	buf_init(&whole, 8192);
	buf_init(&head, 8192);
	mask_answer(&secrets, rest, 1, &one);
	mask_answer(&secrets, rest, 4096, &whole);
	fuzz_check(one.len == 0 || memcmp(one.ptr, whole.ptr, one.len) == 0);
	if (net_secrets_insert(&secrets, &secrets.items[0].rule.host, 80, rest, &mask, &head,
	                       &err) == 0)
		fuzz_check(head.len <= rest.len);
	buf_done(&one);
	buf_done(&whole);
	buf_done(&head);
	return 0;
}
