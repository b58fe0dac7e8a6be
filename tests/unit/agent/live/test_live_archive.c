/* test_live_archive.c - PACK and UNPACK through the real agent: an unpacked tree equals the packed
 * one, a hostile archive writes nothing outside, and a slow reader delays no other stream. */
#include "unit/agent/live/live_files.h"
#include "unit/wire/tar_test.h"

enum { PACKED_MAX = 16 * 1024 * 1024 };

static struct live_stream *pack(struct live *live, const char *path)
{
	return LIVE_QUERY(live, .type = WIRE_PACK,
	                  .pack = { .max = PACKED_MAX, .max_count = 1000, .path = view_of(path) });
}

static struct live_stream *unpack(struct live *live, const char *path, struct view tar)
{
	struct live_stream *s = live_open(
	        live, &(struct wire_message){ .type = WIRE_UNPACK,
	                                      .unpack = { .max = PACKED_MAX,
	                                                  .max_count = 1000,
	                                                  .path = view_of(path) } });

	live_feed(s, tar, tar.len);
	return live_wait(s);
}

/* --- there and back --- */

static const char long_name[] = /* longer than ustar takes in one part, and not ASCII */
        "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"
        "89012345678901234567890123456789012345678901234567890123456789012345678901234567890-"
        "\xc3\xa4\xc3\xb6";

static void make_tree(const struct live *live)
{
	AUTO_FREE char *noise = files_noise(300001);
	char name[600];

	files_mkdir(live, "from");
	files_mkdir(live, "from/empty");
	assert_int_equal(chmod(files_at(live, "from/empty"), 0711), 0);
	files_mkdir(live, "from/d");
	(void)snprintf(name, sizeof name, "from/d/%s", long_name);
	files_mkdir(live, name);
	(void)snprintf(name, sizeof name, "from/d/%s/%s", long_name, long_name);
	files_put(live, name, VIEW("deep"));
	files_put(live, "from/zero", VIEW(""));
	files_put(live, "from/512", (struct view){ noise, 512 });
	files_put(live, "from/large", (struct view){ noise, 300001 });
	files_put(live, "from/script", VIEW("#!/bin/sh\n"));
	assert_int_equal(chmod(files_at(live, "from/script"), 0755), 0);
	files_put(live, "from/private", VIEW("p"));
	assert_int_equal(chmod(files_at(live, "from/private"), 0600), 0);
	assert_int_equal(symlink("script", files_at(live, "from/link")), 0);
	assert_int_equal(symlink("../large", files_at(live, "from/d/up")), 0);
	assert_int_equal(symlink("nowhere", files_at(live, "from/dangling")), 0);
	(void)snprintf(name, sizeof name, "d/%s/%s", long_name, long_name);
	assert_int_equal(symlink(name, files_at(live, "from/far")), 0);
}

/* A description of a tree: names, types, modes, sizes, targets and times of all files, then their
 * bytes. */
static void check_same(const struct live *live, const char *a, const char *b)
{
	char command[1024];

	(void)snprintf(command, sizeof command,
	               "for d in %s %s; do (cd $d && find . ! -name . ! -type d -printf "
	               "'%%P %%y %%m %%s %%l %%Ts\\n' -o ! -name . -type d -printf '%%P %%m\\n' | "
	               "sort) >$d.list || exit; done; cmp %s.list %s.list && test -s %s.list && "
	               "diff -r --no-dereference %s %s",
	               a, b, a, b, a, a, b);
	tar_test_run(live->made, command);
}

static void unpacked_tree_equals_the_packed_one(void **state)
{
	struct live_stream *packed, *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	make_tree(&live);
	packed = live_check(pack(&live, "from"));
	assert_int_equal(packed->done.count, 13);
	assert_int_equal(packed->done.skipped, 0);
	assert_int_equal(packed->done.bytes, packed->got[WIRE_OUT].len);
	s = live_check(unpack(&live, "to", buf_view(&packed->got[WIRE_OUT])));
	assert_int_equal(s->done.count, 13);
	assert_int_equal(s->done.skipped, 0);
	assert_int_equal(s->done.bytes, 300001 + 512 + 10 + 1 + 4);
	check_same(&live, "from", "to");
	live_stop(&live);
}

static void tar_program_extracts_what_pack_writes(void **state)
{
	struct live_stream *packed;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	make_tree(&live);
	packed = live_check(pack(&live, "from"));
	files_put(&live, "ours.tar", buf_view(&packed->got[WIRE_OUT]));
	tar_test_run(live.made, "mkdir by-tar && tar -xpf ours.tar -C by-tar");
	check_same(&live, "from", "by-tar");
	live_stop(&live);
}

/* --- hostile archives: "/" is a directory with another beside it --- */

static const struct attack {
	const char *what;
	struct {
		char type;
		const char *name, *link, *text;
	} entries[4];
	const char *refused; /* or the archive is taken, and */
	unsigned skipped;
	const char *inside; /* this is there, below the target, with the text "evil" */
} attacks[] = {
	{ "up",
	  { { '0', "../../../outside/x", "", "evil" } },
	  "entry 1 ('../../../outside/x'): its name has '..' in it",
	  0,
	  NULL },
	{ "up in the middle",
	  { { '5', "a", "", "" }, { '0', "a/../../../../outside/x", "", "evil" } },
	  "entry 2 ('a/../../../../outside/x'): its name has '..' in it",
	  0,
	  NULL },
	{ "absolute",
	  { { '0', "/outside/x", "", "evil" } },
	  "entry 1 ('/outside/x'): its name is not a plain relative path",
	  0,
	  NULL },
	{ "through a link up",
	  { { '2', "l", "../../../outside", "" }, { '0', "l/x", "", "evil" } },
	  NULL,
	  1,
	  "l/x" },
	{ "through a link to the root",
	  { { '2', "l", "/", "" }, { '0', "l/outside/x", "", "evil" } },
	  NULL,
	  1,
	  "l/outside/x" },
	{ "through a link that stays",
	  { { '5', "d", "", "" }, { '2', "l", "d", "" }, { '0', "l/x", "", "evil" } },
	  "entry 3 ('l/x'): 'l' on the way is a symbolic link",
	  0,
	  NULL },
	{ "over a link that is there", { { '0', "planted", "", "evil" } }, NULL, 0, "planted" },
	{ "below a link that is there",
	  { { '0', "planted-dir/x", "", "evil" } },
	  "entry 1 ('planted-dir/x'): 'planted-dir' on the way is a symbolic link",
	  0,
	  NULL },
	{ "a hard link to a file outside",
	  { { '1', "h", "../../../outside/data", "" } },
	  "entry 1: of type 0x31, which is no file, directory or symbolic link",
	  0,
	  NULL },
	{ "a device",
	  { { '3', "null", "", "" } },
	  "entry 1: of type 0x33, which is no file, directory or symbolic link",
	  0,
	  NULL },
	{ "a FIFO",
	  { { '6', "fifo", "", "" } },
	  "entry 1: of type 0x36, which is no file, directory or symbolic link",
	  0,
	  NULL },
};

static void make_archive(const struct attack *attack, struct buf *tar)
{
	tar_test_init(tar);
	for (size_t i = 0; i < ARRAY_LEN(attack->entries); i++)
		if (attack->entries[i].type != '\0')
			tar_test_add(tar, attack->entries[i].type, attack->entries[i].name,
			             attack->entries[i].link, view_of(attack->entries[i].text));
	tar_test_end(tar);
}

static void check_attack(struct live *live, const struct attack *attack)
{
	struct live_stream *s;
	AUTO_BUF struct buf tar;
	char path[256];

	make_archive(attack, &tar);
	files_mkdir(live, "t");
	assert_int_equal(symlink("../../../outside/data", files_at(live, "t/planted")), 0);
	assert_int_equal(symlink("../../../outside", files_at(live, "t/planted-dir")), 0);
	s = unpack(live, "t", buf_view(&tar));
	if (attack->refused != NULL) {
		LIVE_CHECK_FAILED(s, WIRE_FAILED_INVALID, attack->refused);
	} else {
		assert_int_equal(live_check(s)->done.skipped, attack->skipped);
		(void)snprintf(path, sizeof path, "t/%s", attack->inside);
		files_check(live, path, "evil");
	}
	tar_test_run(live->workspace, "test -z \"$(find . -type b -o -type c -o -type p)\"");
	files_remove(files_at(live, "t"));
}

/* The agent's root is the real "/", so a link that was followed would really lead out. */
static void hostile_archive_writes_nothing_outside(void **state)
{
	char dir[64], workspace[80], outside[80], data[96];
	struct live live;

	files_new_directory(dir);
	(void)snprintf(workspace, sizeof workspace, "%s/in/w", dir);
	(void)snprintf(outside, sizeof outside, "%s/outside", dir);
	(void)snprintf(data, sizeof data, "%s/data", outside);
	tar_test_run(dir, "mkdir -p in/w outside");
	files_put_at(data, VIEW("as before"));
	files_begin(&live, state, (struct live_options){ .workspace = workspace });
	for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
		print_message("# %s\n", attacks[i].what);
		check_attack(&live, &attacks[i]);
		files_check_at(data, "as before");
		assert_int_equal(files_count(outside), 1);
		assert_int_equal(files_count(dir), 2);
		assert_int_equal(files_count(workspace), 0);
	}
	assert_true(access("/outside", F_OK) < 0);
	live_stop(&live);
	files_remove(dir);
}

/* --- ends --- */

static const struct ending {
	const char *what;
	uint64_t max;
	uint32_t max_count;
	enum wire_failure failure;
	const char *message;
	size_t names; /* that are there afterwards */
} endings[] = {
	{ "too many entries", 1000, 1, WIRE_FAILED_LIMIT,
	  "entry 2 ('b'): more than 1 entries, counting the directories on the way to them", 1 },
	{ "too many bytes", 5, 10, WIRE_FAILED_LIMIT,
	  "entry 2 ('b'): its 4 bytes are too many: all files together may have 5", 1 },
};

static void unpack_stops_at_its_limits(void **state)
{
	struct live live;
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	tar_test_file(&tar, "a", "aaaa");
	tar_test_file(&tar, "b", "bbbb");
	tar_test_end(&tar);
	files_begin(&live, state, (struct live_options){ 0 });
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		struct live_stream *s = live_open(
		        &live,
		        &(struct wire_message){ .type = WIRE_UNPACK,
		                                .unpack = { .max = endings[i].max,
		                                            .max_count = endings[i].max_count,
		                                            .path = VIEW("t") } });

		live_feed(s, buf_view(&tar), tar.len);
		LIVE_CHECK_FAILED(s, endings[i].failure, endings[i].message);
		assert_int_equal(files_count(files_at(&live, "t")), endings[i].names);
		files_remove(files_at(&live, "t"));
	}
	live_stop(&live);
}

static void closed_unpack_leaves_no_partial_file(void **state)
{
	struct live_stream *s;
	struct live live;
	AUTO_BUF struct buf tar;

	tar_test_init(&tar);
	tar_test_file(&tar, "whole", "text");
	tar_test_header(&tar, '0', "half", "", 1000000);
	tar_test_data(&tar, VIEW("the beginning"));
	files_begin(&live, state, (struct live_options){ 0 });
	s = live_open(&live, &(struct wire_message){ .type = WIRE_UNPACK,
	                                             .unpack = { .max = PACKED_MAX,
	                                                         .max_count = 10,
	                                                         .path = VIEW("t") } });
	s->keeps_open = true;
	live_feed(s, buf_view(&tar), tar.len);
	LIVE_UNTIL(&live, files_exist(&live, "t/half"), LIVE_MS);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(s, WIRE_FAILED_CLOSED, "closed");
	files_check(&live, "t/whole", "text");
	assert_int_equal(files_count(files_at(&live, "t")), 1);
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
}

/* Without a reader the worker blocks, the agent buffers nothing, and other requests are handled. */
static void pack_without_a_reader_delays_no_other_stream(void **state)
{
	AUTO_FREE char *noise = files_noise(4 * 1024 * 1024);
	unsigned long before, limit_kib;
	struct live_stream *s;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "large", (struct view){ noise, 4 * 1024 * 1024 });
	(void)live_check(live_read_file(&live, "large"));
	before = live_status(live.agent, "VmRSS:");
	s = live_open(&live,
	              &(struct wire_message){
	                      .type = WIRE_PACK,
	                      .pack = { .max = PACKED_MAX, .max_count = 10, .path = VIEW(".") } });
	s->holds_back = true;
	LIVE_UNTIL(&live, s->bytes[WIRE_OUT] >= WIRE_WINDOW / 2, LIVE_MS);
	live_run_ms(&live, 200);
	assert_in_range(s->bytes[WIRE_OUT], 1, WIRE_WINDOW);
	assert_false(s->is_over);
	for (unsigned i = 0; i < 10; i++)
		(void)live_check(live_read_file(&live, "large"));
	limit_kib = before + 256;
	assert_in_range(live_status(live.agent, "VmRSS:"), 1, limit_kib);
	channel_close(s->stream);
	LIVE_CHECK_FAILED(live_wait_ms(s, LIVE_MS), WIRE_FAILED_CLOSED, "closed");
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(unpacked_tree_equals_the_packed_one),
		TWICE(tar_program_extracts_what_pack_writes),
		TWICE(hostile_archive_writes_nothing_outside),
		TWICE(unpack_stops_at_its_limits),
		TWICE(closed_unpack_leaves_no_partial_file),
		TWICE(pack_without_a_reader_delays_no_other_stream),
	};

	return RUN_TESTS("live archive", all);
}
