/* One file operation at a time, with the real agent. */
#include "sandbox/channel/files.h"
#include "unit/agent/live/live_files.h"

struct operation {
	struct live *live;
	struct files_op *files_op;
	unsigned calls;
	bool is_done, cancels_itself;
	struct wire_done done;
	struct buf bytes;
	struct error error;
	struct operation *next; /* started by the callback: reads `a` */
};

static void start_operation(struct live *live, struct operation *op,
                            const struct wire_message *request, struct view content, size_t max);

static void on_reply(void *ctx, const struct files_reply *reply, const struct error *why)
{
	struct operation *op = ctx;

	live_poke(op->live);
	op->calls++;
	if (op->cancels_itself)
		files_cancel(op->files_op);
	if (op->next != NULL) {
		struct wire_message read = {
			.type = WIRE_READ, .read = { .count = 99, .max = 99, .path = VIEW("a") }
		};

		start_operation(op->live, op->next, &read, (struct view){ 0 }, 99);
	}
	if (why != NULL) {
		op->error = *why;
		return;
	}
	op->is_done = true;
	op->done = reply->done;
	CHECK_OK(buf_add(&op->bytes, reply->bytes, &op->error), op->error);
}

static void start_operation(struct live *live, struct operation *op,
                            const struct wire_message *request, struct view content, size_t max)
{
	struct error err;

	op->live = live;
	buf_init(&op->bytes, LIVE_KEEP_MAX);
	CHECK_OK(files_start(live->channel, request, content, max, on_reply, op, &op->files_op,
	                     &err),
	         err);
	assert_int_equal(op->calls, 0); /* called from the loop only */
}

static void wait_for_operation(struct operation *op)
{
	LIVE_UNTIL(op->live, op->calls != 0, LIVE_MS);
	assert_int_equal(op->calls, 1);
}

static void assert_done(struct operation *op)
{
	wait_for_operation(op);
	if (!op->is_done)
		fail_msg("failed (%d): %s", (int)op->error.kind, op->error.msg);
}

#define START(live, op, max, ...)                                                                  \
	start_operation(live, op, &(struct wire_message){ __VA_ARGS__ }, (struct view){ 0 }, max)
#define READ_ALL(name)                                                                             \
	.type = WIRE_READ, .read = { .count = UINT64_MAX, .max = UINT64_MAX, .path = VIEW(name) }

/* --- bytes --- */

static void file_larger_than_a_window_is_written_and_read(void **state)
{
	enum { LEN = 3 * 1024 * 1024 + 17 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct operation written = { 0 }, read = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	start_operation(&live, &written,
	                &(struct wire_message){ .type = WIRE_WRITE,
	                                        .write = { .flags = WIRE_PARENTS,
	                                                   .perm = 0600,
	                                                   .max = UINT64_MAX,
	                                                   .path = VIEW("d/f") } },
	                (struct view){ noise, LEN }, 0);
	assert_done(&written);
	assert_int_equal(written.done.bytes, LEN);
	START(&live, &read, LEN, READ_ALL("d/f"));
	assert_done(&read);
	assert_int_equal(read.bytes.len, LEN);
	assert_memory_equal(read.bytes.ptr, noise, LEN);
	buf_done(&read.bytes);
	live_stop(&live);
}

static void empty_file_is_written(void **state)
{
	struct operation written = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	START(&live, &written, 0, .type = WIRE_WRITE,
	      .write = { .perm = 0644, .max = 10, .path = VIEW("empty") });
	assert_done(&written);
	files_check(&live, "empty", "");
	live_stop(&live);
}

static void reply_larger_than_the_maximum_fails(void **state)
{
	enum { LEN = 300 * 1024 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct operation most = { 0 }, more = { 0 }, again = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", (struct view){ noise, LEN });
	START(&live, &more, LEN - 1, READ_ALL("f"));
	wait_for_operation(&more);
	assert_false(more.is_done);
	assert_int_equal(more.error.kind, ERR_LIMIT);
	assert_string_equal(more.error.msg, "the reply has more than 307199 bytes, which is the "
	                                    "maximum: ask for less");
	START(&live, &most, LEN, READ_ALL("f"));
	assert_done(&most);
	assert_int_equal(most.bytes.len, LEN);
	live_run_ms(&live, 50);
	assert_int_equal(more.calls, 1);
	files_put(&live, "a", VIEW("still here"));
	START(&live, &again, 99, READ_ALL("a"));
	assert_done(&again);
	CHECK_VIEW(buf_view(&again.bytes), "still here");
	buf_done(&most.bytes);
	buf_done(&again.bytes);
	live_stop(&live);
}

/* --- records --- */

static void records_of_many_frames_are_kept(void **state)
{
	enum { COUNT = 3000 }; /* more than one frame and one window hold */
	struct operation listed = { 0 }, found = { 0 }, one = { 0 };
	struct wire_entry entry;
	struct wire_match match;
	struct live live;
	struct view rest;
	char name[64];
	size_t n = 0;

	files_begin(&live, state, (struct live_options){ 0 });
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof name, "a-rather-long-name-of-a-file-%04u", i);
		files_put(&live, name, VIEW("text\n"));
	}
	START(&live, &listed, 1024 * 1024, .type = WIRE_LIST,
	      .list = { .limit = COUNT + 1, .path = VIEW("."), .cursor = VIEW("") });
	assert_done(&listed);
	for (rest = buf_view(&listed.bytes); files_next_entry(&rest, &entry); n++) {
		(void)snprintf(name, sizeof name, "a-rather-long-name-of-a-file-%04zu", n);
		CHECK_VIEW(entry.path, name);
	}
	assert_int_equal(n, COUNT);
	assert_int_equal(rest.len, 0);
	START(&live, &found, 1024 * 1024, .type = WIRE_GREP,
	      .grep = { .depth = 1,
	                .limit = 2,
	                .max = 100,
	                .path = VIEW("."),
	                .pattern = VIEW("ex"),
	                .names = VIEW("") });
	assert_done(&found);
	rest = buf_view(&found.bytes);
	assert_true(files_next_match(&rest, &match));
	assert_int_equal(match.column, 2);
	assert_true(files_next_match(&rest, &match));
	assert_false(files_next_match(&rest, &match));
	START(&live, &one, 4096, .type = WIRE_STAT,
	      .stat = { .path = VIEW("a-rather-long-name-of-a-file-0000") });
	assert_done(&one);
	rest = buf_view(&one.bytes);
	assert_true(files_next_entry(&rest, &entry));
	assert_int_equal(entry.size, 5);
	buf_done(&listed.bytes);
	buf_done(&found.bytes);
	buf_done(&one.bytes);
	live_stop(&live);
}

static void invalid_bytes_are_no_records(void **state)
{
	struct view rest = VIEW("\1\2\3");
	struct wire_entry entry;

	assert_false(files_next_entry(&rest, &entry));
}

/* --- failures --- */

static void failures_have_their_kind(void **state)
{
	struct operation missing = { 0 }, limit = { 0 }, invalid = { 0 }, denied = { 0 };
	struct live live;

	/* root may enter every directory, so a directory of another user stands for a closed one */
	files_begin(&live, state,
	            (struct live_options){ .uid = getuid() == 0 ? 12345 : 0,
	                                   .gid = getuid() == 0 ? 12345 : 0 });
	files_mkdir(&live, "d");
	START(&live, &missing, 99, READ_ALL("none"));
	wait_for_operation(&missing);
	assert_int_equal(missing.error.kind, ERR_NOT_FOUND);
	assert_int_equal(missing.error.errnum, ENOENT);
	assert_non_null(strstr(missing.error.msg, "none"));
	start_operation(
	        &live, &limit,
	        &(struct wire_message){ .type = WIRE_WRITE,
	                                .write = { .perm = 0644, .max = 3, .path = VIEW("w") } },
	        VIEW("four"), 0);
	wait_for_operation(&limit);
	assert_int_equal(limit.error.kind, ERR_LIMIT);
	START(&live, &invalid, 99, READ_ALL("d"));
	wait_for_operation(&invalid);
	assert_int_equal(invalid.error.kind, ERR_INVALID);
	assert_int_equal(mkdir(files_at(&live, "shut"), 0500), 0);
	start_operation(&live, &denied,
	                &(struct wire_message){
	                        .type = WIRE_WRITE,
	                        .write = { .perm = 0644, .max = 3, .path = VIEW("shut/x") } },
	                VIEW("one"), 0);
	wait_for_operation(&denied);
	assert_int_equal(denied.error.kind, ERR_INVALID);
	assert_int_equal(denied.error.errnum, EACCES);
	live_stop(&live);
}

static void end_of_the_channel_fails_the_operation(void **state)
{
	struct operation grep = { 0 };
	struct files_op *files_op;
	struct live live;
	struct error err;

	files_begin(&live, state, (struct live_options){ .is_free = true });
	assert_int_equal(mkfifo(files_at(&live, "fifo"), 0666), 0);
	START(&live, &grep, 99, .type = WIRE_GREP,
	      .grep = { .depth = 1,
	                .limit = 2,
	                .max = 100,
	                .path = VIEW("/"),
	                .pattern = VIEW("x"),
	                .names = VIEW("") });
	channel_fail(live.channel, &(struct error){ .kind = ERR_SYSTEM, .msg = "it broke" });
	assert_int_equal(grep.calls, 1);
	assert_int_equal(grep.error.kind, ERR_SYSTEM);
	assert_string_equal(grep.error.msg, "it broke");
	CHECK_ERROR(files_start(live.channel,
	                        &(struct wire_message){ .type = WIRE_STAT, .stat.path = VIEW("a") },
	                        (struct view){ 0 }, 9, on_reply, &grep, &files_op, &err),
	            err, ERR_SYSTEM, "it broke");
	live_stop(&live);
}

/* --- cancelling --- */

static void cancelled_operation_calls_nothing(void **state)
{
	enum { LEN = 1024 * 1024 };
	AUTO_FREE char *noise = files_noise(LEN);
	struct operation read = { 0 }, written = { 0 };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", (struct view){ noise, LEN });
	START(&live, &read, LEN, READ_ALL("f"));
	files_cancel(read.files_op);
	start_operation(
	        &live, &written,
	        &(struct wire_message){ .type = WIRE_WRITE,
	                                .write = { .perm = 0644, .max = LEN, .path = VIEW("w") } },
	        (struct view){ noise, LEN }, 0);
	files_cancel(written.files_op);
	live_run_ms(&live, 200);
	assert_int_equal(read.calls + written.calls, 0);
	assert_false(files_exist(&live, "w"));
	files_cancel(NULL);
	live_stop(&live);
}

static void callback_may_cancel_its_operation(void **state)
{
	struct operation good = { .cancels_itself = true }, bad = { .cancels_itself = true },
	                 full = { .cancels_itself = true };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("text"));
	START(&live, &good, 99, READ_ALL("a"));
	assert_done(&good);
	CHECK_VIEW(buf_view(&good.bytes), "text");
	START(&live, &bad, 99, READ_ALL("b"));
	wait_for_operation(&bad);
	START(&live, &full, 1, READ_ALL("a"));
	wait_for_operation(&full);
	buf_done(&good.bytes);
	live_stop(&live);
}

static void callback_may_start_another_operation(void **state)
{
	struct operation second = { 0 }, third = { 0 };
	struct operation first = { .next = &second }, failing = { .next = &third };
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "a", VIEW("text"));
	START(&live, &first, 99, READ_ALL("a"));
	START(&live, &failing, 99, READ_ALL("b"));
	assert_done(&first);
	wait_for_operation(&failing);
	assert_done(&second);
	assert_done(&third);
	CHECK_VIEW(buf_view(&second.bytes), "text");
	buf_done(&first.bytes);
	buf_done(&second.bytes);
	buf_done(&third.bytes);
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(file_larger_than_a_window_is_written_and_read),
		TWICE(empty_file_is_written),
		TWICE(reply_larger_than_the_maximum_fails),
		TWICE(records_of_many_frames_are_kept),
		cmocka_unit_test(invalid_bytes_are_no_records),
		TWICE(failures_have_their_kind),
		TWICE(end_of_the_channel_fails_the_operation),
		TWICE(cancelled_operation_calls_nothing),
		TWICE(callback_may_cancel_its_operation),
		TWICE(callback_may_start_another_operation),
	};

	return RUN_TESTS("files", all);
}
