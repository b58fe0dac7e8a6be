#include <inttypes.h>

#include "base/buf.h"
#include "unit/test.h"
#include "wire/field.h"

/* One field of each kind, each in its own record, so that a case tests one field. */
struct sample {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	uint8_t flags, which;
	struct view text, bytes, rest;
	struct wire_texts texts;
	struct wire_numbers numbers;
	struct wire_limits limits;
};

#define ROW(member, kind, lo, hi)                                                                  \
	{                                                                                          \
#member, kind, offsetof(struct sample, member), lo, hi                             \
	}
static const struct wire_field rows[] = {
	[WIRE_U8] = ROW(u8, WIRE_U8, 3, 200),
	[WIRE_U16] = ROW(u16, WIRE_U16, 1, 40000),
	[WIRE_U32] = ROW(u32, WIRE_U32, 2, 4000000000),
	[WIRE_U64] = ROW(u64, WIRE_U64, 1, UINT64_MAX - 1),
	[WIRE_FLAGS] = ROW(flags, WIRE_FLAGS, 0, 0x85),
	[WIRE_ENUM] = ROW(which, WIRE_ENUM, 0, 2),
	[WIRE_TEXT] = ROW(text, WIRE_TEXT, 1, 4),
	[WIRE_BYTES] = ROW(bytes, WIRE_BYTES, 1, 4),
	[WIRE_TEXTS] = ROW(texts, WIRE_TEXTS, 1, 2),
	[WIRE_NUMBERS] = ROW(numbers, WIRE_NUMBERS, 1, 2),
	[WIRE_LIMITS] = ROW(limits, WIRE_LIMITS, 1, 2),
	[WIRE_REST] = ROW(rest, WIRE_REST, 1, 4),
};

#define LIMIT1 "\x07\x00\x00\x00\x00\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff"

static const struct {
	enum wire_field_kind kind;
	struct view bytes;
	const char *msg; /* NULL: accepted */
	enum error_kind error;
} cases[] = {
	{ WIRE_U8, VIEW_INIT("\x03"), NULL, 0 },
	{ WIRE_U8, VIEW_INIT("\xc8"), NULL, 0 },
	{ WIRE_U8, VIEW_INIT("\x02"), "u8 is 2, not 3 to 200", ERR_INVALID },
	{ WIRE_U8, VIEW_INIT("\xc9"), "u8 is 201, not 3 to 200", ERR_LIMIT },
	{ WIRE_U8, VIEW_INIT(""), "u8 is cut off", ERR_SYNTAX },
	{ WIRE_U16, VIEW_INIT("\x00\x01"), NULL, 0 },
	{ WIRE_U16, VIEW_INIT("\x9c\x40"), NULL, 0 },
	{ WIRE_U16, VIEW_INIT("\x00\x00"), "u16 is 0, not 1 to 40000", ERR_INVALID },
	{ WIRE_U16, VIEW_INIT("\x9c\x41"), "u16 is 40001, not 1 to 40000", ERR_LIMIT },
	{ WIRE_U16, VIEW_INIT("\x01"), "u16 is cut off", ERR_SYNTAX },
	{ WIRE_U32, VIEW_INIT("\x00\x00\x00\x02"), NULL, 0 },
	{ WIRE_U32, VIEW_INIT("\xee\x6b\x28\x00"), NULL, 0 },
	{ WIRE_U32, VIEW_INIT("\x00\x00\x00\x01"), "u32 is 1, not 2 to 4000000000", ERR_INVALID },
	{ WIRE_U32, VIEW_INIT("\xee\x6b\x28\x01"), "u32 is 4000000001, not 2 to 4000000000",
	  ERR_LIMIT },
	{ WIRE_U64, VIEW_INIT("\x00\x00\x00\x00\x00\x00\x00\x01"), NULL, 0 },
	{ WIRE_U64, VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xfe"), NULL, 0 },
	{ WIRE_U64, VIEW_INIT("\x00\x00\x00\x00\x00\x00\x00\x00"),
	  "u64 is 0, not 1 to 18446744073709551614", ERR_INVALID },
	{ WIRE_U64, VIEW_INIT("\xff\xff\xff\xff\xff\xff\xff\xff"),
	  "u64 is 18446744073709551615, not 1 to 18446744073709551614", ERR_LIMIT },
	{ WIRE_FLAGS, VIEW_INIT("\x00"), NULL, 0 },
	{ WIRE_FLAGS, VIEW_INIT("\x85"), NULL, 0 },
	{ WIRE_FLAGS, VIEW_INIT("\x02"), "flags has unknown bits: 0x2", ERR_INVALID },
	{ WIRE_FLAGS, VIEW_INIT("\xff"), "flags has unknown bits: 0x7a", ERR_INVALID },
	{ WIRE_ENUM, VIEW_INIT("\x02"), NULL, 0 },
	{ WIRE_ENUM, VIEW_INIT("\x03"), "which is 3, not 0 to 2", ERR_LIMIT },
	{ WIRE_TEXT, VIEW_INIT("\x00\x01x\0"), NULL, 0 },
	{ WIRE_TEXT, VIEW_INIT("\x00\x04\xff\xfe\x01\x7f\0"), NULL, 0 },
	{ WIRE_TEXT, VIEW_INIT("\x00\x00\0"), "text has 0 bytes, not 1 to 4", ERR_INVALID },
	{ WIRE_TEXT, VIEW_INIT("\x00\x05xxxxx\0"), "text has 5 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_TEXT, VIEW_INIT("\x00\x02xxx"), "text does not end in a NUL", ERR_SYNTAX },
	{ WIRE_TEXT, VIEW_INIT("\x00\x03x\0x\0"), "text has a NUL within", ERR_INVALID },
	{ WIRE_TEXT, VIEW_INIT("\x00\x01\0\0"), "text has a NUL within", ERR_INVALID },
	{ WIRE_TEXT, VIEW_INIT("\x00\x01x"), "text is cut off", ERR_SYNTAX },
	{ WIRE_TEXT, VIEW_INIT("\xff\xffxxxx\0"), "text is cut off", ERR_SYNTAX },
	{ WIRE_BYTES, VIEW_INIT("\x00\x01\0"), NULL, 0 },
	{ WIRE_BYTES, VIEW_INIT("\x00\x04\0\xff\0x"), NULL, 0 },
	{ WIRE_BYTES, VIEW_INIT("\x00\x00"), "bytes has 0 bytes, not 1 to 4", ERR_INVALID },
	{ WIRE_BYTES, VIEW_INIT("\x00\x05xxxxx"), "bytes has 5 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_BYTES, VIEW_INIT("\xff\xff"), "bytes has 65535 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x01\x00\x00\0"), NULL, 0 },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x02\x00\x01x\0\x00\x02yy\0"), NULL, 0 },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x00"), "texts has 0 items, not 1 to 2", ERR_INVALID },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x03\x00\x00\0\x00\x00\0\x00\x00\0"),
	  "texts has 3 items, not 1 to 2", ERR_LIMIT },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x02\x00\x01x\0\x00\x02yyy"), "texts does not end in a NUL",
	  ERR_SYNTAX },
	{ WIRE_TEXTS, VIEW_INIT("\x00\x02\x00\x01x\0\x00\x02\0y\0"), "texts has a NUL within",
	  ERR_INVALID },
	{ WIRE_NUMBERS, VIEW_INIT("\x00\x01\xff\xff\xff\xff"), NULL, 0 },
	{ WIRE_NUMBERS, VIEW_INIT("\x00\x02\x00\x00\x00\x00\x01\x02\x03\x04"), NULL, 0 },
	{ WIRE_NUMBERS, VIEW_INIT("\x00\x00"), "numbers has 0 items, not 1 to 2", ERR_INVALID },
	{ WIRE_NUMBERS, VIEW_INIT("\xff\xff"), "numbers has 65535 items, not 1 to 2", ERR_LIMIT },
	{ WIRE_LIMITS, VIEW_INIT("\x00\x01" LIMIT1), NULL, 0 },
	{ WIRE_LIMITS, VIEW_INIT("\x00\x02" LIMIT1 LIMIT1), NULL, 0 },
	{ WIRE_LIMITS, VIEW_INIT("\x00\x00"), "limits has 0 items, not 1 to 2", ERR_INVALID },
	{ WIRE_LIMITS, VIEW_INIT("\x00\x03" LIMIT1), "limits has 3 items, not 1 to 2", ERR_LIMIT },
	{ WIRE_REST, VIEW_INIT("\0"), NULL, 0 },
	{ WIRE_REST, VIEW_INIT("abcd"), NULL, 0 },
	{ WIRE_REST, VIEW_INIT(""), "rest has 0 bytes, not 1 to 4", ERR_INVALID },
	{ WIRE_REST, VIEW_INIT("abcde"), "rest has 5 bytes, not 1 to 4", ERR_LIMIT },
};

static struct wire_record record_of(enum wire_field_kind kind)
{
	return (struct wire_record){ &rows[kind], 1, sizeof(struct sample) };
}

static void check_refused(enum wire_field_kind kind, struct view bytes, const char *msg,
                          enum error_kind error)
{
	struct wire_record record = record_of(kind);
	struct view rest = bytes;
	struct sample out;
	struct error err;

	CHECK_ERROR(wire_record_decode(&record, &rest, &out, &err), err, error, msg);
	assert_ptr_equal(rest.ptr, bytes.ptr);
	assert_int_equal(rest.len, bytes.len);
}

/* Encoding the decoded value gives the same bytes again. */
static void check_accepted(enum wire_field_kind kind, struct view bytes)
{
	AUTO_BUF struct buf again;
	struct wire_record record = record_of(kind);
	struct view rest = bytes;
	struct sample out = { 0 };
	struct error err;

	buf_init(&again, 1000);
	CHECK_OK(wire_record_decode(&record, &rest, &out, &err), err);
	assert_int_equal(rest.len, 0);
	CHECK_OK(wire_record_encode(&record, &out, &again, &err), err);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.ptr, bytes.ptr, bytes.len);
}

static void decoder_accepts_exactly_what_the_table_allows(void **state)
{
	bool seen[ARRAY_LEN(rows)] = { false };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		seen[cases[i].kind] = true;
		if (cases[i].msg != NULL)
			check_refused(cases[i].kind, cases[i].bytes, cases[i].msg, cases[i].error);
		else
			check_accepted(cases[i].kind, cases[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_true(seen[i]);
}

static void decoder_refuses_truncated_fields(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		for (size_t len = 0; len < cases[i].bytes.len && cases[i].msg == NULL; len++) {
			char *exact = malloc(len + (len == 0));
			char want[64];

			assert_non_null(exact);
			memcpy(exact, cases[i].bytes.ptr, len);
			(void)snprintf(want, sizeof want, "%s is cut off",
			               rows[cases[i].kind].name);
			if (cases[i].kind != WIRE_REST)
				check_refused(cases[i].kind, (struct view){ exact, len }, want,
				              ERR_SYNTAX);
			else if (len != 0)
				check_accepted(WIRE_REST, (struct view){ exact, len });
			free(exact);
		}
	}
}

/* A record with all kinds but rest, followed by other bytes. */
static void decoder_leaves_the_bytes_after_a_record(void **state)
{
	static const char bytes[] = "\x03"
	                            "\x00\x01"
	                            "\x00\x00\x00\x02"
	                            "\x00\x00\x00\x00\x00\x00\x00\x09"
	                            "\x81"
	                            "\x02"
	                            "\x00\x01t\0"
	                            "\x00\x01\0"
	                            "\x00\x01\x00\x01x\0"
	                            "\x00\x01\x00\x00\x00\x05"
	                            "\x00\x01" LIMIT1 "left";
	const struct wire_record record = { rows, WIRE_REST, sizeof(struct sample) };
	struct view rest = VIEW(bytes);
	struct sample out;
	struct error err;

	CHECK_OK(wire_record_decode(&record, &rest, &out, &err), err);
	CHECK_VIEW(rest, "left");
	assert_int_equal(out.u8, 3);
	assert_int_equal(out.u16, 1);
	assert_int_equal(out.u32, 2);
	assert_int_equal(out.u64, 9);
	assert_int_equal(out.flags, 0x81);
	assert_int_equal(out.which, 2);
	CHECK_VIEW(out.text, "t");
	assert_int_equal(out.text.ptr[1], '\0');
	assert_int_equal(out.bytes.len, 1);
	assert_int_equal(out.texts.count, 1);
	assert_int_equal(wire_number_at(&out.numbers, 0), 5);
	assert_int_equal(wire_limit_at(&out.limits, 0).resource, 7);
	assert_int_equal(wire_limit_at(&out.limits, 0).soft, 1);
	assert_true(wire_limit_at(&out.limits, 0).hard == UINT64_MAX);
}

static const struct {
	enum wire_field_kind kind;
	struct sample value;
	const char *msg;
	enum error_kind error;
} forbidden[] = {
	{ WIRE_U8, { .u8 = 201 }, "u8 is 201, not 3 to 200", ERR_LIMIT },
	{ WIRE_U16, { .u16 = 0 }, "u16 is 0, not 1 to 40000", ERR_INVALID },
	{ WIRE_U32, { .u32 = UINT32_MAX }, "u32 is 4294967295, not 2 to 4000000000", ERR_LIMIT },
	{ WIRE_U64, { .u64 = 0 }, "u64 is 0, not 1 to 18446744073709551614", ERR_INVALID },
	{ WIRE_FLAGS, { .flags = 8 }, "flags has unknown bits: 0x8", ERR_INVALID },
	{ WIRE_ENUM, { .which = 3 }, "which is 3, not 0 to 2", ERR_LIMIT },
	{ WIRE_TEXT, { .text = { NULL, 0 } }, "text has 0 bytes, not 1 to 4", ERR_INVALID },
	{ WIRE_TEXT, { .text = VIEW_INIT("12345") }, "text has 5 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_TEXT, { .text = VIEW_INIT("1\0") }, "text has a NUL within", ERR_INVALID },
	{ WIRE_BYTES, { .bytes = VIEW_INIT("12345") }, "bytes has 5 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_REST, { .rest = VIEW_INIT("12345") }, "rest has 5 bytes, not 1 to 4", ERR_LIMIT },
	{ WIRE_TEXTS, { .texts = { 0 } }, "texts has 0 items, not 1 to 2", ERR_INVALID },
	{ WIRE_TEXTS,
	  { .texts = { 1, VIEW_INIT("\0\0\0\0\0\0") } },
	  "texts has 1 items that are not in its 6 bytes",
	  ERR_INVALID },
	{ WIRE_TEXTS, { .texts = { 2, VIEW_INIT("\0\0\0") } }, "texts is cut off", ERR_SYNTAX },
	{ WIRE_NUMBERS,
	  { .numbers = { 3, VIEW_INIT("\0\0\0\0\0\0\0\0\0\0\0\0") } },
	  "numbers has 3 items, not 1 to 2",
	  ERR_LIMIT },
	{ WIRE_NUMBERS,
	  { .numbers = { 2, VIEW_INIT("\0\0\0\0") } },
	  "numbers has 2 items that are not in its 4 bytes",
	  ERR_INVALID },
	{ WIRE_LIMITS,
	  { .limits = { 1, VIEW_INIT("\0") } },
	  "limits has 1 items that are not in its 1 bytes",
	  ERR_INVALID },
};

static void encoder_refuses_what_the_table_forbids(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
		/* The first field is written before the second one fails, and is removed again. */
		const struct wire_field fields[] = { rows[WIRE_U8], rows[forbidden[i].kind] };
		const struct wire_record record = { fields, 2, sizeof(struct sample) };
		struct sample value = forbidden[i].value;
		AUTO_BUF struct buf out;
		struct error err;

		if (forbidden[i].kind != WIRE_U8)
			value.u8 = 3;
		buf_init(&out, 100);
		CHECK_OK(buf_add(&out, VIEW("before"), &err), err);
		CHECK_ERROR(wire_record_encode(&record, &value, &out, &err), err,
		            forbidden[i].error, forbidden[i].msg);
		assert_string_equal(buf_text(&out), "before");
		assert_int_equal(out.len, 6);
	}
}

static void full_buffer_holds_no_partial_record(void **state)
{
	const struct wire_record record = { rows, WIRE_REST, sizeof(struct sample) };
	const struct sample value = {
		.u8 = 3,
		.u16 = 1,
		.u32 = 2,
		.u64 = 3,
		.flags = 1,
		.which = 1,
		.text = VIEW_INIT("x"),
		.bytes = VIEW_INIT("y"),
		.texts = { 1, VIEW_INIT("\0\0\0") },
		.numbers = { 1, VIEW_INIT("1234") },
		.limits = { 1, VIEW_INIT(LIMIT1) },
	};
	const size_t whole = 1 + 2 + 4 + 8 + 1 + 1 + 4 + 3 + 5 + 6 + 19;
	struct error err;

	for (size_t max = 1; max <= whole; max++) {
		AUTO_BUF struct buf out;
		char want[40];

		buf_init(&out, max);
		(void)snprintf(want, sizeof want, "more than %zu bytes", max);
		if (max < whole)
			CHECK_ERROR(wire_record_encode(&record, &value, &out, &err), err, ERR_LIMIT,
			            want);
		else
			CHECK_OK(wire_record_encode(&record, &value, &out, &err), err);
		assert_int_equal(out.len, max < whole ? 0 : whole);
	}
}

static void list_returns_what_was_added(void **state)
{
	static const char *const words[] = { "", "one", "\xc3\xa4" };
	AUTO_BUF struct buf a, b, c;
	struct wire_texts texts = { 0 };
	struct wire_numbers numbers = { 0 };
	struct wire_limits limits = { 0 };
	struct view rest, text;
	struct error err;

	buf_init(&a, 1000);
	buf_init(&b, 1000);
	buf_init(&c, 1000);
	for (unsigned i = 0; i < 3; i++) {
		struct wire_limit limit = { (uint8_t)i, i * 1000, UINT64_MAX - i };

		CHECK_OK(wire_texts_add(&texts, &a, view_of(words[i]), &err), err);
		CHECK_OK(wire_numbers_add(&numbers, &b, UINT32_MAX - i, &err), err);
		CHECK_OK(wire_limits_add(&limits, &c, limit, &err), err);
	}
	assert_int_equal(texts.count, 3);
	rest = texts.items;
	for (size_t i = 0; i < 3; i++) {
		assert_true(wire_texts_next(&rest, &text));
		CHECK_VIEW(text, words[i]);
		assert_string_equal(text.ptr, words[i]);
		assert_int_equal(wire_number_at(&numbers, i), UINT32_MAX - i);
		assert_int_equal(wire_limit_at(&limits, i).resource, i);
		assert_int_equal(wire_limit_at(&limits, i).soft, i * 1000);
		assert_true(wire_limit_at(&limits, i).hard == UINT64_MAX - i);
	}
	assert_false(wire_texts_next(&rest, &text));
	assert_int_equal(limits.items.len, 3 * WIRE_LIMIT_SIZE);
}

static void list_refuses_text_that_cannot_be_encoded(void **state)
{
	static char long_text[65001];
	AUTO_BUF struct buf buf;
	struct wire_texts texts = { 0 };
	struct error err;

	memset(long_text, 'x', sizeof long_text);
	buf_init(&buf, 100000);
	CHECK_ERROR(wire_texts_add(&texts, &buf, VIEW("a\0b"), &err), err, ERR_INVALID,
	            "a text with a NUL within");
	CHECK_ERROR(wire_texts_add(&texts, &buf, (struct view){ long_text, 65001 }, &err), err,
	            ERR_LIMIT, "a text of 65001 bytes: at most 65000");
	CHECK_OK(wire_texts_add(&texts, &buf, (struct view){ long_text, 65000 }, &err), err);
	assert_int_equal(texts.count, 1);
}

/* An item that does not fit leaves no part of itself in the buffer. */
static void list_stays_valid_when_its_buffer_is_full(void **state)
{
	AUTO_BUF struct buf a, b, c;
	struct wire_texts texts = { 0 };
	struct wire_numbers numbers = { 0 };
	struct wire_limits limits = { 0 };
	struct error err;

	buf_init(&a, 10);
	CHECK_OK(wire_texts_add(&texts, &a, view_of("ab"), &err), err);
	CHECK_ERROR(wire_texts_add(&texts, &a, view_of("abc"), &err), err, ERR_LIMIT,
	            "more than 10 bytes");
	CHECK_OK(wire_texts_add(&texts, &a, view_of("cd"), &err), err);
	assert_int_equal(texts.count, 2);
	assert_int_equal(texts.items.len, 10);
	assert_memory_equal(texts.items.ptr, "\0\2ab\0\0\2cd", 10);

	buf_init(&b, 7);
	CHECK_OK(wire_numbers_add(&numbers, &b, 1, &err), err);
	CHECK_ERROR(wire_numbers_add(&numbers, &b, 2, &err), err, ERR_LIMIT, "more than 7 bytes");
	assert_int_equal(numbers.count, 1);
	assert_int_equal(b.len, 4);

	buf_init(&c, 2 * WIRE_LIMIT_SIZE - 1);
	CHECK_OK(wire_limits_add(&limits, &c, (struct wire_limit){ 1, 2, 3 }, &err), err);
	CHECK_ERROR(wire_limits_add(&limits, &c, (struct wire_limit){ 1, 2, 3 }, &err), err,
	            ERR_LIMIT, "more than 33 bytes");
	assert_int_equal(c.len, WIRE_LIMIT_SIZE);
	assert_int_equal(limits.count, 1);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TEST(decoder_accepts_exactly_what_the_table_allows),
		TEST(decoder_refuses_truncated_fields),
		TEST(decoder_leaves_the_bytes_after_a_record),
		TEST(encoder_refuses_what_the_table_forbids),
		TEST(full_buffer_holds_no_partial_record),
		TEST(list_returns_what_was_added),
		TEST(list_refuses_text_that_cannot_be_encoded),
		TEST(list_stays_valid_when_its_buffer_is_full),
	};

	return RUN_TESTS("field", all);
}
