#include "base/buf.h"
#include "base/error.h"
#include "base/text/encoding.h"
#include "unit/test.h"

typedef int convert_fn(struct view from, struct buf *ret, struct error *err);

static void text_is_converted(void **state)
{
	static const struct {
		convert_fn *convert;
		struct view from, want;
	} cases[] = {
		{ latin1_decode, VIEW_INIT(""), VIEW_INIT("") },
		{ latin1_decode, VIEW_INIT("a\x80\xe9\xff"), VIEW_INIT("a\xc2\x80é\xc3\xbf") },
		{ latin1_encode, VIEW_INIT("a\xc2\x80é\xc3\xbf"), VIEW_INIT("a\x80\xe9\xff") },
		{ utf16_decode, VIEW_INIT(""), VIEW_INIT("") },
		{ utf16_decode, VIEW_INIT("\xff\xfe"), VIEW_INIT("") },
		{ utf16_decode, VIEW_INIT("a\0\xe9\0\xac\x20"), VIEW_INIT("aé€") },
		{ utf16_decode,
		  VIEW_INIT("\xff\xfe"
		            "a\0"),
		  VIEW_INIT("a") },
		{ utf16_decode, VIEW_INIT("\xfe\xff\0a\x20\xac"), VIEW_INIT("a€") },
		{ utf16_decode, VIEW_INIT("\x3d\xd8\x00\xde"), VIEW_INIT("😀") },
		{ utf16_decode, VIEW_INIT("\xff\xdb\xff\xdf"), VIEW_INIT("\xf4\x8f\xbf\xbf") },
		{ utf16_encode, VIEW_INIT("aé€😀"), VIEW_INIT("a\0\xe9\0\xac\x20\x3d\xd8\x00\xde") },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 64);
		assert_int_equal(cases[i].convert(cases[i].from, &out, &err), 0);
		assert_int_equal(out.len, cases[i].want.len);
		if (out.len != 0)
			assert_memory_equal(out.ptr, cases[i].want.ptr, out.len);
	}
}

static void invalid_text_is_refused_with_its_position(void **state)
{
	static const struct {
		convert_fn *convert;
		struct view from;
		const char *why;
	} cases[] = {
		{ latin1_encode, VIEW_INIT("a€"),
		  "'€' (U+20AC) at byte 1 is no character of Latin-1" },
		{ latin1_encode, VIEW_INIT("a\xff"), "byte 1 is not UTF-8" },
		{ utf16_decode, VIEW_INIT("a"), "1 bytes are not a multiple of two" },
		{ utf16_decode, VIEW_INIT("a\0\x3d\xd8"), "byte 2 is half of a surrogate pair" },
		{ utf16_decode,
		  VIEW_INIT("\x3d\xd8"
		            "a\0"),
		  "byte 0 is half of a surrogate pair" },
		{ utf16_decode, VIEW_INIT("\x00\xde\x3d\xd8"),
		  "byte 0 is half of a surrogate pair" },
		{ utf16_encode, VIEW_INIT("\xed\xa0\x80"), "byte 0 is not UTF-8" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf out;
		struct error err;

		buf_init(&out, 64);
		assert_int_equal(cases[i].convert(cases[i].from, &out, &err), -1);
		assert_int_equal(err.kind, ERR_SYNTAX);
		assert_string_equal(err.msg, cases[i].why);
	}
}

static void the_maximum_of_the_buffer_holds(void **state)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, 3);
	assert_int_equal(latin1_decode(VIEW("\xe9\xe9"), &out, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_int_equal(out.len, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(text_is_converted),
		TEST(invalid_text_is_refused_with_its_position),
		TEST(the_maximum_of_the_buffer_holds),
	};

	return RUN_TESTS("base/encoding", tests);
}
