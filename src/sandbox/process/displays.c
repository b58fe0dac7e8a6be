#include "sandbox/process/displays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/interpreter/kernel_wire.h"

enum {
	TEXT_MAX = 64 * 1024,
	TEXTS_MAX = 256 * 1024,
	ERROR_NAME_MAX = 256,
	MESSAGE_MAX = 8 * 1024,
	SHOWN_PATH_MAX = 255,
};

static char *put_clean(char *to, struct view text)
{
	while (text.len != 0) {
		size_t len = utf8_char_len(text);

		if (len == 0 || text.ptr[0] == '\0') {
			*to++ = '?';
			len = 1;
		} else {
			memcpy(to, text.ptr, len);
			to += len;
		}
		text.ptr += len;
		text.len -= len;
	}
	return to;
}

static bool is_inside_char(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

char *shown_text(struct view text, size_t max)
{
	static const char gap[] = "\n[... left out ...]\n";
	char *out = mem_new((text.len < max ? text.len : max) + sizeof gap);
	char *to = out;
	size_t head, tail;

	if (text.len <= max) {
		*put_clean(to, text) = '\0';
		return out;
	}
	max -= sizeof gap - 1;
	head = utf8_prefix(text.ptr, text.len, max / 3);
	tail = max - max / 3;
	while (tail != 0 && is_inside_char(text.ptr[text.len - tail]))
		tail--;
	to = put_clean(to, (struct view){ text.ptr, head });
	memcpy(to, gap, sizeof gap - 1);
	to = put_clean(to + sizeof gap - 1, (struct view){ text.ptr + text.len - tail, tail });
	*to = '\0';
	return out;
}

static bool is_printable(struct view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] <= ' ' || text.ptr[i] > '~')
			return false;
	return text.len != 0;
}

/* A name that cannot be printed would not survive the way to whoever reads it. */
static bool is_path(struct view path)
{
	char shown[4 * SHOWN_PATH_MAX + 1];

	return path.len != 0 && path.len <= SHOWN_PATH_MAX && path.ptr[0] == '/' &&
	       strlen(utf8_escape(path, shown, sizeof shown)) == path.len &&
	       memcmp(shown, path.ptr, path.len) == 0;
}

static void leave_out(struct shown *shown)
{
	struct process_display *last;

	if (shown->left_out++ == 0)
		shown->items[shown->count++] = (struct process_display){ .mime = "text/plain" };
	last = &shown->items[shown->count - 1];
	free(last->text);
	last->text = mem_format("[%zu more things were shown, too many or too large to keep: save "
	                        "them to files]",
	                        shown->left_out);
	last->text_len = strlen(last->text);
}

static void add_item(struct shown *shown, struct view mime, struct view text, struct view path)
{
	struct process_display *item = &shown->items[shown->count];
	bool is_plain = view_is(mime, "text/plain");
	size_t kept = text.len < TEXT_MAX ? text.len : TEXT_MAX;

	if (!is_printable(mime) || mime.len >= sizeof item->mime ||
	    (path.len != 0 && !is_path(path)))
		return;
	/* One place stays free for the note. Half a table or picture is none. */
	if (shown->left_out != 0 || shown->count >= PROCESS_DISPLAYS_MAX - 1 ||
	    kept > TEXTS_MAX - shown->bytes || (text.len > TEXT_MAX && !is_plain)) {
		leave_out(shown);
		return;
	}
	*item = (struct process_display){ 0 };
	memcpy(item->mime, mime.ptr, mime.len);
	if (path.len != 0) {
		item->path = mem_dup_len(path.ptr, path.len);
	} else {
		item->text = shown_text(text, TEXT_MAX);
		item->text_len = strlen(item->text);
		shown->bytes += item->text_len;
	}
	shown->count++;
}

static void set_text(char **to, struct view text, size_t max)
{
	free(*to);
	*to = shown_text(text, max);
}

void shown_add(struct shown *shown, const struct kernel_said *said)
{
	if (said->type == KERNEL_SHOWN)
		add_item(shown, said->shown.mime, said->shown.text, said->shown.path);
	if (said->type != KERNEL_ERROR)
		return;
	set_text(&shown->error_name, said->error.name, ERROR_NAME_MAX);
	set_text(&shown->error_message, said->error.message, MESSAGE_MAX);
	set_text(&shown->error_traceback, said->error.traceback, TEXT_MAX);
}

void shown_done(struct shown *shown)
{
	for (size_t i = 0; i < shown->count; i++) {
		free(shown->items[i].text);
		free(shown->items[i].path);
	}
	free(shown->error_name);
	free(shown->error_message);
	free(shown->error_traceback);
	*shown = (struct shown){ 0 };
}
