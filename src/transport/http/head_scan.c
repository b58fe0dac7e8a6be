#include <string.h>

#include "transport/http/chars.h"
#include "transport/http/head.h"

#define X(name, status, text) [HEAD_##name] = { status, text },
static const struct {
	int status;
	const char *text;
} verdicts[HEAD_VERDICT_COUNT] = { HEAD_VERDICTS(X) };
#undef X

int head_verdict_status(enum head_verdict verdict)
{
	return verdicts[verdict].status;
}

const char *head_verdict_text(enum head_verdict verdict)
{
	return verdicts[verdict].text;
}

/* A line has ended; `line_len` includes its CRLF. */
static void end_line(struct head_scan *scan)
{
	bool is_empty = scan->line_len == 2;

	scan->is_complete = is_empty && scan->lines != 0;
	scan->lines += is_empty ? 0 : 1;
	scan->line_len = 0;
}

/* Counts and limits a head while it arrives, before anything of it is parsed: a client that sends a
 * line or fields without end is refused at the limit. A line that ends in LF alone is refused,
 * because some programs end a line there and others do not. */
enum head_verdict head_scan(struct head_scan *scan, size_t max, struct view *bytes,
                            struct view *ret_head)
{
	const char *from = bytes->ptr;
	size_t left = bytes->len;

	while (left != 0 && !scan->is_complete) {
		const char *lf = memchr(from, '\n', left);
		size_t len = lf != NULL ? (size_t)(lf - from) + 1 : left;
		char before = len > 1 ? from[len - 2] : scan->last;

		if (scan->line_len == 0 && scan->lines == 0 && !char_is(*from, CHAR_TOKEN) &&
		    (*from != '\r' || scan->len != 0))
			return HEAD_BAD_FIRST_BYTE;
		if (len > max - scan->len)
			return scan->lines != 0 ? HEAD_LONG_HEAD : HEAD_LONG_LINE;
		scan->len += len;
		scan->line_len += len;
		scan->last = from[len - 1];
		from += len;
		left -= len;
		if (lf == NULL)
			break;
		if (before != '\r')
			return HEAD_BARE_LF;
		end_line(scan);
	}
	*ret_head = (struct view){ bytes->ptr, bytes->len - left };
	*bytes = (struct view){ from, left };
	return HEAD_VALID;
}
