#include "egress/secret_answer.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/num.h"
#include "base/text/utf8.h"
#include "egress/proxy_http.h"

enum { INTERIM_MAX = 16 };

void secret_answer_init(struct secret_answer *answer, const struct net_secrets *secrets)
{
	/* The host may send extensions and trailers; the program gets none of them. */
	*answer = (struct secret_answer){ .secrets = secrets, .chunks.skips_extras = true };
	buf_init(&answer->head, SECRET_ANSWER_HEAD_MAX);
}

void secret_answer_done(struct secret_answer *answer)
{
	buf_done(&answer->head);
	explicit_bzero(answer, sizeof *answer);
}

/* --- the body --- */

/* Masks bytes of the body, and writes them as one chunk if the answer has chunks. At the end of the
 * body bytes.len is 0: the bytes that were held back follow. */
static int send_body(struct secret_answer *answer, struct view bytes, struct buf *out,
                     struct error *err)
{
	bool is_chunked = answer->body == SECRET_BODY_CHUNKED;
	AUTO_BUF struct buf masked;

	buf_init(&masked, bytes.len + NET_BASIC_MAX);
	if (net_secrets_mask(answer->secrets, &answer->mask, bytes, &masked, err) < 0)
		return -1;
	if (masked.len == 0)
		return 0;
	if ((is_chunked && buf_printf(out, err, "%zx\r\n", masked.len) < 0) ||
	    buf_add(out, buf_view(&masked), err) < 0)
		return -1;
	return is_chunked ? buf_add(out, view_of("\r\n"), err) : 0;
}

static int finish_body(struct secret_answer *answer, struct buf *out, struct error *err)
{
	answer->is_done = true;
	if (send_body(answer, (struct view){ "", 0 }, out, err) < 0)
		return -1;
	return answer->body == SECRET_BODY_CHUNKED ? buf_add(out, view_of("0\r\n\r\n"), err) : 0;
}

static int take_plain(struct secret_answer *answer, struct view bytes, struct buf *out,
                      struct error *err)
{
	if (answer->body == SECRET_BODY_LENGTH) {
		if (bytes.len > answer->left)
			bytes.len = (size_t)answer->left;
		answer->left -= bytes.len;
	}
	if (bytes.len != 0 && send_body(answer, bytes, out, err) < 0)
		return -1;
	return answer->body == SECRET_BODY_LENGTH && answer->left == 0
	               ? finish_body(answer, out, err)
	               : 0;
}

/* Decodes the chunks in these bytes and sends them as one chunk, so that a value that the host
 * divides between two of them is masked. */
static int take_chunks(struct secret_answer *answer, struct view bytes, struct buf *out,
                       struct error *err)
{
	AUTO_BUF struct buf data;
	struct view piece;

	buf_init(&data, bytes.len);
	while (bytes.len != 0 && !answer->chunks.is_done) {
		if (chunk_reader_next(&answer->chunks, &bytes, &piece) < 0)
			return error_set(err, ERR_SYNTAX,
			                 "a chunk of the host's answer is malformed");
		if (buf_add(&data, piece, err) < 0)
			return -1;
	}
	if (data.len != 0 && send_body(answer, buf_view(&data), out, err) < 0)
		return -1;
	return answer->chunks.is_done ? finish_body(answer, out, err) : 0;
}

/* --- the head --- */

static int fail_head(struct error *err)
{
	return error_set(err, ERR_SYNTAX, "the head of the host's answer is malformed");
}

/* "HTTP/1.1 200 OK"; the text behind the number may be missing. */
static int read_status(struct view line, int *ret, struct error *err)
{
	if (line.len < 12 || !(view_starts(line, "HTTP/1.1 ") || view_starts(line, "HTTP/1.0 ")) ||
	    (line.len > 12 && line.ptr[12] != ' '))
		return fail_head(err);
	*ret = 0;
	for (size_t i = 9; i < 12; i++) {
		if (!isdigit((unsigned char)line.ptr[i]))
			return fail_head(err);
		*ret = *ret * 10 + (line.ptr[i] - '0');
	}
	return *ret >= 100 ? 0 : fail_head(err);
}

static int read_length(struct secret_answer *answer, struct view value, struct error *err)
{
	if (answer->body != SECRET_BODY_TO_END || value.len == 0 || value.len > 18)
		return error_set(err, ERR_SYNTAX,
		                 "the host's answer has two lengths, or a malformed one");
	if (!num_read_length(value, &answer->left))
		return fail_head(err);
	answer->body = SECRET_BODY_LENGTH;
	return 0;
}

static int refuse_coding(const char *field, struct view value, struct error *err)
{
	return error_set(err, ERR_UNSUPPORTED,
	                 "the host's answer has %s '%s', which the request did not ask for and in "
	                 "which belljar cannot find the secret: the answer was not passed on; ask "
	                 "for this without the secret",
	                 field, UTF8_ESCAPED(value, 64));
}

/* Fields for this connection only, which is closed behind the answer. */
static bool is_dropped(struct view name)
{
	static const char *const names[] = { "Connection", "Keep-Alive", "Proxy-Connection",
		                             "Upgrade", "Trailer" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (view_is_nocase(name, names[i]))
			return true;
	return false;
}

/* A line must be one for every parser: a name without spaces, a colon, no control characters. */
static int read_field(struct secret_answer *answer, struct view line, struct buf *out,
                      struct error *err)
{
	const char *colon = memchr(line.ptr, ':', line.len);
	struct view name, value;

	if (colon == NULL || colon == line.ptr)
		return fail_head(err);
	name = (struct view){ line.ptr, (size_t)(colon - line.ptr) };
	value = view_trim((struct view){ colon + 1, line.len - name.len - 1 });
	for (size_t i = 0; i < name.len; i++)
		if (name.ptr[i] <= ' ' || name.ptr[i] > '~')
			return fail_head(err);
	if (view_is_nocase(name, "Content-Length") && read_length(answer, value, err) < 0)
		return -1;
	if (view_is_nocase(name, "Transfer-Encoding")) {
		if (answer->body != SECRET_BODY_TO_END || !view_is_nocase(value, "chunked"))
			return refuse_coding("Transfer-Encoding", value, err);
		answer->body = SECRET_BODY_CHUNKED;
	}
	if (view_is_nocase(name, "Content-Encoding") && value.len != 0 &&
	    !view_is_nocase(value, "identity"))
		return refuse_coding("Content-Encoding", value, err);
	if (is_dropped(name))
		return 0;
	return buf_printf(out, err, "%.*s: %.*s\r\n", (int)name.len, name.ptr, (int)value.len,
	                  value.ptr);
}

/* Writes the head of the final answer; nothing for an interim one. */
static int rewrite_head(struct secret_answer *answer, struct view head, int *ret_status,
                        struct buf *out, struct error *err)
{
	struct view line;
	bool is_first = true;

	while (view_next_line(&head, &line)) {
		if (line.len == 0 || line.ptr[line.len - 1] != '\r')
			return fail_head(err);
		line.len--;
		if (!proxy_is_printable(line))
			return fail_head(err);
		if (line.len == 0)
			break;
		if (is_first ? read_status(line, ret_status, err) < 0 ||
		                       buf_printf(out, err, "HTTP/1.1%.*s\r\n", (int)line.len - 8,
		                                  line.ptr + 8) < 0
		             : read_field(answer, line, out, err) < 0)
			return -1;
		is_first = false;
	}
	if (is_first)
		return fail_head(err);
	return buf_add(out, view_of("Connection: close\r\n\r\n"), err);
}

static int send_head(struct secret_answer *answer, struct view head, struct buf *out,
                     struct error *err)
{
	AUTO_BUF struct buf rewritten;
	int status = 0;

	/* A field gets a space behind its colon if it has none. */
	buf_init(&rewritten, 2 * (size_t)SECRET_ANSWER_HEAD_MAX);
	if (rewrite_head(answer, head, &status, &rewritten, err) < 0)
		return -1;
	if (status == 101)
		return error_set(err, ERR_UNSUPPORTED,
		                 "the host switches to another protocol, in which belljar cannot "
		                 "find the secret");
	if (status < 200) {
		answer->body = SECRET_BODY_TO_END;
		answer->left = 0;
		return ++answer->interim <= INTERIM_MAX
		               ? 0
		               : error_set(err, ERR_LIMIT, "the host sends more than %d answers",
		                           INTERIM_MAX);
	}
	if (net_secrets_mask(answer->secrets, &answer->mask, buf_view(&rewritten), out, err) < 0 ||
	    net_secrets_mask(answer->secrets, &answer->mask, (struct view){ "", 0 }, out, err) < 0)
		return -1;
	answer->has_head = true;
	if (answer->is_to_head || status == 204 || status == 304)
		answer->body = SECRET_BODY_NONE;
	if (answer->body == SECRET_BODY_NONE ||
	    (answer->body == SECRET_BODY_LENGTH && answer->left == 0))
		return finish_body(answer, out, err);
	return 0;
}

/* Moves the bytes of the head from *bytes to answer->head. True: the head is complete. */
static int take_head(struct secret_answer *answer, struct view *bytes, struct error *err)
{
	size_t before = answer->head.len, from = before > 3 ? before - 3 : 0, len;
	size_t room = SECRET_ANSWER_HEAD_MAX - before;
	const char *end;

	len = bytes->len < room ? bytes->len : room;
	if (buf_add(&answer->head, (struct view){ bytes->ptr, len }, err) < 0)
		return -1;
	end = answer->head.len == 0
	              ? NULL
	              : memmem(answer->head.ptr + from, answer->head.len - from, "\r\n\r\n", 4);
	if (end != NULL) {
		len = (size_t)(end + 4 - answer->head.ptr) - before;
		buf_truncate(&answer->head, before + len);
	} else if (answer->head.len == SECRET_ANSWER_HEAD_MAX)
		return error_set(err, ERR_LIMIT,
		                 "the head of the host's answer has more than %d bytes",
		                 SECRET_ANSWER_HEAD_MAX);
	bytes->ptr += len;
	bytes->len -= len;
	return end != NULL;
}

int secret_answer_take(struct secret_answer *answer, struct view bytes, struct buf *out,
                       struct error *err)
{
	while (!answer->has_head && bytes.len != 0) {
		int r = take_head(answer, &bytes, err);

		if (r <= 0)
			return r;
		if (send_head(answer, buf_view(&answer->head), out, err) < 0)
			return -1;
		buf_clear(&answer->head);
	}
	if (answer->is_done || bytes.len == 0)
		return 0;
	return answer->body == SECRET_BODY_CHUNKED ? take_chunks(answer, bytes, out, err)
	                                           : take_plain(answer, bytes, out, err);
}

/* A body that is cut off stays cut off: the last chunk, or the rest of its length, is missing. */
int secret_answer_end(struct secret_answer *answer, struct buf *out, struct error *err)
{
	if (answer->is_done)
		return 0;
	if (!answer->has_head)
		return error_set(err, ERR_SYSTEM,
		                 "the host has closed the connection without an answer");
	answer->is_done = true;
	return send_body(answer, (struct view){ "", 0 }, out, err);
}
