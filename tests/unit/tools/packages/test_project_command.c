#include <string.h>

#include "kernels/languages.h"
#include "sandbox/process/process.h"
#include "tools/packages/project_command.h"
#include "unit/test.h"

struct command_case {
	const char *command, *cwd;
	char language;            /* 'p', 'n'; '-': neither */
	const char *dir, *script; /* script NULL: none */
};

static void commands_have_a_language_and_a_directory(void **state)
{
	static const struct command_case cases[] = {
		{ "python3 main.py", NULL, 'p', "/workspace", NULL },
		{ "python3.11 -m app", "app", 'p', "/workspace/app", NULL },
		{ "/usr/bin/python3 app/main.py", NULL, 'p', "/workspace", "/workspace/app" },
		{ "python app/../lib/x.py", NULL, 'p', "/workspace", "/workspace/lib" },
		{ "python /opt/x.py", NULL, 'p', "/workspace", "/opt" },
		{ "python ./x.py", NULL, 'p', "/workspace", NULL },
		{ "cd app && python main.py", NULL, 'p', "/workspace/app", NULL },
		{ "cd app; cd ../lib\npython main.py", "/srv", 'p', "/srv/lib", NULL },
		{ "cd 'a b' && node x", NULL, 'n', "/workspace/a b", NULL },
		{ "set -e; mkdir -p x && FOO=1 timeout 5 env BAR=2 python x/y.py | tail", NULL, 'p',
		  "/workspace", "/workspace/x" },
		{ "(cd x && node server/main.mjs)", NULL, 'n', "/workspace/x",
		  "/workspace/x/server" },
		{ "for i in 1 2; do python3 $i.py; done", NULL, 'p', "/workspace", NULL },
		{ "cat > x.py <<'EOF'\nit's; cd nowhere\nEOF\npython3 x.py", NULL, 'p',
		  "/workspace", NULL },
		{ "python3 - <<EOF\nprint(1)\nEOF", NULL, 'p', "/workspace", NULL },
		{ "pip install -r requirements.txt", NULL, 'p', "/workspace", NULL },
		{ "pytest -q", NULL, 'p', "/workspace", NULL },
		{ "npm test", NULL, 'n', "/workspace", NULL },
		{ "npm run build", NULL, 'n', "/workspace", NULL },
		{ "pip && npm start", NULL, 'n', "/workspace", NULL },
		{ "# python x\nls", NULL, '-', NULL, NULL },
		{ "pip list", NULL, '-', NULL, NULL },
		{ "npm --version", NULL, '-', NULL, NULL },
		{ "python3 --version", NULL, '-', NULL, NULL },
		{ "echo python3 x.py", NULL, '-', NULL, NULL },
		{ "echo 'x; python3 x.py'", NULL, '-', NULL, NULL },
		{ "pythonic x.py", NULL, '-', NULL, NULL },
		{ ".venv/bin/python main.py", NULL, '-', NULL, NULL },
		{ "/home/coderunner/.local/venv/bin/python main.py", NULL, 'p', "/workspace",
		  NULL },
		{ "cd \"$HOME/x\" && python main.py", NULL, '-', NULL, NULL },
		{ "cd ~/x && python main.py", NULL, '-', NULL, NULL },
		{ "cd && python main.py", NULL, '-', NULL, NULL },
		{ "cat <<EOF\npython3 x.py", NULL, '-', NULL, NULL },
		{ "'python3", NULL, 'p', "/workspace", NULL },
		{ "\r\v", NULL, '-', NULL, NULL },
		{ "", NULL, '-', NULL, NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct command_case *c = &cases[i];
		const struct process_options options = { .command = c->command, .cwd = c->cwd };
		struct project_place place;
		bool found = project_place_find(&options, &place);

		if (found != (c->language != '-'))
			fail_msg("%s", c->command);
		if (!found)
			continue;
		assert_int_equal(place.is_python, c->language == 'p');
		assert_string_equal(place.dirs[0], c->dir);
		assert_int_equal(place.dir_count, c->script != NULL ? 2 : 1);
		if (c->script != NULL)
			assert_string_equal(place.dirs[1], c->script);
	}
}

static void code_and_programs_have_them_too(void **state)
{
	static const char *const argv[] = { "python3", "app/x.py", NULL };
	static const char *const question[] = { "node", "--version", NULL };
	static const char *const other[] = { "ls", NULL };
	struct process_options options = { .language = language_find("python"), .cwd = "a/./b" };
	struct project_place place;
	char deep[600];

	assert_true(project_place_find(&options, &place));
	assert_true(place.is_python);
	assert_string_equal(place.dirs[0], "/workspace/a/b");
	options.language = language_find("ts");
	assert_true(project_place_find(&options, &place));
	assert_false(place.is_python);
	options.language = language_find("bash");
	options.code = view_of("cd c && npm ci");
	assert_true(project_place_find(&options, &place));
	assert_string_equal(place.dirs[0], "/workspace/a/b/c");
	options.language = language_find("ruby");
	assert_false(project_place_find(&options, &place));
	options = (struct process_options){ .argv = argv };
	assert_true(project_place_find(&options, &place));
	assert_string_equal(place.dirs[1], "/workspace/app");
	options.argv = question;
	assert_false(project_place_find(&options, &place));
	options.argv = other;
	assert_false(project_place_find(&options, &place));
	memset(deep, 'x', sizeof deep - 1);
	deep[sizeof deep - 1] = '\0';
	options = (struct process_options){ .argv = argv, .cwd = deep };
	assert_false(project_place_find(&options, &place));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(commands_have_a_language_and_a_directory),
		TEST(code_and_programs_have_them_too),
	};

	return RUN_TESTS("tools/packages/project_command", tests);
}
