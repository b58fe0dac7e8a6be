/* line_editor.h - editing of one line on a terminal in raw mode, with history and completion.
 *
 *   line_editor_init -> (line_editor_begin -> line_editor_byte ... DONE) ... -> line_editor_done
 *
 * The editor reads and writes nothing itself: the caller passes each byte of the terminal, and
 * prints what line_editor_draw() returns. Keys are those of readline: arrows, Home, End, Delete,
 * Tab, and Ctrl with A B D E F H K L N P U W. */
#pragma once
#include <stddef.h>

#include "base/buf.h"

enum { LINE_EDITOR_MAX = 256 * 1024, LINE_EDITOR_HISTORY_MAX = 500, LINE_EDITOR_WORDS_MAX = 64 };

enum line_event {
	LINE_CHANGED,   /* draw the line again */
	LINE_DONE,      /* Enter: the line is complete */
	LINE_CANCELLED, /* Ctrl-C: the line is empty now */
	LINE_END,       /* Ctrl-D on an empty line */
	LINE_CLEAR,     /* Ctrl-L: clear the screen, then draw */
	LINE_CHOICES,   /* Tab: several words fit, which are in `choices`; print them, then draw */
};

/* The words that may stand at the end of `line` instead of its last word. Called with the text
 * before the cursor; returns at most LINE_EDITOR_WORDS_MAX words, which must live until the next
 * call. */
typedef size_t line_complete_fn(void *ctx, const char *line,
                                const char *words[LINE_EDITOR_WORDS_MAX]);

struct line_editor {
	struct buf line;
	size_t cursor; /* byte offset in the line, at the start of a character */
	char *history[LINE_EDITOR_HISTORY_MAX];
	size_t history_count, history_at; /* history_at == history_count: the line being written */
	char *draft;                      /* that line, while an older one is shown */
	line_complete_fn *complete;       /* or NULL */
	void *ctx;
	const char *choices[LINE_EDITOR_WORDS_MAX];
	size_t choice_count;
	char escape[8]; /* the bytes of an escape sequence that is not complete */
	size_t escape_len;
};

void line_editor_init(struct line_editor *editor, line_complete_fn *complete, void *ctx);
void line_editor_done(struct line_editor *editor);
/* Empties the line. */
void line_editor_begin(struct line_editor *editor);
enum line_event line_editor_byte(struct line_editor *editor, char byte);
/* Adds a line to the history, unless it is empty or the same as the last one. */
void line_editor_remember(struct line_editor *editor, const char *line);
/* Appends the bytes that draw the line on one row of the terminal, with the cursor in its place. A
 * line that is too long is shown in part. */
void line_editor_draw(const struct line_editor *editor, const char *prompt, size_t columns,
                      struct buf *out);
