#include "base/buf.h"
#include "cli/connect/clients.h"
#include "cli/connect/edit.h"
#include "cli/connect/entry.h"
#include "unit/test.h"

enum { ROOM = 64 * 1024 };

static struct error err;

static enum edit_result edit(const char *client, const char *program, const char *text,
                             struct buf *ret)
{
	struct entry entry = { client_find(client), "belljar", program, NULL, NULL, NULL };

	json_t *kept;
	enum edit_result result;

	buf_init(ret, ROOM);
	result = edit_json(view_of(text), &entry, ret, &kept, &err);
	json_decref(kept);
	return result;
}

static void edit_json_adds_an_entry_in_the_style_of_the_file(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		/* nothing there yet */
		{ "", "{\n  \"mcpServers\": {\n    \"belljar\": {\n      \"command\": \"/b\",\n"
		      "      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n" },
		{ " \n\t\r\n",
		  "{\n  \"mcpServers\": {\n    \"belljar\": {\n      \"command\": \"/b\",\n"
		  "      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n" },
		{ "{}", "{\n  \"mcpServers\": {\n    \"belljar\": {\n      \"command\": \"/b\",\n"
		        "      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}" },
		/* other keys, with numbers no writer would repeat */
		{ "{\n\t\"z\": 0.10,\n\t\"a\": 1e2\n}\n",
		  "{\n\t\"z\": 0.10,\n\t\"a\": 1e2,\n\t\"mcpServers\": {\n\t\t\"belljar\": {\n"
		  "\t\t\t\"command\": \"/b\",\n\t\t\t\"args\": [\n\t\t\t\t\"serve\"\n\t\t\t]\n"
		  "\t\t}\n\t}\n}\n" },
		/* other servers */
		{ "{\n    \"mcpServers\": {\n        \"x\": {}\n    },\n    \"b\": \"\\u00e9\"\n}",
		  "{\n    \"mcpServers\": {\n        \"x\": {},\n        \"belljar\": {\n"
		  "            \"command\": \"/b\",\n            \"args\": [\n"
		  "                \"serve\"\n            ]\n        }\n    },\n"
		  "    \"b\": \"\\u00e9\"\n}" },
		/* no servers yet, but a place for them */
		{ "{\n  \"mcpServers\": { },\n  \"b\": 1\n}",
		  "{\n  \"mcpServers\": {\n    \"belljar\": {\n      \"command\": \"/b\",\n"
		  "      \"args\": [\n        \"serve\"\n      ]\n    }\n  },\n  \"b\": 1\n}" },
		/* all on one line */
		{ "{\"a\":1}",
		  "{\"a\":1,\"mcpServers\": {\"belljar\": {\"command\": \"/b\", \"args\": "
		  "[\"serve\"]}}}" },
		{ "{ \"mcpServers\": {\"x\":{}} }",
		  "{ \"mcpServers\": {\"x\":{},\"belljar\": {\"command\": \"/b\", \"args\": "
		  "[\"serve\"]}} }" },
		{ "{\"mcpServers\":{}}",
		  "{\"mcpServers\":{\"belljar\": {\"command\": \"/b\", \"args\": [\"serve\"]}}}" },
		/* on one line inside a file that is not */
		{ "{\n  \"mcpServers\": {\"x\": {}}\n}",
		  "{\n  \"mcpServers\": {\"x\": {},\"belljar\": {\"command\": \"/b\", \"args\": "
		  "[\"serve\"]}}\n}" },
		/* other line ends */
		{ "{\r\n  \"a\": 1\r\n}\r\n",
		  "{\r\n  \"a\": 1,\r\n  \"mcpServers\": {\r\n    \"belljar\": {\r\n"
		  "      \"command\": \"/b\",\r\n      \"args\": [\r\n        \"serve\"\r\n"
		  "      ]\r\n    }\r\n  }\r\n}\r\n" },
		/* braces and keys inside strings */
		{ "{\"a\": \"}\\\"{\", \"b\": [{\"mcpServers\": {}}, \"]\"]}",
		  "{\"a\": \"}\\\"{\", \"b\": [{\"mcpServers\": {}}, \"]\"],\"mcpServers\": "
		  "{\"belljar\": {\"command\": \"/b\", \"args\": [\"serve\"]}}}" },
		/* a key written with escapes */
		{ "{\"mcpS\\u0065rvers\":{}}",
		  "{\"mcpS\\u0065rvers\":{\"belljar\": {\"command\": \"/b\", \"args\": "
		  "[\"serve\"]}}}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("cursor", "/b", cases[i].text, &got), EDIT_ADDED);
		assert_string_equal(buf_text(&got), cases[i].want);
	}
}

#define ENTRY "\"belljar\": {\"command\": \"/b\", \"args\": [\"serve\"]}"
#define LINES                                                                                      \
	"    \"belljar\": {\n      \"command\": \"/b\",\n      \"args\": [\n        \"serve\"\n"   \
	"      ]\n    }"

static void edit_json_keeps_comments_and_trailing_commas(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		/* nothing but comments */
		{ "// Zed\n", "// Zed\n{\n  \"mcpServers\": {\n" LINES "\n  }\n}\n" },
		{ "/* x */", "/* x */\n{\n  \"mcpServers\": {\n" LINES "\n  }\n}\n" },
		{ "\xef\xbb\xbf", "\xef\xbb\xbf\n{\n  \"mcpServers\": {\n" LINES "\n  }\n}\n" },
		/* around the object and inside an empty one */
		{ "\xef\xbb\xbf{}", "\xef\xbb\xbf{\n  \"mcpServers\": {\n" LINES "\n  }\n}" },
		{ "// a\n{} // b", "// a\n{\n  \"mcpServers\": {\n" LINES "\n  }\n} // b" },
		{ "{\n  // none\n}\n", "{\n  // none\n  \"mcpServers\": {\n" LINES "\n  }\n}\n" },
		{ "{\"mcpServers\":{// none\n}}",
		  "{\"mcpServers\":{// none\n\"belljar\": {\n\"command\": \"/b\",\n\"args\": "
		  "[\n\"serve\"\n]\n}\n}}" },
		{ "{\"mcpServers\":{/* } */ }}", "{\"mcpServers\":{/* } */" ENTRY "}}" },
		/* the remark about the last member stays with it */
		{ "{\n  \"mcpServers\": {\n    \"x\": {} // the \"x\", {\n    /* end */\n  }\n}\n",
		  "{\n  \"mcpServers\": {\n    \"x\": {}, // the \"x\", {\n    /* end */\n" LINES
		  "\n  }\n}\n" },
		{ "{\n  \"mcpServers\": {\n    \"x\": {}, // the x\n  },\n}\n",
		  "{\n  \"mcpServers\": {\n    \"x\": {}, // the x\n" LINES ",\n  },\n}\n" },
		{ "{\n  \"mcpServers\": {\n    \"x\": {} /* , */ , /* , */\n  }\n}\n",
		  "{\n  \"mcpServers\": {\n    \"x\": {} /* , */ , /* , */\n" LINES ",\n  }\n}\n" },
		/* the indentation is the line's, not the comment's */
		{ "{\n  \"mcpServers\": {\n    /* first\n */ \"x\": {}\n  }\n}\n",
		  "{\n  \"mcpServers\": {\n    /* first\n */ \"x\": {},\n" LINES "\n  }\n}\n" },
		/* on one line */
		{ "{\"mcpServers\":{\"x\":1,},}", "{\"mcpServers\":{\"x\":1," ENTRY ",},}" },
		{ "{\"mcpServers\":{\"x\":[1,] // x\n}}",
		  "{\"mcpServers\":{\"x\":[1,], // x\n" ENTRY "\n}}" },
		{ "{\"mcpServers\":{ /*a*/ \"x\":1 /* x */ }}",
		  "{\"mcpServers\":{ /*a*/ \"x\":1, /* x */ " ENTRY " }}" },
		/* what looks like a comment in a string */
		{ "{\"mcpServers\":{\"//\":\"/*\\\"//,}\"}}",
		  "{\"mcpServers\":{\"//\":\"/*\\\"//,}\"," ENTRY "}}" },
		/* other line ends */
		{ "{\r\n  \"mcpServers\": {\"x\": 1} // x\r\n}\r\n",
		  "{\r\n  \"mcpServers\": {\"x\": 1," ENTRY "} // x\r\n}\r\n" },
		{ "{\"mcpServers\": {\"x\": 1 // x\r\n}}",
		  "{\"mcpServers\": {\"x\": 1, // x\r\n" ENTRY "\r\n}}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		AUTO_BUF struct buf again;
		enum edit_result result = edit("cursor", "/b", cases[i].text, &got);

		if (result != EDIT_ADDED)
			fail_msg("case %zu: %d, %s", i, (int)result, err.msg);
		assert_string_equal(buf_text(&got), cases[i].want);
		assert_int_equal(edit("cursor", "/b", buf_text(&got), &again), EDIT_NOTHING);
	}
}

static void edit_json_keeps_members_the_user_added(void **state)
{
	static const struct {
		const char *client, *text, *want;
	} cases[] = {
		{ "cursor",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"old\",\"args\":[\"x\"],"
		  "\"env\":{\"A\":\"1\"},\"timeout\":0.50}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\"],"
		  "\"env\":{\"A\":\"1\"},\"timeout\":0.50}}}" },
		/* only what differs, only what is missing */
		{ "cursor", "{\"mcpServers\":{\"belljar\":{\"args\":[ \"serve\" ],\"x\":1,}}}",
		  "{\"mcpServers\":{\"belljar\":{\"args\":[ \"serve\" ],\"x\":1,\"command\": "
		  "\"/b\",}}}" },
		{ "vscode",
		  "{\n  \"servers\": {\n    \"belljar\": {\n      \"type\": \"sse\", // t\n"
		  "      \"env\": {} // mine\n    }\n  }\n}\n",
		  "{\n  \"servers\": {\n    \"belljar\": {\n      \"type\": \"stdio\", // t\n"
		  "      \"env\": {}, // mine\n      \"command\": \"/b\",\n      \"args\": [\n"
		  "        \"serve\"\n      ]\n    }\n  }\n}\n" },
		{ "cursor", "{\"mcpServers\":{\"belljar\":{}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\": \"/b\",\"args\": [\"serve\"]}}}" },
		/* a type where the client needs none, but would believe it */
		{ "cursor",
		  "{\"mcpServers\":{\"belljar\":{\"type\":\"sse\",\"command\":\"/b\","
		  "\"args\":[\"serve\"]}}}",
		  "{\"mcpServers\":{\"belljar\":{\"type\":\"stdio\",\"command\":\"/b\","
		  "\"args\":[\"serve\"]}}}" },
		/* options of `belljar serve`, in the form they have */
		{ "cursor",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"old\",\"args\":[\"serve\", "
		  "\"--memory\",\"1G\" /* m */]}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\", "
		  "\"--memory\",\"1G\" /* m */]}}}" },
		/* arguments of another program, and arguments that are no texts */
		{ "cursor",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"docker\",\"args\":[\"run\","
		  "\"serve\"]}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\"]}}}" },
		{ "cursor",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\",5]}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\"]}}}" },
		/* Zed's older form of the same */
		{ "zed",
		  "{\"context_servers\":{\"belljar\":{\"command\":{\"path\":\"p\"},"
		  "\"settings\":{}}}}",
		  "{\"context_servers\":{\"belljar\":{\"command\":\"/b\",\"settings\":{},"
		  "\"args\": [\"serve\"]}}}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;
		AUTO_BUF struct buf again;
		enum edit_result result = edit(cases[i].client, "/b", cases[i].text, &got);

		if (result != EDIT_REPLACED)
			fail_msg("case %zu: %d, %s", i, (int)result, err.msg);
		assert_string_equal(buf_text(&got), cases[i].want);
		assert_int_equal(edit(cases[i].client, "/b", buf_text(&got), &again), EDIT_NOTHING);
	}
}

static void edit_json_replaces_an_entry_of_the_same_name(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "{\"mcpServers\":{\"belljar\":5,\"x\":1}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\": \"/b\", \"args\": [\"serve\"]},"
		  "\"x\":1}}" },
		/* a server at an address: nothing about it is true of ours */
		{ "{\"mcpServers\":{\"belljar\":{\"command\":\"/b\",\"args\":[\"serve\"],"
		  "\"httpUrl\":\"u\"}}}",
		  "{\"mcpServers\":{\"belljar\":{\"command\": \"/b\", \"args\": "
		  "[\"serve\"]}}}" },
		{ "{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"belljar\": {\"url\": \"u\"}\n  "
		  "}\n}\n",
		  "{\n  \"mcpServers\": {\n    \"a\": 1,\n    \"belljar\": {\n"
		  "      \"command\": \"/b\",\n      \"args\": [\n        \"serve\"\n      ]\n"
		  "    }\n  }\n}\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("cursor", "/b", cases[i].text, &got), EDIT_REPLACED);
		assert_string_equal(buf_text(&got), cases[i].want);
	}
}

static void edit_json_leaves_a_complete_entry_alone(void **state)
{
	static const char *const texts[] = {
		"{\"mcpServers\":{\"belljar\":{\"args\":[\"serve\"],\"command\":\"/b\"}}}",
		"{\"mcpServers\":{\"belljar\":{\"command\":\"\\u002fb\",\"args\":[\"serve\"],"
		"\"env\":{\"A\":\"1\"}}}}",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("cursor", "/b", texts[i], &got), EDIT_NOTHING);
		assert_int_equal(got.len, 0);
	}
}

static void second_edit_changes_nothing(void **state)
{
	static const char *const texts[] = { "", "{\"a\":1}", "{\n  \"servers\": {}\n}",
		                             "{\n  \"servers\": {\n    \"x\": 1\n  }\n}" };
	static const char program[] = "/a b/\"q\"\\/\xc3\xa9\x01/belljar";

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		AUTO_BUF struct buf first;
		AUTO_BUF struct buf second;

		assert_int_equal(edit("vscode", program, texts[i], &first), EDIT_ADDED);
		assert_int_equal(edit("vscode", program, buf_text(&first), &second), EDIT_NOTHING);
	}
}

static void edit_json_refuses_a_text_it_cannot_edit(void **state)
{
	static const struct {
		const char *text;
		enum error_kind kind;
		const char *why;
	} cases[] = {
		{ "{", ERR_SYNTAX, NULL },
		{ "{} {}", ERR_SYNTAX, "not JSON: end of file expected near '{' at byte 4" },
		{ "{\"a\":1} /", ERR_SYNTAX, "not JSON: end of file expected near '/' at byte 9" },
		{ "{\"a\":1} /*/", ERR_SYNTAX, "not JSON: a comment that does not end at byte 9" },
		{ "{ // a\rb\n}", ERR_SYNTAX,
		  "not JSON: a carriage return inside a comment at byte 7" },
		{ "/**/\xef\xbb\xbf{}", ERR_SYNTAX,
		  "not JSON: a byte order mark inside the text at byte 5" },
		{ "{\"a // \n}", ERR_SYNTAX, NULL },
		{ "{\"a\\", ERR_SYNTAX, NULL },
		/* commas that trail nothing */
		{ "{,}", ERR_SYNTAX, "not JSON: string or '}' expected near ',' at byte 2" },
		{ "{\"a\":[,]}", ERR_SYNTAX, NULL },
		{ "{\"a\":[1,,]}", ERR_SYNTAX, NULL },
		{ "{\"a\":,}", ERR_SYNTAX, NULL },
		{ "{\"a\":1},", ERR_SYNTAX, NULL },
		{ ",}", ERR_SYNTAX, NULL },
		/* JSON, but not to be edited */
		{ "{\"a\":1,\"a\":2}", ERR_INVALID, "duplicate object key near '\"a\"'" },
		{ "{\"a\":1e999}", ERR_INVALID, "real number overflow near '1e999'" },
		{ "{\"a\":12345678901234567890}", ERR_INVALID,
		  "too big integer near '12345678901234567890'" },
		{ "[]", ERR_INVALID, "expected a JSON object, got an array" },
		{ "\"x\"", ERR_INVALID, "expected a JSON object, got the string \"x\"" },
		{ "{\"mcpServers\":[]}", ERR_INVALID,
		  "mcpServers: expected an object, got an array" },
		{ "{\"mcpServers\":null}", ERR_INVALID,
		  "mcpServers: expected an object, got null" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit("cursor", "/b", cases[i].text, &got), EDIT_FAILED);
		if (cases[i].why != NULL)
			assert_string_equal(err.msg, cases[i].why);
		assert_int_equal(err.kind, cases[i].kind);
		assert_int_equal(got.len, 0);
	}
}

static void entry_has_the_form_of_its_client(void **state)
{
	static const struct {
		const char *client, *want;
	} cases[] = {
		{ "claude-code", "{\"a\":1,\"mcpServers\": {\"belljar\": {\"type\": \"stdio\", "
		                 "\"command\": \"/b\", \"args\": [\"serve\"]}}}" },
		{ "vscode", "{\"a\":1,\"servers\": {\"belljar\": {\"type\": \"stdio\", "
		            "\"command\": \"/b\", \"args\": [\"serve\"]}}}" },
		{ "zed", "{\"a\":1,\"context_servers\": {\"belljar\": {\"command\": \"/b\", "
		         "\"args\": [\"serve\"]}}}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		AUTO_BUF struct buf got;

		assert_int_equal(edit(cases[i].client, "/b", "{\"a\":1}", &got), EDIT_ADDED);
		assert_string_equal(buf_text(&got), cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(edit_json_adds_an_entry_in_the_style_of_the_file),
		TEST(edit_json_keeps_comments_and_trailing_commas),
		TEST(edit_json_keeps_members_the_user_added),
		TEST(edit_json_replaces_an_entry_of_the_same_name),
		TEST(edit_json_leaves_a_complete_entry_alone),
		TEST(second_edit_changes_nothing),
		TEST(edit_json_refuses_a_text_it_cannot_edit),
		TEST(entry_has_the_form_of_its_client),
	};

	return RUN_TESTS("cli/edit_json", tests);
}
