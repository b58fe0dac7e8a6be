#include "sandbox/copy/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/channel/files.h"
#include "sandbox/copy/ignore.h"
#include "sandbox/copy/ignore_reader.h"
#include "sandbox/copy/tar_filter.h"
#include "sandbox/porter/host.h"
#include "sandbox/sandbox.h"

enum { STAT_MAX = 16 * 1024, CAUSE_MAX = 220 };

struct copy {
	struct copy_options options;
	char *texts[5]; /* the texts of the options */
	const struct copy_events *events;
	void *ctx;
	struct files_op *op;
	struct ignore_reader *reader;
	const struct ignore *ignore;
	struct tar_filter *filter;
	struct transfer *transfer;
	struct wire_entry source;
	char *target;
	bool is_below;        /* the target is a name in the directory of the options */
	struct error missing; /* why the source was not found */
	bool is_ending;       /* `ended` is being called: copy_cancel() does nothing */
};

/* --- the end ----------------------------------------------------------------------- */

static void cancel_steps(struct copy *copy)
{
	files_cancel(copy->op);
	copy->op = NULL;
	transfer_cancel(copy->transfer);
	copy->transfer = NULL;
	copy->reader = ignore_reader_free(copy->reader);
}

static void free_copy(struct copy *copy)
{
	copy->filter = tar_filter_free(copy->filter);
	for (size_t i = 0; i < ARRAY_LEN(copy->texts); i++)
		free(copy->texts[i]);
	free(copy->target);
	free(copy);
}

static void report_end(struct copy *copy, const struct copy_result *result, const struct error *why)
{
	copy->is_ending = true;
	copy->events->ended(copy->ctx, result, why);
	cancel_steps(copy);
	free_copy(copy);
}

static void fail_copy(struct copy *copy, const struct copy_endpoint *end, const struct error *why)
{
	struct error err = *why;

	if (end->where != NULL)
		(void)error_wrap(&err, "%s", end->where);
	report_end(copy, NULL, &err);
}

/* --- the transfer ------------------------------------------------------------------ */

static void on_progress(void *ctx, uint64_t bytes)
{
	struct copy *copy = ctx;

	if (copy->events->progress != NULL)
		copy->events->progress(copy->ctx, bytes);
}

/* Adds to the error which limits there are, and what stays at the target. */
static void report_broken_transfer(struct copy *copy, const struct error *why)
{
	const struct copy_options *options = &copy->options;
	struct error err = *why, ignored;
	uint64_t entries = 0, bytes = 0;
	char limits[160] = "", stays[480] = "";
	int len = (int)utf8_prefix(why->msg, strlen(why->msg), CAUSE_MAX);

	/* A limit of the kernel (errnum) and one of the rules are not those of --copy-size. */
	if (why->kind == ERR_LIMIT && why->errnum == 0 && options->max_bytes != UINT64_MAX &&
	    (copy->ignore == NULL || ignore_check(copy->ignore, &ignored) == 0))
		(void)snprintf(limits, sizeof limits,
		               " (a copy has at most %" PRIu64
		               " bytes, which belljar's option --copy-size sets, and %" PRIu32
		               " entries)",
		               options->max_bytes, options->max_count);
	if (copy->filter != NULL)
		tar_filter_passed(copy->filter, &entries, &bytes);
	if (entries != 0 && !options->preview)
		(void)snprintf(stays, sizeof stays,
		               "; what was written before, of %" PRIu64 " entries and %" PRIu64
		               " bytes, stays in '%s'%s",
		               entries, bytes, UTF8_ESCAPED(view_of(copy->target), 160),
		               options->overwrite ? "" : ": set overwrite to true for another try");
	(void)error_set(&err, why->kind, "%.*s%s%s", len, why->msg, limits, stays);
	err.errnum = why->errnum;
	report_end(copy, NULL, &err);
}

static void on_moved(void *ctx, const struct transfer_result *moved, const struct error *why)
{
	struct copy *copy = ctx;
	struct copy_result result = { .is_directory = copy->source.type == WIRE_FILE_DIRECTORY,
		                      .is_preview = copy->options.preview,
		                      .target = copy->target };
	struct error err;

	copy->transfer = NULL;
	if (why != NULL) {
		report_broken_transfer(copy, why);
		return;
	}
	result.moved = *moved;
	if (copy->filter != NULL)
		result.ignored = tar_filter_left_out(copy->filter);
	if (copy_check_some(&result, &err) < 0)
		fail_copy(copy, &copy->options.to, &err);
	else
		report_end(copy, &result, NULL);
}

static const struct transfer_events transfer_events = { on_progress, on_moved };

/* A sandbox may be stopped, or an agent die, between two steps. */
static int get_channel(const struct copy_endpoint *end, struct channel **ret, struct error *err)
{
	*ret = end->channel(end->ctx);
	return *ret != NULL ? 0 : error_set(err, ERR_SYSTEM, "ended during the copy: try again");
}

static void start_transfer(struct copy *copy)
{
	const struct copy_options *options = &copy->options;
	struct transfer_options transfer = {
		.from_path = options->from.path,
		.to_path = copy->target,
		.from_where = options->from.where,
		.to_where = options->to.where,
		.is_file = copy->source.type == WIRE_FILE_REGULAR,
		.must_be_new = !options->overwrite,
		.is_preview = options->preview,
		.perm = copy->source.perm & 0777,
		.max_bytes = options->max_bytes,
		.max_count = options->max_count,
		.filter = copy->filter,
	};
	struct error err;

	if (get_channel(&options->from, &transfer.from, &err) < 0)
		fail_copy(copy, &options->from, &err);
	else if (get_channel(&options->to, &transfer.to, &err) < 0)
		fail_copy(copy, &options->to, &err);
	else if (transfer_start(&transfer, &transfer_events, copy, &copy->transfer, &err) < 0)
		report_end(copy, NULL, &err);
}

static void start_filtered(struct copy *copy)
{
	copy->filter = tar_filter_new(copy->ignore);
	start_transfer(copy);
}

static void on_rules(void *ctx, const struct ignore *ignore, const struct error *why)
{
	struct copy *copy = ctx;

	if (why != NULL) {
		fail_copy(copy, &copy->options.from, why);
		return;
	}
	copy->ignore = ignore;
	start_filtered(copy);
}

/* Either end may have changed since STAT, which only serves to choose the operation and to explain
 * errors: each agent checks again when it opens the file. */
static void start_moving(struct copy *copy)
{
	struct error err;

	if (copy->source.type != WIRE_FILE_DIRECTORY)
		start_transfer(copy);
	else if (!copy->options.gitignore)
		start_filtered(copy);
	else if (ignore_reader_start(&copy->options.from, on_rules, copy, &copy->reader, &err) < 0)
		fail_copy(copy, &copy->options.from, &err);
}

/* --- asking both ends -------------------------------------------------------------- */

static void stat_path(struct copy *copy, const struct copy_endpoint *end, const char *path,
                      uint8_t flags, files_fn *fn)
{
	const struct wire_message stat = { .type = WIRE_STAT,
		                           .stat = { .flags = flags, .path = view_of(path) } };
	struct channel *channel;
	struct error err;

	if (get_channel(end, &channel, &err) < 0 ||
	    files_start(channel, &stat, (struct view){ 0 }, STAT_MAX, fn, copy, &copy->op, &err) <
	            0)
		fail_copy(copy, end, &err);
}

static bool take_entry(const struct files_reply *reply, struct wire_entry *ret)
{
	struct view rest = reply->bytes;
	bool found = files_next_entry(&rest, ret);

	ret->path = ret->target = (struct view){ 0 }; /* they point into the reply */
	return found;
}

/* Fails if the file or directory that exists at the target may not be replaced by the source. */
static int check_target(const struct copy *copy, const struct wire_entry *found, struct error *err)
{
	bool is_directory = found->type == WIRE_FILE_DIRECTORY;
	bool wants_directory = copy->source.type == WIRE_FILE_DIRECTORY;

	if (is_directory && !wants_directory)
		return error_set(err, ERR_INVALID,
		                 "%s: is a directory, but the source is a file: remove it, "
		                 "or name another target",
		                 copy->target);
	if (!is_directory && wants_directory)
		return error_set(err, ERR_INVALID,
		                 "%s: is not a directory, but the source is one: remove it, "
		                 "or name another target",
		                 copy->target);
	if (!copy->options.overwrite)
		return error_set(err, ERR_INVALID,
		                 "%s: exists already: set overwrite to true to %s", copy->target,
		                 is_directory ? "put the new files over those in it"
		                              : "replace it");
	return 0;
}

static void on_target(void *ctx, const struct files_reply *reply, const struct error *why);

/* The target is a directory, or ends in a slash: continues with the source's name in it. */
static void stat_below_target(struct copy *copy)
{
	const char *to = copy->options.to.path;
	size_t len = strlen(to);

	while (len > 1 && to[len - 1] == '/')
		len--;
	free(copy->target);
	if (len == 1 && to[0] == '.')
		copy->target = mem_dup(copy->options.name);
	else
		copy->target = mem_format("%.*s%s%s", (int)len, to, to[len - 1] == '/' ? "" : "/",
		                          copy->options.name);
	copy->is_below = true;
	stat_path(copy, &copy->options.to, copy->target, 0, on_target);
}

/* The sources "." and "/" have no name: their contents go into the target itself. */
static bool has_name(const struct copy *copy)
{
	const char *name = copy->options.name;

	return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void on_target(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct copy *copy = ctx;
	bool is_file = copy->source.type == WIRE_FILE_REGULAR, ends_in_slash;
	struct wire_entry found = { 0 };
	struct error err;

	copy->op = NULL;
	ends_in_slash = copy->target[strlen(copy->target) - 1] == '/';
	if (why != NULL && why->kind == ERR_NOT_FOUND) {
		if (is_file && ends_in_slash && has_name(copy) && !copy->is_below)
			stat_below_target(copy);
		else
			start_moving(copy);
		return;
	}
	if (why != NULL) {
		fail_copy(copy, &copy->options.to, why);
		return;
	}
	if (!take_entry(reply, &found)) {
		(void)error_set(&err, ERR_SYSTEM, "%s: the reply describes no file", copy->target);
		fail_copy(copy, &copy->options.to, &err);
	} else if (found.type == WIRE_FILE_DIRECTORY && !copy->is_below && has_name(copy) &&
	           (is_file || copy->options.into || ends_in_slash))
		stat_below_target(copy);
	else if (check_target(copy, &found, &err) < 0)
		fail_copy(copy, &copy->options.to, &err);
	else
		start_moving(copy);
}

/* The source was not found. If it is a link, its target is missing or outside of the agent's
 * root. */
static void on_missing(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct copy *copy = ctx;
	struct wire_entry entry = { 0 };
	struct error err = copy->missing;

	copy->op = NULL;
	if (why == NULL && take_entry(reply, &entry) && entry.type == WIRE_FILE_LINK)
		(void)error_set(&err, ERR_NOT_FOUND, "%s: is a link that leads %sto nothing",
		                copy->options.from.path,
		                copy->options.from.is_host ? "out of the allowed directories, or "
		                                           : "");
	fail_copy(copy, &copy->options.from, &err);
}

static void on_source(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct copy *copy = ctx;
	struct error err;

	copy->op = NULL;
	if (why != NULL && why->kind == ERR_NOT_FOUND) {
		copy->missing = *why;
		stat_path(copy, &copy->options.from, copy->options.from.path, WIRE_NOFOLLOW,
		          on_missing);
		return;
	}
	if (why != NULL) {
		fail_copy(copy, &copy->options.from, why);
		return;
	}
	if (!take_entry(reply, &copy->source) ||
	    (copy->source.type != WIRE_FILE_REGULAR && copy->source.type != WIRE_FILE_DIRECTORY)) {
		(void)error_set(&err, ERR_INVALID, "%s: is neither a file nor a directory",
		                copy->options.from.path);
		fail_copy(copy, &copy->options.from, &err);
		return;
	}
	if (copy->options.only_directory && copy->source.type != WIRE_FILE_DIRECTORY) {
		(void)error_set(&err, ERR_INVALID, "%s: is not a directory",
		                copy->options.from.path);
		fail_copy(copy, &copy->options.from, &err);
		return;
	}
	stat_path(copy, &copy->options.to, copy->target, 0, on_target);
}

/* --- endpoints --------------------------------------------------------------------- */

static struct channel *host_channel(void *ctx)
{
	return host_handle_channel(ctx);
}

static struct channel *sandbox_end_channel(void *ctx)
{
	return sandbox_channel(ctx);
}

struct copy_endpoint copy_host_endpoint(struct host_handle *handle, const char *path,
                                        const char *where)
{
	return (struct copy_endpoint){ .channel = host_channel,
		                       .ctx = handle,
		                       .path = path,
		                       .where = where,
		                       .is_host = true };
}

struct copy_endpoint copy_sandbox_endpoint(struct sandbox *sandbox, const char *path,
                                           const char *where)
{
	return (struct copy_endpoint){
		.channel = sandbox_end_channel, .ctx = sandbox, .path = path, .where = where
	};
}

const char *copy_last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* --- the start --------------------------------------------------------------------- */

static void copy_texts(struct copy *copy)
{
	const char **members[] = { &copy->options.from.path, &copy->options.from.where,
		                   &copy->options.to.path, &copy->options.to.where,
		                   &copy->options.name };

	_Static_assert(ARRAY_LEN(members) == ARRAY_LEN(copy->texts),
	               "each text of the options has a copy in texts[]");
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (*members[i] != NULL)
			*members[i] = copy->texts[i] = mem_dup(*members[i]);
}

int copy_start(const struct copy_options *options, const struct copy_events *events, void *ctx,
               struct copy **ret, struct error *err)
{
	const struct wire_message stat = { .type = WIRE_STAT,
		                           .stat.path = view_of(options->from.path) };
	struct copy *copy = mem_new(sizeof *copy);
	struct channel *channel;

	copy->options = *options;
	copy->options.overwrite = options->overwrite || options->preview;
	copy_texts(copy);
	copy->target = mem_dup(options->to.path);
	copy->events = events;
	copy->ctx = ctx;
	if (get_channel(&options->from, &channel, err) < 0 ||
	    files_start(channel, &stat, (struct view){ 0 }, STAT_MAX, on_source, copy, &copy->op,
	                err) < 0) {
		free_copy(copy);
		return -1;
	}
	*ret = copy;
	return 0;
}

void copy_cancel(struct copy *copy)
{
	if (copy == NULL || copy->is_ending)
		return;
	cancel_steps(copy);
	free_copy(copy);
}
