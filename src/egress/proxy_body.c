/* proxy_body.c - where the body of a request ends (see proxy_http.h). Nothing behind it is
 * forwarded: it would be a request that was not checked. */
#include "base/error.h"
#include "egress/proxy_http.h"

/* The bytes around a chunk: "SIZE CR LF", the chunk, "CR LF"; the last has size 0 and no chunk. */
enum { STEP_SIZE, STEP_SIZE_LF, STEP_DATA, STEP_CR, STEP_LF, STEP_LAST_CR, STEP_LAST_LF };

enum { SIZE_DIGITS_MAX = 12 };

static int fail_chunk(struct error *err)
{
	return error_set(err, ERR_SYNTAX, "a chunk of the request's body is malformed");
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int take_size(struct proxy_body *body, char c, struct error *err)
{
	int digit = hex_value(c);

	if (c == '\r' && body->digits != 0) {
		body->step = STEP_SIZE_LF;
		return 0;
	}
	if (digit < 0 || body->digits == SIZE_DIGITS_MAX)
		return fail_chunk(err);
	body->left = body->left * 16 + (uint64_t)digit;
	body->digits++;
	return 0;
}

/* Extensions and trailers are refused: no program needs them, and parsers differ in them. */
static int take_frame_byte(struct proxy_body *body, char c, struct error *err)
{
	static const struct {
		char byte;
		uint8_t next;
	} steps[] = {
		[STEP_CR] = { '\r', STEP_LF },
		[STEP_LF] = { '\n', STEP_SIZE },
		[STEP_LAST_CR] = { '\r', STEP_LAST_LF },
		[STEP_LAST_LF] = { '\n', STEP_LAST_LF },
	};

	if (body->step == STEP_SIZE)
		return take_size(body, c, err);
	if (body->step == STEP_SIZE_LF) {
		if (c != '\n')
			return fail_chunk(err);
		body->step = body->left != 0 ? STEP_DATA : STEP_LAST_CR;
		return 0;
	}
	if (c != steps[body->step].byte)
		return fail_chunk(err);
	body->is_done = body->step == STEP_LAST_LF;
	body->step = steps[body->step].next;
	body->digits = 0;
	return 0;
}

static size_t take_data(struct proxy_body *body, size_t len)
{
	size_t n = body->left < len ? (size_t)body->left : len;

	body->left -= n;
	return n;
}

int proxy_body_take(struct proxy_body *body, struct view bytes, size_t *ret, struct error *err)
{
	size_t used = 0;

	while (used < bytes.len && !body->is_done) {
		if (body->kind == PROXY_BODY_CHUNKED && body->step != STEP_DATA) {
			if (take_frame_byte(body, bytes.ptr[used++], err) < 0)
				return -1;
			continue;
		}
		used += take_data(body, bytes.len - used);
		if (body->left == 0 && body->kind == PROXY_BODY_CHUNKED)
			body->step = STEP_CR;
		body->is_done = body->left == 0 && body->kind != PROXY_BODY_CHUNKED;
	}
	*ret = used;
	return 0;
}
