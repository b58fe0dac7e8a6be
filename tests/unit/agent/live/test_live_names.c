/* test_live_names.c - STAT, LIST, TREE, FIND, GREP, REMOVE and RENAME by the real agent. */
#include <time.h>

#include "unit/agent/live/live_files.h"

static void stat_describes_every_kind_of_file(void **state)
{
	struct live_stream *s;
	struct wire_entry entry;
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	files_put(&live, "f", VIEW("12345"));
	assert_int_equal(chmod(files_at(&live, "f"), 0604), 0);
	assert_int_equal(symlink("f", files_at(&live, "link")), 0);
	s = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("link"));
	assert_true(live_entry(live_check(s), 0, &entry) && s->done.count == 1);
	assert_int_equal(entry.type, WIRE_FILE_REGULAR);
	assert_int_equal(entry.perm, 0604);
	assert_int_equal(entry.size, 5);
	assert_int_equal(entry.uid, getuid());
	assert_true(entry.modified_ms / 1000 + 60 >= (uint64_t)time(NULL));
	CHECK_VIEW(entry.path, "link");
	CHECK_VIEW(entry.target, "");
	s = LIVE_QUERY(&live, .type = WIRE_STAT,
	               .stat = { .flags = WIRE_NOFOLLOW, .path = VIEW("link") });
	assert_true(live_entry(live_check(s), 0, &entry));
	assert_int_equal(entry.type, WIRE_FILE_LINK);
	CHECK_VIEW(entry.target, "f");
	s = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("."));
	assert_true(live_entry(live_check(s), 0, &entry));
	assert_int_equal(entry.type, WIRE_FILE_DIRECTORY);
	s = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("/dev/null"));
	assert_true(live_entry(live_check(s), 0, &entry));
	assert_int_equal(entry.type, WIRE_FILE_OTHER);
	live_stop(&live);
}

/* --- lists --- */

enum { NAMES = 1000, PAGE = 7 };

static void make_names(struct live *live, const char *dir)
{
	char name[300];

	files_mkdir(live, dir);
	for (unsigned i = 0; i < NAMES; i++) {
		/* Names of different forms, created in another order than they sort. */
		(void)snprintf(name, sizeof name, "%s/%s%u", dir, i % 3 != 0 ? "n" : ".h",
		               i * 7919 % NAMES);
		files_put(live, name, VIEW(""));
	}
}

/* Each name has a number; seen[] counts how often it was listed. */
static void count_page(const struct live_stream *s, uint8_t seen[NAMES], char last[64])
{
	struct wire_entry entry;

	for (size_t i = 0; i < s->done.count; i++) {
		char name[64];
		unsigned long n;

		assert_true(live_entry(s, i, &entry) && entry.path.len < sizeof name);
		(void)snprintf(name, sizeof name, "%.*s", (int)entry.path.len, entry.path.ptr);
		assert_true(strcmp(name, last) > 0);
		(void)snprintf(last, 64, "%s", name);
		n = strtoul(name[0] == '.' ? name + 2 : name + 1, NULL, 10);
		assert_true(n < NAMES);
		seen[n]++;
	}
	assert_false(live_entry(s, s->done.count, &entry));
}

static void list_returns_each_name_once_over_all_pages(void **state)
{
	char cursor[256] = "", last[64] = "";
	uint8_t seen[NAMES] = { 0 };
	struct live_stream *s;
	struct live live;
	unsigned pages = 0;

	files_begin(&live, state, (struct live_options){ 0 });
	make_names(&live, "many");
	do {
		s = LIVE_QUERY(
		        &live, .type = WIRE_LIST,
		        .list = { .limit = PAGE, .path = VIEW("many"), .cursor = view_of(cursor) });
		count_page(live_check(s), seen, last);
		(void)snprintf(cursor, sizeof cursor, "%s", s->cursor);
		pages++;
		/* Files that are created and removed during the listing do not disturb it. */
		files_put(&live, "many/!before", VIEW(""));
		(void)unlink(files_at(&live, "many/!before"));
	} while (s->done.flags & WIRE_DONE_MORE);
	assert_int_equal(pages, (NAMES + PAGE - 1) / PAGE);
	for (size_t i = 0; i < NAMES; i++)
		assert_int_equal(seen[i], 1);
	live_stop(&live);
}

/* --- below a directory --- */

static void make_tree(struct live *live)
{
	files_mkdir(live, "t");
	files_mkdir(live, "t/a");
	files_mkdir(live, "t/a/b");
	files_put(live, "t/a/b/deep.c", VIEW("int deep;\n"));
	files_put(live, "t/a/one.c", VIEW("int one;\r\nint Needle;\nneedle needle\n"));
	files_put(live, "t/.hidden", VIEW("needle\n"));
	files_put(live, "t/binary", VIEW("needle\0\n"));
	files_put(live, "t/zero", VIEW(""));
	assert_int_equal(symlink("..", files_at(live, "t/up")), 0);
}

static const struct looking {
	struct wire_message request;
	const char *want; /* paths and lines, in any order of the file system's: sorted */
	uint8_t flags;
} lookings[] = {
	{ { .type = WIRE_TREE, .tree = { .depth = 1, .limit = 100, .path = VIEW_INIT("t") } },
	  "a binary up zero ",
	  WIRE_DONE_MORE },
	{ { .type = WIRE_TREE, .tree = { .depth = 9, .limit = 100, .path = VIEW_INIT("t") } },
	  "a a/b a/b/deep.c a/one.c binary up zero ",
	  0 },
	{ { .type = WIRE_TREE,
	    .tree = { .flags = WIRE_WALK_HIDDEN, .depth = 9, .limit = 3, .path = VIEW_INIT("t") } },
	  ".hidden a a/b ",
	  WIRE_DONE_MORE },
	{ { .type = WIRE_FIND,
	    .find = { .depth = 9,
	              .limit = 100,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("*.c") } },
	  "a/b/deep.c a/one.c ",
	  0 },
	{ { .type = WIRE_FIND,
	    .find = { .flags = WIRE_WALK_IGNORE_CASE,
	              .depth = 9,
	              .limit = 100,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("*.py\nA/ONE.*") } },
	  "a/one.c ",
	  0 },
	{ { .type = WIRE_FIND,
	    .find = { .depth = 9,
	              .limit = 1,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("*.c") } },
	  "a/b/deep.c ",
	  WIRE_DONE_MORE },
	{ { .type = WIRE_GREP,
	    .grep = { .depth = 9,
	              .limit = 100,
	              .max = 1000,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("needle"),
	              .names = VIEW_INIT("") } },
	  "a/one.c:3:1:needle needle ",
	  0 },
	{ { .type = WIRE_GREP,
	    .grep = { .flags = WIRE_WALK_IGNORE_CASE | WIRE_WALK_HIDDEN,
	              .depth = 9,
	              .limit = 100,
	              .max = 1000,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("needle"),
	              .names = VIEW_INIT("") } },
	  ".hidden:1:1:needle a/one.c:2:5:int Needle; a/one.c:3:1:needle needle ",
	  0 },
	{ { .type = WIRE_GREP,
	    .grep = { .flags = WIRE_WALK_REGEX,
	              .depth = 9,
	              .limit = 1,
	              .max = 1000,
	              .path = VIEW_INIT("t"),
	              .pattern = VIEW_INIT("^int [a-z]+;$"),
	              .names = VIEW_INIT("*.h\n*.c") } },
	  "a/b/deep.c:1:1:int deep; ",
	  WIRE_DONE_MORE },
};

static void add_entries(const struct live_stream *s, struct buf *text)
{
	struct wire_entry entry;

	for (size_t i = 0; live_entry(s, i, &entry); i++) {
		live_keep(text, entry.path);
		live_keep(text, VIEW(" "));
	}
}

static void add_matches(const struct live_stream *s, struct buf *text)
{
	struct wire_match match;
	char where[64];

	for (size_t i = 0; live_match(s, i, &match); i++) {
		(void)snprintf(where, sizeof where, ":%u:%u:", (unsigned)match.line, match.column);
		live_keep(text, match.path);
		live_keep(text, view_of(where));
		live_keep(text, match.text);
		live_keep(text, VIEW(" "));
	}
}

static void find_and_grep_search_below_a_directory(void **state)
{
	struct live live;

	files_begin(&live, state, (struct live_options){ 0 });
	make_tree(&live);
	for (size_t i = 0; i < ARRAY_LEN(lookings); i++) {
		struct live_stream *s = live_check(live_query(&live, &lookings[i].request));
		AUTO_BUF struct buf text;

		buf_init(&text, 4096);
		if (lookings[i].request.type == WIRE_GREP)
			add_matches(s, &text);
		else
			add_entries(s, &text);
		assert_string_equal(buf_text(&text), lookings[i].want);
		assert_int_equal(s->done.flags, lookings[i].flags);
	}
	live_stop(&live);
}

/* --- changes --- */

static void rename_and_remove_change_trees(void **state)
{
	struct live_stream *s;
	struct live live;
	struct stat st;

	files_begin(&live, state, (struct live_options){ 0 });
	(void)live_check(live_write_file(&live, "a/b/c/f", VIEW("f")));
	assert_int_equal(lstat(files_at(&live, "a/b/c"), &st), 0);
	assert_int_equal(st.st_mode, S_IFDIR | 0755);
	files_mkdir(&live, "d");
	files_put(&live, "g", VIEW("g"));
	s = LIVE_QUERY(&live, .type = WIRE_RENAME,
	               .rename = { .from = VIEW("a/b"), .to = VIEW("d/e") });
	(void)live_check(s);
	files_check(&live, "d/e/c/f", "f");
	s = LIVE_QUERY(&live, .type = WIRE_RENAME,
	               .rename = { .flags = WIRE_RENAME_REPLACE,
	                           .from = VIEW("g"),
	                           .to = VIEW("d/e/c/f") });
	(void)live_check(s);
	files_check(&live, "d/e/c/f", "g");
	assert_int_equal(symlink("/", files_at(&live, "d/root")), 0);
	s = LIVE_QUERY(&live, .type = WIRE_REMOVE,
	               .remove = { .flags = WIRE_RECURSIVE, .path = VIEW("d") });
	assert_int_equal(live_check(s)->done.count, 5);
	s = LIVE_QUERY(&live, .type = WIRE_REMOVE, .remove.path = VIEW("a"));
	assert_int_equal(live_check(s)->done.count, 1);
	assert_int_equal(files_count(live.made), 0);
	live_stop(&live);
}

/* --- many, and slow readers --- */

static void agent_performs_64_operations_at_once(void **state)
{
	enum { COUNT = 64, SIZE = 300 * 1000 };
	struct live_stream *streams[COUNT];
	AUTO_FREE char *noise = files_noise(SIZE);
	struct live live;
	char name[32];

	files_begin(&live, state, (struct live_options){ 0 });
	for (unsigned i = 0; i < COUNT; i++) {
		(void)snprintf(name, sizeof name, "f%u", i);
		streams[i] = files_open_write(&live, name, WIRE_WRITE_CREATE, SIZE);
		streams[i]->hashes = true;
		live_feed(streams[i], (struct view){ noise + i, SIZE / 2 }, SIZE - i);
	}
	for (unsigned i = 0; i < COUNT; i++)
		live_end_input(streams[i]);
	for (unsigned i = 0; i < COUNT; i++)
		assert_int_equal(live_check(streams[i])->done.total, SIZE - i);
	for (unsigned i = 0; i < COUNT; i++) {
		uint64_t hash = streams[i]->sent_hash;

		(void)snprintf(name, sizeof name, "f%u", i);
		streams[i] = files_open_read(&live, name);
		streams[i]->hashes = true;
		streams[i]->sent_hash = hash;
	}
	for (unsigned i = 0; i < COUNT; i++)
		assert_true(live_check(streams[i])->hash[WIRE_OUT] == streams[i]->sent_hash);
	assert_int_equal(files_count(live.made), COUNT);
	live_wait_no_descendants(&live, LIVE_MS);
	live_stop(&live);
}

/* Records use credit like bytes. */
static void slow_reader_of_a_list_gets_all_entries(void **state)
{
	struct wire_entry entry;
	struct live_stream *s, *other;
	struct live live;
	size_t seen = 0;

	files_begin(&live, state, (struct live_options){ 0 });
	make_names(&live, "many");
	make_names(&live, "many/more");
	s = live_open(&live, &(struct wire_message){ .type = WIRE_TREE,
	                                             .tree = { .flags = WIRE_WALK_HIDDEN,
	                                                       .depth = 9,
	                                                       .limit = 10000,
	                                                       .path = VIEW("many") } });
	s->holds_back = true;
	LIVE_UNTIL(&live, s->records.len > 0, LIVE_MS);
	live_run_ms(&live, 200);
	assert_false(s->is_over);
	assert_in_range(s->records.len, 1, WIRE_WINDOW);
	other = LIVE_QUERY(&live, .type = WIRE_STAT, .stat.path = VIEW("many"));
	(void)live_check(other);
	while (!s->is_over) {
		channel_consumed(s->stream, WIRE_OUT, s->records.len - seen);
		seen = s->records.len;
		LIVE_UNTIL(&live, s->is_over || s->records.len != seen, LIVE_MS);
	}
	assert_int_equal(live_check(s)->done.count, 2 * NAMES + 1);
	assert_true(live_entry(s, 2 * NAMES, &entry) && !live_entry(s, 2 * NAMES + 1, &entry));
	live_stop(&live);
}

int main(void)
{
	const struct CMUnitTest all[] = {
		TWICE(stat_describes_every_kind_of_file),
		TWICE(list_returns_each_name_once_over_all_pages),
		TWICE(find_and_grep_search_below_a_directory),
		TWICE(rename_and_remove_change_trees),
		TWICE(agent_performs_64_operations_at_once),
		TWICE(slow_reader_of_a_list_gets_all_entries),
	};

	return RUN_TESTS("live names", all);
}
