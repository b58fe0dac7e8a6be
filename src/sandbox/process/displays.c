#include "sandbox/process/displays.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/interpreter/kernel_wire.h"

enum {
	TEXT_MAX = 64 * 1024,   /* bytes of one text */
	TEXTS_MAX = 256 * 1024, /* bytes of all texts of a process */
	ERROR_NAME_MAX = 256,
	MESSAGE_MAX = 8 * 1024,
	DISPLAY_PATH_MAX = 255,
};

/* Appends text, with '?' for every byte that is not UTF-8 or is NUL. Returns the new end. */
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

static bool is_continuation_byte(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

char *displays_copy_text(struct view text, size_t max)
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
	/* The tail begins with a complete character. */
	while (tail != 0 && is_continuation_byte(text.ptr[text.len - tail]))
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

/* Paths appear unescaped in answers and are read back by tools, so only printable ones are kept. */
static bool is_valid_path(struct view path)
{
	char printable[4 * DISPLAY_PATH_MAX + 1];

	return path.len != 0 && path.len <= DISPLAY_PATH_MAX && path.ptr[0] == '/' &&
	       strlen(utf8_escape(path, printable, sizeof printable)) == path.len &&
	       memcmp(printable, path.ptr, path.len) == 0;
}

/* Counts a display that is not kept. The last item is a note with their number. */
static void leave_out_display(struct displays *displays)
{
	struct process_display *last;

	if (displays->left_out++ == 0)
		displays->items[displays->count++] = (struct process_display){
			.mime = "text/plain"
		};
	last = &displays->items[displays->count - 1];
	free(last->text);
	last->text = mem_format("[%zu more things were shown, too many or too large to keep: save "
	                        "them to files]",
	                        displays->left_out);
	last->text_len = strlen(last->text);
}

static void add_item(struct displays *displays, const struct kernel_message *message)
{
	struct process_display *item = &displays->items[displays->count];
	struct view mime = message->shown.mime, text = message->shown.text;
	struct view path = message->shown.path, id = message->shown.id;
	bool is_plain = view_is(mime, "text/plain");
	size_t kept = text.len < TEXT_MAX ? text.len : TEXT_MAX;

	/* The type stands in a status line of the answer: a line break in it could forge
	 * another. */
	if (!is_printable(mime) || mime.len >= sizeof item->mime ||
	    (path.len != 0 && !is_valid_path(path)))
		return;
	/* The last place stays free for the note. Only plain text can be cut: no client can draw a
	 * part of a table or of a drawing. */
	if (displays->left_out != 0 || displays->count >= PROCESS_DISPLAYS_MAX - 1 ||
	    kept > TEXTS_MAX - displays->bytes || (text.len > TEXT_MAX && !is_plain)) {
		leave_out_display(displays);
		return;
	}
	*item = (struct process_display){ 0 };
	memcpy(item->mime, mime.ptr, mime.len);
	if (path.len != 0) {
		item->path = mem_dup_len(path.ptr, path.len);
	} else {
		item->text = displays_copy_text(text, TEXT_MAX);
		item->text_len = strlen(item->text);
		displays->bytes += item->text_len;
	}
	if (id.len != 0)
		item->id = mem_dup_len(id.ptr, id.len);
	displays->count++;
}

static void free_item(struct process_display *item)
{
	free(item->text);
	free(item->path);
	free(item->id);
}

/* Removes all displays, or those with the id. The note about displays that were left out has no id
 * and is not counted in displays->bytes. */
static void clear_items(struct displays *displays, struct view id)
{
	size_t count = displays->count, kept = 0;

	displays->bytes = 0;
	for (size_t i = 0; i < count; i++) {
		struct process_display item = displays->items[i];

		if (id.len == 0 || (item.id != NULL && view_is(id, item.id))) {
			if (id.len != 0 && !displays->place.is_free) {
				displays->place.is_free = true;
				displays->place.index = kept;
				displays->place.number = item.number;
			}
			free_item(&item);
			continue;
		}
		if (displays->left_out == 0 || i != count - 1)
			displays->bytes += item.text_len;
		displays->items[kept++] = item;
	}
	displays->count = kept;
	if (id.len == 0)
		displays->left_out = 0;
}

static void replace_text(char **to, struct view text, size_t max)
{
	free(*to);
	*to = displays_copy_text(text, max);
}

/* Moves the last display, which updates one that was removed, to its place. */
static void move_to_place(struct displays *displays)
{
	size_t index = displays->place.index, last = displays->count - 1;
	struct process_display item = displays->items[last];

	item.number = displays->place.number;
	memmove(&displays->items[index + 1], &displays->items[index], (last - index) * sizeof item);
	displays->items[index] = item;
}

static void add_shown(struct displays *displays, const struct kernel_message *message)
{
	bool is_update = displays->place.is_free && message->shown.id.len != 0;
	size_t count = displays->count;

	displays->place.is_free = false;
	add_item(displays, message);
	if (is_update && displays->count > count && displays->left_out == 0)
		move_to_place(displays);
}

void displays_add(struct displays *displays, const struct kernel_message *message)
{
	if (message->type == KERNEL_SHOWN)
		add_shown(displays, message);
	if (message->type == KERNEL_CLEARED) {
		displays->place.is_free = false;
		clear_items(displays, message->cleared.id);
	}
	if (message->type != KERNEL_ERROR)
		return;
	replace_text(&displays->error_name, message->error.name, ERROR_NAME_MAX);
	replace_text(&displays->error_message, message->error.message, MESSAGE_MAX);
	replace_text(&displays->error_traceback, message->error.traceback, TEXT_MAX);
}

void displays_done(struct displays *displays)
{
	for (size_t i = 0; i < displays->count; i++)
		free_item(&displays->items[i]);
	free(displays->error_name);
	free(displays->error_message);
	free(displays->error_traceback);
	*displays = (struct displays){ 0 };
}
