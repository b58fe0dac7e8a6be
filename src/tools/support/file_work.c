#include "tools/support/file_work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text/utf8.h"
#include "sandbox/sandbox.h"
#include "tools/catalogue.h"

enum { NEIGHBOURS = 10, SHOWN = 160, LIST_MAX = 64 * 1024 };

static void on_answer(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct file_work *file = ctx;

	file->op = NULL;
	file->next(file, answer, why);
}

void file_work_ask(struct file_work *file, const struct wire_message *request, struct view content,
                   size_t max, file_work_fn *next)
{
	struct channel *channel = sandbox_channel(file->work.sandbox);
	struct error err;
	int asked;

	file->next = next;
	asked = channel == NULL ? work_sandbox_gone(&err)
	                        : files_start(channel, request, content, max, on_answer, file,
	                                      &file->op, &err);
	if (asked < 0)
		next(file, NULL, &err);
}

void file_work_stat(struct file_work *file, const char *path, bool follow, file_work_fn *next)
{
	const struct wire_message request = {
		.type = WIRE_STAT,
		.stat = { .flags = follow ? 0 : WIRE_NOFOLLOW, .path = view_of(path) },
	};

	file_work_ask(file, &request, (struct view){ 0 }, 16 * 1024, next);
}

struct wire_entry file_work_entry(const struct files_reply *answer)
{
	struct view rest = answer->bytes;
	struct wire_entry entry = { .type = WIRE_FILE_OTHER };

	(void)files_next_entry(&rest, &entry);
	return entry;
}

void file_work_cancel(struct work *work)
{
	struct file_work *file = container_of(work, struct file_work, work);
	struct error err;

	files_cancel(TAKE_PTR(file->op));
	(void)error_set(&err, ERR_SYSTEM, "cancelled");
	work_fail(work, &err);
}

void file_work_done(struct work *work)
{
	struct file_work *file = container_of(work, struct file_work, work);

	files_cancel(TAKE_PTR(file->op));
	turn_end(&file->turn);
	turns_let_go(&file->held);
}

static void on_turn(struct turn *turn)
{
	struct file_work *file = container_of(turn, struct file_work, turn);

	file->begin(file);
}

void file_work_in_turn(struct file_work *file, void (*begin)(struct file_work *file))
{
	file->begin = begin;
	turn_take(&file->turn, mcp_call_loop(file->work.call),
	          sandbox_row(file->work.sandbox)->spec.id, file->path, on_turn);
}

bool file_work_hold(struct file_work *file, size_t bytes)
{
	struct error err;

	if (turns_hold(&file->held, bytes, &err) == 0)
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

/* --- what is wrong -------------------------------------------------------------------- */

static void on_neighbours(struct file_work *file, const struct files_reply *answer,
                          const struct error *why)
{
	struct view rest = answer != NULL ? answer->bytes : (struct view){ 0 };
	char shown[SHOWN], name[48], names[200] = "";
	struct wire_entry entry;
	size_t used = 0;

	(void)utf8_escape(view_of(file->path), shown, sizeof shown);
	if (why != NULL) {
		file_work_fail(file, ERR_NOT_FOUND,
		               "'%s' does not exist, and neither does the directory it would be in",
		               shown);
		return;
	}
	while (files_next_entry(&rest, &entry) && used < sizeof names)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s%s",
		                         used == 0 ? "" : ", ",
		                         utf8_escape(entry.path, name, sizeof name),
		                         entry.type == WIRE_FILE_DIRECTORY ? "/" : "");
	file_work_fail(file, ERR_NOT_FOUND, "'%s' does not exist; %s%s%s", shown,
	               used != 0 ? "its directory has: " : "its directory is empty", names,
	               used >= sizeof names || (answer->done.flags & WIRE_DONE_MORE) != 0
	                       ? ", ... (list_directory shows all)"
	                       : "");
}

static void ask_neighbours(struct file_work *file)
{
	struct wire_message request = { .type = WIRE_LIST, .list = { .limit = NEIGHBOURS } };
	char directory[4096];
	size_t len = strlen(file->path);

	while (len > 1 && file->path[len - 1] == '/')
		len--;
	while (len != 0 && file->path[len - 1] != '/')
		len--;
	(void)snprintf(directory, sizeof directory, "%.*s", (int)len, len != 0 ? file->path : ".");
	request.list.path = view_of(len != 0 ? directory : ".");
	file_work_ask(file, &request, (struct view){ 0 }, LIST_MAX, on_neighbours);
}

static void on_kind(struct file_work *file, const struct files_reply *answer,
                    const struct error *why)
{
	char shown[SHOWN];

	(void)utf8_escape(view_of(file->path), shown, sizeof shown);
	if (why == NULL && file_work_entry(answer).type == WIRE_FILE_DIRECTORY)
		file_work_fail(file, ERR_INVALID,
		               "'%s' is a directory, not a file: use list_directory", shown);
	else
		work_fail(&file->work, &file->why);
}

void file_work_explain(struct file_work *file, const struct error *why)
{
	char shown[SHOWN];

	file->why = *why;
	(void)utf8_escape(view_of(file->path), shown, sizeof shown);
	if (why->kind == ERR_NOT_FOUND && why->errnum != ENOTDIR)
		ask_neighbours(file);
	else if (why->errnum == ENOTDIR)
		file_work_fail(file, ERR_INVALID,
		               "'%s' is not a directory, or goes through something that is none",
		               shown);
	else if (why->errnum == EACCES || why->errnum == EPERM || why->errnum == EROFS)
		file_work_fail(
		        file, ERR_INVALID,
		        "'%s' may not be reached or changed by the sandbox's user (%s); files "
		        "below /workspace and /tmp may",
		        shown, why->msg);
	else if (why->kind == ERR_INVALID && why->errnum == 0 && file->is_for_file)
		file_work_stat(file, file->path, true, on_kind);
	else
		work_fail(&file->work, why);
}

/* --- resources ------------------------------------------------------------------------ */

/* What a path may hold in a URI as it is. */
static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c != '\0' && strchr("/-._~!$&'()*+,;=:@", c) != NULL);
}

static int add_path(const char *path, struct buf *ret, struct error *err)
{
	for (; *path != '\0'; path++)
		if ((is_plain(*path) ? buf_printf(ret, err, "%c", *path)
		                     : buf_printf(ret, err, "%%%02X", (unsigned char)*path)) < 0)
			return -1;
	return 0;
}

int file_work_uri(const char *id, const char *path, struct buf *ret, struct error *err)
{
	AUTO_FREE char *plain = turns_plain_path(path);

	return buf_printf(ret, err, "sandbox://%s", id) < 0 ? -1 : add_path(plain, ret, err);
}

typedef void changed_fn(void *ctx, const char *uri);

static void tell_changed(const struct file_work *file, changed_fn *changed, const char *sandbox)
{
	AUTO_BUF struct buf uri;
	struct error too_long;

	buf_init(&uri, 16 * 1024);
	if (file_work_uri(sandbox, file->path, &uri, &too_long) == 0)
		changed(file->work.context->ctx, buf_text(&uri));
}

static void tell_both(const struct file_work *file, changed_fn *changed)
{
	const struct sandbox_row *row = sandbox_row(file->work.sandbox);

	if (changed == NULL)
		return;
	tell_changed(file, changed, row->spec.id);
	if (row->name[0] != '\0')
		tell_changed(file, changed, row->name);
}

void file_work_changed(const struct file_work *file)
{
	tell_both(file, file->work.context->changed);
}

void file_work_changed_below(const struct file_work *file)
{
	tell_both(file, file->work.context->changed_below);
}

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
