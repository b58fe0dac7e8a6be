#include "unit/test.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/mem.h"
#include "sandbox/copy/ignore.h"
#include "sandbox/copy/tar_filter.h"
#include "wire/tar.h"

static const char long_name[] = "a/directory/with/a/long/name/"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxx"
                                "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

static void put_entry(struct buf *out, enum tar_type type, const char *name, struct view data)
{
	static const char zeros[TAR_BLOCK];
	struct tar_entry entry = {
		.type = type, .mode = 0644, .size = data.len, .name = name, .link = ""
	};
	struct error err;

	if (type == TAR_SYMLINK)
		entry.link = "where";
	CHECK_OK(tar_encode(&entry, out, &err), err);
	CHECK_OK(buf_add(out, data, &err), err);
	CHECK_OK(buf_add(out, (struct view){ zeros, tar_padding(data.len) }, &err), err);
}

static void put_end(struct buf *out)
{
	static const char zeros[2 * TAR_BLOCK];
	struct error err;

	CHECK_OK(buf_add(out, (struct view){ zeros, sizeof zeros }, &err), err);
}

static void put_archive(struct buf *out, bool whole)
{
	char data[1500];

	memset(data, 'd', sizeof data);
	put_entry(out, TAR_FILE, "a.c", VIEW("source"));
	if (whole) {
		put_entry(out, TAR_FILE, "a.o", (struct view){ data, sizeof data });
		put_entry(out, TAR_DIRECTORY, ".git", VIEW(""));
		put_entry(out, TAR_FILE, ".git/HEAD", VIEW("ref"));
		put_entry(out, TAR_SYMLINK, "link.o", VIEW(""));
	}
	put_entry(out, TAR_DIRECTORY, "d", VIEW(""));
	put_entry(out, TAR_SYMLINK, "d/link", VIEW(""));
	put_entry(out, TAR_FILE, long_name, (struct view){ data, TAR_BLOCK });
	if (whole) {
		AUTO_FREE char *object = mem_format("%s.o", long_name);

		put_entry(out, TAR_FILE, object, VIEW("object"));
	}
	put_entry(out, TAR_FILE, "empty", VIEW(""));
	put_end(out);
}

static void filter_leaves_entries_out(void **state)
{
	AUTO(ignore) struct ignore *ignore = ignore_new();
	AUTO_BUF struct buf whole, want;
	struct error err;

	buf_init(&whole, 1024 * 1024);
	buf_init(&want, 1024 * 1024);
	put_archive(&whole, true);
	put_archive(&want, false);
	CHECK_OK(ignore_add(ignore, VIEW(""), VIEW("*.o"), &err), err);
	for (size_t piece = 1; piece < 3000; piece = piece * 3 + 1) {
		AUTO(tar_filter) struct tar_filter *filter = tar_filter_new(ignore);
		AUTO_BUF struct buf got;

		buf_init(&got, 1024 * 1024);
		for (size_t at = 0; at < whole.len; at += piece) {
			size_t len = whole.len - at < piece ? whole.len - at : piece;

			assert_int_equal(tar_filter_check_end(filter, &err), -1);
			CHECK_OK(tar_filter_take(filter, (struct view){ whole.ptr + at, len }, &got,
			                         &err),
			         err);
		}
		CHECK_OK(tar_filter_check_end(filter, &err), err);
		assert_int_equal(tar_filter_left_out(filter), 5);
		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.ptr, want.ptr, want.len);
	}
}

static void filter_refuses_what_pack_does_not_write(void **state)
{
	static const struct {
		size_t at;
		char byte;
		const char *why;
	} rows[] = {
		{ 0, 'z', "entry 1: not a tar header as PACK writes it" }, /* the checksum */
		{ 156, 'g', "entry 1: not a tar header as PACK writes it" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(ignore) struct ignore *ignore = ignore_new();
		AUTO(tar_filter) struct tar_filter *filter = tar_filter_new(ignore);
		AUTO_BUF struct buf bytes, out;
		struct error err;

		buf_init(&bytes, 1024 * 1024);
		buf_init(&out, 1024 * 1024);
		put_archive(&bytes, true);
		bytes.ptr[rows[i].at] = rows[i].byte;
		CHECK_ERROR(tar_filter_take(filter, buf_view(&bytes), &out, &err), err, ERR_SYNTAX,
		            rows[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(filter_leaves_entries_out),
		TEST(filter_refuses_what_pack_does_not_write),
	};

	return RUN_TESTS("tar_filter", tests);
}
