#include "base/base64.h"
#include "base/cleanup.h"
#include "unit/test.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(encodes_as_rfc_4648_says),
		TEST(uses_the_standard_alphabet),
	};

	return RUN_TESTS("base/base64", tests);
}
