/* proxy_body.c - where the body of a request ends (see proxy_http.h). Nothing behind it is
 * forwarded: it would be a request that was not checked. */
#include "base/error.h"
#include "egress/proxy_http.h"

static int take_chunks(struct proxy_body *body, struct view bytes, size_t *ret, struct error *err)
{
	struct view rest = bytes, data;

	while (rest.len != 0 && !body->chunks.is_done)
		if (chunk_reader_next(&body->chunks, &rest, &data) < 0)
			return error_set(err, ERR_SYNTAX,
			                 "a chunk of the request's body is malformed");
	body->is_done = body->chunks.is_done;
	*ret = bytes.len - rest.len;
	return 0;
}

int proxy_body_take(struct proxy_body *body, struct view bytes, size_t *ret, struct error *err)
{
	if (body->is_done) {
		*ret = 0;
		return 0;
	}
	if (body->kind == PROXY_BODY_CHUNKED)
		return take_chunks(body, bytes, ret, err);
	*ret = body->left < bytes.len ? (size_t)body->left : bytes.len;
	body->left -= *ret;
	body->is_done = body->left == 0 && bytes.len != 0;
	return 0;
}
