/* fuzz_diff.c - the diff of any two texts: every line of it begins with a sign, and nothing in it
 * acts on a terminal. The texts are the bytes before and behind the first 0xff. */
#include <string.h>

#include "base/buf.h"
#include "base/text/diff.h"
#include "base/text/utf8.h"
#include "fuzz/fuzz.h"

static void check_lines(struct view text)
{
	struct view line;

	while (view_next_line(&text, &line)) {
		fuzz_check(line.len != 0 && strchr("@ +-\\", line.ptr[0]) != NULL);
		fuzz_check(line.len < DIFF_LINE_MAX + 40);
		for (size_t i = 0; i < line.len; i++)
			fuzz_check((unsigned char)line.ptr[i] >= ' ' || line.ptr[i] == '\t');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view before = { (const char *)data, size }, after = { (const char *)data, 0 };
	const char *split = size != 0 ? memchr(data, 0xff, size) : NULL;
	struct buf out;

	if (split != NULL) {
		before.len = (size_t)(split - before.ptr);
		after = (struct view){ split + 1, size - before.len - 1 };
	}
	if (size > DIFF_TEXT_MAX)
		return 0;
	buf_init(&out, 16 * 1024);
	fuzz_check(diff_lines(before, after, &out) || out.len > 0);
	check_lines(buf_view(&out));
	fuzz_check(utf8_is_valid(buf_view(&out)));
	buf_done(&out);
	return 0;
}
