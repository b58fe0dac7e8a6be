/* fuzz_ignore.c - any text is a .gitignore. Everything below an ignored directory is ignored,
 * comments change nothing, and matching takes bounded time.
 *
 * The first line of the input is a path, the second the directory of the rules, the rest the
 * rules. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "sandbox/copy/ignore.h"

static struct ignore *read_rules(struct view directory, struct view rules)
{
	struct ignore *ignore = ignore_new();
	struct error err = { .msg = "" };

	if (ignore_add(ignore, directory, rules, &err) == 0)
		return ignore;
	if (err.msg[0] == '\0')
		abort();
	return ignore_free(ignore);
}

static void check(const struct ignore *ignore, const struct ignore *same, struct view path)
{
	char *below = mem_format("%.*s/x", (int)path.len, path.ptr);
	bool file = ignore_has(ignore, path, false), directory = ignore_has(ignore, path, true);

	if (ignore_has(same, path, false) != file || ignore_has(same, path, true) != directory)
		abort();
	if (path.len != 0 && directory && !ignore_has(ignore, view_of(below), false))
		abort();
	free(below);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view rest = { (const char *)data, size }, path = { "", 0 }, directory = { "", 0 };
	struct ignore *ignore, *same;
	struct buf commented;
	struct error err;

	(void)view_next_line(&rest, &path);
	(void)view_next_line(&rest, &directory);
	if (path.len > 4095 || directory.len > 4095 || memchr(path.ptr, '\0', path.len) != NULL ||
	    memchr(directory.ptr, '\0', directory.len) != NULL)
		return 0;
	ignore = read_rules(directory, rest);
	buf_init(&commented, size + 64);
	if (buf_add(&commented, rest, &err) < 0 ||
	    buf_add(&commented, view_of("\n# comment\n\n"), &err) < 0)
		abort();
	same = read_rules(directory, buf_view(&commented));
	if (ignore != NULL && same != NULL)
		check(ignore, same, path);
	(void)ignore_free(ignore);
	(void)ignore_free(same);
	buf_done(&commented);
	return 0;
}
