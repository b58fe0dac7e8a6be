#include "cli/client/line_editor.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"

#define CTRL(letter) ((letter)&0x1f)
enum { ESCAPE = 0x1b, BACKSPACE = 0x7f };

void line_editor_init(struct line_editor *editor, line_complete_fn *complete, void *ctx)
{
	*editor = (struct line_editor){ .complete = complete, .ctx = ctx };
	buf_init(&editor->line, LINE_EDITOR_MAX);
}

void line_editor_done(struct line_editor *editor)
{
	for (size_t i = 0; i < editor->history_count; i++)
		free(editor->history[i]);
	free(editor->draft);
	buf_done(&editor->line);
}

void line_editor_begin(struct line_editor *editor)
{
	buf_truncate(&editor->line, 0);
	editor->cursor = 0;
	editor->escape_len = 0;
	editor->history_at = editor->history_count;
	free(editor->draft);
	editor->draft = NULL;
}

void line_editor_remember(struct line_editor *editor, const char *line)
{
	const size_t count = editor->history_count;

	if (line[0] == '\0' || (count != 0 && strcmp(editor->history[count - 1], line) == 0))
		return;
	if (count == LINE_EDITOR_HISTORY_MAX) {
		free(editor->history[0]);
		memmove(editor->history, editor->history + 1, (count - 1) * sizeof(char *));
		editor->history_count--;
	}
	editor->history[editor->history_count++] = mem_dup(line);
}

/* --- the text ------------------------------------------------------------------------ */

/* Whether the byte continues a character of UTF-8. */
static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static size_t find_previous(const struct line_editor *editor)
{
	size_t at = editor->cursor;

	while (at != 0 && is_continuation(editor->line.ptr[--at]))
		continue;
	return at;
}

static size_t find_next(const struct line_editor *editor)
{
	size_t at = editor->cursor;

	if (at < editor->line.len)
		at++;
	while (at < editor->line.len && is_continuation(editor->line.ptr[at]))
		at++;
	return at;
}

static void insert_bytes(struct line_editor *editor, struct view bytes)
{
	const size_t behind = editor->line.len - editor->cursor;
	struct error full;

	if (bytes.len == 0 || buf_add(&editor->line, bytes, &full) < 0)
		return; /* a line that is full takes no more */
	memmove(editor->line.ptr + editor->cursor + bytes.len, editor->line.ptr + editor->cursor,
	        behind);
	memcpy(editor->line.ptr + editor->cursor, bytes.ptr, bytes.len);
	editor->cursor += bytes.len;
}

/* Removes the bytes from `from` to `to`; the cursor is at one of them. */
static void remove_range(struct line_editor *editor, size_t from, size_t to)
{
	if (from == to)
		return;
	memmove(editor->line.ptr + from, editor->line.ptr + to, editor->line.len - to);
	buf_truncate(&editor->line, editor->line.len - (to - from));
	editor->cursor = from;
}

static size_t find_word(const struct line_editor *editor)
{
	size_t at = editor->cursor;

	while (at != 0 && editor->line.ptr[at - 1] == ' ')
		at--;
	while (at != 0 && editor->line.ptr[at - 1] != ' ')
		at--;
	return at;
}

static void set_line(struct line_editor *editor, const char *text)
{
	buf_truncate(&editor->line, 0);
	buf_put(&editor->line, view_of(text));
	editor->cursor = editor->line.len;
}

static void show_history(struct line_editor *editor, bool older)
{
	if (older ? editor->history_at == 0 : editor->history_at == editor->history_count)
		return;
	if (editor->history_at == editor->history_count) {
		free(editor->draft);
		editor->draft = mem_dup(buf_text(&editor->line));
	}
	editor->history_at += older ? (size_t)-1 : 1;
	set_line(editor, editor->history_at < editor->history_count
	                         ? editor->history[editor->history_at]
	                 : editor->draft != NULL ? editor->draft
	                                         : "");
}

/* --- completion ---------------------------------------------------------------------- */

static size_t common_prefix(const char *const *words, size_t count)
{
	size_t len = strlen(words[0]);

	for (size_t i = 1; i < count; i++) {
		size_t same = 0;

		while (same < len && words[i][same] == words[0][same])
			same++;
		len = same;
	}
	return len;
}

static enum line_event complete_word(struct line_editor *editor)
{
	const size_t start = editor->cursor != 0 && editor->line.ptr[editor->cursor - 1] == ' '
	                             ? editor->cursor
	                             : find_word(editor);
	const size_t typed = editor->cursor - start;
	AUTO_FREE char *before = NULL;
	size_t prefix;

	if (editor->complete == NULL)
		return LINE_CHANGED;
	before = mem_dup_len(editor->line.ptr != NULL ? editor->line.ptr : "", editor->cursor);
	editor->choice_count = editor->complete(editor->ctx, before, editor->choices);
	if (editor->choice_count == 0)
		return LINE_CHANGED;
	prefix = common_prefix(editor->choices, editor->choice_count);
	if (prefix > typed)
		insert_bytes(editor, (struct view){ editor->choices[0] + typed, prefix - typed });
	if (editor->choice_count == 1) {
		if (prefix == 0 || editor->choices[0][prefix - 1] != '=')
			insert_bytes(editor, view_of(" "));
		return LINE_CHANGED;
	}
	return prefix > typed ? LINE_CHANGED : LINE_CHOICES;
}

/* --- keys ---------------------------------------------------------------------------- */

/* Key codes that the terminal sends behind the escape character. */
static const struct {
	const char *bytes;
	char key;
} escapes[] = {
	{ "[A", CTRL('P') },  { "[B", CTRL('N') },  { "[C", CTRL('F') },  { "[D", CTRL('B') },
	{ "[H", CTRL('A') },  { "[F", CTRL('E') },  { "OA", CTRL('P') },  { "OB", CTRL('N') },
	{ "OC", CTRL('F') },  { "OD", CTRL('B') },  { "OH", CTRL('A') },  { "OF", CTRL('E') },
	{ "[1~", CTRL('A') }, { "[4~", CTRL('E') }, { "[7~", CTRL('A') }, { "[8~", CTRL('E') },
	{ "[3~", 0 },
};

static enum line_event press_key(struct line_editor *editor, char key)
{
	switch (key) {
	case CTRL('A'):
		editor->cursor = 0;
		break;
	case CTRL('B'):
		editor->cursor = find_previous(editor);
		break;
	case CTRL('C'):
		line_editor_begin(editor);
		return LINE_CANCELLED;
	case CTRL('D'):
		if (editor->line.len == 0)
			return LINE_END;
		remove_range(editor, editor->cursor, find_next(editor));
		break;
	case CTRL('E'):
		editor->cursor = editor->line.len;
		break;
	case CTRL('F'):
		editor->cursor = find_next(editor);
		break;
	case CTRL('H'):
	case BACKSPACE:
		remove_range(editor, find_previous(editor), editor->cursor);
		break;
	case CTRL('I'):
		return complete_word(editor);
	case CTRL('J'):
	case CTRL('M'):
		return LINE_DONE;
	case CTRL('K'):
		buf_truncate(&editor->line, editor->cursor);
		break;
	case CTRL('L'):
		return LINE_CLEAR;
	case CTRL('N'):
	case CTRL('P'):
		show_history(editor, key == CTRL('P'));
		break;
	case CTRL('U'):
		remove_range(editor, 0, editor->cursor);
		break;
	case CTRL('W'):
		remove_range(editor, find_word(editor), editor->cursor);
		break;
	default:
		if ((unsigned char)key >= ' ')
			insert_bytes(editor, (struct view){ &key, 1 });
	}
	return LINE_CHANGED;
}

/* An escape sequence ends with a letter or a tilde behind its bracket. An unknown one is passed
 * over. */
static enum line_event press_escape(struct line_editor *editor, char byte)
{
	const size_t len = editor->escape_len;

	if (len < sizeof editor->escape - 1) /* no key that is known has more bytes */
		editor->escape[editor->escape_len++] = byte;
	if (len == 1 && byte != '[' && byte != 'O') {
		editor->escape_len = 0;
		return LINE_CHANGED;
	}
	if (len == 1 || (unsigned char)byte < '@')
		return LINE_CHANGED;
	editor->escape[editor->escape_len] = '\0';
	editor->escape_len = 0;
	for (size_t i = 0; i < ARRAY_LEN(escapes); i++)
		if (strcmp(editor->escape + 1, escapes[i].bytes) == 0) {
			if (escapes[i].key != 0)
				return press_key(editor, escapes[i].key);
			remove_range(editor, editor->cursor, find_next(editor));
		}
	return LINE_CHANGED;
}

enum line_event line_editor_byte(struct line_editor *editor, char byte)
{
	if (editor->escape_len != 0)
		return press_escape(editor, byte);
	if (byte == ESCAPE) {
		editor->escape[editor->escape_len++] = byte;
		return LINE_CHANGED;
	}
	return press_key(editor, byte);
}

/* --- drawing ------------------------------------------------------------------------- */

static size_t count_columns(const char *text, size_t from, size_t to)
{
	size_t columns = 0;

	for (; from < to; from++)
		columns += !is_continuation(text[from]);
	return columns;
}

/* Moves `at` forward by one character. */
static size_t skip_character(const struct buf *line, size_t at)
{
	at++;
	while (at < line->len && is_continuation(line->ptr[at]))
		at++;
	return at;
}

void line_editor_draw(const struct line_editor *editor, const char *prompt, size_t columns,
                      struct buf *out)
{
	const struct buf *line = &editor->line;
	const size_t used = strlen(prompt), room = columns > used + 8 ? columns - used - 1 : 8;
	size_t start = 0, end, back;

	while (count_columns(line->ptr, start, editor->cursor) >= room)
		start = skip_character(line, start);
	end = start;
	while (end < line->len && count_columns(line->ptr, start, end) < room)
		end = skip_character(line, end);
	buf_putf(out, "\r%s", prompt);
	if (end != start)
		buf_put(out, (struct view){ line->ptr + start, end - start });
	buf_putf(out, "\x1b[K");
	back = count_columns(line->ptr, editor->cursor, end);
	if (back != 0)
		buf_putf(out, "\x1b[%zuD", back);
}
