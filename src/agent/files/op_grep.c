/* op_grep.c - the lines of files that contain a text or match an expression (GREP).
 *
 * Below a directory (walk.h says which ones are entered) all regular files whose names match
 * `names` are searched, or the one file that the path leads to, whatever its name. Passed over are
 * files larger than `max`, files that look binary (a NUL in the first 8 KiB), and files that cannot
 * be opened or read. Of a file that has no size or grows meanwhile the first `max` bytes are
 * searched.
 *
 * Lines may have any length; of a long one the first 64 KiB are searched (search.h: less for
 * expressions). A CR in front of the LF does not count. Of a line's text the first 1024 bytes are
 * sent. MORE means that there was one more match when the limit was reached, or a path was too
 * long. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/files/ops.h"
#include "agent/files/path.h"
#include "agent/files/search.h"
#include "agent/files/walk.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/text/glob.h"
#include "base/text/utf8.h"
#include "base/tree/open_child.h"

enum { TEXT_MAX = 1024, BINARY_CHECK = 8 * 1024 };

struct grep {
	struct job *job;
	const struct wire_grep *request;
	struct wire_done answer;
	struct search search;
	struct glob names;
	struct walk walk;
	/* of the file being searched */
	struct view path;
	uint64_t line; /* number of the line that starts at `start` */
	uint64_t left; /* bytes that may still be read */
	bool skipping; /* within a line whose first part has been searched */
	size_t start, end;
	char buffer[SEARCH_LINE_MAX];
};

static struct grep *grep_free(struct grep *grep)
{
	search_done(&grep->search);
	walk_done(&grep->walk);
	free(grep);
	return NULL;
}
DEFINE_CLEANUP(grep)

static bool is_full(const struct grep *grep)
{
	return (grep->answer.flags & WIRE_DONE_MORE) != 0;
}

static int send_match(struct grep *grep, struct view line, size_t at, struct error *err)
{
	struct wire_match match = {
		.line = grep->line,
		.column = (uint32_t)at + 1,
		.path = grep->path,
		.text = { line.ptr, utf8_prefix(line.ptr, line.len, TEXT_MAX) },
	};

	if (grep->answer.count == grep->request->limit) {
		grep->answer.flags |= WIRE_DONE_MORE;
		return 0;
	}
	grep->answer.count++;
	return job_record(grep->job, WIRE_MATCHES, &wire_match_record, &match, err);
}

static int search_one_line(struct grep *grep, struct view line, struct error *err)
{
	size_t at = 0;
	int found;

	if (line.len != 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	found = search_line(&grep->search, line, &at, err);
	return found <= 0 ? found : send_match(grep, line, at, err);
}

/* Counts the lines in the next `len` bytes, which end with a line feed. */
static void skip_lines(struct grep *grep, size_t len)
{
	struct view rest = { grep->buffer + grep->start, len }, line;

	while (view_next_line(&rest, &line))
		grep->line++;
	grep->start += len;
	grep->skipping = false;
}

/* Searches the complete lines in the buffer; the start of a line remains. */
static int search_lines(struct grep *grep, struct error *err)
{
	struct view all = { grep->buffer + grep->start, grep->end - grep->start };
	const char *end = all.len != 0 ? memrchr(all.ptr, '\n', all.len) : NULL;

	if (end == NULL)
		return 0;
	all.len = (size_t)(end - all.ptr) + 1;
	if (!search_maybe(&grep->search, all)) {
		skip_lines(grep, all.len);
		return 0;
	}
	while (!is_full(grep) && grep->start < grep->end &&
	       (end = memchr(grep->buffer + grep->start, '\n', grep->end - grep->start)) != NULL) {
		struct view line = { grep->buffer + grep->start, 0 };

		line.len = (size_t)(end - line.ptr);
		if (!grep->skipping && search_one_line(grep, line, err) < 0)
			return -1;
		grep->skipping = false;
		grep->line++;
		grep->start += line.len + 1;
	}
	return 0;
}

/* Searches the rest of the buffer as one line: the last of the file, or one that is too long. */
static int search_rest(struct grep *grep, struct error *err)
{
	struct view line = { grep->buffer + grep->start, grep->end - grep->start };

	grep->start = grep->end = 0;
	return grep->skipping || line.len == 0 ? 0 : search_one_line(grep, line, err);
}

/* Fills the buffer. 1: more may follow; 0: the end of the file or `max`; -1 and errno. */
static int fill_buffer(struct grep *grep, int fd)
{
	if (grep->start != 0)
		memmove(grep->buffer, grep->buffer + grep->start, grep->end - grep->start);
	grep->end -= grep->start;
	grep->start = 0;
	while (grep->end < sizeof grep->buffer && grep->left != 0) {
		size_t room = sizeof grep->buffer - grep->end;
		ssize_t n = read(fd, grep->buffer + grep->end,
		                 room < grep->left ? room : (size_t)grep->left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return (int)n;
		grep->end += (size_t)n;
		grep->left -= (uint64_t)n;
	}
	return grep->left != 0;
}

static bool looks_binary(const struct grep *grep)
{
	size_t len = grep->end < BINARY_CHECK ? grep->end : BINARY_CHECK;

	return len != 0 && memchr(grep->buffer, '\0', len) != NULL;
}

/* 0: searched; 1: reading failed, with errno; -1: an error of the whole operation. */
static int search_file(struct grep *grep, int fd, struct error *err)
{
	bool first = true;
	int more;

	grep->line = 1;
	grep->left = grep->request->max;
	grep->skipping = false;
	grep->start = grep->end = 0;
	do {
		more = fill_buffer(grep, fd);
		if (more < 0)
			return 1;
		if (first && looks_binary(grep))
			return 0;
		first = false;
		if (search_lines(grep, err) < 0)
			return -1;
		if (more != 0 && grep->start == 0 && grep->end == sizeof grep->buffer) {
			if (search_rest(grep, err) < 0)
				return -1;
			grep->skipping = true;
		}
	} while (more != 0 && !is_full(grep));
	return is_full(grep) ? 0 : search_rest(grep, err);
}

/* Between lstat(2) and open the name may have become a FIFO or a device. */
static bool is_wanted(const struct grep *grep, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size <= grep->request->max;
}

static int search_entry(struct grep *grep, const struct walk_entry *entry, struct error *err)
{
	AUTO_FD int fd = -1;

	if (!S_ISREG(entry->st.st_mode) ||
	    (grep->request->names.len != 0 &&
	     !glob_match_lines(&grep->names, grep->request->names, 0, entry->path)))
		return 0;
	fd = open_resolved(entry->dir, entry->name, O_RDONLY | O_NOFOLLOW, 0, 0);
	if (fd < 0 || !is_wanted(grep, fd))
		return 0;
	grep->path = entry->path;
	return search_file(grep, fd, err) < 0 ? -1 : 0;
}

/* Takes over `dir`. */
static int search_below(struct grep *grep, int dir, struct error *err)
{
	struct walk_entry entry;
	char shown[PATH_SHOW_SIZE];
	int got;

	walk_init(&grep->walk, dir, grep->request->depth,
	          (grep->request->flags & WIRE_WALK_HIDDEN) != 0);
	while (!is_full(grep) && (got = walk_next(&grep->walk, &entry, err)) != 0) {
		if (got < 0)
			return error_wrap(err, "%s", path_show(grep->request->path, shown));
		if (search_entry(grep, &entry, err) < 0)
			return -1;
	}
	if (grep->walk.skipped_long_paths)
		grep->answer.flags |= WIRE_DONE_MORE;
	return 0;
}

static int search_path(struct grep *grep, struct error *err)
{
	AUTO_FD int fd = path_open_file(grep->job, grep->request->path, err);
	int failed;

	if (fd < 0)
		return -1;
	if (!is_wanted(grep, fd))
		return 0;
	grep->path = grep->request->path;
	failed = search_file(grep, fd, err);
	return failed > 0 ? path_error(grep->path, err) : failed;
}

int op_grep(struct job *job, const struct wire_grep *request, struct wire_done *done,
            struct error *err)
{
	AUTO(grep) struct grep *grep = mem_new(sizeof *grep);
	struct error ignored;
	int dir;

	grep->job = job;
	grep->request = request;
	if (search_init(&grep->search, request->pattern, request->flags, err) < 0)
		return -1;
	/* If this fails the path is a file, or opening it as a file tells what is wrong. */
	dir = path_open_directory(job, request->path, &ignored);
	if ((dir >= 0 ? search_below(grep, dir, err) : search_path(grep, err)) < 0 ||
	    job_flush(job, err) < 0)
		return -1;
	*done = grep->answer;
	return 0;
}
