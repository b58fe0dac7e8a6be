#include "base/text/diff.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"

enum { CONTEXT = 3 }; /* equal lines that are shown around a change */

/* One of the two texts. */
struct side {
	struct view *lines; /* each with its LF, if it has one */
	int count;
	bool *changed; /* removed from the old text, or added in the new one */
};

bool diff_is_text(struct view bytes)
{
	return bytes.len == 0 ||
	       (memchr(bytes.ptr, '\0', bytes.len) == NULL && utf8_is_valid(bytes));
}

/* --- lines ------------------------------------------------------------------------------- */

static void split_lines(struct view text, struct side *side)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++)
		count += text.ptr[i] == '\n' || i + 1 == text.len;
	side->lines = mem_array(count + 1, sizeof *side->lines);
	side->changed = mem_array(count + 1, sizeof *side->changed);
	while (text.len != 0) {
		const char *end = memchr(text.ptr, '\n', text.len);
		size_t len = end != NULL ? (size_t)(end - text.ptr) + 1 : text.len;

		side->lines[side->count++] = (struct view){ text.ptr, len };
		text.ptr += len;
		text.len -= len;
	}
}

static void free_side(struct side *side)
{
	free(side->lines);
	free(side->changed);
}

static bool is_same_line(const struct side *a, int i, const struct side *b, int j)
{
	return a->lines[i].len == b->lines[j].len &&
	       memcmp(a->lines[i].ptr, b->lines[j].ptr, a->lines[i].len) == 0;
}

/* --- the shortest edit (Myers, "An O(ND) Difference Algorithm and Its Variations") -------- */

/* The part of the texts between their common beginning and their common end. */
struct middle {
	struct side *a, *b;
	int from, a_count, b_count;
};

static bool is_same_at(const struct middle *m, int x, int y)
{
	return is_same_line(m->a, m->from + x, m->b, m->from + y);
}

/* The furthest x on diagonal k after d edits, from the furthest ones after d - 1 edits; `reached`
 * points to diagonal 0. */
static int first_step(const int *reached, int k, int d)
{
	if (k == -d || (k != d && reached[k - 1] < reached[k + 1]))
		return reached[k + 1];
	return reached[k - 1] + 1;
}

/* Walks back from the end and marks the lines that each edit removes or adds. rows[d] points to
 * diagonal 0 of the furthest x before edit d. */
static void mark_edits(const struct middle *m, int *const *rows, int edits)
{
	int x = m->a_count, y = m->b_count;

	for (int d = edits; d > 0; d--) {
		const int *reached = rows[d];
		int k = x - y;
		bool is_added = k == -d || (k != d && reached[k - 1] < reached[k + 1]);

		x = is_added ? reached[k + 1] : reached[k - 1];
		y = x - (is_added ? k + 1 : k - 1);
		if (is_added)
			m->b->changed[m->from + y] = true;
		else
			m->a->changed[m->from + x] = true;
	}
}

/* One round: extends every diagonal by an edit and the equal lines behind it. True: the end of both
 * texts is reached. */
static bool extend_diagonals(const struct middle *m, int *reached, int d)
{
	for (int k = -d; k <= d; k += 2) {
		int x = first_step(reached, k, d), y = x - k;

		while (x < m->a_count && y < m->b_count && x >= 0 && y >= 0 &&
		       is_same_at(m, x, y)) {
			x++;
			y++;
		}
		reached[k] = x;
		if (x >= m->a_count && y >= m->b_count)
			return true;
	}
	return false;
}

/* False: more than DIFF_EDITS_MAX edits are needed. */
static bool find_edits(const struct middle *m)
{
	enum { WIDTH = 2 * DIFF_EDITS_MAX + 3 };
	AUTO_FREE int *reached = mem_array(WIDTH, sizeof *reached);
	AUTO_FREE int *kept = mem_array((size_t)(DIFF_EDITS_MAX + 1) * WIDTH, sizeof *kept);
	int *rows[DIFF_EDITS_MAX + 1], *center = reached + DIFF_EDITS_MAX + 1;

	for (int d = 0; d <= DIFF_EDITS_MAX; d++) {
		rows[d] = kept + (size_t)d * WIDTH + DIFF_EDITS_MAX + 1;
		memcpy(rows[d] - d - 1, center - d - 1, (size_t)(2 * d + 3) * sizeof *reached);
		if (extend_diagonals(m, center, d)) {
			mark_edits(m, rows, d);
			return true;
		}
	}
	return false;
}

static void mark_changes(struct side *a, struct side *b)
{
	struct middle m = { .a = a, .b = b };
	int end = 0;

	while (m.from < a->count && m.from < b->count && is_same_line(a, m.from, b, m.from))
		m.from++;
	while (a->count - end > m.from && b->count - end > m.from &&
	       is_same_line(a, a->count - end - 1, b, b->count - end - 1))
		end++;
	m.a_count = a->count - end - m.from;
	m.b_count = b->count - end - m.from;
	if (find_edits(&m))
		return;
	for (int i = 0; i < m.a_count; i++)
		a->changed[m.from + i] = true;
	for (int i = 0; i < m.b_count; i++)
		b->changed[m.from + i] = true;
}

/* --- hunks ------------------------------------------------------------------------------- */

/* Appends a line with its tabs as they are. A line that does not fit is not begun. */
static bool put_line(struct buf *out, char sign, struct view line)
{
	char text[DIFF_LINE_MAX + 16] = { sign }, piece[DIFF_LINE_MAX + 16];
	bool has_end = line.len != 0 && line.ptr[line.len - 1] == '\n';
	size_t used = 1;
	struct error full;

	line.len -= has_end;
	while (line.len != 0 && used < DIFF_LINE_MAX) {
		const char *tab = memchr(line.ptr, '\t', line.len);
		struct view part = { line.ptr, tab != NULL ? (size_t)(tab - line.ptr) : line.len };
		size_t len;

		(void)utf8_escape(part, piece, DIFF_LINE_MAX - used + 8);
		len = strlen(piece);
		memcpy(text + used, piece, len);
		used += len;
		if (tab != NULL)
			text[used++] = '\t';
		part.len += tab != NULL;
		line.ptr += part.len;
		line.len -= part.len;
	}
	text[used] = '\0';
	return buf_printf(out, &full, "%s\n%s", text,
	                  has_end ? "" : "\\ No newline at end of file\n") == 0;
}

/* Moves *i and *j over equal lines to the next change. False: both texts end before one. */
static bool skip_equal(const struct side *a, const struct side *b, int *i, int *j)
{
	while (*i < a->count && *j < b->count && !a->changed[*i] && !b->changed[*j]) {
		++*i;
		++*j;
	}
	return *i < a->count || *j < b->count;
}

static void skip_changed(const struct side *side, int *i)
{
	while (*i < side->count && side->changed[*i])
		++*i;
}

/* A hunk begins CONTEXT lines before its first change and ends where the next change is further
 * away than twice that. */
static void find_hunk_end(const struct side *a, const struct side *b, int *i, int *j)
{
	for (;;) {
		int next_i, next_j;

		skip_changed(a, i);
		skip_changed(b, j);
		next_i = *i;
		next_j = *j;
		if (!skip_equal(a, b, &next_i, &next_j) || next_i - *i > 2 * CONTEXT)
			break;
		*i = next_i;
		*j = next_j;
	}
	for (int n = 0; n < CONTEXT && *i < a->count && *j < b->count; n++) {
		++*i;
		++*j;
	}
}

static bool put_hunk(const struct side *a, const struct side *b, int i, int j, int end_i, int end_j,
                     struct buf *out)
{
	struct error full;

	/* In an empty range the number is that of the line before it. */
	if (buf_printf(out, &full, "@@ -%d,%d +%d,%d @@\n", end_i > i ? i + 1 : i, end_i - i,
	               end_j > j ? j + 1 : j, end_j - j) < 0)
		return false;
	while (i < end_i || j < end_j) {
		bool fits;

		if (i < end_i && a->changed[i])
			fits = put_line(out, '-', a->lines[i++]);
		else if (j < end_j && b->changed[j])
			fits = put_line(out, '+', b->lines[j++]);
		else {
			assert(i < end_i && j < end_j);
			fits = put_line(out, ' ', a->lines[i++]);
			j++;
		}
		if (!fits)
			return false;
	}
	return true;
}

static bool put_hunks(const struct side *a, const struct side *b, struct buf *out)
{
	int i = 0, j = 0;

	while (skip_equal(a, b, &i, &j)) {
		int back = i < j ? i : j, end_i = i, end_j = j;

		back = back < CONTEXT ? back : CONTEXT;
		find_hunk_end(a, b, &end_i, &end_j);
		if (!put_hunk(a, b, i - back, j - back, end_i, end_j, out))
			return false;
		i = end_i;
		j = end_j;
	}
	return true;
}

bool diff_lines(struct view before, struct view after, struct buf *out)
{
	struct side a = { 0 }, b = { 0 };
	bool fits;

	split_lines(before, &a);
	split_lines(after, &b);
	mark_changes(&a, &b);
	fits = put_hunks(&a, &b, out);
	free_side(&a);
	free_side(&b);
	return fits;
}
