#include "sandbox/copy/ignore.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "wire/tar.h"

struct rule {
	const char *pattern;    /* without '!' and the slashes around it */
	bool is_negated;        /* began with '!': includes a path again */
	bool is_directory_only; /* ended in '/' */
	bool is_anchored;       /* matched with the path below its directory, not with a name */
};

struct file {
	char *directory; /* with its slash; "" at the top */
	char *text;      /* cut into patterns */
	size_t depth;
	size_t rule_count;
	struct rule *rules;
};

/* State of matching, apart from the rules: ignore_has() does not change those. */
struct matching {
	uint64_t steps;      /* that are left */
	bool is_spent;       /* a match was given up */
	struct buf included; /* the last directory that is not left out, nor any above it */
	struct buf left_out; /* the last directory that is left out */
	struct glob glob;
};

struct ignore {
	struct file files[IGNORE_FILES_MAX]; /* those above before those below */
	size_t file_count, rule_count, text_bytes;
	struct matching *matching;
};

struct ignore *ignore_new(void)
{
	struct ignore *ignore = mem_new(sizeof *ignore);

	ignore->matching = mem_new(sizeof *ignore->matching);
	ignore->matching->steps = IGNORE_STEPS;
	buf_init(&ignore->matching->included, TAR_NAME_MAX);
	buf_init(&ignore->matching->left_out, TAR_NAME_MAX);
	return ignore;
}

struct ignore *ignore_free(struct ignore *ignore)
{
	for (size_t i = 0; ignore != NULL && i < ignore->file_count; i++) {
		free(ignore->files[i].directory);
		free(ignore->files[i].text);
		free(ignore->files[i].rules);
	}
	if (ignore != NULL) {
		buf_done(&ignore->matching->included);
		buf_done(&ignore->matching->left_out);
		free(ignore->matching);
	}
	free(ignore);
	return NULL;
}

/* --- reading rules ----------------------------------------------------------------- */

/* The length without spaces at the end; a space behind a backslash stays. */
static size_t without_spaces(const char *line, size_t len)
{
	while (len > 0 && line[len - 1] == ' ') {
		size_t slashes = 0;

		while (slashes < len - 1 && line[len - 2 - slashes] == '\\')
			slashes++;
		if (slashes % 2 == 1)
			break;
		len--;
	}
	return len;
}

/* Reads one line and terminates it in place. False: the line has no rule. */
static bool read_rule(char *line, size_t len, struct rule *ret)
{
	*ret = (struct rule){ 0 };
	if (len > 0 && line[len - 1] == '\r')
		len--;
	if (len == 0 || line[0] == '#' || len > IGNORE_PATTERN_MAX ||
	    memchr(line, '\0', len) != NULL)
		return false;
	len = without_spaces(line, len);
	if (len > 0 && line[0] == '!') {
		ret->is_negated = true;
		line++;
		len--;
	}
	if (len > 0 && line[len - 1] == '/') {
		ret->is_directory_only = true;
		len--;
	}
	if (len > 0 && line[0] == '/') {
		ret->is_anchored = true;
		line++;
		len--;
	}
	line[len] = '\0';
	ret->is_anchored |= memchr(line, '/', len) != NULL;
	ret->pattern = line;
	return len != 0 &&
	       line[len - 1] != '/'; /* "a//" matches nothing: no name ends in a slash */
}

static size_t count_lines(struct view text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.len; i++)
		n += text.ptr[i] == '\n';
	return n + 1;
}

static int read_rules(struct file *file, size_t len, size_t room, struct error *err)
{
	char *line = file->text, *end = file->text + len;

	if (len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0)
		line += 3;
	while (line < end) {
		char *lf = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((lf != NULL ? lf : end) - line);
		struct rule rule;

		if (read_rule(line, line_len, &rule)) {
			if (file->rule_count == room)
				return error_set(
				        err, ERR_LIMIT,
				        "all .gitignore files together have more than %d rules, "
				        "which is the maximum: copy a directory further down, "
				        "or without gitignore",
				        IGNORE_RULES_MAX);
			file->rules[file->rule_count++] = rule;
		}
		line += line_len + 1;
	}
	return 0;
}

/* The texts come from the source, which may be a sandbox: every one of them is bounded. */
static int check_room(const struct ignore *ignore, struct view text, struct error *err)
{
	if (ignore->file_count == IGNORE_FILES_MAX)
		return error_set(err, ERR_LIMIT,
		                 "more than %d .gitignore files, which is the maximum: "
		                 "copy without gitignore",
		                 IGNORE_FILES_MAX);
	if (text.len > IGNORE_FILE_MAX)
		return error_set(err, ERR_LIMIT,
		                 "a .gitignore of more than %d bytes, which is the maximum: "
		                 "copy without gitignore",
		                 IGNORE_FILE_MAX);
	if (text.len > IGNORE_TEXT_MAX - ignore->text_bytes)
		return error_set(err, ERR_LIMIT,
		                 "all .gitignore files together have more than %d bytes, "
		                 "which is the maximum: copy without gitignore",
		                 IGNORE_TEXT_MAX);
	return 0;
}

static size_t count_slashes(struct view path)
{
	size_t n = 0;

	for (size_t i = 0; i < path.len; i++)
		n += path.ptr[i] == '/';
	return n;
}

/* Inserts a file behind all that are not deeper. */
static void insert_file(struct ignore *ignore, const struct file *file)
{
	size_t at = ignore->file_count++;

	for (; at > 0 && ignore->files[at - 1].depth > file->depth; at--)
		ignore->files[at] = ignore->files[at - 1];
	ignore->files[at] = *file;
	ignore->rule_count += file->rule_count;
}

int ignore_add(struct ignore *ignore, struct view directory, struct view text, struct error *err)
{
	size_t room = IGNORE_RULES_MAX - ignore->rule_count, lines;
	struct file file = { 0 };
	int r;

	if (check_room(ignore, text, err) < 0)
		return -1;
	lines = count_lines(text);
	file.directory = mem_format("%.*s%s", (int)directory.len, directory.ptr,
	                            directory.len != 0 ? "/" : "");
	file.depth = directory.len != 0 ? count_slashes(directory) + 1 : 0;
	file.text = mem_dup_len(text.len != 0 ? text.ptr : "", text.len);
	file.rules = mem_array(lines < room ? lines : room + 1, sizeof *file.rules);
	r = read_rules(&file, text.len, room, err);
	if (r < 0) {
		free(file.directory);
		free(file.text);
		free(file.rules);
		return -1;
	}
	ignore->text_bytes += text.len;
	insert_file(ignore, &file);
	buf_clear(&ignore->matching->included);
	buf_clear(&ignore->matching->left_out);
	return 0;
}

/* --- matching paths ---------------------------------------------------------------- */

static bool rule_matches(const struct rule *rule, struct glob *glob, struct view path,
                         bool is_directory, uint64_t *steps)
{
	const char *slash;

	if (rule->is_directory_only && !is_directory)
		return false;
	if (!rule->is_anchored && (slash = memrchr(path.ptr, '/', path.len)) != NULL)
		path = (struct view){ slash + 1, path.len - (size_t)(slash + 1 - path.ptr) };
	glob_set(glob, view_of(rule->pattern), GLOB_GIT);
	return glob_match(glob, path, steps);
}

static bool is_git(struct view path)
{
	return view_is(path, ".git") ||
	       (path.len > 5 && memcmp(path.ptr + path.len - 5, "/.git", 5) == 0);
}

/* Whether the rules leave out this path, apart from the directories above it. */
static bool match_rules(const struct ignore *ignore, struct view path, bool is_directory,
                        uint64_t *steps)
{
	if (is_git(path))
		return true;
	for (size_t i = ignore->file_count; i-- > 0 && *steps != 0;) {
		const struct file *file = &ignore->files[i];
		size_t above = strlen(file->directory);

		(*steps)--;
		if (path.len <= above || memcmp(path.ptr, file->directory, above) != 0)
			continue;
		for (size_t j = file->rule_count; j-- > 0 && *steps != 0;) {
			struct view below = { path.ptr + above, path.len - above };

			if (rule_matches(&file->rules[j], &ignore->matching->glob, below,
			                 is_directory, steps))
				return !file->rules[j].is_negated;
		}
	}
	return false;
}

static bool is_below(struct view path, struct view directory)
{
	return directory.len != 0 && path.len > directory.len && path.ptr[directory.len] == '/' &&
	       memcmp(path.ptr, directory.ptr, directory.len) == 0;
}

/* How much of the path, up to a slash, is cached as included. */
static size_t known_prefix(const struct ignore *ignore, struct view path)
{
	struct view included = buf_view(&ignore->matching->included);
	size_t n = 0, at = 0;

	while (n < included.len && n < path.len && included.ptr[n] == path.ptr[n]) {
		if (included.ptr[n] == '/')
			at = n;
		n++;
	}
	return n == included.len && is_below(path, included) ? n : at;
}

/* Caches a directory. A path that is too long is not cached, and matched again each time. */
static void cache_directory(struct buf *buf, struct view path)
{
	buf_clear(buf);
	buf_put(buf, path);
}

static bool match_path(const struct ignore *ignore, struct view path, bool is_directory,
                       uint64_t *steps)
{
	size_t from = known_prefix(ignore, path), last = from;

	if (is_below(path, buf_view(&ignore->matching->left_out)))
		return true;
	for (size_t i = from + 1; i < path.len && *steps != 0; i++) {
		const struct view above = { path.ptr, i };

		if (path.ptr[i] != '/')
			continue;
		if (match_rules(ignore, above, true, steps)) {
			cache_directory(&ignore->matching->left_out, above);
			return true;
		}
		last = i;
	}
	if (last != from)
		cache_directory(&ignore->matching->included, (struct view){ path.ptr, last });
	return path.len != 0 && match_rules(ignore, path, is_directory, steps);
}

bool ignore_has(const struct ignore *ignore, struct view path, bool is_directory)
{
	struct matching *matching = ignore->matching;
	uint64_t had = matching->steps < IGNORE_LOOK_STEPS ? matching->steps : IGNORE_LOOK_STEPS;
	uint64_t left = had;
	bool found = !matching->is_spent && match_path(ignore, path, is_directory, &left);

	matching->steps -= had - left;
	matching->is_spent |= left == 0;
	return found;
}

int ignore_check(const struct ignore *ignore, struct error *err)
{
	if (!ignore->matching->is_spent)
		return 0;
	return error_set(err, ERR_LIMIT,
	                 "the .gitignore rules are too costly: copy without gitignore, "
	                 "or a smaller directory");
}

void ignore_credit(const struct ignore *ignore)
{
	ignore->matching->steps += IGNORE_ENTRY_STEPS;
	if (ignore->matching->steps > IGNORE_STEPS)
		ignore->matching->steps = IGNORE_STEPS;
}
