#include "base/trusted/trusted_names.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "base/error.h"
#include "base/text/utf8.h"
#include "base/view.h"

/* A path of the host, and below it the name of an entry in an archive. */
enum { FOLDED_MAX = 5 * PATH_MAX };

/* --- folding ----------------------------------------------------------------------------- */

/* Code points that ext4 with the casefold feature, or HFS+, leaves out when it compares names. */
static const struct {
	uint32_t from, to;
} ignorable[] = {
	{ 0xad, 0xad },       { 0x34f, 0x34f },   { 0x61c, 0x61c },     { 0x115f, 0x1160 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f }, { 0x200b, 0x200f },   { 0x202a, 0x202e },
	{ 0x2060, 0x206f },   { 0x3164, 0x3164 }, { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
	{ 0xffa0, 0xffa0 },   { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
	{ 0xe0000, 0xe0fff },
};

/* All code points above U+007F whose full case folding consists of ASCII letters. */
static const struct {
	uint32_t point;
	const char *letters;
} ascii_folds[] = {
	{ 0xdf, "ss" },    { 0x17f, "s" },   { 0x1e9e, "ss" }, { 0x212a, "k" },
	{ 0xfb00, "ff" },  { 0xfb01, "fi" }, { 0xfb02, "fl" }, { 0xfb03, "ffi" },
	{ 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

static bool is_ignorable(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_LEN(ignorable); i++)
		if (point >= ignorable[i].from && point <= ignorable[i].to)
			return true;
	return false;
}

static const char *find_ascii_fold(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_LEN(ascii_folds); i++)
		if (point == ascii_folds[i].point)
			return ascii_folds[i].letters;
	return NULL;
}

/* Writes the folded form of the first character of v, never longer than the character; returns its
 * length. */
static size_t fold_char(struct view v, size_t *consumed, char *out)
{
	size_t n = utf8_char_len(v);
	const char *letters;
	uint32_t point;

	*consumed = n != 0 ? n : 1;
	if (n <= 1) {
		/* A backslash separates names on file servers and disks of Windows. */
		out[0] = v.ptr[0] == '\\' ? '/' : (char)tolower((unsigned char)v.ptr[0]);
		return 1;
	}
	point = utf8_code_point(v.ptr, n);
	if (is_ignorable(point))
		return 0;
	letters = find_ascii_fold(point);
	if (letters != NULL)
		n = strlen(letters);
	memcpy(out, letters != NULL ? letters : v.ptr, n);
	return n;
}

/* A path that is longer than any path of the host is cut at its end, behind the names that a rule
 * could be about: the kernel refuses such a path itself. */
static struct view fold_path(const char *path, char out[FOLDED_MAX])
{
	struct view rest = view_of(path);
	size_t used = 0;

	if (rest.len > FOLDED_MAX)
		rest.len = FOLDED_MAX;
	while (rest.len != 0) {
		size_t consumed;

		used += fold_char(rest, &consumed, out + used);
		rest.ptr += consumed;
		rest.len -= consumed;
	}
	return (struct view){ out, used };
}

/* --- names ------------------------------------------------------------------------------- */

/* Cuts the first part off *rest, up to the separator. False: there is none. */
static bool next_part(struct view *rest, char separator, struct view *ret)
{
	const char *end;

	while (rest->len != 0 && rest->ptr[0] == separator) {
		rest->ptr++;
		rest->len--;
	}
	if (rest->len == 0)
		return false;
	end = memchr(rest->ptr, separator, rest->len);
	*ret = (struct view){ rest->ptr, end != NULL ? (size_t)(end - rest->ptr) : rest->len };
	rest->ptr += ret->len;
	rest->len -= ret->len;
	return true;
}

/* NTFS ignores dots and spaces at the end of a name, and a colon begins the name of a stream of the
 * same file. */
static struct view trim_name(struct view name)
{
	const char *colon = memchr(name.ptr, ':', name.len);

	if (colon != NULL)
		name.len = (size_t)(colon - name.ptr);
	while (name.len != 0 && (name.ptr[name.len - 1] == '.' || name.ptr[name.len - 1] == ' '))
		name.len--;
	return name;
}

/* '*' in the pattern stands for any characters. */
static bool match_text(struct view pattern, struct view text)
{
	size_t star = SIZE_MAX, from = 0, p = 0, t = 0;

	while (t < text.len) {
		if (p < pattern.len && pattern.ptr[p] == '*') {
			star = p++;
			from = t;
		} else if (p < pattern.len && pattern.ptr[p] == text.ptr[t]) {
			p++;
			t++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			t = ++from;
		} else
			return false;
	}
	while (p < pattern.len && pattern.ptr[p] == '*')
		p++;
	return p == pattern.len;
}

/* Splits a name into what FAT's short form is made of: the text up to the last dot, without a dot
 * in front, and up to three letters behind. */
static void split_long_name(struct view name, struct view *ret_base, struct view *ret_end)
{
	const char *dot;

	while (name.len != 0 && name.ptr[0] == '.') {
		name.ptr++;
		name.len--;
	}
	dot = memrchr(name.ptr, '.', name.len);
	*ret_base = (struct view){ name.ptr, dot != NULL ? (size_t)(dot - name.ptr) : name.len };
	*ret_end = (struct view){ name.ptr + name.len, 0 };
	if (dot != NULL)
		*ret_end = (struct view){ dot + 1, name.len - ret_base->len - 1 };
	if (ret_end->len > 3)
		ret_end->len = 3;
}

static bool is_equal(struct view a, struct view b)
{
	return a.len == b.len && memcmp(a.ptr, b.ptr, a.len) == 0;
}

/* FAT and NTFS give ".git" the second name "git~1": six letters of the long name, or two and four
 * digits of a checksum, then '~' and a number. */
static bool match_short_name(struct view pattern, struct view name)
{
	const char *tilde = memrchr(name.ptr, '~', name.len), *after;
	struct view base, end, stem, rest;
	size_t len;

	if (tilde == NULL || memchr(pattern.ptr, '*', pattern.len) != NULL)
		return false;
	stem = (struct view){ name.ptr, (size_t)(tilde - name.ptr) };
	for (after = tilde + 1; after < name.ptr + name.len && isdigit((unsigned char)*after);)
		after++;
	rest = (struct view){ after, (size_t)(name.ptr + name.len - after) };
	split_long_name(pattern, &base, &end);
	if (after == tilde + 1 || stem.len < 2 || base.len < 2)
		return false;
	if (rest.len != 0 && rest.ptr[0] != '.')
		return false;
	if (rest.len != 0)
		rest = (struct view){ rest.ptr + 1, rest.len - 1 };
	len = stem.len == 6 && memcmp(stem.ptr, base.ptr, 2) == 0 &&
	                      strspn(stem.ptr + 2, "0123456789abcdef") >= 4
	              ? 2
	              : (base.len < stem.len ? base.len : stem.len);
	return is_equal(rest, end) && memcmp(stem.ptr, base.ptr, len) == 0 &&
	       (len == 2 || stem.len == len);
}

static bool match_name(struct view pattern, struct view name, bool is_exact)
{
	name = is_exact ? name : trim_name(name);
	return match_text(pattern, name) || (!is_exact && match_short_name(pattern, name));
}

/* --- patterns ---------------------------------------------------------------------------- */

/* Whether the path begins with the names of the pattern. *ends: it has no further names. */
static bool match_front(struct view pattern, struct view path, bool is_exact, bool *ends)
{
	struct view want, name, more;

	while (next_part(&pattern, '/', &want))
		if (!next_part(&path, '/', &name) || !match_name(want, name, is_exact))
			return false;
	*ends = !next_part(&path, '/', &more);
	return true;
}

/* Whether one of the exceptions matches the names at the front of the path. Exceptions are compared
 * exactly, without the rules for other file systems: a name that only resembles the name of a
 * harmless file is no exception. */
static bool is_excepted(const struct trusted_kind *kind, struct view path)
{
	struct view rest, pattern;
	bool ends;

	if (kind->except == NULL)
		return false;
	rest = view_of(kind->except);
	while (next_part(&rest, ' ', &pattern))
		if (match_front(pattern, path, true, &ends))
			return true;
	return false;
}

/* --- the index --------------------------------------------------------------------------- */

/* A copy has many entries, and the table many patterns: they are looked up by the first letter of
 * their first name, for names with and without a dot in front. Patterns that begin with '*' or '/'
 * are in the list ANY. */
enum { ANY = 0, DOT_KEYS = 128, KEYS = 256, PATTERNS_MAX = 1000 };

struct pattern {
	struct view text;
	size_t kind;
	size_t next; /* of the same list, counted from 1; 0: none */
};

struct pattern_index {
	size_t count;
	size_t first[KEYS];
	struct pattern at[PATTERNS_MAX];
};

static size_t key_of(struct view name)
{
	if (name.ptr[0] == '*' || name.ptr[0] == '/')
		return ANY;
	if (name.ptr[0] == '.')
		return DOT_KEYS + (name.len > 1 ? (unsigned char)name.ptr[1] % DOT_KEYS : 0);
	return (unsigned char)name.ptr[0] % DOT_KEYS;
}

static const struct pattern_index *get_index(void)
{
	static struct pattern_index index; /* built at the first call */

	if (index.count != 0)
		return &index;
	for (size_t i = 0; i < trusted_kind_count; i++) {
		struct view rest = view_of(trusted_kinds[i].patterns), text;

		while (next_part(&rest, ' ', &text)) {
			assert(index.count < PATTERNS_MAX);
			index.at[index.count++] = (struct pattern){ .text = text, .kind = i };
		}
	}
	for (size_t i = 0; i < index.count; i++) {
		size_t key = key_of(index.at[i].text);

		index.at[i].next = index.first[key];
		index.first[key] = i + 1;
	}
	return &index;
}

/* A search of the table: the path, and the best row so far. */
struct search {
	const char *start;
	bool is_directory;
	uint64_t allowed;
	size_t kind; /* trusted_kind_count: none */
};

static void try_pattern(struct search *search, const struct pattern *pattern, struct view path)
{
	const struct trusted_kind *kind = &trusted_kinds[pattern->kind];
	bool ends;

	if (pattern->kind >= search->kind || (search->allowed & UINT64_C(1) << pattern->kind) != 0)
		return;
	if (pattern->text.ptr[0] == '/' && path.ptr != search->start)
		return;
	if (match_front(pattern->text, path, false, &ends) && !is_excepted(kind, path) &&
	    (!kind->only_files || (ends && !search->is_directory)))
		search->kind = pattern->kind;
}

static void try_list(struct search *search, const struct pattern_index *index, size_t key,
                     struct view path)
{
	for (size_t i = index->first[key]; i != 0; i = index->at[i - 1].next)
		try_pattern(search, &index->at[i - 1], path);
}

/* Tries the patterns that can match the names at the front of the path. A short name of FAT lacks
 * the dot and has other letters, so it is compared with all of them. */
static void try_front(struct search *search, const struct pattern_index *index, struct view path)
{
	struct view rest = path, name;

	if (!next_part(&rest, '/', &name))
		return;
	if (memchr(name.ptr, '~', name.len) != NULL)
		for (size_t i = 0; i < index->count; i++)
			try_pattern(search, &index->at[i], path);
	try_list(search, index, ANY, path);
	if (key_of(name) != ANY)
		try_list(search, index, key_of(name), path);
}

int trusted_kind_of(const char *path, bool is_directory, uint64_t allowed)
{
	char text[FOLDED_MAX];
	struct view rest = fold_path(path, text), skipped;
	struct search search = { .start = text,
		                 .is_directory = is_directory,
		                 .allowed = allowed,
		                 .kind = trusted_kind_count };

	do
		try_front(&search, get_index(), rest);
	while (next_part(&rest, '/', &skipped));
	return search.kind < trusted_kind_count ? (int)search.kind : -1;
}

/* --- sets -------------------------------------------------------------------------------- */

static bool find_kind(struct view name, uint64_t *ret)
{
	for (size_t i = 0; i < trusted_kind_count; i++)
		if (view_is(name, trusted_kinds[i].name)) {
			*ret = UINT64_C(1) << i;
			return true;
		}
	*ret = TRUSTED_EXECUTABLES - 1;
	return view_is(name, "all");
}

int trusted_parse(const char *list, uint64_t *ret, struct error *err)
{
	struct view rest = view_of(list), name;
	uint64_t set = 0, one;

	while (next_part(&rest, ',', &name)) {
		if (!find_kind(name, &one))
			return error_set(err, ERR_INVALID,
			                 "'%s' is not a kind of trusted files: write 'all', or "
			                 "names from the list in 'man belljar'",
			                 UTF8_ESCAPED(name, 80));
		set |= one;
	}
	*ret = set;
	return 0;
}
