#include "base/buf.h"
#include "sandbox/interpreter/kernel_wire.h"
#include "unit/test.h"

/* Lengths of fields. */
#define L0 "\0\0\0\0"
#define L1 "\1\0\0\0"
#define L2 "\2\0\0\0"
#define L3 "\3\0\0\0"
#define L4 "\4\0\0\0"
#define L5 "\5\0\0\0"

static void expect_bytes(const struct buf *out, struct view want)
{
	assert_int_equal(out->len, want.len);
	assert_memory_equal(out->ptr, want.ptr, want.len);
}

static void boot_and_mark_have_no_fields(void **state)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, 4096);
	CHECK_OK(kernel_encode_boot(&out, VIEW("a\0b"), &err), err);
	expect_bytes(&out, VIEW("B" L3 "a\0b"));
	buf_clear(&out);
	CHECK_OK(kernel_encode_mark(&out, "0123456789abcdefghijklmn", &err), err);
	expect_bytes(&out, VIEW("M\x18\0\0\0"
	                        "0123456789abcdefghijklmn"));
}

static const char *const some_args[] = { "-v", "", NULL };
static const char *const some_env[] = { "A=1", NULL };

static const struct {
	struct kernel_run run;
	struct view want;
} runs[] = {
	{ { .is_cell = false,
	    .name = "n",
	    .cwd = "/w",
	    .code = VIEW_INIT("1\0+1"),
	    .has_stdin = true,
	    .in = VIEW_INIT("in\n"),
	    .pixels = 12345,
	    .bytes = 0,
	    .args = some_args,
	    .env = some_env },
	  VIEW_INIT("R\x51\0\0\0" L5 "fresh" L1 "n" L2 "/w" L4 "1\0+1" L1 "1" L3 "in\n" L5
	            "12345" L1 "0" L1 "2" L2 "-v" L0 L1 "1" L3 "A=1") },
	/* `in` is ignored if has_stdin is false. */
	{ { .is_cell = true,
	    .name = "",
	    .cwd = "",
	    .code = VIEW_INIT(""),
	    .has_stdin = false,
	    .in = VIEW_INIT("lost"),
	    .pixels = 1,
	    .bytes = 2 },
	  VIEW_INIT("R\x31\0\0\0" L4 "cell" L0 L0 L0 L1 "0" L0 L1 "1" L1 "2" L1 "0" L1 "0") },
	{ { .is_cell = true, .name = "", .cwd = "", .data_limit = 789 },
	  VIEW_INIT("R\x38\0\0\0" L4 "cell" L0 L0 L0 L1 "0" L0 L1 "0" L1 "0" L1 "0" L1 "0" L3
	            "789") },
};

static void run_has_its_fields_in_order(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 4096);
		CHECK_OK(buf_add(&out, VIEW("before"), &err), err);
		CHECK_OK(kernel_encode_run(&out, &runs[i].run, &err), err);
		assert_memory_equal(out.ptr, "before", 6);
		assert_int_equal(out.len - 6, runs[i].want.len);
		assert_memory_equal(out.ptr + 6, runs[i].want.ptr, runs[i].want.len);
	}
}

/* A part of a message would be read as the front of the next one. */
static void message_that_does_not_fit_leaves_the_buffer_unchanged(void **state)
{
	for (size_t max = 6; max < 6 + runs[0].want.len; max++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, max);
		CHECK_OK(buf_add(&out, VIEW("before"), &err), err);
		assert_int_equal(kernel_encode_run(&out, &runs[0].run, &err), -1);
		assert_int_equal(err.kind, ERR_LIMIT);
		expect_bytes(&out, VIEW("before"));
	}
	for (size_t max = 6; max < 6 + KERNEL_HEADER + 4; max++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, max);
		CHECK_OK(buf_add(&out, VIEW("before"), &err), err);
		assert_int_equal(kernel_encode_boot(&out, VIEW("boot"), &err), -1);
		expect_bytes(&out, VIEW("before"));
	}
}

/* Decodes from an allocation of the exact size, so that AddressSanitizer finds a read beyond it. */
static int take_exactly(struct view frame, struct kernel_message *message, size_t *left,
                        struct error *err)
{
	static char *exact;
	struct view bytes;
	int r;

	free(exact); /* the views in *message are not used after the next call */
	exact = malloc(frame.len + (frame.len == 0));
	assert_non_null(exact);
	memcpy(exact, frame.ptr, frame.len);
	bytes = (struct view){ exact, frame.len };
	r = kernel_decode(&bytes, message, err);
	assert_ptr_equal(bytes.ptr + bytes.len, exact + frame.len);
	*left = bytes.len;
	return r;
}

static void ready_is_decoded(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(take_exactly(VIEW("r\7\0\0\0" L3 "3.7rest"), &message, &left, &err), 1);
	assert_int_equal(message.type, KERNEL_READY);
	CHECK_VIEW(message.ready.version, "3.7");
	assert_int_equal(left, 4);
}

static void names_are_identifiers(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(take_exactly(VIEW("n\7\0\0\0" L3 "a _"), &message, &left, &err), 1);
	assert_int_equal(message.type, KERNEL_NAMES);
	CHECK_VIEW(message.names.names, "a _");
	assert_int_equal(take_exactly(VIEW("n\4\0\0\0" L0), &message, &left, &err), 1);
	assert_int_equal(take_exactly(VIEW("n\7\0\0\0" L3 "a'b"), &message, &left, &err), -1);
	assert_string_equal(err.msg, "NAMES from the interpreter: names holds another character");
	assert_int_equal(take_exactly(VIEW("n\7\0\0\0" L3 "a\0b"), &message, &left, &err), -1);
	assert_int_equal(take_exactly(VIEW("n\7\0\0\0" L3 "a\nb"), &message, &left, &err), -1);
}

static void text_request_has_no_fields(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(take_exactly(VIEW("t\0\0\0\0"), &message, &left, &err), 1);
	assert_int_equal(message.type, KERNEL_TEXT);
	assert_int_equal(take_exactly(VIEW("t\4\0\0\0" L0), &message, &left, &err), -1);
}

static void shown_is_decoded_as_text_or_path(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(take_exactly(VIEW("v\x12\0\0\0" L3 "a/b" L3 "\xe2\x82\xac" L0), &message,
	                              &left, &err),
	                 1);
	assert_int_equal(message.type, KERNEL_SHOWN);
	CHECK_VIEW(message.shown.mime, "a/b");
	CHECK_VIEW(message.shown.text, "\xe2\x82\xac");
	CHECK_VIEW(message.shown.path, "");
	assert_int_equal(left, 0);
	assert_int_equal(
	        take_exactly(VIEW("v\x12\0\0\0" L3 "a/b" L0 L3 "/w\x21"), &message, &left, &err),
	        1);
	CHECK_VIEW(message.shown.text, "");
	CHECK_VIEW(message.shown.path, "/w!");
	CHECK_VIEW(message.shown.id, "");
}

static void display_ids_are_decoded(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(
	        take_exactly(VIEW("v\x13\0\0\0" L1 "m" L1 "t" L0 L1 "i"), &message, &left, &err),
	        1);
	CHECK_VIEW(message.shown.id, "i");
	assert_int_equal(take_exactly(VIEW("c\5\0\0\0" L1 "i"), &message, &left, &err), 1);
	assert_int_equal(message.type, KERNEL_CLEARED);
	CHECK_VIEW(message.cleared.id, "i");
	assert_int_equal(take_exactly(VIEW("c\4\0\0\0" L0), &message, &left, &err), 1);
	CHECK_VIEW(message.cleared.id, "");
	assert_false(message.cleared.waits);
	assert_int_equal(take_exactly(VIEW("c\x0c\0\0\0" L0 "\4\0\0\0wait"), &message, &left, &err),
	                 1);
	assert_true(message.cleared.waits);
}

static void error_is_decoded(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(
	        take_exactly(VIEW("e\x12\0\0\0" L1 "N" L3 "a\0b" L2 "t\n"), &message, &left, &err),
	        1);
	assert_int_equal(message.type, KERNEL_ERROR);
	CHECK_VIEW(message.error.name, "N");
	assert_int_equal(message.error.message.len, 3);
	CHECK_VIEW(message.error.traceback, "t\n");
}

static void ended_is_decoded(void **state)
{
	struct kernel_message message;
	struct error err;
	size_t left;

	assert_int_equal(take_exactly(VIEW("x\x33\0\0\0" L3 "255" L1 "0" L1 "1\x14\0\0\0"
	                                   "18446744073709551615" L1 "0" L1 "7"),
	                              &message, &left, &err),
	                 1);
	assert_int_equal(message.type, KERNEL_ENDED);
	assert_int_equal(message.ended.code, 255);
	assert_int_equal(message.ended.signal, 0);
	assert_true(message.ended.is_exit);
	assert_true(message.ended.user_us == UINT64_MAX);
	assert_int_equal(message.ended.system_us, 0);
	assert_int_equal(message.ended.max_rss_kib, 7);
	assert_int_equal(
	        take_exactly(VIEW("x\x1f\0\0\0" L1 "0" L2 "64" L1 "0" L1 "1" L1 "2" L1 "3"),
	                     &message, &left, &err),
	        1);
	assert_int_equal(message.ended.code, 0);
	assert_int_equal(message.ended.signal, 64);
	assert_false(message.ended.is_exit);
}

static void incomplete_message_waits_for_more_bytes(void **state)
{
	static const struct view frame = VIEW_INIT("e\x12\0\0\0" L1 "N" L3 "a\0b" L2 "t\n");

	for (size_t len = 0; len < frame.len; len++) {
		struct kernel_message message = { .type = KERNEL_MARK };
		struct error err;
		size_t left;

		assert_int_equal(
		        take_exactly((struct view){ frame.ptr, len }, &message, &left, &err), 0);
		assert_int_equal(left, len);
		assert_int_equal(message.type, KERNEL_MARK);
	}
}

static const struct {
	struct view bytes;
	enum error_kind kind;
	const char *msg;
} refused[] = {
	{ VIEW_INIT("B"), ERR_SYNTAX, "a message from the interpreter has the unknown type 66" },
	{ VIEW_INIT("R\0\0\0\0"), ERR_SYNTAX,
	  "a message from the interpreter has the unknown type 82" },
	{ VIEW_INIT("\0"), ERR_SYNTAX, "a message from the interpreter has the unknown type 0" },
	{ VIEW_INIT("r\xfc\xff\x0f\0"), ERR_LIMIT,
	  "READY from the interpreter announces 1048572 bytes, the most is 1048571" },
	{ VIEW_INIT("v\xff\xff\xff\xff"), ERR_LIMIT,
	  "SHOWN from the interpreter announces 4294967295 bytes, the most is 1048571" },
	{ VIEW_INIT("r\0\0\0\0"), ERR_SYNTAX, "READY from the interpreter: version is missing" },
	{ VIEW_INIT("r\3\0\0\0\0\0\0"), ERR_SYNTAX,
	  "READY from the interpreter: version is missing" },
	{ VIEW_INIT("r\6\0\0\0" L3 "3."), ERR_SYNTAX,
	  "READY from the interpreter: version is cut off" },
	{ VIEW_INIT("r\4\0\0\0\xff\xff\xff\xff"), ERR_SYNTAX,
	  "READY from the interpreter: version is cut off" },
	{ VIEW_INIT("r\4\0\0\0" L0), ERR_SYNTAX, "READY from the interpreter: version is empty" },
	{ VIEW_INIT("r\7\0\0\0" L3 "3 7"), ERR_SYNTAX,
	  "READY from the interpreter: version is not one word" },
	{ VIEW_INIT("r\7\0\0\0" L3 "3\x7f"
	            "7"),
	  ERR_SYNTAX, "READY from the interpreter: version is not one word" },
	{ VIEW_INIT("r\x45\0\0\0\x41\0\0\0"
	            "00000000001111111111222222222233333333334444444444555555555566666"),
	  ERR_LIMIT, "READY from the interpreter: version has 65 bytes, the most is 64" },
	{ VIEW_INIT("r\x9\0\0\0" L3 "3.7xx"), ERR_SYNTAX,
	  "READY from the interpreter has 2 bytes too many" },
	{ VIEW_INIT("v\x0e\0\0\0" L0 L1 "t" L1 "/"), ERR_SYNTAX,
	  "SHOWN from the interpreter: mime is empty" },
	{ VIEW_INIT("v\x0f\0\0\0" L1 "m" L1 "t" L1 "/"), ERR_SYNTAX,
	  "SHOWN from the interpreter: path stands beside text" },
	{ VIEW_INIT("v\x0e\0\0\0" L1 "m" L0 L1 "w"), ERR_SYNTAX,
	  "SHOWN from the interpreter: path does not begin with /" },
	{ VIEW_INIT("v\x0f\0\0\0" L1 "m" L0 L2 "/\0"), ERR_SYNTAX,
	  "SHOWN from the interpreter: path holds a control character" },
	{ VIEW_INIT("v\x0f\0\0\0" L1 "m" L0 L2 "/\n"), ERR_SYNTAX,
	  "SHOWN from the interpreter: path holds a control character" },
	{ VIEW_INIT("v\x0f\0\0\0" L1 "m" L0 L2 "/\xff"), ERR_SYNTAX,
	  "SHOWN from the interpreter: path is not UTF-8" },
	{ VIEW_INIT("v\x0e\0\0\0" L1 "m" L1 "\xff" L0), ERR_SYNTAX,
	  "SHOWN from the interpreter: text is not UTF-8" },
	{ VIEW_INIT("v\x9\0\0\0" L1 "m" L0), ERR_SYNTAX,
	  "SHOWN from the interpreter: path is missing" },
	{ VIEW_INIT("c\0\0\0\0"), ERR_SYNTAX, "CLEARED from the interpreter: id is missing" },
	{ VIEW_INIT("c\x0c\0\0\0" L0 "\4\0\0\0wail"), ERR_SYNTAX,
	  "CLEARED from the interpreter: wait is another word" },
	{ VIEW_INIT("v\x13\0\0\0" L1 "m" L1 "t" L0 L1 "\xff"), ERR_SYNTAX,
	  "SHOWN from the interpreter: id is not UTF-8" },
	{ VIEW_INIT("e\x9\0\0\0" L1 "n" L0), ERR_SYNTAX,
	  "ERROR from the interpreter: traceback is missing" },
	{ VIEW_INIT("e\x10\0\0\0" L1 "n" L0 L3 "\xed\xa0\x80"), ERR_SYNTAX,
	  "ERROR from the interpreter: traceback is not UTF-8" },
	{ VIEW_INIT("x\x20\0\0\0" L3 "256" L1 "0" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_LIMIT,
	  "ENDED from the interpreter: code is more than 255" },
	{ VIEW_INIT("x\x1f\0\0\0" L1 "0" L2 "65" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_LIMIT,
	  "ENDED from the interpreter: signal is more than 64" },
	{ VIEW_INIT("x\x1e\0\0\0" L1 "1" L1 "9" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_SYNTAX,
	  "ENDED from the interpreter: signal stands beside a code" },
	{ VIEW_INIT("x\x1e\0\0\0" L1 "0" L1 "0" L1 "2" L1 "0" L1 "0" L1 "0"), ERR_LIMIT,
	  "ENDED from the interpreter: is_exit is more than 1" },
	{ VIEW_INIT("x\x1d\0\0\0" L0 L1 "0" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_SYNTAX,
	  "ENDED from the interpreter: code is not a number" },
	{ VIEW_INIT("x\x1f\0\0\0" L2 "00" L1 "0" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_SYNTAX,
	  "ENDED from the interpreter: code is not a number" },
	{ VIEW_INIT("x\x1f\0\0\0" L2 "-1" L1 "0" L1 "0" L1 "0" L1 "0" L1 "0"), ERR_SYNTAX,
	  "ENDED from the interpreter: code is not a number" },
	{ VIEW_INIT("x\x1e\0\0\0" L1 "0" L1 "0" L1 "0" L1 ":" L1 "0" L1 "0"), ERR_SYNTAX,
	  "ENDED from the interpreter: user_us is not a number" },
	{ VIEW_INIT("x\x31\0\0\0" L1 "0" L1 "0" L1 "0" L1 "0" L1 "0\x14\0\0\0"
	            "18446744073709551616"),
	  ERR_LIMIT, "ENDED from the interpreter: max_rss_kib is more than 18446744073709551615" },
};

static void message_that_breaks_a_rule_is_rejected(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct kernel_message message = { .type = KERNEL_MARK };
		struct error err;
		size_t left = 0;

		CHECK_ERROR(take_exactly(refused[i].bytes, &message, &left, &err), err,
		            refused[i].kind, refused[i].msg);
		assert_int_equal(left, refused[i].bytes.len);
		assert_int_equal(message.type, KERNEL_MARK);
	}
}

static void longest_message_is_decoded(void **state)
{
	static char bytes[KERNEL_MESSAGE_MAX];
	const size_t text = sizeof(bytes) - KERNEL_HEADER - 3 * 4 - 1;
	struct view rest = { bytes, sizeof(bytes) };
	struct kernel_message message;
	struct error err;

	memset(bytes, 'a', sizeof(bytes));
	memcpy(bytes, "v\xfb\xff\x0f\0" L1 "m", 10);
	for (int i = 0; i < 4; i++)
		bytes[10 + i] = (char)(unsigned char)(text >> (8 * i));
	memset(bytes + sizeof(bytes) - 4, 0, 4);
	assert_int_equal(kernel_decode(&rest, &message, &err), 1);
	assert_int_equal(message.shown.text.len, text);
	assert_int_equal(rest.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(boot_and_mark_have_no_fields),
		TEST(run_has_its_fields_in_order),
		TEST(message_that_does_not_fit_leaves_the_buffer_unchanged),
		TEST(ready_is_decoded),
		TEST(names_are_identifiers),
		TEST(text_request_has_no_fields),
		TEST(shown_is_decoded_as_text_or_path),
		TEST(display_ids_are_decoded),
		TEST(error_is_decoded),
		TEST(ended_is_decoded),
		TEST(incomplete_message_waits_for_more_bytes),
		TEST(message_that_breaks_a_rule_is_rejected),
		TEST(longest_message_is_decoded),
	};

	return RUN_TESTS("kernel_wire", tests);
}
