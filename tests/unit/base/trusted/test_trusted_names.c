#include "base/trusted/trusted_names.h"

#include "unit/test.h"

static const char *kind_name(const char *path, bool is_directory, uint64_t allowed)
{
	int kind = trusted_kind_of(path, is_directory, allowed);

	return kind < 0 ? "" : trusted_kinds[kind].name;
}

static void paths_belong_to_their_kinds(void **state)
{
	static const struct {
		const char *path, *kind;
	} cases[] = {
		/* git */
		{ "/p/.git/hooks/pre-commit", "git-hooks" },
		{ "/p/.git/hooks", "git-hooks" },
		{ "/p/.git/config", "git-settings" },
		{ "/p/.git/config.worktree", "git-settings" },
		{ "/p/.git/commondir", "git-settings" },
		{ "/p/.git/info/attributes", "git-settings" },
		{ "/p/.git/rebase-merge/git-rebase-todo", "git-settings" },
		{ "/p/.git/modules/sub/config", "git-modules" },
		{ "/p/.git/modules/sub/hooks/post-checkout", "git-modules" },
		{ "/p/.git/objects/info/alternates", "git-alternates" },
		{ "/p/.git/objects/info/http-alternates", "git-alternates" },
		{ "/p/.git/objects/.git/config", "git-settings" },
		{ "/p/.git", "git-link" },
		{ "/p/bare/HEAD", "git-bare" },
		{ "/p/bare.git/HEAD", "git-bare" },
		{ "/p/.gitmodules", "git-submodules" },
		{ "/p/sub/.gitattributes", "git-attributes" },
		{ "/home/u/.gitconfig", "git-user" },
		{ "/home/u/.config/git/config", "git-user" },
		{ "/p/.husky/pre-commit", "git-hook-tools" },
		{ "/p/.git/HEAD", "" },
		{ "/p/.git/index", "" },
		{ "/p/.git/refs/heads/main", "" },
		{ "/p/.git/objects/ab/cdef", "" },
		{ "/p/.git/objects/info/commit-graph", "" },
		{ "/p/.gitignore", "" },
		{ "/p/git/config", "" },
		{ "/p/hooks/pre-commit", "" },
		/* the same names, as file systems may take them */
		{ "/p/.GIT/Hooks/x", "git-hooks" },
		{ "/p/.git./config", "git-settings" },
		{ "/p/.git /config", "git-settings" },
		{ "/p/.git::$INDEX_ALLOCATION/config", "git-settings" },
		{ "/p/git~1/config", "git-settings" },
		{ "/p/GIT~2/hooks/x", "git-hooks" },
		{ "/p/gi7eba~1/hooks/x", "git-hooks" },
		{ "/p/.git\\hooks\\x", "git-hooks" },
		{ "/p/.g\u200cit/config", "git-settings" },
		{ "/p/.git/hoo\u212as/x", "git-hooks" },
		{ "/p/.g\u00adit/con\ufb01g", "git-settings" },
		{ "/home/u/.\u00dfh/authorized_keys", "ssh" },
		{ "/home/u/.ba\u017fhrc", "shell-start" },
		{ "/p/bashrc~1", "shell-start" },
		{ "/p/mcp~1.jso", "agents" },
		{ "/p/.git/INDEX.", "git-settings" },
		/* other programs */
		{ "/home/u/.bashrc", "shell-start" },
		{ "/home/u/.config/fish/config.fish", "shell-start" },
		{ "/p/.vscode/tasks.json", "editor-folders" },
		{ "/p/x.code-workspace", "editor-folders" },
		{ "/p/.idea/workspace.xml", "editor-folders" },
		{ "/p/.mcp.json", "agents" },
		{ "/p/.claude/settings.json", "agents" },
		{ "/p/.cursor/mcp.json", "agents" },
		{ "/p/.claude/worktrees/w/src/a.c", "" },
		{ "/p/.claude/worktrees/w/.claude/settings.json", "agents" },
		{ "/p/.claude/worktrees/w/.git/hooks/x", "git-hooks" },
		{ "/p/AGENTS.md", "agent-notes" },
		{ "/p/.github/copilot-instructions.md", "agent-notes" },
		{ "/p/.github/hooks/x.json", "agents" },
		{ "/p/.github/workflows/x.yml", "" },
		{ "/p/.envrc", "environments" },
		{ "/p/.rvmrc", "environments" },
		{ "/p/.RData", "interpreters" },
		{ "/p/.ocamlinit", "interpreters" },
		{ "/p/jupyter_server_config.py", "python" },
		{ "/p/.venv/bin/python", "programs" },
		{ "/p/_darcs/prefs/defaults", "repositories" },
		{ "/p/CVS/Root", "repositories" },
		{ "/p/hie.yaml", "editor-folders" },
		{ "/p/latexmkrc", "editor-folders" },
		{ "/home/u/.cargo/env", "shell-start" },
		{ "/home/u/.zshrc.local", "shell-start" },
		{ "/home/u/.config/kitty/kitty.conf", "user-settings" },
		{ "/home/u/.local/share/nemo/actions/x", "user-settings" },
		{ "/p/.config/nextest.toml", "" },
		{ "/p/.npmrc", "node" },
		{ "/p/.yarnrc.yml", "node" },
		{ "/p/.yarn/releases/yarn.cjs", "node" },
		{ "/p/pip.conf", "python" },
		{ "/p/.pypirc", "logins" },
		{ "/v/lib/python3/site-packages/x.pth", "python" },
		{ "/p/model.pth", "" },
		{ "/home/u/.ssh/config", "ssh" },
		{ "/home/u/.ssh", "ssh" },
		{ "/home/u/.config/autostart/x.desktop", "autostart" },
		{ "/home/u/.config/systemd/user/x.service", "autostart" },
		{ "/home/u/.local/bin/ls", "programs" },
		{ "/p/.gdbinit", "debuggers" },
		{ "/p/.dir-locals.el", "editor-start" },
		{ "/p/.cargo/config.toml", "build-tools" },
		{ "/p/.devcontainer/devcontainer.json", "devcontainer" },
		{ "/p/.Rprofile", "interpreters" },
		{ "/home/u/.config/belljar/belljar.json", "belljar" },
		{ "/etc/profile.d/x.sh", "system" },
		{ "/usr/lib/x", "system" },
		{ "/lib64/x", "system" },
		{ "/library/x", "" },
		{ "/usr/src/app/main.c", "" },
		{ "/p/rootfs/etc/passwd", "" },
		{ "/p/Makefile", "" },
		{ "/p/package.json", "" },
		{ "/p/src/main.c", "" },
		{ "/p/docs/bashrc.md", "" },
		{ "/p/\xff\xfe", "" },
		{ "/", "" },
		{ "", "" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *found = kind_name(cases[i].path, false, 0);

		if (strcmp(found, cases[i].kind) != 0)
			fail_msg("'%s' is of kind '%s', not '%s'", cases[i].path, found,
			         cases[i].kind);
	}
}

static void directories_differ_from_files(void **state)
{
	assert_string_equal(kind_name("/p/.git", true, 0), "");
	assert_string_equal(kind_name("/p/x/HEAD", true, 0), "");
	assert_string_equal(kind_name("/p/.git/hooks", true, 0), "git-hooks");
	assert_string_equal(kind_name("/p/.vscode", true, 0), "editor-folders");
}

static void allowed_kinds_do_not_match(void **state)
{
	uint64_t set = 0, all = 0;
	struct error err;

	CHECK_OK(trusted_parse("git-hooks,agents", &set, &err), err);
	assert_string_equal(kind_name("/p/.claude/settings.json", false, set), "");
	assert_string_equal(kind_name("/p/.bashrc", false, set), "shell-start");
	assert_string_equal(kind_name("/p/.git/hooks/x", false, set), "");
	assert_string_equal(kind_name("/p/.git/config", false, set), "git-settings");
	CHECK_OK(trusted_parse("all", &all, &err), err);
	assert_string_equal(kind_name("/p/.git/hooks/x", false, all), "");
	assert_true((all & TRUSTED_EXECUTABLES) == 0);
	assert_int_equal(trusted_parse("agents,nonesuch", &set, &err), -1);
	assert_string_equal(err.msg, "'nonesuch' is not a kind of trusted files: write 'all', or "
	                             "names from the list in 'man belljar'");
}

/* A name of a directory far above counts, whatever is below; and a long path is not overrun. */
static void long_paths_are_matched(void **state)
{
	static char path[40000];

	(void)snprintf(path, sizeof path, "/p/.vscode");
	for (size_t i = strlen(path); i + 1 < sizeof path; i++)
		path[i] = i % 100 == 0 ? '/' : 'x';
	path[sizeof path - 1] = '\0';
	assert_string_equal(kind_name(path, false, 0), "");
	path[10] = '/';
	assert_string_equal(kind_name(path, false, 0), "editor-folders");
}

static void every_row_is_complete(void **state)
{
	for (size_t i = 0; i < trusted_kind_count; i++) {
		const struct trusted_kind *kind = &trusted_kinds[i];

		assert_true(kind->name[strspn(kind->name, "abcdefghijklmnopqrstuvwxyz-")] == '\0');
		assert_true(strlen(kind->reason) > 10);
		for (const char *p = kind->patterns; *p != '\0'; p++)
			assert_false(*p >= 'A' && *p <= 'Z');
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(kind->name, trusted_kinds[j].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(paths_belong_to_their_kinds), TEST(directories_differ_from_files),
		TEST(allowed_kinds_do_not_match),  TEST(long_paths_are_matched),
		TEST(every_row_is_complete),
	};

	return RUN_TESTS("base/trusted_names", tests);
}
