#include "sandbox/process/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/ansi_strip.h"
#include "base/text/utf8.h"

enum { HEAD_FIRST = 4096, LINE_LOOK = 4096 };

void capture_init(struct capture *capture, size_t head_max, size_t tail_max)
{
	*capture = (struct capture){ .head_max = head_max, .tail_max = tail_max };
}

void capture_done(struct capture *capture)
{
	free(capture->head);
	free(capture->tail);
	capture->head = capture->tail = NULL;
	capture->head_len = capture->head_room = capture->tail_len = 0;
}

void capture_clear(struct capture *capture)
{
	capture_done(capture);
	capture_init(capture, capture->head_max, capture->tail_max);
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The room doubles, so that many small pieces are not copied again and again. */
static void add_to_head(struct capture *capture, struct view bytes)
{
	size_t want = capture->head_len + bytes.len;
	size_t room = capture->head_room != 0 ? capture->head_room : HEAD_FIRST;

	while (room < want)
		room *= 2;
	room = min_size(room, capture->head_max);
	if (room != capture->head_room)
		capture->head = mem_resize(capture->head, room);
	capture->head_room = room;
	memcpy(capture->head + capture->head_len, bytes.ptr, bytes.len);
	capture->head_len = want;
}

static void add_to_tail(struct capture *capture, struct view bytes)
{
	size_t size = capture->tail_max;
	size_t at, first;

	if (capture->tail == NULL)
		capture->tail = mem_new(size);
	if (bytes.len > size) {
		bytes.ptr += bytes.len - size;
		bytes.len = size;
	}
	at = (capture->tail_at + capture->tail_len) % size;
	first = min_size(bytes.len, size - at);
	memcpy(capture->tail + at, bytes.ptr, first);
	memcpy(capture->tail, bytes.ptr + first, bytes.len - first);
	capture->tail_len += bytes.len;
	if (capture->tail_len > size) {
		capture->tail_at = (capture->tail_at + capture->tail_len - size) % size;
		capture->tail_len = size;
	}
}

void capture_add(struct capture *capture, struct view bytes)
{
	size_t first = min_size(bytes.len, capture->head_max - capture->head_len);

	capture->total += bytes.len;
	if (first != 0)
		add_to_head(capture, (struct view){ bytes.ptr, first });
	if (first < bytes.len && capture->tail_max != 0)
		add_to_tail(capture, (struct view){ bytes.ptr + first, bytes.len - first });
}

bool capture_would_lose(const struct capture *capture, size_t bytes)
{
	return capture->total + bytes > (uint64_t)capture->head_max + capture->tail_max;
}

uint64_t capture_left_out(const struct capture *capture)
{
	return capture->total - capture->head_len - capture->tail_len;
}

struct view capture_head(const struct capture *capture)
{
	return (struct view){ capture->head != NULL ? capture->head : "", capture->head_len };
}

/* Rotates a ring that has wrapped, so that one view covers it. */
struct view capture_tail(struct capture *capture)
{
	size_t first = capture->tail_max - capture->tail_at;
	char *ordered;

	if (capture->tail_at + capture->tail_len > capture->tail_max) {
		ordered = mem_new(capture->tail_max);
		memcpy(ordered, capture->tail + capture->tail_at, first);
		memcpy(ordered + first, capture->tail, capture->tail_len - first);
		free(capture->tail);
		capture->tail = ordered;
		capture->tail_at = 0;
	}
	return (struct view){ capture->tail != NULL ? capture->tail + capture->tail_at : "",
		              capture->tail_len };
}

static bool is_line_end(char c)
{
	return c == '\n' || c == '\r';
}

static struct view find_last_line(struct view text)
{
	size_t end = text.len, start;

	while (end != 0 && (is_line_end(text.ptr[end - 1]) || text.ptr[end - 1] == ' ' ||
	                    text.ptr[end - 1] == '\t'))
		end--;
	start = end;
	while (start != 0 && !is_line_end(text.ptr[start - 1]))
		start--;
	return (struct view){ text.ptr + start, end - start };
}

const char *capture_last_line(struct capture *capture, char *out, size_t size)
{
	struct view text = capture->tail_len != 0 ? capture_tail(capture) : capture_head(capture);
	char plain[LINE_LOOK + 1];
	struct ansi_strip state = { 0 };
	struct view line;
	size_t skip;

	if (text.len == 0) {
		out[0] = '\0';
		return out;
	}
	skip = text.len > LINE_LOOK ? text.len - LINE_LOOK : 0;
	line = (struct view){ plain,
		              ansi_strip_bytes(&state, text.ptr + skip, text.len - skip, plain) };
	return utf8_escape(find_last_line(line), out, size);
}
