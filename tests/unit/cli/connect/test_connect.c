#include <limits.h>
#include <sys/wait.h>

#include "cli/connect/clients.h"
#include "cli/connect/entry.h"
#include "unit/cli/cli.h"

/* The path the program under test finds for itself: this test program's. */
static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	assert_true(len > 0);
	path[len] = '\0';
	return path;
}

static void the_clients_and_their_files_are_listed(void **state)
{
	const struct ran *ran = RUN("connect");
	const struct client *client;
	char path[128];

	(void)state;
	assert_int_equal(ran->status, 0);
	for (size_t i = 0; (client = client_at(i)) != NULL; i++) {
		char *file = client_path(client);

		CHECK_HAS(ran->out, client->name);
		CHECK_HAS(ran->out, file);
		free(file);
	}
	(void)snprintf(path, sizeof path, "%s/.claude.json\n", place_path);
	CHECK_HAS(ran->out, path);
	place_write(".claude.json", "{}");
	(void)snprintf(path, sizeof path, "%s/.claude.json  (exists)\n", place_path);
	CHECK_HAS(RUN("connect")->out, path);
}

static void the_files_are_where_the_clients_look(void **state)
{
	static const struct {
		const char *client, *want;
	} cases[] = {
		{ "claude-code", "/h/.claude.json" },
		{ "claude-desktop", "/x/Claude/claude_desktop_config.json" },
		{ "cursor", "/h/.cursor/mcp.json" },
		{ "vscode", "/x/Code/User/mcp.json" },
		{ "gemini", "/h/.gemini/settings.json" },
		{ "codex", "/h/.codex/config.toml" },
		{ "windsurf", "/h/.codeium/windsurf/mcp_config.json" },
		{ "zed", "/x/zed/settings.json" },
	};

	(void)state;
	(void)unsetenv("CODEX_HOME");
	(void)unsetenv("CLAUDE_CONFIG_DIR");
	assert_int_equal(setenv("HOME", "/h", 1) | setenv("XDG_CONFIG_HOME", "/x", 1), 0);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *path = client_path(client_find(cases[i].client));

		assert_string_equal(path, cases[i].want);
		free(path);
	}
	assert_int_equal(setenv("HOME", "relative", 1), 0);
	assert_null(client_path(client_find("cursor")));
}

static void the_entry_is_explained(void **state)
{
	const struct ran *ran = RUN("connect", "codex", "--name", "box");
	/* How it is quoted depends on where the tests were built; the next test is about that. */
	struct entry entry = { client_find("codex"), "box", own_path() };
	char *command = entry_command(&entry);
	char want[2 * PATH_MAX + 256];

	(void)state;
	(void)snprintf(want, sizeof want,
	               "For Codex, add this to %s/.codex/config.toml:\n\n"
	               "[mcp_servers.box]\ncommand = \"%s\"\nargs = [\"serve\"]\n\n"
	               "Or let the client do it:\n\n  %s\n\n"
	               "'belljar connect codex --write' edits the file for you.\n"
	               "Then: Start Codex again; /mcp shows the server.\n",
	               place_path, own_path(), command);
	free(command);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	assert_int_equal(access(".codex", F_OK), -1);
}

static void commands_are_quoted_for_the_shell(void **state)
{
	static const struct {
		const char *client, *program, *want;
	} cases[] = {
		{ "claude-code", "/b", "claude mcp add --scope user n -- /b serve" },
		{ "claude-code", "/a b'c", "claude mcp add --scope user n -- '/a b'\\''c' serve" },
		{ "gemini", "/$x", "gemini mcp add -s user n '/$x' serve" },
		{ "vscode", "/b",
		  "code --add-mcp '{\"name\":\"n\",\"type\":\"stdio\",\"command\":\"/b\",\"args\":["
		  "\"serve\"]}'" },
		{ "cursor", "/b",
		  "cursor://anysphere.cursor-deeplink/mcp/install?name=n&config="
		  "eyJjb21tYW5kIjoiL2IiLCJhcmdzIjpbInNlcnZlIl19" },
		{ "cursor", "/b>>?",
		  "cursor://anysphere.cursor-deeplink/mcp/install?name=n&config="
		  "eyJjb21tYW5kIjoiL2I%2BPj8iLCJhcmdzIjpbInNlcnZlIl19" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct entry entry = { client_find(cases[i].client), "n", cases[i].program };
		char *command = entry_command(&entry);

		assert_string_equal(command, cases[i].want);
		free(command);
	}
	assert_null(entry_command(&(struct entry){ client_find("zed"), "n", "/b" }));
}

static void a_file_is_written_once_and_then_left_alone(void **state)
{
	const struct ran *ran = RUN("connect", "cursor", "--write");
	char want[256];
	struct stat first, second;

	(void)state;
	(void)snprintf(want, sizeof want,
	               "Added 'belljar' in %s/.cursor/mcp.json.\n"
	               "Then: Switch the server on in Cursor's settings, under MCP.\n",
	               place_path);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	CHECK_HAS(place_read(".cursor/mcp.json"), own_path());
	assert_int_equal(stat(".cursor/mcp.json", &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);

	ran = RUN("connect", "cursor", "--write");
	(void)snprintf(want, sizeof want,
	               "%s/.cursor/mcp.json has this entry already: nothing to do.\n", place_path);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	assert_int_equal(stat(".cursor/mcp.json", &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	assert_int_equal(access(".cursor/mcp.json.belljar-backup", F_OK), -1);
}

static void another_entry_is_replaced_and_said_so(void **state)
{
	static const char old[] =
	        "{\"z\":0.10,\"mcpServers\":{\"belljar\":{\"url\":\"u\"}},\"a\":1}";
	const struct ran *ran;

	(void)state;
	place_write("f", old);
	ran = RUN("connect", "windsurf", "--write", "--file", "f");
	assert_string_equal(ran->out,
	                    "Replaced 'belljar' in f.\nThe file as it was: f.belljar-backup\n"
	                    "Then: Refresh the list of MCP servers in Windsurf's settings.\n");
	assert_int_equal(ran->status, 0);
	assert_string_equal(place_read("f.belljar-backup"), old);
	assert_memory_equal(place_read("f"),
	                    "{\"z\":0.10,\"mcpServers\":{\"belljar\":{\"command\": \"", 46);
}

static void a_file_that_cannot_be_edited_is_left_alone_and_explained(void **state)
{
	static const struct {
		const char *client, *text, *why;
	} cases[] = {
		{ "zed", "// Zed settings\n{}}\n",
		  "belljar: 'f' was not changed: not JSON: end of file expected near '}' at byte "
		  "19\n" },
		{ "vscode", "[]",
		  "belljar: 'f' was not changed: expected a JSON object, got an array\n" },
		{ "codex", "mcp_servers = {}\n",
		  "belljar: 'f' was not changed: line 1 defines mcp_servers in another form than "
		  "[mcp_servers.x]\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ran *ran;

		place_write("f", cases[i].text);
		ran = RUN("connect", cases[i].client, "--write", "--file=f");
		assert_int_equal(ran->status, 1);
		assert_string_equal(ran->err, cases[i].why);
		CHECK_HAS(ran->out, "add this to f:\n\n");
		CHECK_HAS(ran->out, "belljar");
		assert_string_equal(place_read("f"), cases[i].text);
		assert_int_equal(access("f.belljar-backup", F_OK), -1);
	}
}

enum { RUNS = 20 };

static void run_as(int i)
{
	char name[16];

	(void)snprintf(name, sizeof name, "s%d", i);
	_exit(RUN("connect", "cursor", "--write", "--file", "f", "--name", name)->status);
}

static void many_at_the_same_time_lose_nothing(void **state)
{
	AUTO_JSON json_t *root = NULL;
	const json_t *servers;

	(void)state;
	place_write("f", "{\"mcpServers\": {\"other\": {}}}\n");
	for (int i = 0; i < RUNS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			run_as(i);
	}
	for (int i = 0; i < RUNS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	root = json_loads(place_read("f"), JSON_REJECT_DUPLICATES, NULL);
	servers = json_object_get(root, "mcpServers");
	assert_int_equal(json_object_size(servers), RUNS + 1);
	assert_int_equal(access("f.belljar-backup-20", F_OK), 0);
}

static void many_make_the_same_new_file(void **state)
{
	(void)state;
	for (int i = 0; i < RUNS; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid == 0)
			_exit(RUN("connect", "codex", "--write", "--file", "a/b/f")->status);
	}
	for (int i = 0; i < RUNS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	assert_memory_equal(place_read("a/b/f"), "[mcp_servers.belljar]\ncommand = ", 32);
	assert_int_equal(access("a/b/f.belljar-backup", F_OK), -1);
}

static void a_variable_left_behind_writes_nothing(void **state)
{
	const struct ran *ran;

	(void)state;
	assert_int_equal(setenv("BELLJAR_WRITE", "1", 1), 0);
	ran = RUN("connect", "cursor");
	assert_int_equal(unsetenv("BELLJAR_WRITE"), 0);
	assert_int_equal(ran->status, 2);
	assert_int_equal(access(".cursor", F_OK), -1);
}

static void without_a_home_the_file_must_be_named(void **state)
{
	const struct ran *ran;

	(void)state;
	assert_int_equal(unsetenv("HOME"), 0);
	ran = RUN("connect", "cursor", "--write");
	assert_int_equal(ran->status, 1);
	assert_string_equal(ran->err, "belljar: HOME is not set; name the file with --file\n");
	assert_int_equal(RUN("connect", "cursor", "--write", "--file", "f")->status, 0);
	CHECK_HAS(RUN("connect", "cursor")->out, "For Cursor, add this to its file:");
	CHECK_HAS(RUN("connect")->out, "(HOME is not set)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLACED(the_clients_and_their_files_are_listed),
		PLACED(the_files_are_where_the_clients_look),
		PLACED(the_entry_is_explained),
		PLACED(commands_are_quoted_for_the_shell),
		PLACED(a_file_is_written_once_and_then_left_alone),
		PLACED(another_entry_is_replaced_and_said_so),
		PLACED(a_file_that_cannot_be_edited_is_left_alone_and_explained),
		PLACED(many_at_the_same_time_lose_nothing),
		PLACED(many_make_the_same_new_file),
		PLACED(a_variable_left_behind_writes_nothing),
		PLACED(without_a_home_the_file_must_be_named),
	};

	return RUN_TESTS("cli/connect", tests);
}
