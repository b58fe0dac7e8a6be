#include "cli/client/sse_reader.h"

#include <string.h>

#include "base/error.h"

void sse_reader_init(struct sse_reader *reader, size_t max)
{
	*reader = (struct sse_reader){ 0 };
	buf_init(&reader->line, max);
	buf_init(&reader->data, max);
}

void sse_reader_done(struct sse_reader *reader)
{
	buf_done(&reader->line);
	buf_done(&reader->data);
}

void sse_reader_restart(struct sse_reader *reader)
{
	buf_clear(&reader->line);
	buf_clear(&reader->data);
	reader->was_cr = false;
}

/* An id that is too long is ignored: the client resumes from the one before it. */
static void take_id(struct sse_reader *reader, struct view value)
{
	if (value.len > SSE_ID_MAX || memchr(value.ptr, '\0', value.len) != NULL)
		return;
	memcpy(reader->last_id, value.ptr, value.len);
	reader->last_id[value.len] = '\0';
}

static void take_retry(struct sse_reader *reader, struct view value)
{
	unsigned ms = 0;

	for (size_t i = 0; i < value.len; i++) {
		if (value.ptr[i] < '0' || value.ptr[i] > '9')
			return;
		ms = ms * 10 + (unsigned)(value.ptr[i] - '0');
		if (ms > SSE_RETRY_MAX_MS)
			ms = SSE_RETRY_MAX_MS;
	}
	reader->retry_ms = ms;
}

static int take_data(struct sse_reader *reader, struct view value, struct error *err)
{
	if (reader->data.len != 0 && buf_add(&reader->data, view_of(" "), err) < 0)
		return -1;
	return buf_add(&reader->data, value, err);
}

static int end_event(struct sse_reader *reader, struct buf *ret, struct error *err)
{
	int r = 0;

	if (reader->data.len != 0 && (buf_add(ret, buf_view(&reader->data), err) < 0 ||
	                              buf_add(ret, view_of("\n"), err) < 0))
		r = -1;
	buf_clear(&reader->data);
	return r;
}

static bool is_field(struct view line, const char *name, struct view *ret)
{
	size_t len = strlen(name);

	if (line.len <= len || memcmp(line.ptr, name, len) != 0 || line.ptr[len] != ':')
		return false;
	*ret = (struct view){ line.ptr + len + 1, line.len - len - 1 };
	if (ret->len != 0 && ret->ptr[0] == ' ')
		*ret = (struct view){ ret->ptr + 1, ret->len - 1 };
	return true;
}

/* Comments, the type of an event and unknown fields have no meaning for MCP. */
static int end_line(struct sse_reader *reader, struct buf *ret, struct error *err)
{
	struct view line = buf_view(&reader->line), value;
	int r = 0;

	if (line.len == 0)
		r = end_event(reader, ret, err);
	else if (is_field(line, "data", &value))
		r = take_data(reader, value, err);
	else if (is_field(line, "id", &value))
		take_id(reader, value);
	else if (is_field(line, "retry", &value))
		take_retry(reader, value);
	buf_clear(&reader->line);
	return r;
}

/* The length of the bytes before the first line end. */
static size_t find_line_end(struct view bytes)
{
	const char *lf = memchr(bytes.ptr, '\n', bytes.len);
	size_t len = lf != NULL ? (size_t)(lf - bytes.ptr) : bytes.len;
	const char *cr = memchr(bytes.ptr, '\r', len);

	return cr != NULL ? (size_t)(cr - bytes.ptr) : len;
}

int sse_reader_feed(struct sse_reader *reader, struct view bytes, struct buf *ret,
                    struct error *err)
{
	while (bytes.len != 0) {
		size_t len;

		if (reader->was_cr && bytes.ptr[0] == '\n') {
			bytes = (struct view){ bytes.ptr + 1, bytes.len - 1 };
			reader->was_cr = false;
			continue;
		}
		len = find_line_end(bytes);
		if (buf_add(&reader->line, (struct view){ bytes.ptr, len }, err) < 0)
			return error_wrap(err, "event of the server");
		reader->was_cr = false;
		if (len == bytes.len)
			return 0;
		reader->was_cr = bytes.ptr[len] == '\r';
		if (end_line(reader, ret, err) < 0)
			return error_wrap(err, "event of the server");
		bytes = (struct view){ bytes.ptr + len + 1, bytes.len - len - 1 };
	}
	return 0;
}
