#include "unit/wire/tar_test.h"

#include "wire/tar_parser.h"

/* --- the parser -------------------------------------------------------------------- */

/* Feeds the archive in chunks; *out becomes one line for each entry, its data at the end. */
static int describe(struct view tar, size_t chunk, struct buf *out, struct error *err)
{
	static struct tar_parser parser;
	const struct tar_entry *entry = &parser.entry;
	struct tar_piece piece;
	int r = 0;

	buf_clear(out);
	tar_parser_init(&parser);
	while (r == 0 && tar.len != 0) {
		struct view bytes = { tar.ptr, tar.len < chunk ? tar.len : chunk };

		tar.ptr += bytes.len;
		tar.len -= bytes.len;
		while ((r = tar_parse(&parser, &bytes, &piece, err)) > 0) {
			if (piece.kind == TAR_PIECE_ENTRY)
				(void)!buf_printf(
				        out, err,
				        "%s%d %s -> %s %o %lld %llu:", out->len != 0 ? "\n" : "",
				        (int)entry->type, entry->name, entry->link, entry->mode,
				        (long long)entry->mtime, (unsigned long long)entry->size);
			if (piece.kind == TAR_PIECE_DATA)
				(void)!buf_add(out, piece.bytes, err);
		}
	}
	return r < 0 ? -1 : tar_parser_check_end(&parser, err);
}

static void check_describe(const struct buf *tar, const char *want)
{
	static const size_t chunks[] = { 1, 7, 511, 512, 513, 100000 };
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, TAR_TEST_MAX);
	for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
		CHECK_OK(describe(buf_view(tar), chunks[i], &out, &err), err);
		assert_string_equal(buf_text(&out), want);
	}
}

static void check_refused(const struct buf *tar, const char *message)
{
	AUTO_BUF struct buf out;
	struct error err;

	buf_init(&out, TAR_TEST_MAX);
	CHECK_ERROR(describe(buf_view(tar), 100000, &out, &err), err, ERR_SYNTAX, message);
	CHECK_ERROR(describe(buf_view(tar), 1, &out, &err), err, ERR_SYNTAX, message);
}

static void parser_reads_files_directories_and_links(void **state)
{
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	tar_test_file(&tar, "a", "text");
	tar_test_add(&tar, '5', "d/", "", VIEW(""));
	tar_test_add(&tar, '2', "s", "a", VIEW(""));
	tar_test_add(&tar, 'x', "x", "", VIEW("13 path=long\n10 size=3\n12 mtime=99\n"));
	tar_test_header(&tar, '0', "short", "", 777);
	tar_test_data(&tar, VIEW("abc"));
	tar_test_add(&tar, 'x', "x", "", VIEW("21 linkpath=far/away\n"));
	tar_test_add(&tar, '2', "t", "", VIEW(""));
	tar_test_file(&tar, "last", "");
	tar_test_end(&tar);
	check_describe(&tar, "0 a ->  640 1610612736 4:text\n"
	                     "1 d ->  640 1610612736 0:\n"
	                     "2 s -> a 640 1610612736 0:\n"
	                     "0 long ->  640 99 3:abc\n"
	                     "2 t -> far/away 640 1610612736 0:\n"
	                     "0 last ->  640 1610612736 0:");
	buf_clear(&tar);
	tar_test_end(&tar);
	check_describe(&tar, "");
}

static void parser_joins_prefix_and_name_that_fill_their_fields(void **state)
{
	AUTO_BUF struct buf tar;
	char block[512], want[400];

	tar_test_init(&tar);
	tar_test_block(block, '2', "", "", 0);
	memset(block, 'n', 100);
	memset(block + 157, 'l', 100);
	memset(block + 345, 'p', 155);
	tar_test_sum(block);
	tar_test_bytes(&tar, block, sizeof block);
	tar_test_end(&tar);
	(void)snprintf(want, sizeof want,
	               "2 %.155s/%.100s -> %.100s 640 1610612736 0:", block + 345, block,
	               block + 157);
	check_describe(&tar, want);
}

/* Whatever other tar programs write and PACK does not. */
static void parser_refuses_other_dialects(void **state)
{
	static const struct {
		const char *what;
		size_t at, len;
		const char *field;
		const char *message;
	} rows[] = {
		{ "GNU magic", 257, 8, "ustar  ", "entry 1: not a tar header as PACK writes it" },
		{ "v7", 257, 8, "\0\0\0\0\0\0\0", "entry 1: not a tar header as PACK writes it" },
		{ "size in base 256", 124, 12, "\x80\0\0\0\0\0\0\0\0\0\0\x01",
		  "entry 1: not a tar header as PACK writes it" },
		{ "negative size", 124, 12, "-0000000001",
		  "entry 1: not a tar header as PACK writes it" },
		{ "size after spaces", 124, 12, "          0",
		  "entry 1: not a tar header as PACK writes it" },
		{ "size without an end", 124, 12, "000000000000",
		  "entry 1: not a tar header as PACK writes it" },
		{ "empty mode", 100, 8, "\0\0\0\0\0\0\0",
		  "entry 1: not a tar header as PACK writes it" },
		{ "time in base 256", 136, 12, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe",
		  "entry 1: not a tar header as PACK writes it" },
		{ "file of v7", 156, 1, "\0",
		  "entry 1: of type 0, which is no file, directory or symbolic link" },
		{ "hard link", 156, 1, "1",
		  "entry 1: of type 0x31, which is no file, directory or symbolic link" },
		{ "device", 156, 1, "3",
		  "entry 1: of type 0x33, which is no file, directory or symbolic link" },
		{ "global pax header", 156, 1, "g",
		  "entry 1: of type 0x67, which is no file, directory or symbolic link" },
		{ "GNU long name", 156, 1, "L",
		  "entry 1: of type 0x4c, which is no file, directory or symbolic link" },
		{ "GNU sparse file", 156, 1, "S",
		  "entry 1: of type 0x53, which is no file, directory or symbolic link" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO_BUF struct buf tar;
		char block[512];

		print_message("# %s\n", rows[i].what);
		tar_test_init(&tar);
		tar_test_block(block, '0', "name", "", 0);
		memcpy(block + rows[i].at, rows[i].field, rows[i].len);
		tar_test_sum(block);
		tar_test_bytes(&tar, block, sizeof block);
		tar_test_end(&tar);
		check_refused(&tar, rows[i].message);
	}
}

static void parser_drops_mode_bits_beyond_permissions(void **state)
{
	AUTO_BUF struct buf tar;
	char block[512];

	tar_test_init(&tar);
	tar_test_block(block, '0', "f", "", 0);
	memcpy(block + 100, "0107755", 7);
	tar_test_sum(block);
	tar_test_bytes(&tar, block, sizeof block);
	tar_test_end(&tar);
	check_describe(&tar, "0 f ->  755 1610612736 0:");
}

static void parser_refuses_any_changed_byte_of_a_header(void **state)
{
	AUTO_BUF struct buf tar;
	char block[512];

	tar_test_init(&tar);
	for (size_t i = 0; i < 512; i++) {
		tar_test_block(block, '0', "name", "link", 7);
		block[i] = (char)(block[i] ^ 1);
		buf_clear(&tar);
		tar_test_bytes(&tar, block, sizeof block);
		check_refused(&tar, "entry 1: not a tar header as PACK writes it");
	}
}

static void parser_refuses_what_is_no_archive(void **state)
{
	static const char zeros[512], junk[512] = "junk";
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	check_refused(&tar, "the archive is empty: no bytes came");
	tar_test_bytes(&tar, "short", 5);
	check_refused(&tar, "the archive ends within entry 1");
	buf_clear(&tar);
	tar_test_data(&tar, VIEW("\x1f\x8b\x08 gzip"));
	check_refused(&tar, "entry 1: not a tar header as PACK writes it");
	buf_clear(&tar);
	tar_test_file(&tar, "a", "A");
	check_refused(&tar, "the archive ends within entry 1 ('a')");
	tar_test_bytes(&tar, zeros, sizeof zeros);
	check_refused(&tar, "the archive ends within its trailer");
	tar_test_bytes(&tar, junk, sizeof junk);
	check_refused(&tar, "the archive's end is one block of zeros, not two");
	buf_clear(&tar);
	tar_test_end(&tar);
	tar_test_bytes(&tar, "", 1);
	check_refused(&tar, "bytes follow the archive's end");
}

static void parser_refuses_broken_pax_headers(void **state)
{
	static const char broken[] =
	        "entry 1: its pax header has a record that PACK does not write";
	static const struct {
		struct view records;
	} rows[] = {
		{ VIEW_INIT("9 path=a") },
		{ VIEW_INIT("99 path=a\n") },
		{ VIEW_INIT("2 \n") },
		{ VIEW_INIT("0 path=a\n") },
		{ VIEW_INIT("path=a\n") },
		{ VIEW_INIT("7 path\n") },
		{ VIEW_INIT("5 =a\n") },
		{ VIEW_INIT("-9 path=a\n") },
		{ VIEW_INIT("99999999999999999999999 path=a\n") },
		{ VIEW_INIT("12 path=a\0b\n") },
		{ VIEW_INIT("8 path=\n") },
		{ VIEW_INIT("11 size=-1\n") },
		{ VIEW_INIT("11 size=1k\n") },
		{ VIEW_INIT("29 size=18446744073709551617\n") },
		{ VIEW_INIT("28 size=4611686018427387904\n") },
		{ VIEW_INIT("11 mtime=x\n") },
		{ VIEW_INIT("12 mtime=-7\n") },
		{ VIEW_INIT("13 mtime=9.5\n") },
		{ VIEW_INIT("22 mtime=253402300800\n") },
		{ VIEW_INIT("22 GNU.sparse.major=1\n") },
		{ VIEW_INIT("17 comment=hello\n") },
	};
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		buf_clear(&tar);
		tar_test_add(&tar, 'x', "x", "", rows[i].records);
		tar_test_file(&tar, "a", "A");
		tar_test_end(&tar);
		check_refused(&tar, broken);
	}
	buf_clear(&tar);
	tar_test_header(&tar, 'x', "x", "", 9217);
	check_refused(&tar, "entry 1: a pax header of 9217 bytes (1 to 9216)");
	buf_clear(&tar);
	tar_test_header(&tar, 'x', "x", "", 0);
	check_refused(&tar, "entry 1: a pax header of 0 bytes (1 to 9216)");
	buf_clear(&tar);
	tar_test_add(&tar, 'x', "x", "", VIEW("11 mtime=5\n"));
	tar_test_end(&tar);
	check_refused(&tar, "entry 1: not a tar header as PACK writes it");
	buf_clear(&tar);
	tar_test_add(&tar, 'x', "x", "", VIEW("11 mtime=5\n"));
	tar_test_add(&tar, 'x', "x", "", VIEW("11 mtime=5\n"));
	check_refused(&tar, "entry 1: of type 0x78, which is no file, directory or symbolic link");
}

static void parser_refuses_data_behind_directories_and_links(void **state)
{
	static const char types[] = "25";
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	for (size_t i = 0; i < strlen(types); i++) {
		buf_clear(&tar);
		tar_test_add(&tar, types[i], "a", "b", VIEW("data"));
		check_refused(&tar, "entry 1 ('a'): it is not a file, but has 4 bytes");
	}
}

/* With a size that is not the one of its data, the next header is not where it should be. */
static void parser_refuses_wrong_pax_size(void **state)
{
	static const char data[1024] = { [600] = 'x' };
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	tar_test_add(&tar, 'x', "x", "", VIEW("10 size=5\n"));
	tar_test_add(&tar, '0', "a", "", (struct view){ data, sizeof data });
	tar_test_end(&tar);
	check_refused(&tar, "entry 2: not a tar header as PACK writes it");
}

static void error_escapes_hostile_name(void **state)
{
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	tar_test_header(&tar, '0', "a\x1b[31m\n\xff", "", 4);
	check_refused(&tar, "the archive ends within entry 1 ('a\\x1b[31m\\n\\xff')");
}

/* --- the encoder ------------------------------------------------------------------- */

static void check_round_trip(const struct tar_entry *in)
{
	static struct tar_parser parser;
	struct tar_piece piece;
	AUTO_BUF struct buf tar;
	struct error err;
	struct view bytes;

	buf_init(&tar, TAR_HEAD_MAX);
	CHECK_OK(tar_encode(in, &tar, &err), err);
	assert_int_equal(tar.len % TAR_BLOCK, 0);
	bytes = buf_view(&tar);
	tar_parser_init(&parser);
	assert_int_equal(tar_parse(&parser, &bytes, &piece, &err), 1);
	assert_int_equal(piece.kind, TAR_PIECE_ENTRY);
	assert_int_equal(piece.bytes.len, tar.len);
	assert_memory_equal(piece.bytes.ptr, tar.ptr, tar.len);
	assert_int_equal(parser.entry.type, in->type);
	assert_int_equal(parser.entry.mode, in->mode);
	assert_true(parser.entry.size == in->size && parser.entry.mtime == in->mtime);
	assert_string_equal(parser.entry.name, in->name);
	assert_string_equal(parser.entry.link, in->link);
	assert_int_equal(bytes.len, 0);
}

static void parser_reads_what_the_encoder_writes(void **state)
{
	static char name[TAR_NAME_MAX + 1], link[TAR_NAME_MAX + 1];
	static const size_t lengths[] = { 1,   99,  100, 101, 155, 156, 200,  255,
		                          256, 257, 300, 995, 996, 997, 4093, 4094 };
	const size_t last = ARRAY_LEN(lengths) - 1;

	for (size_t every = 2; every < 120; every += 23)
		for (size_t i = 0; i <= last; i++) {
			struct tar_entry in = { .type = (enum tar_type)(i % 3),
				                .mode = 0751,
				                .size = i % 3 ? 0 : UINT64_C(1) << (i * 4),
				                .mtime = INT64_C(1) << (i * 2),
				                .name = name,
				                .link = link };

			memset(name, 'n', lengths[i]);
			name[lengths[i]] = '\0';
			for (size_t at = every - 1; at < lengths[i] - 1; at += every)
				name[at] = '/';
			memset(link, 'l', sizeof link - 1);
			link[in.type == TAR_SYMLINK ? lengths[last - i] : 0] = '\0';
			check_round_trip(&in);
		}
}

/* The longest head: both names, the largest size and the last time. */
static void longest_head_fits_its_limit(void **state)
{
	static char name[TAR_NAME_MAX + 1], link[TAR_NAME_MAX + 1];
	struct tar_entry in = { .type = TAR_SYMLINK, .mtime = TAR_TIME_MAX };

	memset(name, 'n', TAR_NAME_MAX);
	memset(link, 'l', TAR_NAME_MAX);
	in.name = name;
	in.link = link;
	check_round_trip(&in);
}

static void encoder_writes_pax_only_where_ustar_is_too_narrow(void **state)
{
	static const struct {
		struct tar_entry entry;
		size_t blocks;
	} rows[] = {
		{ { .name = "a", .size = 077777777777 }, 1 },
		{ { .name = "a", .size = 0100000000000 }, 3 },
		{ { .name = "a", .mtime = -1 }, 1 },
		{ { .name = "a", .mtime = 077777777777 }, 1 },
		{ { .name = "a", .mtime = 0100000000000 }, 3 },
		{ { .name = "a", .mtime = INT64_MAX }, 3 },
	};
	AUTO_BUF struct buf tar;
	struct error err;

	tar_test_init(&tar);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct tar_entry entry = rows[i].entry;

		entry.link = "";
		buf_clear(&tar);
		CHECK_OK(tar_encode(&entry, &tar, &err), err);
		assert_int_equal(tar.len, rows[i].blocks * TAR_BLOCK);
	}
}

/* One file with an absurd time must not spoil the whole archive. */
static void encoder_clamps_times_the_parser_would_refuse(void **state)
{
	struct tar_entry entry = { .name = "a", .link = "", .mtime = INT64_MAX };
	static struct tar_parser parser;
	struct tar_piece piece;
	AUTO_BUF struct buf tar;
	struct error err;
	struct view bytes;

	tar_test_init(&tar);
	CHECK_OK(tar_encode(&entry, &tar, &err), err);
	tar_parser_init(&parser);
	bytes = buf_view(&tar);
	assert_int_equal(tar_parse(&parser, &bytes, &piece, &err), 1);
	assert_true(parser.entry.mtime == TAR_TIME_MAX);
}

static void encoder_refuses_name_beyond_the_limit(void **state)
{
	static char name[TAR_NAME_MAX + 2];
	AUTO_BUF struct buf tar;
	struct error err;

	memset(name, 'n', TAR_NAME_MAX);
	tar_test_init(&tar);
	CHECK_OK(tar_encode(&(struct tar_entry){ .name = name, .link = "" }, &tar, &err), err);
	CHECK_ERROR(
	        tar_encode(&(struct tar_entry){ .type = TAR_DIRECTORY, .name = name, .link = "" },
	                   &tar, &err),
	        err, ERR_LIMIT, "a name of more than 4095 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(parser_reads_files_directories_and_links),
		TEST(parser_joins_prefix_and_name_that_fill_their_fields),
		TEST(parser_refuses_other_dialects),
		TEST(parser_drops_mode_bits_beyond_permissions),
		TEST(parser_refuses_any_changed_byte_of_a_header),
		TEST(parser_refuses_what_is_no_archive),
		TEST(parser_refuses_broken_pax_headers),
		TEST(parser_refuses_data_behind_directories_and_links),
		TEST(parser_refuses_wrong_pax_size),
		TEST(error_escapes_hostile_name),
		TEST(parser_reads_what_the_encoder_writes),
		TEST(longest_head_fits_its_limit),
		TEST(encoder_writes_pax_only_where_ustar_is_too_narrow),
		TEST(encoder_clamps_times_the_parser_would_refuse),
		TEST(encoder_refuses_name_beyond_the_limit),
	};

	return RUN_TESTS("tar", tests);
}
