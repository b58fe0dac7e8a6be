/* Which files are believed to be pictures. */
#include "tools/run/answer/pictures.h"
#include "unit/test.h"

#define PNG_START "\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
#define PNG_REST  "\x08\x02\0\0\0abcd"

static void picture_is_recognised_by_its_first_bytes(void **state)
{
	static const struct {
		const char *mime;
		struct view bytes;
		bool want;
	} cases[] = {
		{ "image/png", VIEW_INIT(PNG_START "\0\0\0\1\0\0\0\1" PNG_REST), true },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\x4e\x20\0\0\0\1" PNG_REST), true },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\x4e\x21\0\0\0\1" PNG_REST), false },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\0\0\0\0\0\1" PNG_REST), false },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\0\1\0\0\0\0" PNG_REST), false },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\x4e\x20\0\0\x4e\x20" PNG_REST), false },
		{ "image/png", VIEW_INIT(PNG_START "\xff\xff\xff\xff\0\0\0\1" PNG_REST), false },
		{ "image/png", VIEW_INIT(PNG_START "\0\0\0\1\0\0\0\1"), false },
		{ "image/png", VIEW_INIT(PNG_START), false },
		{ "image/png", VIEW_INIT(""), false },
		{ "image/png", VIEW_INIT("\xff\xd8\xff\xe0 a jpeg that calls itself a png"),
		  false },
		{ "image/jpeg", VIEW_INIT("\xff\xd8\xff\xe0"), true },
		{ "image/jpeg", VIEW_INIT("\xff\xd8"), false },
		{ "image/gif", VIEW_INIT("GIF89a"), true },
		{ "image/gif", VIEW_INIT("GIF87a"), true },
		{ "image/gif", VIEW_INIT("GIF88a"), false },
		{ "image/webp", VIEW_INIT("RIFF\x10\0\0\0WEBPVP8 "), true },
		{ "image/webp", VIEW_INIT("RIFF\x10\0\0\0WAVEfmt "), false },
		{ "image/webp", VIEW_INIT("RIFF\x10\0\0\0WEBP"), false },
		{ "image/svg+xml", VIEW_INIT("<svg/>"), false },
		{ "text/html", VIEW_INIT("GIF89a"), false },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (pictures_is_valid(cases[i].mime, cases[i].bytes) != cases[i].want)
			fail_msg("case %zu, %s: expected %d", i, cases[i].mime, cases[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = { TEST(picture_is_recognised_by_its_first_bytes) };

	return RUN_TESTS("tools/pictures", tests);
}
