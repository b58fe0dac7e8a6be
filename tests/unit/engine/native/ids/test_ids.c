/* test_ids.c - blocks of ids: maps, claims, sweeping, and ranges of /etc/subuid. */
#include "unit/engine/native/rig.h"

#include "engine/native/ids/ids.h"
#include "engine/native/root/root.h"

#define TAIL  "aaaaaaaaaaaaaaaaaaaaaaaaa"
#define KEPT  "sb_k" TAIL
#define LOST  "sb_l" TAIL
#define GONE  "gn_k" TAIL
#define SPARE "sp_s" TAIL

static const struct userns root = { .mode = USERNS_ROOT,
	                            .ids = { 524288, 524288 + 65536, 65536, 28000 } };
static const struct userns mapped = { .mode = USERNS_MAPPED, .ids = { 1, 2, 3, 21000 } };
static const struct userns alone = { .mode = USERNS_SINGLE_ID, .uid = 1234, .gid = 4321 };

static struct ids open_ids(struct test_dir *place, const struct userns *userns)
{
	struct ids ids = { .userns = userns };

	test_dir_open(place);
	assert_int_equal(mkdirat(place->fd, "ids", 0700), 0);
	assert_int_equal(mkdirat(place->fd, "sandboxes", 0700), 0);
	ids.dir = openat(place->fd, "ids", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ids.sandboxes = openat(place->fd, "sandboxes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	(void)snprintf(ids.state, sizeof ids.state, "%s", place->path);
	return ids;
}

static void close_ids(struct test_dir *place, struct ids *ids)
{
	(void)close(ids->dir);
	(void)close(ids->sandboxes);
	test_dir_remove(place);
}

static void id_maps_have_the_expected_ranges(void **state)
{
	struct ids_block block = ids_block(&root, 1);
	char text[IDS_MAP_SIZE];

	ids_map(&root, &block, false, text);
	assert_string_equal(text, "0 524288 1\n1 589825 65534\n");
	assert_int_equal(block.user, 589824 + 1000);
	block = ids_block(&mapped, 2);
	ids_map(&mapped, &block, true, text);
	assert_string_equal(text, "0 1 1\n999 5 1\n1000 6 1\n65534 7 1\n");
	block = ids_block(&alone, 0);
	ids_map(&alone, &block, false, text);
	assert_string_equal(text, "1000 1234 1\n");
	ids_map(&alone, &block, true, text);
	assert_string_equal(text, "1000 4321 1\n");
}

static void blocks_do_not_overlap(void **state)
{
	struct ids_block a = ids_block(&root, 7), b = ids_block(&root, 8);

	assert_int_equal(b.agent - a.agent, 65536);
	assert_true(a.nobody < b.agent);
	a = ids_block(&mapped, 7);
	b = ids_block(&mapped, 8);
	assert_true(a.nobody < b.agent);
}

static void no_block_is_claimed_twice(void **state)
{
	struct userns few = root;
	struct ids_block block;
	struct test_dir place;
	struct error err;
	struct ids ids;
	unsigned got = 0;

	few.ids.count = 4;
	ids = open_ids(&place, &few);
	while (ids_claim(&ids, "sb_a", &block, &err) == 0)
		got++;
	assert_int_equal(got, 4);
	assert_int_equal(err.kind, ERR_LIMIT);
	close_ids(&place, &ids);
}

static void sweep_removes_claims_of_missing_sandboxes(void **state)
{
	struct ids_block kept, lost, moved;
	struct test_dir place;
	struct error err;
	struct ids ids;
	char name[16];

	ids = open_ids(&place, &root);
	assert_int_equal(mkdirat(ids.sandboxes, KEPT, 0700), 0);
	CHECK_OK(ids_claim(&ids, KEPT, &kept, &err), err);
	CHECK_OK(ids_claim(&ids, LOST, &lost, &err), err);
	CHECK_OK(ids_claim(&ids, SPARE, &moved, &err), err);
	CHECK_OK(ids_rename(&ids, &moved, KEPT, &err), err);
	(void)ids_sweep(&ids, &err);
	(void)snprintf(name, sizeof name, "%u", kept.number);
	assert_int_equal(faccessat(ids.dir, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
	(void)snprintf(name, sizeof name, "%u", moved.number);
	assert_int_equal(faccessat(ids.dir, name, F_OK, AT_SYMLINK_NOFOLLOW), 0);
	(void)snprintf(name, sizeof name, "%u", lost.number);
	assert_int_equal(faccessat(ids.dir, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
	ids_release(&ids, &kept, GONE);
	(void)snprintf(name, sizeof name, "%u", kept.number);
	assert_int_equal(faccessat(ids.dir, name, F_OK, AT_SYMLINK_NOFOLLOW), -1);
	close_ids(&place, &ids);
}

static void sweep_removes_claims_of_missing_state_directories(void **state)
{
	struct test_dir place;
	struct error err;
	struct ids ids;

	ids = open_ids(&place, &root);
	assert_int_equal(symlinkat("/nonexistent/belljar|sb_x", ids.dir, "17"), 0);
	assert_int_equal(symlinkat("/tmp|sb_x", ids.dir, "18"), 0);
	assert_int_equal(symlinkat("nothing like a claim", ids.dir, "19"), 0);
	(void)ids_sweep(&ids, &err);
	assert_int_equal(faccessat(ids.dir, "17", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	assert_int_equal(faccessat(ids.dir, "18", F_OK, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(faccessat(ids.dir, "19", F_OK, AT_SYMLINK_NOFOLLOW), -1);
	close_ids(&place, &ids);
}

static void block_is_found_from_the_directorys_owner(void **state)
{
	struct ids_block block;
	struct test_dir place;
	struct error err;
	struct ids ids;

	if (geteuid() != 0)
		SKIP_TEST("only root can give directories away");
	ids = open_ids(&place, &root);
	CHECK_ERROR(ids_from_owner(&ids, "sb_a", &block, &err), err, ERR_NOT_FOUND,
	            "the files of sandbox sb_a do not exist: delete the sandbox");
	assert_int_equal(mkdirat(ids.sandboxes, "sb_a", 0700), 0);
	CHECK_ERROR(ids_from_owner(&ids, "sb_a", &block, &err), err, ERR_INVALID,
	            "sandbox sb_a belongs to id 0, which is not in this server's range: start "
	            "belljar as the user who created it, or delete the sandbox");
	assert_int_equal(fchownat(ids.sandboxes, "sb_a", 524288 + 65536 * 5 + 999, 0, 0), 0);
	CHECK_OK(ids_from_owner(&ids, "sb_a", &block, &err), err);
	assert_int_equal(block.number, 5);
	close_ids(&place, &ids);
}

static void largest_subordinate_range_is_found(void **state)
{
	char path[96], why[240] = "";
	struct subids found;
	struct test_dir place;
	int fd;

	test_dir_open(&place);
	(void)snprintf(path, sizeof path, "%s/subuid", place.path);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)!dprintf(fd, "nobody-else:1:2\nbroken\n4711:100000:10\n4711:200000:65536\n4711:x:9\n"
	                   "4711:4294967290:100\n");
	(void)close(fd);
	(void)subids_find(path, 4711, 64, &found, why, sizeof why);
	assert_int_equal(found.first, 200000);
	assert_int_equal(found.count, 65536);
	assert_false(subids_find(path, 4712, 64, &found, why, sizeof why));
	assert_non_null(strstr(why, "usermod --add-subuids"));
	test_dir_remove(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(id_maps_have_the_expected_ranges),
		TEST(blocks_do_not_overlap),
		TEST(no_block_is_claimed_twice),
		TEST(sweep_removes_claims_of_missing_sandboxes),
		TEST(sweep_removes_claims_of_missing_state_directories),
		TEST(block_is_found_from_the_directorys_owner),
		TEST(largest_subordinate_range_is_found),
	};

	return RUN_TESTS("engine/ids", tests);
}
