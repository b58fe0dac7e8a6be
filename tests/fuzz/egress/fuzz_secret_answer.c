/* fuzz_secret_answer.c - any bytes are the answer of a host to a request that carried a secret, whose
 * value is "Sesame00"; the first byte says how the answer is cut. However it is cut, the program gets
 * the same body, bounded, and neither the body nor the head has the value in it. */
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "egress/secret_answer.h"
#include "fuzz/fuzz.h"

static const char value[] = "Sesame00";

/* Removes the frames of chunks from what was written; the frames differ with the cuts. */
static void decode_chunks(struct view text, struct buf *out)
{
	struct error err;

	while (text.len != 0) {
		size_t size = 0, at = 0;

		for (; at < text.len && text.ptr[at] != '\r'; at++)
			size = size * 16 + (size_t)(text.ptr[at] <= '9' ? text.ptr[at] - '0'
			                                                : text.ptr[at] - 'a' + 10);
		fuzz_check(at != 0 && at + 2 <= text.len && text.ptr[at + 1] == '\n');
		at += 2;
		fuzz_check(size <= text.len - at && 2 <= text.len - at - size);
		fuzz_check(memcmp(text.ptr + at + size, "\r\n", 2) == 0);
		fuzz_check(buf_add(out, (struct view){ text.ptr + at, size }, &err) == 0);
		text.ptr += at + size + 2;
		text.len -= at + size + 2;
	}
}

static int take_answer(const struct net_secrets *secrets, struct view bytes, size_t step,
                       struct buf *head, struct buf *body)
{
	struct secret_answer answer;
	struct buf out;
	struct error err;
	const char *end;
	int r = 0;

	buf_init(&out, (size_t)256 * 1024);
	secret_answer_init(&answer, secrets);
	for (size_t at = 0; at < bytes.len && r == 0; at += step) {
		size_t len = step < bytes.len - at ? step : bytes.len - at, before = out.len;

		r = secret_answer_take(&answer, (struct view){ bytes.ptr + at, len }, &out, &err);
		fuzz_check(out.len - before <= len + SECRET_ANSWER_MORE);
	}
	if (r == 0)
		r = secret_answer_end(&answer, &out, &err);
	fuzz_check(answer.has_head || out.len == 0);
	end = out.len != 0 ? memmem(out.ptr, out.len, "\r\n\r\n", 4) : NULL;
	fuzz_check((out.len == 0) == (end == NULL));
	if (end != NULL) {
		struct view rest = { end + 4, out.len - (size_t)(end + 4 - out.ptr) };

		fuzz_check(buf_add(head, (struct view){ out.ptr, out.len - rest.len }, &err) == 0);
		if (answer.body == SECRET_BODY_CHUNKED)
			decode_chunks(rest, body);
		else
			fuzz_check(buf_add(body, rest, &err) == 0);
	}
	buf_done(&out);
	secret_answer_done(&answer);
	return r;
}

static bool has_value(const struct buf *text)
{
	return text->len != 0 && memmem(text->ptr, text->len, value, strlen(value)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct net_secrets secrets;
	struct buf heads[2], bodies[2];
	struct error err;
	int r[2];

	if (secrets.count == 0)
		fuzz_check(net_secrets_add(&secrets, view_of("N=Sesame00@a.b"), &err) == 0);
	if (size < 2 || size > 48 * 1024)
		return 0;
	for (int i = 0; i < 2; i++) {
		buf_init(&heads[i], (size_t)128 * 1024);
		buf_init(&bodies[i], (size_t)128 * 1024);
		r[i] = take_answer(&secrets, (struct view){ (const char *)data + 1, size - 1 },
		                   i == 0 ? size : (size_t)data[0] + 1, &heads[i], &bodies[i]);
		fuzz_check(!has_value(&heads[i]) && !has_value(&bodies[i]));
	}
	fuzz_check(r[0] == r[1]);
	if (r[0] == 0) { /* of an answer that is refused in its middle, less may have been sent */
		fuzz_check(heads[0].len == heads[1].len && bodies[0].len == bodies[1].len);
		fuzz_check(bodies[0].len == 0 ||
		           memcmp(bodies[0].ptr, bodies[1].ptr, bodies[0].len) == 0);
	}
	for (int i = 0; i < 2; i++) {
		buf_done(&heads[i]);
		buf_done(&bodies[i]);
	}
	return 0;
}
