#include "tools/run/answer/run_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/attr.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text/ansi_strip.h"
#include "base/text/utf8.h"
#include "sandbox/process/process.h"

/* Enough for "[belljar: 18446744073709551615 bytes left out]". */
enum { GAP_MAX = 64 };

/* The characters that are escaped in output: the mark without its end, so that no variant of it is
 * left. */
static const char mark[] = "[belljar";
enum { MARK_LEN = sizeof mark - 1 };

static const char nul_symbol[] = { '\xe2', '\x90', '\x80' }; /* U+2400 */

/* Callers give buffers that are large enough. If one is not, its maximum becomes its length, so
 * that no later piece is appended behind a missing one. */
static void append_bytes(struct buf *out, struct view bytes)
{
	if (!buf_put(out, bytes))
		out->max = out->len;
}

/* Appends text with U+FFFD for every byte that is not UTF-8. */
static void append_valid(struct view text, struct buf *out)
{
	while (text.len != 0) {
		size_t good = 0, n;

		while (good < text.len &&
		       (n = utf8_char_len((struct view){ text.ptr + good, text.len - good })) != 0)
			good += n;
		append_bytes(out, (struct view){ text.ptr, good });
		text.ptr += good;
		text.len -= good;
		if (text.len == 0)
			return;
		append_bytes(out, view_of("\xef\xbf\xbd"));
		text.ptr++;
		text.len--;
	}
}

/* Bash begins its messages with the name of the file that it reads. Cells of a session are read
 * from this one (kernels/session/bash.sh); a script would be read by "bash". */
static const char cell_file[] = "/dev/fd/62: line ";

static bool is_cell_message(struct view text, size_t at)
{
	return (at == 0 || text.ptr[at - 1] == '\n') && text.len - at >= sizeof cell_file - 1 &&
	       memcmp(text.ptr + at, cell_file, sizeof cell_file - 1) == 0;
}

/* Skips the characters of one kind (isdigit ...) at the beginning. */
static void skip_while(struct view *text, int (*is_kind)(int))
{
	while (text->len != 0 && is_kind((unsigned char)text->ptr[0]))
		*text = (struct view){ text->ptr + 1, text->len - 1 };
}

/* The length of "/tmp/belljar-1234/" in front of a place in the code ("main.c:3:5"), as tracebacks
 * and compilers name it; or 0. The directory is random and gone when the answer is read. A path
 * alone, which code may print for a purpose, is not such a place. */
static size_t code_dir_len(struct view text)
{
	static const char *const dirs[] = { "/dev/shm/belljar-", "/tmp/belljar-",
		                            "file:///tmp/belljar-" };
	static const char *const places[] = { ":", "\", line ", "\" line ", " line ", " (line " };
	const char *start = text.ptr, *name;
	size_t i = 0;

	while (i < ARRAY_LEN(dirs) && !view_starts(text, dirs[i]))
		i++;
	if (i == ARRAY_LEN(dirs))
		return 0;
	text = (struct view){ text.ptr + strlen(dirs[i]), text.len - strlen(dirs[i]) };
	skip_while(&text, isdigit);
	if (!view_starts(text, "/main.") && !view_starts(text, "/Main."))
		return 0;
	name = text.ptr + 1;
	text = (struct view){ text.ptr + strlen("/main."), text.len - strlen("/main.") };
	skip_while(&text, isalnum);
	for (i = 0; i < ARRAY_LEN(places); i++)
		if (view_starts(text, places[i]))
			return (size_t)(name - start);
	return 0;
}

/* Appends valid text, with a backslash in front of each mark, and places in the code without its
 * directory. */
static void append_escaped(struct view text, struct buf *out)
{
	size_t done = 0, dir;

	for (size_t i = 0; i + MARK_LEN <= text.len; i++)
		if (text.ptr[i] == mark[0] && strncasecmp(text.ptr + i, mark, MARK_LEN) == 0) {
			append_valid((struct view){ text.ptr + done, i - done }, out);
			append_bytes(out, view_of("\\"));
			done = i;
		} else if (is_cell_message(text, i)) {
			append_valid((struct view){ text.ptr + done, i - done }, out);
			append_bytes(out, view_of("bash: line "));
			done = i + sizeof cell_file - 1;
		} else if ((text.ptr[i] == '/' || text.ptr[i] == 'f') &&
		           (dir = code_dir_len((struct view){ text.ptr + i, text.len - i })) != 0) {
			append_valid((struct view){ text.ptr + done, i - done }, out);
			done = i + dir;
			i = done - 1;
		}
	append_valid((struct view){ text.ptr + done, text.len - done }, out);
}

/* A text in which lines are overwritten, as on a terminal. */
struct fold {
	char *text;
	size_t len;      /* of the text so far */
	size_t line;     /* where its last line begins */
	size_t back;     /* characters that the next one overwrites */
	bool is_changed; /* the last line was overwritten */
};

/* A line that was overwritten may end with blanks that covered its longer predecessor. */
static void end_line(struct fold *fold)
{
	while (fold->is_changed && fold->len > fold->line && fold->text[fold->len - 1] == ' ')
		fold->len--;
	fold->is_changed = false;
	fold->back = 0;
}

static void remove_characters(struct fold *fold)
{
	if (fold->back == SIZE_MAX)
		fold->len = fold->line;
	for (; fold->back != 0 && fold->len > fold->line; fold->back--)
		do
			fold->len--;
		while (fold->len > fold->line &&
		       ((unsigned char)fold->text[fold->len] & 0xc0) == 0x80);
	fold->back = 0;
	fold->is_changed = true;
}

/* Reduces lines with carriage returns and backspaces, such as progress bars, to what was written
 * last, in place. The text behind a carriage return replaces the whole line, and a carriage return
 * that nothing follows changes nothing. Returns the new length. */
static size_t fold_lines(char *text, size_t len)
{
	struct fold fold = { .text = text };

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\r') {
			fold.back = SIZE_MAX;
		} else if (text[i] == '\b') {
			fold.back += fold.back != SIZE_MAX;
		} else {
			if (text[i] == '\n')
				end_line(&fold);
			else if (fold.back != 0)
				remove_characters(&fold);
			text[fold.len++] = text[i];
			if (text[i] == '\n')
				fold.line = fold.len;
		}
	}
	end_line(&fold);
	return fold.len;
}

void run_text_clean(struct view bytes, struct buf *out)
{
	AUTO_FREE char *kept = mem_new(bytes.len * 3 + 4);
	struct ansi_strip plain = { 0 };
	size_t len = 0;

	for (size_t i = 0, n; i < bytes.len; i += n) {
		bool is_text = plain.state == STRIP_TEXT;

		n = 1;
		/* NUL becomes a visible character, and fold_lines() needs \b; ansi_strip.h would
		 * remove both. */
		if (bytes.ptr[i] == '\0') {
			memcpy(kept + len, nul_symbol, sizeof nul_symbol);
			len += is_text ? sizeof nul_symbol : 0;
		} else if (bytes.ptr[i] == '\b' && is_text) {
			kept[len++] = '\b';
		} else {
			while (i + n < bytes.len && bytes.ptr[i + n] != '\0' &&
			       bytes.ptr[i + n] != '\b')
				n++;
			len += ansi_strip_bytes(&plain, bytes.ptr + i, n, kept + len);
		}
	}
	append_escaped((struct view){ kept, fold_lines(kept, len) }, out);
}

size_t run_text_unfinished(struct view bytes)
{
	for (size_t back = 1; back <= 3 && back <= bytes.len; back++) {
		unsigned char byte = (unsigned char)bytes.ptr[bytes.len - back];
		size_t need = byte > 0xf4    ? 1
		              : byte >= 0xf0 ? 4
		              : byte >= 0xe0 ? 3
		              : byte >= 0xc2 ? 2
		                             : 1;

		if ((byte & 0xc0) != 0x80)
			return need > back ? back : 0;
	}
	return 0;
}

/* How many bytes at the beginning belong to a character that was cut. */
static size_t continuation_bytes(struct view bytes)
{
	size_t skip = 0;

	while (skip < 3 && skip < bytes.len && ((unsigned char)bytes.ptr[skip] & 0xc0) == 0x80)
		skip++;
	return skip;
}

/* Appends as much of the beginning (or of the end) as becomes at most `max` bytes of text. Returns
 * how many bytes of output that is. */
static size_t fit_part(struct view bytes, bool is_front, size_t max, struct buf *out)
{
	size_t start = out->len, take = bytes.len < max ? bytes.len : max;

	for (;;) {
		struct view part = { is_front ? bytes.ptr : bytes.ptr + (bytes.len - take), take };
		size_t grown;

		if (is_front)
			part.len -= run_text_unfinished(part);
		else if (continuation_bytes(part) != 0)
			part = (struct view){ part.ptr + continuation_bytes(part),
				              part.len - continuation_bytes(part) };
		run_text_clean(part, out);
		grown = out->len - start;
		if (grown <= max)
			return part.len;
		buf_truncate(out, start);
		take = part.len - (grown - max + 2) / 3;
	}
}

static void append_gap(uint64_t missing, struct buf *out)
{
	char line[GAP_MAX];
	bool is_begun = out->len != 0 && out->ptr[out->len - 1] != '\n';

	(void)snprintf(line, sizeof line, "%s" RUN_TEXT_MARK "%" PRIu64 " bytes left out]\n",
	               is_begun ? "\n" : "", missing);
	append_bytes(out, view_of(line));
}

uint64_t run_text_fit(const struct process_stream *stream, size_t max, struct buf *out)
{
	size_t len = process_stream_kept(stream), start = out->len, front, back;
	struct view head = stream->head, tail = stream->tail;
	AUTO_FREE char *joined = NULL;
	AUTO_BUF struct buf end;
	uint64_t missing;

	buf_init(&end, run_text_room(len));
	if (stream->left_out == 0) { /* joined, because a character may lie across the border */
		joined = process_stream_copy(stream);
		head = tail = (struct view){ joined, len };
		run_text_clean(head, out);
		if (out->len - start <= max)
			return 0;
		buf_truncate(out, start);
	}
	front = fit_part(head, true, tail.len < max / 2 ? max - tail.len : max / 2, out);
	if (stream->left_out == 0) {
		tail.ptr += front;
		tail.len -= front;
	}
	max -= out->len - start < max ? out->len - start : max;
	back = fit_part(tail, false, max, &end);
	/* Both parts together may fit where the whole text did not, because a mark that is divided
	 * between them gets no backslash. Leaving out one byte puts the line "... bytes left out"
	 * between the parts. */
	if (stream->left_out == 0 && front + back == len && back != 0) {
		buf_clear(&end);
		back = fit_part((struct view){ tail.ptr + 1, tail.len - 1 }, false, max, &end);
	}
	missing = stream->left_out + (len - front - back);
	if (missing != 0)
		append_gap(missing, out);
	append_bytes(out, buf_view(&end));
	return missing;
}

const char *run_text_count(uint64_t number, char out[32])
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number), n = 0;

	for (size_t i = 0; i < len; i++) {
		if (i != 0 && (len - i) % 3 == 0)
			out[n++] = ',';
		out[n++] = digits[i];
	}
	out[n] = '\0';
	return out;
}

const char *run_text_signal(int number, char out[24])
{
	const char *name = sigabbrev_np(number);

	if (name != NULL)
		(void)snprintf(out, 24, "SIG%s", name);
	else
		(void)snprintf(out, 24, "signal %d", number);
	return out;
}
