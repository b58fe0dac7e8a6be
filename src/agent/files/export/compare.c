#include "agent/files/export/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/diff.h"
#include "base/text/utf8.h"
#include "base/tree/open_child.h"
#include "wire/tar.h"

enum { HUNKS_MAX = 8 * 1024 }; /* bytes of one file's diff */

/* --- the present file -------------------------------------------------------------------- */

static bool is_same_link(const struct compare *compare)
{
	char to[TAR_NAME_MAX + 1];
	ssize_t n = readlinkat(compare->entry.dir, compare->entry.name, to, sizeof to);

	return n >= 0 && (size_t)n == strlen(compare->entry.link) &&
	       memcmp(to, compare->entry.link, (size_t)n) == 0;
}

static void find_old(struct compare *compare)
{
	const struct compare_entry *entry = &compare->entry;

	compare->exists = entry->dir >= 0 &&
	                  fstatat(entry->dir, entry->name, &compare->st, AT_SYMLINK_NOFOLLOW) == 0;
	compare->is_same = compare->exists && (compare->st.st_mode & S_IFMT) == entry->type;
	if (compare->is_same && entry->type == S_IFLNK)
		compare->is_same = is_same_link(compare);
	if (!compare->is_same || entry->type != S_IFREG)
		return;
	compare->old = open_resolved(entry->dir, entry->name, O_RDONLY | O_NOFOLLOW, 0, 0);
	compare->is_same = compare->old >= 0;
}

int compare_start(struct compare *compare, struct export *export, const struct compare_entry *entry,
                  struct error *err)
{
	*compare = (struct compare){ .export = export, .entry = *entry, .old = -1 };
	find_old(compare);
	if (compare->exists && S_ISDIR(compare->st.st_mode) && entry->type != S_IFDIR &&
	    entry->kind < 0)
		return error_set(err, ERR_INVALID,
		                 "a directory of that name is in the way: remove it first");
	if (export->is_preview && entry->kind < 0)
		buf_init(&compare->bytes, DIFF_TEXT_MAX);
	return 0;
}

/* Reads as many bytes of the present file as arrived of the new one. */
static bool has_same_bytes(int fd, struct view bytes)
{
	char old[4096];

	while (bytes.len != 0) {
		size_t want = bytes.len < sizeof old ? bytes.len : sizeof old;
		ssize_t n = read(fd, old, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || memcmp(old, bytes.ptr, (size_t)n) != 0)
			return false;
		bytes.ptr += n;
		bytes.len -= (size_t)n;
	}
	return true;
}

void compare_bytes(struct compare *compare, struct view bytes)
{
	size_t room = compare->bytes.max - compare->bytes.len;
	struct error full;

	compare->size += bytes.len;
	if (compare->is_same)
		compare->is_same = has_same_bytes(compare->old, bytes);
	if (bytes.len > room)
		bytes.len = room;
	if (bytes.len != 0)
		(void)!buf_add(&compare->bytes, bytes, &full);
}

/* --- the report -------------------------------------------------------------------------- */

static bool read_old(const struct compare *compare, struct buf *out)
{
	char bytes[4096];
	struct error full;
	ssize_t n;

	if (compare->old < 0)
		return !compare->exists || !S_ISREG(compare->st.st_mode);
	if (lseek(compare->old, 0, SEEK_SET) < 0)
		return false;
	while ((n = read(compare->old, bytes, sizeof bytes)) > 0)
		if (buf_add(out, (struct view){ bytes, (size_t)n }, &full) < 0)
			return false;
	return n == 0;
}

/* Appends the hunks of one text file. A file that is binary or large has none. */
static void add_hunks(const struct compare *compare)
{
	static char memory[HUNKS_MAX];
	struct buf hunks = buf_fixed(memory, sizeof memory), *diffs = &compare->export->diffs;
	char name[400];
	AUTO_BUF struct buf old;
	struct error full;
	bool fits;

	buf_init(&old, DIFF_TEXT_MAX);
	if (compare->size > DIFF_TEXT_MAX || !read_old(compare, &old) ||
	    !diff_is_text(buf_view(&compare->bytes)) || !diff_is_text(buf_view(&old)))
		return;
	(void)utf8_escape(view_of(compare->entry.path), name, sizeof name);
	fits = diff_lines(buf_view(&old), buf_view(&compare->bytes), &hunks);
	if (hunks.len != 0 &&
	    buf_printf(diffs, &full, "--- %s%s\n+++ b/%s\n%s%s",
	               compare->old >= 0 ? "a/" : "/dev/null", compare->old >= 0 ? name : "", name,
	               buf_text(&hunks), fits ? "" : "... (more changes of this file)\n") < 0)
		compare->export->unshown++;
}

static const char *type_name(mode_t mode)
{
	return S_ISREG(mode)   ? "file"
	       : S_ISLNK(mode) ? "link"
	       : S_ISDIR(mode) ? "directory"
	                       : "other";
}

/* Describes a file by sizes and modes. An existing file of the host keeps its permissions, but for
 * the executable bits. */
static void describe_file(const struct compare *compare, char *out, size_t size)
{
	const struct compare_entry *entry = &compare->entry;
	size_t used;

	if (compare->old < 0) {
		(void)snprintf(out, size, " (%" PRIu64 " bytes, mode %03o%s%s)", compare->size,
		               (unsigned)entry->mode, compare->exists ? ", in place of a " : "",
		               compare->exists ? type_name(compare->st.st_mode) : "");
		return;
	}
	used = (size_t)snprintf(out, size, " (%" PRIu64 " bytes, before %" PRIu64, compare->size,
	                        (uint64_t)compare->st.st_size);
	if ((compare->st.st_mode & 0777) != entry->mode)
		used += (size_t)snprintf(out + used, size - used, "; mode %03o, before %03o",
		                         (unsigned)entry->mode,
		                         (unsigned)(compare->st.st_mode & 0777));
	(void)snprintf(out + used, size - used, ")");
}

static void report_change(const struct compare *compare)
{
	const struct compare_entry *entry = &compare->entry;
	const char *what = compare->exists ? "changed   " : "new       ";
	char more[600], to[400];

	if (entry->type == S_IFDIR)
		(void)snprintf(more, sizeof more, "/");
	else if (entry->type == S_IFLNK)
		(void)snprintf(more, sizeof more, " (link to %s)",
		               utf8_escape(view_of(entry->link), to, sizeof to));
	else
		describe_file(compare, more, sizeof more);
	export_list(compare->export, what, entry->path, more);
	if (entry->type == S_IFREG && !compare->is_same)
		add_hunks(compare);
}

/* --- the end ----------------------------------------------------------------------------- */

void compare_cancel(struct compare *compare)
{
	if (compare->export == NULL)
		return;
	cleanup_fd(&compare->old);
	compare->old = -1;
	buf_done(&compare->bytes);
	compare->export = NULL;
}

void compare_end(struct compare *compare)
{
	const struct compare_entry *entry = &compare->entry;
	struct wire_done *done = compare->export->done;
	bool is_same;

	if (entry->type == S_IFREG && compare->is_same)
		compare->is_same = compare->size == (uint64_t)compare->st.st_size;
	is_same = compare->is_same && (entry->type != S_IFREG || entry->kind >= 0 ||
	                               entry->mode == (compare->st.st_mode & 0777));
	if (!is_same && entry->kind >= 0)
		export_leave_out(compare->export, entry->path, entry->type == S_IFDIR, entry->kind);
	else {
		/* An unchanged file counts as copied, but not in a preview. */
		done->count += !is_same || !compare->export->is_preview;
		done->bytes += is_same ? 0 : compare->size;
		done->total += entry->type != S_IFDIR;
		if (!is_same)
			report_change(compare);
	}
	compare_cancel(compare);
}
