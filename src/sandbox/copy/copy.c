#include "sandbox/copy/copy.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text/utf8.h"
#include "sandbox/channel/files.h"
#include "sandbox/copy/copy_rules.h"
#include "sandbox/copy/ignore.h"
#include "sandbox/copy/tar_filter.h"
#include "sandbox/porter/host.h"
#include "sandbox/sandbox.h"

enum { STAT_MAX = 16 * 1024, CAUSE_MAX = 220 };

struct copy {
	struct copy_options wish; /* its texts are below */
	char *texts[5];
	const struct copy_events *events;
	void *ctx;
	struct files_op *op;
	struct copy_rules *rules;
	const struct ignore *ignore;
	struct tar_filter *filter;
	struct transfer *transfer;
	struct wire_entry source;
	char *target;
	bool is_below;        /* the target is a name in the directory that was asked for */
	struct error missing; /* why the source was not found */
	bool is_telling;
};

/* --- its end ----------------------------------------------------------------------- */

static void let_go(struct copy *copy)
{
	files_cancel(copy->op);
	copy->op = NULL;
	transfer_cancel(copy->transfer);
	copy->transfer = NULL;
	copy->rules = copy_rules_free(copy->rules);
}

static void release(struct copy *copy)
{
	copy->filter = tar_filter_free(copy->filter);
	for (size_t i = 0; i < ARRAY_LEN(copy->texts); i++)
		free(copy->texts[i]);
	free(copy->target);
	free(copy);
}

static void tell(struct copy *copy, const struct copy_result *result, const struct error *why)
{
	copy->is_telling = true;
	copy->events->ended(copy->ctx, result, why);
	let_go(copy);
	release(copy);
}

static void fail(struct copy *copy, const struct copy_endpoint *end, const struct error *why)
{
	struct error err = *why;

	if (end->where != NULL)
		(void)error_wrap(&err, "%s", end->where);
	tell(copy, NULL, &err);
}

/* --- the bytes --------------------------------------------------------------------- */

static void on_progress(void *ctx, uint64_t bytes)
{
	struct copy *copy = ctx;

	if (copy->events->progress != NULL)
		copy->events->progress(copy->ctx, bytes);
}

/* What limits there are, and what stays behind, are said with what went wrong. */
static void tell_broken(struct copy *copy, const struct error *why)
{
	const struct copy_options *wish = &copy->wish;
	struct error err = *why, ignored;
	uint64_t entries = 0, bytes = 0;
	char limits[160] = "", stays[480] = "", shown[160];
	int len = (int)utf8_prefix(why->msg, strlen(why->msg), CAUSE_MAX);

	if (why->kind == ERR_LIMIT && why->errnum == 0 && wish->max_bytes != UINT64_MAX &&
	    (copy->ignore == NULL || ignore_check(copy->ignore, &ignored) == 0))
		(void)snprintf(limits, sizeof limits,
		               " (a copy has at most %" PRIu64 " bytes, which belljar's option "
		               "--copy-size sets, and %" PRIu32 " entries)",
		               wish->max_bytes, wish->max_count);
	if (copy->filter != NULL)
		tar_filter_passed(copy->filter, &entries, &bytes);
	if (entries != 0)
		(void)snprintf(stays, sizeof stays,
		               "; what was written before, of %" PRIu64 " entries and %" PRIu64
		               " bytes, stays in '%s'%s",
		               entries, bytes,
		               utf8_escape(view_of(copy->target), shown, sizeof shown),
		               wish->overwrite ? "" : ": set overwrite to true for another try");
	(void)error_set(&err, why->kind, "%.*s%s%s", len, why->msg, limits, stays);
	err.errnum = why->errnum;
	tell(copy, NULL, &err);
}

static void on_moved(void *ctx, const struct transfer_result *moved, const struct error *why)
{
	struct copy *copy = ctx;
	struct copy_result result = { .is_directory = copy->source.type == WIRE_FILE_DIRECTORY,
		                      .target = copy->target };

	copy->transfer = NULL;
	if (why != NULL) {
		tell_broken(copy, why);
		return;
	}
	result.moved = *moved;
	if (copy->filter != NULL)
		result.ignored = tar_filter_left_out(copy->filter);
	tell(copy, &result, NULL);
}

static const struct transfer_events transfer_events = { on_progress, on_moved };

static int get(const struct copy_endpoint *end, struct channel **ret, struct error *err)
{
	*ret = end->channel(end->ctx);
	return *ret != NULL ? 0 : error_set(err, ERR_SYSTEM, "it ended while something was copied");
}

static void move(struct copy *copy)
{
	const struct copy_options *wish = &copy->wish;
	struct transfer_options transfer = {
		.from_path = wish->from.path,
		.to_path = copy->target,
		.from_where = wish->from.where,
		.to_where = wish->to.where,
		.is_file = copy->source.type == WIRE_FILE_REGULAR,
		.must_be_new = !wish->overwrite,
		.perm = copy->source.perm & (wish->to.is_host ? 0755 : 0777),
		.max_bytes = wish->max_bytes,
		.max_count = wish->max_count,
		.filter = copy->filter,
	};
	struct error err;

	if (get(&wish->from, &transfer.from, &err) < 0)
		fail(copy, &wish->from, &err);
	else if (get(&wish->to, &transfer.to, &err) < 0)
		fail(copy, &wish->to, &err);
	else if (transfer_start(&transfer, &transfer_events, copy, &copy->transfer, &err) < 0)
		tell(copy, NULL, &err);
}

static void filter(struct copy *copy)
{
	copy->filter = tar_filter_new(copy->ignore);
	if (copy->wish.to.is_host)
		tar_filter_mask_modes(copy->filter);
	move(copy);
}

static void on_rules(void *ctx, const struct ignore *ignore, const struct error *why)
{
	struct copy *copy = ctx;

	if (why != NULL) {
		fail(copy, &copy->wish.from, why);
		return;
	}
	copy->ignore = ignore;
	filter(copy);
}

static void go(struct copy *copy)
{
	struct error err;

	if (copy->source.type != WIRE_FILE_DIRECTORY)
		move(copy);
	else if (!copy->wish.gitignore)
		filter(copy);
	else if (copy_rules_read(&copy->wish.from, on_rules, copy, &copy->rules, &err) < 0)
		fail(copy, &copy->wish.from, &err);
}

/* --- both ends --------------------------------------------------------------------- */

static void look(struct copy *copy, const struct copy_endpoint *end, const char *path,
                 uint8_t flags, files_fn *fn)
{
	const struct wire_message stat = { .type = WIRE_STAT,
		                           .stat = { .flags = flags, .path = view_of(path) } };
	struct channel *channel;
	struct error err;

	if (get(end, &channel, &err) < 0 || files_start(channel, &stat, (struct view){ 0 },
	                                                STAT_MAX, fn, copy, &copy->op, &err) < 0)
		fail(copy, end, &err);
}

static bool take_entry(const struct files_reply *answer, struct wire_entry *ret)
{
	struct view rest = answer->bytes;
	bool found = files_next_entry(&rest, ret);

	ret->path = ret->target = (struct view){ 0 }; /* they go with the answer */
	return found;
}

/* Only the last name counts: those above are the agent's to follow. */
static int check_target(const struct copy *copy, const struct wire_entry *there, struct error *err)
{
	bool is_directory = there->type == WIRE_FILE_DIRECTORY;
	bool wants_directory = copy->source.type == WIRE_FILE_DIRECTORY;

	if (is_directory && !wants_directory)
		return error_set(err, ERR_INVALID,
		                 "%s: is a directory, and a file is to be put there: remove it, or "
		                 "name another target",
		                 copy->target);
	if (!is_directory && wants_directory)
		return error_set(err, ERR_INVALID,
		                 "%s: is not a directory, and a directory is to be put there: "
		                 "remove it, or name another target",
		                 copy->target);
	if (!copy->wish.overwrite)
		return error_set(err, ERR_INVALID,
		                 "%s: is there already: set overwrite to true to %s", copy->target,
		                 is_directory ? "put the new files over those in it"
		                              : "replace it");
	return 0;
}

static void on_target(void *ctx, const struct files_reply *answer, const struct error *why);

static void aim_below(struct copy *copy)
{
	const char *to = copy->wish.to.path;
	size_t len = strlen(to);

	while (len > 1 && to[len - 1] == '/')
		len--;
	free(copy->target);
	if (len == 1 && to[0] == '.')
		copy->target = mem_dup(copy->wish.name);
	else
		copy->target = mem_format("%.*s%s%s", (int)len, to, to[len - 1] == '/' ? "" : "/",
		                          copy->wish.name);
	copy->is_below = true;
	look(copy, &copy->wish.to, copy->target, 0, on_target);
}

/* "." and "/" have none: what is in them goes where it was told. */
static bool has_name(const struct copy *copy)
{
	const char *name = copy->wish.name;

	return name[0] != '\0' && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

static void on_target(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct copy *copy = ctx;
	bool is_file = copy->source.type == WIRE_FILE_REGULAR, ends_in_slash;
	struct wire_entry there = { 0 };
	struct error err;

	copy->op = NULL;
	ends_in_slash = copy->target[strlen(copy->target) - 1] == '/';
	if (why != NULL && why->kind == ERR_NOT_FOUND) {
		if (is_file && ends_in_slash && has_name(copy) && !copy->is_below)
			aim_below(copy);
		else
			go(copy);
		return;
	}
	if (why != NULL) {
		fail(copy, &copy->wish.to, why);
		return;
	}
	if (!take_entry(answer, &there)) {
		(void)error_set(&err, ERR_SYSTEM, "%s: nothing was said of it", copy->target);
		fail(copy, &copy->wish.to, &err);
	} else if (there.type == WIRE_FILE_DIRECTORY && !copy->is_below && has_name(copy) &&
	           (is_file || copy->wish.into || ends_in_slash))
		aim_below(copy);
	else if (check_target(copy, &there, &err) < 0)
		fail(copy, &copy->wish.to, &err);
	else
		go(copy);
}

/* A link whose end is not seen: it leads out, unless it leads to nothing. */
static void on_missing(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct copy *copy = ctx;
	struct wire_entry entry = { 0 };
	struct error err = copy->missing;

	copy->op = NULL;
	if (why == NULL && take_entry(answer, &entry) && entry.type == WIRE_FILE_LINK)
		(void)error_set(
		        &err, ERR_NOT_FOUND, "%s: is a link that leads %sto nothing",
		        copy->wish.from.path,
		        copy->wish.from.is_host
		                ? "out of the directories that may be copied from and to, or "
		                : "");
	fail(copy, &copy->wish.from, &err);
}

static void on_source(void *ctx, const struct files_reply *answer, const struct error *why)
{
	struct copy *copy = ctx;
	struct error err;

	copy->op = NULL;
	if (why != NULL && why->kind == ERR_NOT_FOUND) {
		copy->missing = *why;
		look(copy, &copy->wish.from, copy->wish.from.path, WIRE_NOFOLLOW, on_missing);
		return;
	}
	if (why != NULL) {
		fail(copy, &copy->wish.from, why);
		return;
	}
	if (!take_entry(answer, &copy->source) ||
	    (copy->source.type != WIRE_FILE_REGULAR && copy->source.type != WIRE_FILE_DIRECTORY)) {
		(void)error_set(&err, ERR_INVALID, "%s: is neither a file nor a directory",
		                copy->wish.from.path);
		fail(copy, &copy->wish.from, &err);
		return;
	}
	look(copy, &copy->wish.to, copy->target, 0, on_target);
}

/* --- the usual ends ---------------------------------------------------------------- */

static struct channel *host_channel(void *ctx)
{
	return host_handle_channel(ctx);
}

static struct channel *inside_channel(void *ctx)
{
	return sandbox_channel(ctx);
}

struct copy_endpoint copy_host_endpoint(struct host_handle *use, const char *path,
                                        const char *where)
{
	return (struct copy_endpoint){
		.channel = host_channel, .ctx = use, .path = path, .where = where, .is_host = true
	};
}

struct copy_endpoint copy_sandbox_endpoint(struct sandbox *sandbox, const char *path,
                                           const char *where)
{
	return (struct copy_endpoint){
		.channel = inside_channel, .ctx = sandbox, .path = path, .where = where
	};
}

const char *copy_last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

/* --- its start --------------------------------------------------------------------- */

static void keep_texts(struct copy *copy)
{
	const char **members[] = { &copy->wish.from.path, &copy->wish.from.where,
		                   &copy->wish.to.path, &copy->wish.to.where, &copy->wish.name };

	_Static_assert(ARRAY_LEN(members) == ARRAY_LEN(copy->texts), "one for each");
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		if (*members[i] != NULL)
			*members[i] = copy->texts[i] = mem_dup(*members[i]);
}

int copy_start(const struct copy_options *wish, const struct copy_events *events, void *ctx,
               struct copy **ret, struct error *err)
{
	const struct wire_message stat = { .type = WIRE_STAT,
		                           .stat.path = view_of(wish->from.path) };
	struct copy *copy = mem_new(sizeof *copy);
	struct channel *channel;

	copy->wish = *wish;
	keep_texts(copy);
	copy->target = mem_dup(wish->to.path);
	copy->events = events;
	copy->ctx = ctx;
	if (get(&wish->from, &channel, err) < 0 ||
	    files_start(channel, &stat, (struct view){ 0 }, STAT_MAX, on_source, copy, &copy->op,
	                err) < 0) {
		release(copy);
		return -1;
	}
	*ret = copy;
	return 0;
}

void copy_cancel(struct copy *copy)
{
	if (copy == NULL || copy->is_telling)
		return;
	let_go(copy);
	release(copy);
}
