/* fuzz_encoding.c - any bytes as Latin-1 and as UTF-16: what is decoded is UTF-8, and encoding gives
 * the same bytes again, except for the byte order. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/text/encoding.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"

typedef int convert_fn(struct view from, struct buf *ret, struct error *err);

static void check_encoding(struct view bytes, convert_fn *decode, convert_fn *encode, bool is_exact)
{
	struct buf text, again;
	struct error err;

	buf_init(&text, 2 * bytes.len + 16);
	buf_init(&again, 2 * bytes.len + 16);
	if (decode(bytes, &text, &err) == 0) {
		fuzz_check(utf8_is_valid(buf_view(&text)));
		fuzz_check(encode(buf_view(&text), &again, &err) == 0);
		fuzz_check(again.len == bytes.len || (!is_exact && again.len + 2 == bytes.len));
		if (is_exact && bytes.len != 0)
			fuzz_check(memcmp(again.ptr, bytes.ptr, bytes.len) == 0);
	}
	buf_done(&text);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view bytes = { (const char *)data, size };

	check_encoding(bytes, latin1_decode, latin1_encode, true);
	check_encoding(bytes, utf16_decode, utf16_encode, false);
	return 0;
}
