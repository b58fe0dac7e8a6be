/* fuzz_http_body.c - a body is the same however it is split. The first byte chooses the size of the
 * pieces and the kind of the body, the second its length. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "transport/http/body.h"
#include "transport/http/head.h"

static enum body_result read_pieces(const struct head *head, struct view bytes, size_t piece,
                                    struct buf *ret, size_t *ret_used)
{
	struct body_reader reader;
	size_t all = bytes.len;
	enum body_result result = BODY_MORE;

	body_init(&reader, head);
	while (result == BODY_MORE || result == BODY_DATA) {
		struct view part = { bytes.ptr, piece < bytes.len ? piece : bytes.len }, data;
		size_t before = part.len;
		struct error err;

		result = body_next(&reader, &part, &data);
		fuzz_check(part.len <= before);
		if (result == BODY_DATA)
			fuzz_check(data.len != 0 && data.ptr >= bytes.ptr &&
			           buf_add(ret, data, &err) == 0);
		bytes.ptr += before - part.len;
		bytes.len -= before - part.len;
		if (result == BODY_MORE && bytes.len == 0)
			break;
	}
	*ret_used = all - bytes.len;
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf whole;
	AUTO_BUF struct buf pieces;
	size_t whole_used, pieces_used;
	enum body_result result;
	struct head head = { 0 };
	struct view bytes;

	buf_init(&whole, 1 << 24);
	buf_init(&pieces, 1 << 24);
	if (size < 2)
		return 0;
	head.is_chunked = data[0] < 0x80;
	head.length = head.is_chunked ? 0 : data[1];
	bytes = (struct view){ (const char *)data + 2, size - 2 };
	result = read_pieces(&head, bytes, bytes.len + 1, &whole, &whole_used);
	fuzz_check(result ==
	           read_pieces(&head, bytes, (size_t)data[0] % 16 + 1, &pieces, &pieces_used));
	fuzz_check(whole_used == pieces_used && whole.len == pieces.len);
	fuzz_check(whole.len == 0 || memcmp(whole.ptr, pieces.ptr, whole.len) == 0);
	fuzz_check(head.is_chunked || result != BODY_BAD);
	fuzz_check(head.is_chunked || result != BODY_DONE || whole.len == head.length);
	return 0;
}
