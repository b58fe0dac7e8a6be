#include <limits.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "cli/connect/clients.h"
#include "cli/connect/entry.h"
#include "unit/cli/cli.h"

/* The path of this test program, which `belljar connect` finds for itself here. */
static const char *own_path(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	assert_true(len > 0);
	path[len] = '\0';
	return path;
}

static void connect_lists_clients_and_their_files(void **state)
{
	const struct ran *ran = RUN("connect");
	const struct client *client;
	char path[128];

	assert_int_equal(ran->status, 0);
	for (size_t i = 0; (client = client_at(i)) != NULL; i++) {
		char *file = client_path(client);

		CHECK_HAS(ran->out, client->name);
		CHECK_HAS(ran->out, file);
		free(file);
	}
	(void)snprintf(path, sizeof path, "%s/.claude.json\n", scratch_path);
	CHECK_HAS(ran->out, path);
	scratch_write(".claude.json", "{}");
	(void)snprintf(path, sizeof path, "%s/.claude.json  (exists)\n", scratch_path);
	CHECK_HAS(RUN("connect")->out, path);
}

static void client_path_follows_the_environment(void **state)
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

static void connect_prints_the_entry(void **state)
{
	const struct ran *ran = RUN("connect", "zed", "--name", "box");
	struct entry entry = { client_find("zed"), "box", own_path(), NULL, NULL, NULL };
	char *snippet = entry_snippet(&entry);
	char want[2 * PATH_MAX + 256];

	(void)snprintf(want, sizeof want,
	               "For Zed, add this to %s/zed/settings.json:\n\n%s\n"
	               "'belljar connect zed --write' edits the file for you.\n"
	               "Then: Zed reads it at once; the agent panel's settings show the server.\n",
	               scratch_path, snippet);
	CHECK_HAS(snippet, "\"context_servers\"");
	CHECK_HAS(snippet, own_path());
	free(snippet);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	assert_int_equal(access("zed", F_OK), -1);
}

/* Codex's file is TOML, which only Codex itself edits. */
static void connect_names_the_command_of_a_client_without_json(void **state)
{
	struct entry entry = { client_find("codex"), "box", own_path(), NULL, NULL, NULL };
	char *command = entry_command(&entry);
	char want[2 * PATH_MAX + 256];
	const struct ran *ran;

	(void)snprintf(want, sizeof want,
	               "For Codex, run its own command:\n\n  %s\n\n"
	               "Then: Start Codex again; /mcp shows the server.\n",
	               command);
	ran = RUN("connect", "codex", "--name", "box");
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);

	(void)snprintf(want, sizeof want,
	               "belljar: connect: belljar does not edit Codex's file; run: %s\n", command);
	ran = RUN("connect", "codex", "--name", "box", "--write");
	assert_string_equal(ran->err, want);
	assert_string_equal(ran->out, "");
	assert_int_equal(ran->status, 1);
	assert_int_equal(access(".codex", F_OK), -1);
	free(command);
}

static void entry_command_quotes_for_the_shell(void **state)
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

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct entry entry = {
			client_find(cases[i].client), "n", cases[i].program, NULL, NULL, NULL
		};
		char *command = entry_command(&entry);

		assert_string_equal(command, cases[i].want);
		free(command);
	}
	assert_null(
	        entry_command(&(struct entry){ client_find("zed"), "n", "/b", NULL, NULL, NULL }));
}

static void connect_writes_a_file_once(void **state)
{
	const struct ran *ran = RUN("connect", "cursor", "--write");
	char want[256];
	struct stat first, second;

	(void)snprintf(want, sizeof want,
	               "Added 'belljar' in %s/.cursor/mcp.json.\n"
	               "Then: Switch the server on in Cursor's settings, under MCP.\n",
	               scratch_path);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	CHECK_HAS(scratch_read(".cursor/mcp.json"), own_path());
	assert_int_equal(stat(".cursor/mcp.json", &first), 0);
	assert_int_equal(first.st_mode & 0777, 0600);

	ran = RUN("connect", "cursor", "--write");
	(void)snprintf(want, sizeof want,
	               "%s/.cursor/mcp.json has this entry already; nothing was changed.\n",
	               scratch_path);
	assert_string_equal(ran->out, want);
	assert_int_equal(ran->status, 0);
	assert_int_equal(stat(".cursor/mcp.json", &second), 0);
	assert_int_equal(first.st_ino, second.st_ino);
	assert_int_equal(access(".cursor/mcp.json.belljar-backup", F_OK), -1);
}

static void connect_replaces_an_entry_for_a_url(void **state)
{
	static const char old[] =
	        "{\"z\":0.10,\"mcpServers\":{\"belljar\":{\"url\":\"u\"}},\"a\":1}";
	const struct ran *ran;

	scratch_write("f", old);
	ran = RUN("connect", "windsurf", "--write", "--file", "f");
	assert_string_equal(ran->out,
	                    "Replaced 'belljar' in f.\nThe file as it was: f.belljar-backup\n"
	                    "Then: Refresh the list of MCP servers in Windsurf's settings.\n");
	assert_int_equal(ran->status, 0);
	assert_string_equal(scratch_read("f.belljar-backup"), old);
	assert_memory_equal(scratch_read("f"),
	                    "{\"z\":0.10,\"mcpServers\":{\"belljar\":{\"command\": \"", 46);
}

static void connect_refuses_a_file_it_cannot_edit(void **state)
{
	static const struct {
		const char *client, *text, *why;
	} cases[] = {
		{ "zed", "// Zed settings\n{}}\n",
		  "belljar: 'f' was not changed: not JSON: end of file expected near '}' at byte "
		  "19\n" },
		{ "vscode", "[]",
		  "belljar: 'f' was not changed: expected a JSON object, got an array\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ran *ran;

		scratch_write("f", cases[i].text);
		ran = RUN("connect", cases[i].client, "--write", "--file=f");
		assert_int_equal(ran->status, 1);
		assert_string_equal(ran->err, cases[i].why);
		CHECK_HAS(ran->out, "add this to f:\n\n");
		CHECK_HAS(ran->out, "belljar");
		assert_string_equal(scratch_read("f"), cases[i].text);
		assert_int_equal(access("f.belljar-backup", F_OK), -1);
	}
}

enum { RUNS = 20 };

/* Runs `belljar connect cursor --write` RUNS times at once; `are_named` gives each a name of its own. */
static void connect_in_parallel(const char *file, bool are_named)
{
	for (int i = 0; i < RUNS; i++) {
		char name[16] = "belljar";
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (are_named)
			(void)snprintf(name, sizeof name, "s%d", i);
		if (pid == 0)
			_exit(RUN("connect", "cursor", "--write", "--file", file, "--name", name)
			              ->status);
	}
	for (int i = 0; i < RUNS; i++) {
		int status;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
}

static void parallel_writes_lose_no_entry(void **state)
{
	AUTO_JSON json_t *root = NULL;
	const json_t *servers;

	scratch_write("f", "{\"mcpServers\": {\"other\": {}}}\n");
	connect_in_parallel("f", true);
	root = json_loads(scratch_read("f"), JSON_REJECT_DUPLICATES, NULL);
	servers = json_object_get(root, "mcpServers");
	assert_int_equal(json_object_size(servers), RUNS + 1);
	assert_int_equal(access("f.belljar-backup-20", F_OK), 0);
}

static void parallel_writes_make_one_new_file(void **state)
{
	connect_in_parallel("a/b/f", false);
	assert_memory_equal(scratch_read("a/b/f"), "{\n  \"mcpServers\": {", 19);
	assert_int_equal(access("a/b/f.belljar-backup", F_OK), -1);
}

static void connect_rejects_write_from_the_environment(void **state)
{
	const struct ran *ran;

	assert_int_equal(setenv("BELLJAR_WRITE", "1", 1), 0);
	ran = RUN("connect", "cursor");
	assert_int_equal(unsetenv("BELLJAR_WRITE"), 0);
	assert_int_equal(ran->status, 2);
	assert_int_equal(access(".cursor", F_OK), -1);
}

static void connect_without_home_wants_a_file(void **state)
{
	const struct ran *ran;

	assert_int_equal(unsetenv("HOME"), 0);
	ran = RUN("connect", "cursor", "--write");
	assert_int_equal(ran->status, 1);
	assert_string_equal(ran->err, "belljar: HOME is not set; name the file with --file\n");
	assert_int_equal(RUN("connect", "cursor", "--write", "--file", "f")->status, 0);
	CHECK_HAS(RUN("connect", "cursor")->out, "For Cursor, add this to its file:");
	CHECK_HAS(RUN("connect")->out, "(HOME is not set)");
}

#define URL "https://box.example.org/mcp"

static void url_is_written_as_each_client_expects(void **state)
{
	static const struct {
		const char *client, *want;
	} cases[] = {
		{ "claude-code", "\"type\": \"http\",\n      \"url\": \"" URL
		                 "\",\n      \"headers\": {\n        \"Authorization\": "
		                 "\"Bearer ${BJ}\"\n" },
		{ "claude-code", "\n  claude mcp add --scope user --transport http belljar " URL
		                 " --header 'Authorization: Bearer ${BJ}'\n" },
		{ "cursor", "\"belljar\": {\n      \"url\": \"" URL "\"" },
		{ "cursor", "\"Authorization\": \"Bearer ${env:BJ}\"" },
		{ "vscode", "\"type\": \"http\"" },
		{ "gemini", "\"httpUrl\": \"" URL "\"" },
		{ "codex", "\n  codex mcp add belljar --url " URL " --bearer-token-env-var BJ\n" },
		{ "windsurf", "\"serverUrl\": \"" URL "\"" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct ran *ran = RUN("connect", cases[i].client, "--http", URL,
		                            "--token-env", "BJ");

		assert_int_equal(ran->status, 0);
		CHECK_HAS(ran->out, cases[i].want);
	}
	assert_null(strstr(RUN("connect", "zed", "--http", URL)->out, "headers"));
}

static void url_that_cannot_be_used_is_refused(void **state)
{
	CHECK_HAS(RUN("connect", "claude-desktop", "--http", URL)->err, "under Connectors");
	CHECK_HAS(RUN("connect", "zed", "--http", URL, "--token-env", "BJ")->err,
	          "Zed cannot take a header from an environment variable");
	CHECK_HAS(RUN("connect", "cursor", "--token-env", "BJ")->err, "--token-env needs --http");
	CHECK_HAS(RUN("connect", "cursor", "--http", URL, "--", "--memory", "1G")->err,
	          "have no meaning with --http");
	CHECK_HAS(RUN("connect", "cursor", "--http", "ftp://x")->err, "--http: expected a URL");
	CHECK_HAS(RUN("connect", "cursor", "--http", "http://a b")->err, "--http: expected a URL");
	CHECK_HAS(RUN("connect", "cursor", "--http", URL, "--token-env", "BELLJAR_X")->err,
	          "that does not start with BELLJAR_");
	CHECK_HAS(RUN("connect", "--http", URL)->err, "--http needs a CLIENT");
}

static void url_replaces_a_command_and_keeps_settings_of_a_url(void **state)
{
	scratch_write(
	        "f",
	        "{\"mcpServers\": {\"belljar\": {\"command\": \"b\", \"args\": [\"serve\"]}}}");
	assert_int_equal(RUN("connect", "cursor", "--write", "--file", "f", "--http", URL)->status,
	                 0);
	assert_null(strstr(scratch_read("f"), "command"));
	CHECK_HAS(scratch_read("f"), URL);
	scratch_write("f",
	              "{\"mcpServers\": {\"belljar\": {\"url\": \"http://old\", \"timeout\": 5}}}");
	assert_int_equal(RUN("connect", "cursor", "--write", "--file", "f", "--http", URL)->status,
	                 0);
	CHECK_HAS(scratch_read("f"), "\"timeout\": 5");
	CHECK_HAS(scratch_read("f"), URL);
	CHECK_HAS(RUN("connect", "cursor", "--write", "--file", "f", "--http", URL)->out,
	          "nothing was changed");
}

static void options_of_the_server_go_into_the_entry(void **state)
{
	static const char *const options[] = { "--allow-path", "/a b", NULL };
	struct entry entry = { client_find("codex"), "n", "/b", options, NULL, NULL };
	AUTO_FREE char *command = entry_command(&entry);
	AUTO_JSON json_t *json = entry_json(&entry);
	AUTO_FREE char *text = NULL;
	size_t len;

	text = json_write(json, &len);
	assert_string_equal(command, "codex mcp add n -- /b serve --allow-path '/a b'");
	assert_non_null(strstr(text, "[\"serve\",\"--allow-path\",\"/a b\"]"));
	assert_int_equal(RUN("connect", "codex", "--", "--memory", "1G")->status, 0);
	assert_int_equal(RUN("connect", "codex", "--", "--memory", "x")->status, 2);
	assert_int_equal(RUN("connect", "codex", "more")->status, 2);
}

#define WRITE_TO_F "connect", "cursor", "--write", "--file", "f"

static void second_write_keeps_options_unless_others_are_given(void **state)
{
	const struct ran *ran;

	assert_int_equal(RUN(WRITE_TO_F, "--", "--allow-path", "/a b")->status, 0);
	CHECK_HAS(scratch_read("f"), "/a b");
	ran = RUN(WRITE_TO_F);
	assert_string_equal(ran->out, "f has this entry already; nothing was changed.\n"
	                              "Its options were kept: --allow-path '/a b'\n"
	                              "Options after -- replace them; -- alone removes them.\n");
	assert_int_equal(ran->status, 0);

	ran = RUN(WRITE_TO_F, "--", "--memory", "1G");
	assert_null(strstr(ran->out, "kept"));
	CHECK_HAS(scratch_read("f"), "--memory");
	assert_null(strstr(scratch_read("f"), "/a b"));

	assert_null(strstr(RUN(WRITE_TO_F, "--")->out, "kept"));
	assert_null(strstr(scratch_read("f"), "--memory"));

	/* Another path of the program: the entry is changed, and keeps its options all the same. */
	scratch_write("f", "{\"mcpServers\": {\"belljar\": {\"command\": \"/old\", \"args\": "
	                   "[\"serve\", \"--memory\", \"1G\"]}}}");
	CHECK_HAS(RUN(WRITE_TO_F)->out,
	          "Replaced 'belljar' in f.\nIts options were kept: --memory 1G\n");
	CHECK_HAS(scratch_read("f"), "[\"serve\", \"--memory\", \"1G\"]");
	CHECK_HAS(scratch_read("f"), own_path());
}

static void kept_options_that_serve_refuses_are_named(void **state)
{
	static const char old[] =
	        "{\"mcpServers\": {\"belljar\": {\"command\": \"/old\", \"args\": "
	        "[\"serve\", \"--no-such\"]}}}";
	const struct ran *ran;

	scratch_write("f", old);
	ran = RUN(WRITE_TO_F);
	assert_int_equal(ran->status, 1);
	CHECK_HAS(ran->err,
	          "belljar: 'f' was not changed: the entry keeps its options unless others "
	          "follow --, or -- stands alone: connect: options of 'belljar serve': ");
	CHECK_HAS(ran->err, "--no-such");
	assert_string_equal(scratch_read("f"), old);
	assert_int_equal(RUN(WRITE_TO_F, "--")->status, 0);
	assert_null(strstr(scratch_read("f"), "--no-such"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_SCRATCH(connect_lists_clients_and_their_files),
		IN_SCRATCH(client_path_follows_the_environment),
		IN_SCRATCH(connect_prints_the_entry),
		IN_SCRATCH(connect_names_the_command_of_a_client_without_json),
		IN_SCRATCH(entry_command_quotes_for_the_shell),
		IN_SCRATCH(url_is_written_as_each_client_expects),
		IN_SCRATCH(url_that_cannot_be_used_is_refused),
		IN_SCRATCH(url_replaces_a_command_and_keeps_settings_of_a_url),
		IN_SCRATCH(options_of_the_server_go_into_the_entry),
		IN_SCRATCH(second_write_keeps_options_unless_others_are_given),
		IN_SCRATCH(kept_options_that_serve_refuses_are_named),
		IN_SCRATCH(connect_writes_a_file_once),
		IN_SCRATCH(connect_replaces_an_entry_for_a_url),
		IN_SCRATCH(connect_refuses_a_file_it_cannot_edit),
		IN_SCRATCH(parallel_writes_lose_no_entry),
		IN_SCRATCH(parallel_writes_make_one_new_file),
		IN_SCRATCH(connect_rejects_write_from_the_environment),
		IN_SCRATCH(connect_without_home_wants_a_file),
	};

	return RUN_TESTS("cli/connect", tests);
}
