/* test_transfer.c - copies between two directories of one real agent, as if there were two agents. */
#include "sandbox/channel/files.h"
#include "sandbox/copy/copy.h"
#include "sandbox/copy/ignore.h"
#include "unit/agent/live/live_files.h"

struct copying {
	struct live *live;
	struct copy *copy;
	unsigned calls;
	bool is_done, cancels_itself;
	uint64_t progress, cancel_at; /* bytes */
	struct copy_result result;
	char target[4096];
	struct error error;
};

static void on_progress(void *ctx, uint64_t bytes)
{
	struct copying *copying = ctx;

	assert_true(bytes >= copying->progress);
	copying->progress = bytes;
	if (copying->cancel_at != 0 && bytes >= copying->cancel_at) {
		copy_cancel(copying->copy);
		copying->copy = NULL;
		copying->cancel_at = 0;
	}
	live_poke(copying->live);
}

static void on_ended(void *ctx, const struct copy_result *result, const struct error *why)
{
	struct copying *copying = ctx;

	live_poke(copying->live);
	copying->calls++;
	if (copying->cancels_itself)
		copy_cancel(copying->copy);
	if (why != NULL) {
		copying->error = *why;
		return;
	}
	copying->is_done = true;
	copying->result = *result;
	(void)snprintf(copying->target, sizeof copying->target, "%s", result->target);
}

static const struct copy_events events = { on_progress, on_ended };

static struct channel *channel_of(void *ctx)
{
	const struct live *live = ctx;

	return live->has_failed ? NULL : live->channel;
}

static void start_copy(struct live *live, struct copying *copying, struct copy_options options,
                       const char *from, const char *to)
{
	struct error err;

	copying->live = live;
	options.from = (struct copy_endpoint){ channel_of, live, from, "from",
		                               options.from.is_host };
	options.to = (struct copy_endpoint){ channel_of, live, to, "to", options.to.is_host };
	if (options.name == NULL)
		options.name = strrchr(from, '/') != NULL ? strrchr(from, '/') + 1 : from;
	if (options.max_bytes == 0)
		options.max_bytes = UINT64_C(2) << 30;
	if (options.max_count == 0)
		options.max_count = COPY_ENTRIES_MAX;
	CHECK_OK(copy_start(&options, &events, copying, &copying->copy, &err), err);
	assert_int_equal(copying->calls, 0);
}

static void copy(struct live *live, struct copying *copying, struct copy_options options,
                 const char *from, const char *to)
{
	start_copy(live, copying, options, from, to);
	LIVE_UNTIL(live, copying->calls != 0, LIVE_MS);
	assert_int_equal(copying->calls, 1);
}

static void copy_well(struct live *live, struct copying *copying, struct copy_options options,
                      const char *from, const char *to)
{
	copy(live, copying, options, from, to);
	if (!copying->is_done)
		fail_msg("%s to %s: %s", from, to, copying->error.msg);
}

#define CHECK_FAILED(live, options, from, to, want_kind, want)                                     \
	do {                                                                                       \
		struct copying copying_ = { 0 };                                                   \
		copy(live, &copying_, options, from, to);                                          \
		assert_false(copying_.is_done);                                                    \
		assert_string_equal(copying_.error.msg, want);                                     \
		assert_int_equal(copying_.error.kind, want_kind);                                  \
	} while (0)

#define PLAIN     ((struct copy_options){ 0 })
#define OVERWRITE ((struct copy_options){ .overwrite = true })

static unsigned mode_of(const struct live *live, const char *name)
{
	struct stat st;

	assert_int_equal(lstat(files_at(live, name), &st), 0);
	return st.st_mode & 07777;
}

/* --- files --- */

static void copied_file_keeps_bytes_and_mode(void **state)
{
	enum { LEN = 5 * 1024 * 1024 + 3 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct copying copying = { 0 };
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", (struct view){ noise, LEN });
	assert_int_equal(chmod(files_at(&live, "a"), 0750), 0);
	copy_well(&live, &copying, PLAIN, "a", "new/b");
	assert_int_equal(copying.result.moved.entries, 1);
	assert_int_equal(copying.result.moved.bytes, LEN);
	assert_int_equal(copying.result.moved.skipped, 0);
	assert_false(copying.result.is_directory);
	assert_string_equal(copying.target, "new/b");
	assert_int_equal(copying.progress, LEN);
	assert_int_equal(mode_of(&live, "new/b"), 0750);
	s = live_check(live_read_file(&live, "new/b"));
	assert_int_equal(s->got[WIRE_OUT].len, LEN);
	assert_memory_equal(s->got[WIRE_OUT].ptr, noise, LEN);
	live_stop(&live);
}

static void file_is_copied_into_directory_under_its_name(void **state)
{
	struct copying there = { 0 }, slash = { 0 }, missing = { 0 }, dot = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("text"));
	files_mkdir(&live, "d");
	copy_well(&live, &there, PLAIN, "a", "d");
	assert_string_equal(there.target, "d/a");
	files_check(&live, "d/a", "text");
	copy_well(&live, &slash, OVERWRITE, "a", "d/");
	assert_string_equal(slash.target, "d/a");
	copy_well(&live, &dot, OVERWRITE, "d/a", ".");
	assert_string_equal(dot.target, "a");
	copy_well(&live, &missing, PLAIN, "a", "e/f//");
	assert_string_equal(missing.target, "e/f/a");
	files_check(&live, "e/f/a", "text");
	live_stop(&live);
}

static void existing_target_is_kept_unless_overwrite_is_set(void **state)
{
	struct copying over = { 0 }, merged = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("new"));
	files_put(&live, "b", VIEW("old"));
	files_mkdir(&live, "d");
	files_put(&live, "d/a", VIEW("new"));
	files_mkdir(&live, "e");
	files_mkdir(&live, "e/a");
	files_mkdir(&live, "f");
	files_put(&live, "f/a", VIEW("old"));
	files_put(&live, "f/other", VIEW("kept"));
	CHECK_FAILED(&live, PLAIN, "a", "b", ERR_INVALID,
	             "to: b: exists already: set overwrite to true to replace it");
	files_check(&live, "b", "old");
	CHECK_FAILED(&live, PLAIN, "a", "d", ERR_INVALID,
	             "to: d/a: exists already: set overwrite to true to replace it");
	CHECK_FAILED(
	        &live, PLAIN, "d", "f", ERR_INVALID,
	        "to: f: exists already: set overwrite to true to put the new files over those in it");
	CHECK_FAILED(
	        &live, OVERWRITE, "a", "e", ERR_INVALID,
	        "to: e/a: is a directory, but the source is a file: remove it, or name another target");
	CHECK_FAILED(
	        &live, OVERWRITE, "d", "b", ERR_INVALID,
	        "to: b: is not a directory, but the source is one: remove it, or name another target");
	copy_well(&live, &over, OVERWRITE, "a", "b");
	files_check(&live, "b", "new");
	copy_well(&live, &merged, OVERWRITE, "d", "f");
	files_check(&live, "f/a", "new");
	files_check(&live, "f/other", "kept");
	live_stop(&live);
}

/* --- directories --- */

static void directory_is_copied_with_its_contents(void **state)
{
	struct copying copying = { 0 };
	struct stat st;
	struct live live;
	char to[64];

	files_begin(&live, state, (struct live_options){ 0 });
	files_mkdir(&live, "d");
	files_mkdir(&live, "d/sub");
	files_put(&live, "d/sub/f\n\xc3\xa4", VIEW("text"));
	files_put(&live, "d/run", VIEW("#!"));
	assert_int_equal(chmod(files_at(&live, "d/run"), 0755), 0);
	assert_int_equal(symlink("sub", files_at(&live, "d/inside")), 0);
	assert_int_equal(symlink("../../secret", files_at(&live, "d/outside")), 0);
	assert_int_equal(mkfifo(files_at(&live, "d/fifo"), 0644), 0);
	copy_well(&live, &copying, PLAIN, "d", "e/new");
	assert_true(copying.result.is_directory);
	assert_int_equal(copying.result.moved.entries, 4);
	assert_int_equal(copying.result.moved.bytes, 6);
	assert_int_equal(copying.result.moved.skipped, 2);
	assert_string_equal(copying.result.moved.first_skipped, "fifo");
	files_check(&live, "e/new/sub/f\n\xc3\xa4", "text");
	assert_int_equal(mode_of(&live, "e/new/run"), 0755);
	assert_int_equal(readlink(files_at(&live, "e/new/inside"), to, sizeof to), 3);
	assert_int_equal(lstat(files_at(&live, "e/new/outside"), &st), -1);
	live_stop(&live);
}

static void directory_is_copied_into_another(void **state)
{
	struct copying there = { 0 }, missing = { 0 }, nameless = { 0 };
	struct copy_options into = { .into = true };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_mkdir(&live, "d");
	files_put(&live, "d/f", VIEW("text"));
	files_mkdir(&live, "e");
	copy_well(&live, &there, into, "d", "e");
	assert_string_equal(there.target, "e/d");
	files_check(&live, "e/d/f", "text");
	copy_well(&live, &missing, into, "d", "g");
	files_check(&live, "g/f", "text");
	into.overwrite = true;
	into.name = "."; /* a source without a name */
	copy_well(&live, &nameless, into, "d", "e");
	assert_string_equal(nameless.target, "e");
	files_check(&live, "e/f", "text");
	live_stop(&live);
}

static void large_copy_passes_through_bounded_memory(void **state)
{
	enum { LEN = 24 * 1024 * 1024, COUNT = 3 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct copying copying = { 0 };
	struct live_stream *s;
	struct live live;
	char name[16];

	files_begin(&live, state, (struct live_options){ 0 });
	files_mkdir(&live, "d");
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof name, "d/%d", i);
		files_put(&live, name, (struct view){ noise, LEN });
	}
	start_copy(&live, &copying, PLAIN, "d", "e");
	LIVE_UNTIL(&live, copying.calls != 0, 6 * LIVE_MS);
	if (!copying.is_done)
		fail_msg("%s", copying.error.msg);
	assert_int_equal(copying.result.moved.bytes, (uint64_t)LEN * COUNT);
	s = live_check(live_read_file(&live, "e/2"));
	assert_int_equal(s->got[WIRE_OUT].len, LEN);
	assert_memory_equal(s->got[WIRE_OUT].ptr, noise, LEN);
	live_stop(&live);
}

/* --- limits and failures --- */

static void copy_keeps_to_its_limits(void **state)
{
	struct copy_options small = { .max_bytes = 100 }, few = { .max_count = 2 };
	struct live live;
	struct stat st;
	char bytes[101];

	files_begin(&live, state, (struct live_options){ 0 });
	memset(bytes, 'x', sizeof bytes);
	files_mkdir(&live, "d");
	files_mkdir(&live, "e");
	files_put(&live, "d/a", (struct view){ bytes, 51 });
	files_put(&live, "d/b", (struct view){ bytes, 50 });
	files_put(&live, "e/1", VIEW(""));
	files_put(&live, "e/2", VIEW(""));
	files_put(&live, "e/3", VIEW(""));
	files_put(&live, "f", (struct view){ bytes, 101 });
	{
		struct copying copying = { 0 };

		copy(&live, &copying, small, "d", "g");
		assert_int_equal(copying.error.kind, ERR_LIMIT);
		assert_non_null(strstr(copying.error.msg,
		                       "bytes are too many: all files together may have 100"));
		assert_non_null(strstr(
		        copying.error.msg,
		        " (a copy has at most 100 bytes, which belljar's option --copy-size sets, and 200000 entries); what was written before, of 2 entries and "));
		assert_non_null(
		        strstr(copying.error.msg,
		               " bytes, stays in 'g': set overwrite to true for another try"));
	}
	CHECK_FAILED(
	        &live, few, "e", "h", ERR_LIMIT,
	        "from: more than 2 entries: copy a directory further down (a copy has at most 2147483648 bytes, which belljar's option --copy-size sets, and 2 entries)");
	CHECK_FAILED(
	        &live, small, "f", "i", ERR_LIMIT,
	        "the file has more than the 100 bytes that may be copied (a copy has at most 100 bytes, which belljar's option --copy-size sets, and 200000 entries)");
	live_run_ms(&live, 100);
	assert_int_equal(lstat(files_at(&live, "i"), &st), -1);
	live_stop(&live);
}

static void error_names_the_end_that_failed(void **state)
{
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("text"));
	assert_int_equal(mkfifo(files_at(&live, "fifo"), 0644), 0);
	CHECK_FAILED(&live, PLAIN, "none", "b", ERR_NOT_FOUND,
	             "from: none: No such file or directory");
	assert_int_equal(symlink("/none", files_at(&live, "link")), 0);
	CHECK_FAILED(&live, PLAIN, "link", "b", ERR_NOT_FOUND,
	             "from: link: is a link that leads to nothing");
	CHECK_FAILED(
	        &live, ((struct copy_options){ .from.is_host = true }), "link", "b", ERR_NOT_FOUND,
	        "from: link: is a link that leads out of the allowed directories, or to nothing");
	CHECK_FAILED(&live, PLAIN, "fifo", "b", ERR_INVALID,
	             "from: fifo: is neither a file nor a directory");
	CHECK_FAILED(&live, PLAIN, "a", "a/b", ERR_NOT_FOUND, "to: a/b: Not a directory");
	live_stop(&live);
}

static void failed_channel_ends_the_copy(void **state)
{
	struct copying at_once = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("text"));
	start_copy(&live, &at_once, PLAIN, "a", "b");
	channel_fail(live.channel, &(struct error){ .kind = ERR_SYSTEM, .msg = "it broke" });
	assert_int_equal(at_once.calls, 1);
	assert_string_equal(at_once.error.msg, "from: it broke");
	live_stop(&live);
}

static void copy_may_be_cancelled_at_any_time(void **state)
{
	enum { LEN = 4 * 1024 * 1024 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct copying first = { 0 }, midway = { .cancel_at = LEN / 4 },
	               last = { .cancels_itself = true };
	struct stat st;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", (struct view){ noise, LEN });
	start_copy(&live, &first, PLAIN, "a", "b");
	copy_cancel(first.copy);
	start_copy(&live, &midway, PLAIN, "a", "c");
	LIVE_UNTIL(&live, midway.copy == NULL, LIVE_MS);
	live_run_ms(&live, 200);
	assert_int_equal(first.calls + midway.calls, 0);
	assert_int_equal(lstat(files_at(&live, "b"), &st), -1);
	assert_int_equal(lstat(files_at(&live, "c"), &st), -1);
	copy_well(&live, &last, PLAIN, "a", "d");
	copy_cancel(NULL);
	live_stop(&live);
}

/* --- .gitignore --- */

static void copy_leaves_out_what_git_ignores(void **state)
{
	static const char *const kept[] = { "a.c", ".gitignore", "sub/keep.o", "sub/deep/x.c" };
	static const char *const left[] = { "a.o", ".git", "build", "sub/b.o", "sub/deep/secret" };
	AUTO_FREE char *noise = files_noise(IGNORE_FILE_MAX + 1);
	struct copy_options options = { .gitignore = true };
	struct copying copying = { 0 };
	struct live live;
	char name[64];

	files_begin(&live, state, (struct live_options){ 0 });
	files_mkdir(&live, "d");
	files_mkdir(&live, "d/.git");
	files_mkdir(&live, "d/build");
	files_mkdir(&live, "d/sub");
	files_mkdir(&live, "d/sub/deep");
	files_mkdir(&live, "d/.cache");
	files_put(&live, "d/.gitignore", VIEW("*.o\n/build/\n/.cache/\n"));
	/* FIND lists it first, and it is too long: reading it would fail the copy. */
	files_put(&live, "d/.cache/.gitignore", (struct view){ noise, IGNORE_FILE_MAX + 1 });
	files_put(&live, "d/build/.gitignore", VIEW("!*\n"));
	files_put(&live, "d/sub/.gitignore", VIEW("!keep.o\nsecret\n"));
	files_put(&live, "d/.git/HEAD", VIEW("ref"));
	files_put(&live, "d/a.c", VIEW("text"));
	files_put(&live, "d/a.o", VIEW("text"));
	files_put(&live, "d/build/x", VIEW("text"));
	files_put(&live, "d/sub/keep.o", VIEW("text"));
	files_put(&live, "d/sub/b.o", VIEW("text"));
	files_put(&live, "d/sub/deep/x.c", VIEW("text"));
	files_put(&live, "d/sub/deep/secret", VIEW("text"));
	copy_well(&live, &copying, options, "d", "e");
	for (size_t i = 0; i < ARRAY_LEN(kept) + ARRAY_LEN(left); i++) {
		bool want = i < ARRAY_LEN(kept);

		(void)snprintf(name, sizeof name, "e/%s",
		               want ? kept[i] : left[i - ARRAY_LEN(kept)]);
		if (files_exist(&live, name) != want)
			fail_msg("%s is %s", name, want ? "missing" : "there");
	}
	assert_int_equal(copying.result.ignored, 10);
	assert_int_equal(copying.result.moved.entries, 7);
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(copied_file_keeps_bytes_and_mode),
		TWICE(file_is_copied_into_directory_under_its_name),
		TWICE(existing_target_is_kept_unless_overwrite_is_set),
		TWICE(directory_is_copied_with_its_contents),
		TWICE(directory_is_copied_into_another),
		TWICE(large_copy_passes_through_bounded_memory),
		TWICE(copy_keeps_to_its_limits),
		TWICE(error_names_the_end_that_failed),
		TWICE(failed_channel_ends_the_copy),
		TWICE(copy_may_be_cancelled_at_any_time),
		TWICE(copy_leaves_out_what_git_ignores),
	};

	return RUN_TESTS("transfer", all);
}
