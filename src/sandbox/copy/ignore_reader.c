#include "sandbox/copy/ignore_reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "sandbox/channel/files.h"
#include "sandbox/copy/copy.h"
#include "sandbox/copy/ignore.h"
#include "wire/table.h"

enum {
	FOUND_MAX = 20000, /* more than IGNORE_FILES_MAX: most are in directories left out */
	FOUND_BYTES_MAX = 8 * 1024 * 1024,
};

static const char file_name[] = ".gitignore";

struct ignore_reader {
	const struct copy_endpoint *endpoint;
	ignore_reader_fn *fn;
	void *ctx;
	struct ignore *ignore;
	struct files_op *op;
	struct buf texts;         /* the paths of all directories, each terminated */
	struct view *directories; /* outer ones first; "" is the top */
	size_t count, next;
	bool is_calling; /* a callback is on the stack, which frees the reader when it returns */
	bool is_freed;
};

static void release_reader(struct ignore_reader *reader)
{
	(void)ignore_free(reader->ignore);
	buf_done(&reader->texts);
	free(reader->directories);
	free(reader);
}

struct ignore_reader *ignore_reader_free(struct ignore_reader *reader)
{
	if (reader == NULL)
		return NULL;
	files_cancel(reader->op);
	reader->op = NULL;
	reader->is_freed = true;
	if (!reader->is_calling)
		release_reader(reader);
	return NULL;
}

static void report_rules(struct ignore_reader *reader, const struct error *why)
{
	reader->fn(reader->ctx, why == NULL ? reader->ignore : NULL, why);
}

static int start_operation(struct ignore_reader *reader, const struct wire_message *request,
                           size_t max, files_fn *fn, struct error *err)
{
	struct channel *channel = reader->endpoint->channel(reader->endpoint->ctx);

	if (channel == NULL)
		return error_set(err, ERR_SYSTEM, "ended during the copy: try again");
	return files_start(channel, request, (struct view){ 0 }, max, fn, reader, &reader->op, err);
}

/* --- reading ----------------------------------------------------------------------- */

static files_fn on_read;

/* Starts reading the next file. 1: started; 0: there are no more. */
static int read_next(struct ignore_reader *reader, struct error *err)
{
	while (reader->next < reader->count) {
		struct view directory = reader->directories[reader->next];
		char path[2 * WIRE_PATH_MAX];
		struct wire_message read = { .type = WIRE_READ,
			                     .read = { .unit = WIRE_UNIT_BYTES,
			                               .count = IGNORE_FILE_MAX + 1,
			                               .max = IGNORE_FILE_MAX + 1 } };

		bool is_left_out = directory.len != 0 &&
		                   ignore_has(reader->ignore, directory, true);

		if (ignore_check(reader->ignore, err) < 0)
			return -1;
		if (is_left_out) {
			reader->next++;
			continue;
		}
		(void)snprintf(path, sizeof path, "%s/%s%s%s", reader->endpoint->path,
		               directory.ptr, directory.len != 0 ? "/" : "", file_name);
		read.read.path = view_of(path);
		return start_operation(reader, &read, IGNORE_FILE_MAX + 1, on_read, err) < 0 ? -1
		                                                                             : 1;
	}
	return 0;
}

static void continue_reading(struct ignore_reader *reader, int r, struct error *err)
{
	if (r == 0)
		r = read_next(reader, err);
	if (r <= 0)
		report_rules(reader, r < 0 ? err : NULL);
}

/* A file that was removed or cannot be read has no rules, as with git. */
static void on_read(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct ignore_reader *reader = ctx;
	struct error err;
	int r = 0;

	reader->op = NULL;
	reader->is_calling = true;
	ignore_credit(reader->ignore);
	if (why == NULL)
		r = ignore_add(reader->ignore, reader->directories[reader->next], reply->bytes,
		               &err);
	else if (why->kind == ERR_SYSTEM || why->kind == ERR_LIMIT) {
		err = *why;
		r = -1;
	}
	reader->next++;
	continue_reading(reader, r, &err);
	reader->is_calling = false;
	if (reader->is_freed)
		release_reader(reader);
}

/* --- finding ----------------------------------------------------------------------- */

static size_t depth_of(const struct view *path)
{
	size_t n = path->len != 0;

	for (size_t i = 0; i < path->len; i++)
		n += path->ptr[i] == '/';
	return n;
}

static int compare_depth(const void *a, const void *b)
{
	size_t x = depth_of(a), y = depth_of(b);

	return x < y ? -1 : x > y;
}

/* Collects all texts before any view of them is made, because a growing buffer moves. */
static int store_directories(struct ignore_reader *reader, const struct files_reply *reply,
                             struct error *err)
{
	struct view rest = reply->bytes, text;
	struct wire_entry entry;
	size_t count = 0;

	while (files_next_entry(&rest, &entry)) {
		struct view path = entry.path;

		if (entry.type != WIRE_FILE_REGULAR || path.len < strlen(file_name))
			continue;
		path.len -= strlen(file_name);
		path.len -= path.len != 0;
		if (buf_add(&reader->texts, path, err) < 0 ||
		    buf_add(&reader->texts, (struct view){ "", 1 }, err) < 0)
			return -1;
		count++;
	}
	reader->directories = mem_array(count + 1, sizeof *reader->directories);
	for (text = buf_view(&reader->texts); reader->count < count; reader->count++) {
		size_t len = strlen(text.ptr);

		reader->directories[reader->count] = (struct view){ text.ptr, len };
		text.ptr += len + 1;
	}
	qsort(reader->directories, count, sizeof *reader->directories, compare_depth);
	return 0;
}

static void on_found(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct ignore_reader *reader = ctx;
	struct error err;
	int r;

	reader->op = NULL;
	reader->is_calling = true;
	if (why != NULL) {
		err = *why;
		r = -1;
	} else if ((reply->done.flags & WIRE_DONE_MORE) != 0)
		r = error_set(
		        &err, ERR_LIMIT,
		        "there are more than %d .gitignore files: copy a directory further down, "
		        "or without gitignore",
		        FOUND_MAX);
	else
		r = store_directories(reader, reply, &err);
	continue_reading(reader, r, &err);
	reader->is_calling = false;
	if (reader->is_freed)
		release_reader(reader);
}

int ignore_reader_start(const struct copy_endpoint *endpoint, ignore_reader_fn *fn, void *ctx,
                        struct ignore_reader **ret, struct error *err)
{
	struct wire_message find = { .type = WIRE_FIND,
		                     .find = { .flags = WIRE_WALK_HIDDEN,
		                               .depth = WIRE_DEPTH_MAX,
		                               .limit = FOUND_MAX,
		                               .path = view_of(endpoint->path),
		                               .pattern = view_of(file_name) } };
	struct ignore_reader *reader = mem_new(sizeof *reader);

	reader->endpoint = endpoint;
	reader->fn = fn;
	reader->ctx = ctx;
	reader->ignore = ignore_new();
	buf_init(&reader->texts, FOUND_BYTES_MAX);
	if (start_operation(reader, &find, FOUND_BYTES_MAX, on_found, err) < 0) {
		release_reader(reader);
		return -1;
	}
	*ret = reader;
	return 0;
}
