#include "tools/files/file_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/text/utf8.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"
#include "tools/files/changed_files.h"
#include "tools/packages/project_files.h"

enum {
	NEIGHBOURS = 10, /* names of a directory in an error */
	SHOWN = 160,
	STAT_MAX = 16 * 1024,
	LIST_MAX = 64 * 1024,
	MEMORY_MAX = 64 * 1024 * 1024, /* file contents in memory, of all calls together */
};

/* --- requests --------------------------------------------------------------------------- */

static void on_reply(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct file_work *file = ctx;

	file->op = NULL;
	if (why != NULL)
		file->failed(file, why);
	else
		file->next(file, reply);
}

void file_work_request_or(struct file_work *file, const struct wire_message *request,
                          struct view content, size_t max, file_work_fn *next,
                          file_work_error_fn *failed)
{
	struct channel *channel = sandbox_channel(file->work.sandbox);
	struct error err;
	int sent;

	file->next = next;
	file->failed = failed;
	if (channel == NULL)
		sent = work_sandbox_gone(&err);
	else
		sent = files_start(channel, request, content, max, on_reply, file, &file->op, &err);
	if (sent < 0)
		failed(file, &err);
}

void file_work_request(struct file_work *file, const struct wire_message *request,
                       struct view content, size_t max, file_work_fn *next)
{
	file_work_request_or(file, request, content, max, next, file_work_fail_path);
}

void file_work_stat_or(struct file_work *file, const char *path, bool follow, file_work_fn *next,
                       file_work_error_fn *failed)
{
	const struct wire_message request = {
		.type = WIRE_STAT,
		.stat = { .flags = follow ? 0 : WIRE_NOFOLLOW, .path = view_of(path) },
	};

	file_work_request_or(file, &request, (struct view){ 0 }, STAT_MAX, next, failed);
}

void file_work_stat(struct file_work *file, const char *path, bool follow, file_work_fn *next)
{
	file_work_stat_or(file, path, follow, next, file_work_fail_path);
}

/* Unpacking an archive without entries creates its target. */
void file_work_make_directory(struct file_work *file, const char *path, file_work_fn *next)
{
	static const char empty_archive[1024]; /* two blocks of zeros end a tar archive */
	const struct wire_message request = { .type = WIRE_UNPACK,
		                              .unpack = { .max_count = 1, .path = view_of(path) } };

	file_work_request(file, &request, (struct view){ empty_archive, sizeof empty_archive },
	                  STAT_MAX, next);
}

void file_work_write(struct file_work *file, const char *path, struct view content,
                     file_work_fn *next)
{
	const struct wire_message request = {
		.type = WIRE_WRITE,
		.write = { .mode = WIRE_WRITE_REPLACE,
		           .flags = WIRE_PARENTS,
		           .perm = 0644,
		           .max = content.len,
		           .path = view_of(path) },
	};

	file_work_request(file, &request, content, STAT_MAX, next);
}

void file_work_read(struct file_work *file, enum wire_unit unit, uint64_t from, uint64_t count,
                    size_t max, file_work_fn *next)
{
	const struct wire_message request = {
		.type = WIRE_READ,
		.read = { .unit = (uint8_t)unit,
		          .from = from,
		          .count = count,
		          .max = max,
		          .path = view_of(file->path) },
	};

	if (file_work_reserve(file, max))
		file_work_request(file, &request, (struct view){ 0 }, max, next);
}

struct wire_entry file_work_entry(const struct files_reply *reply)
{
	struct view rest = reply->bytes;
	struct wire_entry entry = { .type = WIRE_FILE_OTHER };

	(void)files_next_entry(&rest, &entry);
	return entry;
}

/* --- the call --------------------------------------------------------------------------- */

void file_work_done(struct work *work)
{
	struct file_work *file = container_of(work, struct file_work, work);

	files_cancel(TAKE_PTR(file->op));
	edit_lock_release(&file->lock);
	file_memory_release(&file->reserved);
}

static void on_locked(struct edit_lock *lock)
{
	struct file_work *file = container_of(lock, struct file_work, lock);

	file->locked(file);
}

void file_work_lock(struct file_work *file, void (*locked)(struct file_work *file))
{
	file->locked = locked;
	edit_lock_acquire(&file->lock, mcp_call_loop(file->work.call),
	                  sandbox_row(file->work.sandbox)->spec.id, file->path, on_locked);
}

static size_t memory_reserved; /* the sum of all reservations in this process */

int file_memory_reserve(size_t *reserved, size_t bytes, struct error *err)
{
	size_t others = memory_reserved - *reserved;

	if (bytes > MEMORY_MAX - others)
		return error_set(
		        err, ERR_LIMIT,
		        "too many large files at once: calls under way hold %zu bytes of at most "
		        "%d, and this one needs %zu; try again when they are done",
		        others, MEMORY_MAX, bytes);
	memory_reserved = others + bytes;
	*reserved = bytes;
	return 0;
}

void file_memory_release(size_t *reserved)
{
	memory_reserved -= *reserved;
	*reserved = 0;
}

bool file_work_reserve(struct file_work *file, size_t bytes)
{
	struct error err;

	if (file_memory_reserve(&file->reserved, bytes, &err) == 0)
		return true;
	work_fail(&file->work, &err);
	return false;
}

void file_work_fail(struct file_work *file, enum error_kind kind, const char *fmt, ...)
{
	struct error err;
	char text[sizeof err.msg];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	(void)error_set(&err, kind, "%s", text);
	work_fail(&file->work, &err);
}

/* --- errors about the path -------------------------------------------------------------- */

/* Whether the entry is the symbolic link that the path names. */
static bool is_this_link(const struct wire_entry *entry, const char *path)
{
	const char *slash = strrchr(path, '/');

	return entry->type == WIRE_FILE_LINK &&
	       view_is(entry->path, slash != NULL ? slash + 1 : path);
}

static void fail_broken_link(struct file_work *file, struct view target)
{
	file_work_fail(file, ERR_NOT_FOUND, "'%s' is a link to '%s', which does not exist",
	               UTF8_ESCAPED(view_of(file->path), SHOWN), UTF8_ESCAPED(target, SHOWN));
}

/* The reply to a LIST of the directory that the missing file would be in. */
static void on_neighbours(struct file_work *file, const struct files_reply *reply)
{
	struct view rest = reply->bytes;
	char names[200] = "";
	struct wire_entry entry;
	size_t used = 0;

	while (files_next_entry(&rest, &entry) && used < sizeof names) {
		if (is_this_link(&entry, file->path)) {
			fail_broken_link(file, entry.target);
			return;
		}
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s",
		                         used == 0 ? "" : ", ", UTF8_ESCAPED(entry.path, 48),
		                         entry.type == WIRE_FILE_DIRECTORY ? "/" : "");
	}
	file_work_fail(file, ERR_NOT_FOUND, "'%s' does not exist; %s%s%s",
	               UTF8_ESCAPED(view_of(file->path), SHOWN),
	               used != 0 ? "its directory has: " : "its directory is empty", names,
	               used >= sizeof names || (reply->done.flags & WIRE_DONE_MORE) != 0
	                       ? ", and more"
	                       : "");
}

static void on_no_directory(struct file_work *file, const struct error *why)
{
	(void)why;
	file_work_fail(file, ERR_NOT_FOUND,
	               "'%s' does not exist, and neither does the directory it would be in",
	               UTF8_ESCAPED(view_of(file->path), SHOWN));
}

static void request_neighbours(struct file_work *file)
{
	struct wire_message request = { .type = WIRE_LIST, .list = { .limit = NEIGHBOURS } };
	char directory[4096];
	size_t len = strlen(file->path);

	while (len > 1 && file->path[len - 1] == '/')
		len--;
	while (len != 0 && file->path[len - 1] != '/')
		len--;
	(void)snprintf(directory, sizeof directory, "%.*s", (int)len, file->path);
	request.list.path = view_of(len != 0 ? directory : ".");
	file_work_request_or(file, &request, (struct view){ 0 }, LIST_MAX, on_neighbours,
	                     on_no_directory);
}

static void fail_first_error(struct file_work *file, const struct error *why)
{
	(void)why;
	work_fail(&file->work, &file->path_error);
}

static void on_type(struct file_work *file, const struct files_reply *reply)
{
	if (file_work_entry(reply).type == WIRE_FILE_DIRECTORY)
		file_work_fail(file, ERR_INVALID,
		               "'%s' is a directory, not a file: list it instead",
		               UTF8_ESCAPED(view_of(file->path), SHOWN));
	else
		work_fail(&file->work, &file->path_error);
}

void file_work_fail_path(struct file_work *file, const struct error *why)
{
	char shown[SHOWN];

	file->path_error = *why;
	(void)utf8_escape(view_of(file->path), shown, sizeof shown);
	if (why->kind == ERR_NOT_FOUND && why->errnum != ENOTDIR)
		request_neighbours(file);
	else if (why->errnum == ENOTDIR)
		file_work_fail(file, ERR_INVALID,
		               "'%s' is not a directory, or a part of its path is not one", shown);
	else if (why->errnum == EACCES || why->errnum == EPERM || why->errnum == EROFS)
		file_work_fail(
		        file, ERR_INVALID,
		        "'%s' may not be reached or changed by the sandbox's user (%s); files "
		        "below %s and /tmp may",
		        shown, why->msg, file->home != NULL ? file->home : SPEC_WORKSPACE);
	else if (why->kind == ERR_INVALID && why->errnum == 0 && file->is_for_file)
		file_work_stat_or(file, file->path, true, on_type, fail_first_error);
	else
		work_fail_write(&file->work, why);
}

/* --- resources -------------------------------------------------------------------------- */

/* The characters that RFC 3986 allows in a path without percent-encoding. */
static bool is_uri_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("/-._~!$&'()*+,;=:@", c) != NULL);
}

int file_uri(const char *id, const char *path, struct buf *ret, struct error *err)
{
	AUTO_FREE char *normal = normalize_path(path);

	if (buf_printf(ret, err, "sandbox://%s", id) < 0)
		return -1;
	for (const char *c = normal; *c != '\0'; c++)
		if (buf_printf(ret, err, is_uri_char(*c) ? "%c" : "%%%02X", (unsigned char)*c) < 0)
			return -1;
	return 0;
}

static void report_resource(const struct tools_context *context, const char *owner,
                            const char *sandbox, const char *path, bool and_below)
{
	AUTO_BUF struct buf uri;
	struct error too_long;

	buf_init(&uri, FILE_URI_MAX);
	if (file_uri(sandbox, path, &uri, &too_long) < 0)
		return;
	if (context->resource_changed != NULL)
		context->resource_changed(context->ctx, owner, buf_text(&uri));
	if (and_below && context->resources_below_changed != NULL)
		context->resources_below_changed(context->ctx, owner, buf_text(&uri));
}

/* The resource has two URIs: with the sandbox's id, and with its name. */
static void report_both_uris(const struct tools_context *context, const struct sandbox_row *row,
                             const char *path, bool and_below)
{
	report_resource(context, row->owner, row->spec.id, path, and_below);
	if (row->name[0] != '\0')
		report_resource(context, row->owner, row->name, path, and_below);
}

void file_report_change(const struct work *work, const char *path, bool and_below)
{
	const struct sandbox_row *row = sandbox_row(work->sandbox);
	AUTO_FREE char *normal = normalize_path(path);

	changed_files_answered(row->spec.id, normal);
	project_files_changed(row->spec.id, normal, and_below);
	report_both_uris(work->context, row, path, and_below);
}

void file_report_changed_files(const struct tools_context *context, const struct sandbox_row *row,
                               const struct changed_files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		project_files_changed(row->spec.id, files->paths[i], false);
		report_both_uris(context, row, files->paths[i], false);
	}
}

/* --- parts of answers ------------------------------------------------------------------- */

const char *const file_type_names[WIRE_FILE_TYPE_COUNT] = {
	[WIRE_FILE_REGULAR] = "file",
	[WIRE_FILE_DIRECTORY] = "directory",
	[WIRE_FILE_LINK] = "link",
	[WIRE_FILE_OTHER] = "other",
};

size_t file_json_size(json_t *value)
{
	size_t len;

	free(json_write(value, &len));
	return len + 1;
}

const char *file_time(uint64_t ms, char out[FILE_TIME_SIZE])
{
	time_t seconds = (time_t)(ms / 1000);
	struct tm tm;

	if (ms > INT64_MAX || gmtime_r(&seconds, &tm) == NULL ||
	    strftime(out, FILE_TIME_SIZE, "%Y-%m-%d %H:%M", &tm) == 0)
		(void)snprintf(out, FILE_TIME_SIZE, "-");
	return out;
}
