#include "base/buf.h"
#include "cli/connect/clients.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"
#include "unit/test.h"

#define OURS "[mcp_servers.belljar]\ncommand = \"/b\"\nargs = [\"serve\"]\n"

enum { ROOM = 64 * 1024 };

static struct error err;

static enum edit_result edit(const char *program, struct view text, struct buf *ret)
{
	struct entry entry = { client_find("codex"), "belljar", program };

	buf_init(ret, ROOM);
	return edit_toml(text, &entry, ret, &err);
}

static void our_table_is_appended(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "", OURS },
		{ " \n\n", OURS },
		{ "a = 1\n", "a = 1\n\n" OURS },
		{ "a = 1", "a = 1\n\n" OURS },
		{ "a = 1\r\n", "a = 1\r\n\r\n[mcp_servers.belljar]\r\ncommand = \"/b\"\r\n"
		               "args = [\"serve\"]\r\n" },
		{ "[mcp_servers.other]\ncommand = \"x\"\n",
		  "[mcp_servers.other]\ncommand = \"x\"\n\n" OURS },
		{ "[mcp_servers]\nother = { command = \"x\" }\n",
		  "[mcp_servers]\nother = { command = \"x\" }\n\n" OURS },
		{ "[mcp_servers.belljar.env]\nA = \"1\"\n",
		  "[mcp_servers.belljar.env]\nA = \"1\"\n\n" OURS },
		/* what only looks like one of our lines */
		{ "[other]\nmcp_servers = 1\nbelljar = 2\n",
		  "[other]\nmcp_servers = 1\nbelljar = 2\n\n" OURS },
		{ "# [mcp_servers.belljar]\na = \"[mcp_servers.belljar]\"\n",
		  "# [mcp_servers.belljar]\na = \"[mcp_servers.belljar]\"\n\n" OURS },
		{ "a = [\n  [1],\n[2], # ]]]\n  \"]\", '[',\n]\n[[t]]\nb = 1\n",
		  "a = [\n  [1],\n[2], # ]]]\n  \"]\", '[',\n]\n[[t]]\nb = 1\n\n" OURS },
		{ "\"a b\".'c' = \"\\\"\" # x\n", "\"a b\".'c' = \"\\\"\" # x\n\n" OURS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		enum edit_result result = edit("/b", view_of(cases[i].text), &got);

		if (result != EDIT_ADDED)
			fail_msg("case %zu: %d, %s", i, (int)result, err.msg);
		assert_string_equal(buf_text(&got), cases[i].want);
	}
}

static void our_table_is_replaced_and_nothing_else(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[mcp_servers.belljar]\n", OURS },
		{ "[mcp_servers.belljar]", OURS },
		{ "a = 1\n[mcp_servers.belljar]\nurl = \"u\"\n# about b\n\n[b]\nc = 1\n",
		  "a = 1\n" OURS "# about b\n\n[b]\nc = 1\n" },
		{ "[mcp_servers.belljar]\ncommand = \"old\"\nargs = [\n  \"x\",\n]\n\n"
		  "[mcp_servers.belljar.env]\nA = \"1\"\n",
		  OURS "\n[mcp_servers.belljar.env]\nA = \"1\"\n" },
		/* the user's own keys and remarks */
		{ "[ \"mcp_servers\" . 'belljar' ] # ours\ncommand=\"old\" # c\n",
		  "[ \"mcp_servers\" . 'belljar' ] # ours\nargs = [\"serve\"]\n"
		  "command=\"/b\" # c\n" },
		{ "[mcp_servers.belljar]\n# mine\nargs = [ # a\n  \"x\", # x\n] # z\n"
		  "startup_timeout_sec = 5\nenv.A = \"1\"\n  \"command\" =  'old'\nx = 1\n",
		  "[mcp_servers.belljar]\n# mine\nargs = [\"serve\"] # z\n"
		  "startup_timeout_sec = 5\nenv.A = \"1\"\n  \"command\" =  \"/b\"\nx = 1\n" },
		{ "[mcp_servers.belljar]\r\nenabled = false\r\n",
		  "[mcp_servers.belljar]\r\ncommand = \"/b\"\r\nargs = [\"serve\"]\r\n"
		  "enabled = false\r\n" },
		{ "[mcp_servers.belljar]\ncommand =\nargs =",
		  "[mcp_servers.belljar]\n"
		  "command =\"/b\"\nargs =[\"serve\"]" },
		/* for a server at an address: nothing about it is true of ours */
		{ OURS "url = \"u\"\nstartup_timeout_sec = 5\n[b]\n", OURS "[b]\n" },
		{ "[mcp_servers.belljar]\ncommand = \"/b\"\nargs = [\"other\"]\n", OURS },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		AUTO_BUF struct buf again;
		enum edit_result result = edit("/b", view_of(cases[i].text), &got);

		if (result != EDIT_REPLACED)
			fail_msg("case %zu: %d, %s", i, (int)result, err.msg);
		assert_string_equal(buf_text(&got), cases[i].want);
		assert_int_equal(edit("/b", buf_view(&got), &again), EDIT_NOTHING);
	}
}

static void a_table_that_is_there_needs_nothing(void **state)
{
	static const char *const texts[] = {
		OURS,
		"a = 1\n" OURS "startup_timeout_sec = 5\n\n[b]\n",
		"[mcp_servers.belljar]\r\n  args = [\"serve\"]\r\n  command = \"/b\"\r\n",
		"\xef\xbb\xbf" OURS,
		"[mcp_servers.belljar]\nargs=[\"serve\"]# a\nx = 1\ncommand=\"/b\" # c\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("/b", view_of(texts[i]), &got), EDIT_NOTHING);
		assert_int_equal(got.len, 0);
	}
}

static void paths_are_escaped(void **state)
{
	static const char program[] = "/a b/\"q\"/\\/\x01\x7f\xc3\xa9";
	AUTO_BUF struct buf first;
	AUTO_BUF struct buf second;

	(void)state;
	assert_int_equal(edit(program, VIEW(""), &first), EDIT_ADDED);
	assert_string_equal(buf_text(&first),
	                    "[mcp_servers.belljar]\n"
	                    "command = \"/a b/\\\"q\\\"/\\\\/\\u0001\\u007F\xc3\xa9\"\n"
	                    "args = [\"serve\"]\n");
	assert_int_equal(edit(program, buf_view(&first), &second), EDIT_NOTHING);
}

static void what_cannot_be_edited_safely_is_refused(void **state)
{
	static const struct {
		struct view text;
		const char *why;
	} cases[] = {
		{ VIEW_INIT("a = \"\"\"\nx\n\"\"\"\n"), "it has multi-line strings" },
		{ VIEW_INIT("a = '''x'''\n"), "it has multi-line strings" },
		{ VIEW_INIT("a = \"\xff\"\n"), "not UTF-8 text" },
		{ VIEW_INIT("a = 1\0\n"), "not UTF-8 text" },
		{ VIEW_INIT("x = 1\nmcp_servers = {}\n"),
		  "line 2 defines mcp_servers in another form than [mcp_servers.x]" },
		{ VIEW_INIT("mcp_servers.belljar.command = \"x\"\n"),
		  "line 1 defines mcp_servers in another form than [mcp_servers.x]" },
		{ VIEW_INIT("\"mcp_servers\".x = 1\n"),
		  "line 1 defines mcp_servers in another form than [mcp_servers.x]" },
		{ VIEW_INIT("[mcp_servers]\nbelljar = { command = \"x\" }\n"),
		  "line 2 defines our entry inside [mcp_servers]" },
		{ VIEW_INIT("[mcp_servers]\nbelljar.command = \"x\"\n"),
		  "line 2 defines our entry inside [mcp_servers]" },
		{ VIEW_INIT("[[mcp_servers]]\n"), "line 1 makes mcp_servers an array" },
		{ VIEW_INIT("[[mcp_servers.belljar]]\n"), "line 1 makes mcp_servers an array" },
		{ VIEW_INIT(OURS OURS), "line 4 defines our table a second time" },
		{ VIEW_INIT(OURS "args = []\n"), "line 4 sets our command or args a second time" },
		{ VIEW_INIT("[mcp_servers.belljar]\ncommand.x = 1\n"),
		  "line 2 makes our command or args a table" },
		{ VIEW_INIT(OURS "[mcp_servers.belljar.args.x]\n"),
		  "line 4 makes our command or args a table" },
		{ VIEW_INIT("[a] b = 1\n"), "line 1 is not a table header we can read" },
		{ VIEW_INIT("[a\n"), "line 1 is not a table header we can read" },
		{ VIEW_INIT("[]\n"), "line 1 is not a table header we can read" },
		{ VIEW_INIT("[\"a\\u0062\"]\n"), "line 1 is not a table header we can read" },
		{ VIEW_INIT("[\"a]\n"), "line 1 is not a table header we can read" },
		{ VIEW_INIT("hello\n"), "line 1 is neither a table header nor 'key = value'" },
		{ VIEW_INIT("= 1\n"), "line 1 is neither a table header nor 'key = value'" },
		{ VIEW_INIT("{\"json\": 1}\n"),
		  "line 1 is neither a table header nor 'key = value'" },
		{ VIEW_INIT("a = \"x\n"), "line 1 has a string that does not end" },
		{ VIEW_INIT("a = \"x\\\"\n"), "line 1 has a string that does not end" },
		{ VIEW_INIT("a = [\n'x\n]\n"), "line 2 has a string that does not end" },
		{ VIEW_INIT("a = [\n"), "the last value does not end" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("/b", cases[i].text, &got), EDIT_FAILED);
		assert_string_equal(err.msg, cases[i].why);
		assert_int_equal(got.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(our_table_is_appended),
		TEST(our_table_is_replaced_and_nothing_else),
		TEST(a_table_that_is_there_needs_nothing),
		TEST(paths_are_escaped),
		TEST(what_cannot_be_edited_safely_is_refused),
	};

	return RUN_TESTS("cli/edit_toml", tests);
}
