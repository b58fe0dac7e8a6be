/* fuzz_tar_filter.c - any bytes are rejected as an archive, or pass: all of them without rules,
 * some of them with rules, however they are split. The result is an archive again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "sandbox/copy/ignore.h"
#include "sandbox/copy/tar_filter.h"

/* Returns 0, or -1 with *err. */
static int filter_all(const struct ignore *ignore, struct view bytes, size_t piece, struct buf *out,
                      uint64_t *left_out)
{
	struct tar_filter *filter = tar_filter_new(ignore);
	struct error err = { .msg = "" };
	size_t before = 0;
	int r = 0;

	while (r == 0 && bytes.len != 0) {
		size_t len = bytes.len < piece ? bytes.len : piece;

		r = tar_filter_take(filter, (struct view){ bytes.ptr, len }, out, &err);
		if (out->len - before > len + TAR_FILTER_MORE)
			abort();
		before = out->len;
		bytes.ptr += len;
		bytes.len -= len;
	}
	if (r < 0 && err.msg[0] == '\0')
		abort();
	*left_out = tar_filter_left_out(filter);
	(void)tar_filter_free(filter);
	return r;
}

static void check(const struct ignore *ignore, struct view bytes)
{
	struct buf whole, cut, again;
	uint64_t n, m;
	int r;

	buf_init(&whole, bytes.len + 1);
	buf_init(&cut, bytes.len + 1);
	buf_init(&again, bytes.len + 1);
	r = filter_all(ignore, bytes, bytes.len + 1, &whole, &n);
	if (filter_all(ignore, bytes, 509, &cut, &m) != r || n != m)
		abort();
	if (r == 0 && (whole.len != cut.len || whole.len > bytes.len ||
	               (whole.len != 0 && memcmp(whole.ptr, cut.ptr, whole.len) != 0)))
		abort();
	/* Filtering the result again changes nothing. */
	if (r == 0 && (filter_all(ignore, buf_view(&whole), 4096, &again, &m) < 0 || m != 0 ||
	               again.len != whole.len))
		abort();
	buf_done(&whole);
	buf_done(&cut);
	buf_done(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view bytes = { (const char *)data, size };
	struct ignore *none = ignore_new(), *some = ignore_new();
	struct error err;

	if (ignore_add(some, view_of(""), view_of("*.o\n/d/\n!keep.o\n"), &err) < 0)
		abort();
	if (size != 0) {
		check(none, bytes);
		check(some, bytes);
	}
	(void)ignore_free(none);
	(void)ignore_free(some);
	return 0;
}
