#include "base/cleanup.h"
#include "base/text/base64.h"
#include "unit/test.h"

#define INCOMPLETE "base64 text is incomplete: its length is not a multiple of 4"

static void encodes_as_rfc_4648_says(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *text = base64_encode(cases[i].bytes);

		assert_string_equal(text, cases[i].want);
	}
}

/* Six bits at a time, 0 to 63: the alphabet in its order. */
static void uses_the_standard_alphabet(void **state)
{
	unsigned char bytes[48];
	AUTO_FREE char *text = NULL;

	(void)state;
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

static void decodes_what_it_encodes_and_what_mail_has(void **state)
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

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_FREE char *bytes = NULL;
		size_t len = 99;

		CHECK_OK(base64_decode(view_of(cases[i].text), &bytes, &len, &err), err);
		assert_int_equal(len, cases[i].want.len);
		assert_memory_equal(bytes, cases[i].want.ptr, len + 1);
	}
}

static void refuses_what_is_not_base64(void **state)
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

	(void)state;
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
		TEST(encodes_as_rfc_4648_says),
		TEST(uses_the_standard_alphabet),
		TEST(decodes_what_it_encodes_and_what_mail_has),
		TEST(refuses_what_is_not_base64),
	};

	return RUN_TESTS("base/base64", tests);
}
