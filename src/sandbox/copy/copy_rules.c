#include "sandbox/copy/copy_rules.h"

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
	FOUND_MAX = 20000, /* most of them in directories that are left out */
	FOUND_BYTES_MAX = 8 * 1024 * 1024,
};

static const char file_name[] = ".gitignore";

struct copy_rules {
	const struct copy_endpoint *end;
	copy_rules_fn *fn;
	void *ctx;
	struct ignore *ignore;
	struct files_op *op;
	struct buf texts;         /* all directories, each terminated */
	struct view *directories; /* those above first; "" is the top */
	size_t count, next;
	bool is_busy; /* a callback of ours is on the stack: it frees */
	bool is_freed;
};

static void release(struct copy_rules *rules)
{
	(void)ignore_free(rules->ignore);
	buf_done(&rules->texts);
	free(rules->directories);
	free(rules);
}

struct copy_rules *copy_rules_free(struct copy_rules *rules)
{
	if (rules == NULL)
		return NULL;
	files_cancel(rules->op);
	rules->op = NULL;
	rules->is_freed = true;
	if (!rules->is_busy)
		release(rules);
	return NULL;
}

static void tell(struct copy_rules *rules, const struct error *why)
{
	rules->fn(rules->ctx, why == NULL ? rules->ignore : NULL, why);
}

static int ask(struct copy_rules *rules, const struct wire_message *request, size_t max,
               files_fn *fn, struct error *err)
{
	struct channel *channel = rules->end->channel(rules->end->ctx);

	if (channel == NULL)
		return error_set(err, ERR_SYSTEM, "it ended while something was copied");
	return files_start(channel, request, (struct view){ 0 }, max, fn, rules, &rules->op, err);
}

/* --- one after the other ----------------------------------------------------------- */

static files_fn on_read;

/* 1: one is asked for; 0: there are no more. */
static int ask_next(struct copy_rules *rules, struct error *err)
{
	while (rules->next < rules->count) {
		struct view directory = rules->directories[rules->next];
		char path[2 * WIRE_PATH_MAX];
		struct wire_message read = { .type = WIRE_READ,
			                     .read = { .unit = WIRE_UNIT_BYTES,
			                               .count = IGNORE_FILE_MAX + 1,
			                               .max = IGNORE_FILE_MAX + 1 } };

		bool is_left_out = directory.len != 0 && ignore_has(rules->ignore, directory, true);

		if (ignore_check(rules->ignore, err) < 0)
			return -1;
		if (is_left_out) {
			rules->next++;
			continue;
		}
		(void)snprintf(path, sizeof path, "%s/%s%s%s", rules->end->path, directory.ptr,
		               directory.len != 0 ? "/" : "", file_name);
		read.read.path = view_of(path);
		return ask(rules, &read, IGNORE_FILE_MAX + 1, on_read, err) < 0 ? -1 : 1;
	}
	return 0;
}

static void go_on(struct copy_rules *rules, int r, struct error *err)
{
	if (r == 0)
		r = ask_next(rules, err);
	if (r <= 0)
		tell(rules, r < 0 ? err : NULL);
}

/* One that is gone or cannot be read says nothing, as with git. */
static void on_read(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct copy_rules *rules = ctx;
	struct error err;
	int r = 0;

	rules->op = NULL;
	rules->is_busy = true;
	ignore_credit(rules->ignore);
	if (why == NULL)
		r = ignore_add(rules->ignore, rules->directories[rules->next], answer->bytes, &err);
	else if (why->kind == ERR_SYSTEM || why->kind == ERR_LIMIT) {
		err = *why;
		r = -1;
	}
	rules->next++;
	go_on(rules, r, &err);
	rules->is_busy = false;
	if (rules->is_freed)
		release(rules);
}

/* --- which there are --------------------------------------------------------------- */

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

/* The texts first: they move while there are more. */
static int keep_directories(struct copy_rules *rules, const struct files_reply *answer,
                            struct error *err)
{
	struct view rest = answer->bytes, text;
	struct wire_entry entry;
	size_t count = 0;

	while (files_next_entry(&rest, &entry)) {
		struct view path = entry.path;

		if (entry.type != WIRE_FILE_REGULAR || path.len < strlen(file_name))
			continue;
		path.len -= strlen(file_name);
		path.len -= path.len != 0;
		if (buf_add(&rules->texts, path, err) < 0 ||
		    buf_add(&rules->texts, (struct view){ "", 1 }, err) < 0)
			return -1;
		count++;
	}
	rules->directories = mem_array(count + 1, sizeof *rules->directories);
	for (text = buf_view(&rules->texts); rules->count < count; rules->count++) {
		size_t len = strlen(text.ptr);

		rules->directories[rules->count] = (struct view){ text.ptr, len };
		text.ptr += len + 1;
	}
	qsort(rules->directories, count, sizeof *rules->directories, compare_depth);
	return 0;
}

static void on_found(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct copy_rules *rules = ctx;
	struct error err;
	int r;

	rules->op = NULL;
	rules->is_busy = true;
	if (why != NULL) {
		err = *why;
		r = -1;
	} else if ((answer->done.flags & WIRE_DONE_MORE) != 0)
		r = error_set(&err, ERR_LIMIT,
		              "there are more than %d .gitignore files: copy a directory further "
		              "down, or without gitignore",
		              FOUND_MAX);
	else
		r = keep_directories(rules, answer, &err);
	go_on(rules, r, &err);
	rules->is_busy = false;
	if (rules->is_freed)
		release(rules);
}

int copy_rules_read(const struct copy_endpoint *end, copy_rules_fn *fn, void *ctx,
                    struct copy_rules **ret, struct error *err)
{
	struct wire_message find = { .type = WIRE_FIND,
		                     .find = { .flags = WIRE_WALK_HIDDEN,
		                               .depth = WIRE_DEPTH_MAX,
		                               .limit = FOUND_MAX,
		                               .path = view_of(end->path),
		                               .pattern = view_of(file_name) } };
	struct copy_rules *rules = mem_new(sizeof *rules);

	rules->end = end;
	rules->fn = fn;
	rules->ctx = ctx;
	rules->ignore = ignore_new();
	buf_init(&rules->texts, FOUND_BYTES_MAX);
	if (ask(rules, &find, FOUND_BYTES_MAX, on_found, err) < 0) {
		release(rules);
		return -1;
	}
	*ret = rules;
	return 0;
}
