/* test_ids_taken.c - ids that the host's files give to users are not used for sandboxes. */
#include "unit/engine/native/rig.h"

#include "engine/native/ids/ids.h"
#include "engine/native/root/root.h"

#define KEPT "sb_kaaaaaaaaaaaaaaaaaaaaaaaaa"

enum { FIRST_BLOCK = 524288 + 65536, LAST = 1879048191 };

static const struct userns host = { .mode = USERNS_ROOT, .ids = { 524288, FIRST_BLOCK, 65536, 8 } };

static void write_etc(const struct test_dir *place, const char *name, const char *text, size_t len)
{
	int fd = openat(place->fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static void read_taken(const struct test_dir *place, struct ids_taken *ret)
{
	struct error err;

	CHECK_OK(ids_taken_read(place->path, 524288, ret, &err), err);
}

static void read_subuid(const char *text, size_t len, struct ids_taken *ret)
{
	struct test_dir place;

	test_dir_open(&place);
	write_etc(&place, "subuid", text, len);
	read_taken(&place, ret);
	test_dir_remove(&place);
}

static void each_line_is_a_range_or_is_skipped(void **state)
{
	static const struct {
		const char *line;
		size_t len;
		uint32_t first, last; /* 0: no range */
	} rows[] = {
		{ "alice:524288:65536", 0, 524288, 589823 },
		{ "alice:493216:65536\n", 0, 493216, 558751 },
		{ "1000:600000:1\r\n", 0, 600000, 600000 },
		{ "alice:0x80000:0x10", 0, 524288, 524303 },
		{ "lxd:1000000:99999999999999", 0, 1000000, UINT32_MAX },
		{ "lxd:1000000:18446744073709551615", 0, 1000000, UINT32_MAX },
		{ "x:4294967295:2", 0, UINT32_MAX, UINT32_MAX },
		{ ":600000:10", 0, 600000, 600009 },
		{ "a:600000:10:more", 0, 600000, 600009 },
		{ "# a comment\nalice:600000:10", 0, 600000, 600009 },
		{ "a\0b\nalice:600000:10", 19, 600000, 600009 },
		{ "alice:100000:65536", 0, 0, 0 }, /* below the ids of sandboxes */
		{ "alice:600000:0", 0, 0, 0 },
		{ "alice:600000", 0, 0, 0 },
		{ "alice:600000:", 0, 0, 0 },
		{ "alice:-1:5", 0, 0, 0 },
		{ "alice: 600000:5", 0, 0, 0 },
		{ "alice:600000x:5", 0, 0, 0 },
		{ "alice:4294967296:5", 0, 0, 0 },
		{ "alice:99999999999999999999:5", 0, 0, 0 },
		{ ":::", 0, 0, 0 },
		{ "", 0, 0, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ids_taken taken;

		read_subuid(rows[i].line, rows[i].len != 0 ? rows[i].len : strlen(rows[i].line),
		            &taken);
		assert_int_equal(taken.count, rows[i].first != 0);
		if (taken.count == 1) {
			assert_int_equal(taken.ranges[0].first, rows[i].first);
			assert_int_equal(taken.ranges[0].last, rows[i].last);
		}
		ids_taken_done(&taken);
	}
}

static void all_four_files_are_read(void **state)
{
	struct ids_taken taken;
	struct test_dir place;

	test_dir_open(&place);
	write_etc(&place, "subgid", "a:600000:10\n", 12);
	write_etc(&place, "passwd", "b:x:700000:800000::/:/bin/sh\n", 29);
	write_etc(&place, "group", "c:x:900000:b,d\n", 15);
	read_taken(&place, &taken);
	assert_string_equal(ids_taken_find(&taken, 600009, 600009)->owner, "a");
	assert_string_equal(ids_taken_find(&taken, 700000, 700000)->file, "passwd");
	assert_string_equal(ids_taken_find(&taken, 800000, 800000)->owner, "b");
	assert_string_equal(ids_taken_find(&taken, 0, LAST)->owner, "a");
	assert_string_equal(ids_taken_find(&taken, 900000, 900001)->file, "group");
	assert_null(ids_taken_find(&taken, 600010, 699999));
	ids_taken_done(&taken);
	test_dir_remove(&place);
}

static void file_that_cannot_be_read_is_an_error(void **state)
{
	struct ids_taken taken;
	struct test_dir place;
	struct error err;

	test_dir_open(&place);
	assert_int_equal(mkdirat(place.fd, "subgid", 0700), 0);
	assert_int_equal(ids_taken_read(place.path, 0, &taken, &err), -1);
	assert_non_null(strstr(err.msg, "subgid"));
	test_dir_remove(&place);
}

static void too_many_ranges_are_an_error(void **state)
{
	static const char line[] = "a:600000:1\n";
	enum { LINE = sizeof line - 1, LINES = 65537 };
	char *text = malloc((size_t)LINE * LINES);
	struct ids_taken taken;
	struct test_dir place;
	struct error err;

	for (int i = 0; i < LINES; i++)
		memcpy(text + (size_t)i * LINE, line, LINE);
	test_dir_open(&place);
	write_etc(&place, "subuid", text, (size_t)LINE * LINES);
	CHECK_ERROR(
	        ids_taken_read(place.path, 524288, &taken, &err), err, ERR_LIMIT,
	        "/etc/subuid: there are more than 65536 users and ranges of ids: belljar cannot "
	        "tell which ids are free: start it as an ordinary user");
	test_dir_remove(&place);
	free(text);
}

static void open_ids(struct test_dir *place, struct ids *ids, const struct ids_taken *taken)
{
	test_dir_open(place);
	*ids = (struct ids){ .userns = &host, .taken = taken };
	assert_int_equal(mkdirat(place->fd, "ids", 0700), 0);
	assert_int_equal(mkdirat(place->fd, "sandboxes", 0700), 0);
	ids->dir = openat(place->fd, "ids", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ids->sandboxes = openat(place->fd, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(ids->state, sizeof ids->state, "%s", place->path);
}

static void close_ids(struct test_dir *place, struct ids *ids)
{
	(void)close(ids->dir);
	(void)close(ids->sandboxes);
	test_dir_remove(place);
}

/* Blocks 1 to 8 begin at FIRST_BLOCK; the ranges meet all but 4 and 8. */
static void claims_pass_over_taken_blocks(void **state)
{
	static const char text[] = "a:524288:262144\nb:851968:1\nc:917505:131070\n";
	struct ids_taken taken;
	struct ids_block block;
	struct test_dir place;
	struct error err;
	struct ids ids;
	bool seen[9] = { false };

	read_subuid(text, strlen(text), &taken);
	open_ids(&place, &ids, &taken);
	CHECK_OK(ids_check_range(&ids, &err), err);
	for (int i = 0; i < 2; i++) {
		CHECK_OK(ids_claim(&ids, "sb_a", &block, &err), err);
		seen[block.number] = true;
	}
	assert_true(seen[4] && seen[8]);
	assert_int_equal(ids_claim(&ids, "sb_a", &block, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	close_ids(&place, &ids);
	ids_taken_done(&taken);
}

static void claim_fails_when_users_have_all_blocks(void **state)
{
	static const char text[] = "a:560000:500000\nlxd:1000000:1000000000\n";
	struct ids_taken taken;
	struct ids_block block;
	struct test_dir place;
	struct error err;
	struct ids ids;

	read_subuid(text, strlen(text), &taken);
	open_ids(&place, &ids, &taken);
	CHECK_ERROR(
	        ids_check_range(&ids, &err), err, ERR_UNSUPPORTED,
	        "no ids are left for sandboxes: all 8 blocks of 65536 ids from 589824 on belong "
	        "to users by /etc/subuid, /etc/subgid, /etc/passwd or /etc/group: make a range "
	        "there smaller (usermod --del-subuids, --del-subgids), or start belljar as an "
	        "ordinary user");
	assert_int_equal(ids_claim(&ids, "sb_a", &block, &err), -1);
	assert_int_equal(err.kind, ERR_UNSUPPORTED);
	close_ids(&place, &ids);
	ids_taken_done(&taken);
}

static void block_that_was_taken_later_is_reported(void **state)
{
	static const char text[] = "alice:589824:524288\n";
	struct ids_taken taken;
	struct ids_block block;
	struct test_dir place;
	struct error err;
	char expected[300];
	struct ids ids;

	open_ids(&place, &ids, NULL);
	assert_int_equal(mkdirat(ids.sandboxes, KEPT, 0700), 0);
	CHECK_OK(ids_claim(&ids, KEPT, &block, &err), err);
	CHECK_OK(ids_check_taken(&ids, KEPT, &block, &err), err);
	assert_int_equal(ids_sweep(&ids, &err), 0);

	read_subuid(text, strlen(text), &taken);
	ids.taken = &taken;
	(void)snprintf(
	        expected, sizeof expected,
	        "sandbox " KEPT " has the ids %u-%u, but /etc/subuid gives 589824-1114111 to "
	        "'alice' by now: take them back (usermod --del-subuids 589824-1114111 alice), "
	        "or delete the sandbox",
	        block.agent - 999, block.agent - 999 + 65535);
	CHECK_ERROR(ids_check_taken(&ids, KEPT, &block, &err), err, ERR_INVALID, expected);
	err.msg[0] = '\0';
	assert_int_equal(ids_sweep(&ids, &err), 1);
	assert_string_equal(err.msg, expected);
	close_ids(&place, &ids);
	ids_taken_done(&taken);
}

/* Both pairs of ids are in the container range, which this machine's users are assumed not to
 * have. */
static void server_keeps_its_ids_while_they_are_free(void **state)
{
	static const struct {
		const char *subuid;
		uint32_t present, expected; /* 0: refused */
	} rows[] = {
		{ "", 0, 524289 },
		{ "", 524289, 524289 },
		{ "", 1878982657, 1878982657 },
		{ "", 4711, 524289 },
		{ "g:493216:65536\n", 0, 1878982657 },
		{ "g:493216:65536\n", 524289, 1878982657 },
		{ "g:524288:1\n", 524289, 1878982657 },
		{ "g:1878982657:1\n", 1878982657, 524289 },
		{ "g:493216:65536\nh:1878982656:65536\n", 524289, 0 },
	};

	if (!idmap_has(1878982657))
		SKIP_TEST("this user namespace has few ids");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct ids_taken taken;
		struct error err;
		uint32_t id = 0;
		int r;

		read_subuid(rows[i].subuid, strlen(rows[i].subuid), &taken);
		r = ids_choose_server(&taken, rows[i].present, &id, &err);
		assert_int_equal(r, rows[i].expected != 0 ? 0 : -1);
		assert_int_equal(id, rows[i].expected);
		if (r < 0)
			assert_non_null(strstr(err.msg,
			                       "needs 524288 and 524289, or 1878982656 and "
			                       "1878982657"));
		ids_taken_done(&taken);
	}
}

static void source_of_users_without_a_file_is_found(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "passwd: files systemd\ngroup: ldap\n", "" },
		{ "passwd:\tfiles [SUCCESS=return] sss # ldap\n", "sss" },
		{ "# passwd: ldap\npasswd: compat [!NOTFOUND=return] # ldap\n", "" },
		{ "passwd: ldap", "ldap" },
	};
	char source[IDS_SOURCE_SIZE];
	struct test_dir place;

	test_dir_open(&place);
	ids_unlisted_source(place.path, source);
	assert_string_equal(source, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		write_etc(&place, "nsswitch.conf", rows[i].text, strlen(rows[i].text));
		ids_unlisted_source(place.path, source);
		assert_string_equal(source, rows[i].expected);
	}
	test_dir_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_line_is_a_range_or_is_skipped),
		TEST(all_four_files_are_read),
		TEST(file_that_cannot_be_read_is_an_error),
		TEST(too_many_ranges_are_an_error),
		TEST(claims_pass_over_taken_blocks),
		TEST(claim_fails_when_users_have_all_blocks),
		TEST(block_that_was_taken_later_is_reported),
		TEST(server_keeps_its_ids_while_they_are_free),
		TEST(source_of_users_without_a_file_is_found),
	};

	return RUN_TESTS("engine/ids_taken", tests);
}
