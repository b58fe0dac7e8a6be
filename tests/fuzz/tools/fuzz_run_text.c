/* fuzz_run_text.c - any output of a program gives text for a result that is UTF-8 within its
 * limit, has no terminal control sequences, names the number of missing bytes, and does not look
 * like a line of belljar's own. Base64 text is decoded and encoded again as the same text. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/base64.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"
#include "sandbox/process/process.h"
#include "tools/run/answer/run_text.h"

enum { GAP_MAX = 64 };

static void check_base64(struct view text)
{
	AUTO_FREE char *bytes = NULL, *encoded = NULL, *again = NULL;
	size_t len, len_again;
	struct error err;

	if (base64_decode(text, &bytes, &len, &err) < 0)
		return;
	encoded = base64_encode((struct view){ bytes, len });
	fuzz_check(base64_decode(view_of(encoded), &again, &len_again, &err) == 0);
	fuzz_check(len == len_again && memcmp(bytes, again, len) == 0);
}

/* How often the text has the mark of belljar's own lines without a backslash in front. */
static size_t count_marks(const struct buf *text)
{
	static const char mark[] = "[belljar";
	size_t count = 0;

	for (size_t i = 0; i + sizeof mark - 1 <= text->len; i++)
		count += strncasecmp(text->ptr + i, mark, sizeof mark - 1) == 0 &&
		         (i == 0 || text->ptr[i - 1] != '\\');
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct process_stream stream = { 0 };
	AUTO_BUF struct buf out;
	uint64_t missing;
	size_t max, cut;

	buf_init(&out, run_text_room(size) + GAP_MAX);
	if (size < 4)
		return 0;
	check_base64((struct view){ (const char *)data, size });
	max = data[0] | (size_t)(data[1] & 15) << 8;
	stream.left_out = data[2];
	cut = (size - 4) * data[3] / 255;
	stream.head = (struct view){ (const char *)data + 4, cut };
	stream.tail = (struct view){ (const char *)data + 4 + cut, size - 4 - cut };
	stream.total = size - 4 + stream.left_out;
	missing = run_text_fit(&stream, max, &out);
	fuzz_check(missing >= stream.left_out && missing <= stream.total);
	fuzz_check(out.len <= max + GAP_MAX && utf8_is_valid(buf_view(&out)));
	fuzz_check(count_marks(&out) == (missing != 0));
	for (size_t i = 0; i < out.len; i++) {
		unsigned char byte = (unsigned char)out.ptr[i];

		fuzz_check(byte != 0x7f && byte != 0 &&
		           (byte >= ' ' || strchr("\n\t", byte) != NULL));
		fuzz_check(i == 0 || (unsigned char)out.ptr[i - 1] != 0xc2 || byte > 0x9f);
	}
	return 0;
}
