#include "base/cleanup.h"
#include "base/text/base64.h"
#include "unit/test.h"

#define INCOMPLETE "base64 text is incomplete: its length is not a multiple of 4"

static void examples_of_rfc_4648_are_encoded(void **state)
{
	static const struct {
		struct view bytes;
		const char *want;
	} cases[] = {
		{ VIEW_INIT(""), "" },
		{ VIEW_INIT("f"), "Zg==" },
		{ VIEW_INIT("fo"), "Zm8=" },
		{ VIEW_INIT("foo"), "Zm9v" },
		{ VIEW_INIT("foob"), "Zm9vYg==" },
		{ VIEW_INIT("fooba"), "Zm9vYmE=" },
		{ VIEW_INIT("foobar"), "Zm9vYmFy" },
		{ VIEW_INIT("\0"), "AA==" },
		{ VIEW_INIT("\0\0\0"), "AAAA" },
		{ VIEW_INIT("\xff\xff\xff"), "////" },
		{ VIEW_INIT("\xfb\xef\xbe"), "++++" },
		{ VIEW_INIT("\xff"), "/w==" },
		{ { NULL, 0 }, "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text = base64_encode(cases[i].bytes);

		assert_string_equal(text, cases[i].want);
	}
}

/* Encodes the values 0 to 63, six bits each: the text is the alphabet. */
static void standard_alphabet_is_used(void **state)
{
	unsigned char bytes[48];
	AUTO_FREE char *text = NULL;

	for (unsigned i = 0; i < 64; i += 4) {
		uint32_t group = i << 18 | (i + 1) << 12 | (i + 2) << 6 | (i + 3);

		bytes[i / 4 * 3] = (unsigned char)(group >> 16);
		bytes[i / 4 * 3 + 1] = (unsigned char)(group >> 8 & 0xff);
		bytes[i / 4 * 3 + 2] = (unsigned char)(group & 0xff);
	}
	text = base64_encode((struct view){ (const char *)bytes, sizeof bytes });
	assert_string_equal(text,
	                    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
}

static void text_with_and_without_line_ends_is_decoded(void **state)
{
	static const struct {
		const char *text;
		struct view want;
	} cases[] = {
		{ "", VIEW_INIT("") },
		{ "Zg==", VIEW_INIT("f") },
		{ "Zm8=", VIEW_INIT("fo") },
		{ "Zm9v", VIEW_INIT("foo") },
		{ "Zm9v\r\nYmFy\n", VIEW_INIT("foobar") },
		{ "AAAA", VIEW_INIT("\0\0\0") },
		{ "+/+/", VIEW_INIT("\xfb\xff\xbf") },
		{ "Zg=\n=", VIEW_INIT("f") },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *bytes = NULL;
		size_t len = 99;

		CHECK_OK(base64_decode(view_of(cases[i].text), &bytes, &len, &err), err);
		assert_int_equal(len, cases[i].want.len);
		assert_memory_equal(bytes, cases[i].want.ptr, len + 1);
	}
}

static void invalid_base64_is_an_error(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "Z", INCOMPLETE },
		{ "Zg", INCOMPLETE },
		{ "Zg=", INCOMPLETE },
		{ "Zm9vY", INCOMPLETE },
		{ "Zg===", "not base64 at byte 4" },
		{ "=", "not base64 at byte 0" },
		{ "Zm9v=", "not base64 at byte 4" },
		{ "Zg==Zg==", "not base64 at byte 4" },
		{ "Zm9v Zg==", "not base64 at byte 4" },
		{ "Zm-_", "not base64 at byte 2" },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *bytes = NULL;
		size_t len = 0;

		CHECK_ERROR(base64_decode(view_of(cases[i].text), &bytes, &len, &err), err,
		            ERR_SYNTAX, cases[i].want);
		assert_null(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(examples_of_rfc_4648_are_encoded),
		TEST(standard_alphabet_is_used),
		TEST(text_with_and_without_line_ends_is_decoded),
		TEST(invalid_base64_is_an_error),
	};

	return RUN_TESTS("base/base64", tests);
}
