#include "unit/agent/files/tar_test.h"

#include "agent/files/tar_read.h"
#include "wire/tar.h"

/* --- one block --------------------------------------------------------------------- */

/* A file's header with other bytes in one field. */
static void block_with(char *block, size_t at, const char *field, size_t len)
{
	tar_test_block(block, '0', "name", "", "0");
	memcpy(block + at, field, len);
	tar_test_sum(block);
}

static struct tar_header decoded(const char *block)
{
	struct tar_header header;
	struct error err;

	assert_int_equal(tar_decode(block, &header, &err), 1);
	return header;
}

static void check_no_header(const char *block)
{
	struct tar_header header;
	struct error err;

	CHECK_ERROR(tar_decode(block, &header, &err), err, ERR_SYNTAX, "not a tar header");
}

static void decodes_a_header(void **state)
{
	struct tar_header header;
	char block[512];

	(void)state;
	tar_test_block(block, '2', "dir/name", "where/to", "00000000017");
	header = decoded(block);
	assert_string_equal(header.name, "dir/name");
	assert_string_equal(header.link, "where/to");
	assert_int_equal(header.type, '2');
	assert_int_equal(header.size, 017);
	assert_int_equal(header.mode, 0640);
	assert_int_equal(header.mtime, 1610612736);
}

static void joins_the_prefix_of_ustar_but_not_of_gnu(void **state)
{
	static const struct {
		const char *magic, *prefix, *want;
	} rows[] = {
		{ "ustar\0", "above", "above/name" },
		{ "ustar\0", "", "name" },
		{ "ustar ", "above", "name" },
		{ "\0\0\0\0\0\0", "above", "name" },
	};
	struct tar_header header;
	char block[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		tar_test_block(block, '0', "name", "", "0");
		memcpy(block + 257, rows[i].magic, 6);
		memcpy(block + 345, rows[i].prefix, strlen(rows[i].prefix));
		tar_test_sum(block);
		header = decoded(block);
		assert_string_equal(header.name, rows[i].want);
	}
}

static void takes_names_that_fill_their_fields(void **state)
{
	struct tar_header header;
	char block[512];

	(void)state;
	tar_test_block(block, '0', "", "", "0");
	memset(block, 'n', 100);
	memset(block + 157, 'l', 100);
	memset(block + 345, 'p', 155);
	tar_test_sum(block);
	header = decoded(block);
	assert_int_equal(strlen(header.name), 256);
	assert_int_equal(header.name[155], '/');
	assert_int_equal(strlen(header.link), 100);
}

static void reads_sizes_in_every_notation(void **state)
{
	static const struct {
		const char field[13];
		bool good;
		uint64_t want;
	} rows[] = {
		{ "00000000644\0", true, 0644 },
		{ "77777777777 ", true, 077777777777 },
		{ "777777777777", true, 0777777777777 },
		{ "     644 \0\0\0", true, 0644 },
		{ "\0\0\0\0\0\0\0\0\0\0\0\0", true, 0 },
		{ "            ", true, 0 },
		{ "\x80\0\0\0\0\0\0\x02\0\0\0\0", true, UINT64_C(0x200000000) },
		{ "\x80\0\0\0\x3f\xff\xff\xff\xff\xff\xff\xff", true, TAR_SIZE_MAX },
		{ "\x80\0\0\0\x40\0\0\0\0\0\0\0", false, 0 },
		{ "\x80\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", false, 0 },
		{ "\x80\0\0\1\0\0\0\0\0\0\0\0", false, 0 },
		{ "\x81\0\0\0\0\0\0\0\0\0\0\0", false, 0 },
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", false, 0 },
		{ "-0000000001\0", false, 0 },
		{ "0x000000001\0", false, 0 },
		{ "00000000008\0", false, 0 },
		{ "1234 567\0\0\0\0", true, 01234 },
	};
	char block[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		block_with(block, 124, rows[i].field, 12);
		if (rows[i].good)
			assert_true(decoded(block).size == rows[i].want);
		else
			check_no_header(block);
	}
}

static void keeps_times_between_1970_and_9999(void **state)
{
	static const struct {
		const char field[13];
		int64_t want;
	} rows[] = {
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 0 },
		{ "\x80\0\0\0\x3f\xff\xff\xff\xff\xff\xff\xff", TAR_TIME_MAX },
		{ "00000000001\0", 1 },
	};
	char block[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		block_with(block, 136, rows[i].field, 12);
		assert_true(decoded(block).mtime == rows[i].want);
	}
}

static void drops_all_of_the_mode_but_permissions(void **state)
{
	char block[512];

	(void)state;
	block_with(block, 100, "0107755", 7);
	assert_int_equal(decoded(block).mode, 0755);
}

static void refuses_any_changed_byte(void **state)
{
	char block[512];

	(void)state;
	for (size_t i = 0; i < 512; i++) {
		tar_test_block(block, '0', "name", "link", "7");
		if (i >= 148 + 6 && i < 156)
			continue; /* what ends the checksum's digits */
		block[i] = (char)(block[i] ^ 1);
		check_no_header(block);
	}
}

static void accepts_a_sum_of_signed_bytes(void **state)
{
	char block[512];
	int sum = 0;

	(void)state;
	tar_test_block(block, '0', "n\xe4me", "", "0");
	memset(block + 148, ' ', 8);
	for (size_t i = 0; i < 512; i++)
		sum += (signed char)block[i];
	(void)snprintf(block + 148, 8, "%06o", (unsigned)sum);
	(void)decoded(block);
}

static void tells_a_block_of_zeros(void **state)
{
	struct tar_header header;
	struct error err;
	char block[512] = { 0 };

	(void)state;
	assert_int_equal(tar_decode(block, &header, &err), 0);
	block[511] = 1;
	check_no_header(block);
}

/* --- a stream ---------------------------------------------------------------------- */

struct pieces {
	struct view left;
	size_t piece;
	bool ended;
};

static int next_piece(void *ctx, struct view *ret, struct error *err)
{
	struct pieces *pieces = ctx;
	size_t len = pieces->left.len < pieces->piece ? pieces->left.len : pieces->piece;

	(void)err;
	assert_false(pieces->ended); /* whoever asks after the end waits for ever */
	pieces->ended = len == 0;
	*ret = (struct view){ pieces->left.ptr, len };
	pieces->left.ptr += len;
	pieces->left.len -= len;
	return len != 0;
}

/* Everything in the archive as text, a line for each entry; -1 if it is refused. */
static int describe(struct view tar, size_t piece, struct buf *out, struct error *err)
{
	static struct tar_reader reader;
	struct pieces pieces = { tar, piece, false };
	struct tar_entry entry;
	struct view bytes;
	int r;

	buf_clear(out);
	tar_reader_init(&reader, next_piece, &pieces);
	while ((r = tar_next(&reader, &entry, err)) > 0) {
		(void)!buf_printf(out, err, "%d %s -> %s %o %lld %llu:", (int)entry.type,
		                  entry.name, entry.link, entry.mode, (long long)entry.mtime,
		                  (unsigned long long)entry.size);
		while ((r = tar_data(&reader, &bytes, err)) > 0)
			(void)!buf_add(out, bytes, err);
		(void)!buf_add(out, view_of("\n"), err);
		if (r < 0)
			break;
	}
	tar_reader_done(&reader);
	return r;
}

static void check_describe(const struct buf *tar, const char *want)
{
	static const size_t sizes[] = { 1, 7, 511, 512, 513, 100000 };
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, TAR_TEST_MAX);
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		CHECK_OK(describe(buf_view(tar), sizes[i], &out, &err), err);
		assert_string_equal(buf_text(&out), want);
	}
}

static void check_refused(const struct buf *tar, enum error_kind kind, const char *message)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, TAR_TEST_MAX);
	CHECK_ERROR(describe(buf_view(tar), 100000, &out, &err), err, kind, message);
	CHECK_ERROR(describe(buf_view(tar), 1, &out, &err), err, kind, message);
}

static void reads_entries_of_all_types(void **state)
{
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	tar_test_file(&tar, "a", "text");
	tar_test_add(&tar, '\0', "old", "", VIEW("1"));
	tar_test_add(&tar, '7', "contiguous", "", VIEW("2"));
	tar_test_add(&tar, '5', "d/", "", VIEW(""));
	tar_test_add(&tar, '\0', "olddir/", "", VIEW(""));
	tar_test_add(&tar, '2', "s", "a", VIEW(""));
	tar_test_header(&tar, '1', "h", "a", 4); /* the size of what it links to, no data */
	tar_test_add(&tar, '3', "dev", "", VIEW(""));
	tar_test_add(&tar, 'Z', "new", "", VIEW("unknown"));
	tar_test_end(&tar);
	check_describe(&tar, "0 a ->  640 1610612736 4:text\n"
	                     "0 old ->  640 1610612736 1:1\n"
	                     "0 contiguous ->  640 1610612736 1:2\n"
	                     "1 d/ ->  640 1610612736 0:\n"
	                     "1 olddir/ ->  640 1610612736 0:\n"
	                     "2 s -> a 640 1610612736 0:\n"
	                     "3 h -> a 640 1610612736 0:\n"
	                     "4 dev ->  640 1610612736 0:\n"
	                     "4 new ->  640 1610612736 7:unknown\n");
}

static void applies_extended_headers_to_one_entry_or_all(void **state)
{
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	tar_test_add(&tar, 'g', "g", "", VIEW("11 mtime=5\n17 comment=hello\n"));
	tar_test_add(&tar, 'x', "x", "", VIEW("14 path=long/\n15 linkpath=to\n8 size=\n"));
	tar_test_file(&tar, "short", "");
	tar_test_add(&tar, 'x', "x", "", VIEW("10 size=3\n19 mtime=99.987654\n"));
	tar_test_header(&tar, '0', "sized", "", 777);
	tar_test_data(&tar, VIEW("abc"));
	tar_test_add(&tar, 'L', "././@LongLink", "", VIEW("gnu long name\0"));
	tar_test_add(&tar, 'K', "././@LongLink", "", VIEW("gnu long link\0"));
	tar_test_add(&tar, '2', "s", "a", VIEW(""));
	tar_test_add(&tar, 'x', "x", "", VIEW("12 mtime=-7\n"));
	tar_test_file(&tar, "old", "");
	tar_test_add(&tar, 'g', "g", "", VIEW("9 mtime=\n"));
	tar_test_file(&tar, "last", "");
	tar_test_end(&tar);
	check_describe(&tar, "1 long/ -> to 640 5 0:\n"
	                     "0 sized ->  640 99 3:abc\n"
	                     "2 gnu long name -> gnu long link 640 5 0:\n"
	                     "0 old ->  640 0 0:\n"
	                     "0 last ->  640 1610612736 0:\n");
}

/* The map of a GNU sparse file is not part of its size. */
static void passes_over_sparse_files_with_their_maps(void **state)
{
	AUTO_BUF struct buf tar;
	char block[512], map[512] = { 0 };

	(void)state;
	tar_test_start(&tar);
	tar_test_block(block, 'S', "sparse", "", "00000000003");
	block[482] = 1;
	tar_test_sum(block);
	tar_test_bytes(&tar, block, 512);
	map[504] = 1;
	tar_test_bytes(&tar, map, 512);
	map[504] = 0;
	tar_test_bytes(&tar, map, 512);
	tar_test_data(&tar, VIEW("abc"));
	tar_test_add(&tar, 'x', "x", "", VIEW("22 GNU.sparse.major=1\n"));
	tar_test_file(&tar, "GNUSparseFile.0/pax", "data");
	tar_test_file(&tar, "b", "B");
	tar_test_end(&tar);
	check_describe(&tar, "4 sparse ->  640 1610612736 3:abc\n"
	                     "4 GNUSparseFile.0/pax ->  640 1610612736 4:data\n"
	                     "0 b ->  640 1610612736 1:B\n");
}

static void ends_at_zeros_or_where_the_bytes_end(void **state)
{
	AUTO_BUF struct buf tar;
	static const char junk[2048] = "\0junk behind the end";

	(void)state;
	tar_test_start(&tar);
	tar_test_end(&tar);
	check_describe(&tar, "");
	buf_clear(&tar);
	tar_test_file(&tar, "a", "A");
	check_describe(&tar, "0 a ->  640 1610612736 1:A\n");
	tar_test_end(&tar);
	tar_test_bytes(&tar, junk, sizeof junk);
	check_describe(&tar, "0 a ->  640 1610612736 1:A\n");
}

static void refuses_what_is_no_tar(void **state)
{
	static const struct {
		struct view start;
		const char *message;
	} rows[] = {
		{ VIEW_INIT(""), "the archive is empty: no bytes came" },
		{ VIEW_INIT("short"), "the archive ends within entry 1" },
		{ VIEW_INIT("\x1f\x8b\x08"),
		  "this is a gzip file, not a tar archive: send it unpacked" },
		{ VIEW_INIT("BZh9"), "this is a bzip2 file, not a tar archive: send it unpacked" },
		{ VIEW_INIT("\xfd"
		            "7zXZ"),
		  "this is a xz file, not a tar archive: send it unpacked" },
		{ VIEW_INIT("\x28\xb5\x2f\xfd"),
		  "this is a zstd file, not a tar archive: send it unpacked" },
		{ VIEW_INIT("PK\x03\x04"),
		  "this is a zip file, not a tar archive: send it unpacked" },
		{ VIEW_INIT("hello"), "entry 1: not a tar header" },
	};
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&tar);
		tar_test_bytes(&tar, rows[i].start.ptr, rows[i].start.len);
		if (i > 1)
			tar_test_data(&tar, VIEW("x"));
		check_refused(&tar, ERR_SYNTAX, rows[i].message);
	}
}

static void refuses_broken_pax_records(void **state)
{
	static const struct {
		struct view records;
		const char *message;
	} rows[] = {
		{ VIEW_INIT("9 path=a"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("99 path=a\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("2 \n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("0 path=a\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("path=a\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("7 path\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("5 =a\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("-9 path=a\n"), "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("99999999999999999999999 path=a\n"),
		  "entry 1: a broken record in its pax header" },
		{ VIEW_INIT("12 path=a\0b\n"), "entry 1: its pax path has a NUL in it" },
		{ VIEW_INIT("11 size=-1\n"), "entry 1: its pax size is not a number of bytes" },
		{ VIEW_INIT("11 size=1k\n"), "entry 1: its pax size is not a number of bytes" },
		{ VIEW_INIT("29 size=18446744073709551617\n"),
		  "entry 1: its pax size is not a number of bytes" },
		{ VIEW_INIT("11 mtime=x\n"), "entry 1: its pax mtime is not a time" },
	};
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&tar);
		tar_test_add(&tar, 'x', "x", "", rows[i].records);
		tar_test_file(&tar, "a", "A");
		tar_test_end(&tar);
		check_refused(&tar, ERR_SYNTAX, rows[i].message);
	}
}

static void refuses_extended_headers_without_end(void **state)
{
	static char name[5000];
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	tar_test_header(&tar, 'x', "x", "", 64 * 1024 + 1);
	check_refused(&tar, ERR_LIMIT, "entry 1: its pax header has 65537 bytes (at most 65536)");
	buf_clear(&tar);
	memset(name, 'n', sizeof name);
	tar_test_add(&tar, 'L', "././@LongLink", "", (struct view){ name, 4097 });
	check_refused(&tar, ERR_LIMIT, "entry 1: its GNU long name has 4097 bytes (at most 4096)");
	buf_clear(&tar);
	tar_test_add(&tar, 'K', "././@LongLink", "", (struct view){ name, 4096 });
	check_refused(&tar, ERR_LIMIT, "entry 1: its GNU long link has 4096 bytes (at most 4095)");
	buf_clear(&tar);
	for (int i = 0; i < 20; i++)
		tar_test_add(&tar, 'g', "g", "", VIEW("11 mtime=5\n"));
	check_refused(&tar, ERR_LIMIT, "entry 1: more than 8 extended headers");
	buf_clear(&tar);
	tar_test_add(&tar, 'x', "x", "", VIEW("11 mtime=5\n"));
	tar_test_end(&tar);
	check_refused(&tar, ERR_SYNTAX, "the archive ends within entry 1");
}

static void refuses_data_that_programs_disagree_on(void **state)
{
	static const char types[] = "23456";
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	for (size_t i = 0; i < strlen(types); i++) {
		buf_clear(&tar);
		tar_test_add(&tar, types[i], "a", "b", VIEW("data"));
		check_refused(&tar, ERR_SYNTAX,
		              "entry 1 ('a'): it is not a file, but has 4 bytes of data");
	}
	buf_clear(&tar);
	tar_test_add(&tar, '0', "a/", "", VIEW("data"));
	check_refused(&tar, ERR_SYNTAX,
	              "entry 1 ('a/'): it is not a file, but has 4 bytes of data");
}

/* A size that is not that of the data: the next header is not where it should be. */
static void refuses_a_pax_size_that_is_wrong(void **state)
{
	static const char data[1024] = { [600] = 'x' };
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	tar_test_add(&tar, 'x', "x", "", VIEW("10 size=5\n"));
	tar_test_add(&tar, '0', "a", "", (struct view){ data, sizeof data });
	tar_test_end(&tar);
	/* The second half of its data is taken for the next entry's header. */
	check_refused(&tar, ERR_SYNTAX, "entry 2: not a tar header");
}

static void shows_hostile_names_harmlessly(void **state)
{
	AUTO_BUF struct buf tar;

	(void)state;
	tar_test_start(&tar);
	tar_test_header(&tar, '0', "a\x1b[31m\n\xff", "", 4);
	check_refused(&tar, ERR_SYNTAX, "the archive ends within entry 1 ('a\\x1b[31m\\n\\xff')");
}

/* --- encode ------------------------------------------------------------------------ */

static void reads_back_what_it_writes(void **state)
{
	static char name[TAR_NAME_MAX + 1], link[TAR_NAME_MAX + 1];
	static const size_t lengths[] = { 1,   99,  100, 101, 155, 156, 200,  255,
		                          256, 257, 300, 995, 996, 997, 4093, 4094 };
	static struct tar_reader reader;
	AUTO_BUF struct buf tar;
	struct error err;

	(void)state;
	tar_test_start(&tar);
	for (size_t every = 2; every < 120; every += 23)
		for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
			struct tar_entry in = { .type = (enum tar_type)(i % 4),
				                .mode = 0751,
				                .uid = i % 2 ? 3000000 : 7,
				                .size = i % 4 ? 0 : UINT64_C(1) << (i * 4),
				                .mtime = INT64_C(1) << (i * 2),
				                .name = name,
				                .link = link };
			struct pieces pieces;
			struct tar_entry out;

			memset(name, 'n', lengths[i]);
			name[lengths[i]] = '\0';
			for (size_t at = every - 1; at < lengths[i] - 1; at += every)
				name[at] = '/';
			memset(link, 'l', sizeof link - 1);
			link[i % 4 == 1 || i % 4 == 0 ? 0 : lengths[ARRAY_LEN(lengths) - 1 - i]] =
			        '\0';
			buf_clear(&tar);
			CHECK_OK(tar_encode(&in, &tar, &err), err);
			assert_int_equal(tar.len % TAR_BLOCK, 0);
			assert_true(tar.len <= TAR_ENCODED_MAX);
			pieces = (struct pieces){ buf_view(&tar), tar.len, false };
			tar_reader_init(&reader, next_piece, &pieces);
			assert_int_equal(tar_next(&reader, &out, &err), 1);
			assert_int_equal(out.type, in.type);
			assert_int_equal(out.mode, in.mode);
			assert_true(out.size == in.size && out.mtime == in.mtime);
			assert_int_equal(strlen(out.name), lengths[i] + (i % 4 == 1));
			assert_memory_equal(out.name, in.name, lengths[i]);
			assert_string_equal(out.link, in.link);
			assert_int_equal(pieces.left.len, 0);
			tar_reader_done(&reader);
		}
}

static void writes_plain_ustar_where_that_is_enough(void **state)
{
	static const struct {
		struct tar_entry entry;
		size_t blocks;
	} rows[] = {
		{ { .name = "a", .size = 077777777777 }, 1 },
		{ { .name = "a", .size = 0100000000000 }, 3 },
		{ { .name = "a", .uid = 07777777, .gid = 07777777 }, 1 },
		{ { .name = "a", .uid = 010000000 }, 3 },
		{ { .name = "a", .mtime = -1 }, 1 },
		{ { .name = "a", .mtime = 077777777777 }, 1 },
		{ { .name = "a", .mtime = 0100000000000 }, 3 },
	};
	AUTO_BUF struct buf tar;
	struct error err;

	(void)state;
	tar_test_start(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tar_entry entry = rows[i].entry;

		entry.link = "";
		buf_clear(&tar);
		CHECK_OK(tar_encode(&entry, &tar, &err), err);
		assert_int_equal(tar.len, rows[i].blocks * TAR_BLOCK);
	}
}

static void refuses_to_write_a_name_nobody_reads(void **state)
{
	static char name[TAR_NAME_MAX + 2];
	AUTO_BUF struct buf tar;
	struct error err;

	(void)state;
	memset(name, 'n', TAR_NAME_MAX);
	tar_test_start(&tar);
	CHECK_OK(tar_encode(&(struct tar_entry){ .name = name, .link = "" }, &tar, &err), err);
	CHECK_ERROR(
	        tar_encode(&(struct tar_entry){ .type = TAR_DIRECTORY, .name = name, .link = "" },
	                   &tar, &err),
	        err, ERR_LIMIT, "a name of more than 4095 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(decodes_a_header),
		TEST(joins_the_prefix_of_ustar_but_not_of_gnu),
		TEST(takes_names_that_fill_their_fields),
		TEST(reads_sizes_in_every_notation),
		TEST(keeps_times_between_1970_and_9999),
		TEST(drops_all_of_the_mode_but_permissions),
		TEST(refuses_any_changed_byte),
		TEST(accepts_a_sum_of_signed_bytes),
		TEST(tells_a_block_of_zeros),
		TEST(reads_entries_of_all_types),
		TEST(applies_extended_headers_to_one_entry_or_all),
		TEST(passes_over_sparse_files_with_their_maps),
		TEST(ends_at_zeros_or_where_the_bytes_end),
		TEST(refuses_what_is_no_tar),
		TEST(refuses_broken_pax_records),
		TEST(refuses_extended_headers_without_end),
		TEST(refuses_data_that_programs_disagree_on),
		TEST(refuses_a_pax_size_that_is_wrong),
		TEST(shows_hostile_names_harmlessly),
		TEST(reads_back_what_it_writes),
		TEST(writes_plain_ustar_where_that_is_enough),
		TEST(refuses_to_write_a_name_nobody_reads),
	};

	return RUN_TESTS("tar", tests);
}
